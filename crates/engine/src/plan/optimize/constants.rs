//! Predicates that are true in every row.

use formula::Expr;

use super::shapes::Shapes;
use super::{filter_like, movable_predicates};
use crate::plan::node::Plan;

/// A filter without the predicates that are the value true; nothing at all where none is left.
pub(super) fn without_true(plan: &Plan, _: &mut Shapes) -> Option<Plan> {
    let predicates = movable_predicates(plan)?;
    let holds = |predicate: &&Expr| *predicate.unaliased() != Expr::literal(true);
    let kept: Vec<Expr> = predicates.iter().filter(holds).cloned().collect();
    if kept.len() == predicates.len() {
        return None;
    }
    let input = plan.inputs()[0].clone();
    Some(if kept.is_empty() { input } else { filter_like(plan, kept, input) })
}
