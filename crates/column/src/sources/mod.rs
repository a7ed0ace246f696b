//! Columns that are not written: arrays as they came, the cells of another column under other keys.

pub(crate) mod constant;
pub(crate) mod flat;
pub(crate) mod redirect;
