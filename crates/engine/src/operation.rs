//! The operation interface: a request, an initialisation from a snapshot, and an update for each change of the inputs.
//!
//! The driver ([`crate::attach`]) does all plumbing: snapshots, registration, panics, timing,
//! memoisation and the checks of the update law. An operation never sees a lock.

use std::cell::RefCell;
use std::sync::Arc;

use arrow_schema::Schema;
use column::ColumnSource;
use graph::Step;

use crate::error::Error;
use crate::expression::Evaluator;
use crate::faults::{Faults, OnError};
use crate::live_rows::LiveRows;
use crate::table::{Attributes, Table};
use crate::update::TableUpdate;
use crate::view::{Change, View};

/// A request: the operation and its arguments. It labels errors and timings, is the memo key, and is a node of the
/// plan.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The method the user called, e.g. `with_columns`.
    pub name: String,
    /// The arguments in serialisable form.
    pub arguments: serde_json::Value,
    /// The user's own text (expression or formula), for errors.
    pub text: Option<String>,
    /// The place in the user's code that made the request.
    pub location: Option<Location>,
    /// Whether two equal requests on the same live inputs may be one node.
    pub shareable: bool,
    /// The recorder of skipped rows, if the request has `on_error`.
    pub faults: Option<Faults>,
    /// Whether the operation depends on the clock, and so runs in every step.
    pub timed: bool,
    /// The expressions that the operation computes, for `explain`.
    pub expressions: Option<Arc<[Evaluator]>>,
    /// A 128-bit fingerprint of the plan: operation, arguments, inputs. Every source has a unique one.
    pub print: u128,
}

impl Request {
    /// A request that may be shared by equal requests.
    pub fn new(name: &str, arguments: serde_json::Value) -> Request {
        let location = LOCATION.with_borrow(Clone::clone);
        Request {
            name: name.into(),
            arguments,
            text: None,
            location,
            shareable: true,
            faults: None,
            timed: false,
            expressions: None,
            print: next_print(),
        }
    }

    /// With the user's own text.
    pub fn with_text(mut self, text: impl Into<String>) -> Request {
        self.text = Some(text.into());
        self
    }

    /// Sets `on_error` and the recorder of skipped rows. The policy is part of the memo key.
    pub fn passing_over(mut self, on_error: OnError, faults: &Faults) -> Request {
        self.arguments = serde_json::json!([self.arguments, on_error.name()]);
        self.faults = Some(faults.clone());
        self
    }

    /// The request of an operation over these inputs, with its fingerprint.
    pub(crate) fn of(operation: &dyn Operation, inputs: &[Table]) -> Request {
        Request { expressions: operation.expressions(), ..operation.request().over(inputs) }
    }

    fn over(&self, inputs: &[Table]) -> Request {
        use std::hash::{Hash, Hasher};
        let half = |salt: u64| {
            let mut hasher = std::hash::DefaultHasher::new();
            (salt, &self.name, self.arguments.to_string()).hash(&mut hasher);
            inputs.iter().for_each(|input| input.request().print.hash(&mut hasher));
            u128::from(hasher.finish())
        };
        Request { print: half(0) << 64 | half(1), ..self.clone() }
    }

    /// `name(arguments)`: the node's label in errors and timings.
    pub fn label(&self) -> String {
        match &self.text {
            Some(text) => format!("{}({text})", self.name),
            None => self.name.clone(),
        }
    }

    pub(crate) fn memo_key(&self) -> Option<String> {
        self.shareable.then(|| format!("{}{}", self.name, self.arguments))
    }
}

/// A place in the user's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// File and line.
    pub line: String,
    /// The stack trace, as the embedding language prints it, outermost call first.
    pub trace: String,
}

/// A unique fingerprint, for a source.
fn next_print() -> u128 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    u128::from(NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
}

thread_local! {
    static LOCATION: RefCell<Option<Location>> = const { RefCell::new(None) };
}

/// Sets the user's code location for the requests that this thread makes from here on.
pub fn set_location(location: Option<Location>) {
    LOCATION.set(location);
}

/// One input of an operation as it starts.
pub struct Input {
    /// The table.
    pub table: Table,
    /// The table at the moment of the start.
    pub view: View,
}

/// A part of a table that keeps previous values during a step and drops them once the step has settled.
pub trait Settle: Send + Sync {
    /// Drops the previous values: the step has settled.
    fn settle(&self);
    /// Bytes held.
    fn bytes(&self) -> u64;
}

/// The data of a table as its readers see it: rows, columns, schema. Cloning shares them.
#[derive(Clone)]
pub struct Parts {
    /// The row set over time.
    pub rows: Arc<LiveRows>,
    /// The columns over time, in the order of the schema.
    pub columns: Vec<Arc<dyn ColumnSource>>,
    /// Names and declared types.
    pub schema: Arc<Schema>,
    /// Contracts the table keeps.
    pub attributes: Attributes,
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
