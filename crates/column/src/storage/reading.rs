//! Reading cells from a tree of blocks: as slices without a copy where memory is contiguous, or gathered in any key
//! order.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_empty_array, new_null_array};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_select::interleave::interleave;
use hashbrown::HashMap;
use rowset::RowSet;
use simd::prefetch;

use crate::column::NO_ROW;
use crate::error::Error;
use crate::kernels::bits::Bits;
use crate::kernels::cells::{Cells, Gathered, Shape, array_of, with_width};
use crate::sizes::BLOCK;
use crate::sizes::{DIRECTORY_KEYS, LEND_BYTES, LEND_VIEWS};
use crate::storage::block::Block;
use crate::storage::runs::{leading_block, locate};
use crate::storage::segments::Segments;
use crate::storage::slab::{Lender, lend};
use crate::storage::tree::{Cursor, Tree};
use crate::types::kind::Kind;
use crate::types::views::{is_long, place, placed};

/// So many keys of a block are read at once whether they were asked for or not.
const FEW_IN_BLOCK: usize = 16;

/// The cells of a contiguous range of keys, without a copy, if their memory lies together.
pub(crate) fn lent(tree: &Tree, shape: &Shape, first: u64, len: usize) -> Option<ArrayRef> {
    let least = if shape.has_views() { LEND_VIEWS.get() * 16 } else { LEND_BYTES.get() };
    if matches!(shape.kind, Kind::Bool | Kind::Opaque) || len * shape.width < least {
        return None;
    }
    let blocks = together(tree, first, len)?;
    let (_, offset) = locate(first);
    let nulls = lent_nulls(&blocks, offset, len).and_then(|valid| valid.into_nulls(len));
    let texts = if shape.has_views() { lent_texts(&blocks)? } else { Vec::new() };
    let values = lend(blocks, offset * shape.width, len * shape.width);
    Some(array_of(shape, len, values, nulls, texts))
}

/// How many keys from `first` on, up to `len`, lie in one stretch of memory.
pub(crate) fn stretch(tree: &Tree, first: u64, len: usize) -> usize {
    let mut cursor = Cursor::new(tree);
    let (number, offset) = locate(first);
    let Some(mut block) = cursor.block(number) else { return len.min(BLOCK - offset) };
    let mut number = number;
    let mut covered = BLOCK - offset;
    while covered < len {
        number += 1;
        match cursor.block(number) {
            Some(next) if touching(block, next) => block = next,
            _ => break,
        }
        covered += BLOCK;
    }
    covered.min(len)
}

fn touching(block: &Block, next: &Block) -> bool {
    block.region().zip(next.region()).is_some_and(|(one, two)| one.touches(two))
}

fn together(tree: &Tree, first: u64, len: usize) -> Option<Vec<Arc<Block>>> {
    let ((from, _), (to, _)) = (locate(first), locate(first + len as u64 - 1));
    let mut cursor = Cursor::new(tree);
    let mut blocks: Vec<Arc<Block>> = Vec::with_capacity((to - from) as usize + 1);
    for number in from..=to {
        let block = cursor.block(number)?;
        block.region()?;
        if blocks.last().is_some_and(|last| !touching(last, block)) {
            return None;
        }
        blocks.push(block.clone());
    }
    Some(blocks)
}

fn lent_nulls(blocks: &[Arc<Block>], offset: usize, len: usize) -> Option<Bits> {
    if blocks.iter().all(|block| block.valid().is_none()) {
        return None;
    }
    let mut bits = Bits::filled(len, true);
    let (mut at, mut from) = (0, offset);
    for block in blocks {
        let take = (BLOCK - from).min(len - at);
        if let Some(valid) = block.valid() {
            bits.copy(at, valid, from, take);
        }
        (at, from) = (at + take, 0);
    }
    Some(bits)
}

/// Buffers at the places that the blocks' views name; those of other blocks of the slab stay empty. None where a block
/// has so many that they reach into the places of the next one: its views must be made anew.
fn lent_texts(blocks: &[Arc<Block>]) -> Option<Vec<Buffer>> {
    let mut texts = Vec::new();
    let empty = Buffer::from(Vec::<u8>::new());
    for block in blocks.iter().filter(|block| !block.texts().is_empty()) {
        let base = block.texts().base() as usize;
        // A view that names another block's buffer would be read as that block's text.
        if texts.len() > base {
            return None;
        }
        texts.resize(base, empty.clone());
        texts.extend(block.texts().buffers());
    }
    Some(texts)
}

/// How many keys are in each of some blocks.
pub(crate) type Found<'a> = Vec<(usize, Option<&'a Arc<Block>>)>;

