//! Aggregates of rows that are listed: of each list one value of each aggregate, kept by nobody.
//!
//!   rows  4 7 9 | | 7        sum(V)        V4 + V7 + V9 | 0 | V7
//!
//! Cost: the rows of all lists.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, UInt64Array};
use arrow_schema::Field;
use column::Chunk;
use formula::{Aggregate, Expr};

use super::Output;
use super::chosen::gather_at;
use super::output_of;
use super::states::state_of;
use crate::error::Error;
use crate::eval::evaluator::{Evaluator, own_row_only};
use crate::table::handle::Table;
use crate::table::update::ColumnSet;
use crate::table::view::View;

/// Aggregates over a table.
pub(crate) struct Listed {
    operation: String,
    outputs: Vec<Output>,
    inputs: Vec<Evaluator>,
}

impl Listed {
    /// `aggregates`: aggregate expressions, each named.
    pub(crate) fn new(operation: &str, table: &Table, aggregates: &[Expr]) -> Result<Listed, Error> {
        let mut inputs: Vec<(Expr, Evaluator)> = Vec::new();
        let outputs = aggregates.iter().map(|aggregate| output_of(operation, table, aggregate, &mut inputs));
        let outputs = outputs.collect::<Result<_, Error>>()?;
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

    /// For each aggregate its value of each list: so many of these rows, list after list.
    pub(crate) fn values(&self, view: &View, rows: &[u64], lengths: &[usize]) -> Result<Vec<Chunk>, Error> {
        let kept = |input: usize| self.outputs.iter().any(|output| output.is_kept() && output.inputs.contains(&input));
        let cells: Vec<Option<Chunk>> = (self.inputs.iter().enumerate())
            .map(|(at, input)| (kept(at) && !rows.is_empty()).then(|| gather_at(input, view, rows)).transpose())
            .collect::<Result<_, Error>>()?;
        let lists = (0u32..).zip(lengths);
        let slots: Vec<u32> = lists.flat_map(|(list, length)| std::iter::repeat_n(list, *length)).collect();
        self.outputs.iter().map(|output| self.value(output, view, rows, lengths, &slots, &cells)).collect()
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
        let Some(first) = output.inputs.first().map(|input| &self.inputs[*input]) else {
            return Ok(Arc::new(Int64Array::from_iter_values(lengths.iter().map(|length| *length as i64))));
        };
        if let Some(vector) = &output.vector {
            return vector.of_lists(first, view, rows, lengths.to_vec());
        }
        let cells = if output.is_kept() {
            let mut state = state_of(&output.kind, first.data_type(), false, false)?;
            state.grow(lengths.len());
            let read: Vec<Chunk> = output.inputs.iter().filter_map(|input| cells[*input].clone()).collect();
            if !rows.is_empty() {
                state.add(slots, &read);
            }
            let lists: Vec<u32> = (0..lengths.len() as u32).collect();
            state.values_of(&*state, &lists).map_err(|error| self.told(output, first, error))?
        } else {
            ends(first, view, rows, lengths, output.kind == Aggregate::Last)?
        };
        // Codes of a dictionary are a matter of storage.
        let same = cells.data_type() == &output.data_type;
        if same { Ok(cells) } else { Ok(column::types::cast(&cells, &output.data_type)?) }
    }

    fn told(&self, output: &Output, input: &Evaluator, error: Error) -> Error {
        let Error::Data { message, .. } = error else { return error };
        let name = formula::hidden::shown_field(&output.declared);
        Error::data(&self.operation, format!("{name}: {message} ({})", input.text()))
    }
}

/// The cell of the first row of each list, or of the last; null of none.
fn ends(input: &Evaluator, view: &View, rows: &[u64], lengths: &[usize], last: bool) -> Result<ArrayRef, Error> {
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
