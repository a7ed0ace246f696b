//! Cells of a chunk by position, and by row set: one body for each width, none for each type.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer};
use arrow_select::take::take;
use rowset::{RowSet, Segment};

use super::masked;
use crate::column::{Chunk, NO_ROW};
use crate::error::Error;
use crate::kernels::bits::{Bits, word_at};
use crate::kernels::cells::{Cells, Gathered, Shape, with_width};
use crate::types::kind::Kind;

/// One cell of `chunk` per position, in the order given; positions may repeat, [`NO_ROW`] gives null.
///
/// # Panics
/// If a position lies outside the chunk.
pub fn gather(chunk: &Chunk, positions: &[u64]) -> Result<Chunk, Error> {
    let shape = Shape::new(chunk.data_type());
    if shape.is_opaque() || shape.data_type != *chunk.data_type() {
        return by_arrow(chunk, positions);
    }
    let cells = Cells::of(&shape, chunk);
    let mut gathered = Gathered::new(&shape, positions.len());
    let absent = with_width!(shape, T, stride => {
        let (out, source) = (gathered.values.typed_data_mut::<T>(), cells.values.typed_data::<T>());
        if stride == 1 { pick(out, source, positions) } else { pick_wide(out, source, positions, stride) }
    });
    if absent || cells.nulls.is_some() {
        let valid = gathered.valid_mut();
        let null = |pos: u64| pos == NO_ROW || cells.nulls.as_ref().is_some_and(|nulls| nulls.is_null(pos as usize));
        positions.iter().enumerate().filter(|&(_, &pos)| null(pos)).for_each(|(at, _)| valid.set(at, false));
    }
    gathered.texts = cells.texts;
    Ok(gathered.finish(&shape))
}

/// Whether some position was [`NO_ROW`].
#[inline(never)]
fn pick<T: ArrowNativeType>(out: &mut [T], source: &[T], positions: &[u64]) -> bool {
    let mut absent = false;
    for (to, &pos) in out.iter_mut().zip(positions) {
        if pos == NO_ROW {
            absent = true;
        } else {
            *to = source[pos as usize];
        }
    }
    absent
}

#[inline(never)]
fn pick_wide<T: ArrowNativeType>(out: &mut [T], source: &[T], positions: &[u64], stride: usize) -> bool {
    let mut absent = false;
    for (at, &pos) in positions.iter().enumerate() {
        if pos == NO_ROW {
            absent = true;
        } else {
            out[at * stride..(at + 1) * stride].copy_from_slice(&source[pos as usize * stride..][..stride]);
        }
    }
    absent
}

/// The cells of `chunk` at these rows, where its first cell is that of key `first`.
///
/// # Panics
/// If a row lies outside the chunk.
pub fn gather_rows(chunk: &Chunk, first: u64, rows: &RowSet) -> Result<Chunk, Error> {
    let shape = Shape::new(chunk.data_type());
    if shape.is_opaque() || shape.data_type != *chunk.data_type() {
        let mut positions = rows.to_vec();
        positions.iter_mut().for_each(|key| *key -= first);
        return Ok(take(chunk, &UInt64Array::from(positions), None)?);
    }
    let len = rows.len() as usize;
    let nulls = chunk.nulls().map(|nulls| pick_bits(nulls.inner(), first, rows));
    if shape.kind == Kind::Bool {
        let values = BooleanBuffer::new(pick_bits(chunk.as_boolean().values(), first, rows).into_buffer(), 0, len);
        return Ok(Arc::new(BooleanArray::new(values, nulls.and_then(|valid| valid.into_nulls(len)))));
    }
    let cells = Cells::of(&shape, chunk);
    let mut gathered = Gathered::new(&shape, len);
    with_width!(shape, T, stride => {
        pick_rows::<T>(gathered.values.typed_data_mut(), cells.values.typed_data(), stride, first, rows);
    });
    (gathered.valid, gathered.texts) = (nulls, cells.texts);
    Ok(gathered.finish(&shape))
}

