//! `median`, `quantile`: the values of a group in two ordered halves, split at the place that is asked for.
//!
//!   low 1 2 2 | 5 high      median 2.0      + 9      low 1 2 2 | 5 9 high      median 2.0
//!
//! A value that comes or goes moves the split by one place at most: cost of a change, a search in its half. NaN is the
//! greatest value.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_schema::DataType;
use column::Chunk;
use formula::{Interpolation, Part};

use super::extreme::{Decimals, Family, Floats, Integers, Texts};
use super::state::{State, floats, same};
use crate::error::Error;

/// The state for cells of this type, whose result is of that.
pub(crate) fn state(input: &DataType, output: &DataType, part: Part, between: Interpolation) -> Box<dyn State> {
    let place = Place { part: part.get(), between };
    match input {
        DataType::Float16 | DataType::Float32 | DataType::Float64 | DataType::Decimal256(..) => {
            Ranked::<Floats>::boxed(&DataType::Float64, output, place)
        }
        DataType::Decimal128(..) => Ranked::<Decimals>::boxed(input, output, place),
        DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Ranked::<Texts>::boxed(input, output, place)
        }
        _ => Ranked::<Integers>::boxed(input, output, place),
    }
}

/// The middle: of numbers the mean of the two, of others the lower one.
pub(crate) fn median(input: &DataType, output: &DataType) -> Box<dyn State> {
    let between = if *output == DataType::Float64 { Interpolation::Midpoint } else { Interpolation::Lower };
    state(input, output, Part::HALF, between)
}

/// Which place is asked for, and what is taken where it lies between two.
#[derive(Clone, Copy)]
struct Place {
    part: f64,
    between: Interpolation,
}

impl Place {
    /// How far from the least of so many values.
    fn at(self, len: u64) -> f64 {
        (len - 1) as f64 * self.part
    }

    /// Of so many values those up to the place.
    fn low(self, len: u64) -> u64 {
        if len == 0 { 0 } else { (self.at(len).floor() as u64 + 1).min(len) }
    }

    /// How much of the way from the value below the place to the one above it.
    fn toward(self, len: u64) -> f64 {
        let at = self.at(len);
        let rest = at - at.floor();
        match self.between {
            Interpolation::Nearest => (at + 0.5).floor() - at.floor(),
            Interpolation::Lower => 0.0,
            Interpolation::Higher => rest.ceil(),
            Interpolation::Midpoint if rest > 0.0 => 0.5,
            Interpolation::Midpoint => 0.0,
            Interpolation::Linear => rest,
        }
    }
}

/// A value by its order; NaN is the greatest.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Rank<K> {
    Value(K),
    Nan,
}

/// The values of a group with their counts.
struct Halves<K> {
    low: BTreeMap<Rank<K>, u64>,
    high: BTreeMap<Rank<K>, u64>,
    low_len: u64,
    len: u64,
}

impl<K> Default for Halves<K> {
    fn default() -> Halves<K> {
        Halves { low: BTreeMap::new(), high: BTreeMap::new(), low_len: 0, len: 0 }
    }
}

fn put<K: Ord>(half: &mut BTreeMap<Rank<K>, u64>, key: Rank<K>, times: u64) {
    *half.entry(key).or_insert(0) += times;
}

/// Takes one of a value away; whether it was there.
fn take<K: Ord>(half: &mut BTreeMap<Rank<K>, u64>, key: &Rank<K>) -> bool {
    let Some(count) = half.get_mut(key) else { return false };
    *count -= 1;
    if *count == 0 {
        half.remove(key);
    }
    true
}

impl<K: Ord + Clone> Halves<K> {
    fn enter(&mut self, key: Rank<K>, times: u64, place: Place) {
        self.len += times;
        if self.high.first_key_value().is_some_and(|(first, _)| key >= *first) {
            put(&mut self.high, key, times);
        } else {
            put(&mut self.low, key, times);
            self.low_len += times;
        }
        self.split(place);
    }

    fn leave(&mut self, key: &Rank<K>, place: Place) {
        if take(&mut self.low, key) {
            self.low_len -= 1;
        } else if !take(&mut self.high, key) {
            return;
        }
        self.len -= 1;
        self.split(place);
    }

    fn split(&mut self, place: Place) {
        let wanted = place.low(self.len);
        while self.low_len > wanted {
            let Some(last) = self.low.last_entry() else { return };
            let (key, times) = (last.key().clone(), (*last.get()).min(self.low_len - wanted));
            match *last.get() == times {
                true => _ = last.remove(),
                false => *last.into_mut() -= times,
            }
            put(&mut self.high, key, times);
            self.low_len -= times;
        }
        while self.low_len < wanted {
            let Some(first) = self.high.first_entry() else { return };
            let (key, times) = (first.key().clone(), (*first.get()).min(wanted - self.low_len));
            match *first.get() == times {
                true => _ = first.remove(),
                false => *first.into_mut() -= times,
            }
            put(&mut self.low, key, times);
            self.low_len += times;
        }
    }

