//! `min`, `max`, `nan_min`, `nan_max`: a counted ordered set a group, so that a removal finds the
//! next extreme; where cells never leave, the extreme alone.
//!
//! `min` and `max` ignore NaN unless nothing else is there; the `nan_` forms give it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray, Float64Array, Int64Array,
    StringViewArray,
};
use arrow_buffer::i256;
use arrow_schema::DataType;
use column::Chunk;
use formula::Aggregate;

use super::board::{BATCH, BulkColumn};
use super::state::{Batch, State, floats, from_integers, integers, same, valid_cells};
use crate::error::Error;

/// The state for cells of this type.
pub(crate) fn state(kind: &Aggregate, input: &DataType, retractable: bool) -> Result<Box<dyn State>, Error> {
    let greatest = matches!(kind, Aggregate::Max | Aggregate::NanMax);
    let nan_wins = matches!(kind, Aggregate::NanMin | Aggregate::NanMax);
    let output = input.clone();
    Ok(match input {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            Box::new(Extreme::<Floats>::new(output, greatest, nan_wins, retractable))
        }
        DataType::Decimal128(..) => Box::new(Extreme::<Decimals>::new(output, greatest, nan_wins, retractable)),
        DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Box::new(Extreme::<Texts>::new(output, greatest, nan_wins, retractable))
        }
        DataType::Decimal256(..) => Box::new(Extreme::<WideDecimals>::new(output, greatest, nan_wins, retractable)),
        _ => Box::new(Extreme::<Integers>::new(output, greatest, nan_wins, retractable)),
    })
}

/// How cells of a family become ordered keys, and back.
pub(super) trait Family: 'static {
    type Key: Ord + Clone + Send + Sync;
    /// Calls `each` for each cell that is not null; `None` for NaN.
    fn keys(slots: &[u32], cells: &Chunk, each: impl FnMut(u32, Option<Self::Key>));
    /// For keys that are words: the cells as [`Family::words`] reads them.
    fn plain(_: &Chunk) -> Option<Chunk> {
        None
    }
    /// For keys that are words: those of a batch, `none` for cells without one; calls `odd` for each
    /// cell whose key is `none`, and for NaN.
    fn words(_: &Batch<'_>, _: &DataType, _: &mut [u64], _none: u64, _odd: impl FnMut(u32, Option<Self::Key>)) {}
    /// The key that is this word.
    fn of_word(_: u64) -> Option<Self::Key> {
        None
    }
    /// Cells of the output type; the outer `None` is null, the inner one NaN.
    fn cells(keys: Vec<Option<Option<Self::Key>>>, output: &DataType) -> Result<ArrayRef, Error>;
}

pub(super) struct Floats;
pub(super) struct Integers;
pub(super) struct Decimals;
pub(super) struct WideDecimals;
pub(super) struct Texts;

impl Family for Floats {
    type Key = u64;

    fn keys(slots: &[u32], cells: &Chunk, mut each: impl FnMut(u32, Option<u64>)) {
        let values = floats(cells);
        valid_cells(slots, &values, |slot, at| {
            let value = values.values()[at];
            each(slot, (!value.is_nan()).then(|| order_key(value)));
        });
    }

    fn plain(cells: &Chunk) -> Option<Chunk> {
        Some(Arc::new(floats(cells)))
    }

    fn words(batch: &Batch<'_>, _: &DataType, words: &mut [u64], none: u64, mut odd: impl FnMut(u32, Option<u64>)) {
        let values = batch.values::<Float64Type>();
        let mut nan = false;
        for (word, value) in words.iter_mut().zip(values) {
            *word = order_key(*value);
            nan |= value.is_nan();
        }
        if nan {
            for at in (0..words.len()).filter(|at| values[*at].is_nan()) {
                words[at] = none;
                if !batch.is_null(at) {
                    odd(batch.slots[at], None);
                }
            }
        }
        batch.each_null(|_, at| words[at] = none);
    }

    fn of_word(word: u64) -> Option<u64> {
        Some(word)
    }

    fn cells(keys: Vec<Option<Option<u64>>>, output: &DataType) -> Result<ArrayRef, Error> {
        let value = |key: Option<Option<u64>>| key.map(|key| key.map_or(f64::NAN, from_order_key));
        let values: ArrayRef = Arc::new(keys.into_iter().map(value).collect::<Float64Array>());
        Ok(if *output == DataType::Float64 { values } else { arrow_cast::cast(&values, output)? })
    }
}

