//! The choice of the operation that computes an expression of `select`, `with_columns`, `update`, `view`, `filter` …:
//! by the inputs that the expression reads, and by the policy for rows that cannot be computed (`on_error`).

use formula::Expr;
use formula::values::Values;

use super::aggregate::{Which, composed};
use super::beside::{StagedExpr, stage_inputs};
use super::computed::{ColumnOptions, computed};
use super::held::Held;
use super::multi_join::multi_join as joined;
use super::over::{one_row, planned, without_hidden};
use super::pivot::pivot as turned;
use super::range_join::range_join as ranged;
use super::recent::windowed;
use super::rolling::rolling as rolled;
use super::row_keys::with_row_keys;
use super::sets::members;
use super::time_sessions::time_sessions as sessions;
use super::time_windows::time_windows as windows;
use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::schedule::ExecutionOrder;
use crate::ops::{Filter, Project};
use crate::plan::spec::{
    InputColumns, Materialization, PivotOptions, RangeOptions, RollingOptions, SessionOptions, WindowOptions,
};
use crate::plan::standing::{Standing, StandingGroups};
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// New columns: after those of the table, or only these.
///
/// To leave rows without a value out is a filter that asks whether each column has one, and the columns over what
/// passes it. Columns whose failures are passed over are stored: a failure is told once, not at every read.
pub(in crate::plan) fn columns(
    call: &Call,
    table: &Table,
    expressions: &[Expr],
    how: ColumnOptions<'_>,
) -> Result<Table, Error> {
    let ColumnOptions { kept, own, on_error, .. } = how;
    if let Some((wide, read)) = with_row_keys(call, table, expressions)? {
        let made = columns(call, &wide, &read, how)?;
        return if own == InputColumns::Keep {
            without_hidden(call, table, &made, expressions, None)
        } else {
            Ok(made)
        };
    }
    if kept == Materialization::Stored && own == InputColumns::Drop && one_row(expressions) && !table.attributes().blink
    {
        // One row for the whole table, of an empty one too: sums and counts are 0 there, everything else has no value.
        return composed(
            call,
            &[table],
            &[],
            expressions,
            on_error,
            Which { standing: Standing { whole: true, ..Standing::default() }, held: None },
            columns,
        );
    }
    if let Some((wide, read)) = planned(call, table, expressions, on_error, columns)? {
        let made = columns(call, &wide, &read, how)?;
        return if own == InputColumns::Keep {
            without_hidden(call, table, &made, expressions, None)
        } else {
            Ok(made)
        };
    }
    computed(call, table, expressions, how)
}

/// The rows for which every predicate is true. One that reads beside its row is a column first.
pub(in crate::plan) fn filtered(
    call: &Call,
    table: &Table,
    predicates: &[Expr],
    orders: &[ExecutionOrder],
    on_error: OnError,
) -> Result<Table, Error> {
    let rest = |rest: &[Expr]| {
        let nothing = rest.iter().all(|one| *one == Expr::literal(true))
            && orders.iter().all(|order| *order == ExecutionOrder::default());
        if nothing { Ok(table.clone()) } else { filtered(call, table, rest, orders, on_error) }
    };
    if let Some(kept) = members(call, predicates, rest)? {
        return Ok(kept);
    }
    let keyed = with_row_keys(call, table, predicates)?;
    let planned = || planned(call, table, predicates, on_error, columns);
    if let Some((wide, read)) = keyed.map_or_else(planned, |keyed| Ok(Some(keyed)))? {
        return without_hidden(call, table, &filtered(call, &wide, &read, orders, on_error)?, &[], None);
    }
    let own = Filter::ordered(call, table, predicates, orders)?;
    if !predicates.iter().any(Expr::needs_context) {
        return call.attach(&own.with_on_error(on_error), std::slice::from_ref(table));
    }
    if let Some((wide, read)) = windowed(call, table, predicates)? {
        return without_hidden(call, table, &filtered(call, &wide, &read, orders, on_error)?, &[], None);
    }
    // The filter was judged all the same: an error names the predicate, not the column that it becomes. A predicate
    // that fails is null there, and null does not pass.
    let on_error = if on_error == OnError::Fail { OnError::Fail } else { OnError::Null };
    let read: Vec<StagedExpr> = predicates
        .iter()
        .map(|one| StagedExpr { becomes: None, expression: one.clone(), stored: one.needs_context() })
        .collect();
    let (wide, read) = stage_inputs(call, table, &read, ColumnOptions { on_error, ..ColumnOptions::STORED }, columns)?;
    let filter = Filter::ordered(call, &wide, &read, orders)?.with_on_error(on_error);
    let kept = call.attach(&filter, std::slice::from_ref(&wide))?;
    let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    let project = Project::choose(&kept, &names)?.reporting_to(wide.request().row_errors.as_ref());
    call.attach(&project, std::slice::from_ref(&kept))
}