/// Finds the blocks of these keys, and fetches their cells where a block has few of the keys.
pub(crate) fn prefetch_cells<'a, T: ArrowNativeType>(
    mut find: impl FnMut(u64) -> Option<&'a Arc<Block>>,
    keys: &[u64],
    stride: usize,
    found: &mut Found<'a>,
) {
    found.clear();
    let mut rest = keys;
    while let Some((number, count)) = leading_block(rest) {
        let block = find(number);
        block.inspect(|block| block.prefetch());
        found.push((count, block));
        rest = &rest[count..];
    }
    rest = keys;
    for &(count, block) in &*found {
        let (own, others) = rest.split_at(count);
        rest = others;
        if count < FEW_IN_BLOCK
            && let Some(cells) = block.and_then(|block| block.dense::<T>())
        {
            own.iter().filter_map(|key| cells.get(locate(*key).1 * stride)).for_each(prefetch);
        }
    }
}

/// Copies that wait for each other: where they come from is known before the first is made, so that
/// their cache misses overlap.
pub(crate) struct Batch<'a, T> {
    sources: [(usize, &'a [T]); 64],
    len: usize,
}

impl<'a, T: Copy> Batch<'a, T> {
    pub(crate) fn new() -> Batch<'a, T> {
        Batch { sources: [(0, &[]); 64], len: 0 }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, out: &mut [T], at: usize, source: &'a [T]) {
        if source.len() >= 64 {
            return out[at..at + source.len()].copy_from_slice(source);
        }
        if self.len == self.sources.len() {
            self.flush(out);
        }
        self.sources[self.len] = (at, source);
        self.len += 1;
    }

    pub(crate) fn flush(&mut self, out: &mut [T]) {
        for &(at, source) in &self.sources[..self.len] {
            match source {
                [one] => out[at] = *one,
                _ => copy_units(&mut out[at..at + source.len()], source),
            }
        }
        self.len = 0;
    }
}

/// Copies as many units as `target` has room for; short runs without the call of a copy.
#[inline(always)]
fn copy_units<T: Copy>(target: &mut [T], source: &[T]) {
    let source = &source[..target.len()];
    if target.len() < 8 {
        for (to, from) in target.iter_mut().zip(source) {
            *to = *from;
        }
    } else {
        target.copy_from_slice(source);
    }
}

/// One cell per key, in the order given. Not for opaque shapes.
pub(crate) fn take(tree: &Tree, shape: &Shape, keys: &[u64]) -> Gathered {
    let mut gathered = Gathered::new(shape, keys.len());
    if let Some(directory) = Directory::of(tree, keys.len()) {
        let mut segments = Segments::new(shape, directory.blocks());
        with_width!(shape, T, stride => {
            let cells = directory.cells::<T>();
            take_units::<T>(&|number| directory.at(number), &cells, keys, stride, &mut gathered, &mut segments);
        });
        segments.settle(&mut gathered);
        return gathered;
    }
    let cursor = std::cell::RefCell::new(Cursor::new(tree));
    let mut segments = Segments::new(shape, (0, 0));
    with_width!(shape, T, stride => {
        let find = |number| cursor.borrow_mut().block(number).map(|block| (block, usize::MAX));
        take_units::<T>(&find, &[], keys, stride, &mut gathered, &mut segments);
    });
    segments.settle(&mut gathered);
    gathered
}

/// One cell per key, in the order given, of plain cells that lie together from the key `first` on.
pub(crate) fn take_lying(cells: &Cells, shape: &Shape, first: u64, keys: &[u64]) -> ArrayRef {
    let mut gathered = Gathered::new(shape, keys.len());
    with_width!(shape, T, _stride => {
        let (out, from) = (gathered.values.typed_data_mut::<T>(), cells.values.typed_data::<T>());
        out.iter_mut().zip(keys).for_each(|(to, key)| *to = from[(key - first) as usize]);
    });
    if let Some(nulls) = &cells.nulls {
        let valid = gathered.valid_mut();
        (0..).zip(keys).for_each(|(at, key)| valid.set(at, nulls.is_valid((key - first) as usize)));
    }
    gathered.finish(shape)
}

/// `plain` are the cells of those blocks, by place, that need nothing but copying.
fn take_units<'a, T: ArrowNativeType>(
    find: &dyn Fn(u64) -> Option<(&'a Arc<Block>, usize)>,
    plain: &[&[T]],
    keys: &[u64],
    stride: usize,
    gathered: &mut Gathered,
    segments: &mut Segments<'a>,
) {
    let Gathered { values, valid, .. } = gathered;
    let out = values.typed_data_mut::<T>();
    let mut current = u64::MAX;
    let mut found: Option<(&Arc<Block>, usize)> = None;
    let base = segments.first_number;
    let mut batch: Batch<T> = Batch::new();
    for (at, &key) in keys.iter().enumerate() {
        let (number, offset) = locate(key);
        if let Some(cells) = plain.get(number.wrapping_sub(base) as usize)
            && !cells.is_empty()
        {
            batch.push(out, at * stride, &cells[offset * stride..][..stride]);
            continue;
        }
        if number != current {
            current = number;
            found = if key == NO_ROW { None } else { find(number) };
        }
        let Some((block, place)) = found else {
            valid.get_or_insert_with(|| Bits::filled(keys.len(), true)).set(at, false);
            continue;
        };
        block.copy_run(offset, &mut out[at * stride..][..stride], stride);
        if block.valid().is_some_and(|bits| !bits.get(offset)) {
            valid.get_or_insert_with(|| Bits::filled(keys.len(), true)).set(at, false);
        }
        segments.note(block, place, at, 1);
    }
    batch.flush(out);
}

