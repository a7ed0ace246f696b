//! A plan: what was asked for, from the inputs up.
//!
//! A [`Plan`] is an immutable graph of operations. It knows no table and no graph: the same plan runs over other tables,
//! static or live, in this process or in another. Every table knows the plan by which it was made.

use std::collections::HashMap;
use std::sync::Arc;

use super::input::Input;
use super::op::Op;

/// A static table remembers so many operations below it; where there are more, it is an input of what follows. So a loop
/// that makes one static table of another holds a bounded plan.
pub(super) const DEEPEST: u32 = 4096;

/// What was asked for. Cloning shares it.
#[derive(Clone)]
pub struct Plan(Arc<Node>);

/// One operation of a plan.
pub struct Node {
    op: Op,
    inputs: Vec<Plan>,
    method: Arc<str>,
    depth: u32,
}

impl Plan {
    /// An operation over the results of other plans, as `method` asked for it. A live set in an expression is an input as
    /// well, after the others: its number is its place among them.
    pub fn new(op: Op, method: Arc<str>, inputs: Vec<Plan>) -> Plan {
        let depth = 1 + inputs.iter().map(Plan::depth).max().unwrap_or(0);
        Plan(Arc::new(Node { op, inputs, method, depth }))
    }

    /// A table that is given.
    pub fn input(input: Input) -> Plan {
        Plan::new(Op::Input(input), "input".into(), Vec::new())
    }

    /// The operation.
    pub fn op(&self) -> &Op {
        &self.0.op
    }

    /// What it stands on, the sets in its expressions last.
    pub fn inputs(&self) -> &[Plan] {
        &self.0.inputs
    }

    /// The method that the user called.
    pub fn method(&self) -> &Arc<str> {
        &self.0.method
    }

    /// How many operations stand on each other.
    pub(crate) fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Whether two handles are one node.
    pub(super) fn is(&self, other: &Plan) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Its place in memory: equal for two handles of one node.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// The operation and what it asks for, on one line.
    pub fn label(&self) -> String {
        label(self.op(), self.method())
    }

    /// This plan where some of its parts are given, each as an input. A part is known as the same node, or as the same table
    /// of this process.
    pub fn over(&self, parts: &[(Plan, Input)]) -> Plan {
        let given = |plan: &Plan| {
            let same = |part: &Plan| match (part.op(), plan.op()) {
                _ if part.is(plan) => true,
                (Op::Input(part), Op::Input(input)) => part.source.is_some() && part.source == input.source,
                _ => false,
            };
            parts.iter().find(|(part, _)| same(part)).map(|(_, input)| Plan::input(input.clone()))
        };
        let mut made: HashMap<usize, Plan> = HashMap::new();
        // A list of what is still to be visited, not recursion: a chain may be thousands of operations long.
        let mut waiting = vec![(self, false)];
        while let Some((plan, ready)) = waiting.pop() {
            if made.contains_key(&plan.address()) {
                continue;
            }
            if let Some(input) = given(plan) {
                made.insert(plan.address(), input);
            } else if ready {
                let inputs = plan.inputs().iter().filter_map(|input| made.get(&input.address()).cloned()).collect();
                made.insert(plan.address(), Plan::new(plan.op().clone(), Arc::clone(plan.method()), inputs));
            } else {
                waiting.push((plan, true));
                waiting.extend(plan.inputs().iter().map(|input| (input, false)));
            }
        }
        made.remove(&self.address()).unwrap_or_else(|| self.clone())
    }

    /// The nodes in order of use, each after what it stands on and each once, whether it is one in memory or only equal.
    /// Inputs without a name are numbered, and two tables of one name are told apart.
    pub fn nodes(&self) -> Nodes {
        let mut made = Numbering::default();
        // A list of what is still to be visited, not recursion: a chain may be thousands of operations long.
        let mut waiting = vec![(self, false)];
        while let Some((plan, ready)) = waiting.pop() {
            if made.places.contains_key(&plan.address()) {
                continue;
            }
            if ready {
                made.take(plan);
            } else {
                waiting.push((plan, true));
                waiting.extend(plan.inputs().iter().rev().map(|input| (input, false)));
            }
        }
        made.nodes
    }
}

/// A plan as a list: each node after what it stands on, the result last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nodes(pub Vec<Listed>);

/// One node of the list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The operation; an input has its name here.
    pub op: Op,
    /// The method that the user called.
    pub method: Arc<str>,
    /// The places of what it stands on.
    pub inputs: Vec<usize>,
}

impl Listed {
    /// The operation and what it asks for, on one line.
    pub fn label(&self) -> String {
        label(&self.op, &self.method)
    }
}

fn label(op: &Op, method: &str) -> String {
    match op {
        Op::Input(input) => format!("{}: {}", input.name.as_deref().unwrap_or_default(), input.shown_schema()),
        op => format!("{method}({})", op.text()),
    }
}

impl PartialEq for Listed {
    /// What is asked for, under whatever name.
    fn eq(&self, other: &Listed) -> bool {
        self.op == other.op && self.inputs == other.inputs
    }
}

impl Nodes {
    /// The inputs by name, in order of use.
    pub fn given(&self) -> impl Iterator<Item = (&str, &Input)> {
        self.0.iter().filter_map(|node| match &node.op {
            Op::Input(input) => Some((input.name.as_deref().unwrap_or_default(), input)),
            _ => None,
        })
    }

