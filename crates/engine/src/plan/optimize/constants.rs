//! Predicates that are true in every row.

use std::sync::Arc;

use formula::Expr;

use super::shapes::Shapes;
use super::{is_plain, movable_predicates};
use crate::plan::node::Plan;
use crate::plan::op::Op;

/// A filter without the predicates that are the value true; nothing at all where none is left.
pub(super) fn without_true(plan: &Plan, _: &mut Shapes) -> Option<Plan> {
    let predicates = movable_predicates(plan)?;
    let holds = |predicate: &&Expr| *predicate.unaliased() != Expr::literal(true);
    let kept: Vec<Expr> = predicates.iter().filter(holds).cloned().collect();
    if kept.len() == predicates.len() || !is_plain(plan) {
        return None;
    }
    if kept.is_empty() {
        return Some(plan.inputs()[0].clone());
    }
    let Op::Filter { turns, on_error, .. } = plan.op() else { return None };
    let op = Op::Filter { predicates: kept, turns: turns.clone(), on_error: *on_error };
    Some(Plan::new(op, Arc::clone(plan.method()), plan.inputs().to_vec()))
}
