//! Joins. A join shares its left table's rows and columns and reads the right ones through an
//! index: for each left row the key of its right row.

pub mod asof;
pub mod natural;
pub mod on;
mod passing;
mod timeline;

pub use asof::{AsofJoin, AsofOptions, Strategy};
pub use natural::{Matches, NaturalJoin};
pub use passing::natural_join;
