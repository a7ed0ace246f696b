//! `min`, `max`, `nan_min`, `nan_max`: a counted ordered set a group, so that a removal finds the
//! next extreme; where cells never leave, the extreme alone.
//!
//! `min` and `max` ignore NaN unless nothing else is there; the `nan_` forms give it: NaN stands at that end of the order
//! at which it loses, or wins.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryViewArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    Float64Array, Int64Array, PrimitiveArray, StringViewArray,
};
use arrow_buffer::i256;
use arrow_schema::DataType;
use column::Chunk;
use formula::Aggregate;

use super::accumulators::{
    Accumulator, End, Extremum, Multiset, Removable, float_word, from_float_word, slide_extremes,
};
use super::board::{BATCH, BulkColumn};
use super::quickly::{Counts, Results};
use super::spans::by_tree;
use super::state::{
    Batch, BulkState, Codec, PerGroup, State, TakeSpans, each_float, floats, from_integers, integers, valid_cells,
};
use crate::error::Error;

/// The state for cells of this type. `retractable`: whether cells may leave.
pub(crate) fn state(kind: &Aggregate, input: &DataType, retractable: bool) -> Box<dyn State> {
    let greatest = matches!(kind, Aggregate::Max | Aggregate::NanMax);
    let nan_wins = matches!(kind, Aggregate::NanMin | Aggregate::NanMax);
    let end = if greatest { End::Greatest } else { End::Least };
    let (cells, nan_first) = (input.clone(), greatest != nan_wins);
    match input {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => of(Floats { cells, nan_first }, end, retractable),
        DataType::Decimal128(..) => of(Decimals { cells }, end, retractable),
        DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            of(Texts { cells }, end, retractable)
        }
        DataType::Decimal256(..) => of(WideDecimals { cells }, end, retractable),
        _ => of(Integers { cells }, end, retractable),
    }
}

fn of<F: Family>(family: F, end: End, retractable: bool) -> Box<dyn State> {
    match retractable {
        true => PerGroup::boxed(Extremes { family, end }),
        false => PerGroup::boxed(Growing { family, end }),
    }
}

/// How cells of a family become ordered keys, and back.
pub(crate) trait Family: Send + Sync + 'static {
    type Key: Ord + Clone + Send + Sync + 'static;
    /// Calls `each` with the position and the key of each cell that is not null.
    fn keys(&self, cells: &Chunk, each: impl FnMut(usize, Self::Key));
    /// Cells of the family's type.
    fn cells(&self, keys: impl Iterator<Item = Option<Self::Key>>) -> Result<ArrayRef, Error>;
    /// As [`Codec::slide`], for keys that are words.
    fn slide(&self, _cells: &Chunk, _windows: &[Range<usize>], _end: End) -> Option<Result<ArrayRef, Error>> {
        None
    }
    /// As [`Codec::bulk`], for keys that are words.
    fn bulk(_: &mut PerGroup<Growing<Self>>) -> Option<&mut dyn BulkState>
    where
        Self: Sized,
    {
        None
    }
}

/// Keys that are words.
trait Words: Family<Key = u64> {
    /// The cells as [`Words::words`] reads them.
    fn plain(&self, cells: &Chunk) -> Chunk;
    /// The keys of a batch, anything for cells that are null.
    fn words(&self, batch: &Batch<'_>, words: &mut [u64]);
}

pub(crate) struct Floats {
    pub(crate) cells: DataType,
    /// Whether NaN comes before all numbers, or after them.
    pub(crate) nan_first: bool,
}

/// Integers, booleans, times.
pub(crate) struct Integers {
    pub(crate) cells: DataType,
}

pub(crate) struct Decimals {
    pub(crate) cells: DataType,
}

pub(crate) struct WideDecimals {
    pub(crate) cells: DataType,
}

/// Texts and bytes.
pub(crate) struct Texts {
    pub(crate) cells: DataType,
}

impl Family for Floats {
    type Key = u64;

    fn keys(&self, cells: &Chunk, mut each: impl FnMut(usize, u64)) {
        each_float(cells, |at, value| each(at, float_word(value, self.nan_first)));
    }

    fn cells(&self, keys: impl Iterator<Item = Option<u64>>) -> Result<ArrayRef, Error> {
        let values: ArrayRef = Arc::new(keys.map(|key| key.map(from_float_word)).collect::<Float64Array>());
        Ok(if self.cells == DataType::Float64 { values } else { arrow_cast::cast(&values, &self.cells)? })
    }

    fn slide(&self, cells: &Chunk, windows: &[Range<usize>], end: End) -> Option<Result<ArrayRef, Error>> {
        let value = |word: u64| from_float_word(word);
        let values: ArrayRef = Arc::new(slid::<_, Float64Type>(self, cells, windows, end, value));
        Some(match self.cells == DataType::Float64 {
            true => Ok(values),
            false => arrow_cast::cast(&values, &self.cells).map_err(Error::from),
        })
    }

