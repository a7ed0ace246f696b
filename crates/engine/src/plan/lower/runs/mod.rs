//! Values that run on from row to row under polars' names, and whatever goes by another order of the rows than their own.
//!
//!   x.cum_sum().over(k, order_by=t)     keys of rows  →  sort by t  →  running sum by k  →  brought home
//!   x.cum_sum(reverse=True).over(k)     keys of rows  →  reverse    →  running sum by k  →  brought home
//!   x.rank().over(k)                    counts in the order of x, and the least and greatest of them among equal x
//!   x.interpolate().over(k)             the values before and behind, and how many rows they are away

use arrow_schema::{DataType, Schema};
use formula::{Aggregate, ColumnName, Expr, Function, Ranking, Reach, Runs, RunsOf, Window};

use super::hidden::taken;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{BroughtHome, Reverse, RowKeys, Running, Sort};
use crate::plan::spec::SortBy;
use crate::plan::update_by::{BadData, Clock, Control, Cumulative, Decay, RunningKind};
use crate::table::handle::Table;

/// In which order an operation takes the rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// By these columns; without any as they stand.
    pub(super) by: Vec<SortBy>,
    /// From the last row to the first.
    pub(super) backward: bool,
}

impl Order {
    /// That of a window by these columns.
    pub(super) fn of(window: &Window, columns: Vec<String>) -> Order {
        let (descending, nulls_last) = (window.descending, window.nulls_last);
        let by = columns.into_iter().map(|column| SortBy { column, descending, nulls_last }).collect();
        Order { by, backward: window.runs.is_some_and(|runs| runs.backward) }
    }

    /// Whether the rows of the table stand in it.
    fn holds(&self, table: &Table) -> bool {
        let sorted = &table.attributes().sorted_by;
        let plain = self.by.iter().all(|by| !by.nulls_last) && self.by.len() <= sorted.len();
        plain && self.by.iter().zip(sorted).all(|(by, held)| by.column == held.0 && by.descending == held.1)
    }
}

/// The table with what an operation makes of its rows in an order.
pub(super) fn in_order(
    call: &Call,
    table: &Table,
    order: &Order,
    made: &[ColumnName],
    next: &mut usize,
    make: impl FnOnce(&Table) -> Result<Table, Error>,
) -> Result<Table, Error> {
    if order.by.is_empty() && !order.backward {
        return make(table);
    }
    if table.attributes().blink {
        return Err(Error::invalid(
            &call.method,
            "values of a blink table in another order than that in which its rows come: they live for one step, and what \
             comes later may stand before them; blink_to_append_only() keeps them",
        ));
    }
    let sorts = !order.holds(table);
    if !sorts && !order.backward {
        return make(table);
    }
    let home = ColumnName::hidden(taken(next), None, "row keys".to_owned());
    let mut turned = call.attach(&RowKeys::new(&call.method, &home), std::slice::from_ref(table))?;
    if sorts {
        turned = call.attach(&Sort::new(&call.method, &turned, &order.by)?, std::slice::from_ref(&turned))?;
    }
    if order.backward {
        turned = call.attach(&Reverse::default(), std::slice::from_ref(&turned))?;
    }
    let both = [table.clone(), make(&turned)?];
    call.attach(&BroughtHome::new(&call.method, &both[1], &home, made)?, &both)
}

/// What runs, of columns.
pub(super) struct Part {
    pub(super) input: String,
    pub(super) runs: Runs,
    pub(super) name: ColumnName,
}

/// The table with values that run on within these keys. `stamps`: the column of stamps, if they go by one.
pub(super) fn ran(
    call: &Call,
    table: &Table,
    keys: &[String],
    order: &Order,
    parts: &[Part],
    next: &mut usize,
) -> Result<Table, Error> {
    let stamp = order.by.first().map(|by| by.column.clone()).unwrap_or_default();
    let kinds =
        parts.iter().map(|Part { input, runs, name }| Ok((input.clone(), kind(call, runs, &stamp)?, name.clone())));
    let kinds = kinds.collect::<Result<Vec<_>, Error>>()?;
    let made: Vec<ColumnName> = parts.iter().map(|part| part.name.clone()).collect();
    in_order(call, table, order, &made, next, |turned| {
        call.attach(&Running::new(&call.method, turned, keys, &kinds)?, std::slice::from_ref(turned))
    })
}

fn kind(call: &Call, runs: &Runs, stamp: &str) -> Result<RunningKind, Error> {
    let cumulative = |of| RunningKind::Cumulative { of, null_at_null: true };
    Ok(match runs.of {
        RunsOf::Sum => cumulative(Cumulative::Sum),
        RunsOf::Prod => cumulative(Cumulative::Product),
        RunsOf::Min => cumulative(Cumulative::Min),
        RunsOf::Max => cumulative(Cumulative::Max),
        RunsOf::Mean => cumulative(Cumulative::Mean),
        RunsOf::Count => RunningKind::Cumulative { of: Cumulative::Count, null_at_null: false },
        RunsOf::Fill { limit: None } => RunningKind::ForwardFill,
        RunsOf::Fill { limit: Some(limit) } => RunningKind::Fill { limit },
        RunsOf::Since => RunningKind::Since,
        RunsOf::Ewm(ewm) => RunningKind::Ewm(ewm),
        RunsOf::EwmMeanBy { half_life } | RunsOf::EwmSumBy { half_life } => {
            let (half, counted) = match half_life {
                Reach::Span(nanos) => (nanos as f64, false),
                Reach::Whole(number) => (number as f64 * 1e9, true),
                Reach::Number(number) => (number * 1e9, true),
            };
            let clock = Clock::Time { stamp: stamp.to_owned(), nanos: half / std::f64::consts::LN_2, counted };
            let control = Control { on_null: BadData::Null, on_nan: BadData::Poison };
            let of = if matches!(runs.of, RunsOf::EwmSumBy { .. }) { Decay::Sum } else { Decay::Mean };
            RunningKind::Decay { of, clock, control }
        }
        RunsOf::Rank { .. } => cumulative(Cumulative::Count),
        RunsOf::Interpolate { .. } => return Err(Error::internal(&call.method, "what is made of several columns")),
    })
}

