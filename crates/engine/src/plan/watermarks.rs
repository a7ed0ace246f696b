//! What operations make of the watermarks of their inputs: those that keep the stamps pass them on.

use formula::Expr;

use super::op::Op;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{LeastWatermark, Watermark};
use crate::table::beside::Mark;
use crate::table::handle::Table;

/// The table, which has a watermark from now on.
pub(super) fn watermark(
    call: &Call,
    table: &Table,
    stamp: &str,
    delay: i64,
    idle_after: Option<i64>,
) -> Result<Table, Error> {
    let clock = Watermark::new(&call.method, table, stamp, delay, idle_after)?;
    let clock = call.attach(&clock, std::slice::from_ref(table))?;
    Ok(table.clone().marked(Some(Mark { stamp: stamp.to_owned(), clock })))
}

/// The watermark of what an operation makes of these.
pub(super) fn passed_on(op: &Op, call: &Call, inputs: &[Table], made: &Table) -> Result<Option<Mark>, Error> {
    if let Op::Watermark { .. } = op {
        return Ok(made.watermark().cloned());
    }
    let Some(mark) = inputs.first().and_then(Table::watermark) else { return Ok(None) };
    let renamed = |to: Option<String>| to.map(|stamp| Mark { stamp, clock: mark.clock.clone() });
    let kept = |kept: bool| kept.then(|| mark.stamp.clone());
    Ok(match op {
        Op::Filter { .. } | Op::Head { .. } | Op::Tail { .. } | Op::Slice { .. } | Op::Extent(_) => renamed(kept(true)),
        Op::Sort { .. } | Op::TopK { .. } | Op::InOrder { .. } | Op::Reverse | Op::Flatten => renamed(kept(true)),
        Op::TimeWindow { .. } | Op::GroupLimit { .. } | Op::WhereIn { .. } => renamed(kept(true)),
        Op::BlinkToAppendOnly | Op::AddOnlyToBlink | Op::RemoveBlink | Op::HeldRows(_) => renamed(kept(true)),
        Op::Choose { names } => renamed(kept(names.contains(&mark.stamp))),
        Op::Drop { names } => renamed(kept(!names.contains(&mark.stamp))),
        Op::Rename { names } => {
            let new = names.iter().find(|(old, _)| *old == mark.stamp).map_or(&mark.stamp, |(_, new)| new);
            renamed(Some(new.clone()))
        }
        Op::Columns { columns, keep, .. } => renamed(in_columns(columns, *keep, &mark.stamp)),
        Op::Concat | Op::MergeSorted { .. } => {
            let marks: Option<Vec<&Mark>> = inputs.iter().map(Table::watermark).collect();
            let Some(marks) = marks.filter(|marks| marks.iter().all(|one| one.stamp == mark.stamp)) else {
                return Ok(None);
            };
            let clocks: Vec<Table> = marks.iter().map(|mark| mark.clock.clone()).collect();
            let clock = call.attach(&LeastWatermark::new(&call.method), &clocks)?;
            Some(Mark { stamp: mark.stamp.clone(), clock })
        }
        _ => None,
    })
}

/// What the stamps are called among new columns, if they are there as they were.
fn in_columns(columns: &[Expr], keep: bool, stamp: &str) -> Option<String> {
    let is_stamp = |one: &Expr| matches!(one.unaliased(), Expr::Column(name) if name.as_str() == stamp);
    if keep {
        let other = |one: &Expr| one.output_name().is_ok_and(|name| name == stamp) && !is_stamp(one);
        return (!columns.iter().any(other)).then(|| stamp.to_owned());
    }
    columns.iter().find(|one| is_stamp(one)).and_then(|one| one.output_name().ok())
}
