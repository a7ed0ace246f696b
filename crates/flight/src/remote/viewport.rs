//! A part of a table that is followed: rows by their places, from the beginning or from the end.
//!
//! The rows of such a part are told by their ranks in it. An update says which ranks went and which came; the others keep
//! their order, and move to the ranks that are left.

use std::fmt;

use engine::sources::Apply;
use rowset::{Positions, RowSet, Shift, Span};

/// Rows of a table by place; at least one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Viewport {
    first: u64,
    last: u64,
    from_end: bool,
}

impl Viewport {
    /// These places, of which the last belongs to them; 0 is the first row, or, from the end, the last one.
    pub fn new(first: u64, last: u64, from_end: bool) -> Option<Viewport> {
        (first <= last && last <= i64::MAX as u64).then_some(Viewport { first, last, from_end })
    }

    pub(super) fn positions(self) -> Positions {
        Positions(RowSet::range(self.first, self.last))
    }

    pub(super) fn counts_from_end(self) -> bool {
        self.from_end
    }
}

/// As Python's slices are written.
impl fmt::Display for Viewport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (self.first, self.last + 1);
        match (self.from_end, low) {
            (false, _) => write!(f, "[{low}:{high}]"),
            (true, 0) => write!(f, "[-{high}:]"),
            (true, _) => write!(f, "[-{high}:-{low}]"),
        }
    }
}

/// How ranks move: what goes, what comes and what moves, as a call that has no cells yet.
pub(super) fn moved(held: u64, removed: RowSet, added: &RowSet) -> Result<(Apply, u64), &'static str> {
    if removed.last().is_some_and(|last| last >= held) {
        return Err("rows went that were not there");
    }
    let count = held - removed.len() + added.len();
    if added.last().is_some_and(|last| last >= count) {
        return Err("rows came beyond the end of the viewport");
    }
    let kept = &RowSet::flat(held) - &removed;
    let now = &RowSet::flat(count) - added;
    let shifted = shifts(&kept, &now);
    Ok((Apply { added: None, removed, modified: None, shifted }, count))
}

/// The shifts that lead from some keys to as many others, in order.
fn shifts(from: &RowSet, to: &RowSet) -> Vec<Shift> {
    let mut shifts: Vec<Shift> = Vec::new();
    let (mut old, mut new) = (from.spans(), to.spans());
    let (mut here, mut there): (Option<Span>, Option<Span>) = (old.next(), new.next());
    while let (Some(a), Some(b)) = (here, there) {
        let more = (a.last - a.first).min(b.last - b.first);
        let delta = b.first as i64 - a.first as i64;
        if delta != 0 {
            shifts.push(Shift { first: a.first, last: a.first + more, delta });
        }
        let rest = |span: Span| (span.first + more < span.last).then(|| Span { first: span.first + more + 1, ..span });
        here = rest(a).or_else(|| old.next());
        there = rest(b).or_else(|| new.next());
    }
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(keys: &[u64]) -> RowSet {
        keys.iter().copied().collect()
    }

    #[test]
    fn ranks_that_stay_keep_their_order() {
        let shift = |first, last, delta| Shift { first, last, delta };
        let check = |held, removed: &[u64], added: &[u64], count, wanted: &[Shift]| {
            let (call, now) = moved(held, set(removed), &set(added)).expect("it fits");
            assert_eq!((now, &call.shifted[..]), (count, wanted));
        };
        check(4, &[0], &[3], 4, &[shift(1, 3, -1)]);
        check(4, &[3], &[0], 4, &[shift(0, 2, 1)]);
        check(4, &[], &[], 4, &[]);
        check(2, &[], &[1, 3], 4, &[shift(1, 1, 1)]);
        check(5, &[1], &[4, 5], 6, &[shift(2, 4, -1)]);
        check(6, &[0, 3], &[2], 5, &[shift(1, 2, -1), shift(4, 5, -1)]);
        check(3, &[0, 1, 2], &[], 0, &[]);
        assert!(moved(2, set(&[2]), &RowSet::new()).is_err());
        assert!(moved(2, RowSet::new(), &set(&[3])).is_err());
    }

    #[test]
    fn they_are_written_as_slices() {
        let text = |first, last, from_end| Viewport::new(first, last, from_end).expect("a viewport").to_string();
        assert_eq!(text(0, 9, false), "[0:10]");
        assert_eq!(text(0, 9, true), "[-10:]");
        assert_eq!(text(10, 19, true), "[-20:-10]");
        assert_eq!(Viewport::new(3, 2, false), None);
    }
}
