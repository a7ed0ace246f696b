//! Tables, updates, operations, sources, listeners.