    fn bulk(state: &mut PerGroup<Growing<Floats>>) -> Option<&mut dyn BulkState> {
        Some(state)
    }
}

impl Words for Floats {
    fn plain(&self, cells: &Chunk) -> Chunk {
        Arc::new(floats(cells))
    }

    fn words(&self, batch: &Batch<'_>, words: &mut [u64]) {
        for (word, value) in words.iter_mut().zip(batch.values::<Float64Type>()) {
            *word = float_word(*value, self.nan_first);
        }
    }
}

impl Family for Integers {
    type Key = u64;

    fn keys(&self, cells: &Chunk, mut each: impl FnMut(usize, u64)) {
        let flip = sign_bit(&self.cells);
        let values = integers(cells);
        valid_cells(&values, |at| each(at, values.values()[at] as u64 ^ flip));
    }

    fn cells(&self, keys: impl Iterator<Item = Option<u64>>) -> Result<ArrayRef, Error> {
        let flip = sign_bit(&self.cells);
        from_integers(keys.map(|key| key.map(|key| (key ^ flip) as i64)).collect::<Int64Array>(), &self.cells)
    }

    fn slide(&self, cells: &Chunk, windows: &[Range<usize>], end: End) -> Option<Result<ArrayRef, Error>> {
        let flip = sign_bit(&self.cells);
        let value = |word: u64| (word ^ flip) as i64;
        Some(from_integers(slid::<_, Int64Type>(self, cells, windows, end, value), &self.cells))
    }

    fn bulk(state: &mut PerGroup<Growing<Integers>>) -> Option<&mut dyn BulkState> {
        Some(state)
    }
}

impl Words for Integers {
    fn plain(&self, cells: &Chunk) -> Chunk {
        Arc::new(integers(cells))
    }

    fn words(&self, batch: &Batch<'_>, words: &mut [u64]) {
        let flip = sign_bit(&self.cells);
        for (word, value) in words.iter_mut().zip(batch.values::<Int64Type>()) {
            *word = *value as u64 ^ flip;
        }
    }
}

/// What makes the bits of an integer order as the integer does.
fn sign_bit(data_type: &DataType) -> u64 {
    if *data_type == DataType::UInt64 { 0 } else { 1 << 63 }
}

impl Family for Decimals {
    type Key = i128;

    fn keys(&self, cells: &Chunk, mut each: impl FnMut(usize, i128)) {
        let values = cells.as_primitive::<Decimal128Type>();
        valid_cells(values, |at| each(at, values.values()[at]));
    }

    fn cells(&self, keys: impl Iterator<Item = Option<i128>>) -> Result<ArrayRef, Error> {
        Ok(Arc::new(keys.collect::<Decimal128Array>().with_data_type(self.cells.clone())))
    }
}

impl Family for WideDecimals {
    type Key = i256;

    fn keys(&self, cells: &Chunk, mut each: impl FnMut(usize, i256)) {
        let values = cells.as_primitive::<Decimal256Type>();
        valid_cells(values, |at| each(at, values.values()[at]));
    }

    fn cells(&self, keys: impl Iterator<Item = Option<i256>>) -> Result<ArrayRef, Error> {
        Ok(Arc::new(keys.collect::<Decimal256Array>().with_data_type(self.cells.clone())))
    }
}

impl Family for Texts {
    type Key = Box<[u8]>;

    fn keys(&self, cells: &Chunk, mut each: impl FnMut(usize, Box<[u8]>)) {
        if let Some(bytes) = cells.as_fixed_size_binary_opt() {
            return valid_cells(bytes, |at| each(at, bytes.value(at).into()));
        }
        let bytes = arrow_cast::cast(cells, &DataType::BinaryView).expect("text is bytes");
        let bytes = bytes.as_binary_view();
        valid_cells(bytes, |at| each(at, bytes.value(at).into()));
    }

    fn cells(&self, keys: impl Iterator<Item = Option<Box<[u8]>>>) -> Result<ArrayRef, Error> {
        if self.cells == DataType::Utf8View {
            let text = |key: Option<Box<[u8]>>| key.map(|key| String::from_utf8_lossy(&key).into_owned());
            return Ok(Arc::new(keys.map(text).collect::<StringViewArray>()));
        }
        if let DataType::FixedSizeBinary(width) = self.cells {
            return Ok(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(keys, width)?));
        }
        let bytes: ArrayRef = Arc::new(keys.collect::<BinaryViewArray>());
        Ok(if self.cells == DataType::BinaryView { bytes } else { arrow_cast::cast(&bytes, &self.cells)? })
    }

    fn bulk(state: &mut PerGroup<Growing<Texts>>) -> Option<&mut dyn BulkState> {
        if matches!(state.codec.family.cells, DataType::FixedSizeBinary(_)) { None } else { Some(state) }
    }
}

/// The words are the first bytes of the extremes: most cells lose by these, and what loses is not copied.
impl BulkState for PerGroup<Growing<Texts>> {
    fn words(&self) -> Vec<u64> {
        vec![self.codec.none()]
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        arrow_cast::cast(cells, &DataType::BinaryView).expect("text is bytes")
    }

