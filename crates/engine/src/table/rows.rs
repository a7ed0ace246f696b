//! The row set of a table over time: the current rows and, while the step that wrote them runs, the previous rows.
//! Rows are edited in place. The previous row set is not stored: it is computed from the step's edit when it is first
//! read, so a step that nobody reads back pays nothing for it. A row set that was handed out is immutable; the next
//! edit copies the blocks that both share.

use std::sync::{Mutex, MutexGuard};

use graph::{Moment, Moved, Step};
use rowset::{Before, RowSet, Shifts};

use crate::error::Error;
use crate::table::settle::Settle;
use crate::table::update::TableUpdate;
use crate::threads::lock;

/// A row set that remembers its previous state.
pub struct LiveRows {
    slot: Mutex<Slot>,
}

struct Slot {
    now: RowSet,
    written: Moment,
    undo: Option<Undo>,
}

/// The undo record of the last step that wrote.
struct Undo {
    /// The number of rows before the step.
    len: u64,
    /// The edit of the step; none if the whole set was replaced, in which case `before` is set.
    done: Option<Done>,
    before: Option<RowSet>,
}

struct Done {
    removed: Before,
    shifts: Shifts,
    added: RowSet,
}

impl LiveRows {
    /// A row set that has not changed since `at`.
    pub fn new(rows: RowSet, at: Moment) -> LiveRows {
        LiveRows { slot: Mutex::new(Slot { now: rows, written: at, undo: None }) }
    }

    /// The rows at `moment`. `Moved` unless this is the current state, or the previous one while its step runs.
    pub fn at(&self, moment: Moment) -> Result<RowSet, Moved> {
        let mut slot = self.lock();
        if slot.written <= moment {
            return Ok(slot.now.clone());
        }
        if slot.written.number() == moment.number() + 1 {
            return slot.before().ok_or(Moved);
        }
        Err(Moved)
    }

    /// The rows as last written, whenever that was.
    pub fn latest(&self) -> RowSet {
        self.lock().now.clone()
    }

    /// The rows as last written, with the moment of that write.
    pub(crate) fn latest_written(&self) -> (RowSet, Moment) {
        let slot = self.lock();
        (slot.now.clone(), slot.written)
    }

    /// When the rows were last written.
    pub(crate) fn written(&self) -> Moment {
        self.lock().written
    }

    /// Applies a step: removes rows, shifts the survivors, adds rows. Fails with the rule of the update law that is
    /// broken; the row set must not be used after that.
    pub fn apply(&self, step: Step, removed: &Before, shifts: &Shifts, added: &RowSet) -> Result<(), Error> {
        let broken = |law| Err(Error::internal("a table's rows", law));
        if removed.0.is_empty() && shifts.is_empty() && added.is_empty() {
            return Ok(());
        }
        let mut slot = self.lock();
        let len = slot.now.len();
        let done = Done { removed: removed.clone(), shifts: shifts.clone(), added: added.clone() };
        let dropped = slot.open(step, Some(done));
        slot.now.apply(&removed.0, shifts, &RowSet::new());
        let survivors = slot.now.len();
        slot.now.apply(&RowSet::new(), &Shifts::none(), added);
        let after = slot.now.len();
        drop(slot);
        drop(dropped);
        if survivors + removed.0.len() != len {
            return broken("U1: removed rows that were not there");
        }
        if after != survivors + added.len() {
            return broken("U3: an added row lands on a survivor");
        }
        Ok(())
    }

    /// Applies the update that `change` makes of the rows as they are. The row set has no other holder by then, and is
    /// edited in place.
    pub fn edit(
        &self,
        step: Step,
        change: impl FnOnce(&RowSet) -> Result<TableUpdate, Error>,
    ) -> Result<TableUpdate, Error> {
        let update = change(&self.latest())?;
        self.apply(step, &update.removed, &update.shifts, &update.added)?;
        Ok(update)
    }

    /// Replaces all rows.
    pub fn publish(&self, step: Step, rows: RowSet) {
        let mut slot = self.lock();
        // The old undo record may be large: it is dropped after the lock is released.
        let dropped = slot.open(step, None);
        let old = std::mem::replace(&mut slot.now, rows);
        drop(slot);
        drop((dropped, old));
    }

    /// Checks in O(1) that `update` describes the edit of `step`: its parts are the very sets that were applied or, if
    /// the whole set was replaced, its sizes add up.
    pub(crate) fn check(&self, update: &TableUpdate, step: Step) -> Result<(), String> {
        let broken = |what: &str| Err(format!("{what}: {update:?}"));
        let slot = self.lock();
        let undo = slot.undo.as_ref().filter(|_| slot.written == step.now());
        let told = match undo.map(|undo| &undo.done) {
            None => update.removed.0.is_empty() && update.added.is_empty() && update.shifts.is_empty(),
            Some(None) => true,
            Some(Some(done)) => {
                done.removed == update.removed && done.added == update.added && done.shifts == update.shifts
            }
        };
        let (now, len) = (slot.now.len(), undo.map_or(slot.now.len(), |undo| undo.len));
        drop(slot);
        if !told {
            return broken("U3: the rows moved otherwise than the update says");
        }
        if len + update.added.len() != now + update.removed.0.len() {
            return broken("U3: sizes do not add up");
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        lock(&self.slot)
    }
}

impl Slot {
    /// Opens a write of `step`: an edit `done`, or a replacement. Returns the old undo record, to be dropped. A second
    /// write in the same step keeps the previous rows of the first.
    fn open(&mut self, step: Step, done: Option<Done>) -> Option<Undo> {
        debug_assert!(self.written <= step.now(), "written at {:?}, which is after {step:?}", self.written);
        if self.written == step.now() {
            self.before();
            if let Some(undo) = &mut self.undo {
                undo.done = None;
            }
            return None;
        }
        self.written = step.now();
        let before = if done.is_none() { Some(self.now.clone()) } else { None };
        self.undo.replace(Undo { len: self.now.len(), done, before })
    }

