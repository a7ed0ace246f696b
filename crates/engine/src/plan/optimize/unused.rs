//! Columns that nobody reads: they are not computed, not joined and not aggregated.

use std::collections::BTreeSet;

use formula::Expr;

use super::shapes::Shapes;
use super::{Fired, UNUSED, is_of_its_row, is_plain};
use crate::plan::node::{Listed, Plan};
use crate::plan::op::Op;
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// The columns of a node that somebody reads; all without a list.
type Read = Option<BTreeSet<String>>;

/// The plan without computed columns that nobody reads. Each node is asked for what all that stand on it read.
pub(super) fn without_unused(plan: &Plan, fired: &mut Vec<Fired>) -> Option<Plan> {
    let nodes = plan.nodes();
    let mut shapes = Shapes::default();
    let plans = nodes.plans()?;
    let found = plans.iter().map(|plan| shapes.of(plan)).collect::<Option<Vec<Table>>>()?;
    let mut read: Vec<Read> = vec![Some(BTreeSet::new()); nodes.0.len()];
    *read.last_mut()? = None;
    let mut trimmed: Vec<Option<Op>> = vec![None; nodes.0.len()];
    for (place, node) in nodes.0.iter().enumerate().rev() {
        let inputs: Vec<&Table> = node.inputs.iter().map(|at| &found[*at]).collect();
        let wanted = read[place].clone();
        trimmed[place] = wanted.as_ref().and_then(|wanted| smaller(&plans[place], wanted, &inputs, &mut shapes));
        let op = trimmed[place].as_ref().unwrap_or(&node.op);
        for (at, columns) in node.inputs.iter().zip(read_of(op, node, wanted.as_ref(), &inputs)) {
            read[*at] = read[*at].take().zip(columns).map(|(mut known, more)| {
                known.extend(more);
                known
            });
        }
    }
    if trimmed.iter().all(Option::is_none) {
        return Some(plan.clone());
    }
    let mut made: Vec<Plan> = Vec::with_capacity(nodes.0.len());
    for (place, node) in nodes.0.into_iter().enumerate() {
        let inputs = node.inputs.iter().map(|at| made[*at].clone()).collect();
        if trimmed[place].is_some() {
            fired.push(Fired { rule: UNUSED, operation: plans[place].label() });
        }
        made.push(Plan::new(trimmed[place].take().unwrap_or(node.op), node.method, inputs));
    }
    // Believed only if it is a plan over no rows as well.
    let last = made.pop()?;
    shapes.of(&last).is_some().then_some(last)
}

/// The operation without the columns that nobody reads, if it makes such columns and none of them can fail.
fn smaller(plan: &Plan, wanted: &BTreeSet<String>, inputs: &[&Table], shapes: &mut Shapes) -> Option<Op> {
    if !is_plain(plan) {
        return None;
    }
    let unread = |one: &Expr| one.output_name().is_ok_and(|name| !wanted.contains(&name));
    let input = plan.inputs().first()?;
    match plan.op() {
        Op::Columns { columns, keep, orders, materialization, on_error: OnError::Fail, sequential: false }
            if orders.is_empty() && columns.iter().all(is_of_its_row) =>
        {
            // A column that replaces one of the input stays with its name: what is below it must not show through.
            let replaces =
                |one: &Expr| *keep && one.output_name().is_ok_and(|name| inputs[0].schema().index_of(&name).is_ok());
            let gone: Vec<Expr> = columns.iter().filter(|one| unread(one) && !replaces(one)).cloned().collect();
            let all = gone.len() == columns.len();
            if gone.is_empty() || all || !shapes.are_total(input, &gone) {
                return None;
            }
            let columns = columns.iter().filter(|one| !gone.contains(one)).cloned().collect();
            let (keep, materialization) = (*keep, *materialization);
            Some(Op::Columns {
                columns,
                keep,
                orders: vec![],
                materialization,
                on_error: OnError::Fail,
                sequential: false,
            })
        }
        Op::Aggregate { keys, aggregates, on_error: OnError::Fail } if !keys.is_empty() => {
            let inputs_of = |one: &Expr| one.children().cloned().collect::<Vec<Expr>>();
            let is_gone = |one: &Expr| unread(one) && matches!(one.unaliased(), Expr::Aggregate { .. });
            let gone: Vec<Expr> = aggregates.iter().filter(|one| is_gone(one)).cloned().collect();
            let computed: Vec<Expr> = gone.iter().flat_map(|one| inputs_of(one.unaliased())).collect();
            if gone.is_empty() || !computed.iter().all(is_of_its_row) || !shapes.are_total(input, &computed) {
                return None;
            }
            let aggregates = aggregates.iter().filter(|one| !gone.contains(one)).cloned().collect();
            Some(Op::Aggregate { keys: keys.clone(), aggregates, on_error: OnError::Fail })
        }
        Op::NaturalJoin { on, joins: Some(joins), suffix: None, matches, nulls_equal, on_error: OnError::Fail } => {
            let joins: Vec<_> = smaller_joins(joins, wanted)?;
            let (on, matches, nulls_equal) = (on.clone(), *matches, *nulls_equal);
            Some(Op::NaturalJoin {
                on,
                joins: Some(joins),
                suffix: None,
                matches,
                nulls_equal,
                on_error: OnError::Fail,
            })
        }
        _ => None,
    }
}

