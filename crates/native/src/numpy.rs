//! NumPy arrays into Arrow, through the buffer protocol: one copy of the memory, or a pass over it
//! for bits. NumPy itself is never linked; arrays are told apart by what they say of their dtype.
//!
//! The copy is on purpose: NumPy memory may change under us, a table's memory may not. Only what a
//! function of the user has just made, and nobody else holds, is taken as it is, and what its owner has promised not to
//! write to.
#![allow(unsafe_code, reason = "a buffer is a raw pointer and a length")]

use std::sync::Arc;

use ::column::sound::copy_bytes;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

use crate::arrow::Sharing;
use crate::dtype::plain_name;
use crate::error::exhausted;

/// A NumPy array whose memory an Arrow array reads.
///
/// Let go off a thread without the GIL, the reference is given back the next time somebody has it.
struct Held {
    _array: Py<PyAny>,
}

impl std::panic::RefUnwindSafe for Held {}

/// The type of the cells of a NumPy array of this dtype that lie as Arrow has them. Its name would say it, too, but NumPy
/// puts a name together in Python each time.
pub fn type_of(dtype: &Bound<'_, PyAny>) -> Option<DataType> {
    let kind: char = dtype.getattr("kind").ok()?.extract().ok()?;
    let width: usize = dtype.getattr("itemsize").ok()?.extract().ok()?;
    Some(match (kind, width) {
        ('i', 1) => DataType::Int8,
        ('i', 2) => DataType::Int16,
        ('i', 4) => DataType::Int32,
        ('i', 8) => DataType::Int64,
        ('u', 1) => DataType::UInt8,
        ('u', 2) => DataType::UInt16,
        ('u', 4) => DataType::UInt32,
        ('u', 8) => DataType::UInt64,
        ('f', 4) => DataType::Float32,
        ('f', 8) => DataType::Float64,
        _ => return None,
    })
}

/// What NumPy calls a type of cells, "bool" if they are bits here and bytes there.
pub fn code_of(data_type: &DataType) -> Option<&'static str> {
    use arrow_schema::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    if data_type.is_numeric() || *data_type == DataType::Boolean {
        return plain_name(data_type);
    }
    Some(match data_type {
        DataType::Timestamp(Second, _) => "datetime64[s]",
        DataType::Timestamp(Millisecond, _) => "datetime64[ms]",
        DataType::Timestamp(Microsecond, _) => "datetime64[us]",
        DataType::Timestamp(Nanosecond, _) => "datetime64[ns]",
        DataType::Duration(Second) => "timedelta64[s]",
        DataType::Duration(Millisecond) => "timedelta64[ms]",
        DataType::Duration(Microsecond) => "timedelta64[us]",
        DataType::Duration(Nanosecond) => "timedelta64[ns]",
        _ => return None,
    })
}

/// The array that a function has just made, without a copy: nobody else holds it, so nobody writes to it.
/// None where it may be shared, or is no plain array of this type. The second is the array again.
pub fn adopt<'py>(array: Bound<'py, PyAny>, wanted: &DataType) -> PyResult<(Option<ArrayRef>, Bound<'py, PyAny>)> {
    // SAFETY: the object lives, and the GIL is held.
    let references = unsafe { pyo3::ffi::Py_REFCNT(array.as_ptr()) };
    if references != 1 || !is_plain(&array)? || is_watched(&array)? {
        return Ok((None, array));
    }
    let dtype = array.getattr("dtype")?;
    if type_of(&dtype).as_ref() != Some(wanted) || !array.getattr("flags")?.get_item("OWNDATA")?.is_truthy()? {
        return Ok((None, array));
    }
    Ok((lent(&array, wanted)?, array))
}

/// Whether this is NumPy's own array: a class over it may hold its memory elsewhere.
fn is_plain(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(array.get_type().is(&array.py().import("numpy")?.getattr("ndarray")?))
}

