//! `reverse`: the rows in the opposite order.
//!
//!   in   0 A    1 B    2 C        out   5 C    6 B    7 A        keys are mirrored at a pivot, here 7
//!   in   + 3 D                    out   + 4 D
//!   in   - 1    > [2..3]-1        out   - 6    > [4..5]+1
//!   in   + 9 E                    out   > [5..7]+24    + 22 E    the pivot is 31 now
//!
//! Rows own, columns shared: they are read through the mirror. Cost of an update: the change. A key beyond the pivot
//! moves the whole table by one shift, once, with room for twice the keys.

use std::any::Any;
use std::sync::Arc;

use arrow_schema::DataType;
use column::{Chunk, Column, ColumnSource, NO_ROW};
use graph::{Moment, Moved, Pinned, Step};
use rowset::{Before, MAX_KEY, RowSet, Shift, Shifts, Span};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::asked::Asked;
use crate::table::change::Change;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::settle::Settle;
use crate::table::update::TableUpdate;

/// The rows of a table, the last one first.
pub struct Reverse {
    request: Request,
}

impl Default for Reverse {
    fn default() -> Reverse {
        Reverse { request: Request::new("reverse", &Asked::Reverse) }
    }
}

impl Operation for Reverse {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        limits::ask_rows(view.rows().span_count(), size_of::<Span>() as u64)?;
        let old = table.attributes();
        let still = !table.is_live();
        let pivot = if still { view.rows().last().unwrap_or(0) } else { roomy(view.rows()) };
        let rows = Arc::new(LiveRows::new(mirrored(view.rows(), pivot), at));
        let pivot = Arc::new(Pivot(Pinned::new(pivot, at)));
        let mirror = |inner: &Arc<dyn ColumnSource>| {
            Arc::new(MirrorColumn { inner: inner.clone(), pivot: pivot.clone() }) as Arc<dyn ColumnSource>
        };
        let parts = Parts {
            rows: rows.clone(),
            columns: table.parts().columns.iter().map(mirror).collect(),
            schema: table.schema().clone(),
            attributes: Attributes { blink: old.blink, flat: still && old.flat, ..Attributes::default() },
        };
        let live = ReverseLive { pivot: pivot.clone(), rows: rows.clone() };
        Ok(Start { parts, live: Box::new(live), owned: vec![rows, pivot] })
    }
}

/// The sum of an input key and its mirrored key.
struct Pivot(Pinned<u64>);

impl Settle for Pivot {
    fn settle(&self) {
        self.0.settle();
    }

    fn bytes(&self) -> u64 {
        0
    }
}

struct ReverseLive {
    pivot: Arc<Pivot>,
    rows: Arc<LiveRows>,
}

impl Live for ReverseLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let update = inputs[0].update();
        let from = self.pivot.0.latest();
        let now = inputs[0].now().rows();
        let to = if now.last().is_none_or(|last| last <= from) { from } else { roomy(now) };
        let removed = Before(mirrored(&update.removed.0, from));
        let shifts = if from == to {
            Shifts::from_hulls(update.shifts.iter().rev().map(|shift| mirrored_shift(shift, from)).collect())
        } else {
            let survivors = Before(&self.rows.latest() - &removed.0);
            Shifts::from_moves(&survivors, moves(&update.shifts, from, to).into_iter())
        };
        let result = TableUpdate {
            added: mirrored(&update.added, to),
            removed,
            modified: mirrored(&update.modified, to),
            columns: update.columns.clone(),
            shifts,
        };
        self.rows.apply(step, &result.removed, &result.shifts, &result.added)?;
        if from != to {
            self.pivot.0.publish(step, to);
        }
        Ok(result)
    }
}

/// A pivot for these rows with room for as many keys again.
fn roomy(rows: &RowSet) -> u64 {
    let keys = rows.last().map_or(1, |last| last + 1);
    let room = keys.checked_next_power_of_two().and_then(|room| room.checked_mul(2));
    room.map_or(MAX_KEY, |room| (room - 1).min(MAX_KEY))
}

/// These keys, counted down from the pivot.
fn mirrored(rows: &RowSet, pivot: u64) -> RowSet {
    let mut spans: Vec<Span> = rows.spans().map(|span| mirrored_span(span, pivot)).collect();
    spans.reverse();
    RowSet::from_spans(spans)
}

fn mirrored_span(span: Span, pivot: u64) -> Span {
    Span { first: pivot - span.last, last: pivot - span.first }
}

