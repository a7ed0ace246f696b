//! Cells of a row set copied together out of a tree of blocks, in the forms in which the set has its keys:
//! ranges are copied, words of bits are masks over blocks, keys that stand apart are asked for before.

use std::sync::Arc;

use arrow_buffer::ArrowNativeType;
use rowset::{RowSet, Segment, Span};

use crate::kernels::bits::Bits;
use crate::kernels::cells::{Gathered, Shape, with_width};
use crate::kernels::masked;
use crate::sizes::BLOCK;
use crate::storage::block::Block;
use crate::storage::reading::{Batch, Found, prefetch_cells};
use crate::storage::runs::{first_run, locate};
use crate::storage::segments::Segments;
use crate::storage::tree::{Cursor, Tree};

/// The cells of these rows, copied together. Not for opaque shapes.
pub(crate) fn gather(tree: &Tree, shape: &Shape, rows: &RowSet) -> Gathered {
    let mut gathered = Gathered::new(shape, usize::try_from(rows.len()).unwrap_or(usize::MAX));
    let mut segments = Segments::new(shape, (0, 0));
    with_width!(shape, T, stride => {
        let mut gathering = Gathering::<T>::new(tree, stride, &mut gathered, &mut segments);
        rows.segments(|stretch| match stretch {
            Segment::Span(span) => gathering.span(span),
            Segment::Keys(keys) => gathering.keys(keys),
            Segment::Words { first, words } => gathering.words(first, words),
        });
        gathering.batch.flush(gathering.out);
    });
    segments.settle(&mut gathered);
    gathered
}

struct Gathering<'a, 'g, T> {
    cursor: Cursor<'a>,
    stride: usize,
    out: &'g mut [T],
    valid: &'g mut Option<Bits>,
    segments: &'g mut Segments<'a>,
    /// Cells there will be, and cells there are.
    total: usize,
    at: usize,
    batch: Batch<'a, T>,
    found: Found<'a>,
}

impl<'a, 'g, T: ArrowNativeType> Gathering<'a, 'g, T> {
    fn new(
        tree: &'a Tree,
        stride: usize,
        gathered: &'g mut Gathered,
        segments: &'g mut Segments<'a>,
    ) -> Gathering<'a, 'g, T> {
        let Gathered { values, valid, len: total, .. } = gathered;
        let (out, total, batch, found) = (values.typed_data_mut::<T>(), *total, Batch::new(), Vec::new());
        Gathering { cursor: Cursor::new(tree), stride, out, valid, segments, total, at: 0, batch, found }
    }

    fn valid(&mut self) -> &mut Bits {
        self.valid.get_or_insert_with(|| Bits::filled(self.total, true))
    }

    /// The next cells come from this block, or are null.
    fn pass(&mut self, block: Option<&'a Arc<Block>>, len: usize) {
        match block {
            Some(block) => self.segments.note(block, usize::MAX, self.at, len),
            None => {
                let at = self.at;
                self.valid().fill(at, len, false);
            }
        }
        self.at += len;
    }

    fn span(&mut self, mut span: Span) {
        while span.first <= span.last {
            let run = first_run(span.first, span.last);
            let block = self.cursor.block(run.block);
            let (at, stride) = (self.at, self.stride);
            let (to, len) = (at * stride, run.len * stride);
            if let Some(block) = block {
                match block.dense() {
                    Some(cells) => self.batch.push(self.out, to, &cells[run.offset * stride..][..len]),
                    None => block.copy_run(run.offset, &mut self.out[to..to + len], stride),
                }
                if let Some(bits) = block.valid() {
                    self.valid().copy(at, bits, run.offset, run.len);
                }
            }
            self.pass(block, run.len);
            span.first += run.len as u64;
        }
    }

    /// Block by block, in loops without a branch, so that cache misses overlap; those of keys that lie in
    /// many blocks are asked for before.
    fn keys(&mut self, keys: &[u64]) {
        let (cursor, stride) = (&mut self.cursor, self.stride);
        let mut found = std::mem::take(&mut self.found);
        prefetch_cells::<T>(|block| cursor.block(block), keys, stride, &mut found);
        let mut keys = keys;
        for &(count, block) in &found {
            let (own, others) = keys.split_at(count);
            let at = self.at;
            if let Some(block) = block {
                let target = &mut self.out[at * stride..(at + count) * stride];
                match block.dense::<T>() {
                    Some(cells) if stride == 1 => {
                        let cells = &cells[..BLOCK];
                        for (to, key) in target.iter_mut().zip(own) {
                            *to = cells[locate(*key).1];
                        }
                    }
                    _ => {
                        for (to, key) in target.chunks_exact_mut(stride.max(1)).zip(own) {
                            block.copy_run(locate(*key).1, to, stride);
                        }
                    }
                }
                if let Some(bits) = block.valid() {
                    let valid = self.valid();
                    own.iter().enumerate().for_each(|(i, key)| valid.set(at + i, bits.get(locate(*key).1)));
                }
            }
            self.pass(block, count);
            keys = others;
        }
        self.found = found;
    }

