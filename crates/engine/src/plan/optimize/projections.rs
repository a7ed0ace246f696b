//! A filter above columns: over the same rows, before the columns are computed.

use std::collections::HashMap;

use formula::Expr;

use super::shapes::Shapes;
use super::{filter_like, is_of_its_row, is_plain, kept_above, movable_predicates, over, parted};
use crate::plan::node::Plan;
use crate::plan::op::Op;
use crate::row_errors::OnError;

/// Terms that read only columns which the node below passes on go below it, under the names that the columns have there.
pub(super) fn filter_below_columns(plan: &Plan, shapes: &mut Shapes) -> Option<Plan> {
    let predicates = movable_predicates(plan)?;
    let below = &plan.inputs()[0];
    let passed = passed_columns(below, shapes)?;
    if shapes.is_shared(below) || !shapes.are_total(below, predicates) {
        return None;
    }
    let (sunk, kept) = parted(predicates, |term| renamed(term, &passed));
    if sunk.is_empty() {
        return None;
    }
    let filtered = filter_like(plan, sunk, below.inputs()[0].clone());
    Some(kept_above(plan, kept, over(below, vec![filtered])))
}

/// The columns that a node over the same rows passes on: their names, and those they had. None of a node of other rows, or of
/// one that must see every row.
pub(super) fn passed_columns(node: &Plan, shapes: &mut Shapes) -> Option<HashMap<String, String>> {
    if !is_plain(node) || node.inputs().len() != 1 {
        return None;
    }
    let shape = shapes.of(&node.inputs()[0])?;
    let mut passed: HashMap<String, String> =
        shape.schema().fields().iter().map(|field| (field.name().clone(), field.name().clone())).collect();
    match node.op() {
        Op::Choose { .. } | Op::Drop { .. } => Some(passed),
        Op::Rename { names } => {
            for (old, _) in names {
                passed.remove(old);
            }
            passed.extend(names.iter().map(|(old, new)| (new.clone(), old.clone())));
            Some(passed)
        }
        Op::Columns { columns, keep, orders, on_error: OnError::Fail, sequential: false, .. }
            if orders.is_empty()
                && columns.iter().all(is_of_its_row)
                && shapes.are_total(&node.inputs()[0], columns) =>
        {
            let mut made: HashMap<String, String> = HashMap::new();
            for column in columns {
                let name = column.output_name().ok()?;
                passed.remove(&name);
                if let Expr::Column(old) = column.unaliased() {
                    made.insert(name, old.to_string());
                }
            }
            // One that makes a single row of all is no node over the same rows.
            let rows_stay = *keep || columns.iter().any(|column| !column.columns().is_empty());
            if !keep {
                passed.clear();
            }
            passed.extend(made);
            rows_stay.then_some(passed)
        }
        _ => None,
    }
}

/// The expression over columns of other names; none if it reads one that has none.
pub(super) fn renamed(expression: &Expr, names: &HashMap<String, String>) -> Option<Expr> {
    if !expression.columns().iter().all(|name| names.contains_key(*name)) {
        return None;
    }
    fn walk(expression: &Expr, names: &HashMap<String, String>) -> Expr {
        match expression {
            Expr::Column(name) => Expr::column(names[&**name].as_str()),
            other => other.map_children(&mut |child| walk(child, names)),
        }
    }
    Some(walk(expression, names))
}
