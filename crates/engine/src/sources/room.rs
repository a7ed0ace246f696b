//! The room of a source's queue: how many rows may wait for a step, and what becomes of a call that has no room.
//!
//!   at most 4 rows, waiting [2 rows][1 row]
//!   a call of 1 row     queued
//!   a call of 2 rows    error: refused | wait: queued when a step has taken the others | drop the oldest: [1 row][2 rows]
//!   a call of 5 rows    refused: it would never have room
//!
//! A call is never split, and counts as one row at least. The calls of a transaction have room together, or it waits, or
//! none of them is queued. Cost of a call: a comparison; what is dropped is paid by the call that queued it.

use std::collections::HashMap;
use std::time::Duration;

use graph::{Step, UpdateGraph};

use crate::error::Error;
use crate::observe::events::{self, Level};
use crate::threads::interrupt;

/// After so long a wait for a graph that does not run says so in the log.
const EXPLAIN_AFTER: Duration = Duration::from_secs(5);

/// What becomes of a call for which the queue has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// It fails, and nothing of it is queued.
    #[default]
    Error,
    /// It waits until a step has taken what is queued.
    Wait,
    /// The oldest calls are dropped to make room: for blink tables, whose rows nobody keeps.
    DropOldest,
}

/// The room of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimit {
    /// Rows that may wait for a step.
    pub rows: u64,
    /// What becomes of a call for which there is no room.
    pub when_full: WhenFull,
}

impl QueueLimit {
    /// Rows that may wait for a step where nothing else is said.
    pub const ROWS: u64 = 100_000_000;
}

impl Default for QueueLimit {
    fn default() -> QueueLimit {
        QueueLimit { rows: QueueLimit::ROWS, when_full: WhenFull::Error }
    }
}

/// What a queue holds, and what became of calls for which it had no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct QueueCounts {
    pub queued_calls: u64,
    pub queued_rows: u64,
    pub max_queued_rows: u64,
    pub refused_calls: u64,
    pub waited_calls: u64,
    pub dropped_calls: u64,
    pub dropped_rows: u64,
}

/// Why a call is not queued.
pub(crate) enum Refusal {
    /// It never will be.
    Error(Error),
    /// There is no room now; whoever calls waits for it, if it may. The operation and the message say what is full.
    Full(String, String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Error(error)
    }
}

/// Whether a queued call may be dropped to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drops {
    /// By itself.
    Alone,
    /// With the other calls of its transaction, all of which wait here.
    With(u64),
    /// Never: others of its transaction wait in other sources.
    Never,
}

/// The account of a queue's room.
pub(crate) struct Room {
    limit: QueueLimit,
    /// Rows that wait, and those of them that are never dropped.
    rows: u64,
    kept: u64,
    /// Rows of open transactions.
    drafts: HashMap<u64, u64>,
    refused: u64,
    waited: u64,
    dropped_calls: u64,
    dropped_rows: u64,
}

impl Room {
    pub(crate) fn new(limit: QueueLimit) -> Room {
        let drafts = HashMap::new();
        Room { limit, rows: 0, kept: 0, drafts, refused: 0, waited: 0, dropped_calls: 0, dropped_rows: 0 }
    }

    /// Whether a call of so many rows has room now.
    pub(crate) fn ask(&mut self, operation: &str, rows: u64) -> Result<(), Refusal> {
        self.ask_beside(operation, rows, 0, true)
    }

    /// Whether a call of a transaction has room beside those before it; as the transaction `ends`, it must have it now.
    pub(crate) fn ask_draft(&mut self, operation: &str, rows: u64, id: u64, ends: bool) -> Result<(), Refusal> {
        let beside = self.drafts.get(&id).copied().unwrap_or_default();
        self.ask_beside(operation, rows, beside, ends)
    }

    fn ask_beside(&mut self, operation: &str, rows: u64, beside: u64, ends: bool) -> Result<(), Refusal> {
        let QueueLimit { rows: most, when_full } = self.limit;
        let need = rows.saturating_add(beside);
        let also = if beside > 0 { format!(" and {beside} before it in its transaction") } else { String::new() };
        if need > most {
            self.refused += 1;
            let message = format!(
                "a call of {rows} rows{also} is more than the queue of this table may hold, max_queued_rows={most}; give \
                 fewer rows at a time, or make the table with more"
            );
            return Err(Refusal::Error(Error::Resource { operation: operation.into(), message }));
        }
        let held = match when_full {
            WhenFull::Error => self.rows,
            WhenFull::Wait if ends => self.rows,
            WhenFull::Wait => 0,
            WhenFull::DropOldest => self.kept,
        };
        if held.saturating_add(need) <= most {
            return Ok(());
        }
        let kept =
            if when_full == WhenFull::DropOldest { " of transactions with other tables, which stay," } else { "" };
        let message = format!(
            "the queue of this table is full: {held} rows{kept} wait for a step, the call brings {rows}{also}, and \
             max_queued_rows={most}"
        );
        if when_full == WhenFull::Wait {
            return Err(Refusal::Full(operation.into(), message));
        }
        self.refused += 1;
        let remedy = match when_full {
            WhenFull::Error => "; run steps more often, or make the table with when_full=\"wait\" or more rows",
            _ => "; run steps more often",
        };
        Err(Refusal::Error(Error::Resource { operation: operation.into(), message: message + remedy }))
    }

