//! A filter above rows in another order: fewer rows are put in order.

use super::shapes::Shapes;
use super::{filter_like, movable_predicates, over};
use crate::plan::node::Plan;
use crate::plan::op::Op;

/// The filter goes below the sort, or the reversed rows, whole.
pub(super) fn filter_below_sort(plan: &Plan, shapes: &mut Shapes) -> Option<Plan> {
    let predicates = movable_predicates(plan)?;
    let below = &plan.inputs()[0];
    let orders = matches!(below.op(), Op::Sort { .. } | Op::Reverse);
    if !orders || shapes.is_shared(below) || !shapes.are_total(below, predicates) {
        return None;
    }
    let filtered = filter_like(plan, predicates.to_vec(), below.inputs()[0].clone());
    Some(over(below, vec![filtered]))
}
