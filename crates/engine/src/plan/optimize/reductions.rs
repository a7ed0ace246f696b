//! Groups on the right of a join, made of the keys on its left alone.
//!
//!   few orders ── join ── group_by(order).agg(…) ── all lines      a group for each order
//!   few orders ── join ── group_by(order).agg(…) ── where_in ── all lines
//!                                                      └── few orders
//!
//! How many rows there are is known as the plan runs, so this is no rule of the plan: over static tables the left side runs
//! first, and where its rows are few, by what they came from and beside the rows that are grouped, a `where_in` goes in below
//! the groups. The result is the same table: a group that no left row has is no part of it.

use std::collections::HashMap;
use std::sync::Arc;

use super::groups::read;
use super::projections::passed_columns;
use super::shapes::Shapes;
use super::{Fired, is_of_its_row, movable_predicates};
use crate::plan::bounds::GroupBounds;
use crate::plan::node::{Listed, Nodes, Plan};
use crate::plan::op::Op;
use crate::plan::spec::{EquiOptions, How, Matches, Member, Validate};
use crate::row_errors::OnError;
use crate::sizes::{FUSED_ROWS, REDUCED_SHARE};
use crate::table::handle::Table;

/// Rows that are left out before they are grouped, if their keys turn out not to be wanted.
pub(in crate::plan) struct Reduction {
    /// The node below the groups, and the one above it, which has no other user.
    below: usize,
    pub(in crate::plan) above: usize,
    /// The left side of the join, and the inputs that it comes from.
    left: usize,
    sources: Vec<usize>,
    /// Names of keys: of the rows below the groups, and of left rows.
    on: Vec<(String, String)>,
    nulls_equal: bool,
    join: usize,
}

impl Reduction {
    /// Where it may pay, over these tables.
    pub(in crate::plan) fn all<'a>(nodes: &Nodes, mut given: impl Iterator<Item = &'a Table>) -> Vec<Reduction> {
        let groups =
            |node: &Listed| matches!(node.op, Op::Aggregate { .. } | Op::Distinct { .. } | Op::GroupLimit { .. });
        let is_small = |table: &Table| table.is_live() || table.size().items < FUSED_ROWS.rows();
        if given.all(is_small) || !nodes.0.iter().any(groups) {
            return Vec::new();
        }
        let Some(plans) = nodes.plans() else { return Vec::new() };
        let mut search = Search { nodes, plans, uses: nodes.uses(), shapes: Shapes::default() };
        (0..nodes.0.len()).filter_map(|join| search.of(join)).collect()
    }

    /// Whether it pays: left rows are few beside those that are grouped, and beside those that they came from, so that their
    /// keys are few of all. `rows` tells how many rows a node has, if that is known and does not change.
    pub(in crate::plan) fn pays(&self, rows: impl Fn(usize) -> Option<u64>) -> bool {
        let known = || {
            let left = rows(self.left)?.saturating_mul(REDUCED_SHARE.rows());
            let came = self.sources.iter().map(|source| rows(*source)).collect::<Option<Vec<u64>>>()?;
            let grouped = rows(self.below)?;
            Some(grouped >= FUSED_ROWS.rows() && left <= grouped && left <= came.into_iter().max()?)
        };
        known().unwrap_or(false)
    }

    /// Puts the `where_in` in, in the place of the node above it, which goes up by one with all that come after.
    pub(in crate::plan) fn apply(self, nodes: &mut Nodes, others: &mut [Reduction]) -> Fired {
        let at = self.above;
        let up = |place: &mut usize| *place += usize::from(*place >= at);
        let fired = Fired { rule: "groups of the keys of a join", operation: nodes.0[self.join].label() };
        nodes.0.iter_mut().flat_map(|node| &mut node.inputs).for_each(up);
        nodes.0[at].inputs.iter_mut().filter(|input| **input == self.below).for_each(|input| *input = at);
        let method = Arc::clone(&nodes.0[self.join].method);
        let op = Op::WhereIn { on: self.on, member: Member::In, nulls_equal: self.nulls_equal };
        nodes.0.insert(at, Listed { op, method, inputs: vec![self.below, self.left] });
        for other in others {
            [&mut other.below, &mut other.above, &mut other.left, &mut other.join].into_iter().for_each(up);
            other.sources.iter_mut().for_each(up);
        }
        fired
    }
}

struct Search<'a> {
    nodes: &'a Nodes,
    plans: Vec<Plan>,
    uses: Vec<u32>,
    shapes: Shapes,
}

