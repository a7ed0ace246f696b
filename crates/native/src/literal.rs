//! Conversion of a Python value to a literal of an expression.
//!
//! A value is read once and not trusted: its length is not believed, a list is read up to [`MOST_VALUES`] values, and a
//! list inside a list is refused. A value that cannot be a literal is refused with its type.

use arrow_array::builder::StringViewBuilder;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use formula::Literal;
use formula::values::{MANY, Values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyFloat, PyFrozenSet, PyInt, PyList, PyMemoryView,
    PyRange, PySet, PyString, PyTime, PyTuple, PyTzInfoAccess,
};

use crate::arrow::Sharing;
use crate::cells::{self, Place};
use crate::dtype::{name_of, zone_name};
use crate::error::{self, ResourceError, TypeMismatchError};
use crate::{arrow, numpy, values};

/// So many values are a list; more are a table.
const MOST_VALUES: usize = 1 << 24;
/// Values between two looks at the budget and at signals.
const AT_A_TIME: usize = 1 << 16;

/// The value that a Python object means in an expression; `operation` is what its user called.
pub fn literal(operation: &str, value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if let Some(literal) = scalar(operation, value)? {
        return Ok(literal);
    }
    if is_list(value) {
        return list(operation, value);
    }
    if let Some(made) = from_arrays(operation, value)? {
        return Ok(made);
    }
    foreign_scalar(operation, value)?.ok_or_else(|| refused(operation, value))
}

/// The values of whatever can be gone through once, as a list.
pub fn list(operation: &str, value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if let Ok(range) = value.cast::<PyRange>() {
        return of_range(operation, range);
    }
    if let Some(made) = from_arrays(operation, value)? {
        return match made {
            list @ (Literal::List(_) | Literal::Values(_)) => Ok(list),
            one => Ok(Literal::List(vec![one])),
        };
    }
    let mut run = Run::Empty;
    for (at, item) in value.try_iter()?.enumerate() {
        if at.is_multiple_of(AT_A_TIME) {
            room(operation, at, AT_A_TIME)?;
            value.py().check_signals()?;
        }
        run.push(operation, &item?)?;
    }
    Ok(run.finish())
}

/// Whether it is one of Python's own lists of values.
fn is_list(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>()
        || value.is_instance_of::<PyRange>()
}

/// Refuses more values than a list holds, or than there is memory for.
fn room(operation: &str, held: usize, more: usize) -> PyResult<()> {
    if held >= MOST_VALUES {
        let message = format!(
            "{operation}: a list in an expression has at most {MOST_VALUES} values, this one has more; \
             make a table of them and use where_in"
        );
        return Err(ResourceError::new_err(message));
    }
    limits::ask(16 * more as u64).map_err(|why| error::exhausted(operation, &why))
}

/// What is no value of an expression.
pub fn refused(operation: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    TypeMismatchError::new_err(format!(
        "{operation}: {} ({kind}) is no value of an expression; use int, float, str, bool, bytes, datetime, date, time, \
         timedelta, Decimal or None, a list of them where a list is taken, or tf.col(\"…\") for a column",
        cells::shown(value)
    ))
}

/// Python's own single values; none of anything else.
fn scalar(operation: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Literal>> {
    if value.is_none() {
        return Ok(Some(Literal::Null));
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Some(Literal::Bool(flag.is_true())));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(operation, value).map(Some);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Some(Literal::Float(value.extract()?)));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(Literal::Str(text.to_cow()?.into())));
    }
    if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
        return Ok(Some(Literal::Binary(value.extract::<Vec<u8>>()?.into())));
    }
    if value.is_instance_of::<PyMemoryView>() {
        return Ok(Some(Literal::Binary(value.call_method0("tobytes")?.extract::<Vec<u8>>()?.into())));
    }
    temporal(operation, value)
}

fn integer(operation: &str, value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Literal::Int(number));
    }
    value.extract::<u64>().map(Literal::UInt).map_err(|_| {
        let shown = cells::shown(value);
        PyValueError::new_err(format!("{operation}: {shown} is out of the range of 64-bit integers"))
    })
}

