//! Groups above computed columns: the aggregation computes what it reads, and no column is stored in between.

use std::collections::HashMap;
use std::sync::Arc;

use formula::Expr;

use super::is_plain;
use super::projections::{passed_columns, renamed};
use super::shapes::Shapes;
use crate::plan::node::Plan;
use crate::plan::op::Op;
use crate::row_errors::OnError;

/// Aggregates of the expressions themselves, where no key is computed. An expression that several aggregates read is computed
/// once: the aggregation knows equal inputs.
pub(super) fn columns_into_aggregates(plan: &Plan, shapes: &mut Shapes) -> Option<Plan> {
    let Op::Aggregate { keys, aggregates, on_error: OnError::Fail } = plan.op() else { return None };
    let below = &plan.inputs()[0];
    let Op::Columns { columns, .. } = below.op() else { return None };
    if !is_plain(plan) || shapes.is_shared(below) || shapes.of(below)?.attributes().blink {
        return None;
    }
    // What may fail is told as its user wrote it: with the names of columns, and by the operation that makes them.
    if !shapes.are_total(&below.inputs()[0], columns) || !shapes.are_total_of_groups(below, aggregates) {
        return None;
    }
    let passed = passed_columns(below, shapes)?;
    let keys = keys.iter().map(|key| Some(renamed(key, &passed)?.alias(key.output_name().ok()?)));
    let keys = keys.collect::<Option<Vec<Expr>>>()?;
    let mut known: HashMap<String, Expr> =
        passed.into_iter().map(|(name, old)| (name, Expr::column(old.as_str()))).collect();
    for column in columns {
        known.insert(column.output_name().ok()?, column.unaliased().clone());
    }
    let computed = |one: &Expr| {
        let name = one.output_name().ok()?;
        in_aggregates(one, &known)?.alias(name).within_limits().ok()
    };
    let aggregates = aggregates.iter().map(computed).collect::<Option<Vec<Expr>>>()?;
    let op = Op::Aggregate { keys, aggregates, on_error: OnError::Fail };
    Some(Plan::new(op, Arc::clone(plan.method()), below.inputs().to_vec()))
}

/// The expression with other expressions in place of the columns that its aggregates read. Outside of them it reads keys.
fn in_aggregates(expression: &Expr, known: &HashMap<String, Expr>) -> Option<Expr> {
    fn placed(expression: &Expr, known: &HashMap<String, Expr>, missing: &mut bool) -> Expr {
        match expression {
            Expr::Column(name) => known.get(&**name).cloned().unwrap_or_else(|| {
                *missing = true;
                expression.clone()
            }),
            other => other.map_children(&mut |child| placed(child, known, missing)),
        }
    }
    fn walk(expression: &Expr, known: &HashMap<String, Expr>, missing: &mut bool) -> Expr {
        match expression {
            Expr::Aggregate { .. } => expression.map_children(&mut |child| placed(child, known, missing)),
            Expr::Over { .. } | Expr::InSet { .. } => {
                *missing = true;
                expression.clone()
            }
            other => other.map_children(&mut |child| walk(child, known, missing)),
        }
    }
    let mut missing = false;
    let made = walk(expression, known, &mut missing);
    (!missing).then_some(made)
}
