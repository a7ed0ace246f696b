//! The state that an aggregator keeps for each group: one accumulator, and how cells become its values.

use std::any::Any;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Int64Array};
use arrow_schema::DataType;
use column::Chunk;
use column::kernels::ones;
use simd::prefetch;

use super::accumulators::{Accumulator, slide, slide_on_stacks};
use super::board::{BATCH, BulkColumn};
use crate::error::Error;

/// The state of one aggregator, one entry per group slot. Values are added and removed; a removal restores the exact
/// state without the value. Several threads may read it at once.
pub(crate) trait State: Any + Send + Sync {
    /// This many slots.
    fn grow(&mut self, slots: usize);
    /// Memory for this many slots, which may come.
    fn reserve(&mut self, _slots: usize) {}
    /// Cells `i` of the inputs enter group `slots[i]`.
    fn add(&mut self, slots: &[u32], cells: &[Chunk]);
    /// Cells `i` of the inputs leave group `slots[i]`.
    fn remove(&mut self, slots: &[u32], cells: &[Chunk]);
    /// Clears a group that no longer exists.
    fn reset(&mut self, slot: u32);
    /// Whether a group is small and is made of a span of cells without a look at each of them.
    fn takes_spans(&self) -> bool {
        false
    }
    /// Each of these groups becomes what is known of a span of the cells. Of states that take spans.
    fn take_spans(&mut self, _cells: &[Chunk], _spans: &[Span]) {}
    /// The result of each of these frames of the cells, which move on only; none if a frame must be read by itself.
    fn slide(&self, _cells: &[Chunk], _frames: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        None
    }
    /// As [`State::add`]: of each pair, the cell at a place enters a group.
    fn enter(&mut self, _pairs: &[Pair], _cells: &[Chunk]) {}
    /// As [`State::enter`], but the cells leave. Lists the groups that cannot tell what they are without one: they are read anew.
    fn leave(&mut self, _pairs: &[Pair], _cells: &[Chunk], _lost: &mut Vec<u32>) {}
    /// Whether another state, of the same inputs, holds all that this one would: then it need not be kept, and reads that.
    fn reads(&self, _held: &dyn State) -> bool {
        false
    }
    /// The result of each of these groups, which this state holds, or one that it reads.
    fn values_of(&self, held: &dyn State, slots: &[u32]) -> Result<ArrayRef, Error>;
    /// Bytes of allocations too small for the allocator to count, after `more` further values.
    fn held(&self, _more: usize) -> u64 {
        0
    }
    /// The form in which the state takes in many rows fast. None: it takes no part, and adds as ever.
    fn bulk(&mut self) -> Option<&mut dyn BulkState> {
        None
    }
    /// Merges another state of the same kind: its slot `i` is this state's `slots[i]`.
    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]);
}

/// A state of one input that takes in many rows by words on a [`BulkTable`](super::board::BulkTable).
pub(crate) trait BulkState {
    /// The words of a group, as they are at first.
    fn words(&self) -> Vec<u64>;
    /// The cells in the form that [`BulkState::add`] reads.
    fn plain(&self, cells: &Chunk) -> Chunk;
    /// Adds cells to the state's words. The board counts the rows for all states.
    fn add(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>);
    /// Takes over the words of the board; `rows` are the rows that each slot received.
    fn flush(&mut self, lane: &mut BulkColumn<'_>, rows: &[i64]);
}

/// Downcasts a state that is to be merged into one of its own type.
pub(crate) fn same<S: State>(other: Box<dyn State>) -> Box<S> {
    let other: Box<dyn Any> = other;
    other.downcast().expect("states of one aggregator are of one kind")
}

/// A state as one of this type, if it is.
pub(crate) fn as_same<S: State>(state: &dyn State) -> Option<&S> {
    let state: &dyn Any = state;
    state.downcast_ref()
}

/// A group, and the span of cells that it becomes.
pub(crate) type Span = (u32, Range<usize>);

/// A group, and the place of a cell that enters or leaves it.
pub(crate) type Pair = (u32, u32);

/// What makes groups of spans of cells.
pub(crate) type TakeSpans<C> = fn(&mut PerGroup<C>, &[Chunk], &[Span]);

/// A value of a codec's accumulator.
pub(crate) type ValueOf<C> = <<C as Codec>::Of as Accumulator>::In;

/// How cells become the values of an accumulator, and its results cells.
pub(crate) trait Codec: Send + Sync + Sized + 'static {
    /// What a group is.
    type Of: Accumulator;

