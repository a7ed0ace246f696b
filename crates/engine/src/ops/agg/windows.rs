//! Aggregates of windows that move on over rows: of each window one value of each aggregate, kept by nobody.
//!
//!   rows  4 7 9    windows 0..1 0..2 1..3      sum(V)   V4 | V4 + V7 | V7 + V9
//!
//! Each cell is read once. It enters a state once and leaves it once; a state that gives nothing back stands on two stacks.
//! Cost: the rows and the windows. Lists (`implode`, `arg_min`), and what has no state that slides, cost the rows of all windows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{BooleanArray, Int64Array};
use arrow_buffer::BooleanBuffer;
use column::Chunk;
use formula::Aggregate;

use super::Output;
use super::chosen::gather_at;
use super::listed::{Listed, as_stored, ends};
use super::quickly::Counts;
use crate::error::Error;
use crate::table::view::View;

impl Listed {
    /// For each aggregate its value of each window of these rows; null of fewer than `least` values.
    pub(crate) fn windows(
        &self,
        view: &View,
        rows: &[u64],
        windows: &[Range<usize>],
        least: u64,
    ) -> Result<Vec<Chunk>, Error> {
        let read: Vec<usize> = self
            .outputs
            .iter()
            .filter(|output| output.is_kept() || least > 0)
            .flat_map(|output| output.inputs.clone())
            .collect();
        let cells = match rows.is_empty() {
            // Of no rows the cells are known: a user's function is not called.
            true => self.inputs.iter().map(|input| Some(arrow_array::new_empty_array(input.data_type()))).collect(),
            false => self.cells(view, rows, &read)?,
        };
        let made = self.outputs.iter().map(|output| {
            let of: Vec<Chunk> = output.inputs.iter().filter_map(|input| cells[*input].clone()).collect();
            let values = self.windowed(output, view, rows, windows, &of)?;
            Ok(if least == 0 { values } else { enough(&values, of.first(), windows, least)? })
        });
        made.collect()
    }

    fn windowed(
        &self,
        output: &Output,
        view: &View,
        rows: &[u64],
        windows: &[Range<usize>],
        cells: &[Chunk],
    ) -> Result<Chunk, Error> {
        let Some(first) = output.inputs.first().map(|input| &self.inputs[*input]) else {
            return Ok(Arc::new(Int64Array::from_iter_values(windows.iter().map(|window| window.len() as i64))));
        };
        if output.is_kept() {
            let state = self.state(output)?;
            if let Some(made) = state.slide(cells, windows) {
                return as_stored(output, made.map_err(|error| self.told(output, error))?);
            }
        }
        if matches!(output.kind, Aggregate::First | Aggregate::Last) {
            let lengths: Vec<usize> = windows.iter().map(|window| usize::from(!window.is_empty())).collect();
            let last = output.kind == Aggregate::Last;
            let place = |window: &Range<usize>| rows[if last { window.end - 1 } else { window.start }];
            let picked: Vec<u64> = windows.iter().filter(|window| !window.is_empty()).map(place).collect();
            return as_stored(output, ends(first, view, &picked, &lengths, last)?);
        }
        let lengths: Vec<usize> = windows.iter().map(Range::len).collect();
        let all = lengths.iter().fold(0u64, |sum, length| sum.saturating_add(*length as u64));
        limits::ask_rows(all, 8 + column::types::width(first.data_type()))?;
        let keys: Vec<u64> = windows.iter().flat_map(|window| &rows[window.clone()]).copied().collect();
        if let Some(vector) = &output.vector {
            return vector.of_lists(first, view, &keys, lengths);
        }
        let mut state = self.state(output)?;
        state.grow(lengths.len());
        let slots: Vec<u32> =
            (0u32..).zip(&lengths).flat_map(|(slot, length)| std::iter::repeat_n(slot, *length)).collect();
        if !keys.is_empty() {
            let inputs = output.inputs.iter().map(|input| gather_at(&self.inputs[*input], view, &keys));
            state.add(&slots, &inputs.collect::<Result<Vec<_>, Error>>()?);
        }
        self.encoded(output, &*state, &(0..lengths.len() as u32).collect::<Vec<_>>())
    }
}

/// The values of windows that have enough of them, null elsewhere. Without cells each row counts.
fn enough(values: &Chunk, cells: Option<&Chunk>, windows: &[Range<usize>], least: u64) -> Result<Chunk, Error> {
    let counts = cells.map(|cells| Counts::new(cells));
    let count = |window: &Range<usize>| counts.as_ref().map_or(window.len(), |counts| counts.of(window));
    let too_few: BooleanBuffer = windows.iter().map(|window| (count(window) as u64) < least).collect();
    if too_few.count_set_bits() == 0 {
        return Ok(values.clone());
    }
    Ok(arrow_select::nullif::nullif(values, &BooleanArray::new(too_few, None))?)
}
