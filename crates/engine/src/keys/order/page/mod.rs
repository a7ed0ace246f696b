//! A page of the order: a run of output keys, of which some hold an entry and some are room.

mod room;

use simd::prefetch;

use super::entry::{Entry, Key};
use crate::keys::search;

/// The key an entry had before the step: none, it is new.
pub(super) const NEW: u64 = u64::MAX;

/// An entry that does not stand where it stood before the step, or that was given another sort key there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) slot: usize,
    pub(super) was: u64,
    pub(super) stays: bool,
}

/// The free slots between two neighbours, `low .. high`, and where an entry would be searched there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) low: usize,
    pub(super) high: usize,
}

/// Slots in order. A free slot repeats some entry between its neighbours', so that a search needs no
/// look at which slots are taken.
#[derive(Clone)]
pub(super) struct Page<K> {
    /// Which page of the key space this is.
    pub(super) number: u64,
    pub(super) len: usize,
    /// Marks of this step, by slot.
    pub(super) marks: Vec<Mark>,
    /// Whether entries were taken out since pages were last joined.
    pub(super) shrunk: bool,
    /// Whether the first entry was taken out since.
    pub(super) headless: bool,
    keys: Vec<K>,
    ties: Vec<u64>,
    taken: Vec<u64>,
}

impl<K: Key> Page<K> {
    /// A page of `size` slots with these entries at these slots; at least one.
    pub(super) fn new(number: u64, size: usize, entries: &[Entry<K>], slot: impl Fn(usize) -> usize) -> Page<K> {
        let first = &entries[0];
        let mut page = Page {
            number,
            len: 0,
            marks: Vec::new(),
            shrunk: false,
            headless: false,
            keys: Vec::with_capacity(size),
            ties: Vec::with_capacity(size),
            taken: vec![0; size.div_ceil(64)],
        };
        page.keys.resize(slot(0), first.key.clone());
        page.ties.resize(slot(0), first.tie);
        for (at, entry) in entries.iter().enumerate() {
            let slot_of = slot(at);
            page.set(slot_of);
            let next = if at + 1 < entries.len() { slot(at + 1) } else { size };
            page.keys.resize(next, entry.key.clone());
            page.ties.resize(next, entry.tie);
        }
        page.len = entries.len();
        page
    }

    pub(super) fn size(&self) -> usize {
        self.ties.len()
    }

    pub(super) fn base(&self) -> u64 {
        self.number * self.size() as u64
    }

    pub(super) fn output(&self, slot: usize) -> u64 {
        self.base() + slot as u64
    }

    pub(super) fn entry(&self, slot: usize) -> Entry<K> {
        Entry { key: self.keys[slot].clone(), tie: self.ties[slot] }
    }

    /// What the entry of a taken slot stands for.
    pub(super) fn source(&self, slot: usize) -> K::Source {
        self.keys[slot].source(self.ties[slot])
    }

    pub(super) fn is_less(&self, slot: usize, than: &Entry<K>) -> bool {
        match self.keys[slot].cmp(&than.key) {
            std::cmp::Ordering::Equal => self.ties[slot] < than.tie,
            order => order.is_lt(),
        }
    }

    /// The first slot whose entry, own or repeated, is not less; `near` is a guess.
    fn search(&self, entry: &Entry<K>, near: usize) -> usize {
        search::gallop(self.size(), near, |slot| self.is_less(slot, entry))
    }

    /// A better guess where a word is: from what stands at a first one, on by the page's mean step.
    pub(super) fn nearer(&self, guess: usize, width: u64, word: u64) -> usize {
        let found = self.keys[guess].word();
        let steps = |gap: u64| (gap as f64 / width.max(1) as f64 * self.size() as f64) as usize;
        let (up, down) = (word.saturating_sub(found), found.saturating_sub(word));
        guess.saturating_add(steps(up)).saturating_sub(steps(down)).min(self.size() - 1)
    }

    /// Prefetches what a search near this slot will look at.
    pub(super) fn prefetch_near(&self, slot: usize) {
        prefetch(&self.keys[slot]);
        prefetch(&self.ties[slot]);
        prefetch(&self.taken[slot / 64]);
    }

    pub(super) fn last_word(&self) -> u64 {
        self.keys[self.size() - 1].word()
    }

    /// The slot of this very entry.
    pub(super) fn find(&self, entry: &Entry<K>, near: usize) -> Option<usize> {
        let slot = self.next_taken(self.search(entry, near))?;
        (self.ties[slot] == entry.tie && self.keys[slot] == entry.key).then_some(slot)
    }

    /// The free slots where an entry belongs that is not here.
    pub(super) fn gap(&self, entry: &Entry<K>, near: usize) -> Gap {
        let at = self.search(entry, near);
        let low = self.last_taken(at).map_or(0, |slot| slot + 1);
        Gap { low, high: self.next_taken(at).unwrap_or(self.size()) }
    }

    pub(super) fn is_taken(&self, slot: usize) -> bool {
        self.taken[slot / 64] >> (slot % 64) & 1 == 1
    }

    fn set(&mut self, slot: usize) {
        self.taken[slot / 64] |= 1 << (slot % 64);
    }

    fn clear(&mut self, slot: usize) {
        self.taken[slot / 64] &= !(1 << (slot % 64));
    }

    /// The first taken slot at or after `from`.
    pub(super) fn next_taken(&self, from: usize) -> Option<usize> {
        self.scan_up(from, |word| word)
    }