fn mirrored_shift(shift: &Shift, pivot: u64) -> Shift {
    let Span { first, last } = mirrored_span(shift.origin(), pivot);
    Shift { first, last, delta: -shift.delta }
}

/// How mirrored keys move as the pivot grows: all by as much, and those of a shift by that less the shift.
fn moves(shifts: &Shifts, from: u64, to: u64) -> Vec<(Span, i64)> {
    let growth = (to - from) as i64;
    let mut moves = Vec::with_capacity(2 * shifts.len() + 1);
    let mut at = 0;
    for shift in shifts.iter().rev() {
        let Shift { first, last, delta } = mirrored_shift(shift, from);
        if at < first {
            moves.push((Span { first: at, last: first - 1 }, growth));
        }
        moves.push((Span { first, last }, growth + delta));
        at = last + 1;
    }
    if at <= from {
        moves.push((Span { first: at, last: from }, growth));
    }
    moves
}

/// A column of the input, read through the mirror.
struct MirrorColumn {
    inner: Arc<dyn ColumnSource>,
    pivot: Arc<Pivot>,
}

impl ColumnSource for MirrorColumn {
    fn data_type(&self) -> &DataType {
        self.inner.data_type()
    }

    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        Ok(Arc::new(Mirror { inner: self.inner.at(moment)?, pivot: self.pivot.0.at(moment)? }))
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Mirror {
    inner: Arc<dyn Column>,
    pivot: u64,
}

impl Mirror {
    fn inner_key(&self, key: u64) -> u64 {
        self.pivot.checked_sub(key).unwrap_or(NO_ROW)
    }
}

impl Column for Mirror {
    fn data_type(&self) -> &DataType {
        self.inner.data_type()
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, column::Error> {
        limits::ask_rows(rows.len(), size_of::<u64>() as u64)?;
        self.inner.take(&rows.iter().map(|key| self.inner_key(key)).collect::<Vec<_>>())
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, column::Error> {
        self.inner.take(&keys.iter().map(|key| self.inner_key(*key)).collect::<Vec<_>>())
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, column::Error> {
        if rows.is_empty() { Ok(Vec::new()) } else { Ok(vec![self.read(rows)?]) }
    }
}

#[cfg(test)]
mod tests {
    use model::Compare;

    use super::*;
    use crate::driver::attach::attach;
    use crate::table::handle::Table;
    use crate::testing::{any_table, check_law, check_steps};

    fn reversed(table: &Table) -> Result<Table, Error> {
        attach(&Reverse::default(), std::slice::from_ref(table))
    }

    #[test]
    fn an_update_is_mirrored() {
        check_steps(
            reversed,
            "0 A 1 | 1 B 2 | 2 C 3",
            &[
                ("+ 3 D 4", "+ 4 D 4"),
                ("~ 0 . 9", "~ 7 . 9"),
                ("- 1 | > [2..3]-1", "- 6 | > [4..5]+1"),
                ("+ 9 E 5", "> [5..7]+24 | + 22 E 5"),
                ("- 9 | > [0..0]+4 | > [1..2]+5", "- 22 | > [29..30]-5 | > [31..31]-4"),
            ],
        );
    }

    #[test]
    fn a_shift_beyond_the_pivot() {
        check_steps(reversed, "0 A | 1 B", &[("> [1..1]+4", "> [2..2]+8 | > [3..3]+12")]);
    }

    /// The pivot grows by as much as the rows move: in the result they stay where they are.
    #[test]
    fn rows_that_move_as_the_pivot_does() {
        let far = MAX_KEY - 15;
        check_steps(
            reversed,
            "6 A | 7 B",
            &[
                (&format!("> [6..7]+{far}"), ""),
                ("+ 3 C", &format!("+ {} C", MAX_KEY - 3)),
                ("- 3", &format!("- {}", MAX_KEY - 3)),
            ],
        );
    }

    #[test]
    fn a_key_at_the_end_of_the_key_space() {
        let last = MAX_KEY;
        check_steps(
            reversed,
            &format!("0 A | {last} B"),
            &[("- 0", &format!("- {last}")), (&format!("- {last}"), "- 0"), ("+ 4 C", &format!("+ {} C", last - 4))],
        );
    }

    #[test]
    fn law() {
        check_law(&any_table(), 400, Compare::ByPosition, reversed, model::ops::reverse);
    }

    #[test]
    fn law_of_reversing_twice() {
        let twice = |table: &Table| reversed(&reversed(table)?);
        check_law(&any_table(), 200, Compare::ByPosition, twice, Clone::clone);
    }
}
