//! A plan over tables: the same operations over other inputs, static or live.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use formula::Expr;

use super::apply::apply;
use super::fuse::Chain;
use super::input::Input;
use super::lower::live_set;
use super::node::{DEEPEST, Listed, Nodes, Plan};
use super::op::Op;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::Project;
use crate::table::handle::Table;

impl Plan {
    /// The table that the plan makes of these, each given by the name of the input that it is. It is live if one of them
    /// is. Equal parts of the plan are one table, and the optimiser's rules are applied; the table remembers this plan.
    pub fn run(&self, call: impl Into<Call>, given: &[(String, Table)]) -> Result<Table, Error> {
        let call = call.into();
        let bound = bindings(&call.method, &self.nodes(), given)?;
        let nodes = self.optimized().0.nodes();
        let made = last(&call, nodes.over(&call, &bound, &Chain::all(&nodes))?)?;
        Ok(if made.is_live() || self.depth() <= DEEPEST { made.with_plan(self.of_tables(&bound)) } else { made })
    }

    /// As [`Plan::run`], every operation as it was asked for.
    pub fn run_as_written(&self, call: impl Into<Call>, given: &[(String, Table)]) -> Result<Table, Error> {
        let (call, nodes) = (call.into(), self.nodes());
        last(&call, nodes.over(&call, &bindings(&call.method, &nodes, given)?, &[])?)
    }

    /// The plan over these tables: what was asked for, down to their sources.
    fn of_tables(&self, given: &HashMap<String, Table>) -> Plan {
        let mut made: Vec<Plan> = Vec::new();
        for node in self.nodes().0 {
            let inputs = node.inputs.iter().map(|at| made[*at].clone()).collect();
            made.push(match &node.op {
                Op::Input(input) => given[input.name.as_deref().unwrap_or_default()].plan(),
                _ => Plan::new(node.op, node.method, inputs),
            });
        }
        made.pop().unwrap_or_else(|| self.clone())
    }
}

impl Plan {
    /// As [`Plan::run`], over the tables as they are now, all of one step: the result is static.
    pub fn collect(&self, call: impl Into<Call>, given: &[(String, Table)]) -> Result<Table, Error> {
        self.run(call, &still(given)?)
    }

    /// What each node made, and how long it took: of the plan as it is written, and as it runs.
    pub(super) fn measured(&self, call: &Call, given: &[(String, Table)]) -> Result<[Measured; 2], Error> {
        let bound = bindings(&call.method, &self.nodes(), &still(given)?)?;
        let (written, better) = (self.nodes(), self.optimized().0.nodes());
        let chains = Chain::all(&better);
        let (asked, runs) = (written.over(call, &bound, &[])?, better.over(call, &bound, &chains)?);
        Ok([Measured { nodes: written, made: asked }, Measured { nodes: better, made: runs }])
    }
}

/// The nodes of a plan, and what became of each.
pub(super) struct Measured {
    pub(super) nodes: Nodes,
    /// One for each node.
    pub(super) made: Vec<Made>,
}

/// What a node made; no table if the pass of a later node made it on the way.
#[derive(Clone, Default)]
pub(super) struct Made {
    pub(super) table: Option<Table>,
    pub(super) took: Duration,
}

impl Nodes {
    /// What each node makes, the result last. The nodes of a chain run in one pass where they can.
    fn over(&self, call: &Call, given: &HashMap<String, Table>, chains: &[Chain]) -> Result<Vec<Made>, Error> {
        let mut took = vec![Duration::ZERO; self.0.len()];
        let mut made: Vec<Option<Table>> = vec![None; self.0.len()];
        for (place, node) in self.0.iter().enumerate() {
            if let Op::Input(input) = &node.op {
                made[place] = Some(given[input.name.as_deref().unwrap_or_default()].clone());
                continue;
            }
            let start = Instant::now();
            let Some(chain) = chains.iter().find(|chain| chain.places().contains(&place)) else {
                made[place] = Some(over(call, node, &made)?);
                took[place] = start.elapsed();
                continue;
            };
            if place != chain.end() {
                continue;
            }
            made[place] = chain.run(self, &made);
            took[place] = start.elapsed();
            if made[place].is_none() {
                for place in chain.places() {
                    let start = Instant::now();
                    made[*place] = Some(over(call, &self.0[*place], &made)?);
                    took[*place] = start.elapsed();
                }
            }
        }
        Ok(made.into_iter().zip(took).map(|(table, took)| Made { table, took }).collect())
    }
}

