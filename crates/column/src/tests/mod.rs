//! Columns as a whole: against a plain model, for what they promise to share and to give back, and where writes fail.

#[cfg(debug_assertions)]
mod failures;
pub(crate) mod model;
mod storage;
