//! Aggregates of rows that are listed: of each list one value of each aggregate, kept by nobody.
//!
//!   rows  4 7 9 | | 7        sum(V)        V4 + V7 + V9 | 0 | V7
//!
//! Cost: the rows of all lists.

use arrow_array::{ArrayRef, UInt64Array};
use arrow_schema::Field;
use column::Chunk;
use formula::{Aggregate, Expr};

use super::Output;
use super::chosen::gather_at;
use super::output_of;
use super::state::State;
use super::states::state_of;
use crate::error::Error;
use crate::eval::evaluator::{Evaluator, own_row_only};
use crate::table::handle::Table;
use crate::table::update::ColumnSet;
use crate::table::view::View;

/// Aggregates over a table.
pub(crate) struct Listed {
    operation: String,
    pub(super) outputs: Vec<Output>,
    pub(super) inputs: Vec<Evaluator>,
}

impl Listed {
    /// `aggregates`: aggregate expressions, each named.
    pub(crate) fn new(operation: &str, table: &Table, aggregates: &[Expr]) -> Result<Listed, Error> {
        let mut inputs: Vec<(Expr, Evaluator)> = Vec::new();
        let outputs = aggregates.iter().map(|aggregate| output_of(operation, table, aggregate, &mut inputs));
        let outputs: Vec<Output> = outputs.collect::<Result<_, Error>>()?;
        if outputs.iter().any(|output| output.kind == Aggregate::Freeze) {
            let message =
                "freeze() is of groups that come and go; the rows in a range are others at every change: take first()";
            return Err(Error::invalid(operation, message));
        }
        let inputs: Vec<Evaluator> = inputs.into_iter().map(|(_, evaluator)| evaluator).collect();
        own_row_only(operation, &inputs)?;
        Ok(Listed { operation: operation.to_owned(), outputs, inputs })
    }

