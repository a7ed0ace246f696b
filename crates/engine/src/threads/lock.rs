//! A mutex whose holder may have panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock. A panic is caught before it can leave behind it a half-made state that matters: the node that panicked
/// has failed and never runs again.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
