//! The Python door: `tickframe._native`.
