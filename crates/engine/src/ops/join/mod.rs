//! Joins, in two shapes. One shares its left table's rows and columns and reads the right ones through an index: for each
//! left row the key of its right row. Another has rows of its own, one for each pair of rows. `where_in` keeps the rows
//! that meet one, or none.

pub mod asof;
pub mod band;
mod beside;
pub mod equi;
mod matches;
pub mod natural;
pub mod now;
pub mod on;
pub(crate) mod pairs;
pub mod range;
mod side;
mod stamps;
mod still;
pub mod where_in;

pub use asof::AsofJoin;
pub use band::BandJoin;
pub use equi::EquiJoin;
pub use natural::NaturalJoin;
pub use now::NowJoin;
pub use range::RangeJoin;
pub(crate) use stamps::{is_stamp, ordered};
pub use where_in::WhereIn;
