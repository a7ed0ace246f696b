//! The bytes of texts that are kept, and the views that lead to them.
//!
//! A view is length, then either up to twelve bytes, or four bytes and the place of all bytes in the arena.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::BinaryViewBuilder;
use arrow_schema::DataType;

use super::texts::Texts;
use crate::error::Error;

/// Bytes that a view holds itself.
pub(super) const INLINE: usize = 12;

#[derive(Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
    dead: usize,
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

#[inline(always)]
fn is_long(view: u128) -> bool {
    length(view) > INLINE
}

impl Arena {
    /// Keeps the text of a row: the view that leads to it.
    pub(super) fn keep(&mut self, texts: &Texts<'_>, row: usize) -> u128 {
        let view = texts.views[row];
        if is_long(view) { self.push(texts.bytes(row)) } else { view }
    }

    fn push(&mut self, bytes: &[u8]) -> u128 {
        let place = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        view_of(bytes, place)
    }

    /// Whether the text that is kept is the row's.
    #[inline(always)]
    pub(super) fn is(&self, kept: u128, texts: &Texts<'_>, row: usize) -> bool {
        let view = texts.views[row];
        if is_long(view) { kept as u64 == view as u64 && self.long(kept) == texts.bytes(row) } else { kept == view }
    }

    /// The bytes of a long text.
    #[inline(always)]
    pub(super) fn long(&self, kept: u128) -> &[u8] {
        let start = (kept >> 64) as usize;
        &self.bytes[start..start + length(kept)]
    }

    /// The bytes of the text that is kept by this view.
    pub(super) fn bytes<'a>(&'a self, kept: &'a [u8; 16]) -> &'a [u8] {
        let view = u128::from_le_bytes(*kept);
        if is_long(view) { self.long(view) } else { &kept[4..4 + length(view)] }
    }

    /// A text is no longer needed. Whether most bytes are of such: then it should be compacted.
    pub(super) fn release(&mut self, kept: u128) -> bool {
        if is_long(kept) {
            self.dead += length(kept);
        }
        self.dead > 4096 && self.dead > self.bytes.len() / 2
    }

    /// Moves the bytes that are kept closer together: `each` takes every view that leads here for what it gets.
    pub(super) fn compact(&mut self, each: impl FnOnce(&mut dyn FnMut(u128) -> u128)) {
        let mut arena = Arena { bytes: Vec::with_capacity(self.bytes.len() - self.dead), dead: 0 };
        each(&mut |view| if is_long(view) { arena.push(self.long(view)) } else { view });
        *self = arena;
    }

    /// A column of texts that are kept, null where there is none.
    pub(super) fn column(
        &self,
        kept: impl Iterator<Item = Option<u128>>,
        data_type: &DataType,
    ) -> Result<ArrayRef, Error> {
        let mut builder = BinaryViewBuilder::new();
        for view in kept {
            builder.append_option(view.map(u128::to_le_bytes).as_ref().map(|view| self.bytes(view)));
        }
        let binary = builder.finish();
        Ok(if *data_type == DataType::BinaryView { Arc::new(binary) } else { Arc::new(binary.to_string_view()?) })
    }

    pub(super) fn allocated(&self) -> usize {
        self.bytes.capacity()
    }
}
