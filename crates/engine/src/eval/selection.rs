//! The rows of a static table that pass predicates, found while they are read: a chain of filters and computed columns, block by
//! block, in which nothing is stored.

use std::sync::Arc;

use arrow_buffer::BooleanBufferBuilder;
use rowset::RowSet;

use crate::error::Error;
use crate::eval::block::Block;
use crate::eval::conjunction::Conjunction;
use crate::eval::evaluator::Evaluator;
use crate::sizes::{BLOCK_ROWS, SLICE_ROWS};
use crate::table::view::View;
use crate::threads::parallel;

/// What happens to each block, in this order.
#[derive(Default)]
pub(crate) struct Selection {
    steps: Vec<(View, Step)>,
}

enum Step {
    /// The rows stay for which all are true.
    Filter(Conjunction),
    /// A column that may fail is computed of all rows that came so far.
    Compute(usize),
}

impl Selection {
    /// Whether all rows pass.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// These predicates over the columns of a view.
    pub(crate) fn filter(&mut self, view: View, predicates: Arc<[Evaluator]>) {
        self.steps.push((view, Step::Filter(Conjunction::new(predicates))));
    }

    /// A column of a view that may fail in rows which a later predicate leaves out.
    pub(crate) fn compute(&mut self, view: View, column: usize) {
        self.steps.push((view, Step::Compute(column)));
    }

    /// Rows in parts of about so many, and no more, as cells of the first columns lie that are read.
    pub(crate) fn parts(&self, rows: &RowSet, size: u64) -> Vec<RowSet> {
        match self.steps.first() {
            Some((view, Step::Filter(predicates))) => view.parts(&inputs(predicates), rows, size),
            Some((view, Step::Compute(column))) => view.parts(&[*column], rows, size),
            None => parallel::parts(rows, size),
        }
    }

    /// Those of these rows that pass.
    pub(crate) fn block(&self, rows: RowSet) -> Result<Block, Error> {
        let mut block = Block::new(rows, true);
        for (view, step) in &self.steps {
            match step {
                Step::Filter(predicates) => narrow(&mut block, predicates, view)?,
                Step::Compute(column) => {
                    if block.compact() > 0 {
                        block.column(view, *column)?;
                    }
                }
            }
        }
        Ok(block)
    }

    /// Those of these rows that pass, and what `take` makes of each block of them, a thread's work after the other's.
    pub(crate) fn rows<R: Send>(
        &self,
        rows: &RowSet,
        take: impl Fn(&mut Block) -> Result<R, Error> + Sync,
    ) -> Result<(RowSet, Vec<Vec<R>>), Error> {
        passing(rows, |rows, size| self.parts(rows, size), |rows| self.block(rows), take)
    }
}

/// The columns that predicates read.
fn inputs(predicates: &Conjunction) -> Vec<usize> {
    predicates.iter().flat_map(|predicate| predicate.inputs()).copied().collect()
}

fn narrow(block: &mut Block, predicates: &Conjunction, view: &View) -> Result<(), Error> {
    predicates.narrow(block, Block::many, |block, predicate| block.narrow(view, predicate))
}

/// The rows of a view for which all predicates are true, block by block: what one leaves out the next does not read.
pub(crate) fn matching(predicates: &Conjunction, view: &View, rows: &RowSet) -> Result<RowSet, Error> {
    let block = |rows: RowSet| {
        let mut block = Block::new(rows, false);
        narrow(&mut block, predicates, view)?;
        Ok(block)
    };
    let inputs = inputs(predicates);
    Ok(passing(rows, |rows, size| view.parts(&inputs, rows, size), block, |_| Ok(()))?.0)
}

fn passing<R: Send>(
    rows: &RowSet,
    parts: impl Fn(&RowSet, u64) -> Vec<RowSet> + Sync,
    block: impl Fn(RowSet) -> Result<Block, Error> + Sync,
    take: impl Fn(&mut Block) -> Result<R, Error> + Sync,
) -> Result<(RowSet, Vec<Vec<R>>), Error> {
    // A bit a row, and what stands beside it.
    limits::ask_rows(rows.len(), 1)?;
    let found = parallel::try_map(true, &parts(rows, SLICE_ROWS.rows()), |_, part| {
        let mut mask = BooleanBufferBuilder::new(part.len() as usize);
        let mut taken = Vec::new();
        for rows in parts(part, BLOCK_ROWS.rows()) {
            let mut block = block(rows)?;
            mask.append_buffer(&block.mask());
            taken.push(take(&mut block)?);
        }
        Ok::<_, Error>((column::matching(part, &mask.finish()), taken))
    })?;
    let (kept, taken): (Vec<RowSet>, Vec<Vec<R>>) = found.into_iter().unzip();
    Ok((RowSet::union_all(kept.iter()), taken))
}
