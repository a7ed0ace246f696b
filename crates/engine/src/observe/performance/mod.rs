//! `performance`: what each node of a graph did in each cycle, as a live table of the last cycles.
//!
//!   step 7    + 12 7 3 filter(…) 100 40 8123    + 13 7 null cycle 100 60 20110
//!
//! Rows of step *n* come with step *n + 1*: they are counted when *n* is over, and by themselves they start no cycle,
//! as each cycle would make more of them. While nobody holds the table, nothing is recorded. The oldest rows go when
//! there are more than the bound.

use std::sync::{Arc, Mutex, OnceLock};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use graph::{HookId, NodeId, Report, Step, UpdateGraph, WeakGraph};
use rowset::{Before, RowSet};

use crate::driver::operation::Live;
use crate::error::Error;
use crate::sources::conform::conform;
use crate::sources::fed::{Feeding, fed_table, next_keys};
use crate::sources::feed::Queue;
use crate::sources::journal::{Initial, SourceStore};
use crate::table::change::Change;
use crate::table::handle::{Table, WeakTable};
use crate::table::parts::Attributes;
use crate::table::store::Writes;
use crate::table::update::TableUpdate;
use crate::threads::lock;

/// Rows the table keeps.
pub const MOST_ROWS: u64 = 100_000;

/// One node in one cycle, or one cycle.
struct Figures {
    step: u64,
    /// None for the cycle itself.
    node: Option<u64>,
    operation: String,
    rows_in: u64,
    rows_out: u64,
    nanos: u64,
}

/// The graph's one table of performance, if somebody holds it.
#[derive(Default)]
struct Known(Mutex<WeakTable>);

/// What each node did in each cycle: `step`, `node` (null in the row of the whole cycle), `operation`, `rows_in`,
/// `rows_out`, `ns`.
pub fn performance(graph: &UpdateGraph) -> Result<Table, Error> {
    let known = graph.extension(Known::default);
    let mut table = lock(&known.0);
    if let Some(table) = table.upgrade() {
        return Ok(table);
    }
    let recorder = Arc::new(Recorder { pending: Mutex::default(), node: OnceLock::new() });
    let (observed, hooked) = (recorder.clone(), recorder.clone());
    let observer = graph.observe(Arc::new(move |report| observed.take(report)));
    let weak = graph.downgrade();
    let hook = graph.before_step(Arc::new(move |_| hooked.join_step(&weak)));
    let places = Places { graph: graph.downgrade(), observer, hook };
    let live = |_: Arc<Queue<()>>, store, _: &Initial| {
        Ok(PerformanceLive { recorder: recorder.clone(), store, next: 0, places })
    };
    let (made, _) = fed_table("performance", graph, schema(), Attributes::default(), None, Feeding::default(), live)?;
    let _ = recorder.node.set(made.node_id().expect("a source is registered as it is made"));
    *table = made.downgrade();
    Ok(made)
}

fn schema() -> Arc<Schema> {
    let number = |name| Field::new(name, DataType::Int64, true);
    let operation = Field::new("operation", DataType::Utf8, true);
    let fields = vec![number("step"), number("node"), operation, number("rows_in"), number("rows_out"), number("ns")];
    Arc::new(Schema::new(fields))
}

/// Figures that are not in the table yet.
struct Recorder {
    pending: Mutex<Vec<Figures>>,
    node: OnceLock<NodeId>,
}

impl Recorder {
    /// O(1) for each node that ran.
    fn take(&self, report: &Report) {
        let step = report.step.number();
        let mut pending = lock(&self.pending);
        let whole = report
            .nodes
            .iter()
            .fold((0, 0), |(rows_in, rows_out), run| (rows_in + run.volume.items_in, rows_out + run.volume.items_out));
        pending.extend(report.nodes.iter().map(|run| Figures {
            step,
            node: Some(run.id.number()),
            operation: run.label.clone(),
            rows_in: run.volume.items_in,
            rows_out: run.volume.items_out,
            nanos: run.nanos,
        }));
        let nanos = report.until_done.as_nanos() as u64;
        pending.push(Figures {
            step,
            node: None,
            operation: "cycle".into(),
            rows_in: whole.0,
            rows_out: whole.1,
            nanos,
        });
        let surplus = pending.len().saturating_sub(MOST_ROWS as usize);
        pending.drain(..surplus);
    }

    /// A step that runs in any case takes along what is known of those before it.
    fn join_step(&self, graph: &WeakGraph) {
        if lock(&self.pending).is_empty() {
            return;
        }
        if let (Some(graph), Some(node)) = (graph.upgrade(), self.node.get()) {
            graph.activate(*node);
        }
    }
}

/// Where the graph knows of the recorder; given back when the table is gone.
struct Places {
    graph: WeakGraph,
    observer: HookId,
    hook: HookId,
}

impl Drop for Places {
    fn drop(&mut self) {
        if let Some(graph) = self.graph.upgrade() {
            graph.remove_observer(self.observer);
            graph.remove_hook(self.hook);
        }
    }
}

#[allow(dead_code, reason = "what is held until the table is gone")]
struct PerformanceLive {
    recorder: Arc<Recorder>,
    store: SourceStore,
    next: u64,
    places: Places,
}

impl Live for PerformanceLive {
    fn update(&mut self, _: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let figures = std::mem::take(&mut *lock(&self.recorder.pending));
        let mut writes = Writes::default();
        let chunks = conform("performance", &schema(), &batch(&figures)?)?;
        if let Some(keys) = next_keys(&mut self.next, &chunks)? {
            writes.added.push((keys, chunks));
        }
        let before = self.store.rows().latest();
        let first = self.next.saturating_sub(MOST_ROWS);
        if let Some(last_gone) = first.checked_sub(1) {
            writes.removed = Before(&before & &RowSet::range(0, last_gone));
        }
        self.store.write(step, writes, self.next)
    }
}

fn batch(figures: &[Figures]) -> Result<RecordBatch, Error> {
    let numbers = |of: fn(&Figures) -> Option<u64>| {
        Arc::new(figures.iter().map(|row| of(row).map(|number| number as i64)).collect::<Int64Array>()) as ArrayRef
    };
    let operations: StringArray = figures.iter().map(|row| Some(&row.operation)).collect();
    let columns = vec![
        numbers(|row| Some(row.step)),
        numbers(|row| row.node),
        Arc::new(operations) as ArrayRef,
        numbers(|row| Some(row.rows_in)),
        numbers(|row| Some(row.rows_out)),
        numbers(|row| Some(row.nanos)),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}

#[cfg(test)]
mod tests;