/// Whether somebody can come back to the array through a weak reference.
fn is_watched(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    array.py().import("weakref")?.call_method1("getweakrefcount", (array,))?.is_truthy()
}

/// The memory of an array that nobody will write to, as it lies; None where it does not lie as Arrow has it.
fn lent(array: &Bound<'_, PyAny>, wanted: &DataType) -> PyResult<Option<ArrayRef>> {
    let flags = array.getattr("flags")?;
    let is = |flag: &str| flags.get_item(flag)?.is_truthy();
    if array.getattr("ndim")?.extract::<usize>()? != 1
        || !array.getattr("dtype")?.getattr("isnative")?.is_truthy()?
        || !(is("C_CONTIGUOUS")? && is("ALIGNED")?)
    {
        return Ok(None);
    }
    let view = PyUntypedBuffer::get(array)?;
    let (len, Some(start)) = (view.len_bytes(), std::ptr::NonNull::new(view.buf_ptr().cast::<u8>())) else {
        return Ok(None);
    };
    drop(view);
    if len == 0 {
        return Ok(None);
    }
    let owner = Arc::new(Held { _array: array.clone().unbind() });
    // SAFETY: `len` bytes stand at `start`; the array is contiguous, and lives, unresized and unwritten, as long as `owner`:
    // nobody else has it, or its owner has promised so.
    let buffer = unsafe { Buffer::from_custom_allocation(start, len, owner) };
    let width = wanted.primitive_width().unwrap_or(1);
    let data = ArrayData::builder(wanted.clone()).len(len / width).add_buffer(buffer).build();
    Ok(Some(make_array(data.map_err(crate::error::arrow)?)))
}

/// As [`import`], but without a copy where the owner of the array has promised not to write to it.
pub fn import_as(of: &str, array: &Bound<'_, PyAny>, sharing: Sharing) -> PyResult<Option<ArrayRef>> {
    if sharing == Sharing::Promised
        && is_plain(array)?
        && let Some(own) = type_of(&array.getattr("dtype")?)
        && let Some(shared) = lent(array, &own)?
    {
        return Ok(Some(shared));
    }
    import(of, array)
}

/// The Arrow array of a one-dimensional NumPy array, or None when its cells are Python objects or
/// text and have to be taken one by one. `of` names the operation, and the column, in an error.
pub fn import(of: &str, array: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let dtype = array.getattr("dtype")?;
    let kind: char = dtype.getattr("kind")?.extract()?;
    let width: usize = dtype.getattr("itemsize")?.extract()?;
    if !matches!(kind, 'i' | 'u' | 'f' | 'b' | 'M' | 'm') || array.getattr("ndim")?.extract::<usize>()? != 1 {
        return Ok(None);
    }
    // Swapped bytes and gaps are NumPy's to straighten; it copies only then.
    let native = dtype.getattr("isnative")?.is_truthy()?;
    let array = if native {
        array.clone()
    } else {
        array.call_method1("astype", (dtype.call_method1("newbyteorder", ("=",))?,))?
    };
    let array = match array.getattr("flags")?.get_item("C_CONTIGUOUS")?.is_truthy()? {
        true => array,
        false => array.call_method0("copy")?,
    };
    Ok(Some(match (kind, width) {
        ('i', 1) => primitive::<Int8Type>(of, &array)?,
        ('i', 2) => primitive::<Int16Type>(of, &array)?,
        ('i', 4) => primitive::<Int32Type>(of, &array)?,
        ('i', 8) => primitive::<Int64Type>(of, &array)?,
        ('u', 1) => primitive::<UInt8Type>(of, &array)?,
        ('u', 2) => primitive::<UInt16Type>(of, &array)?,
        ('u', 4) => primitive::<UInt32Type>(of, &array)?,
        ('u', 8) => primitive::<UInt64Type>(of, &array)?,
        ('f', 2) => primitive::<Float16Type>(of, &array)?,
        ('f', 4) => primitive::<Float32Type>(of, &array)?,
        ('f', 8) => primitive::<Float64Type>(of, &array)?,
        ('b', _) => booleans(of, &array)?,
        ('M' | 'm', _) => return temporal(of, &array, &dtype, kind),
        _ => return Ok(None),
    }))
}

