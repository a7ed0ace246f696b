//! A versioned value: current value, previous value and the step of the last write, which change together.

use crate::clock::{Moment, Moved, Step};
use crate::sync::Mutex;

/// A value that keeps one previous version: while the step that wrote it runs, the previous value can be read.
///
/// `T` is cloned for every reader, under a short lock: let it be an `Arc` or a value whose clone is as cheap.
pub struct Pinned<T: Clone> {
    slot: Mutex<Slot<T>>,
}

struct Slot<T> {
    current: T,
    before: Option<T>,
    written: Moment,
}

impl<T: Clone> Pinned<T> {
    /// A value that has not changed since `at`.
    pub fn new(value: T, at: Moment) -> Pinned<T> {
        Pinned { slot: Mutex::new(Slot { current: value, before: None, written: at }) }
    }

    /// The value at `moment`; `Moved` if it is neither the current nor the kept previous value.
    pub fn at(&self, moment: Moment) -> Result<T, Moved> {
        let slot = self.slot.lock();
        if slot.written <= moment {
            return Ok(slot.current.clone());
        }
        if slot.written.number() == moment.number() + 1 {
            return slot.before.clone().ok_or(Moved);
        }
        Err(Moved)
    }

    /// The value as last written, whenever that was.
    pub fn latest(&self) -> T {
        self.slot.lock().current.clone()
    }

    /// Replaces the value; the first write of a step keeps the old one as `before`.
    pub fn publish(&self, step: Step, value: T) {
        let mut slot = self.slot.lock();
        let old = std::mem::replace(&mut slot.current, value);
        let first = slot.begin(step);
        // The old value may be large: it is dropped after the lock is released.
        let dropped = if first { slot.before.replace(old) } else { Some(old) };
        drop(slot);
        drop(dropped);
    }

    /// Changes the value in place, under the lock; the first write of a step keeps the old one as `before`.
    pub fn edit(&self, step: Step, change: impl FnOnce(&mut T)) {
        let mut slot = self.slot.lock();
        let mut dropped = None;
        if slot.begin(step) {
            let old = slot.current.clone();
            dropped = slot.before.replace(old);
        }
        change(&mut slot.current);
        drop(slot);
        drop(dropped);
    }

    /// Drops the previous value: the step that wrote has settled.
    pub fn settle(&self) {
        let dropped = self.slot.lock().before.take();
        drop(dropped);
    }

    /// The moment of the last write.
    pub fn last_step(&self) -> Moment {
        self.slot.lock().written
    }
}

impl<T> Slot<T> {
    /// True for the first write of `step`.
    fn begin(&mut self, step: Step) -> bool {
        debug_assert!(self.written <= step.now(), "written at {:?}, which is after {step:?}", self.written);
        let first = self.written < step.now();
        self.written = step.now();
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(number: u64) -> Moment {
        Moment::new(number)
    }

    #[test]
    fn while_its_step_runs_both_values_are_there() {
        let value = Pinned::new("a", moment(3));
        assert_eq!(value.at(moment(2)), Err(Moved));
        assert_eq!(value.at(moment(3)), Ok("a"));
        value.publish(Step::new(6), "b");
        assert_eq!(value.at(moment(5)), Ok("a"));
        assert_eq!(value.at(moment(6)), Ok("b"));
        assert_eq!(value.at(moment(4)), Err(Moved));
        value.settle();
        assert_eq!(value.at(moment(5)), Err(Moved));
        assert_eq!((value.at(moment(9)), value.latest(), value.last_step()), (Ok("b"), "b", moment(6)));
    }

    #[test]
    fn a_second_write_in_a_step_keeps_the_first_before() {
        let value = Pinned::new(vec![1], moment(0));
        value.edit(Step::new(1), |v| v.push(2));
        value.edit(Step::new(1), |v| v.push(3));
        value.publish(Step::new(1), vec![9]);
        assert_eq!((value.at(moment(0)), value.at(moment(1))), (Ok(vec![1]), Ok(vec![9])));
        value.publish(Step::new(2), vec![10]);
        assert_eq!((value.at(moment(0)), value.at(moment(1))), (Err(Moved), Ok(vec![9])));
    }

    #[test]
    fn a_panic_inside_an_edit_leaves_it_usable() {
        let value = Pinned::new(1, moment(0));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            value.edit(Step::new(1), |_| panic!("inside"));
        }));
        assert!(caught.is_err());
        assert_eq!(value.at(moment(0)), Ok(1));
    }
}
