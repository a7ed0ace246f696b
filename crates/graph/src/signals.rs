//! Polling signals while a thread waits for other threads. The embedding program delivers a signal to one thread only,
//! and that thread may be waiting for a user function that pool threads run on its behalf.  Work that is handed to
//! other threads carries the id of the call for which it is done.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::sync::local;

/// How often a waiting thread polls.
pub const POLL_EVERY: Duration = Duration::from_millis(50);

/// Polls the signals of the embedding program.
pub type SignalPoll = fn();

local! {
    /// How this thread polls while it waits, if it does.
    static POLL: Cell<Option<SignalPoll>> = Cell::new(None);
}

local! {
    /// The call for which this thread works; 0 is none.
    static CALL: Cell<u64> = Cell::new(0);
}

/// Runs `work` as a call with an id of its own; this thread calls `poll` while it waits for other threads.
pub fn polling<R>(poll: SignalPoll, work: impl FnOnce() -> R) -> R {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    /// Puts back what was there, also when `work` panics.
    struct Back(Option<SignalPoll>);
    impl Drop for Back {
        fn drop(&mut self) {
            POLL.with(|own| own.set(self.0));
        }
    }
    let _back = Back(POLL.with(|own| own.replace(Some(poll))));
    for_call(CALLS.fetch_add(1, Ordering::Relaxed), work)
}

/// How this thread polls while it waits, if it does.
pub fn poll() -> Option<SignalPoll> {
    POLL.with(Cell::get)
}

/// The call for which this thread works; 0 is none.
pub fn call() -> u64 {
    CALL.with(Cell::get)
}

/// Runs `work` on behalf of this call.
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