fn bytes(of: &str, array: &Bound<'_, PyAny>) -> PyResult<Buffer> {
    let view = PyUntypedBuffer::get(array)?;
    if view.len_bytes() == 0 {
        // Aligned for any type, as Arrow wants it even of nothing.
        return Ok(Buffer::from_vec(Vec::<u64>::new()));
    }
    // SAFETY: the exporter keeps `len_bytes` readable bytes at `buf_ptr` while the view lives, the
    // array is contiguous, and the GIL is held during the copy.
    let slice = unsafe { std::slice::from_raw_parts(view.buf_ptr().cast::<u8>(), view.len_bytes()) };
    copy_bytes(slice).map_err(|why| exhausted(of, &why))
}

fn primitive<T: ArrowPrimitiveType>(of: &str, array: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    Ok(Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(bytes(of, array)?), None)))
}

fn booleans(of: &str, array: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let cells = bytes(of, array)?;
    let bits = BooleanBuffer::collect_bool(cells.len(), |row| cells[row] != 0);
    Ok(Arc::new(BooleanArray::new(bits, None)))
}

/// Instants and spans: int64 counts of the unit that the dtype names, where the least value is NaT.
fn temporal(of: &str, array: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>, kind: char) -> PyResult<Option<ArrayRef>> {
    let text: String = dtype.getattr("str")?.extract()?;
    let unit = text.split_once('[').map_or("", |(_, rest)| rest.trim_end_matches(']'));
    let (array, unit) = match unit {
        "s" | "ms" | "us" | "ns" => (array.clone(), unit),
        "D" | "h" | "m" | "W" | "M" | "Y" => {
            let whole = if kind == 'M' { "datetime64[s]" } else { "timedelta64[s]" };
            (array.call_method1("astype", (whole,))?, "s")
        }
        _ => return Ok(None),
    };
    let counts = array.call_method1("view", ("int64",))?;
    let cells = ScalarBuffer::<i64>::from(bytes(of, &counts)?);
    Ok(Some(match (kind, unit) {
        ('M', "s") => stamped::<TimestampSecondType>(cells),
        ('M', "ms") => stamped::<TimestampMillisecondType>(cells),
        ('M', "us") => stamped::<TimestampMicrosecondType>(cells),
        ('M', _) => stamped::<TimestampNanosecondType>(cells),
        (_, "s") => stamped::<DurationSecondType>(cells),
        (_, "ms") => stamped::<DurationMillisecondType>(cells),
        (_, "us") => stamped::<DurationMicrosecondType>(cells),
        _ => stamped::<DurationNanosecondType>(cells),
    }))
}

fn stamped<T: ArrowPrimitiveType<Native = i64>>(cells: ScalarBuffer<i64>) -> ArrayRef {
    let valid = BooleanBuffer::collect_bool(cells.len(), |row| cells[row] != i64::MIN);
    let nulls = Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0);
    Arc::new(PrimitiveArray::<T>::new(cells, nulls))
}

/// The memory of an Int64 array as NumPy's own, if NumPy is there.
pub fn from_int64<'py>(py: Python<'py>, values: &[i64]) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy").map_err(|_| crate::error::missing(py, "to_numpy()", "numpy", "numpy"))?;
    // SAFETY: i64 has no padding and every byte of it may be read.
    let raw = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), std::mem::size_of_val(values)) };
    let raw = pyo3::types::PyByteArray::new(py, raw);
    numpy.call_method1("frombuffer", (raw, "int64"))
}

/// Whether this is a NumPy array (or one that says the same of itself).
pub fn is_array(value: &Bound<'_, PyAny>) -> bool {
    let typed = value.get_type().name().is_ok_and(|name| name == "ndarray");
    typed && value.hasattr("dtype").unwrap_or(false)
}