/// Cells of several chunks of one type, one chunk after the other. A part is a chunk, the key of its first cell, and the rows that are taken.
/// No part at all is an error: its cells would have no type.
///
/// # Panics
/// If a row lies outside its chunk.
pub fn gather_parts(parts: &[(Chunk, u64, RowSet)]) -> Result<Chunk, Error> {
    let [(first, ..), _, ..] = parts else {
        return parts.first().map_or_else(|| Err(nothing()), |(chunk, first, rows)| gather_rows(chunk, *first, rows));
    };
    let shape = Shape::new(first.data_type());
    let is_full = |(chunk, ..): &(Chunk, u64, RowSet)| *chunk.data_type() == shape.data_type && chunk.null_count() == 0;
    if !shape.is_plain() || shape.kind == Kind::Bool || !parts.iter().all(is_full) {
        let picked: Vec<Chunk> =
            parts.iter().map(|(chunk, first, rows)| gather_rows(chunk, *first, rows)).collect::<Result<_, _>>()?;
        return Ok(arrow_select::concat::concat(&picked.iter().map(|chunk| chunk.as_ref()).collect::<Vec<_>>())?);
    }
    let len = parts.iter().map(|(.., rows)| rows.len() as usize).sum();
    let mut gathered = Gathered::new(&shape, len);
    with_width!(shape, T, stride => {
        let (out, mut at) = (gathered.values.typed_data_mut::<T>(), 0);
        for (chunk, first, rows) in parts {
            pick_rows::<T>(&mut out[at * stride..], Cells::of(&shape, chunk).values.typed_data(), stride, *first, rows);
            at += rows.len() as usize;
        }
    });
    Ok(gathered.finish(&shape))
}

fn nothing() -> Error {
    Error::Arrow(Arc::new(arrow_schema::ArrowError::InvalidArgumentError("cells of no chunk have no type".to_owned())))
}

fn pick_rows<T: ArrowNativeType>(out: &mut [T], source: &[T], stride: usize, first: u64, rows: &RowSet) {
    let mut at = 0;
    rows.segments(|stretch| {
        let out = &mut out[at * stride..];
        at += match stretch {
            Segment::Span(span) => {
                let len = span.len() as usize;
                let from = (span.first - first) as usize * stride;
                out[..len * stride].copy_from_slice(&source[from..from + len * stride]);
                len
            }
            Segment::Keys(keys) if stride == 1 => {
                out.iter_mut().zip(keys).for_each(|(to, key)| *to = source[(key - first) as usize]);
                keys.len()
            }
            Segment::Keys(keys) => {
                for (to, key) in out.chunks_exact_mut(stride.max(1)).zip(keys) {
                    to.copy_from_slice(&source[(key - first) as usize * stride..][..stride]);
                }
                keys.len()
            }
            Segment::Words { first: base, words } => {
                let (from, words) = words_from(base, words, first);
                masked::pick(&source[from * stride..], &words, stride, out)
            }
        };
    });
}

/// Bits by row set, where the first one is that of key `first`.
fn pick_bits(source: &BooleanBuffer, first: u64, rows: &RowSet) -> Bits {
    let mut bits = Bits::filled(rows.len() as usize, true);
    let mut at = 0;
    rows.segments(|stretch| {
        at += match stretch {
            Segment::Span(span) => {
                let len = span.len() as usize;
                bits.copy_buffer(at, source, (span.first - first) as usize, len);
                len
            }
            Segment::Keys(keys) => {
                let place = |key: &u64| (key - first) as usize;
                (at..).zip(keys).for_each(|(at, key)| bits.set(at, source.value(place(key))));
                keys.len()
            }
            Segment::Words { first: base, words } => {
                let (from, words) = words_from(base, words, first);
                let source = source.slice(from, (words.len() * 64).min(source.len() - from));
                bits.pick(at, source.bit_chunks().iter_padded(), &words)
            }
        };
    });
    bits
}

