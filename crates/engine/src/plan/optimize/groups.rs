//! A filter by keys above groups: only the groups that it keeps are made.

use std::collections::HashMap;

use formula::{Expr, Function};

use super::projections::renamed;
use super::shapes::Shapes;
use super::{filter_like, is_plain, kept_above, movable_predicates, over, parted};
use crate::plan::bounds::GroupBounds;
use crate::plan::node::Plan;
use crate::plan::op::Op;
use crate::row_errors::OnError;

/// Terms that only compare key columns go below the groups.
///
/// Values that are one key may differ (`0.0` and `-0.0`), and comparisons do not tell them apart; another function may.
pub(super) fn filter_below_groups(plan: &Plan, shapes: &mut Shapes) -> Option<Plan> {
    let predicates = movable_predicates(plan)?;
    let below = &plan.inputs()[0];
    if shapes.is_shared(below) || !is_plain(below) || !shapes.are_total(below, predicates) {
        return None;
    }
    let input = below.inputs().first()?.clone();
    let keys: HashMap<String, String> = match below.op() {
        Op::Aggregate { keys, aggregates, on_error: OnError::Fail }
            if shapes.are_total(&input, keys) && shapes.are_total_of_groups(&input, aggregates) =>
        {
            let key = |key: &Expr| match key.unaliased() {
                Expr::Column(old) => Some((key.output_name().ok()?, old.to_string())),
                _ => None,
            };
            keys.iter().filter_map(key).collect()
        }
        // Which groups are held depends on the others that there are.
        Op::Distinct { bounds, .. } if *bounds != GroupBounds::default() => return None,
        Op::Distinct { keys, .. } | Op::GroupLimit { keys, .. } => {
            keys.iter().map(|key| (key.clone(), key.clone())).collect()
        }
        _ => return None,
    };
    let (sunk, kept) = parted(predicates, |term| if compares(term) { renamed(term, &keys) } else { None });
    if sunk.is_empty() {
        return None;
    }
    Some(kept_above(plan, kept, over(below, vec![filter_like(plan, sunk, input)])))
}

/// What an aggregation computes of single rows. An aggregate itself cannot fail over rows that it has.
pub(in crate::plan) fn read(keys: &[Expr], aggregates: &[Expr]) -> Vec<Expr> {
    fn inputs(expression: &Expr, found: &mut Vec<Expr>) {
        match expression {
            Expr::Aggregate { inputs, .. } => found.extend(inputs.iter().cloned()),
            other => other.children().for_each(|child| inputs(child, found)),
        }
    }
    let mut found = keys.to_vec();
    aggregates.iter().for_each(|aggregate| inputs(aggregate, &mut found));
    found
}

/// Whether an expression only compares columns and values.
fn compares(expression: &Expr) -> bool {
    match expression.unaliased() {
        Expr::Column(_) | Expr::Literal(_) => true,
        Expr::Call { function, args } => {
            let joins = matches!(function, Function::And | Function::Or | Function::Xor | Function::Not);
            let asks_for_null = matches!(function, Function::IsNull | Function::IsNotNull);
            (function.is_comparison() || joins || asks_for_null) && args.iter().all(compares)
        }
        _ => false,
    }
}
