//! Files as tables: CSV, JSON, Parquet and Arrow IPC.
//!
//! A reader gives record batches of one schema, and what it could not take as [`Rejected`] records; nothing is left out in
//! silence. A writer gives a whole file or none. Columns of Parquet may stay in their files ([`parquet::scan`]).
#![forbid(unsafe_code)]

mod cells;
pub mod csv;
mod error;
mod fields;
mod found;
mod infer;
mod input;
pub mod ipc;
pub mod json;
mod many;
mod marks;
pub mod parquet;
mod pieces;
mod policy;
mod shown;
mod sizes;
mod threads;
mod whole;

pub use error::Error;
pub use found::{Found, find};
pub use input::{Input, Progress};
pub use many::{Asked, Partitions, Source, placed, read_all};
pub use policy::{OnError, Reading, Rejected};
pub use whole::{Whole, partition_folders};
