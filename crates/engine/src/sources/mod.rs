//! Sources of rows: static data, and live tables that are fed from outside the graph.

pub mod append;
pub mod blink;
pub mod conform;
mod expected;
pub mod feed;
pub mod fixed;
pub mod input;
pub mod keyed;
mod layered;
pub mod ticker;
mod transaction;

#[cfg(test)]
mod tests;

pub use append::AppendTable;
pub use blink::BlinkTable;
pub use feed::{Token, waiting_bytes};
pub use fixed::{empty, from_chunks, selected};
pub use input::{Apply, InputTable};
pub use keyed::KeyedTable;
pub use ticker::TimeTable;
pub use transaction::Transaction;
