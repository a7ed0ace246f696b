//! Batches on disk: an append-only log of numbered records in a folder of one owner.
//!
//! ```
//! # fn main() -> Result<(), log::Error> {
//! # let folder = std::env::temp_dir().join(format!("tickframe-log-{}", std::process::id()));
//! let mut log = log::Log::open(&folder)?;
//! log.append(0, log::Kind::Change, "offsets of batch 0", b"rows of batch 0")?;
//! drop(log);
//! let log = log::Log::open(&folder)?;
//! assert_eq!(log.last(), Some(0));
//! for record in log.read() {
//!     assert_eq!(record?.body, b"rows of batch 0");
//! }
//! # drop(log);
//! # let _ = std::fs::remove_dir_all(&folder);
//! # Ok(())
//! # }
//! ```
//!
//! The guarantees and the file layout are in the README beside this crate.
#![forbid(unsafe_code)]

mod base;
mod disk;
mod error;
mod folder;
mod journal;
mod read;
mod record;
mod segment;
pub mod sizes;
mod survey;
#[cfg(feature = "testing")]
pub mod testing;
mod torn;

pub use base::{Base, Finished, Part, Parts};
pub use disk::{Disk, Guard, Readable, Written, real};
pub use error::Error;
pub use journal::Log;
pub use read::{Records, read_all};
pub use record::{Body, Entry, Kind, Record, encode};
