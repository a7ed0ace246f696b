//! Search in an order: the position of an entry, or of its insertion. Searches interpolate, and a batch of searches
//! prefetches what it will read, so that cache misses overlap.

use super::Order;
use super::entry::{Entry, Key};
use crate::keys::search::interpolate;

/// Searches of a batch.
pub(super) const BATCH: usize = 16;

/// About where an entry is to be looked for.
#[derive(Clone, Copy, Default)]
pub(super) struct Hint {
    pub(super) page: usize,
    pub(super) slot: usize,
}

impl<K: Key> Order<K> {
    /// The page where an entry is, if it is anywhere.
    fn page_of(&self, entry: &Entry<K>) -> Option<usize> {
        let mut page = self.firsts.partition_point(|first| first <= entry).max(1) - 1;
        while page > 0 && self.pages[page].len == 0 {
            page -= 1;
        }
        (page < self.pages.len()).then_some(page)
    }

    /// As [`page_of`](Self::page_of), but tries the page `page` first.
    pub(super) fn page_near(&self, entry: &Entry<K>, page: usize) -> Option<usize> {
        let begins = self.firsts.get(page).is_some_and(|first| first <= entry) && self.pages[page].len > 0;
        let ends = self.firsts.get(page + 1).is_none_or(|next| entry < next);
        if begins && ends { Some(page) } else { self.page_of(entry) }
    }

    /// About where the next few entries are: what their searches will look at is on its way.
    pub(super) fn hints<'a>(&self, entries: impl Iterator<Item = &'a Entry<K>> + Clone) -> [Hint; BATCH]
    where
        K: 'a,
    {
        let mut hints = [Hint::default(); BATCH];
        if self.pages.is_empty() {
            return hints;
        }
        let mut page = 0;
        for (hint, entry) in hints.iter_mut().zip(entries.clone()) {
            page = self.page_near(entry, page).unwrap_or(0);
            let (from, to) = self.words(page);
            *hint = Hint { page, slot: interpolate(self.room.page, from, to, entry.key.word()) };
        }
        for (hint, entry) in hints.iter_mut().zip(entries.clone()) {
            let (from, to) = self.words(hint.page);
            hint.slot = self.pages[hint.page].nearer(hint.slot, to - from, entry.key.word());
        }
        hints.iter().zip(entries).for_each(|(hint, _)| self.pages[hint.page].prefetch_near(hint.slot));
        hints
    }

    /// The words between which a page's entries lie.
    fn words(&self, page: usize) -> (u64, u64) {
        let from = self.firsts[page].key.word();
        let to = self.firsts.get(page + 1).map_or_else(|| self.pages[page].last_word(), |next| next.key.word());
        (from, to.max(from))
    }

    /// Page and slot of each of these entries, all of which are there.
    pub(super) fn find_all<E>(&self, entries: &[E], entry: impl Fn(&E) -> &Entry<K>) -> Vec<Option<(usize, usize)>> {
        let mut found = Vec::with_capacity(entries.len());
        for batch in entries.chunks(BATCH) {
            let hints = self.hints(batch.iter().map(&entry));
            found.extend(batch.iter().zip(hints).map(|(of, hint)| {
                let slot = self.pages.get(hint.page).and_then(|page| page.find(entry(of), hint.slot));
                debug_assert!(slot.is_some(), "an entry that is looked up is there");
                Some((hint.page, slot?))
            }));
        }
        found
    }
}
