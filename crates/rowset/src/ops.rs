//! Set algebra: cut to where both sides meet, then entry by entry, the rest shared.

use std::borrow::Cow;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Sub, SubAssign};

use crate::build::Builder;
use crate::kernels::Op;
use crate::key::Span;
use crate::merge::{merge_pieces, sweep};
use crate::position::Cursor;
use crate::repr::blocks::Block;
use crate::repr::container::ops::{combine, is_subset, overlaps};
use crate::repr::spans::Chunk;
use crate::repr::tree::{Entry, Tree};
use crate::repr::{Repr, blocks_of, pieces_of};
use crate::rowset::RowSet;
use crate::scattered;
use crate::sizes::{CUT_FROM, OUTSIDE, PROBE};

impl RowSet {
    /// Keys in either.
    pub fn union(&self, other: &RowSet) -> RowSet {
        algebra(Op::Union, self, other)
    }

    /// Keys in both.
    pub fn intersection(&self, other: &RowSet) -> RowSet {
        algebra(Op::Intersection, self, other)
    }

    /// Keys here and not there.
    pub fn difference(&self, other: &RowSet) -> RowSet {
        algebra(Op::Difference, self, other)
    }

    /// Keys in exactly one of the two.
    pub fn symmetric_difference(&self, other: &RowSet) -> RowSet {
        algebra(Op::SymmetricDifference, self, other)
    }

    /// Keys in any of the sets.
    pub fn union_all<'a>(sets: impl IntoIterator<Item = &'a RowSet>) -> RowSet {
        let mut sets: Vec<RowSet> = sets.into_iter().cloned().collect();
        // By pairs, so that a key is copied a logarithmic number of times.
        while sets.len() > 1 {
            sets = sets
                .chunks(2)
                .map(|pair| if let [left, right] = pair { left | right } else { pair[0].clone() })
                .collect();
        }
        sets.pop().unwrap_or_default()
    }

    /// Whether every key is in `of` too.
    pub fn is_subset(&self, of: &RowSet) -> bool {
        let (Some(hull), Some(outer)) = (self.hull(), of.hull()) else {
            return self.is_empty();
        };
        if self.len() > of.len() || hull.first < outer.first || outer.last < hull.last {
            return false;
        }
        match (&self.0, &of.0) {
            (_, Repr::Span(_)) => true,
            (Repr::Span(span), _) => of.contains_span(*span),
            (Repr::Blocks(left), Repr::Blocks(right)) if left.is_same(right) => true,
            (Repr::Blocks(_), Repr::Blocks(_)) => is_subset_by_blocks(self, of),
            (Repr::Spans(left), Repr::Spans(right)) if left.is_same(right) => true,
            (_, Repr::Spans(right)) => all_within(self, right),
            (_, Repr::Blocks(right)) => match self.scattered() {
                Some(keys) => scattered::filtered(&keys, right, false).is_empty(),
                None => all_within(self, right),
            },
            (_, Repr::Empty) => false,
        }
    }

    /// Whether some key is in both.
    pub fn overlaps(&self, other: &RowSet) -> bool {
        let (Some(own), Some(theirs)) = (self.hull(), other.hull()) else { return false };
        let Some(meet) = crate::repr::span::meet(own, theirs) else { return false };
        match (&self.0, &other.0) {
            (Repr::Span(_), _) => other.spans_between(meet.first, meet.last).next().is_some(),
            (_, Repr::Span(_)) => self.spans_between(meet.first, meet.last).next().is_some(),
            (Repr::Blocks(left), Repr::Blocks(right)) => {
                let (mut left, mut right) =
                    (left.iter_from(meet.first).peekable(), right.iter_from(meet.first).peekable());
                while let (Some(l), Some(r)) = (left.peek(), right.peek()) {
                    if l.number < r.end() && r.number < l.end() && overlaps(&l.keys, &r.keys) {
                        return true;
                    }
                    if l.end() <= r.end() {
                        left.next()
                    } else {
                        right.next()
                    };
                }
                false
            }
            (Repr::Spans(left), _) if left.entries() >= other.0.entries() => any_within(other, left, meet),
            (Repr::Blocks(left), _) if left.entries() >= other.0.entries() => any_within(other, left, meet),
            (_, Repr::Spans(right)) => any_within(self, right, meet),
            (_, Repr::Blocks(right)) => any_within(self, right, meet),
            _ => false,
        }
    }

    /// This set and one whose keys all lie behind it.
    pub(crate) fn followed_by(self, next: RowSet) -> RowSet {
        RowSet(match (self.0, next.0) {
            (Repr::Empty, repr) | (repr, Repr::Empty) => repr,
            (Repr::Span(left), Repr::Span(right)) if left.last + 1 == right.first => {
                Repr::Span(Span { first: left.first, last: right.last })
            }
            (left @ Repr::Blocks(_), right) if left.entries() >= right.entries() => {
                Repr::of_blocks(as_blocks(left).concat(as_blocks(right)))
            }
            (left, right @ Repr::Blocks(_)) if left.entries() <= right.entries() => {
                Repr::of_blocks(as_blocks(left).concat(as_blocks(right)))
            }
            (left, right) => Repr::of_spans(as_pieces(left).concat(as_pieces(right))),
        })
    }
}

