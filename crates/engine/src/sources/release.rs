//! Rows that are there already, given out bit by bit: `incremental_release` so many a step, `replay` by their stamps.
//!
//!   5 rows, 2 at first, 2 a step     out   0 1     + 2    + 3     + 4
//!
//! Rows own, columns shared with the table that they come from. Cost of an update: the rows given out.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use arrow_schema::{DataType, TimeUnit};
use graph::{Moment, NodeId, Step, UpdateGraph};
use rowset::{Before, RowSet, Shifts};

use crate::driver::attach::attach;
use crate::driver::node::TableNode;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;

/// The rows of a table in portions.
pub struct Release {
    request: Request,
    first: u64,
    each: u64,
}

impl Release {
    /// The first `first` rows at once, then `each` more in a step. A static table is given out in `graph`.
    pub fn table(table: &Table, graph: &UpdateGraph, first: u64, each: u64) -> Result<Table, Error> {
        let request = Request { timed: true, ..Request::unique("incremental_release") };
        table.alive()?;
        if !table.is_live() {
            let made = still(request, graph, table, first, Pace::Rows(each))?;
            begin(graph, std::slice::from_ref(&made));
            return Ok(made);
        }
        if !table.attributes().add_only {
            let message = "rows of the table may be removed or modified; give a static table, or one that only grows, \
                           such as an append_table";
            return Err(Error::invalid(&request.name, message));
        }
        attach(&Release { request, first, each }, std::slice::from_ref(table))
    }
}

impl Operation for Release {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let graph = table.graph().cloned().ok_or_else(|| Error::internal(&self.request.name, "a static input"))?;
        let all = view.rows().clone();
        let shown = Arc::new(LiveRows::new(all.slice(0, self.first.min(all.len())), at));
        let attributes = Attributes { blink: false, ..table.attributes().clone() };
        let parts = parts(table, &shown, attributes);
        let live =
            ReleaseLive { graph, node: OnceLock::new().into(), all, shown: shown.clone(), pace: Pace::Rows(self.each) };
        Ok(Start { parts, live: Box::new(live), owned: vec![shown] })
    }
}

fn parts(table: &Table, shown: &Arc<LiveRows>, attributes: Attributes) -> Parts {
    let (columns, schema) = (table.parts().columns.clone(), table.schema().clone());
    Parts { rows: shown.clone(), columns, schema, attributes }
}

/// A static table that is given out in a graph.
fn still(request: Request, graph: &UpdateGraph, table: &Table, first: u64, pace: Pace) -> Result<Table, Error> {
    let all = table.rows()?;
    let shown = Arc::new(LiveRows::new(all.slice(0, first.min(all.len())), graph.settled()));
    let attributes = Attributes { append_only: true, add_only: true, ..table.attributes().clone() };
    let parts = parts(table, &shown, attributes);
    let node = Arc::new(OnceLock::new());
    let live = ReleaseLive { graph: graph.clone(), node: node.clone(), all, shown: shown.clone(), pace };
    let made = TableNode::source(&request, graph, Start { parts, live: Box::new(live), owned: vec![shown] }, None);
    let _ = node.set(made.node_id().expect("a source is registered as it is made"));
    Ok(made)
}

/// Asks for the step in which all of these begin.
fn begin(graph: &UpdateGraph, made: &[Table]) {
    graph.intake(|| made.iter().filter_map(Table::node_id).for_each(|id| graph.activate(id)));
}

/// How rows are given out.
enum Pace {
    /// So many a step.
    Rows(u64),
    /// By their stamps.
    Clock { clock: Arc<Replay>, stamps: Vec<i64> },
}

struct ReleaseLive {
    graph: UpdateGraph,
    node: Arc<OnceLock<NodeId>>,
    /// All rows that are to be given out, as far as they are known.
    all: RowSet,
    shown: Arc<LiveRows>,
    pace: Pace,
}

impl Live for ReleaseLive {
    fn joined(&mut self, node: NodeId) {
        let _ = self.node.set(node);
        self.graph.activate(node);
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        if let Some(change) = inputs.first() {
            self.all = change.now().rows().clone();
        }
        let given = self.shown.latest();
        let added = match &self.pace {
            // Rows of a table that only grows may come between those that were given out.
            Pace::Rows(each) if inputs.is_empty() => self.all.slice(given.len(), *each),
            Pace::Rows(each) => (&self.all - &given).slice(0, *each),
            Pace::Clock { clock, stamps } => {
                let now = self.graph.step_started();
                let until = stamps.partition_point(|stamp| clock.instant_of(*stamp).is_some_and(|at| at <= now)) as u64;
                self.all.slice(given.len(), until.saturating_sub(given.len()))
            }
        };
        if !added.is_empty() {
            self.shown.apply(step, &Before::default(), &Shifts::none(), &added)?;
        }
        self.arm(given.len() + added.len());
        Ok(TableUpdate::of_added(added))
    }
}

