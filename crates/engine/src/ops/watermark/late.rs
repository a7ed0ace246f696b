//! The rows that came too late, one after the other, and what was to be done with each.
//!
//!   watermark 5    in   + 0 7    + 1 3       out   + 0 3 added
//!                  in   - 1      ~ 0 2       out   + 1 3 removed    + 2 2 added
//!
//! Append-only. Cost of an update: the stamps of the rows that come, go or change, and the late ones among them.

use std::sync::Arc;

use arrow_array::StringViewArray;
use arrow_schema::{DataType, Field, Schema};
use column::Chunk;
use graph::{Moment, Step};
use rowset::{Before, RowSet};

use super::Watermarks;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::stamps::stamps;
use crate::sources::fed::next_keys;
use crate::table::change::Change;
use crate::table::handle::{Table, canonical_schema};
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::store::{Store, Writes};
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// The column that says what was to be done.
const CHANGE: &str = "_change";

/// The rows that came too late.
pub struct LateRows {
    request: Request,
    stamp: usize,
    allowed: i64,
}

impl LateRows {
    /// Over a table and its watermark. `allowed`: how much later than the watermark rows may come.
    pub fn new(method: &str, table: &Table, stamp: &str, allowed: i64) -> Result<LateRows, Error> {
        if table.schema().index_of(CHANGE).is_ok() {
            return Err(Error::Duplicate { operation: method.into(), name: CHANGE.into() });
        }
        Ok(LateRows { request: Request::unique(method), stamp: table.column_index(method, stamp)?, allowed })
    }
}

impl Operation for LateRows {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, .. } = &inputs[0];
        let own = table.schema().fields().iter().map(|field| Field::clone(field));
        let schema = Schema::new(own.chain([Field::new(CHANGE, DataType::Utf8, true)]).collect::<Vec<_>>());
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let store = Store::new(&canonical_schema(&schema), at, &counters);
        let parts = Parts {
            rows: store.rows().clone(),
            columns: store.columns().sources(),
            schema: Arc::new(schema),
            attributes: Attributes { append_only: true, add_only: true, flat: true, ..Attributes::default() },
        };
        let owned = store.owned();
        let blinks = table.attributes().blink;
        let live = LateLive { stamp: self.stamp, allowed: self.allowed, blinks, width: table.width(), next: 0, store };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

struct LateLive {
    stamp: usize,
    allowed: i64,
    blinks: bool,
    width: usize,
    next: u64,
    store: Store,
}

impl Live for LateLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let [change, clock] = inputs else { return Err(Error::internal("watermark", "two inputs")) };
        let limit = Watermarks::of(clock, self.allowed)?.before;
        let update = change.update();
        let removed = if self.blinks { Before::default() } else { update.removed.clone() };
        let removed = &removed | &update.shifts.back(&update.modified);
        let mut writes = Writes::default();
        for (view, rows, what) in
            [(change.before(), &removed.0, "removed"), (change.now(), &(&update.added | &update.modified), "added")]
        {
            let late = self.late(view, rows, limit)?;
            if late.is_empty() {
                continue;
            }
            let mut cells = view.read_columns(&(0..self.width).collect::<Vec<_>>(), &late)?;
            let whats: Chunk = Arc::new(StringViewArray::from(vec![what; late.len() as usize]));
            cells.push(whats);
            writes.added.extend(next_keys(&mut self.next, &cells)?.map(|keys| (keys, cells)));
        }
        self.store.write(step, writes)
    }
}

impl LateLive {
    fn late(&self, view: &View, rows: &RowSet, limit: i64) -> Result<RowSet, Error> {
        let stamps = stamps(view, self.stamp, rows)?;
        let late = rows.iter().zip(stamps).filter(|(_, stamp)| stamp.is_some_and(|stamp| stamp < limit));
        let keys: Vec<u64> = late.map(|(key, _)| key).collect();
        limits::ask_rows(keys.len() as u64, 32)?;
        Ok(RowSet::from_sorted_keys(&keys))
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Emit, Late};

    #[test]
    fn law() {
        crate::ops::watermark::tests::equal_to_the_model(200, &[Emit::Update], &[Late::Table]);
    }
}
