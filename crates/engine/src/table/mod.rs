//! A table through time: its handle, its rows and stored cells, views of one moment, what a step changed, and its way
//! out as Arrow data.

pub mod categories;
pub mod change;
pub mod export;
pub mod handle;
pub mod parts;
pub mod request;
pub mod rows;
pub mod settle;
pub mod snapshot;
pub mod store;
pub mod update;
pub mod view;
