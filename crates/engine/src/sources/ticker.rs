//! `time_table`: one column `Timestamp`, a row every period.
//!
//!   period 1s, started at 12:00:00.3    + 0 12:00:00    then    + 1 12:00:01    …
//!
//! A start in the past fills at once; a late cycle adds all the rows that are due.
//! Cost of an update: the rows added.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow_array::{ArrayRef, TimestampNanosecondArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use graph::{NodeId, Step, UpdateGraph};
use rowset::{Before, RowSet};

use crate::driver::node::TableNode;
use crate::driver::operation::{Live, Start};
use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::store::{Store, Writes};
use crate::table::update::TableUpdate;

/// Most rows one step adds; a start far in the past fills over several steps.
const ROWS_A_STEP: i64 = 1 << 22;

/// A table of stamps.
pub struct TimeTable;

impl TimeTable {
    /// A row every `period`, from `start` (nanoseconds since the epoch) or from now rounded down.
    #[allow(clippy::new_ret_no_self, reason = "a time table has no handle of its own: nobody feeds it")]
    pub fn new(graph: &UpdateGraph, period: Duration, start: Option<i64>, blink: bool) -> Result<Table, Error> {
        let period = i64::try_from(period.as_nanos()).ok().filter(|period| *period > 0);
        let period = period
            .ok_or_else(|| Error::invalid("time_table", "the period must be longer than zero and under 292 years"))?;
        let schema = Arc::new(Schema::new(vec![Field::new(
            "Timestamp",
            DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            false,
        )]));
        let store = Store::new(&schema, graph.settled(), &crate::observe::storage(graph));
        let attributes =
            Attributes { append_only: !blink, add_only: !blink, blink, flat: !blink, ..Attributes::default() };
        let parts = Parts { rows: store.rows().clone(), columns: store.columns().sources(), schema, attributes };
        let owned = store.owned();
        let id = Arc::new(OnceLock::new());
        let next = start.unwrap_or_else(|| graph.time().epoch_nanos().div_euclid(period) * period);
        let live = TickerLive { graph: graph.clone(), id: id.clone(), store, period, next: Some(next), key: 0, blink };
        let request = Request::unique("time_table");
        let table = TableNode::source(&request, graph, Start { parts, live: Box::new(live), owned }, None);
        let node = table.node_id().expect("a source is registered as it is made");
        let _ = id.set(node);
        graph.activate(node);
        Ok(table)
    }
}

struct TickerLive {
    graph: UpdateGraph,
    id: Arc<OnceLock<NodeId>>,
    store: Store,
    period: i64,
    /// The next stamp; none if it is beyond what nanoseconds reach.
    next: Option<i64>,
    key: u64,
    blink: bool,
}

impl Live for TickerLive {
    fn update(&mut self, _: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let now = self.graph.time().epoch_nanos();
        let first = self.next.filter(|next| *next <= now);
        let due = first.map_or(0, |next| (now.saturating_sub(next) / self.period).min(ROWS_A_STEP - 1) + 1);
        let mut writes = Writes::default();
        if self.blink {
            writes.removed = Before(self.store.rows().latest());
        }
        if let Some(first) = first {
            let stamps = (0..due).map(|tick| first + tick * self.period);
            let cells: ArrayRef = Arc::new(TimestampNanosecondArray::from_iter_values(stamps).with_timezone("UTC"));
            let last = self.key + due as u64 - 1;
            writes.added.push((RowSet::range(self.key, last), vec![cells]));
            self.key = last + 1;
            self.next = due.checked_mul(self.period).and_then(|ahead| first.checked_add(ahead));
        }
        let update = self.store.write(step, writes)?;
        self.arm(now, !update.added.is_empty());
        Ok(update)
    }
}

impl TickerLive {
    fn arm(&self, now: i64, filled: bool) {
        let Some(id) = self.id.get() else { return };
        if self.next.is_some_and(|next| next <= now) || (self.blink && filled) {
            self.graph.activate(*id);
            return;
        }
        if let Some(next) = self.next {
            self.graph.activate_at(*id, self.graph.time().instant_at(next));
        }
    }
}