    /// The rows before the last step that wrote. They are computed once and cached: undo the additions, the shifts and
    /// the removals, in this order.
    fn before(&mut self) -> Option<RowSet> {
        let undo = self.undo.as_mut()?;
        if undo.before.is_none() {
            let done = undo.done.as_ref()?;
            let mut survivors = self.now.clone();
            survivors -= &done.added;
            let mut before = if done.shifts.is_empty() { survivors } else { done.shifts.back(&survivors).0 };
            before |= &done.removed.0;
            undo.before = Some(before);
        }
        undo.before.clone()
    }
}

impl Settle for LiveRows {
    fn settle(&self) {
        let dropped = self.lock().undo.take();
        drop(dropped);
    }

    fn bytes(&self) -> u64 {
        self.lock().now.bytes() as u64
    }
}

#[cfg(test)]
mod tests {
    use rowset::{Shift, Span};

    use super::*;

    fn moment(number: u64) -> Moment {
        Moment::new(number)
    }

    fn rows(keys: &[u64]) -> RowSet {
        RowSet::from_sorted_keys(keys)
    }

    #[test]
    fn while_its_step_runs_both_moments_are_there() {
        let live = LiveRows::new(rows(&[1, 2, 5]), moment(3));
        assert_eq!(live.at(moment(2)), Err(Moved));
        live.apply(Step::new(6), &Before(rows(&[2])), &Shifts::none(), &rows(&[7, 9])).unwrap();
        assert_eq!((live.at(moment(5)), live.at(moment(6))), (Ok(rows(&[1, 2, 5])), Ok(rows(&[1, 5, 7, 9]))));
        assert_eq!(live.at(moment(4)), Err(Moved));
        live.settle();
        assert_eq!((live.at(moment(5)), live.at(moment(9)).unwrap()), (Err(Moved), rows(&[1, 5, 7, 9])));
    }

    #[test]
    fn a_second_write_of_a_step_keeps_the_first_before() {
        let live = LiveRows::new(rows(&[1]), moment(0));
        let none = (Before::default(), Shifts::none());
        live.apply(Step::new(1), &none.0, &none.1, &rows(&[2])).unwrap();
        live.apply(Step::new(1), &Before(rows(&[1])), &none.1, &rows(&[3])).unwrap();
        assert_eq!((live.at(moment(0)), live.latest()), (Ok(rows(&[1])), rows(&[2, 3])));
        live.publish(Step::new(1), rows(&[8]));
        assert_eq!((live.at(moment(0)), live.at(moment(1))), (Ok(rows(&[1])), Ok(rows(&[8]))));
        live.publish(Step::new(2), rows(&[9]));
        assert_eq!((live.at(moment(0)), live.at(moment(1))), (Err(Moved), Ok(rows(&[8]))));
    }

    #[test]
    fn the_moment_before_is_told_through_shifts() {
        let before = rows(&[0, 1, 2, 3, 10, 11]);
        let live = LiveRows::new(before.clone(), moment(0));
        let gone = Before(rows(&[0, 11]));
        let shifts = Shifts::new(vec![Shift { first: 1, last: 3, delta: -1 }], &Before(&before - &gone.0)).unwrap();
        live.apply(Step::new(1), &gone, &shifts, &rows(&[3, 20])).unwrap();
        assert_eq!((live.at(moment(0)), live.latest()), (Ok(before), rows(&[0, 1, 2, 3, 10, 20])));
    }

    #[test]
    fn a_broken_law_is_told() {
        let live = LiveRows::new(rows(&[1, 2]), moment(0));
        let broken = live.apply(Step::new(1), &Before(rows(&[7])), &Shifts::none(), &RowSet::new());
        assert!(broken.is_err_and(|law| law.to_string().contains("U1")));
        let live = LiveRows::new(rows(&[1, 2]), moment(0));
        let broken = live.apply(Step::new(1), &Before::default(), &Shifts::none(), &rows(&[2]));
        assert!(broken.is_err_and(|law| law.to_string().contains("U3")));
    }

    #[test]
    fn what_was_handed_out_stays_as_it_was() {
        let scattered = RowSet::from_sorted_keys(&(0..5_000u64).map(|at| at * 199).collect::<Vec<_>>());
        let live = LiveRows::new(&RowSet::flat(1_000_000) - &scattered, moment(0));
        for number in 1..=20 {
            let step = Step::new(number);
            let gone: Vec<u64> = (0..500u64).map(|at| at * 1_999 + number).filter(|key| key % 199 != 0).collect();
            let gone = Before(rows(&gone));
            let held = (number == 10).then(|| live.latest());
            live.apply(step, &gone, &Shifts::none(), &RowSet::new()).unwrap();
            let before = live.at(step.before()).unwrap();
            assert!(before.len() == live.latest().len() + gone.0.len() && gone.0.is_subset(&before));
            assert!(held.is_none_or(|held| held == before));
            live.settle();
        }
        assert!(!live.latest().contains_span(Span { first: 0, last: 1 }));
    }
}