impl Search<'_> {
    fn of(&mut self, join: usize) -> Option<Reduction> {
        let node = &self.nodes.0[join];
        let (on, nulls_equal) = looked_up(&node.op)?;
        let [left, right] = node.inputs[..] else { return None };
        // Names of keys as they are further and further below, and those of the left side.
        let mut keys: Vec<(String, String)> = on.iter().map(|(left, right)| (right.clone(), left.clone())).collect();
        let (mut at, mut above, mut grouped) = (right, join, false);
        loop {
            let alone = self.uses[at] == 1 && self.nodes.0[at].inputs.len() == 1;
            let passed = if alone { self.passed(at, &mut grouped) } else { None };
            let Some(passed) = passed else { break };
            keys = keys.into_iter().filter_map(|(name, left)| Some((passed.get(&name)?.clone(), left))).collect();
            (above, at) = (at, self.nodes.0[at].inputs[0]);
        }
        if !grouped || left >= above {
            return None;
        }
        let (rows, of) = (self.shapes.of(&self.plans[at])?, self.shapes.of(&self.plans[left])?);
        let kind = |table: &Table, name: &str| {
            table.schema().field_with_name(name).ok().map(|field| field.data_type().clone())
        };
        keys.retain(|(name, left)| kind(&rows, name).is_some_and(|own| kind(&of, left) == Some(own)));
        (!keys.is_empty()).then(|| Reduction {
            below: at,
            above,
            left,
            sources: self.sources(left),
            on: keys,
            nulls_equal,
            join,
        })
    }

    /// The columns that a node passes on of rows that may be left out below it: the names that they have below, by their own. Of
    /// filters there is no need: rows are left out above them, once groups are found.
    fn passed(&mut self, at: usize, grouped: &mut bool) -> Option<HashMap<String, String>> {
        let (plan, shapes) = (&self.plans[at], &mut self.shapes);
        let input = &plan.inputs()[0];
        let all = |shapes: &mut Shapes| {
            let fields = shapes.of(input)?.schema().fields().clone();
            Some(fields.iter().map(|field| (field.name().clone(), field.name().clone())).collect())
        };
        match plan.op() {
            Op::Filter { .. } if !*grouped => {
                let predicates = movable_predicates(plan)?;
                if shapes.are_total(input, predicates) { all(shapes) } else { None }
            }
            Op::Aggregate { keys, aggregates, on_error: OnError::Fail } if !*grouped && !keys.is_empty() => {
                let read = read(keys, aggregates);
                let total = read.iter().all(is_of_its_row)
                    && shapes.are_total(input, keys)
                    && shapes.are_total_of_groups(input, aggregates);
                let own = keys.iter().filter_map(|key| match key.unaliased() {
                    formula::Expr::Column(old) => Some((key.output_name().ok()?, old.to_string())),
                    _ => None,
                });
                *grouped = total;
                total.then(|| own.collect())
            }
            // Which groups are held depends on the others that there are.
            Op::Distinct { bounds, .. } if *bounds != GroupBounds::default() => None,
            Op::Distinct { keys, .. } if !*grouped && keys.is_empty() => {
                *grouped = true;
                all(shapes)
            }
            Op::Distinct { keys, .. } | Op::GroupLimit { keys, .. } if !*grouped => {
                *grouped = true;
                Some(keys.iter().map(|key| (key.clone(), key.clone())).collect())
            }
            _ => passed_columns(plan, shapes),
        }
    }

    /// The inputs that a node comes from.
    fn sources(&self, of: usize) -> Vec<usize> {
        let mut seen = vec![false; of + 1];
        seen[of] = true;
        for at in (0..=of).rev() {
            if seen[at] {
                self.nodes.0[at].inputs.iter().for_each(|input| seen[*input] = true);
            }
        }
        (0..=of).filter(|at| seen[*at] && matches!(self.nodes.0[*at].op, Op::Input(_))).collect()
    }
}

/// The keys, left and right, of a join that looks right rows up by left keys and takes nothing else of them.
fn looked_up(op: &Op) -> Option<(&[(String, String)], bool)> {
    match op {
        Op::Join(EquiOptions {
            on, how: How::Inner | How::Left, validate: Validate::ManyToMany, nulls_equal, ..
        }) => Some((on, *nulls_equal)),
        Op::NaturalJoin {
            on, matches: Matches::First | Matches::Last, nulls_equal, on_error: OnError::Fail, ..
        }
        | Op::WhereIn { on, nulls_equal, .. } => Some((on, *nulls_equal)),
        _ => None,
    }
}