    fn words(&mut self, first: u64, words: &[u64]) {
        for (words, first) in words.chunks(BLOCK / 64).zip((first..).step_by(BLOCK)) {
            let block = self.cursor.block(locate(first).0);
            let Some((block, cells)) = block.and_then(|block| Some((block, block.dense::<T>()?))) else {
                self.keys(&masked::keys(first, words));
                continue;
            };
            let (at, stride) = (self.at, self.stride);
            let count = masked::pick(cells, words, stride, &mut self.out[at * stride..]);
            if let Some(bits) = block.valid() {
                self.valid().pick(at, bits.words(), words);
            }
            self.pass(Some(block), count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, ArrayRef, StringViewArray, UInt32Array};
    use graph::Moment;

    use super::*;
    use crate::column::ColumnSource;
    use crate::storage::blocks::BlockColumn;
    use fastrand::Rng;

    use crate::tests::model::{chunk, every_type};

    /// Keys of every form, in full blocks, thin ones, and where nothing was ever stored in between.
    fn stored(dice: &mut Rng) -> RowSet {
        let mut rows = RowSet::range(3, 90_000);
        rows |= &drawn(dice, &RowSet::range(131_072, 300_000), 50);
        rows |= &drawn(dice, &RowSet::range(400_000, 600_000), 4_900);
        rows |= &drawn(dice, &RowSet::range(1 << 40, (1 << 40) + 70_000), 9_900);
        rows
    }

    /// So many of 10,000 rows.
    fn drawn(dice: &mut Rng, rows: &RowSet, share: u64) -> RowSet {
        let bits: Vec<u8> = (0..rows.len().div_ceil(8))
            .map(|_| (0..8).fold(0, |byte, bit| byte | u8::from(dice.u64(..10_000) < share) << bit))
            .collect();
        rows.select_mask(&bits, 0)
    }

    #[test]
    fn rows_of_every_form_read_as_each_of_them_does() {
        let mut dice = Rng::with_seed(11);
        let rows = stored(&mut dice);
        for data_type in every_type() {
            for nulls in [0, 1, 300] {
                let cells: Vec<_> = rows.iter().map(|_| (dice.u64(..1000) >= nulls).then(|| dice.u64(..900))).collect();
                let whole = chunk(&data_type, &cells);
                let column = BlockColumn::with_rows(data_type.clone(), Moment::new(0), &rows, &whole).unwrap();
                let column = column.at(Moment::new(0)).unwrap();
                for share in [5, 700, 5_000, 9_990] {
                    let wanted = drawn(&mut dice, &rows, share) | RowSet::range(5_000, 9_999);
                    let places = UInt32Array::from_iter_values(rows.positions_of(&wanted).0.iter().map(|at| at as u32));
                    let found = column.read(&wanted).unwrap();
                    found.to_data().validate_full().unwrap();
                    assert_eq!(
                        &found,
                        &arrow_select::take::take(&whole, &places, None).unwrap(),
                        "{data_type} {share}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_was_never_stored_reads_as_null_under_a_mask_too() {
        let mut dice = Rng::with_seed(12);
        let stored = RowSet::range(0, 4095) | RowSet::range(8192, 8195) | RowSet::range(12_288, 16_383);
        let text = |key: u64| format!("a text that is longer than a view, of row {key}");
        let cells: ArrayRef = Arc::new(StringViewArray::from_iter_values(stored.iter().map(text)));
        let column = BlockColumn::with_rows(cells.data_type().clone(), Moment::new(0), &stored, &cells).unwrap();
        let wanted = drawn(&mut dice, &RowSet::range(0, 65_535), 5_000);
        let found = column.at(Moment::new(0)).unwrap().read(&wanted).unwrap();
        found.to_data().validate_full().unwrap();
        let found = found.as_any().downcast_ref::<StringViewArray>().unwrap();
        for (key, cell) in wanted.iter().zip(found) {
            match cell {
                Some(cell) if stored.contains(key) => assert_eq!(cell, text(key)),
                cell => assert!(!stored.contains(key) && cell.is_none_or(str::is_empty), "row {key}"),
            }
        }
    }
}
