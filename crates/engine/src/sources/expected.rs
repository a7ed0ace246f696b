//! The rows of a source as they will be after the calls already queued: a new call is judged
//! against them. They are not kept: the table's own rows are, and what waits above them.
//!
//!   rows of the table    {0..=9}
//!   taken by a step      removed {3}
//!   waiting              removed {5}, added {3, 12}
//!   expected             {0..=4, 6..=9, 12}
//!
//! Cost of a call: what it was given. Where something moves while calls wait, the whole set is told once
//! and edited until nothing waits any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graph::Moment;
use rowset::{Before, RowSet, Shifts};

use crate::live_rows::LiveRows;

/// The rows that a call will meet.
pub(super) struct Expected {
    rows: Arc<LiveRows>,
    queued: Mutex<Queued>,
    drafts: Mutex<HashMap<u64, Layer>>,
}

#[derive(Default)]
struct Queued {
    /// What a step has taken, and when the rows were written last before it: as soon as they were
    /// written again they have it.
    taken: Option<(Moment, Layer)>,
    waiting: Layer,
}

/// What some calls in a row do to the rows beneath.
enum Layer {
    /// Rows of those beneath that go; then rows that come.
    Edits { removed: RowSet, added: RowSet },
    /// The rows that are there then, whatever lies beneath.
    Whole(RowSet),
}

impl Default for Layer {
    fn default() -> Layer {
        Layer::Edits { removed: RowSet::new(), added: RowSet::new() }
    }
}

impl Layer {
    fn is_empty(&self) -> bool {
        matches!(self, Layer::Edits { removed, added } if removed.is_empty() && added.is_empty())
    }

    /// One call more, without shifts.
    fn push(&mut self, gone: &RowSet, come: &RowSet) {
        match self {
            Layer::Whole(rows) => rows.apply(gone, &Shifts::none(), come),
            Layer::Edits { removed, added } => {
                if added.is_empty() {
                    *removed |= gone;
                } else {
                    *removed |= &(gone - &*added);
                    *added -= gone;
                }
                *added |= come;
            }
        }
    }
}

/// The rows expected by one thread at one time.
pub(super) struct Sight<'a> {
    rows: RowSet,
    layers: Vec<&'a Layer>,
}

impl Sight<'_> {
    /// Those of `keys` that are not there.
    pub(super) fn missing(&self, keys: &RowSet) -> RowSet {
        if self.layers.is_empty() && keys.is_subset(&self.rows) {
            return RowSet::new();
        }
        keys - &self.present(keys)
    }

    /// Those of `keys` that are there.
    pub(super) fn present(&self, keys: &RowSet) -> RowSet {
        let mut present = match self.layers.is_empty() && !keys.overlaps(&self.rows) {
            true => RowSet::new(),
            false => keys & &self.rows,
        };
        for layer in &self.layers {
            present = match layer {
                Layer::Whole(rows) => keys & rows,
                Layer::Edits { removed, added } => &(&present - removed) | &(keys & added),
            };
        }
        present
    }

    /// All that are there.
    pub(super) fn whole(&self) -> RowSet {
        let mut whole = self.rows.clone();
        for layer in &self.layers {
            match layer {
                Layer::Whole(rows) => whole = rows.clone(),
                Layer::Edits { removed, added } => whole.apply(removed, &Shifts::none(), added),
            }
        }
        whole
    }
}

impl Expected {
    /// Of a source with these rows, when nothing is queued.
    pub(super) fn new(rows: Arc<LiveRows>) -> Expected {
        Expected { rows, queued: Mutex::default(), drafts: Mutex::default() }
    }

    /// Judges a call that is queued now, and notes what it does: the rows that go and come, and how
    /// others move, which the judge tells.
    pub(super) fn queue<E>(
        &self,
        removed: &Before,
        added: &RowSet,
        judge: impl FnOnce(&Sight) -> Result<Shifts, E>,
    ) -> Result<Shifts, E> {
        let mut queued = lock(&self.queued);
        let shifts = {
            let sight = self.sight(&mut queued);
            let shifts = judge(&sight)?;
            if !shifts.is_empty() {
                let whole = moved(sight.whole(), removed, &shifts, added);
                queued.waiting = Layer::Whole(whole);
                return Ok(shifts);
            }
            shifts
        };
        queued.waiting.push(&removed.0, added);
        Ok(shifts)
    }

    /// Judges a call of a transaction against the queued rows plus the transaction's earlier calls, and notes its
    /// effect in the transaction's draft.
    pub(super) fn draft<E>(
        &self,
        transaction: u64,
        removed: &Before,
        added: &RowSet,
        judge: impl FnOnce(&Sight) -> Result<Shifts, E>,
    ) -> Result<Shifts, E> {
        let mut drafts = lock(&self.drafts);
        let draft = drafts.entry(transaction).or_default();
        let mut queued = lock(&self.queued);
        let mut sight = self.sight(&mut queued);
        sight.layers.push(draft);
        let shifts = judge(&sight)?;
        if shifts.is_empty() {
            drop(sight);
            draft.push(&removed.0, added);
        } else {
            *draft = Layer::Whole(moved(sight.whole(), removed, &shifts, added));
        }
        Ok(shifts)
    }

