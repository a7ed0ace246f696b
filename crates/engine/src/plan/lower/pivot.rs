//! `pivot`: an aggregation by the keys and the values, whose rows are cells; then a row for each key.

use formula::Expr;
use formula::values::Values;

use super::aggregate::{Which, composed};
use super::computed::Columns;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::Pivot;
use crate::plan::spec::PivotOptions;
use crate::plan::standing::Standing;
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// A row for each key, with a column for each aggregate and each of these values.
pub(super) fn pivot(
    call: &Call,
    table: &Table,
    values: &[Values],
    how: &PivotOptions,
    aggregates: &[Expr],
    on_error: OnError,
    columns: Columns,
) -> Result<Table, Error> {
    let on = how.on.iter().filter(|name| !how.index.contains(name));
    let keys: Vec<Expr> = how.index.iter().chain(on).map(|name| Expr::column(name.as_str())).collect();
    let cells = composed(call, &[table], &keys, aggregates, on_error, Which::default(), columns)?;
    // What an aggregate makes of no row stands where a key has none for a value.
    let whole = Which { standing: Standing { whole: true, ..Standing::default() }, held: None };
    let nothing = composed(call, &[&table.without_rows()?], &[], aggregates, on_error, whole, columns)?;
    let (view, mut empty) = (nothing.view()?, Vec::with_capacity(aggregates.len()));
    for column in 0..nothing.width() {
        empty.push(view.read(column, view.rows())?);
    }
    let row_errors = cells.request().row_errors.as_ref().filter(|_| on_error != OnError::Fail);
    let pivot = Pivot::new(&call.method, &cells, how, values, empty)?.reporting_to(row_errors);
    call.attach(&pivot, std::slice::from_ref(&cells))
}
