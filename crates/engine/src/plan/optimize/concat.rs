//! A filter above stacked tables: over each of them.

use super::shapes::Shapes;
use super::{filter_like, movable_predicates, over};
use crate::plan::node::Plan;
use crate::plan::op::Op;

/// The filter goes below, into every input.
pub(super) fn filter_below_concat(plan: &Plan, shapes: &mut Shapes) -> Option<Plan> {
    let predicates = movable_predicates(plan)?;
    let below = &plan.inputs()[0];
    if *below.op() != Op::Concat || shapes.is_shared(below) || !shapes.are_total(below, predicates) {
        return None;
    }
    let filtered = below.inputs().iter().map(|input| filter_like(plan, predicates.to_vec(), input.clone()));
    Some(over(below, filtered.collect()))
}