/// One row a key that any of the tables has.
pub(in crate::plan) fn multi_join(
    call: &Call,
    inputs: &[Table],
    on: &[String],
    nulls_equal: bool,
    suffix: Option<&str>,
) -> Result<Table, Error> {
    joined(call, inputs, on, nulls_equal, suffix, columns)
}

/// A row for each key, with a column for each aggregate and each of these values.
pub(in crate::plan) fn pivot(
    call: &Call,
    table: &Table,
    values: &[Values],
    how: &PivotOptions,
    aggregates: &[Expr],
    on_error: OnError,
) -> Result<Table, Error> {
    let (table, aggregates) = &over_row_keys(call, table, aggregates)?;
    turned(call, table, values, how, aggregates, on_error, columns)
}

/// Every left row with aggregates of the right rows in its range.
pub(in crate::plan) fn range_join(
    call: &Call,
    left: &Table,
    right: &Table,
    how: &RangeOptions,
    expressions: &[Expr],
    on_error: OnError,
) -> Result<Table, Error> {
    let (right, expressions) = &over_row_keys(call, right, expressions)?;
    ranged(call, left, right, how, expressions, on_error, columns)
}

/// The columns of a table, then expressions over aggregates of windows that move along with each row.
pub(in crate::plan) fn rolling(
    call: &Call,
    table: &Table,
    how: &RollingOptions,
    expressions: &[Expr],
    on_error: OnError,
) -> Result<Table, Error> {
    if let Some((wide, read)) = with_row_keys(call, table, expressions)? {
        let made = rolled(call, &wide, how, &read, on_error, columns)?;
        // Columns that are chosen leave the row keys out by themselves.
        return if how.chosen.is_some() { Ok(made) } else { without_hidden(call, table, &made, expressions, None) };
    }
    rolled(call, table, how, expressions, on_error, columns)
}

/// One row a group: keys, then each expression over aggregates.
///
/// Keys that are computed are columns first; so is what is aggregated if it reads beside its row or another table (`over`, a
/// live set), or if rows that cannot be computed are passed over: they are null, or left out, before they come to a group.
pub(in crate::plan) fn aggregate(
    call: &Call,
    table: &Table,
    keys: &[Expr],
    expressions: &[Expr],
    on_error: OnError,
) -> Result<Table, Error> {
    let (table, expressions) = &over_row_keys(call, table, expressions)?;
    composed(call, &[table], keys, expressions, on_error, Which::default(), columns)
}

/// The table and the expressions, or with a column of row keys those over it.
fn over_row_keys(call: &Call, table: &Table, expressions: &[Expr]) -> Result<(Table, Vec<Expr>), Error> {
    Ok(with_row_keys(call, table, expressions)?.unwrap_or_else(|| (table.clone(), expressions.to_vec())))
}

/// As [`aggregate`], where groups may be there without rows. A second table names some, in their order.
pub(in crate::plan) fn standing(call: &Call, inputs: &[Table], how: &StandingGroups) -> Result<Table, Error> {
    let whole = how.preserve_empty && how.keys.is_empty();
    let standing = Standing { whole, preserve: how.preserve_empty, named: how.named };
    let tables: Vec<&Table> = inputs.iter().collect();
    if !how.bounds.is_plain() && (how.preserve_empty || how.named) {
        let message =
            "preserve_empty and initial_groups keep groups, and state_ttl and max_groups let them go; say one of them";
        return Err(Error::invalid(&call.method, message));
    }
    let held = Held::of(call, tables[0], how.bounds, !how.keys.is_empty())?;
    let which = Which { standing, held: held.as_ref() };
    let (table, aggregates) = over_row_keys(call, tables[0], &how.aggregates)?;
    let tables: Vec<&Table> = std::iter::once(&table).chain(tables.into_iter().skip(1)).collect();
    let made = composed(call, &tables, &how.keys, &aggregates, how.on_error, which, columns)?;
    Ok(Held::told(held.as_ref(), made))
}

/// One row for each group and each window of time that holds a row of it.
pub(in crate::plan) fn time_windows(
    call: &Call,
    table: &Table,
    how: &WindowOptions,
    keys: &[Expr],
    expressions: &[Expr],
    on_error: OnError,
) -> Result<Table, Error> {
    let (table, expressions) = &over_row_keys(call, table, expressions)?;
    windows(call, table, how, keys, expressions, on_error, columns)
}

/// One row for each session of each group.
pub(in crate::plan) fn time_sessions(
    call: &Call,
    table: &Table,
    how: &SessionOptions,
    keys: &[Expr],
    expressions: &[Expr],
    on_error: OnError,
) -> Result<Table, Error> {
    let (table, expressions) = &over_row_keys(call, table, expressions)?;
    sessions(call, table, how, keys, expressions, on_error, columns)
}