    /// The columns as they are declared outside, and as they are stored.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (Field, Field)> + '_ {
        let stored = |output: &Output| Field::new(&output.name, output.data_type.clone(), true);
        self.outputs.iter().map(move |output| (output.declared.clone().with_nullable(true), stored(output)))
    }

    /// How many aggregates there are.
    pub(crate) fn len(&self) -> usize {
        self.outputs.len()
    }

    /// Whether a change of these columns may change an aggregate.
    pub(crate) fn reads(&self, columns: &ColumnSet) -> bool {
        self.inputs.iter().any(|input| columns.contains_any(input.inputs()))
    }

    /// The aggregates that are the cell of the first row of a list, or of its last.
    pub(crate) fn ends(&self) -> Vec<usize> {
        self.which(|output| matches!(output.kind, Aggregate::First | Aggregate::Last))
    }

    /// The aggregates whose state of a list can be brought up to date, or made of a span of rows.
    pub(crate) fn followed(&self) -> Result<Vec<usize>, Error> {
        let mut followed = Vec::new();
        for (at, output) in self.outputs.iter().enumerate() {
            if output.inputs.is_empty() || output.is_kept() && self.state(output)?.takes_spans() {
                followed.push(at);
            }
        }
        Ok(followed)
    }

    fn which(&self, is: impl Fn(&Output) -> bool) -> Vec<usize> {
        (0..self.outputs.len()).filter(|at| is(&self.outputs[*at])).collect()
    }

    /// The state of an output that keeps one.
    pub(super) fn state(&self, output: &Output) -> Result<Box<dyn State>, Error> {
        state_of(&output.kind, self.inputs[output.inputs[0]].data_type(), false, false)
    }

    pub(super) fn output(&self, at: usize) -> &Output {
        &self.outputs[at]
    }

    /// The cells of these inputs at these rows, by the place of the input.
    pub(super) fn cells(&self, view: &View, rows: &[u64], of: &[usize]) -> Result<Vec<Option<Chunk>>, Error> {
        let cells = (self.inputs.iter().enumerate()).map(|(at, input)| {
            (of.contains(&at) && !rows.is_empty()).then(|| gather_at(input, view, rows)).transpose()
        });
        cells.collect()
    }

    /// For each of these aggregates its value of each list: so many of these rows, list after list.
    pub(crate) fn values(
        &self,
        which: &[usize],
        view: &View,
        rows: &[u64],
        lengths: &[usize],
    ) -> Result<Vec<Chunk>, Error> {
        let outputs = || which.iter().map(|at| &self.outputs[*at]);
        let kept: Vec<usize> =
            outputs().filter(|output| output.is_kept()).flat_map(|output| output.inputs.clone()).collect();
        let cells = self.cells(view, rows, &kept)?;
        let lists = (0u32..).zip(lengths);
        let slots: Vec<u32> = match kept.is_empty() {
            true => Vec::new(),
            false => lists.flat_map(|(list, length)| std::iter::repeat_n(list, *length)).collect(),
        };
        outputs().map(|output| self.value(output, view, rows, lengths, &slots, &cells)).collect()
    }

    fn value(
        &self,
        output: &Output,
        view: &View,
        rows: &[u64],
        lengths: &[usize],
        slots: &[u32],
        cells: &[Option<Chunk>],
    ) -> Result<Chunk, Error> {
        let first = &self.inputs[output.inputs[0]];
        if let Some(vector) = &output.vector {
            return vector.of_lists(first, view, rows, lengths.to_vec());
        }
        let cells = if output.is_kept() {
            let mut state = self.state(output)?;
            state.grow(lengths.len());
            let read: Vec<Chunk> = output.inputs.iter().filter_map(|input| cells[*input].clone()).collect();
            if !rows.is_empty() {
                state.add(slots, &read);
            }
            let lists: Vec<u32> = (0..lengths.len() as u32).collect();
            return self.encoded(output, &*state, &lists);
        } else {
            ends(first, view, rows, lengths, output.kind == Aggregate::Last)?
        };
        as_stored(output, cells)
    }

    /// The values of some groups of a state.
    pub(super) fn encoded(&self, output: &Output, state: &dyn State, slots: &[u32]) -> Result<Chunk, Error> {
        as_stored(output, state.values_of(state, slots).map_err(|error| self.told(output, error))?)
    }

    /// What cannot be a value of this output, with its name and what it is made of.
    pub(super) fn told(&self, output: &Output, error: Error) -> Error {
        let Error::Data { message, .. } = error else { return error };
        let (name, input) = (formula::hidden::shown_field(&output.declared), &self.inputs[output.inputs[0]]);
        Error::data(&self.operation, format!("{name}: {message} ({})", input.text()))
    }
}

/// Codes of a dictionary are a matter of storage.
pub(super) fn as_stored(output: &Output, cells: ArrayRef) -> Result<ArrayRef, Error> {
    let same = cells.data_type() == &output.data_type;
    if same { Ok(cells) } else { Ok(column::types::cast(&cells, &output.data_type)?) }
}

/// The cell of the first row of each list, or of the last; null of none.
pub(super) fn ends(
    input: &Evaluator,
    view: &View,
    rows: &[u64],
    lengths: &[usize],
    last: bool,
) -> Result<ArrayRef, Error> {
    let (mut read, mut places) = (Vec::new(), Vec::with_capacity(lengths.len()));
    let mut from = 0;
    for length in lengths {
        places.push((*length > 0).then_some(read.len() as u64));
        if *length > 0 {
            read.push(rows[if last { from + length - 1 } else { from }]);
        }
        from += length;
    }
    if read.is_empty() {
        return Ok(arrow_array::new_null_array(input.data_type(), lengths.len()));
    }
    let cells = gather_at(input, view, &read)?;
    if read.len() == lengths.len() {
        return Ok(cells);
    }
    Ok(arrow_select::take::take(&cells, &UInt64Array::from(places), None)?)
}
