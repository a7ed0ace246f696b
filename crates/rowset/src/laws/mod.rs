//! The laws of row sets and shifts, each by its name, against plain sets.

mod algebra;
mod edits;
mod exchange;
mod places;
mod sharing;
mod shifting;
mod worlds;
