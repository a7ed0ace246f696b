//! Hashes of cells: equal cells have equal hashes, whatever chunk they lie in, in every run.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{NullBuffer, ToByteSlice};
use arrow_row::{RowConverter, SortField};
use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;
use std::hash::Hasher;

use super::words::{append_words, cells, have_words, normalised};
use crate::Error;
use crate::kind::{Kind, canonical};

/// The hash of null in a column of its own.
pub const HASH_OF_NULL: u64 = 0x9ae1_6a3b_2f90_404f;

static SEED: SharedSeed = SharedSeed::from_u64(0x7469_636b_6672_616d);

/// One hash a row of all these columns together. A single column of words hashes one to one.
pub fn hash_columns(columns: &[ArrayRef]) -> Vec<u64> {
    let mut hashes = Vec::new();
    let mut next = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        if at == 0 {
            hash_into(column, &mut hashes);
        } else {
            next.clear();
            hash_into(column, &mut next);
            hashes.iter_mut().zip(&next).for_each(|(hash, &next)| *hash = combine(*hash, next));
        }
    }
    hashes
}

/// Spreads a word over 64 bits, one to one; the high bits are the best.
#[inline(always)]
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ (word >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The hash of bytes given by their view; `long` is asked for the bytes a view does not hold itself.
#[inline(always)]
pub(crate) fn hash_view<'a>(view: u128, long: impl FnOnce() -> &'a [u8]) -> u64 {
    if view as u32 <= 12 { mix(mix(view as u64) ^ ((view >> 64) as u64).rotate_left(17)) } else { hash_bytes(long()) }
}

/// Where a hash of several words starts.
pub(crate) const START: u64 = 0x13198a2e03707344;

/// A hash of several words with one more.
#[inline(always)]
pub(crate) fn stir(hash: u64, word: u64) -> u64 {
    fold(hash ^ word, 0x9e37_79b9_7f4a_7c15)
}

/// A hash of several words with one more text.
#[inline(always)]
pub(crate) fn stir_view<'a>(hash: u64, view: u128, long: impl FnOnce() -> &'a [u8]) -> u64 {
    let high = if view as u32 <= 12 { (view >> 64) as u64 } else { hash_bytes(long()) };
    fold(hash ^ view as u64, high ^ 0xa409_3822_299f_31d1)
}

#[inline(always)]
fn fold(one: u64, two: u64) -> u64 {
    let product = u128::from(one) * u128::from(two);
    product as u64 ^ (product >> 64) as u64
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = FoldHasher::with_seed(0x243f_6a88_85a3_08d3, &SEED);
    hasher.write(bytes);
    hasher.finish()
}

#[inline(always)]
fn combine(hash: u64, next: u64) -> u64 {
    mix(hash.rotate_left(23) ^ next)
}

fn hash_into(column: &ArrayRef, out: &mut Vec<u64>) {
    if have_words(column.data_type()) {
        append_words(column, out);
        out.iter_mut().for_each(|word| *word = mix(*word));
        return hash_nulls(column.nulls(), out);
    }
    if canonical(column.data_type()) != *column.data_type() {
        return hash_opaque(column, out);
    }
    match Kind::of(column.data_type()) {
        Kind::Str => {
            let text = column.as_string_view();
            hash_views(text.views(), column.nulls(), |row| text.value(row).as_bytes(), out);
        }
        Kind::Bytes => {
            let binary = column.as_binary_view();
            hash_views(binary.views(), column.nulls(), |row| binary.value(row), out);
        }
        Kind::I128 | Kind::MonthDayNano => {
            let wide = cells::<i128>(column);
            out.extend(wide.iter().map(|&cell| combine(mix(cell as u64), (cell >> 64) as u64)));
        }
        Kind::I256 => {
            let wide = cells::<arrow_buffer::i256>(column);
            out.extend(wide.iter().map(|cell| hash_bytes(cell.to_byte_slice())));
        }
        Kind::Fixed(_) => {
            let fixed = column.as_fixed_size_binary();
            out.extend((0..fixed.len()).map(|row| hash_bytes(fixed.value(row))));
        }
        _ => return hash_opaque(column, out),
    }
    hash_nulls(column.nulls(), out);
}

