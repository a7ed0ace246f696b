//! An order of entries that owns its row keys: entries to output row keys, with room between them. `sort` keeps its rows
//! in one, a join its pairs of rows.
//!
//! Entries stand in pages, a page is a run of output keys, of which three in four are free at first. A new
//! entry takes a free key between its neighbours; where there is none, the nearest room is moved there, one
//! key's width, and where that is far, a stretch is spread. A page that is full is halved, and its chunks
//! move apart, each by one delta. Pages lie in clusters far apart in the key space, so that halving one
//! moves few others. Nothing here reads a source column.

mod change;
pub(crate) mod entry;
mod insert;
mod keep;
mod numbers;
mod page;
mod seek;
mod shrink;

pub use change::{Edits, OrderChange};
use entry::{Entry, Key};
use keep::Place;
use numbers::Align;
pub(super) use numbers::Room;
use page::Page;

/// Entries in order, each at an output key.
pub struct Order<K> {
    room: Room,
    pages: Vec<Page<K>>,
    /// For each page an entry that none of its own is less than, and all before it are.
    firsts: Vec<Entry<K>>,
    len: usize,
}

impl<K: Key> Order<K> {
    /// The order of these entries, which are in order.
    pub fn build(sorted: &[Entry<K>]) -> Order<K> {
        Order::with_room(sorted, Room::default())
    }

    pub(super) fn with_room(sorted: &[Entry<K>], room: Room) -> Order<K> {
        debug_assert!(sorted.is_sorted());
        let mut order = Order { room, pages: Vec::new(), firsts: Vec::new(), len: 0 };
        order.insert_pages(0, sorted, Align::Low);
        order.len = sorted.len();
        order.pages.iter_mut().for_each(|page| page.marks = Vec::new());
        order
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Output key and source of every row, in order.
    pub fn rows(&self) -> impl Iterator<Item = (u64, K::Source)> + '_ {
        self.pages.iter().flat_map(|page| page.slots().map(|slot| (page.output(slot), page.source(slot))))
    }

    /// Every entry, the last one first.
    pub fn descending(&self) -> impl Iterator<Item = Entry<K>> + '_ {
        self.pages.iter().rev().flat_map(|page| {
            let mut before = page.size();
            std::iter::from_fn(move || {
                before = page.last_taken(before)?;
                Some(page.entry(before))
            })
        })
    }

    /// The output keys of these entries, in their order; all must be there, with sources of now.
    pub fn locate(&self, entries: &[Entry<K>]) -> Vec<u64> {
        let found = self.find_all(entries, |entry| entry).into_iter().flatten();
        found.map(|(page, slot)| self.pages[page].output(slot)).collect()
    }

    /// Bytes of memory held.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        let pages: usize = self.pages.iter().map(Page::bytes).sum();
        (pages + self.firsts.capacity() * size_of::<Entry<K>>()) as u64
    }

    /// Takes a step in: first what is gone, then the moves of sources, then what is new.
    pub fn apply(&mut self, edits: Edits<'_, K>) -> OrderChange<K::Source> {
        let Edits { mut removed, mut changed, mut added, shifts, moved } = edits;
        let mut change = OrderChange::default();
        removed.sort_unstable();
        if removed.len() == self.len {
            self.clear(&mut change);
        } else {
            for (page, slot) in self.find_all(&removed, |entry| entry).into_iter().flatten() {
                change.removed.push(self.take(page, slot));
            }
        }
        let mut places = Vec::with_capacity(changed.len());
        changed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let found = self.find_all(&changed, |(old, _)| old);
        for ((old, new), found) in changed.into_iter().zip(found) {
            let Some((page, slot)) = found else {
                added.push(new);
                continue;
            };
            let output = self.take(page, slot);
            places.push((Place { page, slot, output, source: old.source() }, new));
        }
        self.refresh_firsts(|page| page.headless);
        if moved.as_ref().is_none_or(|moved| !moved.is_empty()) {
            self.rewrite(shifts, moved, &mut change);
            self.refresh_firsts(|_| true);
        }
        self.keep_in_place(places, &mut added, &mut change);
        self.drop_empty();
        added.sort_unstable();
        self.insert_all(&added);
        self.join_sparse();
        self.finish(&mut change);
        change
    }

    fn clear(&mut self, change: &mut OrderChange<K::Source>) {
        change.removed = self.rows().map(|(output, _)| output).collect();
        self.pages.clear();
        self.firsts.clear();
        self.len = 0;
    }

    /// Takes an entry out; the output key it had is said.
    fn take(&mut self, page: usize, slot: usize) -> u64 {
        self.pages[page].remove(slot);
        self.len -= 1;
        self.pages[page].output(slot)
    }

    fn rewrite(&mut self, shifts: &K::Shifts, moved: Option<Vec<Entry<K>>>, change: &mut OrderChange<K::Source>) {
        let rewrites = &mut change.source_rewrites;
        let Some(mut moved) = moved else {
            for page in &mut self.pages {
                page.rewrite_all(shifts, |output, source| rewrites.push((output, source)));
            }
            return;
        };
        moved.sort_unstable();
        let found: Vec<(usize, usize)> = self.find_all(&moved, |entry| entry).into_iter().flatten().collect();
        for run in found.chunk_by(|a, b| a.0 == b.0) {
            let slots: Vec<usize> = run.iter().map(|&(_, slot)| slot).collect();
            self.pages[run[0].0].rewrite(&slots, shifts, |output, source| rewrites.push((output, source)));
        }
    }

    /// Which invariant is broken, if one is.
    #[cfg(test)]
    pub(super) fn validate(&self) {
        assert_eq!(self.pages.len(), self.firsts.len());
        assert_eq!(self.len, self.pages.iter().map(|page| page.len).sum::<usize>());
        assert!(self.pages.windows(2).all(|pair| pair[0].number < pair[1].number), "pages ascend");
        assert!(self.pages.iter().all(|page| page.number < self.room.pages), "pages are in the key space");
        for (at, page) in self.pages.iter().enumerate() {
            page.validate();
            assert!(page.len > 0 && page.len <= self.room.page, "no page is empty");
            let (low, high) = (page.next_taken(0).unwrap(), page.last_taken(page.size()).unwrap());
            assert!(self.firsts[at] <= page.entry(low));
            assert!(self.firsts.get(at + 1).is_none_or(|next| page.entry(high) < *next));
        }
    }
}

#[cfg(test)]
mod tests;
