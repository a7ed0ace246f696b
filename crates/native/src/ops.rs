//! The operations, one function each: take typed arguments, build the request, attach it without the GIL.

use engine::Location;
use engine::Turn;
use engine::ops::{
    AsofJoin, AsofOptions, Concat, EquiOptions, How, Matches, Member, NaturalJoin, Project, Slice, Sort, SortBy,
    Strategy, Tolerance, Validate, WhereIn,
};
use engine::plan::{ColumnOptions, Keep, Materialization, distinct};
use engine::{OnError, Operation, Table};
use formula::Expr;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error;
use crate::expr::PyExpr;
use crate::gil::call_engine;
use crate::table::PyTable;

fn trees(expressions: &[Bound<'_, PyExpr>]) -> Vec<Expr> {
    expressions.iter().map(|expression| expression.get().expr().clone()).collect()
}

fn one<O: Operation>(
    table: &Bound<'_, PyTable>,
    request: impl FnOnce(&Table) -> Result<O, engine::Error> + Send,
) -> PyResult<PyTable> {
    let input = table.get().usable()?.clone();
    several(table.py(), vec![input], |inputs| request(&inputs[0]))
}

/// Tells the engine which line of the user's own code asks, so that a failure later can name it.
pub(crate) fn tell_location(py: Python<'_>) {
    engine::set_location(location(py).ok().flatten());
}

/// Frames of the user's own that are kept, the innermost ones.
const FRAMES: usize = 8;

/// The frames outside this package, the innermost first.
fn location(py: Python<'_>) -> PyResult<Option<Location>> {
    let mut frame = py.import("sys")?.call_method1("_getframe", (0,))?;
    let mut frames: Vec<(String, u32, String)> = Vec::new();
    while !frame.is_none() && frames.len() < FRAMES {
        let module = frame.getattr("f_globals")?.get_item("__name__");
        let name = module.and_then(|name| name.extract::<String>()).unwrap_or_default();
        if name != "tickframe" && !name.starts_with("tickframe.") {
            let code = frame.getattr("f_code")?;
            let line: u32 = frame.getattr("f_lineno")?.extract()?;
            frames.push((code.getattr("co_filename")?.extract()?, line, code.getattr("co_name")?.extract()?));
        }
        frame = frame.getattr("f_back")?;
    }
    let place = |(file, line, name): &(String, u32, String)| format!("  File \"{file}\", line {line}, in {name}");
    let trace = frames.iter().rev().map(place).collect::<Vec<_>>().join("\n");
    Ok(frames.first().map(|(file, line, _)| Location { line: format!("{file}:{line}"), trace }))
}

fn several<O: Operation>(
    py: Python<'_>,
    inputs: Vec<Table>,
    request: impl FnOnce(&[Table]) -> Result<O, engine::Error> + Send,
) -> PyResult<PyTable> {
    tell_location(py);
    call_engine(py, move || engine::attach(&request(&inputs)?, &inputs)).map(PyTable::new)
}

fn on_error_of(operation: &str, word: &str) -> PyResult<OnError> {
    match word {
        "fail" => Ok(OnError::Fail),
        "null" => Ok(OnError::Null),
        "drop" => Ok(OnError::Drop),
        other => {
            let message = format!("{operation}: on_error must be \"fail\", \"null\" or \"drop\", not {other:?}");
            Err(PyValueError::new_err(message))
        }
    }
}

/// Serial, stateless by default, may overlap, barriers declared, barriers respected.
type PyTurn = (bool, bool, bool, Vec<u64>, Vec<u64>);

fn turns(given: Option<Vec<PyTurn>>) -> Vec<Turn> {
    let turn =
        |(serial, stateless, overlaps, declares, respects)| Turn { serial, stateless, overlaps, declares, respects };
    given.unwrap_or_default().into_iter().map(turn).collect()
}

fn made(
    py: Python<'_>,
    table: &Bound<'_, PyTable>,
    make: impl FnOnce(&Table) -> Result<Table, engine::Error> + Send,
) -> PyResult<PyTable> {
    let input = table.get().usable()?.clone();
    tell_location(py);
    call_engine(py, move || make(&input)).map(PyTable::new)
}

/// The rows for which every predicate is true. `operation` is the method the user called.
#[pyfunction]
#[pyo3(signature = (operation, table, predicates, turns_given, on_error = "fail"))]
pub fn filter(
    py: Python<'_>,
    operation: &str,
    table: &Bound<'_, PyTable>,
    predicates: Vec<Bound<'_, PyExpr>>,
    turns_given: Option<Vec<PyTurn>>,
    on_error: &str,
) -> PyResult<PyTable> {
    let on_error = on_error_of(operation, on_error)?;
    let (predicates, turns) = (trees(&predicates), turns(turns_given));
    made(py, table, move |input| engine::plan::filtered(operation, input, &predicates, &turns, on_error))
}

/// The rows of a static table whose byte in the mask is not 0.
#[pyfunction]
pub fn masked(operation: &str, table: &Bound<'_, PyTable>, mask: &[u8]) -> PyResult<PyTable> {
    let positions = mask.iter().enumerate().filter(|(_, keep)| **keep != 0).map(|(at, _)| at as u64);
    let positions = rowset::RowSet::from_sorted_keys(&positions.collect::<Vec<_>>());
    made(table.py(), table, move |input| engine::sources::selected(operation, input, positions))
}

/// New columns, after those of the table if `all`. `kept`: "stored", "on read" or "once per input". `continues`: the
/// table is a step on the way, whose faults are the result's.
#[pyfunction]
#[pyo3(signature = (operation, table, expressions, turns_given, kept, all, on_error = "fail", continues = false))]
#[allow(clippy::too_many_arguments, reason = "one door, called by name from Python")]
pub fn columns(
    py: Python<'_>,
    operation: &str,
    table: &Bound<'_, PyTable>,
    expressions: Vec<Bound<'_, PyExpr>>,
    turns_given: Option<Vec<PyTurn>>,
    kept: &str,
    all: bool,
    on_error: &str,
    continues: bool,
) -> PyResult<PyTable> {
    let kept = match kept {
        "stored" => Materialization::Stored,
        "on read" => Materialization::Lazy,
        "once per input" => Materialization::Memoized,
        other => return Err(PyValueError::new_err(format!("kept: {other:?}"))),
    };
    let on_error = on_error_of(operation, on_error)?;
    let (expressions, turns) = (trees(&expressions), turns(turns_given));
    made(py, table, move |input| {
        let how = ColumnOptions {
            turns: &turns,
            kept,
            all,
            on_error,
            faults: input.request().faults.as_ref().filter(|_| continues),
        };
        engine::plan::columns(operation, input, &expressions, how)
    })
}

/// Refuses barriers that are declared twice, or respected before they are declared.
#[pyfunction]
pub fn check_barriers(operation: &str, declares: Vec<Vec<u64>>, respects: Vec<Vec<u64>>) -> PyResult<()> {
    let turn = |(declares, respects)| Turn { declares, respects, ..Turn::default() };
    let turns: Vec<Turn> = declares.into_iter().zip(respects).map(turn).collect();
    engine::check_barriers(operation, &turns).map_err(error::raise)
}

/// Some columns. `continues`: the table is a step on the way, whose faults are the result's.
#[pyfunction]
#[pyo3(signature = (table, names, continues = false))]
pub fn choose(table: &Bound<'_, PyTable>, names: Vec<String>, continues: bool) -> PyResult<PyTable> {
    one(table, |input| {
        Ok(Project::choose(input, &names)?.reporting_to(input.request().faults.as_ref().filter(|_| continues)))
    })
}

#[pyfunction]
pub fn drop(table: &Bound<'_, PyTable>, names: Vec<String>) -> PyResult<PyTable> {
    one(table, |input| Project::drop(input, &names))
}

#[pyfunction]
pub fn rename(table: &Bound<'_, PyTable>, names: Vec<(String, String)>) -> PyResult<PyTable> {
    one(table, |input| Project::rename(input, &names))
}

#[pyfunction]
pub fn head(table: &Bound<'_, PyTable>, n: u64) -> PyResult<PyTable> {
    one(table, |_| Ok(Slice::head(n)))
}

#[pyfunction]
pub fn tail(table: &Bound<'_, PyTable>, n: u64) -> PyResult<PyTable> {
    one(table, |_| Ok(Slice::tail(n)))
}

#[pyfunction]
#[pyo3(signature = (table, offset, length))]
pub fn slice(table: &Bound<'_, PyTable>, offset: i64, length: Option<u64>) -> PyResult<PyTable> {
    one(table, |_| Ok(Slice::new(offset, length)))
}

/// By (column, descending, nulls last), the first that differs decides.
#[pyfunction]
pub fn sort(table: &Bound<'_, PyTable>, by: Vec<(String, bool, bool)>) -> PyResult<PyTable> {
    let by: Vec<SortBy> =
        by.into_iter().map(|(column, descending, nulls_last)| SortBy { column, descending, nulls_last }).collect();
    one(table, |input| Sort::new(input, &by))
}

/// The rows of several tables, one table after the other.
#[pyfunction]
pub fn concat(py: Python<'_>, tables: Vec<Bound<'_, PyTable>>) -> PyResult<PyTable> {
    let tables: Vec<Table> = tables.iter().map(|table| table.get().usable().cloned()).collect::<PyResult<_>>()?;
    several(py, tables, Concat::new)
}

/// One row a group. `operation` is the method the user called.
#[pyfunction]
#[pyo3(signature = (operation, table, keys, aggregates, on_error = "fail"))]
pub fn aggregate(
    operation: &str,
    table: &Bound<'_, PyTable>,
    keys: Vec<Bound<'_, PyExpr>>,
    aggregates: Vec<Bound<'_, PyExpr>>,
    on_error: &str,
) -> PyResult<PyTable> {
    let on_error = on_error_of(operation, on_error)?;
    let (keys, aggregates) = (trees(&keys), trees(&aggregates));
    made(table.py(), table, move |input| engine::plan::aggregate(operation, input, &keys, &aggregates, on_error))
}

fn kept(operation: &'static str, table: &Bound<'_, PyTable>, keys: &[String], keep: Keep) -> PyResult<PyTable> {
    made(table.py(), table, |input| distinct(operation, input, keys, keep))
}

#[pyfunction]
#[pyo3(signature = (table, subset, last))]
pub fn unique(table: &Bound<'_, PyTable>, subset: Option<Vec<String>>, last: bool) -> PyResult<PyTable> {
    kept("unique", table, &subset.unwrap_or_default(), if last { Keep::Last } else { Keep::First })
}

#[pyfunction]
pub fn first_by(table: &Bound<'_, PyTable>, keys: Vec<String>) -> PyResult<PyTable> {
    kept("first_by", table, &keys, Keep::First)
}

#[pyfunction]
pub fn last_by(table: &Bound<'_, PyTable>, keys: Vec<String>) -> PyResult<PyTable> {
    kept("last_by", table, &keys, Keep::Last)
}

type Pairs = Vec<(String, String)>;

fn both(left: &Bound<'_, PyTable>, right: &Bound<'_, PyTable>) -> PyResult<Vec<Table>> {
    Ok(vec![left.get().usable()?.clone(), right.get().usable()?.clone()])
}

/// `on`: left and right names; `joins`: new and old names.
#[pyfunction]
#[pyo3(signature = (operation, left, right, on, joins, suffix, multiple, nulls_equal, on_error = "fail"))]
#[allow(clippy::too_many_arguments, reason = "one door, called by name from Python")]
pub fn natural_join(
    operation: &str,
    left: &Bound<'_, PyTable>,
    right: &Bound<'_, PyTable>,
    on: Pairs,
    joins: Option<Pairs>,
    suffix: Option<String>,
    multiple: &str,
    nulls_equal: bool,
    on_error: &str,
) -> PyResult<PyTable> {
    let on_error = on_error_of(operation, on_error)?;
    let matches = match multiple {
        "error" => Matches::Error,
        "first" => Matches::First,
        "last" => Matches::Last,
        other => return Err(PyValueError::new_err(format!("multiple: {other:?}"))),
    };
    let inputs = both(left, right)?;
    tell_location(left.py());
    let join = || {
        let [left, right] = &inputs[..] else { unreachable!("a join has two inputs") };
        let (joins, suffix) = (joins.as_deref(), suffix.as_deref());
        let join = NaturalJoin::new(operation, left, right, &on, joins, suffix, matches, nulls_equal)?;
        engine::plan::natural_join(join, left, right, &on, on_error)
    };
    call_engine(left.py(), join).map(PyTable::new)
}

/// Every pair of rows with equal keys; `on`: left and right names.
#[pyfunction]
#[pyo3(signature = (operation, left, right, on, how, suffix, nulls_equal, validate, coalesce))]
#[allow(clippy::too_many_arguments, reason = "one door, called by name from Python")]
pub fn join(
    operation: &str,
    left: &Bound<'_, PyTable>,
    right: &Bound<'_, PyTable>,
    on: Pairs,
    how: &str,
    suffix: String,
    nulls_equal: bool,
    validate: &str,
    coalesce: bool,
) -> PyResult<PyTable> {
    let how = match how {
        "inner" => How::Inner,
        "left" => How::Left,
        other => return Err(PyValueError::new_err(format!("how: {other:?}"))),
    };
    let validate = match validate {
        "m:m" => Validate::ManyToMany,
        "m:1" => Validate::ManyToOne,
        "1:m" => Validate::OneToMany,
        "1:1" => Validate::OneToOne,
        other => return Err(PyValueError::new_err(format!("validate: {other:?}"))),
    };
    let inputs = both(left, right)?;
    let options = EquiOptions { on, how, suffix, nulls_equal, validate, coalesce };
    tell_location(left.py());
    call_engine(left.py(), || engine::plan::join(operation, &inputs[0], &inputs[1], options)).map(PyTable::new)
}

/// The rows whose key is in the set, or those whose key is not. `on`: names of the rows and of the set.
#[pyfunction]
#[pyo3(signature = (operation, rows, set, on, inside, nulls_equal))]
pub fn where_in(
    operation: &str,
    rows: &Bound<'_, PyTable>,
    set: &Bound<'_, PyTable>,
    on: Pairs,
    inside: bool,
    nulls_equal: bool,
) -> PyResult<PyTable> {
    let member = if inside { Member::In } else { Member::NotIn };
    several(rows.py(), both(rows, set)?, |inputs| {
        WhereIn::new(operation, &inputs[0], &inputs[1], &on, member, nulls_equal)
    })
}

/// A greatest distance: a whole number, or one with a fraction.
#[derive(FromPyObject)]
pub enum PyTolerance {
    Whole(u64),
    Number(f64),
}

/// `on`: left and right stamp; `by`: left and right keys; `joins`: new and old names. `is_span`: the tolerance is of
/// nanoseconds; else it is a number.
#[pyfunction]
#[pyo3(signature = (operation, left, right, on, by, strategy, tolerance, is_span, allow_exact_matches, joins, suffix))]
pub fn join_asof(
    operation: &str,
    left: &Bound<'_, PyTable>,
    right: &Bound<'_, PyTable>,
    on: (String, String),
    by: Pairs,
    strategy: &str,
    tolerance: Option<PyTolerance>,
    is_span: bool,
    allow_exact_matches: bool,
    joins: Option<Pairs>,
    suffix: Option<String>,
) -> PyResult<PyTable> {
    let strategy = match strategy {
        "backward" => Strategy::Backward,
        "forward" => Strategy::Forward,
        "forward_last" => Strategy::ForwardLast,
        "nearest" => Strategy::Nearest,
        other => return Err(PyValueError::new_err(format!("strategy: {other:?}"))),
    };
    let tolerance = tolerance.map(|tolerance| match tolerance {
        PyTolerance::Whole(span) if is_span => Tolerance::Span(span),
        PyTolerance::Whole(number) => Tolerance::Whole(number),
        PyTolerance::Number(number) => Tolerance::Number(number),
    });
    let options = AsofOptions { on, by, strategy, tolerance, allow_exact_matches, joins, suffix };
    several(left.py(), both(left, right)?, |inputs| AsofJoin::new(operation, &inputs[0], &inputs[1], &options))
}
