//! A block: the cells of 4,096 neighbouring keys, in a region of a slab, or packed if there are few.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_buffer::{ArrowNativeType, MutableBuffer};
use arrow_select::interleave::interleave;
use simd::prefetch;

use crate::error::Error;
use crate::kernels::bits::Bits;
use crate::kernels::cells::{Cells, Shape, with_width};
use crate::sizes::BLOCK;
use crate::sizes::SPREAD_FROM;
use crate::storage::counters::StorageCounters;
use crate::storage::failpoints::{Point, strike};
use crate::storage::runs::{Run, locate};
use crate::storage::slab::{Lender, Pool, Region};
use crate::storage::texts::{MOST_TEXTS, Texts};
use crate::types::views::{is_long, length};

/// The cells of one block. The fields that a read needs come first: scattered keys touch thousands of blocks, and with
/// the counts of the `Arc` these fields take one cache line.
#[repr(C)]
pub(crate) struct Block {
    body: Body,
    /// By offset; absent while no cell is null.
    valid: Option<Bits>,
    texts: Texts,
}

// An `Arc` puts two words of counts in front.
const _: () = assert!(std::mem::offset_of!(Block, texts) + 2 * size_of::<usize>() <= 64);

enum Body {
    /// Cell `offset` at its place in a region.
    Dense(Region),
    Packed(Box<Packed>),
    Opaque(Box<Opaque>),
}

/// Cell `offsets[i]` in slot `i`.
struct Packed {
    offsets: Vec<u16>,
    cells: Counted,
}

/// Packed cells of a type without plain storage, in an Arrow array.
struct Opaque {
    offsets: Vec<u16>,
    array: ArrayRef,
    bytes: usize,
    counters: Arc<StorageCounters>,
}

/// Bytes of packed cells, counted while they are held.
struct Counted {
    bytes: MutableBuffer,
    counted: usize,
    counters: Arc<StorageCounters>,
}

impl Counted {
    fn new(bytes: MutableBuffer, counters: &Arc<StorageCounters>) -> Counted {
        let mut cells = Counted { bytes, counted: 0, counters: counters.clone() };
        cells.recount();
        cells
    }

    fn recount(&mut self) {
        self.counters.hold(self.bytes.capacity());
        self.counters.release(self.counted);
        self.counted = self.bytes.capacity();
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.counters.release(self.counted);
    }
}

impl Opaque {
    fn new(offsets: Vec<u16>, array: ArrayRef, counters: &Arc<StorageCounters>) -> Opaque {
        let mut opaque = Opaque { offsets, array, bytes: 0, counters: counters.clone() };
        opaque.recount();
        opaque
    }

    fn recount(&mut self) {
        let bytes = self.array.get_array_memory_size();
        self.counters.hold(bytes);
        self.counters.release(self.bytes);
        self.bytes = bytes;
    }
}

impl Drop for Opaque {
    fn drop(&mut self) {
        self.counters.release(self.bytes);
    }
}

impl Body {
    fn packed(offsets: Vec<u16>, cells: MutableBuffer, pool: &Pool) -> Body {
        Body::Packed(Box::new(Packed { offsets, cells: Counted::new(cells, pool.counters()) }))
    }
}

impl Lender for Block {
    fn region(&self) -> Option<&Region> {
        match &self.body {
            Body::Dense(region) => Some(region),
            _ => None,
        }
    }
}

impl Block {
    /// A block for about `cells` cells.
    pub(crate) fn new(shape: &Shape, cells: usize, pool: &mut Pool) -> Block {
        let body = if shape.is_opaque() {
            Body::Opaque(Box::new(Opaque::new(Vec::new(), new_empty_array(&shape.data_type), pool.counters())))
        } else if cells < SPREAD_FROM.get() {
            let bytes = MutableBuffer::new(cells * shape.width);
            Body::packed(Vec::with_capacity(cells), bytes, pool)
        } else {
            Body::Dense(pool.region())
        };
        let mut block = Block { body, valid: None, texts: Texts::default() };
        block.texts.rebase(block.text_base(), &mut []);
        block
    }

    /// Blocks of one slab have buffers of different numbers.
    fn text_base(&self) -> u32 {
        self.region().map_or(0, |region| region.index() * MOST_TEXTS as u32)
    }

