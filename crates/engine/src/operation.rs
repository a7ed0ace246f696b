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

/// What was asked for: the label of errors and timings, the memo key, and the node of a plan.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The method the user called, e.g. `with_columns`.
    pub name: String,
    /// Its arguments, as a plan: operation and arguments make one node serialisable.
    pub arguments: serde_json::Value,
    /// The user's own text (expression or formula), for errors.
    pub text: Option<String>,
    /// Where the user's code created it.
    pub location: Option<Location>,
    /// Whether two equal requests on the same live inputs may be one node.
    pub shareable: bool,
    /// Where it notes rows that it passes over, if it was told to.
    pub faults: Option<Faults>,
    /// Whether it runs in every step, whatever its inputs do: it hangs on the clock.
    pub timed: bool,
    /// What it computes, for whoever asks how.
    pub expressions: Option<Arc<[Evaluator]>>,
    /// Equal for equal plans: the operation, its arguments and those of its inputs. A source has its own.
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

    /// With a place for the rows that it is told to pass over; part of what makes requests equal.
    pub fn passing_over(mut self, on_error: OnError, faults: &Faults) -> Request {
        self.arguments = serde_json::json!([self.arguments, on_error.name()]);
        self.faults = Some(faults.clone());
        self
    }

    /// What was asked of an operation over these inputs, by which plans are told apart.
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

    /// `name(arguments)`: how errors and timings call this node.
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
    /// How the program came there, as the embedding language prints it, outermost call first.
    pub trace: String,
}

/// A number that no other source has.
fn next_print() -> u128 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    u128::from(NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
}

thread_local! {
    static LOCATION: RefCell<Option<Location>> = const { RefCell::new(None) };
}

/// Says where the user's code stands, for the requests this thread makes from here on.
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

/// Something that holds state of the running step and lets it go once the step has settled.
pub trait Settle: Send + Sync {
    /// The step is over: before-values may go.
    fn settle(&self);
    /// Bytes it holds.
    fn bytes(&self) -> u64;
}

/// The outside of a table: rows, columns, schema. Shared by cloning, never copied.
#[derive(Clone)]
pub struct Parts {
    /// The row set through time.
    pub rows: Arc<LiveRows>,
    /// The columns through time, in the order of the schema.
    pub columns: Vec<Arc<dyn ColumnSource>>,
    /// Names and declared types.
    pub schema: Arc<Schema>,
    /// Contracts the table keeps.
    pub attributes: Attributes,
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
