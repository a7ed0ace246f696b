//! A filter by left columns above a join: fewer rows look for a match.

use std::collections::HashMap;

use super::projections::renamed;
use super::shapes::Shapes;
use super::{filter_like, is_plain, kept_above, movable_predicates, over, parted};
use crate::plan::node::Plan;
use crate::plan::op::Op;
use crate::plan::spec::{EquiOptions, How, Matches, Validate};

/// Terms over left columns go below the join, on its left side. A join that objects to a second match stays whole: the row
/// that it objects to might be left out.
pub(super) fn filter_below_join(plan: &Plan, shapes: &mut Shapes) -> Option<Plan> {
    let predicates = movable_predicates(plan)?;
    let below = &plan.inputs()[0];
    let may_be_parted = match below.op() {
        Op::NaturalJoin { matches, .. } => matches!(matches, Matches::First | Matches::Last),
        // A right row without a match has no left cells, and may be one without a match because of the filter.
        Op::Join(EquiOptions { how: How::Right | How::Full, .. }) => false,
        Op::Join(how) => how.validate == Validate::ManyToMany,
        Op::WhereIn { .. } | Op::AsofJoin(_) => true,
        _ => false,
    };
    if !may_be_parted || !is_plain(below) || shapes.is_shared(below) || !shapes.are_total(below, predicates) {
        return None;
    }
    let [left, right] = below.inputs() else { return None };
    let names: HashMap<String, String> =
        shapes.of(left)?.schema().fields().iter().map(|field| (field.name().clone(), field.name().clone())).collect();
    let (sunk, kept) = parted(predicates, |term| renamed(term, &names));
    if sunk.is_empty() {
        return None;
    }
    Some(kept_above(plan, kept, over(below, vec![filter_like(plan, sunk, left.clone()), right.clone()])))
}
