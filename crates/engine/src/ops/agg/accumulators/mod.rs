//! Accumulators: what is known of some values, as arithmetic alone. A value enters, and two accumulators become one; most
//! give values back as well. Groups, cells and threads are no part of this: a group's state is one accumulator
//! ([`super::state::PerGroup`]), a window that moves over rows is one too ([`slide`]).
//!
//!   add      1 2 3 | 4  →  1 2 3 4        merge      1 2 | 3 4  →  1 2 3 4
//!   remove   1 2 3 | 2  →  1 3            unmerge    1 2 3 4 | 3 4  →  1 2
//!
//! What is left after a removal is what the values present give by themselves: to the bit, whatever was there before.

mod exact;
mod factors;
mod halves;
#[cfg(test)]
mod laws;
mod moments;
mod multiset;
mod pairs;
mod quick;
mod sketches;
mod slide;
mod sums;
mod units;

pub(crate) use self::exact::{ExactSum, HUGE, UP};
pub(crate) use self::factors::{Factors, Product};
pub(crate) use self::halves::{Halves, around};
pub(crate) use self::moments::{Comoments, Moments, QuickMoments, Spread, squared};
pub(crate) use self::multiset::{End, Extremum, Multiset, float_word, from_float_word, from_order_key, order_key};
pub(crate) use self::pairs::{Correlation, Weighted};
pub(crate) use self::quick::{Quick, TwoDoubles, slide_quickly};
pub(crate) use self::sketches::{Buckets, DistinctSketch};
pub(crate) use self::slide::{slide, slide_extremes, slide_on_stacks, slide_sorted};
pub(crate) use self::sums::{Count, Counted, LongSum, WideSum, WrappingSum};
pub(crate) use self::units::{InUnits, UnitMoments};

/// What is known of some values.
pub(crate) trait Accumulator: Clone + Send + Sync + 'static {
    /// One value.
    type In: Clone;
    /// How the result is made of what is known.
    type How;
    /// The result.
    type Out;
    /// Bytes of a piece of its memory that is too small for the allocator to count; 0 if it has none.
    const PIECE: usize = 0;

    /// A value enters.
    fn add(&mut self, value: Self::In);

    /// The values of another one enter.
    fn merge(&mut self, other: &Self);

    /// As [`Accumulator::merge`], of one that nobody needs any more.
    fn absorb(&mut self, other: Self) {
        self.merge(&other);
    }

    /// The result of the values present.
    fn value(&self, how: &Self::How) -> Self::Out;

    /// How many such pieces it has.
    fn pieces(&self) -> usize {
        0
    }
}

/// What is known of some values, and can be known of fewer.
pub(crate) trait Removable: Accumulator {
    /// A value leaves that entered before.
    fn remove(&mut self, value: Self::In);

    /// The values of another one leave, that entered before.
    fn unmerge(&mut self, other: &Self);
}
