//! Limits: the memory budget, and the sizes at which code takes another path.
#![forbid(unsafe_code)]

pub mod bounds;
mod budget;
mod size;

pub use budget::{COUNTED, Exhausted, Whose, ask, ask_rows, gave, held, limit, set_limit, took};
pub use size::{Scope, Size};
