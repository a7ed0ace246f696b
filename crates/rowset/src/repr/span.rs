//! One range: the form that needs no memory.

use super::Repr;
use super::tree::{Entry, Tree};
use crate::key::Span;

/// Nothing or one range, if that is what the tree holds.
pub(crate) fn single<E: Entry>(tree: &Tree<E>) -> Option<Repr> {
    let (Some(first), Some(last)) = (tree.first_entry(), tree.last_entry()) else {
        return Some(Repr::Empty);
    };
    let hull = Span { first: first.first_key(), last: last.last_key() };
    (hull.len() == tree.len()).then_some(Repr::Span(hull))
}

/// The part of a span inside another.
pub(crate) fn meet(left: Span, right: Span) -> Option<Span> {
    let (first, last) = (left.first.max(right.first), left.last.min(right.last));
    (first <= last).then_some(Span { first, last })
}
