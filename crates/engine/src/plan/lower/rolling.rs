//! Aggregates of windows that move along with their row: what is aggregated is a column first, and what is made of
//! aggregates a column of the result.
//!
//!   rolling  sum(V * 2) / len()      V * 2 is a hidden column, sum and len of the window are two more, their quotient the result

use formula::{Expr, Frame, Window};

use super::aggregate::Parts;
use super::computed::{ColumnOptions, Columns};
use super::over::without_hidden;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{Project, Rolling};
use crate::plan::spec::RollingOptions;
use crate::row_errors::{OnError, RowErrors};
use crate::table::handle::Table;

/// The columns of a table, then these expressions over aggregates of windows.
pub(super) fn rolling(
    call: &Call,
    table: &Table,
    how: &RollingOptions,
    expressions: &[Expr],
    on_error: OnError,
    columns: Columns,
) -> Result<Table, Error> {
    if expressions.is_empty() {
        return Err(Error::schema(&call.method, "at least one aggregate is needed"));
    }
    for expression in expressions {
        let name = expression.output_name()?;
        if table.schema().index_of(&name).is_ok() {
            return Err(Error::Duplicate { operation: call.method.to_string(), name });
        }
    }
    let (wide, named, over) = Parts::of(call, table, &[], expressions)?.staged(call, table, on_error, columns)?;
    let row_errors =
        wide.request().row_errors.as_ref().filter(|_| wide.width() > table.width()).map(RowErrors::sibling);
    let bare = RollingOptions { chosen: None, ..how.clone() };
    let made = call.attach(&Rolling::new(&call.method, &wide, &bare, &named)?, std::slice::from_ref(&wide))?;
    let row_errors = row_errors.as_ref();
    let last = ColumnOptions { on_error, row_errors, ..ColumnOptions::STORED };
    let made = if over.is_empty() { made } else { columns(call, &made, &over, last)? };
    if let Some(chosen) = &how.chosen {
        let place = |(held, name): &(String, String)| Ok((made.column_index(&call.method, held)?, name.clone()));
        let chosen = chosen.iter().map(place).collect::<Result<Vec<_>, Error>>()?;
        let project =
            Project::of(&call.method, chosen)?.reporting_to(made.request().row_errors.as_ref().or(row_errors));
        return call.attach(&project, std::slice::from_ref(&made));
    }
    if over.is_empty() && wide.width() == table.width() {
        return Ok(made);
    }
    without_hidden(call, table, &made, expressions, row_errors)
}

/// The table with the aggregates of these windows beside its rows. `by` and `order` are columns.
pub(super) fn beside(
    call: &Call,
    table: &Table,
    window: &Window,
    by: Vec<String>,
    order: Vec<String>,
    parts: &[Expr],
) -> Result<Table, Error> {
    let Some(rolling) = window.rolling else {
        return Err(Error::internal(&call.method, "a window that does not move"));
    };
    let ranged = matches!(rolling.frame, Frame::Range { .. });
    let how = RollingOptions { by, on: order.into_iter().next().filter(|_| ranged), window: rolling, chosen: None };
    call.attach(&Rolling::new(&call.method, table, &how, parts)?, std::slice::from_ref(table))
}
