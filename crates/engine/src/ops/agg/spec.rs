//! The definition of an aggregation, and the cells that it reads.

use std::sync::Arc;

use arrow_schema::DataType;
use column::Chunk;
use rowset::RowSet;

use super::Output;
use crate::error::Error;
use crate::eval::block::Block;
use crate::eval::evaluator::{Evaluator, evaluate_all};
use crate::plan::standing::Standing;
use crate::sizes::TOGETHER_ROWS;
use crate::table::update::ColumnSet;
use crate::table::view::View;

/// The definition of an aggregation: keys, inputs and outputs.
pub(crate) struct AggregationSpec {
    /// The method that the user called.
    pub(crate) operation: String,
    pub(crate) keys: Vec<(usize, DataType)>,
    /// The names of the key columns in the result, as messages show them.
    pub(crate) names: Vec<String>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) inputs: Arc<[Evaluator]>,
    /// Whether rows may leave.
    pub(crate) retractable: bool,
    /// Whether all rows are there as it starts, and none comes or leaves.
    pub(crate) still: bool,
    /// Which groups there are without rows.
    pub(crate) standing: Standing,
    /// The keys of the groups that are named, while the groups are made.
    pub(crate) named: Vec<Chunk>,
}

/// The cells of some rows: keys, and those inputs that a state maintains.
#[derive(Default)]
pub(crate) struct Cells {
    pub(super) keys: Vec<Chunk>,
    /// By the place of the input; those that are not read have none.
    pub(super) inputs: Vec<Option<Chunk>>,
    pub(super) rows: usize,
}

/// Which cells of which rows: the keys or not, and some inputs.
#[derive(Clone, Copy)]
pub(super) struct ReadRequest<'a> {
    pub(super) view: &'a View,
    pub(super) rows: &'a RowSet,
    pub(super) keys: bool,
    pub(super) inputs: &'a [usize],
}

impl ReadRequest<'_> {
    /// The cells. Of no rows there are none, and a user function is not called.
    pub(super) fn cells(&self, spec: &AggregationSpec) -> Result<Cells, Error> {
        if self.rows.is_empty() {
            return Ok(Cells::default());
        }
        let keys = if self.keys { spec.keys(self.view, self.rows)? } else { Vec::new() };
        Ok(Cells { keys, inputs: spec.inputs(self.view, self.rows, self.inputs)?, rows: self.rows.len() as usize })
    }
}

impl AggregationSpec {
    pub(crate) fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    pub(crate) fn key_columns(&self) -> Vec<usize> {
        self.keys.iter().map(|(index, _)| *index).collect()
    }

    /// The evaluator of an input.
    pub(crate) fn input(&self, input: usize) -> &Evaluator {
        &self.inputs[input]
    }

    /// The inputs of which states maintain values. First and last do not: they read the picked row.
    pub(crate) fn kept_inputs(&self) -> Vec<usize> {
        self.inputs_of(|_| true)
    }

    /// The columns that are read for keys and kept inputs.
    pub(super) fn read_columns(&self) -> Vec<usize> {
        let inputs = self.kept_inputs();
        let read = inputs.iter().flat_map(|input| self.inputs[*input].inputs()).copied();
        self.key_columns().into_iter().chain(read).collect()
    }

    /// The inputs of states of which one input, or more, is among these.
    pub(crate) fn inputs_beside(&self, changed: &[usize]) -> Vec<usize> {
        self.inputs_of(|output| output.inputs.iter().any(|input| changed.contains(input)))
    }

    fn inputs_of(&self, are: impl Fn(&Output) -> bool) -> Vec<usize> {
        let of: Vec<&Output> = self.outputs.iter().filter(|output| output.is_kept() && are(output)).collect();
        (0..self.inputs.len()).filter(|input| of.iter().any(|output| output.inputs.contains(input))).collect()
    }

    /// Whether this many rows are worth two threads. Inputs that call a user function stay on one thread.
    pub(super) fn is_split(&self, rows: u64) -> bool {
        rows >= TOGETHER_ROWS.rows() && !self.inputs.iter().any(Evaluator::calls_host)
    }

    /// Whether an output is recomputed from all cells of this input in the group.
    pub(crate) fn is_whole(&self, input: usize) -> bool {
        self.outputs.iter().any(|output| output.inputs.contains(&input) && output.vector.is_some())
    }

    /// Whether an output is recomputed from all rows of a group.
    pub(crate) fn reads_groups(&self) -> bool {
        self.outputs.iter().any(|output| output.vector.is_some())
    }

    /// The inputs that read one of these columns.
    pub(crate) fn changed_inputs(&self, columns: &ColumnSet) -> Vec<usize> {
        (0..self.inputs.len()).filter(|input| columns.contains_any(self.inputs[*input].inputs())).collect()
    }

    /// Keys and kept inputs of the rows of a block that are left.
    pub(super) fn cells_of(&self, block: &mut Block, view: &View) -> Result<Cells, Error> {
        let rows = block.compact();
        if rows == 0 {
            return Ok(Cells::default());
        }
        let keys = self.keys.iter().map(|(index, _)| block.column(view, *index)).collect::<Result<_, Error>>()?;
        let mut inputs = vec![None; self.inputs.len()];
        for input in self.kept_inputs() {
            inputs[input] = Some(block.evaluate(view, &self.inputs[input])?);
        }
        Ok(Cells { keys, inputs, rows })
    }

    /// The key cells of some rows.
    pub(crate) fn keys(&self, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        self.keys.iter().map(|(index, _)| view.read(*index, rows)).collect()
    }

    /// The cells of some inputs, by their places.
    pub(crate) fn inputs(&self, view: &View, rows: &RowSet, wanted: &[usize]) -> Result<Vec<Option<Chunk>>, Error> {
        let evaluators: Vec<&Evaluator> = wanted.iter().map(|input| &self.inputs[*input]).collect();
        let mut inputs = vec![None; self.inputs.len()];
        for (input, cells) in wanted.iter().zip(evaluate_all(&evaluators, view, rows)?) {
            inputs[*input] = Some(cells);
        }
        Ok(inputs)
    }
}

impl Cells {
    /// Those of some rows.
    pub(super) fn slice(&self, from: usize, len: usize) -> Cells {
        let keys = self.keys.iter().map(|cells| cells.slice(from, len)).collect();
        let inputs = self.inputs.iter().map(|cells| cells.as_ref().map(|cells| cells.slice(from, len))).collect();
        Cells { keys, inputs, rows: len }
    }

    /// The cells of these inputs, which a state maintains.
    pub(super) fn of(&self, inputs: &[usize]) -> Vec<Chunk> {
        inputs.iter().filter_map(|input| self.inputs.get(*input)?.clone()).collect()
    }
}
