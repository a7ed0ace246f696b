//! Time and order: clock, nodes, locks, snapshots.
