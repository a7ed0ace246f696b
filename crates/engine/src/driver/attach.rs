//! The driver, first half: how an operation joins a running graph. [`crate::driver::node`] runs its node afterwards.
//! These two modules are the only code that takes snapshots, registers nodes, catches panics, memoises and validates
//! updates. The protocol of joining is argued in `crates/graph/README.md`. In short: pin a settled moment; initialise
//! without a lock; register only if that moment is still the settled one; otherwise catch up by one ordinary update
//! from a recorder, and try again. The rows of a blink table are gone after their step, so over a blink table the
//! recorder keeps the change of each step with its rows, and the operation catches up step by step.

use std::sync::Arc;

use graph::{Moment, Moved, Node, NodeId, Registration, Step, UpdateGraph};

use crate::driver::budget::Budget;
use crate::driver::failpoints::{Point, interleave, strike};
use crate::driver::memo::{self, Found, Known};
use crate::driver::node::{TableNode, guarded};
use crate::driver::operation::{Input, Operation, Start};
use crate::driver::recorder::{Recorded, Recorder};
use crate::driver::when::When;
use crate::error::{Error, Location};
use crate::eval::call::Call;
use crate::sizes::OPTIMISTIC_ROUNDS;
use crate::table::handle::{Table, common_graph, views};
use crate::table::request::Request;
use crate::threads::making;
use crate::threads::parallel::{self, Phase};

/// Starts an operation over its inputs. The result is live if an input is live, otherwise static. Equal requests on the
/// same live inputs return the same table. Fails if an input has failed or the initialisation fails.
pub fn attach(operation: &dyn Operation, inputs: &[Table]) -> Result<Table, Error> {
    attach_at(operation, inputs, None)
}

impl Call {
    /// As [`attach`], for this call of the user.
    pub(crate) fn attach(&self, operation: &dyn Operation, inputs: &[Table]) -> Result<Table, Error> {
        attach_at(operation, inputs, self.location.as_ref())
    }
}

fn attach_at(operation: &dyn Operation, inputs: &[Table], location: Option<&Location>) -> Result<Table, Error> {
    let table = attach_now(operation, inputs, location)?;
    let live = inputs.iter().filter(|input| input.is_live()).map(|input| (input.identity(), input));
    making::note(live, table.identity());
    Ok(table)
}

fn attach_now(operation: &dyn Operation, inputs: &[Table], location: Option<&Location>) -> Result<Table, Error> {
    let request = operation.request();
    for input in inputs {
        input.alive()?;
    }
    if inputs.iter().any(Table::is_interrupted) {
        let message =
            "the last step was interrupted in a table that it reads: run step(), which makes up for it, first";
        return Err(Error::invalid(&request.name, message));
    }
    if !operation.selects() && inputs.iter().any(|input| input.selection().is_some()) {
        return Err(Error::internal(&request.name, "it reads rows that are not found yet"));
    }
    let Some(graph) = common_graph(&request.name, inputs)? else {
        return memo::start(&request.name, None, || attach_static(operation, inputs));
    };
    if let Some(step) = making::running(&graph) {
        let settled = |input: &Table| input.node_id().is_none_or(|node| graph.has_settled_in(node, step));
        if let Some(input) = inputs.iter().find(|input| !settled(input)) {
            let message = format!(
                "it reads {}, which is not up to date yet in the step that runs: name it among the dependencies of the transform",
                input.request().label()
            );
            return Err(Error::invalid(&request.name, message));
        }
        return Ok(attach_in_step(operation, inputs, step)?.located(location.cloned()));
    }
    let first = inputs.iter().find(|input| input.is_live()).expect("a graph comes from a live input");
    if !request.shareable || operation.remembers(inputs) {
        return memo::start(&request.name, None, || attach_live(operation, inputs, &graph, location));
    }
    let slot = first.memo_slot((request.fingerprint, inputs.iter().map(Known::of).collect()));
    match slot.claim(&graph)? {
        Found::Made(table) => Ok(table),
        Found::Make(making) => {
            let table = memo::start(&request.name, Some(&slot), || attach_live(operation, inputs, &graph, location))?;
            Ok(making.publish(table))
        }
    }
}

fn attach_static(operation: &dyn Operation, inputs: &[Table]) -> Result<Table, Error> {
    let request = Request::of(operation, inputs);
    let (at, views) = views(inputs);
    let inputs = inputs_of(inputs, views);
    let start = guarded(operation.request(), || parallel::inside(None, Phase::Start, || operation.init(&inputs, at)))?;
    if let Some(row_errors) = &operation.request().row_errors {
        row_errors.publish(at.number(), None);
    }
    Ok(Table::fixed(start.parts, request))
}

