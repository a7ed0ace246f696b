//! Set algebra and edits.

use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Sub, SubAssign};

use crate::build::Builder;
use crate::shift::relocate;
use crate::{MAX_KEY, RowSet, Shifts, Span};

/// Sweeps over the ends of the spans of both sides and keeps what `keep(in left, in right)` says.
fn sweep(left: &RowSet, right: &RowSet, keep: fn(bool, bool) -> bool) -> RowSet {
    let mut builder = Builder::new();
    let (mut left, mut right) = (left.spans().peekable(), right.spans().peekable());
    let mut from = 0;
    loop {
        // Ends are one past the last key; MAX_KEY + 1 still fits in u64.
        let edge = |span: Option<&Span>, from: u64| match span {
            None => (false, u64::MAX),
            Some(span) if span.first > from => (false, span.first),
            Some(span) => (true, span.last + 1),
        };
        let ((in_left, left_end), (in_right, right_end)) = (edge(left.peek(), from), edge(right.peek(), from));
        let end = left_end.min(right_end);
        if end == u64::MAX {
            return builder.finish();
        }
        if keep(in_left, in_right) && end > from {
            builder.push(from, end - 1);
        }
        from = end;
        left.next_if(|span| span.last < from);
        right.next_if(|span| span.last < from);
    }
}

impl RowSet {
    /// Keys in either.
    pub fn union(&self, other: &RowSet) -> RowSet {
        sweep(self, other, |left, right| left | right)
    }

    /// Keys in both.
    pub fn intersection(&self, other: &RowSet) -> RowSet {
        sweep(self, other, |left, right| left & right)
    }

    /// Keys here and not there.
    pub fn difference(&self, other: &RowSet) -> RowSet {
        sweep(self, other, |left, right| left & !right)
    }

    /// Keys in exactly one of the two.
    pub fn symmetric_difference(&self, other: &RowSet) -> RowSet {
        sweep(self, other, |left, right| left ^ right)
    }

    /// Keys in any of the sets.
    pub fn union_all<'a>(sets: impl IntoIterator<Item = &'a RowSet>) -> RowSet {
        let mut sets: Vec<RowSet> = sets.into_iter().cloned().collect();
        // By pairs, so that a key is copied a logarithmic number of times.
        while sets.len() > 1 {
            sets = sets.chunks(2).map(|pair| if let [left, right] = pair { left | right } else { pair[0].clone() }).collect();
        }
        sets.pop().unwrap_or_default()
    }

    /// Whether every key is in `of` too.
    pub fn is_subset(&self, of: &RowSet) -> bool {
        self.len() <= of.len() && self.spans().all(|span| of.contains_span(span))
    }

    /// Whether some key is in both.
    pub fn overlaps(&self, other: &RowSet) -> bool {
        let (few, many) = if self.span_count() <= other.span_count() { (self, other) } else { (other, self) };
        few.spans().any(|span| many.first_at_or_after(span.first).is_some_and(|key| key <= span.last))
    }

    /// The keys of `within` that are not in the set.
    pub fn complement_within(&self, within: Span) -> RowSet {
        RowSet::range(within.first, within.last).difference(self)
    }

    /// Adds a key; whether it was absent.
    pub fn insert(&mut self, key: u64) -> bool {
        let absent = !self.contains(key);
        if absent {
            self.insert_span(Span { first: key, last: key });
        }
        absent
    }

    /// Adds the keys of a span.
    pub fn insert_span(&mut self, span: Span) {
        *self = self.union(&RowSet::range(span.first, span.last));
    }

    /// Takes a key out; whether it was there.
    pub fn remove(&mut self, key: u64) -> bool {
        let present = self.contains(key);
        if present {
            self.remove_span(Span { first: key, last: key });
        }
        present
    }

    /// Takes the keys of a span out.
    pub fn remove_span(&mut self, span: Span) {
        *self = self.difference(&RowSet::range(span.first, span.last.min(MAX_KEY)));
    }

    /// Keeps the keys for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(u64) -> bool) {
        let mut builder = Builder::new();
        for key in self.iter().filter(|&key| keep(key)) {
            builder.push(key, key);
        }
        *self = builder.finish();
    }

    /// One step: drops `removed` (keys before), moves by `shifts`, takes in `added` (keys after).
    pub fn apply(&mut self, removed: &RowSet, shifts: &Shifts, added: &RowSet) {
        if !removed.is_empty() {
            *self -= removed;
        }
        if !shifts.is_empty() {
            *self = relocate(self, shifts.iter().map(|shift| (shift.origin(), shift.delta)));
        }
        if !added.is_empty() {
            *self |= added;
        }
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $assign:ident $assign_method:ident $named:ident),*) => {$(
        impl $operator<&RowSet> for &RowSet {
            type Output = RowSet;
            fn $method(self, other: &RowSet) -> RowSet {
                self.$named(other)
            }
        }
        impl $operator<RowSet> for RowSet {
            type Output = RowSet;
            fn $method(self, other: RowSet) -> RowSet {
                self.$named(&other)
            }
        }
        impl $operator<&RowSet> for RowSet {
            type Output = RowSet;
            fn $method(self, other: &RowSet) -> RowSet {
                self.$named(other)
            }
        }
        impl $operator<RowSet> for &RowSet {
            type Output = RowSet;
            fn $method(self, other: RowSet) -> RowSet {
                self.$named(&other)
            }
        }
        impl $assign<&RowSet> for RowSet {
            fn $assign_method(&mut self, other: &RowSet) {
                *self = self.$named(other);
            }
        }
    )*};
}

operators!(
    BitAnd bitand BitAndAssign bitand_assign intersection,
    BitOr bitor BitOrAssign bitor_assign union,
    Sub sub SubAssign sub_assign difference,
    BitXor bitxor BitXorAssign bitxor_assign symmetric_difference
);
