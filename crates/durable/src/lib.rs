//! Tables that outlive their process.
//!
//! A durable source tells its journal what it stored in each step ([`engine::sources::Journal`]). After the step one record
//! of the log holds what all durable sources of the graph stored in it, so a step is on disk whole or not at all. A thread
//! writes the records of all steps that wait by one write and one sync.
//!
//! A checkpoint notes what changed since the last one in the tables that have no journal, in one record; or it writes all
//! tables anew, beside the log, and the log before it goes. Cycles go on meanwhile.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use std::sync::Arc;
//! # use arrow_array::{Int64Array, RecordBatch};
//! # use arrow_schema::{DataType, Field, Schema};
//! # use engine::sources::{AppendTable, FedKind};
//! # use graph::{Settings, UpdateGraph};
//! # let folder = std::env::temp_dir().join(format!("tickframe-durable-{}", std::process::id()));
//! let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true)]));
//! for run in 0..2 {
//!     let graph = UpdateGraph::new(Settings::default());
//!     let durable = durable::Durable::open(&folder, &graph)?;
//!     let feeding = durable.claim("append_table", "numbers", &FedKind::Append, &schema)?;
//!     let numbers = AppendTable::fed(&graph, schema.clone(), feeding)?;
//!     let rows = RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from(vec![7]))])?;
//!     let token = numbers.append(&rows)?;
//!     graph.step()?;
//!     token.wait(None, &mut || true)?; // visible, and on disk
//!     assert_eq!(numbers.table().rows()?.len(), run + 1);
//!     durable.close()?;
//! }
//! # let _ = std::fs::remove_dir_all(&folder);
//! # Ok(())
//! # }
//! ```
//!
//! The layout of a folder is in the README beside this crate.
#![forbid(unsafe_code)]

mod catalog;
mod cells;
mod change;
mod checkpoint;
mod durable;
mod error;
mod fold;
mod journal;
pub mod sizes;
mod taken_up;
mod tracker;
mod writer;

pub use catalog::{Kept, SavedTable};
pub use checkpoint::{Asked, Report, checkpoint_to};
pub use durable::{Durable, close_all};
pub use error::Error;
pub use fold::{Contents, Saved, restore, restore_on};
pub use taken_up::{Past, feeding, fixed, made, restore_into};