impl ReleaseLive {
    /// Asks for the step that gives out more.
    fn arm(&self, given: u64) {
        let Some(node) = self.node.get().filter(|_| given < self.all.len()) else { return };
        match &self.pace {
            Pace::Rows(_) => self.graph.activate(*node),
            Pace::Clock { clock, stamps } => {
                if let Some(at) = stamps.get(given as usize).and_then(|stamp| clock.instant_of(*stamp)) {
                    self.graph.activate_at(*node, at);
                }
            }
        }
    }
}

/// The clock of tables that are replayed together. It runs by the clock of the graph's timers: rows of one instant are
/// due at one time, in whichever table they stand, so that no step comes between them.
pub struct Replay {
    /// When it shows `start`.
    began: Instant,
    start: i64,
    speed: f64,
}

impl Replay {
    /// Static tables in which rows appear as their stamps come: a table and the column of its stamps, for each. The clock
    /// begins now, at `start` or at the first stamp of all, and runs `speed` times as fast as the graph's.
    pub fn tables(
        graph: &UpdateGraph,
        tables: &[(Table, String)],
        speed: f64,
        start: Option<i64>,
    ) -> Result<Vec<Table>, Error> {
        let stamps: Vec<Vec<i64>> = tables.iter().map(|(table, name)| stamps(table, name)).collect::<Result<_, _>>()?;
        let first = stamps.iter().filter_map(|stamps| stamps.first()).min().copied();
        let start = start.or(first).unwrap_or_default();
        let clock = Arc::new(Replay { began: graph.time().now(), start, speed });
        let made = tables.iter().zip(stamps).map(|((table, _), stamps)| {
            let pace = Pace::Clock { clock: clock.clone(), stamps };
            still(Request::unique("replay"), graph, table, 0, pace)
        });
        let made: Vec<Table> = made.collect::<Result<_, _>>()?;
        begin(graph, &made);
        Ok(made)
    }

    /// When it shows a stamp; never, if that is too far to be counted.
    fn instant_of(&self, stamp: i64) -> Option<Instant> {
        let passed = u64::try_from(stamp.saturating_sub(self.start)).unwrap_or(0);
        let passed = if self.speed == 1.0 { passed } else { (passed as f64 / self.speed).ceil() as u64 };
        self.began.checked_add(Duration::from_nanos(passed))
    }
}

/// The stamps of a static table, which ascend.
fn stamps(table: &Table, name: &str) -> Result<Vec<i64>, Error> {
    let place = table.column_index("replay", name)?;
    if table.is_live() {
        return Err(Error::invalid(
            "replay",
            "the table is live, and moves by itself; give a static one, t.snapshot()",
        ));
    }
    let found = table.canonical().field(place).data_type();
    if !matches!(found, DataType::Timestamp(..)) {
        let message =
            format!("the column {name:?} holds {}, and rows are replayed by instants", formula::type_name(found));
        return Err(Error::types("replay", message));
    }
    let view = table.view()?;
    limits::ask_rows(view.rows().len(), 3 * size_of::<i64>() as u64)
        .map_err(|error| Error::from(error).in_operation("replay"))?;
    if view.rows().is_empty() {
        return Ok(Vec::new());
    }
    let cells = view.read(place, view.rows())?;
    let DataType::Timestamp(_, zone) = cells.data_type() else {
        return Err(Error::internal("replay", "stamps of another type"));
    };
    let cells = arrow_cast::cast(&cells, &DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()))?;
    let cells = cells.as_primitive::<TimestampNanosecondType>();
    let mut stamps: Vec<i64> = Vec::with_capacity(view.rows().len() as usize);
    for (row, stamp) in cells.iter().enumerate() {
        let wrong = match stamp {
            None => "has no stamp",
            Some(stamp) if stamps.last().is_some_and(|last| stamp < *last) => "is earlier than the row before it",
            Some(stamp) => {
                stamps.push(stamp);
                continue;
            }
        };
        let message = format!("row {row} {wrong} in column {name:?}; drop rows without one and sort by it first");
        return Err(Error::data("replay", message));
    }
    Ok(stamps)
}
