//! Sources of rows: static data, and live tables that are fed from outside the graph.

pub(crate) mod append;
pub(crate) mod blink;
pub(crate) mod conform;
mod expected;
pub(crate) mod fed;
pub(crate) mod feed;
pub(crate) mod fixed;
pub(crate) mod generated;
pub(crate) mod input;
pub(crate) mod journal;
pub(crate) mod keyed;
mod layered;
pub(crate) mod publisher;
pub(crate) mod release;
pub(crate) mod room;
pub(crate) mod ticker;
mod transaction;

#[cfg(test)]
mod tests;

pub use append::AppendTable;
pub use blink::{BlinkTable, WeakBlinkTable};
pub use conform::{check_names, in_schema};
pub use fed::Feeding;
pub use feed::{Token, waiting_bytes};
pub use fixed::{empty, from_chunks, of_columns, selected};
pub use generated::{Generated, Generator};
pub use input::{Apply, InputTable, WeakInputTable};
pub use journal::{FedKind, FedTable, Follower, Initial, Journal, Stored, fed_tables};
pub use keyed::KeyedTable;
pub use publisher::Publisher;
pub use release::{Release, Replay};
pub use room::{QueueCounts, QueueLimit, WhenFull};
pub use ticker::TimeTable;
pub use transaction::Transaction;
