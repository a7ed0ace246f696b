//! Open addressing from hashes to slots, a block of rows at a time.

use simd::prefetch;

use super::NO_SLOT;
use super::seen::Seen;
use super::store::{Rows, Slots, Store};
use crate::kernels::bits::ones;
use crate::sizes::{KEYS_FAR, KEYS_NEAR, KEYS_SEEN, KEYS_SHRINK, KEYS_SMALL, KEYS_TRIED};

/// Rows whose places are loaded before the first is looked at: their cache misses overlap. In a large
/// table the next block's are asked for before that; each row is hashed once.
pub(super) const BLOCK: usize = 64;
const SMALLEST_BITS: u32 = 4;

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    slot: u32,
}

const EMPTY: Entry = Entry { hash: 0, slot: NO_SLOT };

/// Entries stand at or after the place that the high bits of their hash name, so that growing walks
/// both tables in order, and a removed entry leaves nothing behind.
pub(super) struct Index {
    entries: Vec<Entry>,
    shift: u32,
    len: usize,
    /// The hashes that stand there, while nobody adds one or takes one out.
    seen: Option<Seen>,
}

impl Default for Index {
    fn default() -> Index {
        Index { entries: vec![EMPTY; 1 << SMALLEST_BITS], shift: 64 - SMALLEST_BITS, len: 0, seen: None }
    }
}

/// What is known of up to a block of rows.
struct Block {
    /// Their hashes, and after them those of the next block.
    hashes: [u64; 2 * BLOCK],
    /// What the place of each hash holds.
    slots: [u32; BLOCK],
    /// Whether that is the row's key.
    same: [bool; BLOCK],
}

impl Index {
    pub(super) fn find<Cells: ?Sized>(
        &self,
        store: &impl Store<Cells>,
        rows: &Rows<Cells>,
        null: u32,
        slots: &mut Vec<u32>,
    ) {
        slots.reserve(rows.count);
        let from = self.seen.as_ref().map_or(0, |seen| self.find_seen(seen, store, rows, null, slots));
        if from == rows.count {
            return;
        }
        let mut block = self.first(store, rows, from);
        for start in (from..rows.count).step_by(BLOCK) {
            let count = BLOCK.min(rows.count - start);
            let (mut others, empty) = self.load(store, rows, start, &mut block);
            slots.extend_from_slice(&block.slots[..count]);
            if rows.nulls.is_none() {
                // What has an empty place is not there.
                others &= !empty;
            }
            for at in ones(others) {
                let row = start + at;
                slots[row] = if rows.is_null(row) {
                    null
                } else {
                    self.find_one(block.hashes[at], |slot| store.is(slot, rows.cells, row)).1
                }
            }
        }
    }

    /// Finds rows from the first on, most of which are not there: those that the filter lets pass are looked for. How many rows
    /// those are, all of them or as many as it took to see that most pass.
    fn find_seen<Cells: ?Sized>(
        &self,
        seen: &Seen,
        store: &impl Store<Cells>,
        rows: &Rows<Cells>,
        null: u32,
        slots: &mut Vec<u32>,
    ) -> usize {
        let (near, tried) = (self.entries.len() <= KEYS_NEAR.get(), KEYS_TRIED.get());
        let (mut hashes, mut places) = ([0; BLOCK + 1], [0; BLOCK + 1]);
        let mut passed = 0;
        for start in (0..rows.count).step_by(BLOCK) {
            if start == tried && passed > tried / 2 {
                return start;
            }
            let count = BLOCK.min(rows.count - start);
            let mut many = 0;
            for at in 0..count {
                let hash = store.hash(rows.cells, start + at);
                // Written in any case, and kept if the next one does not take its place.
                (hashes[many], places[many]) = (hash, start + at);
                many += usize::from(seen.may_hold(hash));
            }
            passed += many;
            if !near {
                hashes[..many].iter().for_each(|hash| prefetch(&self.entries[(hash >> self.shift) as usize]));
            }
            slots.resize(start + count, NO_SLOT);
            for (hash, row) in hashes.iter().zip(places).take(many) {
                slots[row] = self.find_one(*hash, |slot| store.is(slot, rows.cells, row)).1;
            }
            if rows.nulls.is_some() {
                (start..start + count).filter(|row| rows.is_null(*row)).for_each(|row| slots[row] = null);
            }
        }
        rows.count
    }

