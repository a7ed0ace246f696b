//! The operation interface: a request, an initialisation from a snapshot, and an update for each change of the inputs.
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
    /// The request of an operation over these inputs, with its fingerprint.
    pub(crate) fn of(operation: &dyn Operation, inputs: &[Table]) -> Request {
        let request = operation.request();
        let expressions = operation.expressions();
        let reads_clock = expressions.iter().flat_map(|all| all.iter()).any(|expression| expression.reach().clock);
        let computed = expressions.map(|computed| Arc::new(computed) as Arc<dyn Explain>);
        // A static table keeps the time at which it was made: an equal request later makes another one.
        let made_once = (request.timed || reads_clock) && !inputs.iter().any(Table::is_live);
        if !request.shareable || operation.remembers(inputs) || made_once {
            return Request { computed, ..request.alone() };
        }
        let prints = inputs.iter().map(|input| input.request().fingerprint);
        Request { computed, ..request.over(prints) }
    }
}

/// One input of an operation as it starts.
pub struct Input {
    /// The table.
    pub table: Table,
    /// The table at the moment of the start.
    pub view: View,
}

/// A started operation.
pub struct Start {
    /// The rows, columns and schema of the result.
    pub parts: Parts,
    /// The state that processes updates. It is dropped at once if no input is live.
    pub live: Box<dyn Live>,
    /// The storage that the operation writes; the driver settles it after each step.
    pub owned: Vec<Arc<dyn Settle>>,
}

/// A request that can be started over its inputs.
pub trait Operation: Send + Sync {
    /// The request.
    fn request(&self) -> &Request;
    /// The expressions that the operation computes for each row, if any.
    fn expressions(&self) -> Option<Arc<[Evaluator]>> {
        None
    }

    /// Whether it reads of an input only the rows that its selection finds
    /// ([`Table::selecting`](crate::table::handle::Table::selecting)).
    fn selects(&self) -> bool {
        false
    }

    /// Whether the result depends on what came since it was made, and not on the rows that are there alone. Such a result
    /// is never shared: one that is made later begins with what is there then.
    fn remembers(&self, _inputs: &[Table]) -> bool {
        false
    }

    /// Initialises the result from a snapshot of the inputs. `at` is the moment of the views and of the result.
    fn init(&self, inputs: &[Input], at: graph::Moment) -> Result<Start, Error>;
}

/// The live half of an operation: it maintains the result. It must read its inputs through its `Change`s alone, because
/// their `before` is older than the last step while the operation catches up.
pub trait Live: Send {
    /// Called when the node has joined the graph; the id lets the operation activate itself.
    fn joined(&mut self, _node: graph::NodeId) {}
    /// Brings state and result from `before` to `now` and returns the update of the result, which is empty if nothing
    /// changed. Called at most once per step, after all inputs have settled, if at least one of them changed.
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error>;

    /// Whether an update that fails in a user function leaves the state unchanged, so that it can be tried again with a
    /// later change.
    fn resumes(&self) -> bool {
        false
    }

    /// Entries of state beside the result's rows and cells: groups, keys of joins, positions in an order. Must be 0
    /// when all inputs are empty; a law tests it.
    fn entries(&self) -> u64 {
        0
    }
}
