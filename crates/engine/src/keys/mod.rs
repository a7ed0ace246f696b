//! Keys of groups and joins: which of them a change touches, the rows of each, and the search in what is nearly even.

pub(crate) mod rows;
pub(crate) mod search;
pub(crate) mod touched;