    /// Notes a call of a transaction that has room.
    pub(crate) fn draft(&mut self, id: u64, rows: u64) {
        *self.drafts.entry(id).or_default() += rows;
    }

    pub(crate) fn forget(&mut self, id: u64) {
        self.drafts.remove(&id);
    }

    /// Whether the oldest must be dropped before so many rows are queued.
    pub(crate) fn lacks(&self, rows: u64) -> bool {
        self.rows.saturating_add(rows) > self.limit.rows
    }

    pub(crate) fn queued(&mut self, rows: u64, drops: Drops) {
        self.rows += rows;
        self.kept += if drops == Drops::Never { rows } else { 0 };
    }

    /// Notes that calls were dropped; true for the first ones.
    pub(crate) fn dropped(&mut self, rows: u64) -> bool {
        self.rows -= rows;
        self.dropped_calls += 1;
        self.dropped_rows += rows;
        self.dropped_calls == 1
    }

    /// Notes that nothing waits any more.
    pub(crate) fn emptied(&mut self) {
        (self.rows, self.kept) = (0, 0);
    }

    pub(crate) fn refused(&mut self) {
        self.refused += 1;
    }

    pub(crate) fn waited(&mut self) {
        self.waited += 1;
    }

    pub(crate) fn most(&self) -> u64 {
        self.limit.rows
    }

    pub(crate) fn counts(&self, calls: usize) -> QueueCounts {
        QueueCounts {
            queued_calls: calls as u64,
            queued_rows: self.rows,
            max_queued_rows: self.limit.rows,
            refused_calls: self.refused,
            waited_calls: self.waited,
            dropped_calls: self.dropped_calls,
            dropped_rows: self.dropped_rows,
        }
    }
}

/// What a waiting call asks of its sources.
pub(crate) trait Awaits {
    /// Notes that a call waits, or, if it may not, that it was refused.
    fn counted(&self, waits: bool);
    /// Whether it waits in vain: its table failed or was closed.
    fn in_vain(&self) -> bool;
}

/// Queues by `attempt`, which is called again after each step until there is room. No lock is held while this waits.
pub(crate) fn patiently<R>(
    graph: &UpdateGraph,
    of: &dyn Awaits,
    mut attempt: impl FnMut() -> Result<R, Refusal>,
) -> Result<R, Error> {
    let mut counted = false;
    let mut waited = Explained { graph, since: None };
    loop {
        // Before the attempt: a step that takes the queue after it is not missed.
        let next = Step::new(graph.settled().number() + 1);
        let (operation, message) = match attempt() {
            Ok(done) => return Ok(done),
            Err(Refusal::Error(error)) => return Err(error),
            Err(Refusal::Full(operation, message)) => (operation, message),
        };
        if let Err(why) = graph.may_wait() {
            of.counted(false);
            return Err(Error::InvalidOperation { operation, message: format!("{message}; {why}") });
        }
        if !std::mem::replace(&mut counted, true) {
            of.counted(true);
        }
        waited.for_room(next, of)?;
    }
}

struct Explained<'a> {
    graph: &'a UpdateGraph,
    since: Option<std::time::Instant>,
}

impl Explained<'_> {
    fn for_room(&mut self, step: Step, of: &dyn Awaits) -> Result<(), Error> {
        let mut interrupted = None;
        let mut poll = || {
            let since = self.since.get_or_insert_with(graph::env::now);
            if graph::env::now() - *since >= EXPLAIN_AFTER && !self.graph.is_started() {
                *since += Duration::from_secs(u64::from(u32::MAX));
                let text = "a call waits for room in the queue of its table, and the graph is not running: call \
                            graph.start(), or graph.step() from another thread";
                events::note(Level::Warning, text.into());
            }
            interrupted = interrupt::check().err();
            interrupted.is_none() && !of.in_vain()
        };
        let outcome = self.graph.wait_until(step, None, &mut poll);
        match (interrupted, outcome) {
            (Some(interrupted), _) => Err(interrupted),
            // In vain: the next attempt says why.
            (None, Ok(()) | Err(graph::GraphError::Interrupted { .. })) => Ok(()),
            (None, Err(error)) => Err(error.into()),
        }
    }
}
