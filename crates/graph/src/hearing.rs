//! Who waits for others' work, and hears meanwhile what the embedding program is told: a signal that comes to one thread
//! alone, while a function that the threads of a pool run for it goes on and on.
//!
//! Work that a thread hands to others carries the number of the call for which it is done.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::sync::local;

/// So often a thread that waits listens.
pub const EVERY: Duration = Duration::from_millis(50);

/// How the embedding program is heard.
pub type Ear = fn();

local! {
    /// How this thread hears while it waits, if it does.
    static EAR: Cell<Option<Ear>> = Cell::new(None);
}

local! {
    /// The call for which this thread works; 0 is none.
    static CALL: Cell<u64> = Cell::new(0);
}

/// Does `work` as a call of its own, in which this thread listens by `ear` while it waits for other threads.
pub fn listening<R>(ear: Ear, work: impl FnOnce() -> R) -> R {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    /// Puts back what was there, also when `work` panics.
    struct Back(Option<Ear>);
    impl Drop for Back {
        fn drop(&mut self) {
            EAR.with(|own| own.set(self.0));
        }
    }
    let _back = Back(EAR.with(|own| own.replace(Some(ear))));
    for_call(CALLS.fetch_add(1, Ordering::Relaxed), work)
}

/// How this thread hears while it waits, if it does.
pub fn ear() -> Option<Ear> {
    EAR.with(Cell::get)
}

/// The call for which this thread works; 0 is none.
pub fn call() -> u64 {
    CALL.with(Cell::get)
}

/// Does `work` for this call.
pub fn for_call<R>(call: u64, work: impl FnOnce() -> R) -> R {
    /// Puts back what was there, also when `work` panics.
    struct Back(u64);
    impl Drop for Back {
        fn drop(&mut self) {
            CALL.with(|own| own.set(self.0));
        }
    }
    let _back = Back(CALL.with(|own| own.replace(call)));
    work()
}
