//! A table through time: its handle, its rows and stored cells, views of one moment, what a step changed, and its way
//! out as Arrow data.

pub(crate) mod beside;
pub mod categories;
pub(crate) mod change;
pub mod export;
pub(crate) mod handle;
pub(crate) mod parts;
pub(crate) mod request;
pub(crate) mod rows;
pub(crate) mod settle;
pub(crate) mod snapshot;
pub(crate) mod store;
pub(crate) mod update;
pub(crate) mod view;