fn as_blocks(repr: Repr) -> Tree<Block> {
    match repr {
        Repr::Empty => Tree::build(Vec::new()),
        Repr::Span(span) => Tree::build(Block::of_span(span)),
        Repr::Spans(tree) => blocks_of(&tree),
        Repr::Blocks(tree) => tree,
    }
}

fn as_pieces(repr: Repr) -> Tree<Chunk> {
    match repr {
        Repr::Empty => Tree::build(Vec::new()),
        Repr::Span(span) => Tree::build(Chunk::from_spans(&[span])),
        Repr::Spans(tree) => tree,
        Repr::Blocks(tree) => pieces_of(&tree),
    }
}

fn algebra(op: Op, left: &RowSet, right: &RowSet) -> RowSet {
    let (Some(l), Some(r)) = (left.hull(), right.hull()) else {
        let kept = if right.is_empty() { left } else { right };
        let keeps = if right.is_empty() { op.keeps_left() } else { op.keeps_right() };
        return if keeps { kept.clone() } else { RowSet::new() };
    };
    if is_same(left, right) {
        return if op.keeps(true, true) { left.clone() } else { RowSet::new() };
    }
    let Some(meet) = crate::repr::span::meet(l, r) else {
        return match op {
            Op::Intersection => RowSet::new(),
            Op::Difference => left.clone(),
            _ if l.last < r.first => left.clone().followed_by(right.clone()),
            _ => right.clone().followed_by(left.clone()),
        };
    };
    if let (Some(l), Some(r)) = (left.as_span(), right.as_span())
        && let Some(result) = of_ranges(op, l, r, meet)
    {
        return result;
    }
    let one_is_span = left.as_span().is_some() || right.as_span().is_some();
    let hull = Span { first: l.first.min(r.first), last: l.last.max(r.last) };
    let few = left.0.entries() + right.0.entries() < CUT_FROM.get();
    if !one_is_span && (few || hull.len() - meet.len() < hull.len() / OUTSIDE.rows()) {
        return merge(op, left, right);
    }
    let outside = |first: u64, last: Option<u64>| {
        let Some(last) = last.filter(|&last| first <= last) else { return RowSet::new() };
        let own = if op.keeps_left() { left.between(first, last) } else { RowSet::new() };
        if own.is_empty() && op.keeps_right() { right.between(first, last) } else { own }
    };
    let below = outside(l.first.min(r.first), meet.first.checked_sub(1));
    let above = outside(meet.last + 1, Some(l.last.max(r.last)));
    let inside = algebra_inside(op, &left.between(meet.first, meet.last), &right.between(meet.first, meet.last), meet);
    below.followed_by(inside).followed_by(above)
}

/// Two ranges that meet, where the result is one range or nothing.
fn of_ranges(op: Op, left: Span, right: Span, meet: Span) -> Option<RowSet> {
    let hull = Span { first: left.first.min(right.first), last: left.last.max(right.last) };
    // What lies below the meeting, and above it, and who holds it.
    let below = op.keeps(left.first < right.first, right.first < left.first) && hull.first < meet.first;
    let above = op.keeps(right.last < left.last, left.last < right.last) && meet.last < hull.last;
    let within = op.keeps(true, true);
    match (below, within, above) {
        (false, false, false) => Some(RowSet::new()),
        (true, false, false) => Some(RowSet::range(hull.first, meet.first - 1)),
        (false, false, true) => Some(RowSet::range(meet.last + 1, hull.last)),
        (true, false, true) => None,
        (below, true, above) => {
            let (first, last) =
                (if below { hull.first } else { meet.first }, if above { hull.last } else { meet.last });
            Some(RowSet::range(first, last))
        }
    }
}