    /// A group without values.
    fn empty(&self) -> Self::Of;

    /// Calls `each` with the position and the value of each row that has one, in order.
    fn decode(&self, cells: &[Chunk], each: impl FnMut(usize, ValueOf<Self>));

    /// The value of each row; none of one without.
    fn values(&self, cells: &[Chunk]) -> Vec<Option<ValueOf<Self>>> {
        let mut values = vec![None; cells[0].len()];
        self.decode(cells, |at, value| values[at] = Some(value));
        values
    }

    /// A value leaves its group. Where rows never leave, the accumulator need not be able to.
    fn remove(of: &mut Self::Of, value: ValueOf<Self>);

    /// As [`Codec::remove`], of groups that take spans; false if the group must be read anew.
    #[inline]
    fn takes_away(of: &mut Self::Of, value: ValueOf<Self>) -> bool {
        Self::remove(of, value);
        true
    }

    /// Whether values can leave a group.
    const GIVES_BACK: bool = true;

    /// As [`State::take_spans`]. None: each cell enters by itself.
    const SPANS: Option<TakeSpans<Self>> = None;

    /// As [`State::slide`], where windows of these cells go faster than one accumulator goes from cell to cell.
    fn slide(&self, _cells: &[Chunk], _frames: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        None
    }

    /// The results of groups as cells.
    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Self::Of>) -> Result<ArrayRef, Error>;

    /// Whether the groups of a state with this codec are those that one with the other would have.
    fn is_like(&self, _other: &Self) -> bool {
        false
    }

    /// As [`State::bulk`].
    fn bulk(_: &mut PerGroup<Self>) -> Option<&mut dyn BulkState> {
        None
    }
}

/// One accumulator a group.
pub(crate) struct PerGroup<C: Codec> {
    pub(crate) codec: C,
    pub(crate) groups: Vec<C::Of>,
    /// Pieces of memory of all groups that are too small for the allocator to count.
    pieces: usize,
}

impl<C: Codec> PerGroup<C> {
    /// Without groups.
    pub(crate) fn boxed(codec: C) -> Box<dyn State> {
        Box::new(PerGroup { codec, groups: Vec::new(), pieces: 0 })
    }
}

/// Edits a group and counts its pieces.
#[inline]
fn edit<A: Accumulator, R>(group: &mut A, pieces: &mut usize, edit: impl FnOnce(&mut A) -> R) -> R {
    let before = group.pieces();
    let made = edit(group);
    if A::PIECE > 0 {
        *pieces = *pieces + group.pieces() - before;
    }
    made
}

impl<C: Codec> State for PerGroup<C> {
    fn grow(&mut self, slots: usize) {
        self.groups.resize(slots, self.codec.empty());
    }

    fn reserve(&mut self, slots: usize) {
        self.groups.reserve_exact(slots.saturating_sub(self.groups.len()));
    }

    fn add(&mut self, slots: &[u32], cells: &[Chunk]) {
        let PerGroup { codec, groups, pieces } = self;
        codec.decode(cells, |at, value| edit(&mut groups[slots[at] as usize], pieces, |group| group.add(value)));
    }

    fn remove(&mut self, slots: &[u32], cells: &[Chunk]) {
        let PerGroup { codec, groups, pieces } = self;
        codec.decode(cells, |at, value| edit(&mut groups[slots[at] as usize], pieces, |group| C::remove(group, value)));
    }

    fn reset(&mut self, slot: u32) {
        let empty = self.codec.empty();
        edit(&mut self.groups[slot as usize], &mut self.pieces, |group| *group = empty);
    }

    fn takes_spans(&self) -> bool {
        C::SPANS.is_some()
    }

    fn take_spans(&mut self, cells: &[Chunk], spans: &[Span]) {
        if let Some(take) = C::SPANS {
            take(self, cells, spans);
        }
    }

    fn slide(&self, cells: &[Chunk], frames: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        Some(self.codec.slide(cells, frames).unwrap_or_else(|| slid(&self.codec, cells, frames)))
    }

