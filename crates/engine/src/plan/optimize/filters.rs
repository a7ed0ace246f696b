//! Filters that stand on each other.

use super::shapes::Shapes;
use super::{filter_like, movable_predicates};
use crate::plan::node::Plan;

/// One filter of the predicates of two. The lower one's come first.
pub(super) fn merged(plan: &Plan, shapes: &mut Shapes) -> Option<Plan> {
    let upper = movable_predicates(plan)?;
    let below = &plan.inputs()[0];
    let lower = movable_predicates(below)?;
    if shapes.is_shared(below) || !shapes.are_total(below, upper) || !shapes.are_total(below, lower) {
        return None;
    }
    Some(filter_like(plan, lower.iter().chain(upper).cloned().collect(), below.inputs()[0].clone()))
}
