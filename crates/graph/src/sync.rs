//! Locks, atomics and threads, in one place, so that a model checker's twins can stand in for them.
//!
//! The features `loom` and `shuttle` put those crates' own in: then nothing runs but inside one of their models.
//!
//! A panic in somebody's code never poisons a lock: what a lock guards is consistent at every point where foreign
//! code runs. In builds with debug assertions each ranked lock asserts that locks are taken in one order.

#[cfg(feature = "loom")]
use loom::sync as primitives;
#[cfg(feature = "shuttle")]
use shuttle::sync as primitives;
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
use std::sync as primitives;

#[cfg(feature = "loom")]
pub use loom::thread;
#[cfg(feature = "shuttle")]
pub use shuttle::thread;
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
pub use std::thread;

pub use primitives::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
pub use std::sync::{Arc, OnceLock, Weak};

/// Whether a model checker chooses the order of events; then time stands still.
pub(crate) const CHECKED: bool = cfg!(any(feature = "loom", feature = "shuttle"));

/// `std::thread_local!` with an initial value that is known to the compiler, or a checker's twin of it.
macro_rules! local {
    ($(#[$about:meta])* static $name:ident: $kind:ty = $first:expr;) => {
        #[cfg(feature = "loom")]
        loom::thread_local! { $(#[$about])* static $name: $kind = $first; }
        #[cfg(feature = "shuttle")]
        shuttle::thread_local! { $(#[$about])* static $name: $kind = $first; }
        #[cfg(not(any(feature = "loom", feature = "shuttle")))]
        std::thread_local! { $(#[$about])* static $name: $kind = const { $first }; }
    };
}
pub(crate) use local;

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::time::Duration;

/// The order in which one thread may take locks: only a higher rank while it holds lower ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    /// Not checked: locks around a value, never held while another lock is taken.
    Value = 0,
    /// Whether a cycle thread runs.
    Thread = 1,
    /// Who holds the graph: a cycle, or readers.
    Gate = 2,
    /// Writers that queue against the cycle that takes what is queued.
    Intake = 3,
    /// Nodes and edges.
    Topology = 4,
    /// The set of active sources and timers.
    Pending = 5,
    /// Nodes that are ready to run in the step.
    Ready = 6,
    /// Everything that is held for a few instructions only.
    Leaf = 7,
}

/// A mutex without poison.
#[derive(Debug)]
pub struct Mutex<T: ?Sized> {
    rank: Rank,
    inner: primitives::Mutex<T>,
}

/// Access to what a [`Mutex`] guards, until dropped.
pub struct Guard<'a, T: ?Sized> {
    inner: primitives::MutexGuard<'a, T>,
    _held: Held,
}

impl<T> Mutex<T> {
    /// A mutex that is held for a moment only and takes no other lock meanwhile.
    pub fn new(value: T) -> Mutex<T> {
        Mutex::ranked(Rank::Value, value)
    }

    /// A mutex with a place in the order of locks.
    pub fn ranked(rank: Rank, value: T) -> Mutex<T> {
        Mutex { rank, inner: primitives::Mutex::new(value) }
    }

    /// The value, when nobody else can want it any more.
    pub fn into_inner(self) -> T {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock and takes it.
    pub fn lock(&self) -> Guard<'_, T> {
        let held = Held::take(self.rank);
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        Guard { inner, _held: held }
    }
}

impl<T: ?Sized> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// A condition variable for [`Mutex`], whose waking costs nothing where nobody sleeps.
///
/// Whoever wakes must have held the lock since it changed what sleepers look at: they are counted under that lock.
#[derive(Debug)]
pub struct Condvar {
    inner: primitives::Condvar,
    /// Not an atomic of the checkers: the lock orders it.
    sleepers: std::sync::atomic::AtomicUsize,
}

impl Condvar {
    /// A condition variable nobody waits for.
    pub fn new() -> Condvar {
        Condvar { inner: primitives::Condvar::new(), sleepers: Default::default() }
    }

    /// Lets go of the lock, waits for a notification, takes the lock again.
    pub fn wait<'a, T>(&self, guard: Guard<'a, T>) -> Guard<'a, T> {
        let Guard { inner, _held } = guard;
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let inner = self.inner.wait(inner).unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        Guard { inner, _held }
    }

    /// As [`Condvar::wait`], for at most this long.
    pub fn wait_timeout<'a, T>(&self, guard: Guard<'a, T>, timeout: Duration) -> Guard<'a, T> {
        let Guard { inner, _held } = guard;
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let (inner, _) = self.inner.wait_timeout(inner, timeout).unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        Guard { inner, _held }
    }

    /// Whether somebody sleeps; certain only under the lock.
    pub fn is_awaited(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) > 0
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        if self.is_awaited() {
            self.inner.notify_one();
        }
    }

    /// Wakes every waiter.
    pub fn notify_all(&self) {
        if self.is_awaited() {
            self.inner.notify_all();
        }
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

/// A rank this thread holds, until dropped.
#[cfg(debug_assertions)]
struct Held(Rank);

#[cfg(debug_assertions)]
local! {
    static HELD: std::cell::Cell<u32> = std::cell::Cell::new(0);
}

#[cfg(debug_assertions)]
impl Held {
    fn take(rank: Rank) -> Held {
        if rank != Rank::Value {
            let _ = HELD.try_with(|held| {
                let mask = held.get();
                assert!(mask >> (rank as u32) == 0, "lock order: {rank:?} taken while ranks {mask:#b} are held");
                held.set(mask | 1 << (rank as u32));
            });
        }
        Held(rank)
    }
}

#[cfg(debug_assertions)]
impl Drop for Held {
    fn drop(&mut self) {
        if self.0 != Rank::Value {
            let _ = HELD.try_with(|held| held.set(held.get() & !(1 << (self.0 as u32))));
        }
    }
}

#[cfg(not(debug_assertions))]
struct Held;

#[cfg(not(debug_assertions))]
impl Held {
    #[inline(always)]
    fn take(_rank: Rank) -> Held {
        Held
    }
}
