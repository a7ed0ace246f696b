//! Spinning before sleeping, where the awaited event has lately come at once.
//!
//! Waking a thread costs more than a short cycle, most of all where its core has gone to sleep with it. A thread that is about to
//! block spins first, for at most [`LONGEST_SPIN`], and yields its core between checks. The limit adapts: each spin in vain halves
//! the next, until there is none; a sleep that turns out to have been shorter than a spin restores the limit. An idle graph, a
//! graph with pauses between its rows and a machine with one core never spin.
//!
//! Correctness does not depend on spinning. After a spin in vain a thread takes the lock and sleeps as if it had not
//! spun, so no wake-up is lost. Under the model checkers no thread spins.

use crate::env;
use crate::sync::CHECKED;
// Not those of `sync`: a model checker need not know of a hint.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The longest spin. Two threads that answer each other over one short cycle meet within it; it is a fiftieth of a time
/// slice.
const LONGEST_SPIN: Duration = Duration::from_micros(50);
/// The shortest spin; a shorter limit means no spin.
const SHORTEST_SPIN: Duration = Duration::from_micros(4);
/// Checks between two yields of the core: about half a microsecond.
const LOOKS: usize = 16;

/// The adaptive spin limit of one kind of wait, in nanoseconds.
#[derive(Debug, Default)]
pub struct SpinWait(AtomicU32);

impl SpinWait {
    /// No spinning, until a sleep has been short.
    pub const fn new() -> SpinWait {
        SpinWait(AtomicU32::new(0))
    }

    /// Spins until `ready` returns true, within the current limit. False means nothing: check again under the lock.
    pub fn spin(&self, ready: impl Fn() -> bool) -> bool {
        let nanos = self.0.load(Ordering::Relaxed);
        if CHECKED || nanos == 0 {
            return false;
        }
        let (begun, longest) = (env::now(), Duration::from_nanos(u64::from(nanos)));
        let found = loop {
            if (0..LOOKS).any(|_| ready() || relax()) {
                break true;
            }
            if begun.elapsed() >= longest {
                break false;
            }
            env::yield_now();
        };
        // An event that came while another thread had the core for long would have reached a sleeping thread as soon.
        self.note(found && begun.elapsed() <= LONGEST_SPIN, nanos);
        found
    }

    /// Notes that the thread slept, and that the wake-up came this long after.
    pub fn woke_after(&self, before_the_call: Duration) {
        if before_the_call <= LONGEST_SPIN && several_cores() {
            self.note(true, 0);
        }
    }

    fn note(&self, paid: bool, nanos: u32) {
        let next = match paid {
            true => LONGEST_SPIN.as_nanos() as u32,
            false if nanos / 2 < SHORTEST_SPIN.as_nanos() as u32 => 0,
            false => nanos / 2,
        };
        if next != nanos {
            self.0.store(next, Ordering::Relaxed);
        }
    }
}

/// A spin-loop hint to the core. Returns false, so that it can stand in a condition.
fn relax() -> bool {
    std::hint::spin_loop();
    false
}

/// Whether there are several cores. With one core, a spinning thread delays the very event it waits for.
fn several_cores() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| env::cores() > 1)
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn looked(spin: &SpinWait) -> bool {
        let looks = Cell::new(0);
        assert!(!spin.spin(|| {
            looks.set(looks.get() + 1);
            false
        }));
        looks.get() > 0
    }

    #[test]
    fn who_never_slept_for_a_moment_does_not_look() {
        let spin = SpinWait::new();
        assert!(!looked(&spin));
        spin.woke_after(LONGEST_SPIN * 2);
        assert!(!looked(&spin), "such a sleep is longer than any look");
    }

    #[test]
    fn looks_in_vain_become_shorter_until_there_is_none() {
        let spin = SpinWait(AtomicU32::new(LONGEST_SPIN.as_nanos() as u32));
        let looks = std::iter::repeat_with(|| looked(&spin)).take_while(|looked| *looked).count();
        assert_eq!(looks, 4, "50, 25, 12 and 6 µs");
    }

    #[test]
    fn a_short_sleep_and_a_look_that_pays_bring_the_longest_look() {
        let spin = SpinWait::new();
        spin.woke_after(SHORTEST_SPIN);
        let longest = if several_cores() { LONGEST_SPIN.as_nanos() as u32 } else { 0 };
        assert_eq!(spin.0.load(Ordering::Relaxed), longest);
        let spin = SpinWait(AtomicU32::new(SHORTEST_SPIN.as_nanos() as u32));
        assert!(spin.spin(|| true));
        assert_eq!(spin.0.load(Ordering::Relaxed), LONGEST_SPIN.as_nanos() as u32);
    }
}
