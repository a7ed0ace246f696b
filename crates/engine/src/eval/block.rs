//! A block of rows on its way through predicates and computed columns: each column is read once, a computed one is computed once,
//! and what is read late is read of the rows that are left.
//!
//!   rows       0 1 2 3 4 5 6 7
//!   a > 1      . x . . x . x .       few are left: they are picked, and what follows is three cells long
//!   b < 2              x   x         read of 1, 4 and 6 alone
//!   sum(c)             c   c
//!
//! While many are left all are evaluated, and what is not wanted is masked: that is cheaper than to pick them.

use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use column::{Chunk, Column, ColumnSource};
use rowset::RowSet;

use crate::error::Error;
use crate::eval::computed::ComputedSource;
use crate::eval::evaluator::Evaluator;
use crate::sizes::PICKED_SHARE;
use crate::table::view::View;

/// Some rows of a table, fewer with each predicate.
pub(crate) struct Block {
    all: RowSet,
    /// Whether computed columns are computed here, each once; else their columns are read.
    inline: bool,
    /// How many rows are evaluated: all, or those that were picked.
    len: usize,
    /// Which of those are left, if not all.
    left: Option<BooleanBuffer>,
    /// Which of all rows were picked, if not all.
    picked: Option<BooleanBuffer>,
    /// How they are picked of the cells of all rows.
    pick: Option<Arc<FilterPredicate>>,
    /// How they were picked, one time after the other.
    picks: Vec<Arc<FilterPredicate>>,
    cells: Vec<Cells>,
}

/// Cells of a column, as they were before the rows were picked once more.
struct Cells {
    source: usize,
    picks: usize,
    chunk: Chunk,
}

fn address(source: &Arc<dyn ColumnSource>) -> usize {
    Arc::as_ptr(source).cast::<u8>() as usize
}

impl Block {
    /// All of these rows. Only of a table that never changes may computed columns be computed here.
    pub(crate) fn new(all: RowSet, inline: bool) -> Block {
        let len = all.len() as usize;
        Block { all, inline, len, left: None, picked: None, pick: None, picks: Vec::new(), cells: Vec::new() }
    }

    /// Leaves out the rows for which a predicate is not true.
    pub(crate) fn narrow(&mut self, view: &View, predicate: &Evaluator) -> Result<(), Error> {
        if !predicate.is_total() {
            // It must not see a row that did not come so far.
            self.settle();
        }
        if self.len == 0 {
            return Ok(());
        }
        let cells = predicate.inputs().iter().map(|column| self.column(view, *column));
        let cells = cells.collect::<Result<Vec<Chunk>, Error>>()?;
        let mask = predicate.mask_of_batch(&cells, &self.all, self.len)?;
        let left = self.left.take().map_or_else(|| mask.clone(), |left| &left & &mask);
        let count = left.count_set_bits();
        self.left = (count < self.len).then_some(left);
        if count * PICKED_SHARE.get() <= self.len {
            self.settle();
        }
        Ok(())
    }

    /// Picks the rows that are left: cells read from here on are theirs alone. How many there are.
    pub(crate) fn settle(&mut self) -> usize {
        let Some(left) = self.left.take() else { return self.len };
        let mask = BooleanArray::new(left, None);
        let pick = picking(&mask);
        self.len = pick.count();
        (self.picked, self.pick) = match self.picked.take() {
            None => (Some(mask.values().clone()), Some(pick.clone())),
            Some(before) => {
                let mask = BooleanArray::new(among(&before, mask.values()), None);
                let pick = picking(&mask);
                (Some(mask.values().clone()), Some(pick))
            }
        };
        self.picks.push(pick);
        self.len
    }

    /// The rows that are left.
    pub(crate) fn mask(&mut self) -> BooleanBuffer {
        self.settle();
        self.picked.clone().unwrap_or_else(|| BooleanBuffer::new_set(self.all.len() as usize))
    }

    /// The rows that are left, by their keys.
    pub(crate) fn rows(&mut self) -> RowSet {
        let mask = self.mask();
        if self.picked.is_none() { self.all.clone() } else { column::matching(&self.all, &mask) }
    }

    /// The cells of a column of a view over the rows of the block.
    pub(crate) fn column(&mut self, view: &View, column: usize) -> Result<Chunk, Error> {
        self.read(view.source(column), || view.column(column).cloned(), view)
    }

    /// The values of an expression over the columns of a view.
    pub(crate) fn evaluate(&mut self, view: &View, expression: &Evaluator) -> Result<Chunk, Error> {
        let cells = expression.inputs().iter().map(|column| self.column(view, *column));
        let cells = cells.collect::<Result<Vec<Chunk>, Error>>()?;
        expression.of_batch(&cells, &self.all, self.len)
    }

    fn read(
        &mut self,
        source: &Arc<dyn ColumnSource>,
        pinned: impl FnOnce() -> Result<Arc<dyn Column>, Error>,
        view: &View,
    ) -> Result<Chunk, Error> {
        let address = address(source);
        if let Some(known) = self.cells.iter_mut().find(|known| known.source == address) {
            for pick in &self.picks[known.picks..] {
                known.chunk = pick.filter(&known.chunk)?;
            }
            known.picks = self.picks.len();
            return Ok(known.chunk.clone());
        }
        let computed = source.as_any().downcast_ref::<ComputedSource>().filter(|_| self.inline);
        let chunk = match computed.map(ComputedSource::parts).filter(|(of, _)| !of.needs_context()) {
            Some((expression, sources)) => self.computed(expression, sources, view)?,
            None => {
                let cells = pinned()?.read(&self.all)?;
                self.pick.as_ref().map_or(Ok(cells.clone()), |pick| pick.filter(&cells))?
            }
        };
        self.cells.push(Cells { source: address, picks: self.picks.len(), chunk: chunk.clone() });
        Ok(chunk)
    }

    fn computed(
        &mut self,
        expression: &Evaluator,
        sources: &[Arc<dyn ColumnSource>],
        view: &View,
    ) -> Result<Chunk, Error> {
        let gone = |_| Error::internal("view", "a column was read after its moment was gone");
        let mut cells = Vec::with_capacity(expression.inputs().len());
        for column in expression.inputs() {
            let source = &sources[*column];
            cells.push(self.read(source, || source.at(view.moment()).map_err(gone), view)?);
        }
        expression.of_batch(&cells, &self.all, self.len)
    }
}

fn picking(mask: &BooleanArray) -> Arc<FilterPredicate> {
    Arc::new(FilterBuilder::new(mask).optimize().build())
}

/// Of the rows that are set, those for which `which` is set: a bit for each of them.
fn among(set: &BooleanBuffer, which: &BooleanBuffer) -> BooleanBuffer {
    let mut both = BooleanBufferBuilder::new(set.len());
    both.append_n(set.len(), false);
    set.set_indices().enumerate().filter(|(at, _)| which.value(*at)).for_each(|(_, row)| both.set_bit(row, true));
    both.finish()
}
