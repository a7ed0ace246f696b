//! What each node of a plan gives, as a table without rows: names, types, attributes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use formula::Expr;

use crate::plan::apply::apply;
use crate::plan::node::Plan;
use crate::plan::op::Op;
use crate::plan::sets::with_sets;
use crate::sources::from_chunks;
use crate::table::handle::Table;

/// The shapes of the nodes that were looked at, and which nodes several others stand on.
#[derive(Default)]
pub(in crate::plan) struct Shapes {
    known: HashMap<usize, (Plan, Table)>,
    shared: HashSet<usize>,
}

impl Shapes {
    /// The shape of a node; none where its operation does not fit its inputs.
    pub(in crate::plan) fn of(&mut self, plan: &Plan) -> Option<Table> {
        if let Some((_, known)) = self.known.get(&plan.address()) {
            return Some(known.clone());
        }
        let made = match plan.op() {
            Op::Input(input) => {
                let columns = vec![Vec::new(); input.schema.fields().len()];
                from_chunks(Arc::clone(&input.schema), columns, 0).ok()?
            }
            op => {
                let inputs = plan.inputs().iter().map(|input| self.of(input)).collect::<Option<Vec<Table>>>()?;
                let op = with_sets(plan.method(), op.clone(), &inputs).ok()?;
                let own = op.arity().unwrap_or(inputs.len());
                apply(op, plan.method(), inputs.get(..own)?).ok()?
            }
        };
        // The plan is kept with its shape: its address is its name here.
        self.known.insert(plan.address(), (plan.clone(), made.clone()));
        Some(made)
    }

    /// Whether none of these can fail over the rows of a node.
    pub(in crate::plan) fn are_total(&mut self, plan: &Plan, expressions: &[Expr]) -> bool {
        self.of(plan).is_some_and(|shape| expressions.iter().all(|one| one.is_total(shape.canonical())))
    }

    /// Whether nothing that is computed for each group of a node's rows can fail.
    pub(in crate::plan) fn are_total_of_groups(&mut self, plan: &Plan, expressions: &[Expr]) -> bool {
        self.of(plan).is_some_and(|shape| expressions.iter().all(|one| one.is_total_of_groups(shape.canonical())))
    }

    /// Several nodes stand on it: what is moved below it for one of them would be computed twice.
    pub(super) fn share(&mut self, plan: &Plan) {
        self.shared.insert(plan.address());
    }

    /// Whether several nodes stand on it.
    pub(super) fn is_shared(&self, plan: &Plan) -> bool {
        self.shared.contains(&plan.address())
    }
}