/// The blocks of a tree by number, where a table of them is worth making.
struct Directory<'a> {
    first: u64,
    places: Vec<Option<&'a Arc<Block>>>,
}

impl<'a> Directory<'a> {
    /// For a read of many keys of a tree whose blocks lie close together.
    fn of(tree: &'a Tree, keys: usize) -> Option<Directory<'a>> {
        if keys < DIRECTORY_KEYS.get() {
            return None;
        }
        let leaves = tree.leaves();
        let first = leaves.first()?.iter().next()?.0;
        let last = leaves.last()?.iter().last()?.0;
        let width = usize::try_from(last - first).ok().filter(|&width| width < keys * 4)? + 1;
        let mut places = vec![None; width];
        for (number, block) in leaves.iter().flat_map(|leaf| leaf.iter()) {
            places[(number - first) as usize] = Some(block);
        }
        Some(Directory { first, places })
    }

    fn at(&self, number: u64) -> Option<(&'a Arc<Block>, usize)> {
        let place = number.checked_sub(self.first)? as usize;
        Some(((*self.places.get(place)?)?, place))
    }

    fn blocks(&self) -> (u64, usize) {
        (self.first, self.places.len())
    }

    /// The cells of each block that are all there is to it; nothing for others.
    fn cells<T: ArrowNativeType>(&self) -> Vec<&'a [T]> {
        let plain = |block: &&'a Arc<Block>| block.valid().is_none() && block.texts().is_empty();
        let cells = |block: &Option<&'a Arc<Block>>| block.filter(plain).and_then(|block| block.dense());
        self.places.iter().map(|block| cells(block).unwrap_or_default()).collect()
    }
}

/// Puts cells of `source` in the place of gathered ones: pairs of (position gathered, position in source).
pub(crate) fn patch(
    gathered: &mut Gathered,
    shape: &Shape,
    source: &Cells,
    places: impl Iterator<Item = (usize, usize)> + Clone,
) {
    with_width!(shape, T, stride => {
        let (out, cells) = (gathered.values.typed_data_mut::<T>(), source.values.typed_data::<T>());
        for (to, from) in places.clone() {
            out[to * stride..][..stride].copy_from_slice(&cells[from * stride..][..stride]);
        }
    });
    if shape.has_views() {
        let base = gathered.texts.len() as u32;
        gathered.texts.extend(source.texts.iter().cloned());
        let views = gathered.values.typed_data_mut::<u128>();
        for (to, _) in places.clone() {
            if is_long(views[to]) {
                let (buffer, offset) = place(views[to]);
                views[to] = placed(views[to], buffer + base, offset);
            }
        }
    }
    if source.nulls.is_some() || gathered.valid.is_some() {
        let valid = gathered.valid_mut();
        for (to, from) in places {
            valid.set(to, source.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(from)));
        }
    }
}

/// Opaque cells by key; `patched` says where a cell comes from instead.
pub(crate) fn take_opaque(
    tree: &Tree,
    shape: &Shape,
    keys: impl Iterator<Item = u64>,
    undo: Option<(&RowSet, &ArrayRef)>,
) -> Result<ArrayRef, Error> {
    let null = new_null_array(&shape.data_type, 1);
    let mut arrays: Vec<&dyn Array> = vec![null.as_ref()];
    if let Some((_, chunk)) = undo {
        arrays.push(chunk.as_ref());
    }
    let mut known: HashMap<u64, usize> = HashMap::new();
    let mut picks = Vec::new();
    let mut cursor = Cursor::new(tree);
    for key in keys {
        if key == NO_ROW {
            picks.push((0, 0));
            continue;
        }
        if let Some(pos) = undo.and_then(|(rows, _)| rows.position_of(key)) {
            picks.push((1, pos as usize));
            continue;
        }
        let (number, offset) = locate(key);
        let found = cursor.block(number).and_then(|block| block.opaque());
        let slot = found.and_then(|(_, offsets)| offsets.binary_search(&(offset as u16)).ok());
        let Some(((array, _), slot)) = found.zip(slot) else {
            picks.push((0, 0));
            continue;
        };
        let at = *known.entry(number).or_insert_with(|| {
            arrays.push(array.as_ref());
            arrays.len() - 1
        });
        picks.push((at, slot));
    }
    if picks.is_empty() {
        return Ok(new_empty_array(&shape.data_type));
    }
    Ok(interleave(&arrays, &picks)?)
}