    /// How many different values there are.
    fn different(&self) -> usize {
        self.low.len() + self.high.len()
    }

    /// The value at the place or below it, and the next one.
    fn around(&self) -> Option<(&Rank<K>, &Rank<K>)> {
        let (below, _) = self.low.last_key_value()?;
        let above = self.high.first_key_value().map_or(below, |(above, _)| above);
        Some((below, above))
    }
}

struct Ranked<F: Family> {
    groups: Vec<Halves<F::Key>>,
    /// Different values of all groups.
    different: usize,
    /// The type that keys are made back into.
    of: DataType,
    output: DataType,
    place: Place,
}

impl<F: Family> Ranked<F> {
    fn boxed(of: &DataType, output: &DataType, place: Place) -> Box<dyn State> {
        Box::new(Ranked::<F> { groups: Vec::new(), different: 0, of: of.clone(), output: output.clone(), place })
    }

    /// Edits one group.
    fn edit(&mut self, slot: u32, edit: impl FnOnce(&mut Halves<F::Key>, Place)) {
        let group = &mut self.groups[slot as usize];
        let before = group.different();
        edit(group, self.place);
        self.different = self.different + group.different() - before;
    }

    fn cells(&self, ranks: impl Iterator<Item = Option<Rank<F::Key>>>) -> Result<ArrayRef, Error> {
        let key = |rank: Rank<F::Key>| match rank {
            Rank::Value(key) => Some(key),
            Rank::Nan => None,
        };
        F::cells(ranks.map(|rank| rank.map(key)).collect(), &self.of)
    }
}

fn rank<K>(key: Option<K>) -> Rank<K> {
    key.map_or(Rank::Nan, Rank::Value)
}

impl<F: Family> State for Ranked<F> {
    fn grow(&mut self, slots: usize) {
        self.groups.resize_with(slots, Halves::default);
    }

    fn add(&mut self, slots: &[u32], cells: &Chunk) {
        F::keys(slots, cells, |slot, key| self.edit(slot, |group, place| group.enter(rank(key), 1, place)));
    }

    fn remove(&mut self, slots: &[u32], cells: &Chunk) {
        F::keys(slots, cells, |slot, key| self.edit(slot, |group, place| group.leave(&rank(key), place)));
    }

    fn reset(&mut self, slot: u32) {
        self.edit(slot, |group, _| *group = Halves::default());
    }

    fn held(&self, more: usize) -> u64 {
        // A node of a tree is two thirds full, in the end.
        let value = size_of::<(Rank<F::Key>, u64)>() * 3 / 2;
        (self.different.saturating_add(more) as u64).saturating_mul(value as u64)
    }

    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error> {
        let group = |slot: &u32| &self.groups[*slot as usize];
        let toward = |slot: &u32| Some(group(slot).len).filter(|len| *len > 0).map(|len| self.place.toward(len));
        if self.output != DataType::Float64 {
            let chosen = |slot: &u32| {
                let (below, above) = group(slot).around()?;
                Some(if toward(slot)? < 1.0 { below.clone() } else { above.clone() })
            };
            return self.cells(slots.iter().map(chosen));
        }
        let below = floats(&self.cells(slots.iter().map(|slot| Some(group(slot).around()?.0.clone())))?);
        let above = floats(&self.cells(slots.iter().map(|slot| Some(group(slot).around()?.1.clone())))?);
        let value = |(at, slot): (usize, &u32)| {
            toward(slot).filter(|_| below.is_valid(at)).map(|toward| between(below.value(at), above.value(at), toward))
        };
        Ok(Arc::new(slots.iter().enumerate().map(value).collect::<Float64Array>()))
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        for (group, to) in same::<Ranked<F>>(other).groups.into_iter().zip(slots) {
            let all = group.low.into_iter().chain(group.high);
            self.edit(*to, |own, place| all.for_each(|(key, times)| own.enter(key, times, place)));
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

/// A part of the way from one number to the next.
fn between(below: f64, above: f64, toward: f64) -> f64 {
    match toward {
        0.0 => below,
        1.0 => above,
        _ if below == above => below,
        0.5 if (below + above).is_finite() => (below + above) / 2.0,
        _ if (above - below).is_finite() => below + (above - below) * toward,
        _ => below * (1.0 - toward) + above * toward,
    }
}
