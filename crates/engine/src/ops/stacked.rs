//! Tables stacked in one key space: each has a slot of it, and its cells are read through the slot.
//!
//!   a    0 x    1 y        b    0 z
//!   out  0 x    1 y    131072 z
//!
//! What is stacked may change from step to step: who stacks publishes the slots and the columns behind them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use column::{Chunk, Column, ColumnSource, NO_ROW};
use graph::{Moment, Moved, Pinned};
use rowset::{RowSet, Shifts, Span};

use crate::error::Error;
use crate::table::settle::Settle;

/// Slots start and end at multiples of this, so that whole blocks of row sets move by renumbering.
const ALIGNMENT: u64 = 1 << 16;

/// Where an input's keys `low ..` stand in the result: `base ..`, with room for `capacity` keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slot {
    low: u64,
    base: u64,
    capacity: u64,
}

impl Slot {
    pub(crate) fn delta(&self) -> i64 {
        self.base as i64 - self.low as i64
    }

    /// Whether the slot has room for rows of which these are the first and the last.
    pub(crate) fn holds(&self, ends: Ends) -> bool {
        ends.is_none_or(|(first, last)| first >= self.low && last - self.low < self.capacity)
    }

    /// A slot for rows of which these are the first and the last. It begins at `base`, and has room for twice the keys they
    /// span; none beyond the key space.
    pub(crate) fn above(base: u64, ends: Ends) -> Option<Slot> {
        let (first, last) = ends.unwrap_or_default();
        let low = first / ALIGNMENT * ALIGNMENT;
        let spanned = last - low;
        let roomy = (spanned + 1)
            .checked_next_power_of_two()
            .and_then(|room| room.checked_mul(2))
            .unwrap_or(u64::MAX)
            .max(ALIGNMENT);
        let capacity = if roomy > 1 << 60 { (spanned / ALIGNMENT + 1) * ALIGNMENT } else { roomy };
        base.checked_add(capacity).filter(|end| *end <= rowset::MAX_KEY + 1)?;
        Some(Slot { low, base, capacity })
    }

    /// Its first key.
    pub(crate) fn start(&self) -> u64 {
        self.base
    }

    /// Where the next slot may begin.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.capacity
    }

    fn span(&self) -> Span {
        Span { first: self.base, last: self.base + (self.capacity - 1) }
    }
}

pub(crate) type Slots = Arc<[Slot]>;

/// The first and the last row of an input; none of one without rows.
pub(crate) type Ends = Option<(u64, u64)>;

/// The ends of a row set.
pub(crate) fn ends_of(rows: &RowSet) -> Ends {
    rows.first().zip(rows.last())
}

/// Slots for inputs with these ends, each with room for twice the keys it spans.
pub(crate) fn lay_out(operation: &str, inputs: impl Iterator<Item = Ends>) -> Result<Slots, Error> {
    let exhausted = || Error::Resource {
        operation: operation.into(),
        message: "the keys of the inputs span more than the key space of the result; flatten them first".into(),
    };
    let mut base = 0u64;
    inputs
        .map(|ends| {
            let slot = Slot::above(base, ends).ok_or_else(exhausted)?;
            base = slot.end();
            Ok(slot)
        })
        .collect()
}

/// The columns of one table, in the order of the result's.
pub(crate) type Sources = Arc<[Arc<dyn ColumnSource>]>;

/// What stands behind the slots.
#[derive(Clone)]
pub(crate) struct Stack {
    /// Ascending, without overlap.
    pub(crate) slots: Slots,
    /// The columns of each slot.
    pub(crate) sources: Arc<[Sources]>,
}

/// Settles a stack.
pub(crate) struct StackSettle(pub(crate) Arc<Pinned<Stack>>);

impl Settle for StackSettle {
    fn settle(&self) {
        self.0.settle();
    }

    fn bytes(&self) -> u64 {
        size_of_val(&*self.0.latest().slots) as u64
    }
}

/// How the keys of one slot move: the input's own shifts, and the slot's.
pub(crate) fn slot_moves(shifts: &Shifts, from: &Slot, to: &Slot, moves: &mut Vec<(Span, i64)>) {
    // The slot of an emptied input may slide over more than half of the key space, where it moves no row; what moves a
    // row, the two together, never goes so far.
    let slide = to.delta().wrapping_sub(from.delta());
    if shifts.is_empty() && slide == 0 {
        return;
    }
    let whole = from.span();
    let mut at = whole.first;
    for shift in shifts.iter() {
        let first = (shift.first as i64 + from.delta()) as u64;
        let last = (shift.last as i64 + from.delta()) as u64;
        if slide != 0 && first > at {
            moves.push((Span { first: at, last: first - 1 }, slide));
        }
        let delta = shift.delta.wrapping_add(slide);
        if delta != 0 {
            moves.push((Span { first, last }, delta));
        }
        at = last + 1;
    }
    if slide != 0 && at <= whole.last {
        moves.push((Span { first: at, last: whole.last }, slide));
    }
}

