//! Key-to-slot lookup: the part of the hash table that keys of every shape share.

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

/// The slots that keys have, and where they are found.
#[derive(Default)]
pub(super) struct Places {
    index: Index,
    slots: Slots,
}

/// Which slots are taken.
pub(super) struct Slots {
    next: u32,
    free: Vec<u32>,
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
}

impl Places {
    /// The slots of rows, into `slots`, which is empty.
    pub(super) fn find<Cells: ?Sized>(&self, store: &impl Store<Cells>, rows: &Rows<Cells>, slots: &mut Vec<u32>) {
        self.index.find(store, rows, self.slots.null, slots);
    }

    /// As [`Places::find`]; new keys are kept, and `created` gets their rows.
    pub(super) fn insert<Cells: ?Sized>(
        &mut self,
        store: &mut impl Store<Cells>,
        rows: &Rows<Cells>,
        slots: &mut Vec<u32>,
        created: &mut Vec<u32>,
    ) {
        self.index.insert(store, rows, &mut self.slots, slots, created);
    }

    /// Gives a slot to a later key, if it has one; `hash` is that of its key.
    pub(super) fn free(&mut self, slot: u32, hash: impl FnOnce() -> u64) -> bool {
        if slot >= self.slots.next {
            return false;
        }
        if slot == self.slots.null {
            self.slots.null = NO_SLOT;
        } else if !self.index.remove(hash(), slot) {
            return false;
        }
        self.slots.free.push(slot);
        true
    }

    pub(super) fn len(&self) -> usize {
        self.end() - self.slots.free.len()
    }

    /// Every slot is below this.
    pub(super) fn end(&self) -> usize {
        self.slots.next as usize
    }

    /// Which of these slots are not null's, if one is.
    pub(super) fn nulls(&self, slots: &[u32]) -> Option<NullBuffer> {
        let null = self.slots.null;
        slots.contains(&null).then(|| slots.iter().map(|slot| *slot != null).collect())
    }

    pub(super) fn allocated(&self) -> usize {
        self.index.allocated() + self.slots.free.capacity() * size_of::<u32>()
    }
}