/// The right columns that somebody reads, if there are fewer of them and one at least.
fn smaller_joins(joins: &[(String, String)], wanted: &BTreeSet<String>) -> Option<Vec<(String, String)>> {
    let kept: Vec<(String, String)> = joins.iter().filter(|(new, _)| wanted.contains(new)).cloned().collect();
    (!kept.is_empty() && kept.len() < joins.len()).then_some(kept)
}

/// The columns of each input that an operation reads for the columns that are wanted of it; all where nothing is known.
fn read_of(op: &Op, node: &Listed, wanted: Option<&BTreeSet<String>>, inputs: &[&Table]) -> Vec<Read> {
    let all = || vec![None; node.inputs.len()];
    if op.arity() != Some(1) || node.inputs.len() != 1 {
        return all();
    }
    let of = |expressions: &[Expr]| -> BTreeSet<String> {
        expressions.iter().flat_map(Expr::columns).map(str::to_owned).collect()
    };
    let of_its_row = |expressions: &[Expr]| expressions.iter().all(is_of_its_row);
    let passed = wanted.cloned();
    let with = |more: BTreeSet<String>| passed.clone().map(|passed| passed.into_iter().chain(more).collect());
    let read: Read = match op {
        Op::Filter { predicates, .. } if of_its_row(predicates) => with(of(predicates)),
        Op::Columns { columns, keep: true, .. } if of_its_row(columns) => with(of(columns)),
        Op::Columns { columns, keep: false, .. } if of_its_row(columns) => Some(of(columns)),
        Op::Choose { names, .. } => Some(names.iter().cloned().collect()),
        Op::Drop { .. } | Op::Head { .. } | Op::Tail { .. } | Op::Slice { .. } | Op::Extent(_) => passed,
        Op::Reverse | Op::Flatten => passed,
        Op::BlinkToAppendOnly | Op::AddOnlyToBlink | Op::RemoveBlink => passed,
        Op::Explode(how) => with(how.columns.iter().cloned().collect()),
        Op::GroupLimit { keys, .. } => with(keys.iter().cloned().collect()),
        Op::Sort { by } | Op::TopK { by, .. } | Op::InOrder { by, .. } => {
            with(by.iter().map(|by| by.column.clone()).collect())
        }
        Op::Aggregate { keys, aggregates, .. } if of_its_row(keys) => {
            let is_simple = |one: &Expr| {
                matches!(one.unaliased(), Expr::Aggregate { .. }) && one.children().all(is_of_its_row_below)
            };
            aggregates.iter().all(is_simple).then(|| of(keys).into_iter().chain(of(aggregates)).collect())
        }
        _ => None,
    };
    // What is passed on has the names of the input, or is made here.
    let there = |name: &String| inputs[0].schema().index_of(name).is_ok();
    let read = read.map(|names| names.into_iter().filter(there).collect());
    // A node that names columns reads them whether somebody wants them or not.
    match op {
        Op::Drop { names } => {
            vec![read.map(|read: BTreeSet<String>| read.into_iter().chain(names.iter().cloned()).collect())]
        }
        _ => vec![read],
    }
}

fn is_of_its_row_below(expression: &Expr) -> bool {
    match expression {
        Expr::Aggregate { inputs, .. } => inputs.iter().all(is_of_its_row),
        other => is_of_its_row(other),
    }
}
