//! The operations, one function each: typed arguments become a node of the plan, which is applied without the GIL.

use engine::plan::{GroupBounds, Keep, Materialization, Op, SortBy, StandingGroups};
use engine::{Call, ExecutionOrder, OnError, Table};
use formula::values::Values;
use formula::{Checked, Expr};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{self, TypeMismatchError};
use crate::expr::PyExpr;
use crate::gil::call_engine;
use crate::place::here;
use crate::table::PyTable;

fn trees(expressions: &[Bound<'_, PyExpr>]) -> Vec<Expr> {
    expressions.iter().map(|expression| expression.get().expr().clone()).collect()
}

/// The table of an operation over others; `method` is what the user called.
fn made(py: Python<'_>, op: Op, method: &str, inputs: &[&Bound<'_, PyTable>]) -> PyResult<PyTable> {
    of_formulas(py, op, method, inputs, Vec::new())
}

/// As [`made`], of formulas among the expressions.
fn of_formulas(
    py: Python<'_>,
    op: Op,
    method: &str,
    inputs: &[&Bound<'_, PyTable>],
    formulas: Vec<Checked>,
) -> PyResult<PyTable> {
    let inputs: Vec<Table> = inputs.iter().map(|table| table.get().checked().cloned()).collect::<PyResult<_>>()?;
    let call = Call { formulas, ..call(py, method) };
    call_engine(py, move || engine::plan::apply(op, call, &inputs)).map(PyTable::new)
}

/// The formulas among some expressions.
fn formulas(expressions: &[Bound<'_, PyExpr>]) -> Vec<Checked> {
    expressions.iter().filter_map(|expression| expression.get().formula().cloned()).collect()
}

/// An operation without expressions over some tables, written as plans write it. `method` is what the user called.
#[pyfunction]
pub fn apply(py: Python<'_>, method: &str, op: &str, tables: Vec<Bound<'_, PyTable>>) -> PyResult<PyTable> {
    let op: Op = serde_json::from_str(op).map_err(|why| PyValueError::new_err(format!("{method}: {why}")))?;
    made(py, op, method, &tables.iter().collect::<Vec<_>>())
}

/// The call of a method from the user's own code.
pub(crate) fn call(py: Python<'_>, method: &str) -> Call {
    Call { location: here(py), ..Call::from(method) }
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
type PyOrder = (bool, bool, bool, Vec<u64>, Vec<u64>);

fn orders(given: Option<Vec<PyOrder>>) -> Vec<ExecutionOrder> {
    let order = |(serial, stateless, overlaps, declares, respects)| ExecutionOrder {
        serial,
        stateless,
        overlaps,
        declares,
        respects,
    };
    given.unwrap_or_default().into_iter().map(order).collect()
}

/// The rows for which every predicate is true. `operation` is the method the user called.
#[pyfunction]
#[pyo3(signature = (operation, table, predicates, orders_given, on_error = "fail"))]
pub fn filter(
    py: Python<'_>,
    operation: &str,
    table: &Bound<'_, PyTable>,
    predicates: Vec<Bound<'_, PyExpr>>,
    orders_given: Option<Vec<PyOrder>>,
    on_error: &str,
) -> PyResult<PyTable> {
    let on_error = on_error_of(operation, on_error)?;
    let op = Op::Filter { predicates: trees(&predicates), orders: orders(orders_given), on_error };
    of_formulas(py, op, operation, &[table], formulas(&predicates))
}

/// The rows of a static table whose byte in the mask is not 0.
#[pyfunction]
pub fn masked(operation: &str, table: &Bound<'_, PyTable>, mask: &[u8]) -> PyResult<PyTable> {
    let positions = mask.iter().enumerate().filter(|(_, keep)| **keep != 0).map(|(at, _)| at as u64);
    let positions = rowset::RowSet::from_sorted_keys(&positions.collect::<Vec<_>>());
    let input = table.get().checked()?.clone();
    call_engine(table.py(), move || engine::sources::selected(operation, &input, positions)).map(PyTable::new)
}

/// New columns, after those of the table if `keep`. `kept`: "stored", "on read" or "once per input". `sequential`: a column
/// may read those before it.
#[pyfunction]
#[pyo3(signature = (operation, table, expressions, orders_given, kept, keep, on_error = "fail", sequential = false))]
#[allow(clippy::too_many_arguments, reason = "one door, called by name from Python")]
pub fn columns(
    py: Python<'_>,
    operation: &str,
    table: &Bound<'_, PyTable>,
    expressions: Vec<Bound<'_, PyExpr>>,
    orders_given: Option<Vec<PyOrder>>,
    kept: &str,
    keep: bool,
    on_error: &str,
    sequential: bool,
) -> PyResult<PyTable> {
    let materialization = match kept {
        "stored" => Materialization::Stored,
        "on read" => Materialization::Lazy,
        "once per input" => Materialization::Memoized,
        other => return Err(PyValueError::new_err(format!("kept: {other:?}"))),
    };
    let on_error = on_error_of(operation, on_error)?;
    let (columns, orders) = (trees(&expressions), orders(orders_given));
    let op = Op::Columns { columns, keep, orders, materialization, on_error, sequential };
    of_formulas(py, op, operation, &[table], formulas(&expressions))
}

/// Refuses barriers that are declared twice, or respected before they are declared.
#[pyfunction]
pub fn check_barriers(operation: &str, declares: Vec<Vec<u64>>, respects: Vec<Vec<u64>>) -> PyResult<()> {
    let order = |(declares, respects)| ExecutionOrder { declares, respects, ..ExecutionOrder::default() };
    let orders: Vec<ExecutionOrder> = declares.into_iter().zip(respects).map(order).collect();
    engine::check_barriers(operation, &orders).map_err(error::raise)
}

/// Some columns.
#[pyfunction]
pub fn choose(table: &Bound<'_, PyTable>, names: Vec<String>) -> PyResult<PyTable> {
    made(table.py(), Op::Choose { names }, "select", &[table])
}

/// The columns and contracts of a table without its rows: what a formula is read for before there is a table to read it for.
#[pyfunction]
pub fn without_rows(table: &Bound<'_, PyTable>) -> PyResult<PyTable> {
    table.get().checked()?.without_rows().map(PyTable::new).map_err(error::raise)
}

#[pyfunction]
pub fn drop(table: &Bound<'_, PyTable>, names: Vec<String>) -> PyResult<PyTable> {
    made(table.py(), Op::Drop { names }, "drop", &[table])
}

#[pyfunction]
pub fn rename(table: &Bound<'_, PyTable>, names: Vec<(String, String)>) -> PyResult<PyTable> {
    made(table.py(), Op::Rename { names }, "rename", &[table])
}

#[pyfunction]
pub fn head(table: &Bound<'_, PyTable>, n: u64) -> PyResult<PyTable> {
    made(table.py(), Op::Head { rows: n }, "head", &[table])
}

#[pyfunction]
pub fn tail(table: &Bound<'_, PyTable>, n: u64) -> PyResult<PyTable> {
    made(table.py(), Op::Tail { rows: n }, "tail", &[table])
}

#[pyfunction]
#[pyo3(signature = (table, offset, length))]
pub fn slice(table: &Bound<'_, PyTable>, offset: i64, length: Option<u64>) -> PyResult<PyTable> {
    made(table.py(), Op::Slice { offset, length }, "slice", &[table])
}

/// By (column, descending, nulls last), the first that differs decides.
#[pyfunction]
pub fn sort(table: &Bound<'_, PyTable>, by: Vec<(String, bool, bool)>) -> PyResult<PyTable> {
    let by = by.into_iter().map(|(column, descending, nulls_last)| SortBy { column, descending, nulls_last }).collect();
    made(table.py(), Op::Sort { by }, "sort", &[table])
}

/// The rows of several tables, one table after the other.
#[pyfunction]
pub fn concat(py: Python<'_>, tables: Vec<Bound<'_, PyTable>>) -> PyResult<PyTable> {
    made(py, Op::Concat, "concat", &tables.iter().collect::<Vec<_>>())
}

/// One row a group. `operation` is the method the user called.
#[pyfunction]
#[pyo3(signature = (operation, table, keys, aggregates, on_error = "fail", preserve_empty = false, initial = None, bounds = None))]
pub fn aggregate(
    operation: &str,
    table: &Bound<'_, PyTable>,
    keys: Vec<Bound<'_, PyExpr>>,
    aggregates: Vec<Bound<'_, PyExpr>>,
    on_error: &str,
    preserve_empty: bool,
    initial: Option<&Bound<'_, PyTable>>,
    bounds: Option<&str>,
) -> PyResult<PyTable> {
    let (on_error, bounded) = (on_error_of(operation, on_error)?, bounds.is_some());
    let bounds = bounds_of(operation, bounds)?;
    let (groups, aggregates) = (trees(&keys), trees(&aggregates));
    let op = match initial {
        None if !preserve_empty && !bounded => Op::Aggregate { keys: groups, aggregates, on_error },
        _ => {
            let named = initial.is_some();
            Op::StandingGroups(StandingGroups { keys: groups, aggregates, preserve_empty, named, on_error, bounds })
        }
    };
    let inputs: Vec<&Bound<'_, PyTable>> = std::iter::once(table).chain(initial).collect();
    of_formulas(table.py(), op, operation, &inputs, formulas(&keys))
}

/// Which groups are held, as plans write it.
fn bounds_of(operation: &str, bounds: Option<&str>) -> PyResult<GroupBounds> {
    let Some(bounds) = bounds else { return Ok(GroupBounds::default()) };
    serde_json::from_str(bounds).map_err(|why| PyValueError::new_err(format!("{operation}: {why}")))
}

/// New columns over the rows of each group: what each is of, and the columns as plans write them.
#[pyfunction]
#[pyo3(signature = (operation, table, by, inputs, operators, resets, bounds = None, on_error = "fail"))]
pub fn update_by(
    py: Python<'_>,
    operation: &str,
    table: &Bound<'_, PyTable>,
    by: Vec<String>,
    inputs: Vec<Bound<'_, PyExpr>>,
    operators: &str,
    resets: bool,
    bounds: Option<&str>,
    on_error: &str,
) -> PyResult<PyTable> {
    let on_error = on_error_of(operation, on_error)?;
    let bounds = bounds_of(operation, bounds)?;
    let operators =
        serde_json::from_str(operators).map_err(|why| PyValueError::new_err(format!("{operation}: {why}")))?;
    let op = Op::UpdateBy { by, inputs: trees(&inputs), operators, resets, bounds, on_error };
    of_formulas(py, op, operation, &[table], formulas(&inputs))
}

/// One row for each group and each window of time. `how`: the windows, as plans write them.
#[pyfunction]
pub fn time_windows(
    operation: &str,
    table: &Bound<'_, PyTable>,
    how: &str,
    keys: Vec<Bound<'_, PyExpr>>,
    aggregates: Vec<Bound<'_, PyExpr>>,
    on_error: &str,
) -> PyResult<PyTable> {
    let on_error = on_error_of(operation, on_error)?;
    let how = serde_json::from_str(how).map_err(|why| PyValueError::new_err(format!("{operation}: {why}")))?;
    let op = Op::Windows { how, keys: trees(&keys), aggregates: trees(&aggregates), on_error };
    of_formulas(table.py(), op, operation, &[table], formulas(&keys))
}

/// One row for each session of each group. `how`: the sessions, as plans write them.
#[pyfunction]
pub fn time_sessions(
    operation: &str,
    table: &Bound<'_, PyTable>,
    how: &str,
    keys: Vec<Bound<'_, PyExpr>>,
    aggregates: Vec<Bound<'_, PyExpr>>,
    on_error: &str,
) -> PyResult<PyTable> {
    let on_error = on_error_of(operation, on_error)?;
    let how = serde_json::from_str(how).map_err(|why| PyValueError::new_err(format!("{operation}: {why}")))?;
    let op = Op::Session { how, keys: trees(&keys), aggregates: trees(&aggregates), on_error };
    of_formulas(table.py(), op, operation, &[table], formulas(&keys))
}

/// Every left row with aggregates of the right rows in its range. `how`: keys and ranges, as plans write them.
#[pyfunction]
#[pyo3(signature = (operation, left, right, how, aggregates, on_error = "fail"))]
pub fn range_join(
    operation: &str,
    left: &Bound<'_, PyTable>,
    right: &Bound<'_, PyTable>,
    how: &str,
    aggregates: Vec<Bound<'_, PyExpr>>,
    on_error: &str,
) -> PyResult<PyTable> {
    let how = serde_json::from_str(how).map_err(|why| PyValueError::new_err(format!("{operation}: {why}")))?;
    let op = Op::RangeJoin { how, aggregates: trees(&aggregates), on_error: on_error_of(operation, on_error)? };
    made(left.py(), op, operation, &[left, right])
}

/// A row for each key, with a column for each aggregate and each of these values. `how`: as plans write it.
#[pyfunction]
#[pyo3(signature = (operation, table, values, how, aggregates, on_error = "fail"))]
pub fn pivot(
    operation: &str,
    table: &Bound<'_, PyTable>,
    values: &Bound<'_, PyTable>,
    how: &str,
    aggregates: Vec<Bound<'_, PyExpr>>,
    on_error: &str,
) -> PyResult<PyTable> {
    let how = serde_json::from_str(how).map_err(|why| PyValueError::new_err(format!("{operation}: {why}")))?;
    let on_error = on_error_of(operation, on_error)?;
    let values = listed(operation, values.get().checked()?)?;
    let op = Op::Pivot { how, values, aggregates: trees(&aggregates), on_error };
    made(table.py(), op, operation, &[table])
}

/// The cells of each column, as plans hold values.
fn listed(operation: &str, table: &Table) -> PyResult<Vec<Values>> {
    let view = table.view().map_err(error::raise)?;
    let values = (0..table.width()).map(|column| {
        let cells = view.read(column, view.rows()).map_err(error::raise)?;
        Values::new(&cells).map_err(error::arrow)?.ok_or_else(|| {
            let (name, kind) = (table.schema().field(column).name(), formula::type_name(cells.data_type()));
            TypeMismatchError::new_err(format!("{operation}: values of {name:?} are {kind}, which name no column"))
        })
    });
    values.collect()
}

/// The columns of a table, then aggregates of windows that move along with each row. `how`: keys and windows, as plans write
/// them.
#[pyfunction]
#[pyo3(signature = (operation, table, how, aggregates, on_error = "fail"))]
pub fn rolling(
    operation: &str,
    table: &Bound<'_, PyTable>,
    how: &str,
    aggregates: Vec<Bound<'_, PyExpr>>,
    on_error: &str,
) -> PyResult<PyTable> {
    let on_error = on_error_of(operation, on_error)?;
    let how = serde_json::from_str(how).map_err(|why| PyValueError::new_err(format!("{operation}: {why}")))?;
    let op = Op::Rolling { how, aggregates: trees(&aggregates), on_error };
    made(table.py(), op, operation, &[table])
}

/// The pairs of rows for which every predicate is true.
#[pyfunction]
#[pyo3(signature = (operation, left, right, predicates, suffix, on_error = "fail"))]
pub fn join_where(
    operation: &str,
    left: &Bound<'_, PyTable>,
    right: &Bound<'_, PyTable>,
    predicates: Vec<Bound<'_, PyExpr>>,
    suffix: String,
    on_error: &str,
) -> PyResult<PyTable> {
    let on_error = on_error_of(operation, on_error)?;
    let op = Op::JoinWhere { predicates: trees(&predicates), suffix, on_error };
    of_formulas(left.py(), op, operation, &[left, right], formulas(&predicates))
}

#[pyfunction]
#[pyo3(signature = (table, subset, last, bounds = None))]
pub fn unique(
    table: &Bound<'_, PyTable>,
    subset: Option<Vec<String>>,
    last: bool,
    bounds: Option<&str>,
) -> PyResult<PyTable> {
    let keep = if last { Keep::Last } else { Keep::First };
    let bounds = bounds_of("unique", bounds)?;
    made(table.py(), Op::Distinct { keys: subset.unwrap_or_default(), keep, bounds }, "unique", &[table])
}

#[pyfunction]
pub fn first_by(table: &Bound<'_, PyTable>, keys: Vec<String>) -> PyResult<PyTable> {
    made(table.py(), Op::Distinct { keys, keep: Keep::First, bounds: GroupBounds::default() }, "first_by", &[table])
}

#[pyfunction]
pub fn last_by(table: &Bound<'_, PyTable>, keys: Vec<String>) -> PyResult<PyTable> {
    made(table.py(), Op::Distinct { keys, keep: Keep::Last, bounds: GroupBounds::default() }, "last_by", &[table])
}
