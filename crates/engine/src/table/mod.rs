//! A table through time: its handle, its rows and stored cells, views of one moment, what a step changed, and its way
//! out as Arrow data.

pub mod categories;
pub mod export;
pub mod handle;
pub mod rows;
pub mod store;
pub mod update;
pub mod view;
