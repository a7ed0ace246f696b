//! Two ascending lists of runs at a time, and lists as runs.

use super::container::{Container, Run};
use crate::kernels::Op;

/// `left op right`, each with a gap between its runs, and so the result.
pub(crate) fn merge(op: Op, left: &[Run], right: &[Run], out: &mut Vec<Run>) {
    out.clear();
    match op {
        Op::Union => union(left, right, out),
        Op::Intersection => intersection(left, right, out),
        Op::Difference => difference(left, right, out),
        Op::SymmetricDifference => {
            let (mut either, mut both) = (Vec::new(), Vec::new());
            union(left, right, &mut either);
            intersection(left, right, &mut both);
            difference(&either, &both, out);
        }
    }
}

fn intersection(left: &[Run], right: &[Run], out: &mut Vec<Run>) {
    out.resize(left.len() + right.len(), Run { first: 0, last: 0 });
    let (mut at, mut other, mut len) = (0, 0, 0);
    while at < left.len() && other < right.len() {
        let (l, r) = (left[at], right[other]);
        let run = Run { first: l.first.max(r.first), last: l.last.min(r.last) };
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
        open = Run { first: if joins { open.first } else { run.first }, last: run.last.max(open.last) };
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
    let mut other = 0;
    for run in left {
        // One past the top is a number too.
        let mut from = run.first as u32;
        while other < right.len() && (right[other].last as u32) < from {
            other += 1;
        }
        while let Some(gone) = right.get(other).filter(|gone| gone.first <= run.last) {
            if gone.first as u32 > from {
                out.push(Run { first: from as u16, last: gone.first - 1 });
            }
            from = gone.last as u32 + 1;
            if gone.last >= run.last {
                break;
            }
            other += 1;
        }
        if from <= run.last as u32 {
            out.push(Run { first: from as u16, last: run.last });
        }
    }
}

/// The runs of a container that is no bitmap; `made` is where they are put if it does not keep them.
pub(crate) fn runs_of<'a>(container: &'a Container, made: &'a mut Vec<Run>) -> &'a [Run] {
    if let Container::Runs(runs) = container {
        return &runs.runs;
    }
    made.clear();
    match container.listed() {
        Some(keys) => {
            for &key in keys {
                match made.last_mut() {
                    Some(run) if run.last + 1 == key => run.last = key,
                    _ => made.push(Run { first: key, last: key }),
                }
            }
        }
        None => made.push(Run { first: container.first(), last: container.last() }),
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
                _ => made.push(Run { first: key, last: key }),
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