    /// Makes ready for so many rows that are looked for while no key comes and none goes.
    pub(super) fn settle(&mut self, rows: u64) {
        let is_worth = self.entries.len() > KEYS_SEEN.get() && rows > 2 * self.len as u64;
        self.seen = is_worth.then(|| {
            let taken = self.entries.iter().filter(|entry| entry.slot != NO_SLOT);
            Seen::new(self.len, taken.map(|entry| entry.hash))
        });
    }

    pub(super) fn insert<Cells: ?Sized>(
        &mut self,
        store: &mut impl Store<Cells>,
        rows: &Rows<Cells>,
        taken: &mut Slots,
        slots: &mut Vec<u32>,
        created: &mut Vec<u32>,
    ) {
        self.seen = None;
        slots.reserve(rows.count);
        let mut block = self.first(store, rows, 0);
        for start in (0..rows.count).step_by(BLOCK) {
            let count = BLOCK.min(rows.count - start);
            self.reserve(count);
            let (others, _) = self.load(store, rows, start, &mut block);
            slots.extend_from_slice(&block.slots[..count]);
            for at in ones(others) {
                let (row, hash) = (start + at, block.hashes[at]);
                let slot = if rows.is_null(row) {
                    if taken.null == NO_SLOT {
                        taken.null = taken.take();
                        created.push(row as u32);
                        store.keep_null(taken.null);
                    }
                    taken.null
                } else {
                    match self.find_one(hash, |slot| store.is(slot, rows.cells, row)) {
                        (place, NO_SLOT) => {
                            let slot = taken.take();
                            created.push(row as u32);
                            store.keep(slot, rows.cells, row);
                            self.entries[place] = Entry { hash, slot };
                            self.len += 1;
                            slot
                        }
                        (_, slot) => slot,
                    }
                };
                slots[row] = slot;
            }
        }
    }

    /// Nothing but the hashes of the first block of rows.
    #[inline(always)]
    fn first<Cells: ?Sized>(&self, store: &impl Store<Cells>, rows: &Rows<Cells>, start: usize) -> Block {
        let mut block = Block { hashes: [0; 2 * BLOCK], slots: [0; BLOCK], same: [false; BLOCK] };
        self.hash(store, rows, start, &mut block);
        block
    }

    /// The hashes of a block of rows, behind those of the block before. Their places are fetched
    /// ahead, if they are far, and those after them: a quarter of the keys stand behind their place.
    #[inline(always)]
    fn hash<Cells: ?Sized>(&self, store: &impl Store<Cells>, rows: &Rows<Cells>, start: usize, block: &mut Block) {
        let near = self.entries.len() <= KEYS_NEAR.get();
        for (row, hash) in (start..rows.count).zip(&mut block.hashes[BLOCK..]) {
            *hash = store.hash(rows.cells, row);
            if !near {
                let place = (*hash >> self.shift) as usize;
                prefetch(&self.entries[place]);
                prefetch(&self.entries[(place + 1) & (self.entries.len() - 1)]);
            }
        }
    }

