//! A plan over one table, as a plan over many tables in one: each row carries the key of the table that it is of.
//!
//!   plan     filter(V > 1)    agg(V.sum(), by K)
//!   lifted   filter(V > 1)    agg(V.sum(), by K and key)
//!
//! What the plan makes of each table is what the lifted plan makes of all, row by row and in the same order. So only
//! operations are lifted that read single rows or the rows of a group, and only what cannot fail: a row that fails fails the
//! table that it is of, and no other. Groups stand in the order in which they came, which whoever asks later does not know:
//! nothing that picks rows by their order is lifted above them.

use std::collections::HashSet;

use formula::Expr;
use formula::aggregates::Reads;

use super::bounds::GroupBounds;
use super::input::Input;
use super::node::{Nodes, Plan};
use super::op::Op;
use super::optimize::{Shapes, is_of_its_row, is_plain, read};
use super::spec::Keep;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::Project;
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// The name of the one input.
const GIVEN: &str = "constituent";

/// A plan that is lifted.
pub(crate) struct Lift {
    plan: Plan,
    nodes: Nodes,
    /// The names of all columns of all its nodes.
    names: HashSet<String>,
    /// Whether rows of its result stand in the order in which they came.
    came: bool,
}

impl Lift {
    /// The plan by which a table was made of another, if it is one that can be lifted. `came` says whether the rows of the
    /// other stand in the order in which they came.
    pub(crate) fn of(made: &Table, given: &Table, came: bool) -> Option<Lift> {
        let plan = between(made, given);
        let (mut shapes, mut names) = (Shapes::default(), HashSet::new());
        let nodes = plan.nodes();
        let mut orders: Vec<bool> = Vec::with_capacity(nodes.0.len());
        for (plan, node) in nodes.plans()?.into_iter().zip(&nodes.0) {
            let below = node.inputs.first().map_or(came, |input| orders[*input]);
            if !lifts(&plan, &mut shapes) || below && picks_by_order(plan.op()) {
                return None;
            }
            orders.push(below || groups(plan.op()));
            names.extend(shapes.of(&plan)?.schema().fields().iter().map(|field| field.name().clone()));
        }
        Some(Lift { plan, nodes, names, came: orders.pop()? })
    }

    /// Whether rows of its result stand in the order in which they came, which whoever asks later does not know.
    pub(crate) fn came(&self) -> bool {
        self.came
    }

    /// Whether a table was made of another by this plan.
    pub(crate) fn is_of(&self, made: &Table, given: &Table) -> bool {
        between(made, given).nodes() == self.nodes
    }

    /// What the plan makes of one table.
    pub(crate) fn run(&self, call: &Call, given: &Table) -> Result<Table, Error> {
        self.plan.run_as_written(call.clone(), &[(GIVEN.into(), given.clone())])
    }

    /// What it makes of many tables in one: of these columns, each row with the key in those. The result has the columns of
    /// the plan's, and the keys under the names that come with it.
    pub(crate) fn lifted(
        &self,
        call: &Call,
        table: &Table,
        columns: &[usize],
        keys: &[usize],
    ) -> Result<(Table, Vec<String>), Error> {
        let names: Vec<String> = (0..keys.len()).map(|at| self.free_name(at)).collect();
        let own = columns.iter().map(|at| (*at, table.schema().field(*at).name().clone()));
        let base = own.chain(keys.iter().copied().zip(names.iter().cloned())).collect();
        let base = call.attach(&Project::of(&call.method, base)?, std::slice::from_ref(table))?;
        let mut made: Vec<Table> = Vec::with_capacity(self.nodes.0.len());
        for node in &self.nodes.0 {
            let Some(input) = node.inputs.first() else {
                made.push(base.clone());
                continue;
            };
            let call = Call { method: node.method.clone(), ..call.clone() };
            made.push(super::apply(with_keys(&node.op, &names), call, std::slice::from_ref(&made[*input]))?);
        }
        Ok((made.pop().unwrap_or(base), names))
    }

