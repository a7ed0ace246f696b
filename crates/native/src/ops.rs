//! The operations, one function each: take typed arguments, build the request, attach it without the GIL.

use engine::ops::{Concat, Filter, Project, Select, Slice};
use engine::{Operation, Table};
use formula::Expr;
use pyo3::prelude::*;

use crate::error;
use crate::expr::PyExpr;
use crate::table::PyTable;

fn trees(expressions: &[Bound<'_, PyExpr>]) -> Vec<Expr> {
    expressions.iter().map(|expression| expression.get().0.clone()).collect()
}

fn one<O: Operation>(
    table: &Bound<'_, PyTable>,
    request: impl FnOnce(&Table) -> Result<O, engine::Error> + Send,
) -> PyResult<PyTable> {
    let input = table.get().usable()?.clone();
    several(table.py(), vec![input], |inputs| request(&inputs[0]))
}

fn several<O: Operation>(
    py: Python<'_>,
    inputs: Vec<Table>,
    request: impl FnOnce(&[Table]) -> Result<O, engine::Error> + Send,
) -> PyResult<PyTable> {
    py.detach(move || engine::attach(&request(&inputs)?, &inputs)).map(PyTable::new).map_err(error::raise)
}

#[pyfunction]
pub fn filter(table: &Bound<'_, PyTable>, predicates: Vec<Bound<'_, PyExpr>>) -> PyResult<PyTable> {
    let predicates = trees(&predicates);
    one(table, |input| Filter::new(input, &predicates))
}

#[pyfunction]
pub fn select(table: &Bound<'_, PyTable>, expressions: Vec<Bound<'_, PyExpr>>) -> PyResult<PyTable> {
    let expressions = trees(&expressions);
    one(table, |input| Select::only(input, &expressions))
}

#[pyfunction]
pub fn with_columns(table: &Bound<'_, PyTable>, expressions: Vec<Bound<'_, PyExpr>>) -> PyResult<PyTable> {
    let expressions = trees(&expressions);
    one(table, |input| Select::with(input, &expressions))
}

#[pyfunction]
pub fn choose(table: &Bound<'_, PyTable>, names: Vec<String>) -> PyResult<PyTable> {
    one(table, |input| Project::choose(input, &names))
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

/// The rows of several tables, one table after the other.
#[pyfunction]
pub fn concat(py: Python<'_>, tables: Vec<Bound<'_, PyTable>>) -> PyResult<PyTable> {
    let tables: Vec<Table> = tables.iter().map(|table| table.get().usable().cloned()).collect::<PyResult<_>>()?;
    several(py, tables, Concat::new)
}