fn temporal(operation: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Literal>> {
    let out_of_range = || {
        let shown = cells::shown(value);
        let message = format!("{operation}: {shown} is outside the years 1677 to 2262 that nanoseconds reach");
        PyValueError::new_err(message)
    };
    if let Ok(moment) = value.cast::<PyDateTime>() {
        let (ns, _) = cells::instant(value)?.ok_or_else(out_of_range)?;
        let zone = moment.get_tzinfo().map(|zone| zone_name(&zone)).transpose()?;
        return Ok(Some(Literal::Timestamp { ns, zone: zone.map(Into::into) }));
    }
    if let Ok(date) = value.cast::<PyDate>() {
        return Ok(Some(Literal::Date(cells::days(date))));
    }
    if value.is_instance_of::<PyTime>() {
        return Ok(cells::time(value).map(Literal::Time));
    }
    if value.is_instance_of::<PyDelta>() {
        return cells::duration(value)?.map(|ns| Some(Literal::Duration(ns))).ok_or_else(out_of_range);
    }
    Ok(None)
}

fn of_range(operation: &str, range: &Bound<'_, PyRange>) -> PyResult<Literal> {
    let len = range.len().unwrap_or(usize::MAX);
    room(operation, len.saturating_sub(1), len.min(MOST_VALUES))?;
    let (start, step): (i64, i64) = match (range.getattr("start")?.extract(), range.getattr("step")?.extract()) {
        (Ok(start), Ok(step)) => (start, step),
        _ if len == 0 => (0, 1),
        _ => return Err(integer_range(operation, range)),
    };
    let whole = (0..len as i64).map(|at| at.checked_mul(step).and_then(|far| start.checked_add(far)));
    let whole: Option<Vec<i64>> = whole.collect();
    Ok(integers(whole.ok_or_else(|| integer_range(operation, range))?))
}

fn integer_range(operation: &str, range: &Bound<'_, PyRange>) -> PyErr {
    let shown = cells::shown(range.as_any());
    PyValueError::new_err(format!("{operation}: {shown} is out of the range of 64-bit integers"))
}

fn integers(values: Vec<i64>) -> Literal {
    if values.len() < MANY.get() {
        return Literal::List(values.into_iter().map(Literal::Int).collect());
    }
    Literal::Values(Values::integers(values))
}

/// The values of a list as they come: of one type as long as they are.
enum Run {
    Empty,
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Texts(StringViewBuilder),
    Mixed(Vec<Literal>),
}

impl Run {
    fn push(&mut self, operation: &str, item: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Run::Empty = self {
            *self = match () {
                () if item.is_exact_instance_of::<PyInt>() => Run::Ints(Vec::new()),
                () if item.is_exact_instance_of::<PyFloat>() => Run::Floats(Vec::new()),
                () if item.is_exact_instance_of::<PyString>() => Run::Texts(StringViewBuilder::new()),
                () => Run::Mixed(Vec::new()),
            };
        }
        match self {
            Run::Ints(values) if item.is_exact_instance_of::<PyInt>() => {
                if let Ok(value) = item.extract() {
                    values.push(value);
                    return Ok(());
                }
            }
            Run::Floats(values) if item.is_exact_instance_of::<PyFloat>() => {
                values.push(item.extract()?);
                return Ok(());
            }
            Run::Texts(values) if item.is_exact_instance_of::<PyString>() => {
                values.append_value(item.cast::<PyString>()?.to_cow()?);
                return Ok(());
            }
            _ => {}
        }
        let mut so_far = std::mem::replace(self, Run::Empty).literals();
        so_far.push(single(operation, item)?);
        *self = Run::Mixed(so_far);
        Ok(())
    }

    fn literals(self) -> Vec<Literal> {
        match self {
            Run::Empty => Vec::new(),
            Run::Ints(values) => values.into_iter().map(Literal::Int).collect(),
            Run::Floats(values) => values.into_iter().map(Literal::Float).collect(),
            Run::Texts(mut values) => Values::texts(values.finish()).literals(usize::MAX),
            Run::Mixed(values) => values,
        }
    }

    fn finish(self) -> Literal {
        match self {
            Run::Ints(values) => integers(values),
            Run::Floats(values) if values.len() >= MANY.get() => Literal::Values(Values::floats(values)),
            Run::Texts(mut values) => {
                let values = Values::texts(values.finish());
                if values.len() < MANY.get() {
                    return Literal::List(values.literals(usize::MAX));
                }
                Literal::Values(values)
            }
            other => Literal::list(other.literals()),
        }
    }
}

/// One value of a list.
fn single(operation: &str, item: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if let Some(literal) = scalar(operation, item)? {
        return Ok(literal);
    }
    if is_list(item) {
        let shown = cells::shown(item);
        let message = format!("{operation}: a list of lists is no value of an expression, and {shown} is in this one");
        return Err(TypeMismatchError::new_err(message));
    }
    foreign_scalar(operation, item)?.ok_or_else(|| refused(operation, item))
}

/// NumPy and Arrow arrays, Series of polars and pandas: taken as the arrays that they are. None of anything else.
fn from_arrays(operation: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Literal>> {
    if numpy::is_array(value) {
        if let Some(cells) = numpy::import(operation, value)? {
            return of_array(operation, &cells);
        }
        return by_list(operation, value, "tolist");
    }
    // A class has the methods of its instances, and is none.
    if value.is_instance_of::<pyo3::types::PyType>() {
        return Ok(None);
    }
    let streams = value.hasattr("__arrow_c_array__")? || value.hasattr("__arrow_c_stream__")?;
    if !streams {
        return Ok(None);
    }
    // pandas' own word for its values: on the way through Arrow NaN would become null.
    let module = value.get_type().module().map_or_else(|_| String::new(), |module| module.to_string());
    if !module.starts_with("pandas")
        && let Ok(chunks) = arrow::import_chunks(operation, value, Sharing::ByProducer)
    {
        let parts: Vec<&dyn Array> = chunks.iter().map(|chunk| chunk.as_ref()).collect();
        let whole = match parts.as_slice() {
            [] => return Ok(Some(Literal::List(Vec::new()))),
            parts => arrow_select::concat::concat(parts).map_err(error::arrow)?,
        };
        return of_array(operation, &whole);
    }
    for method in ["to_list", "to_pylist", "tolist"] {
        if value.hasattr(method)? {
            return by_list(operation, value, method);
        }
    }
    Err(refused(operation, value))
}

/// Through the Python list, or single value, that one of its methods gives.
fn by_list(operation: &str, value: &Bound<'_, PyAny>, method: &str) -> PyResult<Option<Literal>> {
    let made = value.call_method0(method)?;
    if made.is_instance_of::<PyList>() {
        return list(operation, &made).map(Some);
    }
    single(operation, &made).map(Some)
}

fn of_array(operation: &str, array: &ArrayRef) -> PyResult<Option<Literal>> {
    room(operation, array.len().saturating_sub(1), array.len())?;
    if *array.data_type() == DataType::Null {
        return Ok(Some(Literal::List(vec![Literal::Null; array.len()])));
    }
    let values = Values::new(array).map_err(error::arrow)?.ok_or_else(|| {
        let kind = name_of(array.data_type());
        let message = format!("{operation}: values of {kind} are no values of an expression");
        TypeMismatchError::new_err(message)
    })?;
    let long = values.len() >= MANY.get();
    Ok(Some(if long { Literal::Values(values) } else { Literal::List(values.literals(usize::MAX)) }))
}

/// Decimals, and NumPy's scalars.
fn foreign_scalar(operation: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Literal>> {
    if value.is_instance(&value.py().import("decimal")?.getattr("Decimal")?)? {
        return decimal(operation, value).map(Some);
    }
    let Some('b' | 'i' | 'u' | 'f' | 'M' | 'm') = cells::numpy_kind(value) else { return Ok(None) };
    let place = Place { operation, column: "literal" };
    let one = [value.clone()];
    let kind = cells::infer(&one, place)?;
    let array = cells::build(&one, &kind, place)?;
    if array.is_null(0) {
        return Ok(Some(Literal::TypedNull(kind)));
    }
    if let DataType::Timestamp(_, None) = kind {
        let ns = cells::instant(value)?.map_or(0, |(ns, _)| ns);
        return Ok(Some(Literal::Timestamp { ns, zone: None }));
    }
    scalar(operation, &values::cell(value.py(), &array, 0, "literal")?)
}

fn decimal(operation: &str, value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let unfit = || {
        let shown = cells::shown(value);
        PyValueError::new_err(format!("{operation}: {shown} is no finite number of at most 38 digits"))
    };
    // Written out, 1e999999999 is a gigabyte.
    if !value.call_method0("is_finite")?.is_truthy()? || value.call_method0("adjusted")?.extract::<i64>()?.abs() > 76 {
        return Err(unfit());
    }
    let text: String = value.call_method1("__format__", ("f",))?.extract()?;
    let scale = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let fits = i8::try_from(scale).ok().filter(|scale| *scale <= 38);
    let made = fits.and_then(|scale| Some((crate::cells::unscaled(&text, scale)?, scale)));
    let (value, scale) = made.ok_or_else(unfit)?;
    Ok(Literal::Decimal { value, precision: 38, scale })
}