    /// The calls of a transaction are queued now. Nothing was since they were judged.
    pub(super) fn adopt(&self, transaction: u64) {
        let Some(draft) = lock(&self.drafts).remove(&transaction) else { return };
        let mut queued = lock(&self.queued);
        match draft {
            Layer::Edits { removed, added } => queued.waiting.push(&removed, &added),
            whole => queued.waiting = whole,
        }
    }

    /// A transaction is over, or judged anew.
    pub(super) fn forget(&self, transaction: u64) {
        let draft = lock(&self.drafts).remove(&transaction);
        drop(draft);
    }

    /// As a step opens: what waits belongs to it.
    pub(super) fn seal(&self) {
        let mut queued = lock(&self.queued);
        let waiting = std::mem::take(&mut queued.waiting);
        // What the step before took is written, or came to nothing.
        queued.taken = (!waiting.is_empty()).then(|| (self.rows.written(), waiting));
    }

    fn sight<'a>(&self, queued: &'a mut Queued) -> Sight<'a> {
        let (rows, written) = self.rows.latest_written();
        if queued.taken.as_ref().is_some_and(|(before, _)| *before < written) {
            queued.taken = None;
        }
        let taken = queued.taken.as_ref().map(|(_, layer)| layer);
        let layers = taken.into_iter().chain([&queued.waiting]).filter(|layer| !layer.is_empty()).collect();
        Sight { rows, layers }
    }
}

fn moved(mut rows: RowSet, removed: &Before, shifts: &Shifts, added: &RowSet) -> RowSet {
    rows.apply(&removed.0, shifts, added);
    rows
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use graph::Step;
    use rowset::Shift;

    use super::*;
    use crate::operation::Settle;

    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) % below
        }

        fn keys(&mut self) -> RowSet {
            RowSet::from_keys((0..self.roll(9)).map(|_| self.roll(40)).collect())
        }
    }

    struct Call {
        removed: Before,
        shifts: Shifts,
        added: RowSet,
    }

    /// A call that fits these rows.
    fn call(dice: &mut Dice, rows: &RowSet) -> Call {
        let removed = Before(&dice.keys() & rows);
        let survivors = Before(rows - &removed.0);
        let shifts = match dice.roll(6) {
            0 => Shifts::new(vec![Shift { first: 20, last: 90, delta: 7 }], &survivors).unwrap_or_default(),
            _ => Shifts::none(),
        };
        let added = &dice.keys() - &shifts.forward(&survivors);
        Call { removed, shifts, added }
    }

    fn sees(expected: &Expected, draft: bool, rows: &RowSet, keys: &RowSet) {
        let look = |sight: &Sight| {
            assert_eq!((&sight.whole(), sight.present(keys)), (rows, keys & rows));
            assert_eq!(sight.missing(keys), keys - rows);
            Err::<Shifts, ()>(())
        };
        match draft {
            true => assert!(expected.draft(7, &Before::default(), &RowSet::new(), look).is_err()),
            false => assert!(expected.queue(&Before::default(), &RowSet::new(), look).is_err()),
        }
    }

    /// Calls queue while steps open and are written; drafts lie above what is queued.
    #[test]
    fn what_is_expected_is_what_all_queued_calls_will_leave() {
        for seed in 0..300 {
            let mut dice = Dice(seed);
            let live = Arc::new(LiveRows::new(dice.keys(), Moment::new(0)));
            let expected = Expected::new(live.clone());
            let mut plain = live.latest();
            let (mut waiting, mut taken): (Vec<Call>, Vec<Call>) = Default::default();
            for number in 1..60 {
                for _ in 0..dice.roll(4) {
                    let one = call(&mut dice, &plain);
                    expected.queue(&one.removed, &one.added, |_| Ok::<_, ()>(one.shifts.clone())).unwrap();
                    plain = moved(plain, &one.removed, &one.shifts, &one.added);
                    waiting.push(one);
                    sees(&expected, false, &plain, &dice.keys());
                }
                let (mut above, mut drafted) = (plain.clone(), Vec::new());
                for _ in 0..dice.roll(3) {
                    let one = call(&mut dice, &above);
                    expected.draft(7, &one.removed, &one.added, |_| Ok::<_, ()>(one.shifts.clone())).unwrap();
                    above = moved(above, &one.removed, &one.shifts, &one.added);
                    sees(&expected, true, &above, &dice.keys());
                    drafted.push(one);
                }
                match dice.roll(2) {
                    0 => expected.forget(7),
                    _ => {
                        expected.adopt(7);
                        waiting.append(&mut drafted);
                        plain = above;
                    }
                }
                sees(&expected, true, &plain, &dice.keys());
                expected.forget(7);
                expected.seal();
                taken.append(&mut waiting);
                sees(&expected, false, &plain, &dice.keys());
                for one in taken.drain(..) {
                    live.apply(Step::new(number), &one.removed, &one.shifts, &one.added).unwrap();
                }
                live.settle();
                assert_eq!(live.latest(), plain, "seed {seed}");
                sees(&expected, false, &plain, &dice.keys());
            }
        }
    }
}
