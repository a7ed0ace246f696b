//! The naive engine: row at a time over `Vec<Row>`, the oracle of every law; tests only.
//!
//! It shares no code with the rest on purpose: two fast paths can share a bug, and so can an
//! operation's start and its update. Its only virtues are that it is short and that its rules
//! can be read beside the documents.

mod compare;
mod expr;
mod group_order;
pub mod ops;
pub mod sources;
mod sum;
mod table;
mod value;

pub use compare::{Compare, differences};
pub use expr::{Arith, Comparison, ModelExpr};
pub use group_order::GroupOrder;
pub use table::{Fault, Row, Table};
pub use value::{Key, Value, order, same};
