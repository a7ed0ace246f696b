//! Two ascending lists at a time.

use crate::kernels::Op;
use crate::sizes::LOPSIDED;

/// `left op right` of two lists without duplicates, to the front of `out`, whose rest means nothing
/// then; how many there are.
pub(crate) fn merge<T: Copy + Ord + Default>(op: Op, left: &[T], right: &[T], out: &mut Vec<T>) -> usize {
    if left.len() / LOPSIDED.get() > right.len() || right.len() / LOPSIDED.get() > left.len() {
        merge_few(op, left, right, out);
        return out.len();
    }
    // Both halves have room for all, and for one more: what is not kept is written all the same.
    let room = left.len() + right.len() + 2;
    if out.len() < room {
        out.resize(room, T::default());
    }
    match op {
        Op::Union => by_halves(left, right, out, |_, _| true, true, true),
        Op::Intersection => by_halves(left, right, out, |l, r| l & r, false, false),
        Op::Difference => by_halves(left, right, out, |_, r| !r, true, false),
        Op::SymmetricDifference => by_halves(left, right, out, |l, r| l ^ r, true, true),
    }
}

/// Two lists on their way into a third.
struct Merge<'a, T> {
    left: &'a [T],
    right: &'a [T],
    out: &'a mut [T],
    at: usize,
    other: usize,
    len: usize,
}

impl<T: Copy + Ord> Merge<'_, T> {
    #[inline(always)]
    fn goes_on(&self) -> bool {
        self.at < self.left.len() && self.other < self.right.len()
    }

    /// One key, without a branch that could be guessed wrong.
    #[inline(always)]
    fn step(&mut self, keep: &impl Fn(bool, bool) -> bool) {
        let (l, r) = (self.left[self.at], self.right[self.other]);
        let (from_left, from_right) = (l <= r, r <= l);
        self.out[self.len] = if from_left { l } else { r };
        self.len += usize::from(keep(from_left, from_right));
        self.at += usize::from(from_left);
        self.other += usize::from(from_right);
    }

    #[inline(always)]
    fn finish(mut self, keep: &impl Fn(bool, bool) -> bool, keeps_left: bool, keeps_right: bool) -> usize {
        while self.goes_on() {
            self.step(keep);
        }
        for (rest, keeps) in [(&self.left[self.at..], keeps_left), (&self.right[self.other..], keeps_right)] {
            if keeps {
                self.out[self.len..self.len + rest.len()].copy_from_slice(rest);
                self.len += rest.len();
            }
        }
        self.len
    }
}

/// The lower and the upper half turn by turn: neither waits for the other.
#[inline(always)]
fn by_halves<T: Copy + Ord>(
    left: &[T],
    right: &[T],
    out: &mut [T],
    keep: impl Fn(bool, bool) -> bool,
    keeps_left: bool,
    keeps_right: bool,
) -> usize {
    let middle = left.len() / 2;
    let other_middle = left.get(middle).map_or(right.len(), |&key| right.partition_point(|&own| own < key));
    let start = middle + other_middle + 1;
    let ((low, high), (other_low, other_high)) = (left.split_at(middle), right.split_at(other_middle));
    let (out_low, out_high) = out.split_at_mut(start);
    let mut lower = Merge { left: low, right: other_low, out: out_low, at: 0, other: 0, len: 0 };
    let mut upper = Merge { left: high, right: other_high, out: out_high, at: 0, other: 0, len: 0 };
    while lower.goes_on() && upper.goes_on() {
        lower.step(&keep);
        upper.step(&keep);
    }
    let len = lower.finish(&keep, keeps_left, keeps_right);
    let more = upper.finish(&keep, keeps_left, keeps_right);
    out.copy_within(start..start + more, len);
    len + more
}

/// Few against many: what lies between two of the few is copied in one piece.
fn merge_few<T: Copy + Ord>(op: Op, left: &[T], right: &[T], out: &mut Vec<T>) {
    let left_is_few = left.len() < right.len();
    let (few, many) = if left_is_few { (left, right) } else { (right, left) };
    let (keeps_few, keeps_many) =
        if left_is_few { (op.keeps_left(), op.keeps_right()) } else { (op.keeps_right(), op.keeps_left()) };
    out.clear();
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
}

/// Index of the first of an ascending list, from `from` on, that is not below `key`: in steps that double.
#[inline]
pub(crate) fn gallop<T: Copy + PartialOrd>(list: &[T], from: usize, key: T) -> usize {
    let rest = &list[from..];
    let mut bound = 8;
    while bound < rest.len() && rest[bound] < key {
        bound *= 2;
    }
    let low = if bound == 8 { 0 } else { bound / 2 };
    from + low + rest[low..bound.min(rest.len())].partition_point(|&own| own < key)
}

/// Index of the first of an ascending list that is not below `key`: looked for first where it would
/// be if they lay evenly, which touches little memory, and from there in steps that double.
pub(crate) fn guess(list: &[u32], key: u32) -> usize {
    let Some(&last) = list.last() else { return 0 };
    if key > last {
        return list.len();
    }
    let at = (list.len() as u64 * key as u64 / (last as u64 + 1)) as usize;
    if list[at] < key {
        return gallop(list, at + 1, key);
    }
    let mut bound = 8;
    while bound <= at && list[at - bound] >= key {
        bound *= 2;
    }
    let low = (at + 1).saturating_sub(bound);
    low + list[low..at].partition_point(|&own| own < key)
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
                let mut out = Vec::new();
                for (op, plain) in [
                    (Op::Union, left.union(&right).copied().collect::<Vec<u16>>()),
                    (Op::Intersection, left.intersection(&right).copied().collect()),
                    (Op::Difference, left.difference(&right).copied().collect()),
                    (Op::SymmetricDifference, left.symmetric_difference(&right).copied().collect()),
                ] {
                    let len = merge(op, &l, &r, &mut out);
                    assert_eq!(out[..len], plain);
                }
            }
        }
    }

    #[test]
    fn guesses_and_leaps_find_what_a_search_finds() {
        let lists: [Vec<u32>; 6] = [
            (0..1000).map(|at| at * 7).collect(),
            (0..1000).map(|at| at * at).collect(),
            (0..1000).map(|at| if at < 990 { at } else { u32::MAX - 1000 + at }).collect(),
            (0..1000).map(|at| u32::MAX - 999 + at).collect(),
            vec![5],
            vec![0, u32::MAX],
        ];
        for list in &lists {
            let near = list.iter().flat_map(|&key| [key.saturating_sub(1), key, key.saturating_add(1)]);
            for key in near.chain([0, 1 << 31, u32::MAX]) {
                let found = list.partition_point(|&own| own < key);
                assert_eq!(guess(list, key), found);
                for from in [0, found / 2, found] {
                    assert_eq!(gallop(list, from, key), found);
                }
            }
        }
    }
}
