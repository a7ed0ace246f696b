//! Typed expressions over Arrow chunks.
