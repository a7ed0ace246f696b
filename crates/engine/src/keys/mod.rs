//! Keys of groups and joins: which of them a change touches, the rows of each in an order, the rows that a change of them
//! concerns, an order of rows or pairs of rows, and the search in what is nearly even.

pub(crate) mod frame;
pub(crate) mod group_order;
pub(crate) mod grouped;
pub(crate) mod in_groups;
pub(crate) mod intervals;
pub(crate) mod order;
pub(crate) mod ordered;
pub(crate) mod rows;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod timeline;
pub(crate) mod touched;
