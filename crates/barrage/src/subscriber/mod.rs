//! A subscriber of a table, without a socket and without a clock: what it holds, what it wants, and what it has not been
//! told yet. Updates wait as one, by the algebra of updates: row sets alone, no cells. A subscriber that is slow costs
//! memory in proportion to the rows that changed since it was last told; of a viewport, to the rows that it shows.
//!
//! The owner pushes each update of the table in the order of steps, and asks for the next train with the rows of one
//! settled step, when every update up to that step has been pushed and none behind it. The train's cells are read at that
//! step.

mod blink;
mod snapshot;
mod window;

use engine::{ColumnSet, Merged, TableUpdate};
use rowset::{Positions, RowSet};

use crate::BarrageError;
use crate::metadata::{SubscriptionRequest, UpdateMetadata};
use crate::train::Train;

pub use blink::BlinkRows;
use blink::Waiting;
use window::Tracked;

/// Milliseconds between updates, unless a client says otherwise.
const INTERVAL: u64 = 1000;

/// A part of a table.
#[derive(Clone, PartialEq, Debug)]
struct Scope {
    columns: ColumnSet,
    /// Positions, and whether they count from the end; none for all rows.
    viewport: Option<(Positions, bool)>,
}

/// What the client has been told.
#[derive(Debug)]
struct Held {
    scope: Scope,
    /// The step that it knows; -1 of a static table.
    step: i64,
    /// The rows of which it has cells, at that step.
    window: RowSet,
}

/// What happened since then.
#[derive(Debug)]
enum Pending {
    /// To the whole table.
    Whole(Merged),
    /// To the rows of a viewport.
    Window(Tracked),
}

/// A train to send.
#[derive(Debug)]
pub struct Outgoing {
    /// Its messages.
    pub train: Train,
    /// The rows of a blink table, which are gone from the table; none for other tables, whose cells are read from a view
    /// of the step that the train leads to.
    pub cells: Option<BlinkRows>,
}

/// One who follows a table.
#[derive(Debug)]
pub struct Subscriber {
    width: usize,
    interval: u64,
    /// The answer that is owed.
    wanted: Option<Scope>,
    held: Option<Held>,
    pending: Option<Pending>,
    /// The last step that was pushed.
    pushed: i64,
    /// The rows of a blink table since the last update.
    blink: Option<Waiting>,
    /// When an update may be sent.
    due: u64,
}

impl Subscriber {
    /// A subscriber of a table of so many columns. A blink table's rows are pushed with
    /// [`push_blink`](Subscriber::push_blink).
    pub fn new(request: &SubscriptionRequest, width: usize, blink: bool) -> Result<Subscriber, BarrageError> {
        let interval = u64::try_from(request.options.min_update_interval_ms).unwrap_or(0);
        let mut subscriber = Subscriber {
            width,
            interval: if interval == 0 { INTERVAL } else { interval },
            wanted: None,
            held: None,
            pending: None,
            pushed: i64::MIN,
            blink: blink.then(Waiting::default),
            due: 0,
        };
        subscriber.wanted = Some(subscriber.scope(request)?);
        Ok(subscriber)
    }

    /// Another part of the table is wanted; of several requests the last one is answered.
    pub fn request(&mut self, request: &SubscriptionRequest) -> Result<(), BarrageError> {
        let scope = self.scope(request)?;
        let held = self.held.as_ref().map(|held| &held.scope);
        if self.wanted.as_ref().or(held).is_some_and(|scope| scope.viewport.is_none()) {
            let what = "cannot change from full subscription to viewport or vice versa";
            return Err(BarrageError::Request { what });
        }
        self.wanted = Some(scope);
        Ok(())
    }

    fn scope(&self, request: &SubscriptionRequest) -> Result<Scope, BarrageError> {
        if self.blink.is_some() && request.reverse_viewport {
            return Err(BarrageError::Request { what: "a blink table has no reverse viewport" });
        }
        let columns = match &request.columns {
            None => ColumnSet::all(self.width),
            // Those beyond the schema name nothing.
            Some(columns) => columns.iter().filter(|column| *column < self.width).collect(),
        };
        Ok(Scope { columns, viewport: request.viewport.clone().map(|rows| (rows, request.reverse_viewport)) })
    }

    /// Takes in an update of the table. Updates that the last answer holds already are passed over.
    pub fn push(&mut self, step: i64, update: &TableUpdate) {
        let Some(held) = self.held.as_ref().filter(|held| step > held.step) else { return };
        let nothing = || match held.scope.viewport {
            None => Pending::Whole(Merged::new(held.window.clone(), self.width)),
            Some(_) => Pending::Window(Tracked::new(&held.window, self.width)),
        };
        match self.pending.get_or_insert_with(nothing) {
            Pending::Whole(merged) => merged.push(update),
            Pending::Window(tracked) => tracked.push(update, &held.scope.columns),
        }
        self.pushed = step;
    }

