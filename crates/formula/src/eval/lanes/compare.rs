//! Comparisons of blocks, by the total order.

use super::arithmetic::Number;
use super::{In, Operand, Valid, test, test2};

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
    match (a, b) {
        (In::Many(_), In::One(one)) if !one.is_not_a_number() => return compare_with(comparison, a, one, out),
        (In::One(one), In::Many(_)) if !one.is_not_a_number() => {
            return compare_with(comparison.mirrored(), b, one, out);
        }
        _ => {}
    }
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

/// Values compared with one that is no NaN: the processor's comparisons are false where a NaN is, and NaN is the greatest.
#[allow(clippy::neg_cmp_op_on_partial_ord, reason = "what is not less is greater, NaN too")]
fn compare_with<T: Number>(comparison: Comparison, a: In<'_, T>, one: T, out: &mut [u64]) {
    match comparison {
        Comparison::Equal => test(a, out, |a| a == one),
        Comparison::NotEqual => test(a, out, |a| a != one),
        Comparison::Less => test(a, out, |a| a < one),
        Comparison::LessEqual => test(a, out, |a| a <= one),
        Comparison::Greater => test(a, out, |a| !(a <= one)),
        Comparison::GreaterEqual => test(a, out, |a| !(a < one)),
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
