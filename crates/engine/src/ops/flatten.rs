//! `flatten`: the rows at the keys 0, 1, 2 …
//!
//!   in   3 A    7 B    9 C      out   0 A    1 B    2 C
//!   in   - 7                    out   - 1    > [2..2]-1
//!   in   + 5 D    ~ 9 E         out   > [1..1]+1    + 1 D    ~ 2 E
//!   in   > [3..9]+5             out   nothing
//!
//! Rows own, columns shared: the cell at a position is that of the row there. Cost of an update: the change, and a shift
//! for each run of rows between rows that come or go.

use std::any::Any;
use std::sync::Arc;

use arrow_schema::DataType;
use column::{Chunk, Column, ColumnSource, NO_ROW};
use graph::{Moment, Moved, Step};
use rowset::{Before, Positions, RowSet, Shift, Shifts, Span};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::asked::Asked;
use crate::table::change::Change;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;

/// The rows of a table at keys that are their positions.
pub struct Flatten {
    request: Request,
}

impl Default for Flatten {
    fn default() -> Flatten {
        Flatten { request: Request::new("flatten", &Asked::Flatten) }
    }
}

impl Operation for Flatten {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let old = table.attributes();
        if old.flat {
            return Ok(Start { parts: table.parts().clone(), live: Box::new(Flat), owned: Vec::new() });
        }
        let rows = Arc::new(LiveRows::new(RowSet::flat(view.rows().len()), at));
        let placed = |inner: &Arc<dyn ColumnSource>| {
            Arc::new(PlacedColumn { inner: inner.clone(), rows: table.parts().rows.clone() }) as Arc<dyn ColumnSource>
        };
        let parts = Parts {
            rows: rows.clone(),
            columns: table.parts().columns.iter().map(placed).collect(),
            schema: table.schema().clone(),
            attributes: Attributes { add_only: old.append_only, flat: true, ..old.clone() },
        };
        Ok(Start { parts, live: Box::new(FlattenLive { rows: rows.clone() }), owned: vec![rows] })
    }
}

/// What is flat stays as it is.
struct Flat;

impl Live for Flat {
    fn update(&mut self, inputs: &[Change], _: Step) -> Result<TableUpdate, Error> {
        Ok(inputs[0].update().clone())
    }
}

struct FlattenLive {
    rows: Arc<LiveRows>,
}

impl Live for FlattenLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let update = inputs[0].update();
        let now = inputs[0].now().rows();
        let mut result = TableUpdate {
            added: now.positions_of(&update.added).0,
            modified: now.positions_of(&update.modified).0,
            columns: update.columns.clone(),
            ..TableUpdate::default()
        };
        if !update.removed.0.is_empty() {
            result.removed = Before(inputs[0].before().rows().positions_of(&update.removed.0).0);
        }
        let before = now.len() + update.removed.0.len() - update.added.len();
        result.shifts = Shifts::from_hulls(closed_up(before, &result.removed.0, &result.added));
        self.rows.apply(step, &result.removed, &result.shifts, &result.added)?;
        Ok(result)
    }
}

/// How so many rows move as those at some positions go, and others come to stand at some positions after.
fn closed_up(len: u64, removed: &RowSet, added: &RowSet) -> Vec<Shift> {
    let mut shifts: Vec<Shift> = Vec::new();
    let (mut gone, mut new) = (removed.spans().peekable(), added.spans().peekable());
    let (mut from, mut to, mut before) = (0, 0, 0);
    loop {
        while let Some(Span { last, .. }) = gone.next_if(|span| span.first == from) {
            from = last + 1;
        }
        while let Some(Span { last, .. }) = new.next_if(|span| span.first == to) {
            to = last + 1;
        }
        if from >= len {
            return shifts;
        }
        let run = gone.peek().map_or(len, |span| span.first) - from;
        let run = new.peek().map_or(run, |span| run.min(span.first - to));
        let delta = to as i64 - from as i64;
        match shifts.last_mut().filter(|_| delta == before) {
            _ if delta == 0 => {}
            Some(shift) => shift.last = from + run - 1,
            None => shifts.push(Shift { first: from, last: from + run - 1, delta }),
        }
        (from, to, before) = (from + run, to + run, delta);
    }
}

/// A column of the input, read by position.
struct PlacedColumn {
    inner: Arc<dyn ColumnSource>,
    rows: Arc<LiveRows>,
}

impl ColumnSource for PlacedColumn {
    fn data_type(&self) -> &DataType {
        self.inner.data_type()
    }

    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        Ok(Arc::new(Placed { inner: self.inner.at(moment)?, rows: self.rows.at(moment)? }))
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Placed {
    inner: Arc<dyn Column>,
    rows: RowSet,
}

impl Placed {
    /// The rows at these positions, if all of them are there.
    fn rows_at(&self, positions: &RowSet) -> Option<RowSet> {
        let all = positions.last().is_none_or(|last| last < self.rows.len());
        all.then(|| self.rows.at(&Positions(positions.clone())))
    }
}

impl Column for Placed {
    fn data_type(&self) -> &DataType {
        self.inner.data_type()
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, column::Error> {
        match self.rows_at(rows) {
            Some(rows) => self.inner.read(&rows),
            None => self.take(&rows.to_vec()),
        }
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, column::Error> {
        let key = |position: &u64| self.rows.key_at(*position).unwrap_or(NO_ROW);
        self.inner.take(&keys.iter().map(key).collect::<Vec<_>>())
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, column::Error> {
        match self.rows_at(rows) {
            Some(rows) => self.inner.pieces(&rows),
            None => Ok(vec![self.read(rows)?]),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Compare;

    use super::*;
    use crate::driver::attach::attach;
    use crate::table::handle::Table;
    use crate::testing::{any_table, check_law, check_steps};

    fn flattened(table: &Table) -> Result<Table, Error> {
        attach(&Flatten::default(), std::slice::from_ref(table))
    }

    #[test]
    fn holes_close_and_open() {
        check_steps(
            flattened,
            "3 A 1 | 7 B 2 | 9 C 3",
            &[
                ("- 7", "- 1 | > [2..2]-1"),
                ("+ 5 D 4 | ~ 9 E .", "> [1..1]+1 | + 1 D 4 | ~ 2 E ."),
                ("> [3..9]+5", ""),
                ("- 8 | + 15 F 5", "- 0 | > [1..2]-1 | + 2 F 5"),
            ],
        );
    }

    /// Rows on both sides of one that goes while another comes in its place move by as much: one shift.
    #[test]
    fn rows_that_move_alike_are_one_shift() {
        check_steps(
            flattened,
            "0 A | 1 B | 2 C | 3 D",
            &[("- 0 | - 2 | + 9 E", "- 0 | - 2 | > [1..1]-1 | > [3..3]-2 | + 2 E")],
        );
        let flat = |keys: &[u64]| RowSet::from_sorted_keys(keys);
        assert_eq!(closed_up(5, &flat(&[0, 3]), &flat(&[2])), [Shift { first: 1, last: 4, delta: -1 }]);
        assert_eq!(closed_up(3, &flat(&[]), &flat(&[3, 4])), []);
        let apart = [1, 4].map(|at| Shift { first: at, last: at, delta: -1 });
        assert_eq!(closed_up(5, &flat(&[0, 3]), &flat(&[1])), apart);
    }

    #[test]
    fn law() {
        check_law(&any_table(), 400, Compare::ByPosition, flattened, model::ops::flatten);
    }

    #[test]
    fn law_of_flattening_twice() {
        check_law(&any_table(), 100, Compare::ByPosition, |table| flattened(&flattened(table)?), Clone::clone);
    }
}
