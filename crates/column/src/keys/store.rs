//! What a lookup works on: rows of cells, the keys that are kept, and the slots that are taken.

use arrow_buffer::NullBuffer;

use super::NO_SLOT;
use super::index::Index;

/// Keys by slot, and the cells of rows that are told from them.
pub(super) trait Store<Cells: ?Sized> {
    fn hash(&self, cells: &Cells, row: usize) -> u64;
    /// Whether the key in `slot`, whose hash is the row's, is the row's key.
    fn is(&self, slot: u32, cells: &Cells, row: usize) -> bool;
    /// [`Store::is`] for the rows from `start` on that have the `same` hash.
    #[inline(always)]
    fn confirm(&self, slots: &[u32], cells: &Cells, start: usize, same: &mut [bool]) {
        let Some(any) = same.iter().position(|same| *same) else { return };
        for (at, (same, slot)) in same.iter_mut().zip(slots).enumerate() {
            // Looking at a key in vain is cheaper than guessing wrongly whether to look.
            *same &= self.is(if *same { *slot } else { slots[any] }, cells, start + at);
        }
    }
    /// Fetches what [`Store::is`] will look at in `slot`, if that is one.
    fn prefetch(&self, slot: u32);
    /// Slots are dense: one past the end is the next one.
    fn keep(&mut self, slot: u32, cells: &Cells, row: usize);
    /// What is kept for null is never looked at.
    fn keep_null(&mut self, slot: u32);
    /// Finds the slots of rows without hashes; false where keys are not close together.
    #[inline(always)]
    fn find_close(&self, _rows: &Rows<Cells>, _null: u32, _slots: &mut Vec<u32>) -> bool {
        false
    }
    /// Finds and keeps the keys of rows without hashes; false where keys are not close together, and the index holds all of them.
    #[inline(always)]
    fn insert_close(
        &mut self,
        _rows: &Rows<Cells>,
        _index: &mut Index,
        _taken: &mut Slots,
        _slots: &mut Vec<u32>,
        _created: &mut Vec<u32>,
    ) -> bool {
        false
    }
}

/// Rows to look up.
pub(super) struct Rows<'a, Cells: ?Sized> {
    pub(super) cells: &'a Cells,
    pub(super) count: usize,
    /// The rows that have the null key, where null is not part of what is kept.
    pub(super) nulls: Option<&'a NullBuffer>,
}

impl<Cells: ?Sized> Rows<'_, Cells> {
    #[inline(always)]
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }
}

/// Which slots are taken.
pub(super) struct Slots {
    pub(super) next: u32,
    pub(super) free: Vec<u32>,
    /// The slot of the null key.
    pub(super) null: u32,
}

impl Default for Slots {
    fn default() -> Slots {
        Slots { next: 0, free: Vec::new(), null: NO_SLOT }
    }
}

impl Slots {
    #[inline(always)]
    pub(super) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// How many are taken.
    pub(super) fn len(&self) -> usize {
        self.next as usize - self.free.len()
    }
}