/// Both sides lie within `meet`; a side that is one range fills it.
fn algebra_inside(op: Op, left: &RowSet, right: &RowSet, meet: Span) -> RowSet {
    let fills = |rows: &RowSet| rows.as_span() == Some(meet);
    let nothing = RowSet::new();
    match (fills(left), fills(right)) {
        (true, _) => match op {
            Op::Union => left.clone(),
            Op::Intersection => right.clone(),
            _ => complement(right, meet),
        },
        (_, true) => match op {
            Op::Union => right.clone(),
            Op::Intersection => left.clone(),
            Op::Difference => nothing,
            Op::SymmetricDifference => complement(left, meet),
        },
        _ => merge(op, left, right),
    }
}

fn is_same(left: &RowSet, right: &RowSet) -> bool {
    match (&left.0, &right.0) {
        (Repr::Span(left), Repr::Span(right)) => left == right,
        (Repr::Spans(left), Repr::Spans(right)) => left.is_same(right),
        (Repr::Blocks(left), Repr::Blocks(right)) => left.is_same(right),
        _ => false,
    }
}

fn complement(rows: &RowSet, within: Span) -> RowSet {
    match &rows.0 {
        Repr::Blocks(_) => merge_blocks(Op::Difference, &RowSet::range(within.first, within.last), rows),
        _ => by_ranges(Op::Difference, &RowSet::range(within.first, within.last), rows),
    }
}

fn by_ranges(op: Op, left: &RowSet, right: &RowSet) -> RowSet {
    let mut builder = Builder::new();
    sweep(op, left.spans(), right.spans(), &mut builder);
    builder.finish()
}

fn merge(op: Op, left: &RowSet, right: &RowSet) -> RowSet {
    if left.is_empty() || right.is_empty() {
        return algebra(op, left, right);
    }
    if let Some(result) = probe(op, left, right) {
        return result;
    }
    match (&left.0, &right.0) {
        (Repr::Blocks(_), _) | (_, Repr::Blocks(_)) => merge_blocks(op, left, right),
        (Repr::Spans(left), Repr::Spans(right)) => merge_pieces(op, left, right),
        _ => by_ranges(op, left, right),
    }
}

/// A few pieces against many entries: edits of the large side, or look-ups in it.
fn probe(op: Op, left: &RowSet, right: &RowSet) -> Option<RowSet> {
    if let Some(result) = look_up(op, left, right) {
        return Some(result);
    }
    let (few, many) = if left.0.entries() <= right.0.entries() { (left, right) } else { (right, left) };
    if many.0.entries() < 64 {
        return None;
    }
    let (few_heft, entries) = (few.0.heft(), many.0.entries() as u64);
    let edits = few_heft * 4 < entries;
    match op {
        Op::Union if edits => {
            let mut edited = many.clone();
            few.spans().for_each(|span| edited.insert_span(span));
            Some(edited)
        }
        Op::Difference if edits && std::ptr::eq(many, left) => {
            let mut edited = many.clone();
            few.spans().for_each(|span| edited.remove_span(span));
            Some(edited)
        }
        Op::Intersection if few_heft * PROBE.rows() < many.0.heft() => {
            let mut builder = Builder::new();
            match &many.0 {
                Repr::Spans(tree) => {
                    let mut cursor = Cursor::new(tree);
                    few.spans().for_each(|span| {
                        cursor.spans_between(span.first, span.last, |span| builder.push(span.first, span.last))
                    });
                }
                Repr::Blocks(tree) if few_heft < entries => {
                    let mut cursor = Cursor::new(tree);
                    few.spans().for_each(|span| {
                        cursor.spans_between(span.first, span.last, |span| builder.push(span.first, span.last))
                    });
                }
                _ => return None,
            }
            Some(builder.finish())
        }
        _ => None,
    }
}

/// Scattered keys that are each looked for in blocks.
fn look_up(op: Op, left: &RowSet, right: &RowSet) -> Option<RowSet> {
    let (keys, tree) = match (op, &left.0, &right.0) {
        (Op::Intersection | Op::Difference, _, Repr::Blocks(tree)) => (left.scattered()?, tree),
        (Op::Intersection, Repr::Blocks(tree), _) => (right.scattered()?, tree),
        _ => return None,
    };
    Some(RowSet::from_sorted_keys(&scattered::filtered(&keys, tree, op == Op::Intersection)))
}

