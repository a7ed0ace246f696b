//! Comparisons of blocks, by the total order.

use super::arithmetic::Number;
use super::{Operand, Valid, test2};

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Comparison {
    /// The comparison with its sides exchanged: `a < b` becomes `b > a`.
    pub(crate) fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterEqual => Comparison::LessEqual,
            same => same,
        }
    }
}

/// Values compared row by row; validity is the caller's.
pub(crate) fn compare<T: Number>(comparison: Comparison, a: &Operand<'_>, b: &Operand<'_>, out: &mut [u64]) {
    let (a, b) = (a.values::<T>(), b.values::<T>());
    // The order is total, so "not less" is "greater or equal" even for NaN.
    match comparison {
        Comparison::Equal => test2(a, b, out, |a, b| a.same(b)),
        Comparison::NotEqual => test2(a, b, out, |a, b| !a.same(b)),
        Comparison::Less => test2(a, b, out, |a, b| a.less(b)),
        Comparison::LessEqual => test2(a, b, out, |a, b| !b.less(a)),
        Comparison::Greater => test2(a, b, out, |a, b| b.less(a)),
        Comparison::GreaterEqual => test2(a, b, out, |a, b| !a.less(b)),
    }
}

/// UInt64 on the left, Int64 on the right: no type holds both, so they are compared as they are.
pub(crate) fn compare_mixed(comparison: Comparison, a: &Operand<'_>, b: &Operand<'_>, out: &mut [u64]) {
    let (a, b) = (a.values::<u64>(), b.values::<i64>());
    let same = |a: u64, b: i64| b >= 0 && a == b as u64;
    let less = |a: u64, b: i64| b >= 0 && a < b as u64;
    match comparison {
        Comparison::Equal => test2(a, b, out, same),
        Comparison::NotEqual => test2(a, b, out, |a, b| !same(a, b)),
        Comparison::Less => test2(a, b, out, less),
        Comparison::LessEqual => test2(a, b, out, |a, b| less(a, b) || same(a, b)),
        Comparison::Greater => test2(a, b, out, |a, b| !(less(a, b) || same(a, b))),
        Comparison::GreaterEqual => test2(a, b, out, |a, b| !less(a, b)),
    }
}

/// Turns equality of values into equality where null equals null.
pub(crate) fn missing(equal: &mut [u64], a: Valid<'_>, b: Valid<'_>, negate: bool) {
    for (index, word) in equal.iter_mut().enumerate() {
        let (a, b) = (a.word(index), b.word(index));
        let same = (*word & a & b) | (!a & !b);
        *word = if negate { !same } else { same };
    }
}

/// Comparison of booleans: false is less than true.
pub(crate) fn compare_bits(comparison: Comparison, a: &Operand<'_>, b: &Operand<'_>, out: &mut [u64]) {
    for (index, word) in out.iter_mut().enumerate() {
        let (a, b) = (a.word(index), b.word(index));
        *word = match comparison {
            Comparison::Equal => !(a ^ b),
            Comparison::NotEqual => a ^ b,
            Comparison::Less => !a & b,
            Comparison::LessEqual => !a | b,
            Comparison::Greater => a & !b,
            Comparison::GreaterEqual => a | !b,
        };
    }
}
