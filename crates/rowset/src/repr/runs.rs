//! Two ascending lists of runs at a time, and lists as runs.

use std::cell::RefCell;

use super::container::{Container, Run};
use crate::kernels::{Op, merge_shorts};

/// `left op right`, each with a gap between its runs, and so the result.
pub(crate) fn merge(op: Op, left: &[Run], right: &[Run], out: &mut Vec<Run>) {
    out.clear();
    match op {
        Op::Union => union(left, right, out),
        Op::Intersection => intersection(left, right, out),
        Op::Difference => difference(left, right, out),
        Op::SymmetricDifference => symmetric_difference(left, right, out),
    }
}

const NONE: Run = Run::new(0, 0);

fn intersection(left: &[Run], right: &[Run], out: &mut Vec<Run>) {
    out.resize(left.len() + right.len(), NONE);
    let (mut at, mut other, mut len) = (0, 0, 0);
    while at < left.len() && other < right.len() {
        let (l, r) = (left[at], right[other]);
        let run = Run::new(l.first.max(r.first), l.last.min(r.last));
        out[len] = run;
        len += usize::from(run.first <= run.last);
        at += usize::from(l.last <= r.last);
        other += usize::from(r.last <= l.last);
    }
    out.truncate(len);
}

fn union(left: &[Run], right: &[Run], out: &mut Vec<Run>) {
    let Some(&first) = left.first().into_iter().chain(right.first()).min_by_key(|run| run.first) else { return };
    out.resize(left.len() + right.len(), first);
    out[0] = first;
    let (mut at, mut other, mut len) = (0, 0, 0);
    let mut open = first;
    // Without a branch that could be guessed wrong: each run is written, over the open one if it joins it.
    let mut push = |run: Run| {
        let joins = run.first as u32 <= open.last as u32 + 1;
        len += usize::from(!joins);
        open = Run::new(if joins { open.first } else { run.first }, run.last.max(open.last));
        out[len] = open;
    };
    while at < left.len() && other < right.len() {
        let (l, r) = (left[at], right[other]);
        let from_left = l.first <= r.first;
        push(if from_left { l } else { r });
        at += usize::from(from_left);
        other += usize::from(!from_left);
    }
    left[at..].iter().chain(&right[other..]).for_each(|&run| push(run));
    out.truncate(len + 1);
}

fn difference(left: &[Run], right: &[Run], out: &mut Vec<Run>) {
    out.resize(left.len() + right.len(), NONE);
    let (mut at, mut other, mut len) = (0, 0, 0);
    // One past the top is a number too.
    let mut from = 0u32;
    while at < left.len() && other < right.len() {
        let (l, r) = (left[at], right[other]);
        let (first, next) = (from.max(l.first as u32), r.last as u32 + 1);
        let last = (l.last as u32 + 1).min(r.first as u32);
        out[len] = Run::new(first as u16, last.wrapping_sub(1) as u16);
        len += usize::from(first < last);
        let passed = r.last <= l.last;
        from = if passed { next } else { from };
        at += usize::from(l.last <= r.last);
        other += usize::from(passed);
    }
    out.truncate(len);
    if let Some(rest) = left.get(at..) {
        let begun = rest.first().filter(|run| from <= run.last as u32);
        out.extend(begun.map(|run| Run::new(from.max(run.first as u32) as u16, run.last)));
        out.extend(rest.iter().skip(1));
    }
}

/// Runs as the places where they begin and where what is behind them begins. One place is above every key: the end
/// of a run at the top, which is left out.
fn edges(runs: &[Run], out: &mut Vec<u16>) {
    out.clear();
    out.extend(runs.iter().flat_map(|run| [run.first, run.last.wrapping_add(1)]));
    let open = runs.last().is_some_and(|run| run.last == u16::MAX);
    out.truncate(out.len() - usize::from(open));
}

/// A key is in one of the two where an odd number of edges lies up to it: those that both have cancel out.
fn symmetric_difference(left: &[Run], right: &[Run], out: &mut Vec<Run>) {
    EDGES.with_borrow_mut(|(lefts, rights, merged)| {
        edges(left, lefts);
        edges(right, rights);
        let len = merge_shorts(Op::SymmetricDifference, lefts, rights, merged);
        let (pairs, open) = merged[..len].as_chunks::<2>();
        out.extend(pairs.iter().map(|&[first, end]| Run::new(first, end - 1)));
        out.extend(open.iter().map(|&first| Run::new(first, u16::MAX)));
    });
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
                    merge(op, left, right, &mut out);
                    let bits = op.words(*left_bits as u64, *right_bits as u64) as u32;
                    assert_eq!(out, runs(bits), "{left_bits:b} {op:?} {right_bits:b}");
                }
            }
        }
    }
}