/// Columns of these types that are read through a stack.
pub(crate) fn stacked_columns(
    types: impl Iterator<Item = DataType>,
    stack: &Arc<Pinned<Stack>>,
) -> Vec<Arc<dyn ColumnSource>> {
    let column = |(index, data_type)| {
        Arc::new(StackedColumn { data_type, index, stack: stack.clone() }) as Arc<dyn ColumnSource>
    };
    types.enumerate().map(column).collect()
}

/// A column of the result: the inputs' columns behind the slots.
struct StackedColumn {
    data_type: DataType,
    index: usize,
    stack: Arc<Pinned<Stack>>,
}

impl ColumnSource for StackedColumn {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        let Stack { slots, sources } = self.stack.at(moment)?;
        let mut columns: Vec<Arc<dyn Column>> = Vec::with_capacity(sources.len());
        for (at, of) in sources.iter().enumerate() {
            // The parts of one table share its columns: such a column is asked once.
            let column = match columns.last().filter(|_| Arc::ptr_eq(&sources[at - 1][self.index], &of[self.index])) {
                Some(shared) => shared.clone(),
                None => of[self.index].at(moment)?,
            };
            columns.push(column);
        }
        Ok(Arc::new(Stacked { data_type: self.data_type.clone(), columns, slots }))
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

struct Stacked {
    data_type: DataType,
    columns: Vec<Arc<dyn Column>>,
    slots: Slots,
}

impl Stacked {
    /// The slot in which a key stands.
    fn slot_of(&self, key: u64) -> usize {
        self.slots.partition_point(|slot| slot.base <= key) - 1
    }

    /// The rows of each slot, in the keys of its input.
    fn parts(&self, rows: &RowSet) -> Vec<(usize, RowSet)> {
        let mut parts = Vec::new();
        let mut next = rows.first();
        while let Some(first) = next {
            let at = self.slot_of(first);
            let span = self.slots[at].span();
            parts.push((at, rows.between(span.first, span.last).moved(-self.slots[at].delta())));
            next = rows.first_at_or_after(span.last + 1);
        }
        parts
    }
}

impl Column for Stacked {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, column::Error> {
        let mut parts = self.parts(rows);
        if let [(at, rows)] = parts.as_slice() {
            return self.columns[*at].read(rows);
        }
        let Some((first, _)) = parts.first() else { return Ok(arrow_array::new_empty_array(&self.data_type)) };
        let shared = &self.columns[*first];
        if parts.iter().all(|(at, _)| Arc::ptr_eq(&self.columns[*at], shared)) {
            // Parts of one column are read at once; their keys may be in any order.
            let keys: Vec<u64> = parts.iter().flat_map(|(_, rows)| rows.iter()).collect();
            return shared.take(&keys);
        }
        let chunks: Result<Vec<ArrayRef>, column::Error> =
            parts.drain(..).map(|(at, rows)| self.columns[at].read(&rows)).collect();
        let chunks = chunks?;
        let arrays: Vec<&dyn Array> = chunks.iter().map(|chunk| chunk.as_ref()).collect();
        Ok(arrow_select::concat::concat(&arrays)?)
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, column::Error> {
        if self.columns.is_empty() {
            return Ok(arrow_array::new_null_array(&self.data_type, keys.len()));
        }
        // The slots that are read, each with its place among them.
        let mut places: std::collections::HashMap<usize, usize> = std::collections::HashMap::new();
        let mut wanted: Vec<(usize, Vec<u64>)> = Vec::new();
        let mut cells = Vec::with_capacity(keys.len());
        for key in keys {
            let at = if *key == NO_ROW { 0 } else { self.slot_of(*key) };
            let place = *places.entry(at).or_insert_with(|| {
                wanted.push((at, Vec::new()));
                wanted.len() - 1
            });
            let slot = &self.slots[at];
            cells.push((place, wanted[place].1.len()));
            wanted[place].1.push(if *key == NO_ROW { NO_ROW } else { *key - slot.base + slot.low });
        }
        if wanted.is_empty() {
            return Ok(arrow_array::new_empty_array(&self.data_type));
        }
        let chunks: Result<Vec<Chunk>, column::Error> =
            wanted.iter().map(|(at, keys)| self.columns[*at].take(keys)).collect();
        let chunks = chunks?;
        let arrays: Vec<&dyn Array> = chunks.iter().map(|chunk| chunk.as_ref()).collect();
        Ok(arrow_select::interleave::interleave(&arrays, &cells)?)
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, column::Error> {
        let parts = self.parts(rows).into_iter().map(|(at, rows)| self.columns[at].pieces(&rows));
        Ok(parts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}
