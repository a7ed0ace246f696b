//! Open addressing from hashes to slots, a block of rows at a time.

use std::ops::Range;

use arrow_buffer::NullBuffer;
use rowset::ask;

use super::NO_SLOT;

/// Rows whose places are loaded before the first is looked at: their cache misses overlap. In a large
/// table the next block's are asked for before that; each row is hashed once.
const BLOCK: usize = 64;
/// Up to so many entries a table stays in the cache by itself.
const NEAR: usize = 1 << 14;
const SMALLEST_BITS: u32 = 4;

/// Rows to look up.
pub(super) trait Probe {
    fn hash(&self, row: usize) -> u64;
    /// Whether the key in `slot`, whose hash is the row's, is the row's key.
    fn same(&self, row: usize, slot: u32) -> bool;
}

/// Rows to look up, and to keep where they are new.
pub(super) trait Admit: Probe {
    fn admit(&mut self, row: usize) -> u32;
    /// The slot of the null key.
    fn admit_null(&mut self, row: usize) -> u32;
}

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
}

impl Default for Index {
    fn default() -> Index {
        Index { entries: vec![EMPTY; 1 << SMALLEST_BITS], shift: 64 - SMALLEST_BITS, len: 0 }
    }
}

impl Index {
    pub(super) fn find(
        &self,
        rows: usize,
        probe: &impl Probe,
        nulls: Option<&NullBuffer>,
        null_slot: u32,
        slots: &mut Vec<u32>,
    ) {
        slots.reserve(rows);
        let mut hashes = [0; 2 * BLOCK];
        let mut places = [EMPTY; BLOCK];
        self.hash(probe, 0..rows, &mut hashes);
        for start in (0..rows).step_by(BLOCK) {
            let count = BLOCK.min(rows - start);
            self.load(probe, start..rows, &mut hashes, &mut places);
            slots.extend((0..count).map(|at| {
                let (row, hash, place) = (start + at, hashes[at], places[at]);
                if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                    null_slot
                } else if place.slot == NO_SLOT || (place.hash == hash && probe.same(row, place.slot)) {
                    place.slot
                } else {
                    self.find_one(hash, |slot| probe.same(row, slot))
                }
            }));
        }
    }

    pub(super) fn insert(
        &mut self,
        rows: usize,
        admit: &mut impl Admit,
        nulls: Option<&NullBuffer>,
        slots: &mut Vec<u32>,
    ) {
        slots.reserve(rows);
        let mut hashes = [0; 2 * BLOCK];
        let mut places = [EMPTY; BLOCK];
        self.hash(admit, 0..rows, &mut hashes);
        for start in (0..rows).step_by(BLOCK) {
            let count = BLOCK.min(rows - start);
            self.reserve(count);
            self.load(admit, start..rows, &mut hashes, &mut places);
            for (at, (&hash, &place)) in hashes[..count].iter().zip(&places).enumerate() {
                let row = start + at;
                let slot = if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                    admit.admit_null(row)
                } else if place.hash == hash && place.slot != NO_SLOT && admit.same(row, place.slot) {
                    place.slot
                } else {
                    self.insert_one(hash, row, admit)
                };
                slots.push(slot);
            }
        }
    }

    /// The hashes of the first rows, up to a block of them, behind those of the block before. Their places are asked
    /// for, if they are far, and those after them: a quarter of the keys stand behind their place.
    #[inline(always)]
    fn hash(&self, probe: &impl Probe, rows: Range<usize>, hashes: &mut [u64; 2 * BLOCK]) {
        for (row, hash) in rows.zip(&mut hashes[BLOCK..]) {
            *hash = probe.hash(row);
            if self.entries.len() > NEAR {
                let place = (*hash >> self.shift) as usize;
                ask(&self.entries[place]);
                ask(&self.entries[(place + 1) & (self.entries.len() - 1)]);
            }
        }
    }

    /// The hashes and places of the first block of these rows, whose hashes are known: the loads do not wait for one
    /// another, and those of the block after it are on their way.
    #[inline(always)]
    fn load(&self, probe: &impl Probe, rows: Range<usize>, hashes: &mut [u64; 2 * BLOCK], places: &mut [Entry; BLOCK]) {
        let count = BLOCK.min(rows.len());
        hashes.copy_within(BLOCK.., 0);
        self.hash(probe, rows.start + count..rows.end, hashes);
        for (place, hash) in places[..count].iter_mut().zip(&*hashes) {
            *place = self.entries[(hash >> self.shift) as usize];
        }
    }

    fn find_one(&self, hash: u64, same: impl Fn(u32) -> bool) -> u32 {
        let mask = self.entries.len() - 1;
        let mut place = (hash >> self.shift) as usize;
        loop {
            let entry = self.entries[place];
            if entry.slot == NO_SLOT || (entry.hash == hash && same(entry.slot)) {
                return entry.slot;
            }
            place = (place + 1) & mask;
        }
    }

    fn insert_one(&mut self, hash: u64, row: usize, admit: &mut impl Admit) -> u32 {
        let mask = self.entries.len() - 1;
        let mut place = (hash >> self.shift) as usize;
        loop {
            let entry = self.entries[place];
            if entry.slot == NO_SLOT {
                let slot = admit.admit(row);
                self.entries[place] = Entry { hash, slot };
                self.len += 1;
                return slot;
            }
            if entry.hash == hash && admit.same(row, entry.slot) {
                return entry.slot;
            }
            place = (place + 1) & mask;
        }
    }

    /// Takes out the entry of a slot; false if it is not there.
    pub(super) fn remove(&mut self, hash: u64, slot: u32) -> bool {
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
        if self.entries.len() > 1 << 10 && self.len < self.entries.len() / 16 {
            self.rebuild(self.entries.len() / 4);
        }
        true
    }

    /// Makes room for `more` entries with at most five eighths of the places taken.
    fn reserve(&mut self, more: usize) {
        let wanted = (self.len + more) * 8 / 5 + 1;
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

    pub(super) fn allocated(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }
}
