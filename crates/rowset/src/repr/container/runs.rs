//! Two ascending lists of runs at a time, and lists as runs.

use std::cell::RefCell;

use crate::kernels::{Op, merge_shorts};
use crate::repr::container::{Container, Run};

/// `left op right`, each with a gap between its runs, and so the result, to the front of `out`; how many runs.
pub(crate) fn merge(op: Op, left: &[Run], right: &[Run], out: &mut Vec<Run>) -> usize {
    let room = left.len() + right.len() + 1;
    if out.len() < room {
        out.resize(room, Run::new(0, 0));
    }
    match op {
        Op::Union => union(left, right, out),
        Op::Intersection => intersection(left, right, out),
        Op::Difference => difference(left, right, out),
        Op::SymmetricDifference => symmetric_difference(left, right, out),
    }
}

fn intersection(left: &[Run], right: &[Run], out: &mut [Run]) -> usize {
    let (mut at, mut other, mut len) = (0, 0, 0);
    while let (Some(l), Some(r)) = (left.get(at), right.get(other)) {
        if l.last < r.first {
            at += 1;
        } else if r.last < l.first {
            other += 1;
        } else {
            out[len] = Run::new(l.first.max(r.first), l.last.min(r.last));
            len += 1;
            if l.last < r.last {
                at += 1;
            } else {
                other += 1;
            }
        }
    }
    len
}

fn union(left: &[Run], right: &[Run], out: &mut [Run]) -> usize {
    let (mut at, mut other, mut len) = (0, 0, 0);
    // The open run; in front of the first none, which nothing joins.
    let (mut first, mut last) = (0, -2);
    let mut push = |run: &Run| {
        if run.first as i32 <= last + 1 {
            last = last.max(run.last as i32);
        } else {
            out[len] = Run::new(first, last as u16);
            len += usize::from(last >= 0);
            (first, last) = (run.first, run.last as i32);
        }
    };
    while let (Some(l), Some(r)) = (left.get(at), right.get(other)) {
        if l.first <= r.first {
            push(l);
            at += 1;
        } else {
            push(r);
            other += 1;
        }
    }
    left[at..].iter().chain(&right[other..]).for_each(push);
    out[len] = Run::new(first, last as u16);
    len + usize::from(last >= 0)
}

fn difference(left: &[Run], right: &[Run], out: &mut [Run]) -> usize {
    let (mut other, mut len) = (0, 0);
    let mut push = |first: u32, last: u16| {
        out[len] = Run::new(first as u16, last);
        len += 1;
    };
    for run in left {
        // One past the top is a number too.
        let mut from = run.first as u32;
        while other < right.len() && (right[other].last as u32) < from {
            other += 1;
        }
        while let Some(gone) = right.get(other).filter(|gone| gone.first <= run.last) {
            if gone.first as u32 > from {
                push(from, gone.first - 1);
            }
            from = gone.last as u32 + 1;
            if gone.last >= run.last {
                break;
            }
            other += 1;
        }
        if from <= run.last as u32 {
            push(from, run.last);
        }
    }
    len
}

/// Runs as the places where they begin and where what is behind them begins. One place is above every key: the end
/// of a run at the top, which is left out.
fn edges(runs: &[Run], out: &mut Vec<u16>) {
    out.resize(2 * runs.len(), 0);
    let pairs = out.as_chunks_mut::<2>().0;
    pairs.iter_mut().zip(runs).for_each(|(pair, run)| *pair = [run.first, run.last.wrapping_add(1)]);
    let open = runs.last().is_some_and(|run| run.last == u16::MAX);
    out.truncate(out.len() - usize::from(open));
}

/// A key is in one of the two where an odd number of edges lies up to it: those that both have cancel out.
fn symmetric_difference(left: &[Run], right: &[Run], out: &mut [Run]) -> usize {
    EDGES.with_borrow_mut(|(lefts, rights, merged)| {
        edges(left, lefts);
        edges(right, rights);
        let len = merge_shorts(Op::SymmetricDifference, lefts, rights, merged);
        let (pairs, open) = merged[..len].as_chunks::<2>();
        out.iter_mut().zip(pairs).for_each(|(out, &[first, end])| *out = Run::new(first, end - 1));
        if let [first] = *open {
            out[pairs.len()] = Run::new(first, u16::MAX);
        }
        pairs.len() + open.len()
    })
}

thread_local! {
    static EDGES: RefCell<(Vec<u16>, Vec<u16>, Vec<u16>)> = RefCell::default();
}

/// The runs of a container that is no bitmap; `made` is where they are put if it does not keep them.
pub(crate) fn runs_of<'a>(container: &'a Container, made: &'a mut Vec<Run>) -> &'a [Run] {
    if let Container::Runs(runs) = container {
        return runs;
    }
    made.clear();
    match container.listed() {
        Some(keys) => {
            for &key in keys {
                match made.last_mut() {
                    Some(run) if run.last + 1 == key => run.last = key,
                    _ => made.push(Run::new(key, key)),
                }
            }
        }
        None => made.push(Run::new(container.first(), container.last())),
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of the ones of twelve bits, whose last stands for the top key.
    fn runs(bits: u32) -> Vec<Run> {
        let mut made = Vec::new();
        for at in (0..12u16).filter(|at| bits >> at & 1 == 1) {
            let key = at + (u16::MAX - 11);
            match made.last_mut() {
                Some(Run { last, .. }) if *last + 1 == key => *last = key,
                _ => made.push(Run::new(key, key)),
            }
        }
        made
    }

    #[test]
    fn runs_merge_as_bits_do() {
        let mut out = Vec::new();
        let sets: Vec<(u32, Vec<Run>)> = (0..1 << 12).step_by(3).map(|bits| (bits, runs(bits))).collect();
        for (left_bits, left) in &sets {
            for (right_bits, right) in sets.iter().step_by(7) {
                for op in Op::ALL {
                    let len = merge(op, left, right, &mut out);
                    let bits = op.words(*left_bits as u64, *right_bits as u64) as u32;
                    assert_eq!(out[..len], runs(bits), "{left_bits:b} {op:?} {right_bits:b}");
                }
            }
        }
    }
}
