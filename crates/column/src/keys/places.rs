//! Key-to-slot lookup: the part of the hash table that keys of every shape share.

use arrow_buffer::NullBuffer;

use super::NO_SLOT;
use super::index::Index;
use super::word::Words;

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
    /// [`Places::find`] without hashes; false where keys are not close together.
    #[inline(always)]
    fn find_close(&self, _rows: &Rows<Cells>, _null: u32, _slots: &mut Vec<u32>) -> bool {
        false
    }
    /// [`Places::insert`] without hashes; false where keys are not close together, and the index holds all of them.
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

    /// How many are taken.
    pub(super) fn len(&self) -> usize {
        self.next as usize - self.free.len()
    }
}

impl Places {
    /// The slots of rows, into `slots`, which is empty.
    pub(super) fn find<Cells: ?Sized>(&self, store: &impl Store<Cells>, rows: &Rows<Cells>, slots: &mut Vec<u32>) {
        if !store.find_close(rows, self.slots.null, slots) {
            self.index.find(store, rows, self.slots.null, slots);
        }
    }

    /// As [`Places::find`]; new keys are kept, and `created` gets their rows.
    pub(super) fn insert<Cells: ?Sized>(
        &mut self,
        store: &mut impl Store<Cells>,
        rows: &Rows<Cells>,
        slots: &mut Vec<u32>,
        created: &mut Vec<u32>,
    ) {
        if !store.insert_close(rows, &mut self.index, &mut self.slots, slots, created) {
            self.index.insert(store, rows, &mut self.slots, slots, created);
        }
    }

    /// Gives a slot to a later key, if it has one. `remove` takes its key out of the index, and knows how many keys are left
    /// then; false if it is not there.
    pub(super) fn free(&mut self, slot: u32, remove: impl FnOnce(&mut Index, usize) -> bool) -> bool {
        if slot >= self.slots.next {
            return false;
        }
        if slot == self.slots.null {
            self.slots.null = NO_SLOT;
        } else if !remove(&mut self.index, self.slots.len().saturating_sub(1)) {
            return false;
        }
        self.slots.free.push(slot);
        true
    }

    /// The slots that are taken, in any order; they are found no more until [`Places::refill`].
    pub(super) fn drain(&mut self, words: &mut Words) -> Vec<u32> {
        words.drain(&mut self.index)
    }

    /// Finds these slots by such hashes.
    pub(super) fn refill(&mut self, slots: Vec<u32>, hash: impl Fn(u32) -> u64) {
        self.index.refill(slots.iter().map(|slot| (hash(*slot), *slot)));
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
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
