//! `range_join`: what is aggregated is a column of the right table first, and what is made of aggregates a column of the
//! result.

use formula::Expr;

use super::aggregate::Parts;
use super::beside::{StagedExpr, stage_inputs};
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
    let Parts { mut parts, over } = Parts::of(call, right, &[], expressions)?;
    let staged: Vec<StagedExpr> = parts
        .iter()
        .flat_map(|(name, part)| part.children().map(move |input| (name, input)))
        .map(|(name, input)| StagedExpr {
            becomes: name.becomes().map(str::to_owned),
            expression: input.clone(),
            stored: !matches!(input.unaliased(), Expr::Column(_)),
        })
        .collect();
    let how_computed = ColumnOptions { on_error, ..ColumnOptions::STORED };
    let (wide, read) = stage_inputs(call, right, &staged, how_computed, columns)?;
    let faults = wide.request().faults.clone().filter(|_| staged.iter().any(|one| one.stored));
    let mut read = read.into_iter();
    for (_, part) in &mut parts {
        if let Expr::Aggregate { inputs, .. } = part {
            inputs.iter_mut().zip(&mut read).for_each(|(input, read)| *input = read);
        }
    }
    let named: Vec<Expr> = parts.into_iter().map(|(name, part)| part.alias(name)).collect();
    let both = [left.clone(), wide];
    let join = RangeJoin::new(&call.method, left, &both[1], how, &named)?.reporting_to(faults.as_ref());
    let joined = call.attach(&join, &both)?;
    if over.is_empty() {
        return Ok(joined);
    }
    let made = columns(call, &joined, &over, ColumnOptions { faults: faults.as_ref(), ..how_computed })?;
    without_hidden(call, left, &made, expressions)
}
