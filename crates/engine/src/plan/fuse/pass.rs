//! One pass of a chain over a static table. Its columns are made as views and its filters as a selection, so that nothing is
//! computed until the end reads it, block by block.

use std::sync::Arc;

use arrow_array::Array;
use arrow_schema::Schema;
use column::{Chunk, ColumnSource, FlatColumn};
use formula::Expr;
use formula::hidden::next_hidden;
use graph::Moment;
use rowset::RowSet;

use super::chain::Chain;
use crate::driver::attach::attach;
use crate::driver::operation::Operation;
use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::computed::ComputedSource;
use crate::eval::evaluator::Evaluator;
use crate::eval::selection::Selection;
use crate::ops::view::is_deep;
use crate::ops::{ComputedView, Filter};
use crate::plan::apply::apply;
use crate::plan::node::{Listed, Nodes};
use crate::plan::op::Op;
use crate::plan::spec::InputColumns;
use crate::table::handle::Table;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::store::Columns;

/// All rows of a static table with the columns of a chain, and which of them are meant.
struct Pass {
    table: Table,
    selection: Selection,
}

/// The table of a chain; none where it does not run in one pass.
pub(super) fn run(chain: &Chain, nodes: &Nodes, base: &Table) -> Result<Option<Table>, Error> {
    let mut pass = Pass { table: base.clone(), selection: Selection::default() };
    let (end, links) = chain.places.split_last().ok_or_else(|| Error::internal("run", "a chain of no operation"))?;
    for place in links {
        if !pass.link(&nodes.0[*place])? {
            return Ok(None);
        }
    }
    let end = &nodes.0[*end];
    match &end.op {
        Op::Aggregate { keys, .. } => pass.grouped(end, keys).map(Some),
        Op::Columns { columns, keep: false, .. } if columns.iter().all(Expr::is_aggregate) => {
            pass.grouped(end, &[]).map(Some)
        }
        _ if pass.link(end)? => pass.stored(base).map(Some),
        _ => Ok(None),
    }
}

impl Pass {
    /// One more operation; false where it does not go in one pass.
    fn link(&mut self, node: &Listed) -> Result<bool, Error> {
        match &node.op {
            Op::Filter { predicates, .. } => return self.filter(&Call::from(&node.method), predicates),
            Op::Columns { columns, keep, .. } => return self.columns(&Call::from(&node.method), columns, *keep),
            op => self.table = apply(op.clone(), &node.method, std::slice::from_ref(&self.table))?,
        }
        Ok(true)
    }

    fn filter(&mut self, call: &Call, predicates: &[Expr]) -> Result<bool, Error> {
        let filter = Filter::named(&call.method, &self.table, predicates)?;
        let Some(predicates) = filter.expressions().filter(|all| all.iter().all(Evaluator::is_by_batch)) else {
            return Ok(false);
        };
        if self.selection.is_empty() {
            let (view, parts) = (self.table.still_view(), self.table.parts().clone());
            let within = filter.within(&view)?;
            if within.len() < view.rows().len() {
                let rows = Arc::new(LiveRows::new(within, Moment::new(0)));
                let attributes = Filter::attributes(&self.table);
                self.table = Table::fixed(Parts { rows, attributes, ..parts }, self.table.request().clone());
            }
        }
        self.selection.filter(self.table.still_view(), predicates);
        let attributes = Filter::attributes(&self.table);
        let parts = Parts { attributes, ..self.table.parts().clone() };
        self.table = Table::fixed(parts, Request::of(&filter, std::slice::from_ref(&self.table)));
        Ok(true)
    }

    fn columns(&mut self, call: &Call, columns: &[Expr], keep: bool) -> Result<bool, Error> {
        if is_deep(&self.table) {
            return Ok(false);
        }
        let total = |column: &&Expr| !column.is_total(self.table.canonical());
        let failing: Vec<String> = columns.iter().filter(total).map(Expr::output_name).collect::<Result<_, _>>()?;
        let view = ComputedView::new(call, &self.table, columns, &[], InputColumns::kept(keep))?;
        self.table = attach(&view, std::slice::from_ref(&self.table))?;
        for name in failing {
            self.selection.compute(self.table.still_view(), self.table.column_index(&call.method, &name)?);
        }
        Ok(true)
    }