    /// A name for a column of keys that no column of the plan has.
    fn free_name(&self, at: usize) -> String {
        let mut name = format!("constituent key {at}");
        while self.names.contains(&name) {
            name.push('\'');
        }
        name
    }
}

/// The plan by which a table was made, over another one as its input of the name `GIVEN`.
fn between(made: &Table, given: &Table) -> Plan {
    let input = Input { name: Some(GIVEN.into()), source: None, schema: given.schema().clone() };
    made.plan().over(&[(given.plan(), input)])
}

/// Whether a node is lifted.
fn lifts(plan: &Plan, shapes: &mut Shapes) -> bool {
    let Some(below) = plan.inputs().first() else {
        return matches!(plan.op(), Op::Input(Input { name: Some(name), source: None, .. }) if name == GIVEN);
    };
    let mut are_total = |read: &[Expr]| read.iter().all(is_of_its_row) && shapes.are_total(below, read);
    is_plain(plan)
        && match plan.op() {
            Op::Filter { predicates, orders, on_error: OnError::Fail } => orders.is_empty() && are_total(predicates),
            Op::Columns { columns, orders, on_error: OnError::Fail, sequential: false, .. } => {
                orders.is_empty() && are_total(columns)
            }
            Op::Choose { .. } | Op::Drop { .. } | Op::Rename { .. } => true,
            Op::Aggregate { keys, aggregates, on_error: OnError::Fail } => {
                aggregates.iter().all(is_aggregate) && are_total(&read(keys, aggregates))
            }
            Op::Distinct { bounds, .. } => *bounds == GroupBounds::default(),
            // Rows that are in order, or in the opposite one, are so within each table.
            Op::Sort { .. } | Op::Reverse | Op::GroupLimit { .. } | Op::Head { .. } | Op::Tail { .. } => true,
            _ => false,
        }
}

/// Whether the rows of a result are groups, in the order in which these came.
fn groups(op: &Op) -> bool {
    match op {
        Op::Aggregate { keys, .. } => !keys.is_empty(),
        Op::Distinct { .. } | Op::GroupLimit { .. } => true,
        _ => false,
    }
}

/// Whether the values of a result depend on the order of the rows below.
fn picks_by_order(op: &Op) -> bool {
    let by_order = |expression: &Expr| match expression.unaliased() {
        Expr::Aggregate { kind, .. } => matches!(kind.declaration().reads, Reads::End | Reads::Whole),
        _ => true,
    };
    match op {
        Op::Aggregate { aggregates, .. } => aggregates.iter().any(by_order),
        Op::Distinct { .. } | Op::GroupLimit { .. } | Op::Head { .. } | Op::Tail { .. } => true,
        _ => false,
    }
}

/// Whether an expression is one aggregate. What is computed of several may fail.
fn is_aggregate(expression: &Expr) -> bool {
    matches!(expression.unaliased(), Expr::Aggregate { .. })
}

/// The operation over rows that carry keys under these names.
fn with_keys(op: &Op, names: &[String]) -> Op {
    let mut op = op.clone();
    let expressions = || names.iter().map(|name| Expr::column(name.as_str()));
    let group = |rows: u64, keep: Keep| Op::GroupLimit { keys: names.to_vec(), rows, keep };
    match &mut op {
        Op::Columns { columns, keep: false, .. } => columns.extend(expressions()),
        Op::Choose { names: chosen } => chosen.extend_from_slice(names),
        Op::Aggregate { keys, .. } => keys.extend(expressions()),
        // Without keys all columns are, and those that are carried with them.
        Op::Distinct { keys, .. } if keys.is_empty() => {}
        Op::Distinct { keys, .. } | Op::GroupLimit { keys, .. } => keys.extend_from_slice(names),
        Op::Head { rows } => op = group(*rows, Keep::First),
        Op::Tail { rows } => op = group(*rows, Keep::Last),
        _ => {}
    }
    op
}
