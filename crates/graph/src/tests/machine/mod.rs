//! On the machine's own threads.

mod support;

#[cfg(debug_assertions)]
mod breaks;
mod failures;
mod joins;
mod lifetimes;
mod locks;
mod looking;
mod order;
mod running;
mod schedules;
mod snapshots;
mod timers;