    /// A copy to write to: plain cells are duplicated, arrays and text buffers stay shared by reference count.
    pub(crate) fn copy(&self, shape: &Shape, pool: &mut Pool) -> Block {
        let body = match &self.body {
            Body::Dense(region) => {
                let mut copy = pool.region();
                copy.cells_mut::<u8>().copy_from_slice(region.cells());
                Body::Dense(copy)
            }
            Body::Packed(packed) => {
                let mut bytes = MutableBuffer::new(packed.cells.bytes.len());
                bytes.extend_from_slice(packed.cells.bytes.as_slice());
                Body::packed(packed.offsets.clone(), bytes, pool)
            }
            Body::Opaque(opaque) => {
                let Opaque { offsets, array, counters, .. } = &**opaque;
                Body::Opaque(Box::new(Opaque::new(offsets.clone(), array.clone(), counters)))
            }
        };
        let mut block = Block { body, valid: self.valid.clone(), texts: self.texts.clone() };
        block.rebase_texts(shape);
        block
    }

    fn rebase_texts(&mut self, shape: &Shape) {
        if shape.has_views() {
            let base = self.text_base();
            let (views, texts) = self.views_mut();
            texts.rebase(base, views);
        }
    }

    /// Whether the block is in a retired slab, which it keeps alive.
    pub(crate) fn should_move(&self) -> bool {
        self.region().is_some_and(Region::is_retired)
    }

    /// Fetches what leads to the cells, and says who holds them.
    pub(crate) fn prefetch(&self) {
        prefetch(self);
        prefetch(&self.valid);
    }

