//! How much of anything: the sizes at which code takes another path.
#![forbid(unsafe_code)]

pub mod bounds;
mod size;

pub use size::{Scope, Size};
