//! Mutexes whose holder may have panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock, also after a panic of its holder: what it guards is whole after each statement, and a node that
/// panicked has failed and never runs again.
///
/// ```
/// let count = std::sync::Mutex::new(1);
/// let crash = || {
///     let _held = graph::lock(&count);
///     panic!("while it is held");
/// };
/// assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(crash)).is_err());
/// assert_eq!(*graph::lock(&count), 1);
/// ```
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
