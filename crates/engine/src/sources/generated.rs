//! `function_generated_table`: what a function gives, each time it is called.
//!
//!   gives 1 2      out   0 1    1 2
//!   gives 1 3 4    out   ~ 1 3    + 2 4
//!   gives 1        out   - 1    - 2
//!
//! A result is compared with the one before it by position. Cost of an update: the result, which is read whole.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use column::Chunk;
use graph::{Moment, NodeId, Step, UpdateGraph};
use rowset::{Before, RowSet};

use super::conform::conform;
use crate::driver::node::TableNode;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::eval::call::Call;
use crate::table::change::Change;
use crate::table::handle::{Table, canonical_schema};
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::snapshot::from_view;
use crate::table::store::{Store, Writes};
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// The method that makes such tables.
const METHOD: &str = "function_generated_table";

/// A function of the user that gives rows.
pub trait Generator: Send + Sync {
    /// The rows, of the tables that it is called for as they are now.
    fn generate(&self, tables: &[Table]) -> Result<RecordBatch, Error>;
}

/// The rows that a function gives.
pub struct Generated {
    request: Request,
    generator: Arc<dyn Generator>,
    every: Option<i64>,
    /// The columns of the first result, which all later ones have.
    schema: OnceLock<SchemaRef>,
}

impl Generated {
    /// A table of what the function gives in `graph`: called now, then each time so long has passed, and in each step in
    /// which one of the tables changes.
    pub fn table(
        call: &Call,
        graph: &UpdateGraph,
        generator: Arc<dyn Generator>,
        every: Option<Duration>,
        when: &[Table],
    ) -> Result<Table, Error> {
        let every = every.map(|every| i64::try_from(every.as_nanos()).unwrap_or(i64::MAX).max(1));
        let request = Request { timed: true, ..Request::unique(METHOD) };
        let generated = Generated { request, generator, every, schema: OnceLock::new() };
        if when.iter().any(Table::is_live) {
            return call.attach(&generated, when);
        }
        let start = generated.start(graph, when, graph.settled())?;
        let node = start.1;
        let made = TableNode::source(&generated.request, graph, start.0, None).located(call.location.clone());
        let id = made.node_id().expect("a source is registered as it is made");
        let _ = node.set(id);
        if let Some(every) = every {
            graph.activate_at(id, graph.time().instant_at(graph.time().epoch_nanos().saturating_add(every)));
        }
        Ok(made)
    }

    fn start(
        &self,
        graph: &UpdateGraph,
        tables: &[Table],
        at: Moment,
    ) -> Result<(Start, Arc<OnceLock<NodeId>>), Error> {
        let batch = self.generator.generate(tables)?;
        super::fixed::unique_names(METHOD, &batch.schema())?;
        let schema = self.schema.get_or_init(|| batch.schema()).clone();
        let (rows, chunks) = (RowSet::flat(batch.num_rows() as u64), conform(METHOD, &schema, &batch)?);
        let cells: Vec<_> = match rows.is_empty() {
            true => chunks.iter().map(|_| Vec::new()).collect(),
            false => chunks.into_iter().map(|cells| vec![(rows.clone(), cells)]).collect(),
        };
        let counters = crate::observe::storage(graph);
        let store = Store::filled(&canonical_schema(&schema), at, &counters, rows, &cells)?;
        let parts = Parts {
            rows: store.rows().clone(),
            columns: store.columns().sources(),
            schema: schema.clone(),
            attributes: Attributes { flat: true, ..Attributes::default() },
        };
        let (owned, node) = (store.owned(), Arc::new(OnceLock::new()));
        let live = GeneratedLive {
            generator: self.generator.clone(),
            schema,
            store,
            graph: graph.clone(),
            node: node.clone(),
            every: self.every,
            due: None,
            still: if tables.iter().any(Table::is_live) { Vec::new() } else { tables.to_vec() },
        };
        Ok((Start { parts, live: Box::new(live), owned }, node))
    }
}

impl Operation for Generated {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let graph = inputs.iter().find_map(|input| input.table.graph().cloned());
        let graph = graph.ok_or_else(|| Error::internal(METHOD, "static inputs"))?;
        let given: Vec<Table> =
            inputs.iter().map(|input| shown(&input.table, &input.view)).collect::<Result<_, _>>()?;
        let (start, _) = self.start(&graph, &given, at)?;
        Ok(start)
    }
}

/// A table as the function sees it.
fn shown(table: &Table, view: &View) -> Result<Table, Error> {
    if table.is_live() { from_view(table, view) } else { Ok(table.clone()) }
}

struct GeneratedLive {
    generator: Arc<dyn Generator>,
    schema: SchemaRef,
    store: Store,
    graph: UpdateGraph,
    node: Arc<OnceLock<NodeId>>,
    every: Option<i64>,
    /// When it is called again, if it was asked for.
    due: Option<Instant>,
    /// The tables that the function is given, where none of them changes.
    still: Vec<Table>,
}

impl Live for GeneratedLive {
    // The function is called before anything is written.
    fn resumes(&self) -> bool {
        true
    }

    fn joined(&mut self, node: NodeId) {
        let _ = self.node.set(node);
        self.arm();
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let given: Vec<Table> = match inputs {
            [] => self.still.clone(),
            inputs => inputs.iter().map(|input| shown(input.table(), input.now())).collect::<Result<_, _>>()?,
        };
        let batch = self.generator.generate(&given)?;
        drop(given);
        let chunks = conform(METHOD, &self.schema, &batch)?;
        let (old, new) = (self.store.rows().latest().len(), batch.num_rows() as u64);
        let writes = self.writes(step, &chunks, old, new)?;
        self.arm();
        self.store.write(step, writes)
    }
}

impl GeneratedLive {
    fn writes(&self, step: Step, chunks: &[Chunk], old: u64, new: u64) -> Result<Writes, Error> {
        let mut writes = Writes::default();
        let stay = old.min(new);
        if stay > 0 {
            let rows = RowSet::flat(stay);
            let differing = chunks
                .iter()
                .enumerate()
                .map(|(column, cells)| self.store.differing(step, column, &rows, &cells.slice(0, stay as usize)));
            writes.differing(differing.collect::<Result<Vec<_>, Error>>()?);
        }
        if old > new {
            writes.removed = Before(RowSet::range(new, old - 1));
        }
        if new > old {
            let cells = chunks.iter().map(|cells| cells.slice(stay as usize, (new - old) as usize)).collect();
            writes.added.push((RowSet::range(old, new - 1), cells));
        }
        Ok(writes)
    }

    /// Asks for the step in which the function is called again.
    fn arm(&mut self) {
        let (Some(every), Some(node)) = (self.every, self.node.get()) else { return };
        let time = self.graph.time();
        if self.due.is_none_or(|due| due <= time.now()) {
            let due = time.instant_at(time.epoch_nanos().saturating_add(every));
            self.due = Some(due);
            self.graph.activate_at(*node, due);
        }
    }
}