    fn add(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        let (bytes, greatest) = (batch.cells.as_binary_view(), self.codec.end == End::Greatest);
        let mut offer = |lane: &mut BulkColumn<'_>, slot: usize, at: usize| {
            let (at, known) = (batch.from + at, &mut lane.of(slot)[0]);
            // After its length a view has the first four bytes, zeros where there are fewer.
            let head = u64::from(((bytes.views()[at] >> 32) as u32).swap_bytes());
            let loses = if greatest { head < *known } else { head > *known };
            if !loses && !bytes.is_null(at) && self.groups[slot].offer(bytes.value(at)) {
                *known = head;
            }
        };
        match lane.runs() {
            Some(runs) => runs.each_row(|slot, at| offer(lane, slot, at)),
            None => batch.slots.iter().enumerate().for_each(|(at, slot)| offer(lane, *slot as usize, at)),
        }
    }

    fn flush(&mut self, _: &mut BulkColumn<'_>, _: &[i64]) {}
}

/// Extremes of cells that may leave.
struct Extremes<F> {
    family: F,
    end: End,
}

impl<F: Family> Codec for Extremes<F> {
    type Of = Multiset<F::Key>;

    fn empty(&self) -> Multiset<F::Key> {
        Multiset::default()
    }

    fn decode(&self, cells: &[Chunk], each: impl FnMut(usize, F::Key)) {
        self.family.keys(&cells[0], each);
    }

    fn remove(of: &mut Multiset<F::Key>, value: F::Key) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Multiset<F::Key>>) -> Result<ArrayRef, Error> {
        self.family.cells(groups.map(|group| group.value(&self.end)))
    }
}

/// Extremes of cells that never leave.
pub(crate) struct Growing<F> {
    family: F,
    end: End,
}

/// The word of no key, which every key beats or is.
fn no_word(end: End) -> u64 {
    if end == End::Greatest { 0 } else { u64::MAX }
}

/// The extremes of windows of words.
fn slid<F: Family<Key = u64>, T: ArrowPrimitiveType>(
    family: &F,
    cells: &Chunk,
    windows: &[Range<usize>],
    end: End,
    value: impl Fn(u64) -> T::Native,
) -> PrimitiveArray<T> {
    let (none, counts) = (no_word(end), Counts::new(cells));
    let mut words = vec![none; cells.len()];
    family.keys(cells, |at, word| words[at] = word);
    let mut found = Results::<T>::of(windows.len());
    let each = |word: u64, window: &Range<usize>| found.push((counts.of(window) > 0).then(|| value(word)));
    match end {
        End::Least => slide_extremes((&words, none), windows, u64::min, each),
        End::Greatest => slide_extremes((&words, none), windows, u64::max, each),
    }
    found.finish()
}

impl<F> Growing<F> {
    fn none(&self) -> u64 {
        no_word(self.end)
    }
}

impl<F: Family> Codec for Growing<F> {
    type Of = Extremum<F::Key>;
    const GIVES_BACK: bool = false;
    const SPANS: Option<TakeSpans<Self>> = Some(by_tree);

    fn empty(&self) -> Extremum<F::Key> {
        Extremum::new(self.end)
    }

    fn decode(&self, cells: &[Chunk], each: impl FnMut(usize, F::Key)) {
        self.family.keys(&cells[0], each);
    }

    fn remove(_: &mut Extremum<F::Key>, _: F::Key) {
        debug_assert!(false, "a cell leaves a table whose rows never do");
    }

    fn takes_away(of: &mut Extremum<F::Key>, key: F::Key) -> bool {
        of.value(&()).is_some_and(|found| found != key)
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Extremum<F::Key>>) -> Result<ArrayRef, Error> {
        self.family.cells(groups.map(|group| group.value(&())))
    }

    fn slide(&self, cells: &[Chunk], windows: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        self.family.slide(&cells[0], windows, self.end)
    }

    fn bulk(state: &mut PerGroup<Growing<F>>) -> Option<&mut dyn BulkState> {
        F::bulk(state)
    }
}

impl<F: Words> BulkState for PerGroup<Growing<F>> {
    fn words(&self) -> Vec<u64> {
        vec![self.codec.none()]
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        self.codec.family.plain(cells)
    }

    fn add(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        let none = self.codec.none();
        let mut words = [0; BATCH];
        let words = &mut words[..batch.slots.len()];
        self.codec.family.words(batch, words);
        // A key that is the word of no key would be lost.
        if words.contains(&none) {
            let found = (0..words.len()).filter(|at| words[*at] == none && !batch.is_null(*at));
            found.for_each(|at| self.groups[batch.slots[at] as usize].add(none));
        }
        batch.each_null(|_, at| words[at] = none);
        lane.extreme(words, self.codec.end == End::Greatest);
    }

    fn flush(&mut self, lane: &mut BulkColumn<'_>, _: &[i64]) {
        let none = self.codec.none();
        for (slot, group) in self.groups.iter_mut().enumerate() {
            let word = lane.of(slot)[0];
            if word != none {
                group.add(word);
            }
        }
    }
}