fn merge_blocks(op: Op, left: &RowSet, right: &RowSet) -> RowSet {
    let mut builder = Builder::of_blocks();
    let (mut lefts, mut rights) = (left.blocks(), right.blocks());
    let (mut l, mut r) = (lefts.next(), rights.next());
    loop {
        (l, r) = match (l, r) {
            (None, None) => return builder.finish(),
            (Some(block), None) if op.keeps_left() => {
                builder.push_block(block.into_owned());
                (lefts.next(), None)
            }
            (None, Some(block)) if op.keeps_right() => {
                builder.push_block(block.into_owned());
                (None, rights.next())
            }
            (None, _) | (_, None) => return builder.finish(),
            (Some(left), Some(right)) if left.number < right.number => {
                let (alone, rest) = cut(left, right.number);
                if op.keeps_left() {
                    builder.push_block(alone.into_owned());
                }
                (rest.or_else(|| lefts.next()), Some(right))
            }
            (Some(left), Some(right)) if right.number < left.number => {
                let (alone, rest) = cut(right, left.number);
                if op.keeps_right() {
                    builder.push_block(alone.into_owned());
                }
                (Some(left), rest.or_else(|| rights.next()))
            }
            (Some(left), Some(right)) => {
                let end = left.end().min(right.end());
                let ((left, left_rest), (right, right_rest)) = (cut(left, end), cut(right, end));
                if let Some(keys) = combine(op, &left.keys, &right.keys) {
                    builder.push_block(Block { keys, number: left.number, blocks: left.blocks });
                }
                (left_rest.or_else(|| lefts.next()), right_rest.or_else(|| rights.next()))
            }
        };
    }
}

/// The blocks below `number`, and the rest: only runs of full blocks have one.
#[inline]
fn cut(block: Cow<'_, Block>, number: u64) -> (Cow<'_, Block>, Option<Cow<'_, Block>>) {
    if block.end() <= number {
        return (block, None);
    }
    let full = |from, end| Cow::Owned(Block::full(from, end - from));
    (full(block.number, number), Some(full(number, block.end())))
}

fn all_within<E: Entry>(rows: &RowSet, tree: &Tree<E>) -> bool {
    let mut cursor = Cursor::new(tree);
    rows.spans().all(|span| match cursor.seek(span.first) {
        Some(entry) if !entry.contains(span.first) => false,
        None => false,
        Some(_) if span.first == span.last => true,
        Some(_) => {
            let before = cursor.rank(span.first);
            cursor.rank(span.last + 1) - before == span.len()
        }
    })
}

fn any_within<E: Entry>(rows: &RowSet, tree: &Tree<E>, meet: Span) -> bool {
    let mut cursor = Cursor::new(tree);
    rows.spans_between(meet.first, meet.last).any(|span| {
        let before = cursor.rank(span.first);
        cursor.rank(span.last + 1) > before
    })
}

fn is_subset_by_blocks(left: &RowSet, right: &RowSet) -> bool {
    let (Repr::Blocks(left), Repr::Blocks(right)) = (&left.0, &right.0) else { return false };
    let mut right = Cursor::new(right);
    left.iter().all(|block| {
        let mut from = block.number;
        while from < block.end() {
            match right.seek(from << 16) {
                Some(other) if other.number <= from && is_subset(&block.keys, &other.keys) => from = other.end(),
                _ => return false,
            }
        }
        true
    })
}

macro_rules! operators {
    ($($operator:ident $method:ident $assign:ident $assign_method:ident $named:ident $op:ident),*) => {$(
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
            fn $method(mut self, other: &RowSet) -> RowSet {
                self.$assign_method(other);
                self
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
                if !self.edit_blocks(Op::$op, other) {
                    *self = self.$named(other);
                }
            }
        }
    )*};
}

operators!(
    BitAnd bitand BitAndAssign bitand_assign intersection Intersection,
    BitOr bitor BitOrAssign bitor_assign union Union,
    Sub sub SubAssign sub_assign difference Difference,
    BitXor bitxor BitXorAssign bitxor_assign symmetric_difference SymmetricDifference
);
