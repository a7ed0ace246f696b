//! Joins. A join shares its left table's rows and columns and reads the right ones through an
//! index: for each left row the key of its right row. `where_in` keeps the rows that meet one, or none.

pub mod asof;
pub mod natural;
pub mod on;
pub mod where_in;

pub use asof::{AsofJoin, AsofOptions, Strategy, Tolerance};
pub use natural::{Matches, NaturalJoin};
pub use where_in::{Member, WhereIn};
