//! Keys of bytes: a view a slot, and an arena for what a view does not hold itself.

use arrow_array::{ArrayRef, BinaryViewArray, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ByteView;
use arrow_row::Rows;
use arrow_schema::DataType;
use std::sync::Arc;

use super::index::{Admit, Index, Probe};
use super::{NO_SLOT, Slots, keep};
use crate::Error;
use crate::kernels::hash::hash_view;

/// Bytes that a view holds itself.
const INLINE: usize = 12;

/// The stored keys. A view is length, then either up to twelve bytes, or four bytes and the place of
/// all bytes in the arena.
#[derive(Default)]
pub(super) struct ByteKeys {
    views: Vec<u128>,
    arena: Vec<u8>,
    dead: usize,
}

/// A chunk of keys: their views, and where the bytes of long ones are.
pub(super) struct Chunk<'a> {
    pub(super) views: &'a [u128],
    pub(super) nulls: Option<&'a NullBuffer>,
    pub(super) long: Long<'a>,
}

/// Where the bytes of a chunk's long keys are.
pub(super) enum Long<'a> {
    Buffers(&'a [Buffer]),
    Rows(&'a Rows),
}

impl Chunk<'_> {
    #[inline(always)]
    fn bytes(&self, row: usize) -> &[u8] {
        match &self.long {
            Long::Rows(rows) => rows.row(row).data(),
            Long::Buffers(buffers) => {
                let view = ByteView::from(self.views[row]);
                let start = view.offset as usize;
                &buffers[view.buffer_index as usize][start..start + view.length as usize]
            }
        }
    }
}

/// The view of these bytes, which lie at `place` if they are long.
pub(super) fn view_of(bytes: &[u8], place: u64) -> u128 {
    let mut view = [0; 16];
    view[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    if bytes.len() <= INLINE {
        view[4..4 + bytes.len()].copy_from_slice(bytes);
    } else {
        view[4..8].copy_from_slice(&bytes[..4]);
        view[8..].copy_from_slice(&place.to_le_bytes());
    }
    u128::from_le_bytes(view)
}

#[inline(always)]
fn length(view: u128) -> usize {
    view as u32 as usize
}

impl ByteKeys {
    pub(super) fn find(&self, index: &Index, chunk: &Chunk<'_>, null_slot: u32, slots: &mut Vec<u32>) {
        index.find(chunk.views.len(), &Lookup { stored: self, chunk }, chunk.nulls, null_slot, slots);
    }

    pub(super) fn insert(
        &mut self,
        index: &mut Index,
        taken: &mut Slots,
        chunk: &Chunk<'_>,
        null_slot: &mut u32,
        slots: &mut Vec<u32>,
        created: &mut Vec<u32>,
    ) {
        let mut admission = Admission { stored: self, chunk, taken, null_slot, created };
        index.insert(chunk.views.len(), &mut admission, chunk.nulls, slots);
    }

    pub(super) fn hash(&self, slot: u32) -> u64 {
        hash_view(self.views[slot as usize], || self.bytes_at(slot))
    }

    /// The bytes of the slot's key.
    pub(super) fn bytes(&self, slot: u32) -> Vec<u8> {
        let view = self.views[slot as usize];
        match length(view) {
            short if short <= INLINE => view.to_le_bytes()[4..4 + short].to_vec(),
            _ => self.bytes_at(slot).to_vec(),
        }
    }

    #[inline(always)]
    fn bytes_at(&self, slot: u32) -> &[u8] {
        let view = self.views[slot as usize];
        let start = (view >> 64) as usize;
        &self.arena[start..start + length(view)]
    }

    #[inline(always)]
    fn is(&self, slot: u32, chunk: &Chunk<'_>, row: usize) -> bool {
        let (stored, probe) = (self.views[slot as usize], chunk.views[row]);
        if stored as u64 != probe as u64 {
            return false;
        }
        if length(probe) <= INLINE { stored == probe } else { self.bytes_at(slot) == chunk.bytes(row) }
    }

    fn keep(&mut self, slot: u32, chunk: &Chunk<'_>, row: usize) {
        let mut view = chunk.views[row];
        if length(view) > INLINE {
            let bytes = chunk.bytes(row);
            view = view_of(bytes, self.arena.len() as u64);
            self.arena.extend_from_slice(bytes);
        }
        keep(&mut self.views, slot, view);
    }

    /// The slot's key is no longer needed; its bytes go when most of the arena is such.
    pub(super) fn release(&mut self, slot: u32) {
        let view = std::mem::take(&mut self.views[slot as usize]);
        if length(view) > INLINE {
            self.dead += length(view);
            if self.dead > 4096 && self.dead > self.arena.len() / 2 {
                self.compact();
            }
        }
    }

    fn compact(&mut self) {
        let mut arena = Vec::with_capacity(self.arena.len() - self.dead);
        for view in self.views.iter_mut().filter(|view| length(**view) > INLINE) {
            let start = (*view >> 64) as usize;
            let place = arena.len() as u128;
            arena.extend_from_slice(&self.arena[start..start + length(*view)]);
            *view = (place << 64) | (*view & u128::from(u64::MAX));
        }
        self.arena = arena;
        self.dead = 0;
    }

    pub(super) fn column(
        &self,
        slots: &[u32],
        nulls: Option<NullBuffer>,
        data_type: &DataType,
    ) -> Result<ArrayRef, Error> {
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let cells = slots.iter().enumerate().map(|(row, &slot)| (!is_null(row)).then(|| self.bytes(slot)));
        let binary: BinaryViewArray = cells.collect();
        if *data_type == DataType::BinaryView {
            return Ok(Arc::new(binary));
        }
        let text: StringViewArray = binary.to_string_view()?;
        Ok(Arc::new(text))
    }

    pub(super) fn allocated(&self) -> usize {
        self.views.capacity() * size_of::<u128>() + self.arena.capacity()
    }
}

struct Lookup<'a> {
    stored: &'a ByteKeys,
    chunk: &'a Chunk<'a>,
}

