//! Key-to-slot lookup: the part of the hash table that keys of every shape share.

use arrow_buffer::NullBuffer;

use super::NO_SLOT;
use super::index::Index;
use super::store::{Rows, Slots, Store};
use super::word::Words;

/// The slots that keys have, and where they are found.
#[derive(Default)]
pub(super) struct Places {
    index: Index,
    slots: Slots,
}

impl Places {
    /// The slots of rows, into `slots`, which is empty.
    pub(super) fn find<Cells: ?Sized>(&self, store: &impl Store<Cells>, rows: &Rows<Cells>, slots: &mut Vec<u32>) {
        if !store.find_close(rows, self.slots.null, slots) {
            self.index.find(store, rows, self.slots.null, slots);
        }
    }

    /// Makes ready for so many rows that are looked for while no key comes and none goes.
    pub(super) fn settle(&mut self, rows: u64) {
        self.index.settle(rows);
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
