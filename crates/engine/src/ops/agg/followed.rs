//! Aggregates of lists of rows that are kept: made of spans of rows, and brought up to date as a row comes to a list or leaves it.
//!
//!   rows 4 7 9       list 1: 4 7    list 2: 7 9      sum(V)  V4 + V7 | V7 + V9
//!   - 4  + 8         list 1: 7 8                             V7 + V8 | V7 + V9
//!
//! Cost: the rows of the spans, each once however many spans it lies in; the lists that a row comes to or leaves. The least and
//! the greatest of a list are read anew when their value leaves it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::Int64Array;
use column::Chunk;

use super::listed::Listed;
use super::state::{Pair, Span, State};
use crate::error::Error;
use crate::table::view::View;

/// For each list (a slot) what is known of its rows.
#[derive(Default)]
pub(crate) struct Followed {
    /// The places of the aggregates that are followed; of those with a state the state.
    states: Vec<(usize, Option<Box<dyn State>>)>,
    /// The inputs that the states read.
    inputs: Vec<usize>,
    /// How many rows each list has.
    lengths: Vec<i64>,
}

/// Bytes of what is known of a list, for each aggregate.
pub(crate) const FOLLOWED: u64 = 32;

impl Followed {
    /// Of these aggregates, which can be followed; of no list yet.
    pub(crate) fn new(listed: &Listed, which: &[usize]) -> Result<Followed, Error> {
        let (mut states, mut inputs) = (Vec::with_capacity(which.len()), Vec::new());
        for at in which {
            let output = listed.output(*at);
            let state = (!output.inputs.is_empty()).then(|| listed.state(output)).transpose()?;
            states.push((*at, state));
            inputs.extend_from_slice(&output.inputs);
        }
        Ok(Followed { states, inputs, lengths: Vec::new() })
    }

    /// Grows to at least this many lists.
    pub(crate) fn grow(&mut self, slots: usize) {
        if slots > self.lengths.len() {
            self.lengths.resize(slots, 0);
            self.states.iter_mut().for_each(|(_, state)| state.iter_mut().for_each(|state| state.grow(slots)));
        }
    }

    /// A list is empty again.
    pub(crate) fn reset(&mut self, slot: u32) {
        self.lengths[slot as usize] = 0;
        self.states.iter_mut().for_each(|(_, state)| state.iter_mut().for_each(|state| state.reset(slot)));
    }

    /// Whether there is nothing to follow.
    pub(crate) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Each of these lists becomes a span of these rows.
    pub(crate) fn read(&mut self, listed: &Listed, view: &View, rows: &[u64], spans: &[Span]) -> Result<(), Error> {
        spans.iter().for_each(|(slot, span)| self.lengths[*slot as usize] = span.len() as i64);
        if rows.is_empty() {
            let reset = |state: &mut Box<dyn State>| spans.iter().for_each(|(slot, _)| state.reset(*slot));
            self.states.iter_mut().for_each(|(_, state)| state.iter_mut().for_each(reset));
            return Ok(());
        }
        limits::ask_rows(rows.len() as u64, 2 * FOLLOWED)?;
        let cells = listed.cells(view, rows, &self.inputs)?;
        for (at, state) in &mut self.states {
            let Some(state) = state else { continue };
            state.take_spans(&of(listed, *at, &cells), spans);
        }
        Ok(())
    }

    /// Rows leave lists: each pair is a list and the place of a row. Returns the lists that are to be read anew.
    pub(crate) fn leave(
        &mut self,
        listed: &Listed,
        view: &View,
        rows: &[u64],
        pairs: &[Pair],
    ) -> Result<Vec<u32>, Error> {
        let mut lost = Vec::new();
        if pairs.is_empty() {
            return Ok(lost);
        }
        pairs.iter().for_each(|(slot, _)| self.lengths[*slot as usize] -= 1);
        let cells = listed.cells(view, rows, &self.inputs)?;
        for (at, state) in &mut self.states {
            let Some(state) = state else { continue };
            state.leave(pairs, &of(listed, *at, &cells), &mut lost);
        }
        Ok(lost)
    }

    /// Rows come to lists.
    pub(crate) fn enter(&mut self, listed: &Listed, view: &View, rows: &[u64], pairs: &[Pair]) -> Result<(), Error> {
        if pairs.is_empty() {
            return Ok(());
        }
        pairs.iter().for_each(|(slot, _)| self.lengths[*slot as usize] += 1);
        let cells = listed.cells(view, rows, &self.inputs)?;
        for (at, state) in &mut self.states {
            let Some(state) = state else { continue };
            state.enter(pairs, &of(listed, *at, &cells));
        }
        Ok(())
    }

    /// Takes over the lists of another one, from this slot on: all but its first.
    pub(crate) fn append(&mut self, other: Followed, from: u32) {
        let slots: Vec<u32> =
            (0..other.lengths.len() as u32).map(|slot| if slot == 0 { 0 } else { from + slot - 1 }).collect();
        let own: Range<usize> = from as usize..from as usize + other.lengths.len() - 1;
        self.lengths[own].copy_from_slice(&other.lengths[1..]);
        for ((_, state), (_, other)) in self.states.iter_mut().zip(other.states) {
            if let (Some(state), Some(other)) = (state, other) {
                state.merge(other, &slots);
            }
        }
    }

    /// For each aggregate that is followed its place, and the values of these lists.
    pub(crate) fn values(&self, listed: &Listed, slots: &[u32]) -> Result<Vec<(usize, Chunk)>, Error> {
        let values = self.states.iter().map(|(at, state)| {
            let cells: Chunk = match state {
                Some(state) => listed.encoded(listed.output(*at), &**state, slots)?,
                None => Arc::new(Int64Array::from_iter_values(slots.iter().map(|slot| self.lengths[*slot as usize]))),
            };
            Ok((*at, cells))
        });
        values.collect()
    }
}

/// The cells that an aggregate reads.
fn of(listed: &Listed, at: usize, cells: &[Option<Chunk>]) -> Vec<Chunk> {
    listed.output(at).inputs.iter().filter_map(|input| cells[*input].clone()).collect()
}