/// The table of the last node.
fn last(call: &Call, mut made: Vec<Made>) -> Result<Table, Error> {
    made.pop().and_then(|made| made.table).ok_or_else(|| Error::internal(&call.method, "a plan without a node"))
}

/// The tables as they are now, all of one step.
fn still(given: &[(String, Table)]) -> Result<Vec<(String, Table)>, Error> {
    let tables: Vec<Table> = given.iter().map(|(_, table)| table.clone()).collect();
    let still = crate::table::snapshot::snapshot(&tables)?;
    Ok(given.iter().map(|(name, _)| name.clone()).zip(still).collect())
}

/// The table of a node over those of the nodes before it.
fn over(call: &Call, node: &Listed, made: &[Option<Table>]) -> Result<Table, Error> {
    let inputs: Vec<Table> = node.inputs.iter().filter_map(|at| made[*at].clone()).collect();
    let op = with_sets(&node.method, node.op.clone(), &inputs)?;
    let own = op.arity().unwrap_or(inputs.len());
    let call = Call { method: Arc::clone(&node.method), ..call.clone() };
    apply(op, call, &inputs[..own.min(inputs.len())])
}

/// The operation with the live sets that stand at places among the inputs.
pub(super) fn with_sets(method: &str, op: Op, inputs: &[Table]) -> Result<Op, Error> {
    fn walk(method: &str, expression: &Expr, inputs: &[Table], refused: &mut Option<Error>) -> Expr {
        match expression {
            Expr::InSet { input, set, nulls_equal } => {
                let input = Arc::new(walk(method, input, inputs, refused));
                let table = usize::try_from(set.id).ok().and_then(|at| inputs.get(at));
                let missing = || Error::internal(method, "a live set that is no input");
                match table.ok_or_else(missing).and_then(|table| live_set(method, table)) {
                    Ok(set) => Expr::InSet { input, set, nulls_equal: *nulls_equal },
                    Err(error) => {
                        refused.get_or_insert(error);
                        expression.clone()
                    }
                }
            }
            other if other.reads_tables() => other.map_children(&mut |child| walk(method, child, inputs, refused)),
            other => other.clone(),
        }
    }
    let mut refused = None;
    let op = op.map_expressions(&mut |expression| walk(method, expression, inputs, &mut refused));
    refused.map_or(Ok(op), Err)
}

/// The tables by name, each with the columns of its input. Every input is given, and nothing else is.
fn bindings(operation: &str, nodes: &Nodes, given: &[(String, Table)]) -> Result<HashMap<String, Table>, Error> {
    let wanted: Vec<(&str, &Input)> = nodes.given().collect();
    let names = || wanted.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    if let Some((name, _)) = given.iter().find(|(name, _)| !wanted.iter().any(|(wanted, _)| wanted == name)) {
        return Err(Error::schema(operation, format!("the plan has no input {name:?}; its inputs are {:?}", names())));
    }
    let mut bound = HashMap::with_capacity(wanted.len());
    for (name, input) in &wanted {
        let Some((_, table)) = given.iter().find(|(given, _)| given == name) else {
            let message = format!("the input {name:?} is missing; the plan's inputs are {:?}", names());
            return Err(Error::schema(operation, message));
        };
        input
            .fits(table.schema())
            .map_err(|why| Error::schema(operation, format!("the input {name:?} does not fit: {why}")))?;
        bound.insert((*name).to_owned(), with_columns_of(table, input)?);
    }
    Ok(bound)
}

/// The table with the columns of an input, in their order; what it has besides is left out.
fn with_columns_of(table: &Table, input: &Input) -> Result<Table, Error> {
    let names: Vec<String> = input.schema.fields().iter().map(|field| field.name().clone()).collect();
    if table.schema().fields().iter().map(|field| field.name()).eq(names.iter()) {
        return Ok(table.clone());
    }
    crate::driver::attach::attach(&Project::choose(table, &names)?, std::slice::from_ref(table))
}