    /// How many times each node is an input of another.
    pub(super) fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0; self.0.len()];
        self.0.iter().flat_map(|node| &node.inputs).for_each(|input| uses[*input] += 1);
        uses
    }

    /// The plan that the list says.
    pub fn plan(&self) -> Option<Plan> {
        self.plans()?.pop()
    }

    /// The plan of each node.
    pub(super) fn plans(&self) -> Option<Vec<Plan>> {
        let mut made: Vec<Plan> = Vec::with_capacity(self.0.len());
        for node in &self.0 {
            let inputs = node.inputs.iter().map(|at| made.get(*at).cloned()).collect::<Option<Vec<Plan>>>()?;
            made.push(Plan::new(node.op.clone(), Arc::clone(&node.method), inputs));
        }
        Some(made)
    }
}

#[derive(Default)]
struct Numbering {
    nodes: Nodes,
    places: HashMap<usize, usize>,
    /// Places of nodes by what they are, so that equal ones are one.
    known: HashMap<(String, Vec<usize>), usize>,
    /// Places of inputs by the table of this process that they are.
    sources: HashMap<u128, usize>,
    /// Places of inputs that are no table of this process, by their name.
    given: HashMap<String, usize>,
    names: HashMap<String, usize>,
    unnamed: usize,
}

impl Numbering {
    fn take(&mut self, plan: &Plan) {
        let inputs: Vec<usize> = plan.inputs().iter().map(|input| self.places[&input.address()]).collect();
        let place = match plan.op() {
            Op::Input(input) => self.input(input),
            op => {
                let what = serde_json::to_string(op).expect("an operation is written");
                match self.known.get(&(what.clone(), inputs.clone())) {
                    Some(place) => *place,
                    None => {
                        let place = self.push(Listed {
                            op: op.clone(),
                            method: Arc::clone(plan.method()),
                            inputs: inputs.clone(),
                        });
                        self.known.insert((what, inputs), place);
                        place
                    }
                }
            }
        };
        self.places.insert(plan.address(), place);
    }

    fn push(&mut self, node: Listed) -> usize {
        self.nodes.0.push(node);
        self.nodes.0.len() - 1
    }

    fn input(&mut self, input: &Input) -> usize {
        let known = match (input.source, &input.name) {
            (Some(source), _) => self.sources.get(&source),
            (None, Some(name)) => self.given.get(name),
            (None, None) => None,
        };
        if let Some(known) = known {
            return *known;
        }
        let name = self.name(input.name.as_deref());
        let op = Op::Input(Input { name: Some(name), ..input.clone() });
        let place = self.push(Listed { op, method: "input".into(), inputs: vec![] });
        match (input.source, &input.name) {
            (Some(source), _) => drop(self.sources.insert(source, place)),
            (None, Some(name)) => drop(self.given.insert(name.clone(), place)),
            (None, None) => {}
        }
        place
    }

    fn name(&mut self, given: Option<&str>) -> String {
        loop {
            let name = match given {
                Some(name) if !self.names.contains_key(name) => name.to_owned(),
                Some(name) => {
                    let again = self.names.get_mut(name).expect("it was given");
                    *again += 1;
                    format!("{name}_{again}")
                }
                None => {
                    self.unnamed += 1;
                    format!("input_{}", self.unnamed - 1)
                }
            };
            if let std::collections::hash_map::Entry::Vacant(free) = self.names.entry(name.clone()) {
                free.insert(1);
                return name;
            }
        }
    }
}

impl PartialEq for Plan {
    fn eq(&self, other: &Plan) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.nodes() == other.nodes()
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.nodes().fmt(formatter)
    }
}

impl std::fmt::Display for Nodes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.write(formatter, &[])
    }
}

impl Nodes {
    /// The operations as a tree, the result first, each with its note if there are any; what stood above already is named by
    /// its number.
    pub(super) fn write(&self, out: &mut dyn std::fmt::Write, notes: &[String]) -> std::fmt::Result {
        const DEEPEST_INDENT: usize = 64;
        let uses = self.uses();
        let mut shown = vec![false; self.0.len()];
        let mut waiting: Vec<(usize, usize)> = self.0.len().checked_sub(1).map(|last| (last, 0)).into_iter().collect();
        let mut first = true;
        while let Some((place, depth)) = waiting.pop() {
            let node = &self.0[place];
            if !std::mem::take(&mut first) {
                writeln!(out)?;
            }
            write!(out, "{:indent$}", "", indent = 2 * depth.min(DEEPEST_INDENT))?;
            if !node.inputs.is_empty() && uses[place] > 1 {
                write!(out, "#{place} ")?;
            }
            if shown[place] && !node.inputs.is_empty() {
                write!(out, "(above)")?;
                continue;
            }
            shown[place] = true;
            write!(out, "{}{}", node.label(), notes.get(place).map_or("", String::as_str))?;
            waiting.extend(node.inputs.iter().rev().map(|input| (*input, depth + 1)));
        }
        Ok(())
    }
}

impl Drop for Node {
    /// Frees what nobody else holds one after the other: a long chain would otherwise recurse once for each operation.
    fn drop(&mut self) {
        let mut waiting = std::mem::take(&mut self.inputs);
        while let Some(Plan(node)) = waiting.pop() {
            if let Some(mut alone) = Arc::into_inner(node) {
                waiting.append(&mut alone.inputs);
            }
        }
    }
}