#[inline(always)]
fn hash_row(chunk: &Chunk<'_>, row: usize) -> u64 {
    if chunk.nulls.is_some_and(|nulls| nulls.is_null(row)) {
        return 0; // the view of a null must not be followed
    }
    hash_view(chunk.views[row], || chunk.bytes(row))
}

impl Probe for Lookup<'_> {
    #[inline(always)]
    fn hash(&self, row: usize) -> u64 {
        hash_row(self.chunk, row)
    }

    #[inline(always)]
    fn same(&self, row: usize, slot: u32) -> bool {
        self.stored.is(slot, self.chunk, row)
    }
}

struct Admission<'a> {
    stored: &'a mut ByteKeys,
    chunk: &'a Chunk<'a>,
    taken: &'a mut Slots,
    null_slot: &'a mut u32,
    created: &'a mut Vec<u32>,
}

impl Probe for Admission<'_> {
    #[inline(always)]
    fn hash(&self, row: usize) -> u64 {
        hash_row(self.chunk, row)
    }

    #[inline(always)]
    fn same(&self, row: usize, slot: u32) -> bool {
        self.stored.is(slot, self.chunk, row)
    }
}

impl Admit for Admission<'_> {
    fn admit(&mut self, row: usize) -> u32 {
        let slot = self.taken.take();
        self.created.push(row as u32);
        self.stored.keep(slot, self.chunk, row);
        slot
    }

    fn admit_null(&mut self, row: usize) -> u32 {
        if *self.null_slot == NO_SLOT {
            *self.null_slot = self.taken.take();
            self.created.push(row as u32);
            keep(&mut self.stored.views, *self.null_slot, 0);
        }
        *self.null_slot
    }
}