/// A number that orders as the doubles do; both zeros are one.
pub(crate) fn order_key(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

pub(crate) fn from_order_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

impl Family for Integers {
    type Key = u64;

    fn keys(slots: &[u32], cells: &Chunk, mut each: impl FnMut(u32, Option<u64>)) {
        let flip = sign_bit(cells.data_type());
        let values = integers(cells);
        valid_cells(slots, &values, |slot, at| each(slot, Some(values.values()[at] as u64 ^ flip)));
    }

    fn plain(cells: &Chunk) -> Option<Chunk> {
        Some(Arc::new(integers(cells)))
    }

    fn words(batch: &Batch<'_>, of: &DataType, words: &mut [u64], none: u64, mut odd: impl FnMut(u32, Option<u64>)) {
        let (flip, mut found) = (sign_bit(of), false);
        for (word, value) in words.iter_mut().zip(batch.values::<Int64Type>()) {
            *word = *value as u64 ^ flip;
            found |= *word == none;
        }
        if found {
            for at in (0..words.len()).filter(|at| words[*at] == none && !batch.is_null(*at)) {
                odd(batch.slots[at], Some(none));
            }
        }
        batch.each_null(|_, at| words[at] = none);
    }

    fn of_word(word: u64) -> Option<u64> {
        Some(word)
    }

    fn cells(keys: Vec<Option<Option<u64>>>, output: &DataType) -> Result<ArrayRef, Error> {
        let flip = sign_bit(output);
        let value = |key: Option<Option<u64>>| key.flatten().map(|key| (key ^ flip) as i64);
        from_integers(keys.into_iter().map(value).collect::<Int64Array>(), output)
    }
}

/// What makes the bits of an integer order as the integer does.
fn sign_bit(data_type: &DataType) -> u64 {
    if *data_type == DataType::UInt64 { 0 } else { 1 << 63 }
}

impl Family for Decimals {
    type Key = i128;

    fn keys(slots: &[u32], cells: &Chunk, mut each: impl FnMut(u32, Option<i128>)) {
        let values = cells.as_primitive::<Decimal128Type>();
        valid_cells(slots, values, |slot, at| each(slot, Some(values.values()[at])));
    }

    fn cells(keys: Vec<Option<Option<i128>>>, output: &DataType) -> Result<ArrayRef, Error> {
        let values: Decimal128Array = keys.into_iter().map(Option::flatten).collect();
        Ok(Arc::new(values.with_data_type(output.clone())))
    }
}

impl Family for WideDecimals {
    type Key = i256;

    fn keys(slots: &[u32], cells: &Chunk, mut each: impl FnMut(u32, Option<i256>)) {
        let values = cells.as_primitive::<Decimal256Type>();
        valid_cells(slots, values, |slot, at| each(slot, Some(values.values()[at])));
    }

    fn cells(keys: Vec<Option<Option<i256>>>, output: &DataType) -> Result<ArrayRef, Error> {
        let values: Decimal256Array = keys.into_iter().map(Option::flatten).collect();
        Ok(Arc::new(values.with_data_type(output.clone())))
    }
}

impl Family for Texts {
    type Key = Box<[u8]>;

    fn keys(slots: &[u32], cells: &Chunk, mut each: impl FnMut(u32, Option<Box<[u8]>>)) {
        if let Some(bytes) = cells.as_fixed_size_binary_opt() {
            return valid_cells(slots, bytes, |slot, at| each(slot, Some(bytes.value(at).into())));
        }
        let bytes = arrow_cast::cast(cells, &DataType::BinaryView).expect("text is bytes");
        let bytes = bytes.as_binary_view();
        valid_cells(slots, bytes, |slot, at| each(slot, Some(bytes.value(at).into())));
    }

    fn cells(keys: Vec<Option<Option<Box<[u8]>>>>, output: &DataType) -> Result<ArrayRef, Error> {
        let keys = keys.into_iter().map(Option::flatten);
        if *output == DataType::Utf8View {
            let text = |key: Option<Box<[u8]>>| key.map(|key| String::from_utf8_lossy(&key).into_owned());
            return Ok(Arc::new(keys.map(text).collect::<StringViewArray>()));
        }
        if let DataType::FixedSizeBinary(width) = output {
            return Ok(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(keys, *width)?));
        }
        let bytes: ArrayRef = Arc::new(keys.collect::<BinaryViewArray>());
        Ok(if *output == DataType::BinaryView { bytes } else { arrow_cast::cast(&bytes, output)? })
    }
}

struct Extreme<F: Family> {
    groups: Groups<F::Key>,
    /// How many cells of a group are NaN, where some are.
    nans: HashMap<u32, i64>,
    output: DataType,
    greatest: bool,
    nan_wins: bool,
}

/// What groups hold: all their keys with their counts where cells may leave, or only the extreme.
enum Groups<K> {
    All(Vec<BTreeMap<K, u64>>),
    Only(Vec<Option<K>>),
}

impl<F: Family> Extreme<F> {
    fn new(output: DataType, greatest: bool, nan_wins: bool, retractable: bool) -> Extreme<F> {
        let groups = if retractable { Groups::All(Vec::new()) } else { Groups::Only(Vec::new()) };
        Extreme { groups, nans: HashMap::new(), output, greatest, nan_wins }
    }