/// What is made of several columns that run, as an expression over these; none if it is one of them.
/// `columns`: those that the input reads.
pub(super) fn composed(input: &Expr, window: &Window, columns: &Schema) -> Result<Option<Expr>, formula::Error> {
    match window.runs {
        Some(Runs { of: RunsOf::Rank { method, descending }, .. }) if window.order.is_empty() => {
            ranked(input, window, method, descending).map(Some)
        }
        Some(Runs { of: RunsOf::Interpolate { nearest }, .. }) => {
            // What is wrong with the input is told where it is computed.
            let time = formula::bind(input, columns).ok().map(|bound| bound.data_type().clone());
            between(input, window, nearest, time.filter(DataType::is_temporal)).map(Some)
        }
        _ => Ok(None),
    }
}

/// The place of a value is the number of values up to it in their order.
fn ranked(input: &Expr, window: &Window, method: Ranking, descending: bool) -> Result<Expr, formula::Error> {
    let running = |of: RunsOf, input: &Expr| {
        let runs = Some(Runs { of, backward: false });
        let order = vec![input.clone()];
        Window { by: window.by.clone(), order, descending, nulls_last: true, runs, ..Window::default() }
    };
    let own = RunsOf::Rank { method: Ranking::Ordinal, descending };
    let place = Expr::Over { input: input.clone().into(), window: running(own, input).into() };
    let among = |kind: Aggregate| {
        let by = window.by.iter().chain([input]).cloned().collect();
        let aggregate = Expr::aggregate(kind, Some(place.clone()))?;
        // The places are those among all rows of the group.
        Ok::<_, formula::Error>(Expr::Over {
            input: aggregate.into(),
            window: Window { by, ..Window::default() }.into(),
        })
    };
    match method {
        Ranking::Ordinal => Ok(place),
        Ranking::Min => among(Aggregate::Min),
        Ranking::Max => among(Aggregate::Max),
        Ranking::Average => {
            let sum = Expr::call(Function::Add, vec![among(Aggregate::Min)?, among(Aggregate::Max)?])?;
            Expr::call(Function::Divide, vec![sum, Expr::literal(2_i64)])
        }
        // Of equal values the first one counts.
        Ranking::Dense => {
            let first = Expr::call(Function::Equal, vec![place.clone(), among(Aggregate::Min)?])?;
            let counted = first.cast(DataType::Int64, true)?;
            let window = Window { order: vec![input.clone()], ..running(RunsOf::Sum, input) };
            Ok(Expr::Over { input: counted.into(), window: window.into() })
        }
    }
}

/// What lies between the value before and the value behind, by how far these are. `time`: the type of values that are times,
/// which lie between others as whole numbers do.
fn between(input: &Expr, window: &Window, nearest: bool, time: Option<DataType>) -> Result<Expr, formula::Error> {
    let number = if time.is_some() { DataType::Int64 } else { DataType::Float64 };
    let values = if nearest { input.clone() } else { input.clone().cast(number, true)? };
    let over = |of: RunsOf, backward: bool| {
        let window = Window { runs: Some(Runs { of, backward }), ..window.clone() };
        Expr::Over { input: values.clone().into(), window: window.into() }
    };
    let fill = RunsOf::Fill { limit: None };
    let (before, behind) = (over(fill, false), over(fill, true));
    let (since, until) = (over(RunsOf::Since, false), over(RunsOf::Since, true));
    let call = Expr::call;
    let there = call(Function::IsNotNull, vec![input.clone()])?;
    if nearest {
        let both = call(
            Function::And,
            vec![call(Function::IsNotNull, vec![before.clone()])?, call(Function::IsNotNull, vec![behind.clone()])?],
        )?;
        let nearer = call(Function::Less, vec![since, until])?;
        let first = call(Function::And, vec![both.clone(), nearer])?;
        return Expr::when(vec![(there, values), (first, before), (both, behind)], None);
    }
    let way = call(Function::Add, vec![since.clone(), until])?;
    let apart = call(Function::Subtract, vec![behind, before.clone()])?;
    let Some(time) = time else {
        let step = call(Function::Multiply, vec![apart, call(Function::Divide, vec![since, way])?])?;
        let moved = call(Function::Add, vec![before, step])?;
        return Expr::when(vec![(there, values)], Some(moved));
    };
    // apart * since / way, rounded down. The product may be more than 64 bits hold: quotient and remainder are multiplied apart.
    let by = |of: Function, a: &Expr, b: &Expr| call(of, vec![a.clone(), b.clone()]);
    let whole = by(Function::Multiply, &by(Function::FloorDivide, &apart, &way)?, &since)?;
    let rest = by(Function::Multiply, &by(Function::Modulo, &apart, &way)?, &since)?;
    let step = by(Function::Add, &whole, &by(Function::FloorDivide, &rest, &way)?)?;
    let moved = by(Function::Add, &before, &step)?;
    Expr::when(vec![(there, input.clone())], Some(moved.cast(time, true)?))
}

#[cfg(test)]
mod tests;
