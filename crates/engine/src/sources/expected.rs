//! The expected rows of a source: its rows after all calls already queued, against which a new call is validated. They
//! are not stored as a set, but as the table's own rows and layers of queued edits above them.
//!
//!   rows of the table    {0..=9}
//!   taken by a step      removed {3}
//!   waiting              removed {5}, added {3, 12}
//!   expected             {0..=4, 6..=9, 12}
//!
//! Cost of a call: proportional to its arguments. If rows shift while calls are queued, the whole set is computed once
//! and edited until the queue is empty.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use graph::Moment;
use rowset::{Before, RowSet, Shifts};

use crate::table::rows::LiveRows;
use crate::threads::lock;

/// The rows that a new call will be applied to.
pub(super) struct PendingRows {
    rows: Arc<LiveRows>,
    queued: Mutex<Queued>,
    drafts: Mutex<HashMap<u64, Layer>>,
}

#[derive(Default)]
struct Queued {
    /// The edits taken by a step, and the moment of the last write before it: once the rows were written again, they
    /// contain these edits.
    taken: Option<(Moment, Layer)>,
    waiting: Layer,
}

/// The effect of consecutive calls on the rows beneath.
enum Layer {
    /// Rows to remove from those beneath, and then rows to add.
    Edits { removed: RowSet, added: RowSet },
    /// All rows after the calls; the rows beneath do not matter.
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

    /// Adds a call without shifts.
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

/// The expected rows as one thread sees them: the table's rows and the layers above.
pub(super) struct PendingView<'a> {
    rows: RowSet,
    layers: Vec<&'a Layer>,
}

impl PendingView<'_> {
    /// The keys that are not expected rows.
    pub(super) fn missing(&self, keys: &RowSet) -> RowSet {
        if self.layers.is_empty() && keys.is_subset(&self.rows) {
            return RowSet::new();
        }
        keys - &self.present(keys)
    }

    /// The keys that are expected rows.
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

    /// All expected rows.
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

impl PendingRows {
    /// The expected rows of a source with an empty queue.
    pub(super) fn new(rows: Arc<LiveRows>) -> PendingRows {
        PendingRows { rows, queued: Mutex::default(), drafts: Mutex::default() }
    }

    /// Validates a call that is queued now, and notes its effect: rows removed, rows added, and the shifts that `judge`
    /// returns.
    pub(super) fn queue<E>(
        &self,
        removed: &Before,
        added: &RowSet,
        judge: impl FnOnce(&PendingView) -> Result<Shifts, E>,
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

    /// Validates a call of a transaction against the queued rows plus the transaction's earlier calls, and notes its
    /// effect in the transaction's draft.
    pub(super) fn validate_in_transaction<E>(
        &self,
        transaction: u64,
        removed: &Before,
        added: &RowSet,
        judge: impl FnOnce(&PendingView) -> Result<Shifts, E>,
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

    /// Moves a transaction's draft to the queued edits. No other call was queued since it was validated.
    pub(super) fn adopt(&self, transaction: u64) {
        let Some(draft) = lock(&self.drafts).remove(&transaction) else { return };
        let mut queued = lock(&self.queued);
        match draft {
            Layer::Edits { removed, added } => queued.waiting.push(&removed, &added),
            whole => queued.waiting = whole,
        }
    }

    /// Discards the draft of a transaction that is over or will be validated again.
    pub(super) fn forget(&self, transaction: u64) {
        let draft = lock(&self.drafts).remove(&transaction);
        drop(draft);
    }

    /// Called as a step opens: the queued edits belong to it.
    pub(super) fn seal(&self) {
        let mut queued = lock(&self.queued);
        let waiting = std::mem::take(&mut queued.waiting);
        // The edits of the previous step were written, or were discarded with the step.
        queued.taken = (!waiting.is_empty()).then(|| (self.rows.written(), waiting));
    }

    fn sight<'a>(&self, queued: &'a mut Queued) -> PendingView<'a> {
        let (rows, written) = self.rows.latest_written();
        if queued.taken.as_ref().is_some_and(|(before, _)| *before < written) {
            queued.taken = None;
        }
        let taken = queued.taken.as_ref().map(|(_, layer)| layer);
        let layers = taken.into_iter().chain([&queued.waiting]).filter(|layer| !layer.is_empty()).collect();
        PendingView { rows, layers }
    }
}

