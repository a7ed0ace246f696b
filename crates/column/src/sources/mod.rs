//! Columns that are not written: arrays as they came, the cells of another column under other keys.

mod flat;
mod redirect;

pub use flat::FlatColumn;
pub use redirect::RedirectColumn;
