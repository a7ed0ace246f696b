//! The laws of row sets and shifts.
