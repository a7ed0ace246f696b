//! Types of cells: the canonical one of each family, what converts into what, what can be stored.

pub(crate) mod fits;
pub mod kind;
pub(crate) mod widen;
