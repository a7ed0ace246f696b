//! Keys of one text each, or of bytes: a view a slot, and an arena for long ones.

use std::borrow::Cow;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ByteView;
use arrow_schema::DataType;
use simd::prefetch;

use super::arena::Arena;
use super::live_nulls;
use super::store::{Rows, Store};
use crate::error::Error;
use crate::kernels::hash::Secret;

/// Texts of a chunk: their views, and where the bytes of long ones are.
pub(super) struct Texts<'a> {
    pub(super) views: &'a [u128],
    pub(super) nulls: Option<&'a NullBuffer>,
    pub(super) long: Long<'a>,
}

/// Where the bytes of a chunk's long texts are.
pub(super) enum Long<'a> {
    Buffers(&'a [Buffer]),
    Rows(&'a arrow_row::Rows),
}

impl<'a> Texts<'a> {
    /// The texts of a column, whose plain views are known.
    pub(super) fn of(column: &'a ArrayRef, views: &'a [u128]) -> Texts<'a> {
        let buffers = match column.data_type() {
            DataType::Utf8View => column.as_string_view().data_buffers(),
            _ => column.as_binary_view().data_buffers(),
        };
        Texts { views, nulls: live_nulls(column), long: Long::Buffers(buffers) }
    }

    pub(super) fn rows(&self) -> Rows<'_, Self> {
        Rows { cells: self, count: self.views.len(), nulls: self.nulls }
    }

    #[inline(always)]
    pub(super) fn bytes(&self, row: usize) -> &[u8] {
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

/// The views of a column; that of a null may be any 16 bytes.
pub(super) fn views(column: &ArrayRef) -> &[u128] {
    match column.data_type() {
        DataType::Utf8View => column.as_string_view().views(),
        _ => column.as_binary_view().views(),
    }
}

/// The views of a column, where that of a null, which may be any 16 bytes, is of an empty text.
pub(super) fn plain_views(column: &ArrayRef) -> Cow<'_, [u128]> {
    match live_nulls(column) {
        None => Cow::Borrowed(views(column)),
        Some(nulls) => views(column).iter().zip(nulls).map(|(view, valid)| if valid { *view } else { 0 }).collect(),
    }
}

#[derive(Default)]
pub(super) struct TextKeys {
    secret: Secret,
    views: Vec<u128>,
    arena: Arena,
}

impl TextKeys {
    pub(super) fn hash_of(&self, slot: u32) -> u64 {
        let view = self.views[slot as usize];
        self.secret.stir_view(self.secret.start(), view, || self.arena.long(view))
    }

    /// The key of a slot is no longer needed.
    pub(super) fn release(&mut self, slot: u32) {
        if self.arena.release(std::mem::take(&mut self.views[slot as usize])) {
            self.arena.compact(|moved| self.views.iter_mut().for_each(|view| *view = moved(*view)));
        }
    }

    /// The bytes of each slot's key.
    pub(super) fn bytes_of(&self, slots: &[u32]) -> Vec<Vec<u8>> {
        slots.iter().map(|slot| self.arena.bytes(&self.views[*slot as usize].to_le_bytes()).to_vec()).collect()
    }

    pub(super) fn column(
        &self,
        slots: &[u32],
        nulls: Option<&NullBuffer>,
        data_type: &DataType,
    ) -> Result<ArrayRef, Error> {
        let is_there = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
        let kept = slots.iter().enumerate().map(|(row, slot)| is_there(row).then(|| self.views[*slot as usize]));
        self.arena.column(kept, data_type)
    }

    pub(super) fn allocated(&self) -> usize {
        self.views.capacity() * size_of::<u128>() + self.arena.allocated()
    }

    fn put(&mut self, slot: u32, view: u128) {
        match self.views.get_mut(slot as usize) {
            Some(place) => *place = view,
            None => self.views.push(view),
        }
    }
}

impl Store<Texts<'_>> for TextKeys {
    #[inline(always)]
    fn hash(&self, texts: &Texts<'_>, row: usize) -> u64 {
        self.secret.stir_view(self.secret.start(), texts.views[row], || texts.bytes(row))
    }

    #[inline(always)]
    fn is(&self, slot: u32, texts: &Texts<'_>, row: usize) -> bool {
        self.arena.is(self.views[slot as usize], texts, row)
    }

    #[inline(always)]
    fn prefetch(&self, slot: u32) {
        self.views.get(slot as usize).into_iter().for_each(prefetch);
    }

    fn keep(&mut self, slot: u32, texts: &Texts<'_>, row: usize) {
        let view = self.arena.keep(texts, row);
        self.put(slot, view);
    }

    fn keep_null(&mut self, slot: u32) {
        self.put(slot, 0);
    }
}