    /// When [`next`](Subscriber::next) has something to say, if nothing more happens: a time, or at once.
    pub fn due(&self) -> Option<u64> {
        if self.wanted.is_some() {
            return Some(0);
        }
        let waits = self.pending.is_some() || self.blink.as_ref().is_some_and(Waiting::any);
        waits.then_some(self.due)
    }

    /// When an update may be sent, if there is one.
    pub fn free(&self) -> u64 {
        if self.wanted.is_some() { 0 } else { self.due }
    }

    /// The step that the client knows.
    pub fn step(&self) -> Option<i64> {
        self.held.as_ref().map(|held| held.step)
    }

    /// The next train, if it is time: what changed, then the answer to a request. `rows` are those of the table at `step`,
    /// which is -1 for a static table. Ask again until there is none.
    pub fn next(&mut self, now: u64, step: i64, rows: &RowSet) -> Option<Outgoing> {
        if self.pushed > step {
            return None;
        }
        if self.held.is_some() && (self.wanted.is_some() || now >= self.due) {
            let outgoing = match &mut self.blink {
                Some(_) => self.blink_update(step),
                None => self.update(step, rows).map(|train| Outgoing { train, cells: None }),
            };
            if outgoing.is_some() {
                self.due = now.saturating_add(self.interval);
                return outgoing;
            }
        }
        let scope = self.wanted.take()?;
        self.due = now.saturating_add(self.interval);
        // Of a blink table nothing is there to begin with.
        let none = RowSet::new();
        let train = self.answer(scope, step, if self.blink.is_some() { &none } else { rows });
        let cells = self.blink.is_some().then(BlinkRows::default);
        Some(Outgoing { train, cells })
    }

    /// What changed since the client was last told.
    fn update(&mut self, step: i64, rows: &RowSet) -> Option<Train> {
        let pending = self.pending.take()?;
        let held = self.held.as_mut()?;
        let columns = held.scope.columns.clone();
        let mut metadata = UpdateMetadata {
            first_seq: held.step + 1,
            last_seq: step,
            table_size: rows.len() as i64,
            ..UpdateMetadata::default()
        };
        let train = match pending {
            Pending::Whole(merged) => {
                let update = merged.update();
                if update.is_empty() {
                    // The next update covers these steps too.
                    return None;
                }
                let modified = |column: usize| match columns.contains(column) {
                    true => merged.modified_in(column).clone(),
                    false => RowSet::new(),
                };
                let modified: Vec<RowSet> = (0..self.width).map(modified).collect();
                metadata.added = Some(update.added.clone());
                metadata.removed = Some(update.removed.0.clone());
                metadata.shifts = Some(update.shifts.iter().copied().collect());
                metadata.modified = Some(modified.clone());
                held.window = rows.clone();
                Train::new(metadata, columns, update.added, modified)
            }
            Pending::Window(tracked) => {
                let (viewport, reverse) = held.scope.viewport.as_ref()?;
                let window = window::of(rows, viewport, *reverse);
                let moved = tracked.to(held.window.len(), &window);
                metadata.effective_reverse_viewport = *reverse;
                metadata.added = Some(window.positions_of(&moved.came).0);
                metadata.removed = Some(moved.gone);
                metadata.modified = Some(moved.modified.iter().map(|rows| window.positions_of(rows).0).collect());
                held.window = window;
                Train::new(metadata, columns, moved.came, moved.modified)
            }
        };
        held.step = step;
        Some(train)
    }

    /// The answer to a request: the rows that the client has not, and which of its rows go.
    fn answer(&mut self, scope: Scope, step: i64, rows: &RowSet) -> Train {
        let window = match &scope.viewport {
            None => rows.clone(),
            Some((viewport, reverse)) => window::of(rows, viewport, *reverse),
        };
        let had = self.held.take();
        // A row whose cells the client has in all columns that it wants is not sent again.
        let kept = match &had {
            Some(had) if window::keeps(&had.scope, &scope) => &had.window & &window,
            _ => RowSet::new(),
        };
        let old = had.as_ref().map(|had| had.window.clone()).unwrap_or_default();
        let came = &window - &kept;
        let mut metadata = UpdateMetadata {
            first_seq: step,
            last_seq: step,
            is_snapshot: true,
            effective_columns: Some(scope.columns.clone()),
            removed: Some(RowSet::new()),
            modified: Some(vec![RowSet::new(); self.width]),
            table_size: rows.len() as i64,
            ..UpdateMetadata::default()
        };
        match &scope.viewport {
            None => {
                metadata.added = Some(window.clone());
                metadata.added_included = Some(came.clone());
                metadata.shifts = Some(Vec::new());
            }
            Some((viewport, reverse)) => {
                metadata.effective_viewport = Some(viewport.clone());
                metadata.effective_reverse_viewport = *reverse;
                metadata.added = Some(window.positions_of(&came).0);
                metadata.removed = Some(old.positions_of(&(&old - &kept)).0);
            }
        }
        let columns = scope.columns.clone();
        self.pushed = step;
        self.held = Some(Held { scope, step, window });
        Train::new(metadata, columns, came, Vec::new())
    }
}
