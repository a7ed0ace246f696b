//! Tests of the graph as a whole. Those of the model checkers stand alone: under a checker nothing else can run.
#![allow(clippy::unwrap_used, reason = "a poisoned lock in a test is a failed test")]

#[cfg(feature = "loom")]
mod loomed;
#[cfg(feature = "shuttle")]
mod shuttled;

#[cfg(not(any(feature = "loom", feature = "shuttle")))]
mod machine;
