//! Two ascending lists at a time.

use super::tree::gallop;
use crate::kernels::Op;

/// A list so many times longer than the other is leapt through.
const LOPSIDED: usize = 32;

/// `left op right` of two lists without duplicates.
pub(crate) fn merge<T: Copy + Ord + Default>(op: Op, left: &[T], right: &[T]) -> Vec<T> {
    let room = match op {
        Op::Intersection => left.len().min(right.len()),
        Op::Difference => left.len(),
        _ => left.len() + right.len(),
    };
    if left.len() / LOPSIDED > right.len() || right.len() / LOPSIDED > left.len() {
        return merge_few(op, left, right, room);
    }
    // One more than can come: what is not kept is written all the same.
    let mut out = vec![T::default(); room + 1];
    let (at, other, len) = match op {
        Op::Union => zip(left, right, &mut out, |_, _| true),
        Op::Intersection => zip(left, right, &mut out, |l, r| l & r),
        Op::Difference => zip(left, right, &mut out, |_, r| !r),
        Op::SymmetricDifference => zip(left, right, &mut out, |l, r| l ^ r),
    };
    out.truncate(len);
    if op.keeps_left() {
        out.extend_from_slice(&left[at..]);
    }
    if op.keeps_right() {
        out.extend_from_slice(&right[other..]);
    }
    out
}

/// Up to the end of the shorter one, without a branch that could be guessed wrong: how far it came
/// in both, and how many were kept.
#[inline(always)]
fn zip<T: Copy + Ord>(
    left: &[T],
    right: &[T],
    out: &mut [T],
    keep: impl Fn(bool, bool) -> bool,
) -> (usize, usize, usize) {
    let (mut at, mut other, mut len) = (0, 0, 0);
    while at < left.len() && other < right.len() {
        let (l, r) = (left[at], right[other]);
        let (from_left, from_right) = (l <= r, r <= l);
        out[len] = if from_left { l } else { r };
        len += usize::from(keep(from_left, from_right));
        at += usize::from(from_left);
        other += usize::from(from_right);
    }
    (at, other, len)
}

/// Few against many: what lies between two of the few is copied in one piece.
fn merge_few<T: Copy + Ord>(op: Op, left: &[T], right: &[T], room: usize) -> Vec<T> {
    let left_is_few = left.len() < right.len();
    let (few, many) = if left_is_few { (left, right) } else { (right, left) };
    let (keeps_few, keeps_many) =
        if left_is_few { (op.keeps_left(), op.keeps_right()) } else { (op.keeps_right(), op.keeps_left()) };
    let mut out = Vec::with_capacity(room);
    let mut from = 0;
    for &key in few {
        let at = gallop(many, from, key);
        if keeps_many {
            out.extend_from_slice(&many[from..at]);
        }
        let in_both = many.get(at) == Some(&key);
        if if in_both { op.keeps(true, true) } else { keeps_few } {
            out.push(key);
        }
        from = at + usize::from(in_both);
    }
    if keeps_many {
        out.extend_from_slice(&many[from..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lists_merge_as_sets_do() {
        let mut state = 88u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) % below
        };
        for (left_len, right_len) in
            [(0, 0), (0, 5), (5, 0), (1, 1), (3, 200), (200, 3), (1, 40), (100, 120), (500, 500)]
        {
            for spread in [2, 10, 300] {
                let mut list = |len: u64| (0..len).map(|_| random(len * spread) as u16).collect::<BTreeSet<u16>>();
                let (left, right) = (list(left_len), list(right_len));
                let (l, r): (Vec<u16>, Vec<u16>) = (left.iter().copied().collect(), right.iter().copied().collect());
                assert_eq!(merge(Op::Union, &l, &r), left.union(&right).copied().collect::<Vec<_>>());
                assert_eq!(merge(Op::Intersection, &l, &r), left.intersection(&right).copied().collect::<Vec<_>>());
                assert_eq!(merge(Op::Difference, &l, &r), left.difference(&right).copied().collect::<Vec<_>>());
                assert_eq!(
                    merge(Op::SymmetricDifference, &l, &r),
                    left.symmetric_difference(&right).copied().collect::<Vec<_>>()
                );
            }
        }
    }
}
