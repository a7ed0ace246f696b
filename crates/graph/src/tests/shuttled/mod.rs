//! The whole graph under a scheduler that chooses who goes on at every lock, atomic and wake-up.
//!
//! Half of the schedules are random, half have few but well-placed changes of thread (PCT, depth 3).
//! `TICKFRAME_SCHEDULES` says how many in all, `TICKFRAME_SEED` from which seed. What fails prints its schedule;
//! `TICKFRAME_SCHEDULE=<that> cargo test … <name of the test>` runs it again. A lost wake-up is a deadlock here, and
//! a deadlock is a failure.

mod cycles;
mod joins;
mod nodes;
mod support;
mod threads;
