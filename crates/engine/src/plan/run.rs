//! A plan over tables: the same operations over other inputs, static or live.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::apply::apply;
use super::fuse::Chain;
use super::input::Input;
use super::node::{DEEPEST, Listed, Nodes, Plan};
use super::op::Op;
use super::optimize::{Fired, Reduction};
use super::sets::with_sets;
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
        let made = last(&call, self.optimized().0.nodes().over(&call, &bound, How::Reduced)?.made)?;
        Ok(if made.is_live() || self.depth() <= DEEPEST { made.with_plan(self.of_tables(&bound)) } else { made })
    }

    /// As [`Plan::run`], every operation as it was asked for.
    pub fn run_as_written(&self, call: impl Into<Call>, given: &[(String, Table)]) -> Result<Table, Error> {
        let (call, nodes) = (call.into(), self.nodes());
        let bound = bindings(&call.method, &nodes, given)?;
        last(&call, nodes.over(&call, &bound, How::Written)?.made)
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
        let runs = |nodes: Nodes, how: How| nodes.over(call, &bound, how);
        Ok([runs(self.nodes(), How::Written)?, runs(self.optimized().0.nodes(), How::Reduced)?])
    }
}

/// The nodes of a plan, and what became of each.
pub(super) struct Measured {
    pub(super) nodes: Nodes,
    /// One for each node.
    pub(super) made: Vec<Made>,
    /// The groups that were made of fewer rows, for what was known by then.
    pub(super) fired: Vec<Fired>,
}

/// How the nodes of a plan run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// One by one.
    Written,
    /// Chains in one pass, and groups of the rows that a join asks for.
    Reduced,
}

/// What a node made; no table if the pass of a later node made it on the way.
#[derive(Clone, Default)]
pub(super) struct Made {
    pub(super) table: Option<Table>,
    pub(super) took: Duration,
}

impl Nodes {
    /// What each node makes, the result last. The nodes of a chain run in one pass where they can; groups that a join looks
    /// up by few keys are made of those alone, and the list has one node more.
    fn over(mut self, call: &Call, given: &HashMap<String, Table>, how: How) -> Result<Measured, Error> {
        let reduced = how == How::Reduced;
        let mut chains = if reduced { Chain::all(&self) } else { Vec::new() };
        let mut reductions = if reduced { Reduction::all(&self, given.values()) } else { Vec::new() };
        let (mut made, mut fired): (Vec<Made>, _) = (vec![Made::default(); self.0.len()], Vec::new());
        let mut place = 0;
        while place < self.0.len() {
            if let Some(at) = reductions.iter().position(|reduction| reduction.above == place) {
                let reduction = reductions.swap_remove(at);
                if reduction.pays(|at| rows_below(at, &chains, &made)) {
                    fired.push(reduction.apply(&mut self, &mut reductions));
                    made.insert(place, Made::default());
                    chains = Chain::all(&self);
                    // Links of a chain that ends behind the new node have not run.
                    place = 0;
                    continue;
                }
            }
            if made[place].table.is_none() {
                self.make(call, given, place, &chains, &mut made)?;
            }
            place += 1;
        }
        Ok(Measured { nodes: self, made, fired })
    }

    /// Makes the table of a node; that of a link of a chain is made, or passed by, at the end of the chain.
    fn make(
        &self,
        call: &Call,
        given: &HashMap<String, Table>,
        place: usize,
        chains: &[Chain],
        made: &mut [Made],
    ) -> Result<(), Error> {
        let one = |place: usize, made: &mut [Made]| {
            let start = Instant::now();
            let table = Some(over(call, &self.0[place], made)?);
            made[place] = Made { table, took: start.elapsed() };
            Ok(())
        };
        if let Op::Input(input) = &self.0[place].op {
            made[place].table = Some(given[input.name.as_deref().unwrap_or_default()].clone());
            return Ok(());
        }
        let Some(chain) = chains.iter().find(|chain| chain.places().contains(&place)) else {
            return one(place, made);
        };
        if place != chain.end() {
            return Ok(());
        }
        let start = Instant::now();
        let table = chain.run(self, made[chain.base()].table.as_ref());
        made[place] = Made { table, took: start.elapsed() };
        if made[place].table.is_none() {
            chain.places().iter().try_for_each(|place| one(*place, made))?;
        }
        Ok(())
    }
}

/// How many rows a node has, or what the chain that it is a link of stands on; none where that is not known, or may change.
fn rows_below(place: usize, chains: &[Chain], made: &[Made]) -> Option<u64> {
    let chain = chains.iter().find(|chain| chain.places().contains(&place));
    let known = made[place].table.as_ref().or_else(|| made[chain?.base()].table.as_ref())?;
    (!known.is_live() && known.watermark().is_none()).then(|| known.size().items)
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
fn over(call: &Call, node: &Listed, made: &[Made]) -> Result<Table, Error> {
    let inputs: Vec<Table> = node.inputs.iter().filter_map(|at| made[*at].table.clone()).collect();
    let op = with_sets(&node.method, node.op.clone(), &inputs)?;
    let own = op.arity().unwrap_or(inputs.len());
    let call = Call { method: Arc::clone(&node.method), ..call.clone() };
    apply(op, call, &inputs[..own.min(inputs.len())])
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
