//! Key spaces as types: keys of the step before, and ordinals, are not keys of now.

use std::ops::{BitAnd, BitOr, BitXor, Sub};

use crate::rowset::RowSet;

/// Row keys as they stood before this step's shifts. A bare [`RowSet`] holds keys of now, and the two
/// do not mix:
///
/// ```compile_fail,E0308
/// use rowset::{Before, RowSet};
/// let mixed = &Before(RowSet::key(1)) | &RowSet::key(2);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Before(pub RowSet);

/// Ordinals, counted from 0 as in a viewport; never keys:
///
/// ```compile_fail,E0308
/// use rowset::RowSet;
/// let mixed = RowSet::flat(9).at(&RowSet::key(2));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Positions(pub RowSet);

macro_rules! operators_within {
    ($space:ident: $($operator:ident $method:ident),*) => {$(
        impl $operator<&$space> for &$space {
            type Output = $space;
            fn $method(self, other: &$space) -> $space {
                $space($operator::$method(&self.0, &other.0))
            }
        }
        impl $operator<$space> for $space {
            type Output = $space;
            fn $method(self, other: $space) -> $space {
                $space($operator::$method(self.0, other.0))
            }
        }
        impl $operator<&$space> for $space {
            type Output = $space;
            fn $method(self, other: &$space) -> $space {
                $space($operator::$method(self.0, &other.0))
            }
        }
    )*};
}

operators_within!(Before: BitAnd bitand, BitOr bitor, Sub sub, BitXor bitxor);
operators_within!(Positions: BitAnd bitand, BitOr bitor, Sub sub, BitXor bitxor);

macro_rules! reading_within {
    ($space:ident, $what:literal) => {
        impl $space {
            #[doc = concat!("No ", $what, ".")]
            pub fn new() -> $space {
                $space(RowSet::new())
            }

            #[doc = concat!("How many ", $what, ".")]
            pub fn len(&self) -> u64 {
                self.0.len()
            }

            #[doc = concat!("Whether there are no ", $what, ".")]
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }
    };
}

reading_within!(Before, "keys of before");
reading_within!(Positions, "positions");
