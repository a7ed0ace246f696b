//! The optimiser: a plan that gives the same table by less work.
//!
//! No rule changes values, the order of rows, attributes, or which error a user reads. So a rule moves only expressions that
//! compute one row from that row alone, and past others only what cannot fail ([`formula::Expr::is_total`]); a node that
//! several others stand on is left as it is.
//!
//! A rule rewrites one node over inputs that are rewritten already. What it moves down is rewritten again where it arrives. The
//! type of a node is found by running its operation over no rows, so there is no second account of what operations do.

mod aggregates;
mod concat;
mod constants;
mod filters;
mod groups;
mod joins;
mod limits;
mod projections;
mod reductions;
mod shapes;
mod sorts;
mod unused;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use formula::Expr;

pub(super) use self::groups::read;
pub(super) use self::reductions::Reduction;
pub(super) use self::shapes::Shapes;
use super::node::Plan;
use super::op::Op;
use crate::row_errors::OnError;

/// A rule that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// The name of the rule.
    pub rule: &'static str,
    /// The operation that it moved or made smaller, as it was.
    pub operation: String,
}

/// A rule: the node rewritten, or none where it does not apply.
struct Rule {
    name: &'static str,
    rewrite: fn(&Plan, &mut Shapes) -> Option<Plan>,
}

/// The rules for one node, in the order in which they are tried.
const RULES: [Rule; 10] = [
    Rule { name: "true predicates", rewrite: constants::without_true },
    Rule { name: "filters merge", rewrite: filters::merged },
    Rule { name: "filter below columns", rewrite: projections::filter_below_columns },
    Rule { name: "filter below sort", rewrite: sorts::filter_below_sort },
    Rule { name: "filter below concat", rewrite: concat::filter_below_concat },
    Rule { name: "filter below groups", rewrite: groups::filter_below_groups },
    Rule { name: "filter below join", rewrite: joins::filter_below_join },
    Rule { name: "columns into aggregates", rewrite: aggregates::columns_into_aggregates },
    Rule { name: "limit below columns", rewrite: limits::limit_below_columns },
    Rule { name: "limit into sort", rewrite: limits::head_of_sort },
];

/// A filter sinks through so many operations.
const DEEPEST: usize = 256;

/// The rule that drops what nobody reads. It looks at the plan as a whole, after the others.
const UNUSED: &str = "unused columns";

impl Plan {
    /// A plan that gives the same table by less work, and the rules that made it. A plan that fails over no rows is left as it
    /// is: its error is told where it runs.
    pub fn optimized(&self) -> (Plan, Vec<Fired>) {
        self.optimized_by(|_| true)
    }

    /// The names of all rules that [`Plan::optimized`] knows.
    pub fn rules() -> impl Iterator<Item = &'static str> {
        RULES.iter().map(|rule| rule.name).chain([UNUSED])
    }

    /// [`Plan::optimized`] by some of the rules alone.
    pub fn optimized_by(&self, chosen: impl Fn(&str) -> bool) -> (Plan, Vec<Fired>) {
        let rules: Vec<&Rule> = RULES.iter().filter(|rule| chosen(rule.name)).collect();
        let mut moves = Moves { rules, shapes: Shapes::default(), fired: Vec::new() };
        let moved = moves.plan(self);
        let mut fired = moves.fired;
        let trimmed = match chosen(UNUSED) {
            true => moved.and_then(|moved| unused::without_unused(&moved, &mut fired)),
            false => moved,
        };
        match trimmed {
            Some(plan) if !fired.is_empty() => (plan, fired),
            _ => (self.clone(), Vec::new()),
        }
    }
}

/// The rules for single nodes at work on one plan.
struct Moves {
    rules: Vec<&'static Rule>,
    shapes: Shapes,
    fired: Vec<Fired>,
}

impl Moves {
    /// The plan after the rules.
    fn plan(&mut self, plan: &Plan) -> Option<Plan> {
        let nodes = plan.nodes();
        let uses = nodes.uses();
        let mut made: Vec<Plan> = Vec::with_capacity(nodes.0.len());
        for (place, node) in nodes.0.into_iter().enumerate() {
            let inputs = node.inputs.iter().map(|at| made[*at].clone()).collect();
            let written = Plan::new(node.op, node.method, inputs);
            self.shapes.of(&written)?;
            let moved = self.node(written, DEEPEST);
            if uses[place] > 1 {
                self.shapes.share(&moved);
            }
            made.push(moved);
        }
        made.pop()
    }

    /// A node after every rule that applies to it and to what they moved below it.
    fn node(&mut self, plan: Plan, depth: usize) -> Plan {
        let mut plan = plan;
        if depth == 0 {
            return plan;
        }
        loop {
            let found = self.rules.iter().find_map(|rule| Some((rule.name, (rule.rewrite)(&plan, &mut self.shapes)?)));
            let Some((rule, rewritten)) = found else { return plan };
            // A rewritten node is believed only if it is one over no rows as well.
            if self.shapes.of(&rewritten).is_none() {
                return plan;
            }
            self.fired.push(Fired { rule, operation: plan.label() });
            let below = plan.inputs();
            let inputs = rewritten.inputs().iter().map(|input| match below.iter().any(|known| known.is(input)) {
                true => input.clone(),
                false => self.node(input.clone(), depth - 1),
            });
            plan = Plan::new(rewritten.op().clone(), Arc::clone(rewritten.method()), inputs.collect());
        }
    }
}

/// A node whose inputs are those of its operation alone: no expression in it reads another table.
pub(super) fn is_plain(plan: &Plan) -> bool {
    plan.op().arity().is_none_or(|arity| arity == plan.inputs().len())
}

/// The predicates of a filter that nothing holds in its place: no function of the user, no other row, no policy for errors.
fn movable_predicates(plan: &Plan) -> Option<&[Expr]> {
    match plan.op() {
        Op::Filter { predicates, orders, on_error: OnError::Fail } if orders.is_empty() && is_plain(plan) => {
            predicates.iter().all(is_of_its_row).then_some(predicates)
        }
        _ => None,
    }
}

/// A filter of the same method and kind over another input.
fn filter_like(filter: &Plan, predicates: Vec<Expr>, input: Plan) -> Plan {
    Plan::new(
        Op::Filter { predicates, orders: Vec::new(), on_error: OnError::Fail },
        Arc::clone(filter.method()),
        vec![input],
    )
}

/// Whether the value of a row is computed of that row alone, by nothing of the user's.
pub(super) fn is_of_its_row(expression: &Expr) -> bool {
    !expression.needs_context() && !expression.reads_groups() && !expression.calls_host() && !expression.is_volatile()
}

/// The terms of conjunctions, those that `below` takes and the others.
fn parted(predicates: &[Expr], below: impl Fn(&Expr) -> Option<Expr>) -> (Vec<Expr>, Vec<Expr>) {
    let (mut sunk, mut kept) = (Vec::new(), Vec::new());
    for term in predicates.iter().flat_map(formula::split_conjunction) {
        match below(term) {
            Some(term) => sunk.push(term),
            None => kept.push(term.clone()),
        }
    }
    (sunk, kept)
}

/// What stays of a filter above a node that its other terms went below.
fn kept_above(filter: &Plan, kept: Vec<Expr>, node: Plan) -> Plan {
    if kept.is_empty() { node } else { filter_like(filter, kept, node) }
}

/// A node of the same operation over other inputs.
fn over(node: &Plan, inputs: Vec<Plan>) -> Plan {
    Plan::new(node.op().clone(), Arc::clone(node.method()), inputs)
}
