//! Keys of groups and joins: which of them a change touches, the rows of each, an order of rows or pairs of rows, and the
//! search in what is nearly even.

pub(crate) mod order;
pub(crate) mod ordered;
pub(crate) mod rows;
pub(crate) mod search;
pub(crate) mod touched;
