//! The first or last rows of computed columns: only their cells are computed.

use super::over;
use super::projections::passed_columns;
use super::shapes::Shapes;
use crate::plan::node::Plan;
use crate::plan::op::Op;

/// A limit goes below columns over the same rows.
pub(super) fn limit_below_columns(plan: &Plan, shapes: &mut Shapes) -> Option<Plan> {
    if !matches!(plan.op(), Op::Head { .. } | Op::Tail { .. } | Op::Slice { .. }) {
        return None;
    }
    let below = &plan.inputs()[0];
    if shapes.is_shared(below) {
        return None;
    }
    passed_columns(below, shapes)?;
    Some(over(below, vec![over(plan, below.inputs().to_vec())]))
}
