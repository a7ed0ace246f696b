//! The Python door: `tickframe._native`.
//!
//! Small and dumb on purpose: it converts, lets go of the GIL, calls the engine and converts back.
//! Everything friendly (defaults, lists or single names, docstrings) is in `python/tickframe`.

mod arrow;
mod cells;
mod data;
mod dtype;
mod error;
mod numpy;
mod rowset;
mod values;
