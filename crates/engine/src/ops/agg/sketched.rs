//! `approx_n_unique`, `approx_quantile`: sketches of cells.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array};
use arrow_schema::DataType;
use column::Chunk;
use column::kernels::{OrderBytes, order_words};

use super::accumulators::{Accumulator, Buckets, DistinctSketch, Removable};
use super::state::{Codec, each_float};
use crate::error::Error;

/// The hash of null.
const NULL: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number as a hash: each bit of it goes into each bit of that.
pub(crate) fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(NULL);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

fn of_bytes(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(mixed(bytes.len() as u64), |hash, part| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        mixed(hash ^ u64::from_le_bytes(word))
    })
}

/// Cells whose distinct values are counted about; null is one.
pub(crate) struct Hashed {
    /// Of cells that are more than a word.
    bytes: Option<OrderBytes>,
}

impl Hashed {
    /// For cells of this type, that can be keys.
    pub(crate) fn new(of: &DataType) -> Result<Hashed, Error> {
        let has_words = order_words(&arrow_array::new_empty_array(of), false).is_some();
        let bytes = || OrderBytes::new(std::slice::from_ref(of), &[false], &[false]);
        Ok(Hashed { bytes: if has_words { None } else { Some(bytes()?) } })
    }
}

impl Codec for Hashed {
    type Of = DistinctSketch;
    const GIVES_BACK: bool = false;

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn empty(&self) -> DistinctSketch {
        DistinctSketch::default()
    }

    fn decode(&self, cells: &[Chunk], mut each: impl FnMut(usize, u64)) {
        let nulls = cells[0].logical_nulls();
        let is_null = |at: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
        let mut hashes = |of: &dyn Fn(usize) -> u64| {
            (0..cells[0].len()).for_each(|at| each(at, if is_null(at) { NULL } else { of(at) }));
        };
        match &self.bytes {
            Some(bytes) => {
                let rows = bytes.encode(&cells[..1]).expect("cells of the type that it is made for");
                hashes(&|at| of_bytes(rows.row(at).as_ref()));
            }
            None => {
                let words = order_words(&cells[0], false).expect("a type whose cells are words");
                hashes(&|at| mixed(words[at]));
            }
        }
    }

    /// Nothing leaves: tables of which rows leave are refused.
    fn remove(_: &mut DistinctSketch, _: u64) {}

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a DistinctSketch>) -> Result<ArrayRef, Error> {
        Ok(Arc::new(Int64Array::from_iter_values(groups.map(|group| group.value(&())))))
    }
}

/// Numbers of which the value at a part of the way is told about.
pub(crate) struct Bucketed {
    pub(crate) part: f64,
}

impl Codec for Bucketed {
    type Of = Buckets;

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn empty(&self) -> Buckets {
        Buckets::default()
    }

    fn decode(&self, cells: &[Chunk], each: impl FnMut(usize, f64)) {
        each_float(&cells[0], each);
    }

    fn remove(of: &mut Buckets, value: f64) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Buckets>) -> Result<ArrayRef, Error> {
        Ok(Arc::new(groups.map(|group| group.value(&self.part)).collect::<Float64Array>()))
    }
}
