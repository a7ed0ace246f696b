//! The logical clock: one integer of time, and whether a step is under way.

use crate::sync::{AtomicU64, Ordering};

/// A settled state: `Moment(n)` is the state after step *n*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The state after step `number`; 0 is the state before any step.
    pub const fn new(number: u64) -> Moment {
        Moment(number)
    }

    /// Steps that lead to this state.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// A step of the graph: it leads from `before` to `now`. Steps are numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Step(u64);

impl Step {
    /// Step `number`, from 1.
    ///
    /// # Panics
    /// When `number` is 0: nothing leads to the first moment.
    pub const fn new(number: u64) -> Step {
        assert!(number >= 1, "steps are numbered from 1");
        Step(number)
    }

    /// The step whose `now` is `moment`.
    ///
    /// # Panics
    /// For the moment before any step.
    pub const fn ending(moment: Moment) -> Step {
        Step::new(moment.0)
    }

    /// Its number, from 1.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The state it starts from.
    pub const fn before(self) -> Moment {
        Moment(self.0 - 1)
    }

    /// The state it leads to.
    pub const fn now(self) -> Moment {
        Moment(self.0)
    }

    /// The step after this one.
    pub const fn next(self) -> Step {
        Step(self.0 + 1)
    }
}

/// The requested moment is gone. This is not an error: read again at a new moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved;

/// `settled << 1 | running`, in one word, so that it is never read torn.
pub(crate) struct Clock(AtomicU64);

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock(AtomicU64::new(0))
    }

    pub(crate) fn settled(&self) -> Moment {
        Moment(self.0.load(Ordering::Acquire) >> 1)
    }

    pub(crate) fn running(&self) -> Option<Step> {
        let word = self.0.load(Ordering::Acquire);
        (word & 1 == 1).then(|| Step((word >> 1) + 1))
    }

    /// Opens the next step. Only the holder of the exclusive gate calls it.
    pub(crate) fn open(&self) -> Step {
        let word = self.0.load(Ordering::Relaxed);
        debug_assert!(word & 1 == 0, "one step at a time");
        self.0.store(word | 1, Ordering::Release);
        Step((word >> 1) + 1)
    }

    /// Moves `settled()` to the end of the step. Call it under the topology lock, under which joining reads it.
    pub(crate) fn close(&self, step: Step) {
        self.0.store(step.0 << 1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_leads_from_before_to_now() {
        let step = Step::new(7);
        assert_eq!((step.before(), step.now()), (Moment::new(6), Moment::new(7)));
        assert_eq!(Step::ending(step.now()), step);
    }

    #[test]
    fn settled_is_behind_while_a_step_runs() {
        let clock = Clock::new();
        assert_eq!((clock.settled(), clock.running()), (Moment::new(0), None));
        let step = clock.open();
        assert_eq!((clock.settled(), clock.running()), (Moment::new(0), Some(Step::new(1))));
        clock.close(step);
        assert_eq!((clock.settled(), clock.running()), (Moment::new(1), None));
    }
}
