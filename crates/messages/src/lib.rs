//! Messages of Arrow IPC as strangers wrote them: checked, then decoded.
//!
//! A decoder of Arrow makes room for what a message says that it holds. Where that is more than the machine has, the process
//! ends; so nothing that a message declares is believed before it is checked against the bytes that came.

mod check;
mod error;
mod reader;
mod stream;
#[cfg(test)]
mod tests;

pub use check::header;
pub use error::Fault;
pub use reader::Reader;
pub use stream::{Pieces, batches, next};
