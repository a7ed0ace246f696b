//! Column storage: blocks edited in place, the tree that indexes them, their memory, and the undo log of a step.

pub(crate) mod block;
pub(crate) mod blocks;
pub(crate) mod counters;
pub(crate) mod dead;
pub(crate) mod edit;
pub(crate) mod failpoints;
pub(crate) mod gathering;
pub(crate) mod reading;
pub(crate) mod runs;
pub(crate) mod segments;
pub(crate) mod slab;
pub(crate) mod texts;
pub(crate) mod tree;
pub(crate) mod undo;
pub(crate) mod view;