    /// What the places of a block of rows hold, whose hashes are known: the loads do not wait for one another, and
    /// those of the block after it are on their way. Bits of the rows whose key is not there, or null; bits of those whose place is
    /// empty.
    #[inline(always)]
    fn load<Cells: ?Sized>(
        &self,
        store: &impl Store<Cells>,
        rows: &Rows<Cells>,
        start: usize,
        block: &mut Block,
    ) -> (u64, u64) {
        let count = BLOCK.min(rows.count - start);
        block.hashes.copy_within(BLOCK.., 0);
        self.hash(store, rows, start + count, block);
        let far = self.entries.len() > KEYS_FAR.get();
        let Block { hashes, slots, same } = block;
        for ((hash, slot), same) in hashes.iter().zip(&mut slots[..count]).zip(&mut *same) {
            let entry = self.entries[(hash >> self.shift) as usize];
            *slot = entry.slot;
            *same = (entry.hash == *hash) & (entry.slot != NO_SLOT);
            if far {
                store.prefetch(entry.slot);
            }
        }
        let same = &mut same[..count];
        store.confirm(&slots[..count], rows.cells, start, same);
        if rows.nulls.is_some() {
            same.iter_mut().enumerate().for_each(|(at, same)| *same &= !rows.is_null(start + at));
        }
        let bits = |of: &dyn Fn(usize) -> bool| (0..count).fold(0, |bits, at| bits | u64::from(of(at)) << at);
        (bits(&|at| !same[at]), bits(&|at| slots[at] == NO_SLOT))
    }

    /// The place of the key with this hash and its slot; if there is none, [`NO_SLOT`] and the place it would have.
    #[inline(always)]
    fn find_one(&self, hash: u64, same: impl Fn(u32) -> bool) -> (usize, u32) {
        let mask = self.entries.len() - 1;
        let mut place = (hash >> self.shift) as usize;
        loop {
            let entry = self.entries[place];
            if entry.slot == NO_SLOT || (entry.hash == hash && same(entry.slot)) {
                return (place, entry.slot);
            }
            place = (place + 1) & mask;
        }
    }

    /// Takes out the entry of a slot; false if it is not there.
    pub(super) fn remove(&mut self, hash: u64, slot: u32) -> bool {
        self.seen = None;
        let mask = self.entries.len() - 1;
        let mut hole = (hash >> self.shift) as usize;
        while self.entries[hole].slot != slot {
            if self.entries[hole].slot == NO_SLOT {
                return false;
            }
            hole = (hole + 1) & mask;
        }
        let mut next = (hole + 1) & mask;
        while self.entries[next].slot != NO_SLOT {
            let home = (self.entries[next].hash >> self.shift) as usize;
            // An entry may move back to the hole only if the hole is not before its home.
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.entries[hole] = self.entries[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.entries[hole] = EMPTY;
        self.len -= 1;
        if self.entries.len() > KEYS_SHRINK.get() && self.len < self.entries.len() / 16 {
            self.rebuild(self.entries.len() / 4);
        }
        true
    }

    /// Makes room for `more` entries with at most five eighths of the places taken; half as many in a small table, where
    /// a key that is not where it is looked for first costs more than the room.
    fn reserve(&mut self, more: usize) {
        let keys = self.len + more;
        let wanted = if keys * 16 / 5 <= KEYS_SMALL.get() { keys * 16 / 5 } else { keys * 8 / 5 + 1 };
        if wanted > self.entries.len() {
            self.rebuild(wanted.next_power_of_two());
        }
    }

    fn rebuild(&mut self, capacity: usize) {
        let old = std::mem::replace(&mut self.entries, vec![EMPTY; capacity]);
        self.shift = 64 - capacity.trailing_zeros();
        let mask = capacity - 1;
        for entry in old.into_iter().filter(|entry| entry.slot != NO_SLOT) {
            let mut place = (entry.hash >> self.shift) as usize;
            while self.entries[place].slot != NO_SLOT {
                place = (place + 1) & mask;
            }
            self.entries[place] = entry;
        }
    }

    /// Empties it, and gives the slots that it held.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u32> + use<> {
        let entries = std::mem::take(self).entries;
        entries.into_iter().map(|entry| entry.slot).filter(|slot| *slot != NO_SLOT)
    }

    /// Takes hashes that are all different, and their slots.
    pub(super) fn refill(&mut self, hashes: impl Iterator<Item = (u64, u32)> + Clone) {
        self.seen = None;
        self.reserve(hashes.clone().count());
        for (hash, slot) in hashes {
            let (place, _) = self.find_one(hash, |_| false);
            self.entries[place] = Entry { hash, slot };
            self.len += 1;
        }
    }

    pub(super) fn allocated(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.seen.as_ref().map_or(0, Seen::allocated)
    }
}