    fn enter(&mut self, pairs: &[Pair], cells: &[Chunk]) {
        let values = self.codec.values(cells);
        let PerGroup { groups, pieces, .. } = self;
        for (slot, at) in pairs {
            if let Some(value) = &values[*at as usize] {
                edit(&mut groups[*slot as usize], pieces, |group| group.add(value.clone()));
            }
        }
    }

    fn leave(&mut self, pairs: &[Pair], cells: &[Chunk], lost: &mut Vec<u32>) {
        let values = self.codec.values(cells);
        let PerGroup { groups, pieces, .. } = self;
        for (slot, at) in pairs {
            if let Some(value) = &values[*at as usize] {
                let known = |group: &mut C::Of| C::takes_away(group, value.clone());
                if !edit(&mut groups[*slot as usize], pieces, known) {
                    lost.push(*slot);
                }
            }
        }
    }

    fn reads(&self, held: &dyn State) -> bool {
        as_same::<PerGroup<C>>(held).is_some_and(|held| self.codec.is_like(&held.codec))
    }

    fn values_of(&self, held: &dyn State, slots: &[u32]) -> Result<ArrayRef, Error> {
        let held = as_same::<PerGroup<C>>(held).unwrap_or(self);
        self.codec.encode(slots.iter().map(|slot| &held.groups[*slot as usize]))
    }

    fn held(&self, more: usize) -> u64 {
        (self.pieces.saturating_add(more) as u64).saturating_mul(C::Of::PIECE as u64)
    }

    fn bulk(&mut self) -> Option<&mut dyn BulkState> {
        C::bulk(self)
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        /// Groups that are fetched ahead: a group of the other stands anywhere in these.
        const AHEAD: usize = 16;
        for (at, group) in same::<PerGroup<C>>(other).groups.into_iter().take(slots.len()).enumerate() {
            if let Some(later) = slots.get(at + AHEAD) {
                prefetch(&self.groups[*later as usize]);
            }
            edit(&mut self.groups[slots[at] as usize], &mut self.pieces, |own| own.absorb(group));
        }
    }
}

/// The results of frames of these cells.
pub(super) fn slid<C: Codec>(codec: &C, cells: &[Chunk], frames: &[Range<usize>]) -> Result<ArrayRef, Error> {
    /// Groups that are encoded together, where they are cheap to copy.
    const TOGETHER: usize = 512;
    let (empty, values) = (codec.empty(), codec.values(cells));
    let mut made: Vec<ArrayRef> = Vec::new();
    let mut waiting: Vec<C::Of> = Vec::new();
    let mut failed: Option<Error> = None;
    let mut note = |cells: Result<ArrayRef, Error>| match cells {
        Ok(cells) => made.push(cells),
        Err(error) => _ = failed.get_or_insert(error),
    };
    let each = |group: &C::Of| {
        if C::Of::PIECE > 0 {
            return note(codec.encode(std::iter::once(group)));
        }
        waiting.push(group.clone());
        if waiting.len() == TOGETHER {
            note(codec.encode(waiting.iter()));
            waiting.clear();
        }
    };
    match C::GIVES_BACK {
        true => slide(&empty, &values, frames, C::remove, each),
        false => slide_on_stacks(&empty, &values, frames, each),
    }
    if made.is_empty() || !waiting.is_empty() {
        made.push(codec.encode(waiting.iter())?);
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(arrow_select::concat::concat(&made.iter().map(|cells| &**cells).collect::<Vec<_>>())?),
    }
}

/// A batch of entering cells, in the form that the state's `plain` returned.
pub(crate) struct Batch<'a> {
    pub(crate) slots: &'a [u32],
    pub(crate) cells: &'a Chunk,
    /// The position of the batch's first cell.
    pub(crate) from: usize,
    /// A bit for each row that is not left out, if some may be.
    pub(crate) left: Option<&'a [u64]>,
}

