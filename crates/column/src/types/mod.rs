//! Types of cells: the canonical one of each family, what converts into what, what can be stored, what can be a key.

mod fits;
pub(crate) mod kind;
mod order;
pub(crate) mod views;
mod widen;

pub use fits::fits;
pub use kind::{canonical, cast, check_canonical, segments, to_canonical, to_declared, width};
pub use order::{can_be_key, has_order};
pub use widen::widens;
