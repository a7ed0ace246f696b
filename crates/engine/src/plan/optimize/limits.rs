//! The first or last rows of computed columns: only their cells are computed. The first rows in order: the others are not
//! put in order.

use std::sync::Arc;

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

/// The first rows of a sort are selected.
pub(super) fn head_of_sort(plan: &Plan, shapes: &mut Shapes) -> Option<Plan> {
    let Op::Head { rows } = plan.op() else { return None };
    let below = &plan.inputs()[0];
    match below.op() {
        Op::Sort { by } if !shapes.is_shared(below) => {
            let first = Op::TopK { by: by.clone(), rows: *rows };
            Some(Plan::new(first, Arc::clone(below.method()), below.inputs().to_vec()))
        }
        _ => None,
    }
}