impl<'a> Batch<'a> {
    /// The raw values, including those of null cells.
    pub(crate) fn values<T: ArrowPrimitiveType>(&self) -> &'a [T::Native] {
        &self.cells.as_primitive::<T>().values()[self.from..self.from + self.slots.len()]
    }

    /// The cells as doubles, zero where they are null. Cells of which some are null are copied into `room`.
    pub(crate) fn floats(&self, room: &'a mut Option<[f64; BATCH]>) -> &'a [f64] {
        let values = self.values::<Float64Type>();
        if !self.has_nulls() {
            return values;
        }
        let room = &mut room.insert([0.0; BATCH])[..values.len()];
        room.copy_from_slice(values);
        self.each_null(|_, at| room[at] = 0.0);
        room
    }

    /// The cells as 64-bit integers, zero where they are null. Cells of which some are null are copied into `room`.
    pub(crate) fn integers(&self, room: &'a mut Option<[i64; BATCH]>) -> &'a [i64] {
        let values = self.values::<Int64Type>();
        if !self.has_nulls() {
            return values;
        }
        let room = &mut room.insert([0; BATCH])[..values.len()];
        room.copy_from_slice(values);
        self.each_null(|_, at| room[at] = 0);
        room
    }

    /// Calls `each` with slot and place of every cell that is null, in rows that are not left out.
    pub(crate) fn each_null(&self, mut each: impl FnMut(u32, usize)) {
        let Some(nulls) = self.cells.nulls().filter(|nulls| nulls.null_count() > 0) else { return };
        let valid = nulls.inner().slice(self.from, self.slots.len());
        for ((at, slots), valid) in self.slots.chunks(64).enumerate().zip(valid.bit_chunks().iter_padded()) {
            let null = !valid & u64::MAX >> (64 - slots.len()) & self.left.map_or(u64::MAX, |left| left[at]);
            ones(null).for_each(|row| each(slots[row], 64 * at + row));
        }
    }

    /// Whether the cell is null.
    pub(crate) fn is_null(&self, at: usize) -> bool {
        self.cells.is_null(self.from + at)
    }

    /// Whether some cell of the chunk is null.
    pub(crate) fn has_nulls(&self) -> bool {
        self.cells.null_count() > 0
    }
}

/// Runs `each` on the positions of cells that are not null.
#[inline]
pub(crate) fn valid_cells(cells: &dyn Array, each: impl FnMut(usize)) {
    match cells.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        None => (0..cells.len()).for_each(each),
        Some(nulls) => nulls.valid_indices().for_each(each),
    }
}

/// Calls `each` with the position and the value of each number that is not null, as `f64`.
#[inline]
pub(crate) fn each_float(cells: &Chunk, mut each: impl FnMut(usize, f64)) {
    let values = floats(cells);
    valid_cells(&values, |at| each(at, values.values()[at]));
}

/// Numbers of any type as `f64`.
pub(crate) fn floats(cells: &Chunk) -> arrow_array::Float64Array {
    if let Some(floats) = cells.as_primitive_opt::<Float64Type>() {
        return floats.clone();
    }
    let cast = arrow_cast::cast(cells, &DataType::Float64).expect("every number is a double, rounded");
    cast.as_primitive::<Float64Type>().clone()
}

/// Integers, times and booleans as `i64`, unsigned ones as their bits.
pub(crate) fn integers(cells: &Chunk) -> Int64Array {
    use arrow_array::types::UInt64Type;
    match cells.data_type() {
        DataType::Int64 => cells.as_primitive::<Int64Type>().clone(),
        DataType::UInt64 => cells.as_primitive::<UInt64Type>().unary(|value| value as i64),
        DataType::Date32 => integers(&arrow_cast::cast(cells, &DataType::Int32).expect("days are 32 bits")),
        _ => arrow_cast::cast(cells, &DataType::Int64).expect("fits in 64 bits").as_primitive::<Int64Type>().clone(),
    }
}

/// 64-bit integers back as a type of the same width or narrower.
pub(crate) fn from_integers(values: Int64Array, to: &DataType) -> Result<ArrayRef, Error> {
    use arrow_array::types::UInt64Type;
    let array: ArrayRef = std::sync::Arc::new(values.clone());
    Ok(match to {
        DataType::Int64 => array,
        DataType::UInt64 => std::sync::Arc::new(values.unary::<_, UInt64Type>(|value| value as u64)),
        DataType::Date32 => arrow_cast::cast(&arrow_cast::cast(&array, &DataType::Int32)?, to)?,
        DataType::Boolean => arrow_cast::cast(&array, &DataType::Boolean)?,
        _ => arrow_cast::cast(&array, to)?,
    })
}