    /// The last taken slot before `before`.
    pub(super) fn last_taken(&self, before: usize) -> Option<usize> {
        self.scan_down(before, |word| word)
    }

    fn next_free(&self, from: usize) -> Option<usize> {
        self.scan_up(from, |word| !word)
    }

    fn last_free(&self, before: usize) -> Option<usize> {
        self.scan_down(before, |word| !word)
    }

    fn scan_up(&self, from: usize, of: impl Fn(u64) -> u64) -> Option<usize> {
        let mut at = from / 64;
        let mut word = of(*self.taken.get(at)?) & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = of(*self.taken.get(at)?);
        }
        Some(at * 64 + word.trailing_zeros() as usize).filter(|slot| *slot < self.size())
    }

    fn scan_down(&self, before: usize, of: impl Fn(u64) -> u64) -> Option<usize> {
        let last = before.checked_sub(1)?;
        let mut at = last / 64;
        let mut word = of(self.taken[at]) & (u64::MAX >> (63 - last % 64));
        while word == 0 {
            at = at.checked_sub(1)?;
            word = of(self.taken[at]);
        }
        Some(at * 64 + 63 - word.leading_zeros() as usize)
    }

    /// How many slots of `from .. to` are taken.
    pub(super) fn count(&self, from: usize, to: usize) -> usize {
        let mut slot = from;
        let mut count = 0;
        while slot < to {
            let end = (slot / 64 + 1) * 64;
            let bits = end.min(to) - slot;
            count += ((self.taken[slot / 64] >> (slot % 64)) & (u64::MAX >> (64 - bits))).count_ones() as usize;
            slot = end;
        }
        count
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.slots_between(0, self.size())
    }

    fn slots_between(&self, from: usize, to: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.next_taken(from), |slot| self.next_taken(slot + 1))
            .take_while(move |slot| *slot < to)
    }

    /// Takes an entry out; its slot repeats it from now on.
    pub(super) fn remove(&mut self, slot: usize) {
        self.clear(slot);
        self.len -= 1;
        self.shrunk = true;
        self.headless |= self.last_taken(slot).is_none();
    }

    /// Puts an entry into a free slot between its neighbours.
    pub(super) fn put(&mut self, slot: usize, entry: &Entry<K>, mark: Mark) {
        self.write(slot, entry);
        let mut after = slot + 1;
        while after < self.size() && !self.is_taken(after) && self.is_less(after, entry) {
            self.write(after, entry);
            after += 1;
        }
        let mut before = slot;
        while before > 0 && !self.is_taken(before - 1) && !self.is_less(before - 1, entry) {
            before -= 1;
            self.write(before, entry);
        }
        self.set(slot);
        self.len += 1;
        let at = self.marks.partition_point(|other| other.slot < slot);
        self.marks.insert(at, mark);
    }

    fn write(&mut self, slot: usize, entry: &Entry<K>) {
        self.keys[slot] = entry.key.clone();
        self.ties[slot] = entry.tie;
    }

    /// Moves the source of every entry, and of what free slots repeat of them.
    pub(super) fn rewrite_all(&mut self, shifts: &K::Shifts, mut rewritten: impl FnMut(u64, K::Source)) {
        let Some(first) = self.next_taken(0) else { return };
        for slot in first..self.size() {
            if self.is_taken(slot) {
                if self.keys[slot].shift(&mut self.ties[slot], shifts) {
                    rewritten(self.output(slot), self.source(slot));
                }
            } else if self.ties[slot] != self.ties[slot - 1] || self.keys[slot] != self.keys[slot - 1] {
                self.repeat(slot - 1, slot);
            }
        }
        (0..first).for_each(|slot| self.repeat(first, slot));
    }

    /// Moves the sources of some taken slots, ascending.
    pub(super) fn rewrite(&mut self, slots: &[usize], shifts: &K::Shifts, mut rewritten: impl FnMut(u64, K::Source)) {
        for &slot in slots {
            self.keys[slot].shift(&mut self.ties[slot], shifts);
            rewritten(self.output(slot), self.source(slot));
        }
        for &slot in slots {
            match self.last_taken(slot) {
                Some(before) => (before + 1..slot).for_each(|free| self.repeat(before, free)),
                None => (0..slot).for_each(|free| self.repeat(slot, free)),
            }
            let next = self.next_taken(slot + 1).unwrap_or(self.size());
            (slot + 1..next).for_each(|free| self.repeat(slot, free));
        }
    }

    fn repeat(&mut self, from: usize, into: usize) {
        self.keys[into] = self.keys[from].clone();
        self.ties[into] = self.ties[from];
    }

    /// Bytes of memory held.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<K>()
            + (self.ties.capacity() + self.taken.capacity()) * size_of::<u64>()
            + self.marks.capacity() * size_of::<Mark>()
    }

    /// Which invariant is broken, if one is.
    #[cfg(test)]
    pub(super) fn validate(&self) {
        assert_eq!(self.count(0, self.size()), self.len);
        let entries: Vec<Entry<K>> = (0..self.size()).map(|slot| self.entry(slot)).collect();
        assert!(entries.is_sorted(), "free slots repeat an entry between their neighbours'");
        let taken: Vec<Entry<K>> = self.slots().map(|slot| self.entry(slot)).collect();
        assert!(taken.windows(2).all(|pair| pair[0] < pair[1]), "entries ascend");
        assert!(self.marks.is_sorted_by(|a, b| a.slot < b.slot));
        assert!(self.marks.iter().all(|mark| self.is_taken(mark.slot)));
    }
}
