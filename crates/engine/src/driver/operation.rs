//! What an operation is: a request, an initialisation from a snapshot, and a reaction to change.
//!
//! The driver ([`crate::driver::attach`]) does all plumbing: snapshots, registration, panics, timing,
//! memoisation and the checks of the update law. An operation never sees a lock.

use std::sync::Arc;

use graph::Step;

use crate::error::Error;
use crate::eval::evaluator::Evaluator;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Parts;
use crate::table::request::{Explain, Request};
use crate::table::settle::Settle;
use crate::table::update::TableUpdate;
use crate::table::view::View;

impl Request {
    /// What was asked of an operation over these inputs, by which plans are told apart.
    pub(crate) fn of(operation: &dyn Operation, inputs: &[Table]) -> Request {
        let computed = operation.expressions().map(|computed| Arc::new(computed) as Arc<dyn Explain>);
        let prints = inputs.iter().map(|input| input.request().print);
        Request { computed, ..operation.request().over(prints) }
    }
}

/// One input of an operation as it starts.
pub struct Input {
    /// The table.
    pub table: Table,
    /// The table at the moment of the start.
    pub view: View,
}

/// An operation that has started.
pub struct Start {
    /// The result's outside.
    pub parts: Parts,
    /// How it reacts to change. Dropped at once when no input is live.
    pub live: Box<dyn Live>,
    /// What the operation itself writes, so that the driver can let before-values go.
    pub owned: Vec<Arc<dyn Settle>>,
}

/// A request that can be started over its inputs.
pub trait Operation: Send + Sync {
    /// What was asked for.
    fn request(&self) -> &Request;
    /// What it computes of a row, if it computes something.
    fn expressions(&self) -> Option<Arc<[Evaluator]>> {
        None
    }

    /// From a snapshot of the inputs; the result is as of the views' moment, given by `at`.
    fn init(&self, inputs: &[Input], at: graph::Moment) -> Result<Start, Error>;
}

/// An operation's reaction to change. It reads through its `Change`s alone, whose `before` may be
/// older than the last step while the operation catches up.
pub trait Live: Send {
    /// The node has joined the graph under this name, by which it can ask for steps of its own.
    fn joined(&mut self, _node: graph::NodeId) {}
    /// Brings state and result from `before` to `now`; an empty update if nothing changed.
    /// Called once a step, after all inputs have settled, if at least one of them changed.
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error>;

    /// Whether an update that fails in a function of the user has changed nothing, so that it can be tried again with a
    /// later change.
    fn resumes(&self) -> bool {
        false
    }

    /// What it keeps beside the result's rows and cells: groups, keys of joins, places in an order. None is left when
    /// its inputs are empty.
    fn entries(&self) -> u64 {
        0
    }
}
