//! `range_join`: what is aggregated is a column of the right table first, and what is made of aggregates a column of the
//! result.

use formula::Expr;

use super::aggregate::Parts;
use super::computed::{ColumnOptions, Columns};
use super::over::without_hidden;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::RangeJoin;
use crate::plan::spec::RangeOptions;
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// Every left row with these expressions over aggregates of the right rows in its range.
pub(super) fn range_join(
    call: &Call,
    left: &Table,
    right: &Table,
    how: &RangeOptions,
    expressions: &[Expr],
    on_error: OnError,
    columns: Columns,
) -> Result<Table, Error> {
    if expressions.is_empty() {
        return Err(Error::schema(&call.method, "at least one aggregate is needed (aggs=)"));
    }
    for expression in expressions {
        let name = expression.output_name()?;
        if left.schema().index_of(&name).is_ok() {
            return Err(Error::Duplicate { operation: call.method.to_string(), name });
        }
    }
    let (wide, named, over) = Parts::of(call, right, &[], expressions)?.staged(call, right, on_error, columns)?;
    let row_errors = wide.request().row_errors.clone().filter(|_| !wide.same(right));
    let both = [left.clone(), wide];
    let join = RangeJoin::new(&call.method, left, &both[1], how, &named)?.reporting_to(row_errors.as_ref());
    let joined = call.attach(&join, &both)?;
    if over.is_empty() {
        return Ok(joined);
    }
    let made = columns(
        call,
        &joined,
        &over,
        ColumnOptions { row_errors: row_errors.as_ref(), on_error, ..ColumnOptions::STORED },
    )?;
    without_hidden(call, left, &made, expressions, None)
}