    /// The groups of the rows that are meant. Keys that are computed are columns first.
    fn grouped(mut self, node: &Listed, keys: &[Expr]) -> Result<Table, Error> {
        let (mut op, first) = (node.op.clone(), next_hidden(self.table.schema()));
        let computed: Vec<Expr> = (keys.iter().enumerate())
            .filter(|(_, key)| !matches!(key.unaliased(), Expr::Column(_)))
            .map(|(at, key)| key.unaliased().clone().alias(key.hidden(first + at)))
            .collect();
        if !computed.is_empty() {
            let view = ComputedView::new(&Call::from(&node.method), &self.table, &computed, &[], InputColumns::Keep)?;
            self.table = attach(&view, std::slice::from_ref(&self.table))?;
        }
        if let Op::Aggregate { keys, .. } = &mut op {
            for (at, key) in keys.iter_mut().enumerate() {
                if !matches!(key.unaliased(), Expr::Column(_)) {
                    *key = Expr::column(key.hidden(first + at)).alias(key.output_name()?);
                }
            }
        }
        let (parts, request) = (self.table.parts().clone(), self.table.request().clone());
        let selecting = Table::selecting(parts, request, Arc::new(self.selection));
        Ok(apply(op, &node.method, &[selecting])?.without_plan())
    }

    /// The rows that are meant, with the columns that were computed on the way to them.
    fn stored(self, base: &Table) -> Result<Table, Error> {
        let Pass { table, selection } = self;
        let (view, at) = (table.still_view(), Moment::new(0));
        let given: Vec<*const u8> = base.parts().columns.iter().map(address).collect();
        let is_made = |source: &Arc<dyn ColumnSource>| {
            source.as_any().is::<ComputedSource>() && !given.contains(&address(source))
        };
        let made: Vec<usize> = (0..table.width()).filter(|at| is_made(&table.parts().columns[*at])).collect();
        let cells = made.iter().fold(0_u64, |sum, at| sum + column::types::width(table.column_type(*at)));
        limits::ask_rows(view.rows().len(), cells)?;
        let (rows, taken) = selection.rows(view.rows(), |block| {
            let there = block.compact() > 0;
            made.iter().filter(|_| there).map(|at| block.column(&view, *at)).collect::<Result<Vec<Chunk>, Error>>()
        })?;
        let pieces = pieces(made.len(), taken)?;
        let columns = if rows.is_flat() && !rows.is_empty() {
            let column = |pieces: Vec<Chunk>| Ok(Arc::new(FlatColumn::new(pieces)?) as Arc<dyn ColumnSource>);
            pieces.into_iter().map(column).collect::<Result<Vec<_>, Error>>()?
        } else {
            let canonical: Schema = table.canonical().project(&made)?;
            let placed: Vec<_> = pieces.into_iter().map(|pieces| placed(&rows, pieces)).collect();
            Columns::filled(&canonical, at, &Arc::default(), &placed)?.sources()
        };
        let mut parts = table.parts().clone();
        made.into_iter().zip(columns).for_each(|(at, column)| parts.columns[at] = column);
        parts.rows = Arc::new(LiveRows::new(rows, at));
        Ok(Table::fixed(parts, table.request().clone()))
    }
}

fn address(source: &Arc<dyn ColumnSource>) -> *const u8 {
    Arc::as_ptr(source).cast()
}

/// The pieces of each column. Those of one thread's work are one piece.
fn pieces(columns: usize, taken: Vec<Vec<Vec<Chunk>>>) -> Result<Vec<Vec<Chunk>>, Error> {
    let mut all = vec![Vec::with_capacity(taken.len()); columns];
    for blocks in taken {
        for (at, pieces) in all.iter_mut().enumerate() {
            let of: Vec<&dyn Array> = blocks.iter().filter_map(|block| Some(&**block.get(at)?)).collect();
            if !of.is_empty() {
                pieces.push(arrow_select::concat::concat(&of)?);
            }
        }
    }
    Ok(all)
}

/// Consecutive pieces with the keys of their rows.
fn placed(rows: &RowSet, pieces: Vec<Chunk>) -> Vec<(RowSet, Chunk)> {
    let mut from = 0;
    let place = |piece: Chunk| {
        let keys = rows.slice(from, piece.len() as u64);
        from += piece.len() as u64;
        (keys, piece)
    };
    pieces.into_iter().map(place).collect()
}
