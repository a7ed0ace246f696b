//! What changed in a table since its last checkpoint: row keys alone.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use engine::sources::{Follower, Stored};
use engine::{Merged, TableUpdate};
use graph::lock;
use rowset::RowSet;

/// Updates, of those that wait, that a step merges. More than the one that it brings, or they would never get fewer.
const MERGED_AT_ONCE: usize = 2;

/// Gathers the updates of one table.
pub(crate) struct Tracker {
    columns: usize,
    state: Mutex<State>,
}

struct State {
    /// The rows as of the last checkpoint, and what changed in steps that are over.
    merged: Merged,
    /// Updates behind it, by step.
    updates: VecDeque<(u64, TableUpdate)>,
    /// Whether a checkpoint is under way, which wants the updates up to a step it does not know yet.
    held: bool,
}

impl Tracker {
    /// Nothing has changed since the table had these rows.
    pub(crate) fn new(rows: RowSet, columns: usize) -> Tracker {
        let merged = Merged::new(rows, columns);
        Tracker { columns, state: Mutex::new(State { merged, updates: VecDeque::new(), held: false }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Keeps updates apart until the checkpoint is saved, or given up.
    pub(crate) fn hold(self: &Arc<Self>) -> Hold {
        self.lock().held = true;
        Hold(self.clone())
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
        drop(state);
        drop(before);
    }
}

/// A checkpoint of the tracker's table is under way.
pub(crate) struct Hold(Arc<Tracker>);

impl Deref for Hold {
    type Target = Tracker;

    fn deref(&self) -> &Tracker {
        &self.0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.lock().held = false;
    }
}

impl State {
    fn take(&mut self, step: u64, update: TableUpdate) {
        // The step under way is kept apart: what is merged has settled, and so every snapshot to come shows it. A step merges a
        // few updates and never all that a checkpoint left: it would stand out.
        if !self.held {
            let few = self.updates.len().min(MERGED_AT_ONCE);
            self.updates.drain(..few).for_each(|(_, update)| self.merged.push(&update));
        }
        self.updates.push_back((step, update));
    }
}

/// Lets a tracker hear of its table, for as long as somebody holds it.
pub(crate) struct WeakFollower(pub(crate) Weak<Tracker>);

impl Follower for WeakFollower {
    fn stored(&self, stored: Stored) {
        if let Some(tracker) = self.0.upgrade() {
            tracker.lock().take(stored.step.number(), stored.update);
        }
    }

    fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gathered_beside_a_checkpoint_is_merged_two_updates_a_step() {
        let tracker = Arc::new(Tracker::new(RowSet::flat(10), 1));
        let stored = |step: u64| tracker.lock().take(step, TableUpdate::of_added(RowSet::range(9 + step, 9 + step)));
        let waiting = || tracker.lock().updates.len() as u64;
        let hold = tracker.hold();
        (1..=20).for_each(stored);
        assert_eq!(waiting(), 20);
        drop(hold);
        for step in 21..=50 {
            stored(step);
            assert_eq!(waiting(), (40 - step.min(39)).max(1));
        }
        assert_eq!(tracker.up_to(50).update().added, RowSet::range(10, 59));
        tracker.saved(49, RowSet::flat(59));
        assert_eq!(tracker.up_to(50).update().added, RowSet::range(59, 59));
    }
}
