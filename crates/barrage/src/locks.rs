//! Locks, so that those of a model checker can stand in for the machine's.

use std::fmt::Debug;
use std::ops::DerefMut;
use std::sync::{Mutex, PoisonError};

/// A family of locks.
pub trait Locks: Debug + 'static {
    /// A lock around a value.
    type Lock<T: Debug + Send + 'static>: Lock<T>;
}

/// A lock around a value.
pub trait Lock<T>: Debug + Send + Sync {
    /// A free lock.
    fn new(value: T) -> Self;

    /// Waits for the lock and takes it.
    fn lock(&self) -> impl DerefMut<Target = T>;
}

/// The machine's locks. A panic of another thread does not take them away: what they guard is whole after each statement.
#[derive(Debug)]
pub struct Machine;

impl Locks for Machine {
    type Lock<T: Debug + Send + 'static> = Mutex<T>;
}

impl<T: Debug + Send> Lock<T> for Mutex<T> {
    fn new(value: T) -> Mutex<T> {
        Mutex::new(value)
    }

    fn lock(&self) -> impl DerefMut<Target = T> {
        Mutex::lock(self).unwrap_or_else(PoisonError::into_inner)
    }
}
