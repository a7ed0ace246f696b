//! Which nodes of a plan make a chain: each stands on the one before it alone, nothing else stands on that, and every row is
//! computed of itself.

use formula::Expr;

use crate::plan::node::{Listed, Nodes};
use crate::plan::op::Op;
use crate::plan::spec::Materialization;
use crate::row_errors::OnError;

/// Nodes that run in one pass over a static table: their places, the result last.
pub(crate) struct Chain {
    /// Each stands on the one before it.
    pub(super) places: Vec<usize>,
    /// What the first of them stands on.
    pub(super) base: usize,
}

impl Chain {
    /// The node that it makes.
    pub(crate) fn end(&self) -> usize {
        self.places.last().copied().unwrap_or(self.base)
    }

    /// The chains of a plan. No node is in two of them.
    pub(crate) fn all(nodes: &Nodes) -> Vec<Chain> {
        let mut users = vec![0_u32; nodes.0.len()];
        nodes.0.iter().flat_map(|node| &node.inputs).for_each(|input| users[*input] += 1);
        let mut chains: Vec<Chain> = Vec::new();
        for end in (0..nodes.0.len()).rev() {
            if !chains.iter().any(|chain| chain.places.contains(&end)) {
                chains.extend(Chain::of(nodes, &users, end));
            }
        }
        chains
    }

    /// The chain that ends here, if one pass saves what its nodes would store one by one.
    fn of(nodes: &Nodes, users: &[u32], end: usize) -> Option<Chain> {
        let last = &nodes.0[end];
        let grouped = is_grouped(last);
        if !grouped && !is_link(last) {
            return None;
        }
        let mut chain = Chain { places: vec![end], base: *last.inputs.first()? };
        while users[chain.base] == 1 && is_link(&nodes.0[chain.base]) {
            chain.places.push(chain.base);
            chain.base = *nodes.0[chain.base].inputs.first()?;
        }
        chain.places.reverse();
        let ops = || chain.places.iter().map(|place| &nodes.0[*place].op);
        let filters = ops().any(|op| matches!(op, Op::Filter { .. }));
        let links = chain.places.len() - usize::from(grouped);
        let columns = ops().take(links).any(|op| is_columns(op) && (grouped || filters));
        let stored = ops().all(
            |op| !matches!(op, Op::Columns { materialization, .. } if *materialization != Materialization::Stored),
        );
        ((grouped && filters) || (columns && stored)).then_some(chain)
    }
}

fn is_columns(op: &Op) -> bool {
    matches!(op, Op::Columns { .. })
}

/// Whether the node has the rows of its input, or some of them, and computes each of itself.
fn is_link(node: &Listed) -> bool {
    if node.inputs.len() != 1 {
        return false;
    }
    match &node.op {
        Op::Filter { predicates, orders, on_error: OnError::Fail } => {
            orders.is_empty() && predicates.iter().all(is_of_its_row)
        }
        Op::Columns { columns, keep, orders, on_error: OnError::Fail, sequential: false, materialization } => {
            let rows_stay = *keep || columns.iter().any(|column| !column.columns().is_empty());
            let plain = *materialization != Materialization::Memoized && orders.is_empty();
            plain && rows_stay && columns.iter().all(is_of_its_row)
        }
        Op::Choose { .. } | Op::Drop { .. } | Op::Rename { .. } => true,
        _ => false,
    }
}

/// Whether the node makes one row a group, or one of all, of rows that are each computed of themselves.
fn is_grouped(node: &Listed) -> bool {
    if node.inputs.len() != 1 {
        return false;
    }
    match &node.op {
        Op::Aggregate { keys, aggregates, on_error: OnError::Fail } => {
            keys.iter().all(is_of_its_row) && aggregates.iter().all(aggregates_rows)
        }
        Op::Columns {
            columns,
            keep: false,
            orders,
            on_error: OnError::Fail,
            sequential: false,
            materialization: Materialization::Stored,
        } => orders.is_empty() && columns.iter().all(|one| one.is_aggregate() && aggregates_rows(one)),
        _ => false,
    }
}

/// Whether all that it aggregates is computed of single rows.
fn aggregates_rows(expression: &Expr) -> bool {
    match expression {
        Expr::Aggregate { inputs, .. } => inputs.iter().all(is_of_its_row),
        Expr::Over { .. } | Expr::InSet { .. } | Expr::Host { .. } => false,
        other => !other.is_volatile() && !other.reads_clock() && other.children().all(aggregates_rows),
    }
}

fn is_of_its_row(expression: &Expr) -> bool {
    !expression.needs_context()
        && !expression.reads_groups()
        && !expression.calls_host()
        && !expression.is_volatile()
        && !expression.reads_clock()
}
