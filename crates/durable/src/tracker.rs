//! What changed in a table since its last checkpoint: row keys alone.

use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use engine::sources::{Follower, Stored};
use engine::{Merged, TableUpdate};
use rowset::RowSet;

use crate::sizes::MERGED_UPDATES;

/// Gathers the updates of one table.
pub(crate) struct Tracker {
    columns: usize,
    state: Mutex<State>,
}

struct State {
    /// The rows as of the last checkpoint, and what changed in steps that are over.
    merged: Merged,
    /// Updates behind it, by step.
    updates: Vec<(u64, TableUpdate)>,
    /// Whether a checkpoint is under way, which wants the updates up to a step it does not know yet.
    held: bool,
}

impl Tracker {
    /// Nothing has changed since the table had these rows.
    pub(crate) fn new(rows: RowSet, columns: usize) -> Tracker {
        let merged = Merged::new(rows, columns);
        Tracker { columns, state: Mutex::new(State { merged, updates: Vec::new(), held: false }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps updates apart until the checkpoint is saved.
    pub(crate) fn hold(&self) {
        self.lock().held = true;
    }

    /// What changed up to a step, as one.
    pub(crate) fn up_to(&self, step: u64) -> Merged {
        let state = self.lock();
        let mut merged = state.merged.clone();
        state.updates.iter().filter(|(at, _)| *at <= step).for_each(|(_, update)| merged.push(update));
        merged
    }

    /// The changes up to a step are saved: the table had these rows then.
    pub(crate) fn saved(&self, step: u64, rows: RowSet) {
        let mut state = self.lock();
        let before = std::mem::replace(&mut state.merged, Merged::new(rows, self.columns));
        state.updates.retain(|(at, _)| *at > step);
        state.held = false;
        drop(state);
        drop(before);
    }
}

impl State {
    fn take(&mut self, step: u64, update: TableUpdate) {
        // The step under way is kept apart: what is merged has settled, and so every snapshot to come shows it.
        if self.updates.len() >= MERGED_UPDATES.get().max(1) && !self.held {
            let settled = std::mem::take(&mut self.updates);
            settled.iter().for_each(|(_, update)| self.merged.push(update));
        }
        self.updates.push((step, update));
    }
}

/// Lets a tracker hear of its table, for as long as somebody holds it.
pub(crate) struct Ear(pub(crate) Weak<Tracker>);

impl Follower for Ear {
    fn stored(&self, stored: Stored) {
        if let Some(tracker) = self.0.upgrade() {
            tracker.lock().take(stored.step.number(), stored.update);
        }
    }

    fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}
