//! The arithmetic of row keys: sets, positions, shifts.