    /// All cells as units of `T`, if the block is dense.
    pub(crate) fn dense<T: ArrowNativeType>(&self) -> Option<&[T]> {
        self.region().map(Region::cells)
    }

    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }

    pub(crate) fn valid(&self) -> Option<&Bits> {
        self.valid.as_ref()
    }

    /// Copies the cells of a run; those that were never stored stay as `out` has them.
    pub(crate) fn copy_run<T: ArrowNativeType>(&self, offset: usize, out: &mut [T], stride: usize) {
        match &self.body {
            Body::Dense(region) => out.copy_from_slice(&region.cells()[offset * stride..][..out.len()]),
            Body::Packed(packed) => {
                let (offsets, cells) = (&packed.offsets, packed.cells.bytes.typed_data::<T>());
                let len = out.len() / stride.max(1);
                for slot in slots(offsets, offset, len) {
                    let at = (offsets[slot] as usize - offset) * stride;
                    out[at..at + stride].copy_from_slice(&cells[slot * stride..][..stride]);
                }
            }
            Body::Opaque(_) => {}
        }
    }

    /// The array of an opaque block, and the slot of a cell in it.
    pub(crate) fn opaque(&self) -> Option<(&ArrayRef, &[u16])> {
        match &self.body {
            Body::Opaque(opaque) => Some((&opaque.array, &opaque.offsets)),
            _ => None,
        }
    }

    /// Stores plain cells without nulls at these keys; false if this block wants them as runs.
    pub(crate) fn scatter<T: ArrowNativeType>(&mut self, keys: &[u64], cells: &[T]) -> bool {
        let Body::Dense(region) = &mut self.body else { return false };
        let target = &mut region.cells_mut::<T>()[..BLOCK];
        for (key, cell) in keys.iter().zip(cells) {
            target[locate(*key).1] = *cell;
        }
        if let Some(valid) = &mut self.valid {
            keys.iter().for_each(|key| valid.set(locate(*key).1, true));
            if valid.all() {
                self.valid = None;
            }
        }
        true
    }

    /// Stores cells `from ..` of a chunk in these runs of this block, in order.
    pub(crate) fn write(
        &mut self,
        shape: &Shape,
        runs: &[Run],
        cells: &Cells,
        from: usize,
        pool: &mut Pool,
    ) -> Result<(), Error> {
        strike(Point::Block)?;
        self.make_room(shape, runs, pool);
        if shape.has_views() {
            self.write_views(runs, cells, from, pool)?;
        } else {
            with_width!(shape, T, stride => self.write_units::<T>(runs, cells, from, stride));
        }
        self.write_nulls(runs, cells, from);
        Ok(())
    }

    /// Makes a slot for every cell of the runs.
    fn make_room(&mut self, shape: &Shape, runs: &[Run], pool: &mut Pool) {
        let Body::Packed(packed) = &self.body else { return };
        let offsets = &packed.offsets;
        let stored = |run: &Run| slots(offsets, run.offset, run.len).len();
        let more: usize = runs.iter().map(|run| run.len - stored(run)).sum();
        if offsets.len() + more >= SPREAD_FROM.get() {
            return self.spread(shape, pool);
        }
        let Body::Packed(packed) = &mut self.body else { return };
        let Packed { offsets, cells } = &mut **packed;
        for run in runs {
            let found = slots(offsets, run.offset, run.len);
            let new = run.len - found.len();
            if new == 0 {
                continue;
            }
            if found.is_empty() {
                open_gap(&mut cells.bytes, found.start * shape.width, new * shape.width);
                offsets.splice(found, (run.offset..run.offset + run.len).map(|offset| offset as u16));
                continue;
            }
            for offset in run.offset..run.offset + run.len {
                let at = offsets.partition_point(|&have| (have as usize) < offset);
                if offsets.get(at).is_none_or(|&have| have as usize != offset) {
                    open_gap(&mut cells.bytes, at * shape.width, shape.width);
                    offsets.insert(at, offset as u16);
                }
            }
        }
        cells.recount();
    }

    /// Converts the block from packed to dense.
    fn spread(&mut self, shape: &Shape, pool: &mut Pool) {
        let Body::Packed(packed) = &self.body else { return };
        let Packed { offsets, cells } = &**packed;
        let (mut region, width) = (pool.region(), shape.width);
        let target = region.cells_mut::<u8>();
        for (slot, &offset) in offsets.iter().enumerate() {
            let at = offset as usize * width;
            target[at..at + width].copy_from_slice(&cells.bytes.as_slice()[slot * width..][..width]);
        }
        self.body = Body::Dense(region);
        self.rebase_texts(shape);
    }

    /// Cells that have a slot, alive or not.
    pub(crate) fn slots(&self) -> usize {
        match &self.body {
            Body::Dense(_) => BLOCK,
            Body::Packed(packed) => packed.offsets.len(),
            Body::Opaque(opaque) => opaque.offsets.len(),
        }
    }

    /// A block of only the cells at these offsets, packed.
    pub(crate) fn packed(&self, shape: &Shape, keep: Vec<u16>, pool: &mut Pool) -> Result<Block, Error> {
        let mut packed = Block { body: self.packed_body(shape, keep, pool)?, valid: None, texts: self.texts.clone() };
        packed.valid = self.valid.clone();
        if shape.has_views() {
            let base = packed.text_base();
            let (views, texts) = packed.views_mut();
            texts.rebase(base, views);
            texts.recount(views);
            texts.tidy(views, pool.counters());
        }
        Ok(packed)
    }

    fn packed_body(&self, shape: &Shape, keep: Vec<u16>, pool: &Pool) -> Result<Body, Error> {
        let width = shape.width;
        let mut bytes = MutableBuffer::new(keep.len() * width);
        let mut push = |cells: &[u8], slot: usize| bytes.extend_from_slice(&cells[slot * width..][..width]);
        let offsets = match &self.body {
            Body::Dense(region) => {
                let cells = region.cells::<u8>();
                keep.iter().for_each(|offset| push(cells, *offset as usize));
                keep
            }
            Body::Packed(packed) => {
                let (offsets, slots) = stored(&packed.offsets, keep);
                slots.into_iter().for_each(|slot| push(packed.cells.bytes.as_slice(), slot));
                offsets
            }
            Body::Opaque(opaque) => {
                let (offsets, slots) = stored(&opaque.offsets, keep);
                let picks: Vec<_> = slots.into_iter().map(|slot| (0, slot)).collect();
                let array = interleave(&[opaque.array.as_ref()], &picks)?;
                return Ok(Body::Opaque(Box::new(Opaque::new(offsets, array, pool.counters()))));
            }
        };
        Ok(Body::packed(offsets, bytes, pool))
    }

    fn write_units<T: ArrowNativeType>(&mut self, runs: &[Run], cells: &Cells, from: usize, stride: usize) {
        let source = cells.values.typed_data::<T>();
        let mut at = from * stride;
        match &mut self.body {
            Body::Dense(region) => {
                let target = region.cells_mut::<T>();
                for run in runs {
                    let len = run.len * stride;
                    let (to, from) = (&mut target[run.offset * stride..][..len], &source[at..at + len]);
                    match (to, from) {
                        ([to], [from]) => *to = *from,
                        (to, from) => to.copy_from_slice(from),
                    }
                    at += len;
                }
            }
            Body::Packed(packed) => {
                let Packed { offsets, cells } = &mut **packed;
                let target = cells.bytes.typed_data_mut::<T>();
                for run in runs {
                    let (len, first) = (run.len * stride, slots(offsets, run.offset, run.len).start);
                    target[first * stride..][..len].copy_from_slice(&source[at..at + len]);
                    at += len;
                }
            }
            Body::Opaque(_) => {}
        }
    }

    /// All views of the block, beside the bytes they point to.
    fn views_mut(&mut self) -> (&mut [u128], &mut Texts) {
        let views = match &mut self.body {
            Body::Dense(region) => &mut region.cells_mut::<u128>()[..BLOCK],
            Body::Packed(packed) => packed.cells.bytes.typed_data_mut::<u128>(),
            Body::Opaque(_) => &mut [],
        };
        (views, &mut self.texts)
    }

    /// The first slot of a run all of whose cells have one.
    fn first_slot(&self, run: &Run) -> usize {
        match &self.body {
            Body::Packed(packed) => slots(&packed.offsets, run.offset, run.len).start,
            _ => run.offset,
        }
    }

    /// Stores texts. On an error nothing has been changed.
    fn write_views(&mut self, runs: &[Run], cells: &Cells, from: usize, pool: &mut Pool) -> Result<(), Error> {
        let source = cells.values.typed_data::<u128>();
        let counters = pool.counters().clone();
        let places = |run: &Run| {
            let first = self.first_slot(run);
            first..first + run.len
        };
        let places: Vec<Range<usize>> = runs.iter().map(places).collect();
        let null = |at: usize| cells.nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
        let total: usize = runs.iter().map(|run| run.len).sum();
        let arriving = (from..from + total).filter(|&at| is_long(source[at]) && !null(at));
        let (views, texts) = self.views_mut();
        let plan = texts.plan(views, &places, arriving.map(|at| length(source[at])))?;
        texts.forget(views, &places);
        let mut filling = texts.open(plan, views, &counters);
        let mut at = from;
        for place in places {
            for to in &mut views[place] {
                let view = if null(at) { 0 } else { source[at] };
                *to = if is_long(view) { filling.store(view, cells.text(view)) } else { view };
                at += 1;
            }
        }
        texts.tidy(views, &counters);
        Ok(())
    }

    fn write_nulls(&mut self, runs: &[Run], cells: &Cells, from: usize) {
        let mut at = from;
        match &cells.nulls {
            Some(nulls) => {
                let valid = self.valid.get_or_insert_with(|| Bits::filled(BLOCK, true));
                for run in runs {
                    valid.copy_buffer(run.offset, nulls.inner(), at, run.len);
                    at += run.len;
                }
            }
            None => {
                let Some(valid) = &mut self.valid else { return };
                runs.iter().for_each(|run| valid.fill(run.offset, run.len, true));
            }
        }
        if self.valid.as_ref().is_some_and(Bits::all) {
            self.valid = None;
        }
    }

    /// Stores opaque cells by building a new array for the block.
    pub(crate) fn write_opaque(&mut self, runs: &[Run], chunk: &ArrayRef, from: usize) -> Result<(), Error> {
        strike(Point::Block)?;
        let Body::Opaque(opaque) = &mut self.body else { return Ok(()) };
        let Opaque { offsets, array, .. } = &mut **opaque;
        let arriving = runs.iter().flat_map(|run| run.offset..run.offset + run.len).zip(from..);
        let mut kept = offsets.iter().map(|&offset| offset as usize).enumerate().peekable();
        let (mut merged, mut picks) = (Vec::new(), Vec::new());
        for (offset, at) in arriving {
            while let Some((slot, have)) = kept.next_if(|&(_, have)| have <= offset) {
                if have < offset {
                    merged.push(have as u16);
                    picks.push((0, slot));
                }
            }
            merged.push(offset as u16);
            picks.push((1, at));
        }
        for (slot, have) in kept {
            merged.push(have as u16);
            picks.push((0, slot));
        }
        *array = interleave(&[array.as_ref(), chunk.as_ref()], &picks)?;
        *offsets = merged;
        opaque.recount();
        Ok(())
    }

    /// Frees the memory of cells whose rows are gone, if such cells own memory (texts).
    pub(crate) fn clear(&mut self, runs: &[Run], pool: &Pool) {
        let places: Vec<_> = match &self.body {
            Body::Packed(packed) => runs.iter().map(|run| slots(&packed.offsets, run.offset, run.len)).collect(),
            _ => runs.iter().map(|run| run.offset..run.offset + run.len).collect(),
        };
        let (views, texts) = self.views_mut();
        texts.forget(views, &places);
        texts.tidy(views, pool.counters());
    }
}

/// The wanted offsets that have a slot, with their slots.
fn stored(have: &[u16], wanted: Vec<u16>) -> (Vec<u16>, Vec<usize>) {
    wanted.into_iter().filter_map(|offset| Some((offset, have.binary_search(&offset).ok()?))).unzip()
}

/// The slots that hold cells of a run.
fn slots(offsets: &[u16], offset: usize, len: usize) -> std::ops::Range<usize> {
    let first = offsets.partition_point(|&have| (have as usize) < offset);
    let end = first + offsets[first..].partition_point(|&have| (have as usize) < offset + len);
    first..end
}

/// Moves the bytes from `at` on up by `bytes`, and zeroes the gap.
fn open_gap(buffer: &mut MutableBuffer, at: usize, bytes: usize) {
    let end = buffer.len();
    buffer.resize(end + bytes, 0);
    buffer.as_slice_mut().copy_within(at..end, at + bytes);
    buffer.as_slice_mut()[at..at + bytes].fill(0);
}