fn attach_live(
    operation: &dyn Operation,
    inputs: &[Table],
    graph: &UpdateGraph,
    location: Option<&Location>,
) -> Result<Table, Error> {
    let budget = Budget::of(graph);
    let held = budget.held();
    let mut recorder = graph.is_started().then(|| Recorder::install(graph, inputs));
    loop {
        let (at, views) = views(inputs);
        let started = inputs_of(inputs, views);
        if let Some(row_errors) = &operation.request().row_errors {
            row_errors.forget();
            row_errors.live_in(graph)?;
        }
        let init = || {
            strike(None, Point::Start)?;
            parallel::inside(Some(graph), Phase::Start, || operation.init(&started, at))
        };
        let start = guarded(operation.request(), init)?;
        interleave();
        budget.ask_since(graph, held).map_err(|error| error.in_operation(&operation.request().name))?;
        let (table, node) = TableNode::table(&Request::of(operation, inputs), graph, inputs, start);
        let table = table.located(location.cloned());
        if let Some(registration) = join(&node, inputs, graph, at, started, recorder.as_ref())? {
            join_live(&table, &node, registration);
            for input in inputs {
                input.alive()?;
            }
            if let Some(row_errors) = &operation.request().row_errors {
                row_errors.watch_node(graph, table.node_id());
                row_errors.publish(at.number(), Some((graph, None)));
            }
            return Ok(table);
        }
        recorder = Some(Recorder::install(graph, inputs));
    }
}

/// Registers the node, after catching up if steps have passed. None if the recorder has no record of them: the
/// operation must be initialised again.
fn join(
    node: &Arc<TableNode>,
    inputs: &[Table],
    graph: &UpdateGraph,
    mut at: Moment,
    started: Vec<Input>,
    recorder: Option<&Recorded>,
) -> Result<Option<Registration>, Error> {
    let parents: Vec<NodeId> = inputs.iter().filter_map(Table::node_id).collect();
    let door: Arc<dyn Node> = node.clone();
    let mut before: Vec<_> = started.into_iter().map(|input| input.view).collect();
    for round in 0.. {
        let still = if round == OPTIMISTIC_ROUNDS.get() { Some(graph.shared_lock()?) } else { None };
        if round > 0 {
            let Some(recorder) = recorder else { return Ok(None) };
            let (to, now) = views(inputs);
            before = node.catch_up(recorder, at, before, to, now)?;
            at = to;
        }
        match graph.join(&door, &parents, at) {
            Ok(registration) => return Ok(Some(registration)),
            Err(Moved) => drop(still),
        }
    }
    unreachable!("the shared lock holds the settled moment still")
}

/// Starts an operation inside a running step, over inputs that have settled in it. The result is as of the end of the
/// step; its node first runs in the next step.
pub fn attach_in_step(operation: &dyn Operation, inputs: &[Table], step: Step) -> Result<Table, Error> {
    let Some(graph) = common_graph(&operation.request().name, inputs)? else { return attach_static(operation, inputs) };
    // A view of a step exists only while the step runs.
    if graph.running_step() != Some(step) {
        return Err(Error::internal(&operation.request().name, "attached in a step that is not running"));
    }
    if let Some(row_errors) = &operation.request().row_errors {
        row_errors.live_in(&graph)?;
    }
    let budget = Budget::of(&graph);
    let held = budget.held();
    let views = inputs.iter().map(|input| input.view_at(step.now())).collect();
    let init = || operation.init(&inputs_of(inputs, views), step.now());
    let start = guarded(operation.request(), || parallel::inside(Some(&graph), Phase::Update, init))?;
    budget.ask_since(&graph, held).map_err(|error| error.in_operation(&operation.request().name))?;
    let (table, node) = TableNode::table(&Request::of(operation, inputs), &graph, inputs, start);
    let parents: Vec<NodeId> = inputs.iter().filter_map(Table::node_id).collect();
    let door: Arc<dyn Node> = node.clone();
    let registration = graph
        .join_in_step(&door, &parents, step)
        .map_err(|Moved| Error::internal(&operation.request().name, "attached in a step that is not running"))?;
    join_live(&table, &node, registration);
    if let Some(row_errors) = &operation.request().row_errors {
        row_errors.watch_node(&graph, table.node_id());
        row_errors.publish(step.number(), Some((&graph, Some(step))));
    }
    Ok(table)
}

/// Registers a table that was started as of `when`, whose node waits for these nodes: they need not be those of all its
/// inputs, if a node among them wakes it when the others have changed.
pub(crate) fn register(
    request: &Request,
    graph: &UpdateGraph,
    inputs: &[Table],
    start: Start,
    parents: &[NodeId],
    when: When,
) -> Result<Table, Error> {
    let (table, node) = TableNode::table(request, graph, inputs, start);
    let door: Arc<dyn Node> = node.clone();
    let registration = match when {
        When::Settled(moment) => graph.join(&door, parents, moment),
        When::Running(step) => graph.join_in_step(&door, parents, step),
    };
    let gone = |Moved| Error::internal(&request.name, "made as of a time that is over");
    join_live(&table, &node, registration.map_err(gone)?);
    Ok(table)
}

fn join_live(table: &Table, node: &TableNode, registration: Registration) {
    let id = registration.id();
    table.registered(registration);
    node.joined(id);
}

fn inputs_of(tables: &[Table], views: Vec<crate::table::view::View>) -> Vec<Input> {
    tables.iter().cloned().zip(views).map(|(table, view)| Input { table, view }).collect()
}