fn hash_views<'a>(views: &[u128], nulls: Option<&NullBuffer>, bytes: impl Fn(usize) -> &'a [u8], out: &mut Vec<u64>) {
    out.extend(views.iter().enumerate().map(|(row, &view)| {
        // The view of a null is any 16 bytes: it must not be followed.
        if nulls.is_some_and(|nulls| nulls.is_null(row)) { HASH_OF_NULL } else { hash_view(view, || bytes(row)) }
    }));
}

fn hash_nulls(nulls: Option<&NullBuffer>, out: &mut [u64]) {
    if let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) {
        out.iter_mut().zip(nulls.iter()).for_each(|(hash, valid)| {
            if !valid {
                *hash = HASH_OF_NULL;
            }
        });
    }
}

/// Lists, structs, dictionaries: by the bytes of their encoded values. What cannot be encoded is never
/// a key; all its cells share one hash, which is slow and not wrong.
fn hash_opaque(column: &ArrayRef, out: &mut Vec<u64>) {
    match encode(column) {
        Ok(hashes) => out.extend(hashes),
        Err(_) => out.extend(std::iter::repeat_n(HASH_OF_NULL, column.len())),
    }
    hash_nulls(column.logical_nulls().as_ref(), out);
}

fn encode(column: &ArrayRef) -> Result<Vec<u64>, Error> {
    let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())])?;
    let rows = converter.convert_columns(&[normalised(column)?])?;
    Ok(rows.iter().map(|row| hash_bytes(row.data())).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use arrow_array::types::Float64Type;
    use arrow_array::{Decimal128Array, Float64Array, Int64Array, ListArray, StringViewArray};

    use super::*;

    fn hashes(array: impl Array + 'static) -> Vec<u64> {
        hash_columns(&[Arc::new(array)])
    }

    #[test]
    fn equal_cells_have_equal_hashes() {
        let odd_nan = f64::from_bits(0xfff8_0000_0000_0001);
        let floats = hashes(Float64Array::from(vec![0.0, -0.0, f64::NAN, odd_nan]));
        assert_eq!((floats[0], floats[2]), (floats[1], floats[3]));
        let lists =
            ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(-0.0)]), Some(vec![Some(0.0)]), None]);
        let lists = hashes(lists);
        assert_eq!(lists[0], lists[1]);
        assert_eq!(lists[2], HASH_OF_NULL);
    }

    #[test]
    fn a_slice_hashes_as_the_whole() {
        let text = StringViewArray::from(vec![Some("a"), None, Some("a long text that is not inline"), Some("")]);
        let whole = hashes(text.clone());
        assert_eq!(hashes(text.slice(1, 3)), whole[1..]);
        let wide = Decimal128Array::from(vec![Some(1), None, Some(-1)]);
        assert_eq!(hashes(wide.slice(1, 2)), hashes(wide)[1..]);
    }

    #[test]
    fn the_high_bits_of_words_and_views_that_look_alike_differ() {
        let texts = StringViewArray::from_iter_values((0..1 << 16).map(|row| format!("S{row:06}")));
        let of_texts = texts.views().iter().map(|view| stir_view(START, *view, || unreachable!()));
        let of_pairs = (0..1 << 16).map(|row| stir(stir(START, row >> 8), (row & 255) << 32));
        for hashes in [of_texts.collect::<Vec<u64>>(), of_pairs.collect()] {
            let places: HashSet<u64> = hashes.iter().map(|hash| hash >> 48).collect();
            assert!(places.len() > 40_000, "{} of 65,536, where chance gives 41,400", places.len());
        }
    }

    #[test]
    fn different_rows_differ_and_order_of_columns_counts() {
        let a: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_000));
        let b: ArrayRef = Arc::new(Int64Array::from_iter_values((0..10_000).map(|row| row / 100)));
        let forth = hash_columns(&[a.clone(), b.clone()]);
        assert_eq!(forth.iter().collect::<HashSet<_>>().len(), 10_000);
        assert_ne!(forth, hash_columns(&[b, a]));
    }
}
