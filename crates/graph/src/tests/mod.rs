//! Tests of the graph as a whole.
#![allow(clippy::unwrap_used, reason = "a poisoned lock in a test is a failed test")]

mod support;

mod failures;
mod joins;
mod lifetimes;
mod locks;
mod order;
mod running;
mod schedules;
mod snapshots;
mod timers;