    /// The word of a group without a key, which every key beats or is.
    fn none(&self) -> u64 {
        if self.greatest { 0 } else { u64::MAX }
    }

    fn note_nan(&mut self, slot: u32, times: i64) {
        let nans = self.nans.entry(slot).or_default();
        *nans += times;
        if *nans == 0 {
            self.nans.remove(&slot);
        }
    }

    fn value(&self, slot: u32) -> Option<Option<F::Key>> {
        let nan = !self.nans.is_empty() && self.nans.contains_key(&slot);
        if self.nan_wins && nan {
            return Some(None);
        }
        let found = match &self.groups {
            Groups::Only(only) => only[slot as usize].as_ref(),
            Groups::All(all) if self.greatest => all[slot as usize].keys().next_back(),
            Groups::All(all) => all[slot as usize].keys().next(),
        };
        found.cloned().map(Some).or(nan.then_some(None))
    }
}

impl<K: Ord> Groups<K> {
    #[inline]
    fn enter(&mut self, slot: u32, key: K, times: u64, greatest: bool) {
        match self {
            Groups::All(all) => *all[slot as usize].entry(key).or_insert(0) += times,
            Groups::Only(only) => {
                let only = &mut only[slot as usize];
                if only.as_ref().is_none_or(|only| if greatest { key > *only } else { key < *only }) {
                    *only = Some(key);
                }
            }
        }
    }

    fn leave(&mut self, slot: u32, key: &K) {
        let Groups::All(all) = self else { return };
        let all = &mut all[slot as usize];
        if let Some(count) = all.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                all.remove(key);
            }
        }
    }
}

impl<F: Family> State for Extreme<F> {
    fn grow(&mut self, slots: usize) {
        match &mut self.groups {
            Groups::All(all) => all.resize_with(slots, BTreeMap::new),
            Groups::Only(only) => only.resize_with(slots, || None),
        }
    }

    fn add(&mut self, slots: &[u32], cells: &Chunk) {
        F::keys(slots, cells, |slot, key| match key {
            Some(key) => self.groups.enter(slot, key, 1, self.greatest),
            None => self.note_nan(slot, 1),
        });
    }

    fn remove(&mut self, slots: &[u32], cells: &Chunk) {
        F::keys(slots, cells, |slot, key| match key {
            Some(key) => self.groups.leave(slot, &key),
            None => self.note_nan(slot, -1),
        });
    }

    fn reset(&mut self, slot: u32) {
        match &mut self.groups {
            Groups::All(all) => all[slot as usize] = BTreeMap::new(),
            Groups::Only(only) => only[slot as usize] = None,
        }
        self.nans.remove(&slot);
    }

    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error> {
        F::cells(slots.iter().map(|slot| self.value(*slot)).collect(), &self.output)
    }

    fn words(&self) -> Option<Vec<u64>> {
        let on_board = F::of_word(0).is_some() && matches!(self.groups, Groups::Only(_));
        on_board.then(|| vec![self.none()])
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        F::plain(cells).unwrap_or_else(|| cells.clone())
    }

    fn bulk_add(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        let (none, greatest) = (self.none(), self.greatest);
        let mut words = [0; BATCH];
        let words = &mut words[..batch.slots.len()];
        let output = self.output.clone();
        F::words(batch, &output, words, none, |slot, key| match key {
            Some(key) => self.groups.enter(slot, key, 1, greatest),
            None => self.note_nan(slot, 1),
        });
        lane.extreme(words, greatest);
    }

    fn flush(&mut self, lane: &mut BulkColumn<'_>, rows: &[i64]) {
        let none = self.none();
        for slot in 0..rows.len() {
            let word = lane.of(slot)[0];
            if let Some(key) = F::of_word(word).filter(|_| word != none) {
                self.groups.enter(slot as u32, key, 1, self.greatest);
            }
        }
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        let other = same::<Extreme<F>>(other);
        match other.groups {
            Groups::All(all) => {
                for (group, to) in all.into_iter().zip(slots) {
                    group.into_iter().for_each(|(key, count)| self.groups.enter(*to, key, count, self.greatest));
                }
            }
            Groups::Only(only) => {
                for (key, to) in only.into_iter().zip(slots) {
                    key.into_iter().for_each(|key| self.groups.enter(*to, key, 1, self.greatest));
                }
            }
        }
        other.nans.into_iter().for_each(|(from, times)| self.note_nan(slots[from as usize], times));
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_keys_order_as_doubles_do() {
        let ascending =
            [f64::NEG_INFINITY, f64::MIN, -1.0, -f64::MIN_POSITIVE, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY];
        assert!(ascending.windows(2).all(|pair| order_key(pair[0]) < order_key(pair[1])));
        assert!(ascending.iter().all(|value| from_order_key(order_key(*value)) == *value));
        assert_eq!(order_key(-0.0), order_key(0.0));
    }
}