fn moved(mut rows: RowSet, removed: &Before, shifts: &Shifts, added: &RowSet) -> RowSet {
    rows.apply(&removed.0, shifts, added);
    rows
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use graph::Step;
    use rowset::Shift;

    use super::*;
    use crate::table::settle::Settle;

    fn some_keys(dice: &mut Rng) -> RowSet {
        RowSet::from_keys((0..dice.u64(..9)).map(|_| dice.u64(..40)).collect())
    }

    struct Call {
        removed: Before,
        shifts: Shifts,
        added: RowSet,
    }

    /// A call that fits these rows.
    fn call(dice: &mut Rng, rows: &RowSet) -> Call {
        let removed = Before(&some_keys(dice) & rows);
        let survivors = Before(rows - &removed.0);
        let shifts = match dice.u64(..6) {
            0 => Shifts::new(vec![Shift { first: 20, last: 90, delta: 7 }], &survivors).unwrap_or_default(),
            _ => Shifts::none(),
        };
        let added = &some_keys(dice) - &shifts.forward(&survivors);
        Call { removed, shifts, added }
    }

    fn sees(expected: &PendingRows, draft: bool, rows: &RowSet, keys: &RowSet) {
        let look = |sight: &PendingView| {
            assert_eq!((&sight.whole(), sight.present(keys)), (rows, keys & rows));
            assert_eq!(sight.missing(keys), keys - rows);
            Err::<Shifts, ()>(())
        };
        match draft {
            true => assert!(expected.validate_in_transaction(7, &Before::default(), &RowSet::new(), look).is_err()),
            false => assert!(expected.queue(&Before::default(), &RowSet::new(), look).is_err()),
        }
    }

    /// Calls queue while steps open and are written; drafts lie above what is queued.
    #[test]
    fn what_is_expected_is_what_all_queued_calls_will_leave() {
        for seed in 0..300 {
            let mut dice = Rng::with_seed(seed);
            let live = Arc::new(LiveRows::new(some_keys(&mut dice), Moment::new(0)));
            let expected = PendingRows::new(live.clone());
            let mut plain = live.latest();
            let (mut waiting, mut taken): (Vec<Call>, Vec<Call>) = Default::default();
            for number in 1..60 {
                for _ in 0..dice.u64(..4) {
                    let one = call(&mut dice, &plain);
                    expected.queue(&one.removed, &one.added, |_| Ok::<_, ()>(one.shifts.clone())).unwrap();
                    plain = moved(plain, &one.removed, &one.shifts, &one.added);
                    waiting.push(one);
                    sees(&expected, false, &plain, &some_keys(&mut dice));
                }
                let (mut above, mut drafted) = (plain.clone(), Vec::new());
                for _ in 0..dice.u64(..3) {
                    let one = call(&mut dice, &above);
                    expected
                        .validate_in_transaction(7, &one.removed, &one.added, |_| Ok::<_, ()>(one.shifts.clone()))
                        .unwrap();
                    above = moved(above, &one.removed, &one.shifts, &one.added);
                    sees(&expected, true, &above, &some_keys(&mut dice));
                    drafted.push(one);
                }
                match dice.u64(..2) {
                    0 => expected.forget(7),
                    _ => {
                        expected.adopt(7);
                        waiting.append(&mut drafted);
                        plain = above;
                    }
                }
                sees(&expected, true, &plain, &some_keys(&mut dice));
                expected.forget(7);
                expected.seal();
                taken.append(&mut waiting);
                sees(&expected, false, &plain, &some_keys(&mut dice));
                for one in taken.drain(..) {
                    live.apply(Step::new(number), &one.removed, &one.shifts, &one.added).unwrap();
                }
                live.settle();
                assert_eq!(live.latest(), plain, "seed {seed}");
                sees(&expected, false, &plain, &some_keys(&mut dice));
            }
        }
    }
}