/// The words whose first bit stands for `base`, without those that lie in front of `first`: none of them
/// is one. Which position the first bit of what is left stands for, counted from `first`.
fn words_from(base: u64, words: &[u64], first: u64) -> (usize, Cow<'_, [u64]>) {
    match first.checked_sub(base) {
        None | Some(0) => ((base - first) as usize, Cow::Borrowed(words)),
        Some(skip) => (0, (skip as usize..words.len() * 64).step_by(64).map(|at| word_at(words, at)).collect()),
    }
}

fn by_arrow(chunk: &ArrayRef, positions: &[u64]) -> Result<Chunk, Error> {
    let positions: UInt64Array = positions.iter().map(|&pos| (pos != NO_ROW).then_some(pos)).collect();
    Ok(take(chunk, &positions, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    use crate::tests::model::{chunk, every_type};

    #[test]
    fn every_type_is_picked_by_rows_of_every_form() {
        let mut dice = Rng::with_seed(5);
        let kept = |dice: &mut Rng, keys: std::ops::Range<u64>, parts: u64| {
            let keys: Vec<u64> = keys.filter(|_| dice.u64(..10_000) < parts).collect();
            RowSet::from_sorted_keys(&keys)
        };
        let len = 200_000;
        for data_type in every_type() {
            let values: Vec<_> = (0..len).map(|_| (dice.u64(..5) > 0).then(|| dice.u64(..1000))).collect();
            let whole = chunk(&data_type, &values);
            let full = chunk(&data_type, &values.iter().map(|cell| cell.or(Some(7))).collect::<Vec<_>>());
            for (chunk, from) in [(whole.slice(13, len - 20), 0), (full, 0), (whole, 70_077)] {
                let end = from + chunk.len() as u64;
                let mut rows = kept(&mut dice, from..(from + end) / 2, 5_000);
                rows |= &kept(&mut dice, (from + end) / 2..end - 60_000, 70);
                rows |= &RowSet::range(end - 50_000, end - 49_000);
                rows |= &kept(&mut dice, end - 30_000..end, 9_950);
                rows.insert(from);
                let positions: Vec<u64> = rows.iter().map(|key| key - from).collect();
                let found = gather_rows(&chunk, from, &rows).unwrap();
                found.to_data().validate_full().unwrap();
                assert_eq!(&found, &by_arrow(&chunk, &positions).unwrap());
                // The same rows of two chunks that lie side by side.
                let cut = chunk.len() / 3;
                let (low, high) = (chunk.slice(0, cut), chunk.slice(cut, chunk.len() - cut));
                let border = from + cut as u64;
                let parts = [
                    (low, from, &rows & &RowSet::range(from, border - 1)),
                    (high, border, &rows & &RowSet::range(border, end)),
                ];
                assert_eq!(&gather_parts(&parts).unwrap(), &found);
            }
        }
    }

    #[test]
    fn every_type_gathers_as_arrow_does() {
        let mut dice = Rng::with_seed(4);
        for data_type in every_type() {
            let cells: Vec<_> = (0..500).map(|_| (dice.u64(..5) > 0).then(|| dice.u64(..1000))).collect();
            let chunk = chunk(&data_type, &cells).slice(13, 450);
            for absent in [u64::MAX, 6] {
                let position = |dice: &mut Rng| if dice.u64(..10) > absent { NO_ROW } else { dice.u64(..450) };
                let positions: Vec<u64> = (0..300).map(|_| position(&mut dice)).collect();
                let found = gather(&chunk, &positions).unwrap();
                found.to_data().validate_full().unwrap();
                assert_eq!(&found, &by_arrow(&chunk, &positions).unwrap());
            }
            assert_eq!(gather(&chunk, &[]).unwrap().len(), 0);
        }
    }
}
