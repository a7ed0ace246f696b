//! `n_unique`, `count_distinct`: pairs of group and value with how often each is there, and how many pairs a group has.
//!
//! A state of its own kind, not an accumulator a group: one table of pairs serves all groups and every type that can be
//! a key, where a set a group would be an allocation each, and a copy of each text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, UInt32Array};
use arrow_schema::DataType;
use column::Chunk;
use column::keys::KeyTable;

use super::state::{State, as_same, same};
use crate::error::Error;

/// Bytes of a pair, about: its key, its place in the table, and its count.
const PAIR: u64 = 32;

/// Counts by pair, and pairs by group.
pub(crate) struct Distinct {
    pairs: KeyTable,
    counts: Vec<i64>,
    distinct: Vec<i64>,
    of: DataType,
    /// Whether null is a value.
    nulls: bool,
}

impl Distinct {
    /// Of cells of this type, that can be keys.
    pub(crate) fn new(of: &DataType, nulls: bool) -> Distinct {
        let pairs = KeyTable::new(&[DataType::UInt32, of.clone()]);
        Distinct { pairs, counts: Vec::new(), distinct: Vec::new(), of: of.clone(), nulls }
    }

    /// Groups and values as keys, without nulls if they are none.
    fn keys(&self, slots: &[u32], cells: &Chunk) -> [ArrayRef; 2] {
        let groups: ArrayRef = Arc::new(UInt32Array::from(slots.to_vec()));
        let cells = match *cells.data_type() == self.of {
            true => cells.clone(),
            false => arrow_cast::cast(cells, &self.of).expect("cells are values of their column's type"),
        };
        match cells.logical_nulls().filter(|nulls| !self.nulls && nulls.null_count() > 0) {
            None => [groups, cells],
            Some(nulls) => {
                let there = BooleanArray::new(nulls.into_inner(), None);
                [groups, cells].map(|of| arrow_select::filter::filter(&of, &there).expect("as long as the cells"))
            }
        }
    }

    fn enter(&mut self, keys: &[ArrayRef], times: impl Iterator<Item = i64>) {
        let mut pairs = Vec::new();
        self.pairs.insert(keys, &mut pairs, &mut Vec::new()).expect("fewer than 2^32 pairs, of cells that can be keys");
        self.counts.resize(self.pairs.capacity_slots().max(self.counts.len()), 0);
        let groups = keys[0].as_primitive::<UInt32Type>();
        for ((pair, group), times) in pairs.into_iter().zip(groups.values()).zip(times) {
            let count = &mut self.counts[pair as usize];
            self.distinct[*group as usize] += i64::from(*count == 0);
            *count += times;
        }
    }
}

impl State for Distinct {
    fn grow(&mut self, slots: usize) {
        self.distinct.resize(slots, 0);
    }

    fn add(&mut self, slots: &[u32], cells: &[Chunk]) {
        let keys = self.keys(slots, &cells[0]);
        self.enter(&keys, std::iter::repeat(1));
    }

    fn remove(&mut self, slots: &[u32], cells: &[Chunk]) {
        let keys = self.keys(slots, &cells[0]);
        let mut pairs = Vec::new();
        self.pairs.find(&keys, &mut pairs);
        for (pair, group) in pairs.into_iter().zip(keys[0].as_primitive::<UInt32Type>().values()) {
            let Some(count) = self.counts.get_mut(pair as usize) else { continue };
            *count -= 1;
            if *count == 0 {
                self.pairs.free(pair);
                self.distinct[*group as usize] -= 1;
            }
        }
    }

    fn reset(&mut self, slot: u32) {
        // A group that is gone has lost every value before.
        self.distinct[slot as usize] = 0;
    }

    fn held(&self, _: usize) -> u64 {
        // What is held is counted; it doubles when it is full.
        (self.counts.len() as u64).saturating_mul(PAIR)
    }

    fn values_of(&self, held: &dyn State, slots: &[u32]) -> Result<ArrayRef, Error> {
        let held = as_same::<Distinct>(held).unwrap_or(self);
        Ok(Arc::new(Int64Array::from_iter_values(slots.iter().map(|slot| held.distinct[*slot as usize]))))
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        let other = same::<Distinct>(other);
        let there: Vec<u32> = (0..other.counts.len() as u32).filter(|pair| other.counts[*pair as usize] > 0).collect();
        let mut keys = other.pairs.keys_of(&there);
        let groups = keys[0].as_primitive::<UInt32Type>().unary::<_, UInt32Type>(|group| slots[group as usize]);
        keys[0] = Arc::new(groups);
        self.enter(&keys, there.iter().map(|pair| other.counts[*pair as usize]));
    }
}
