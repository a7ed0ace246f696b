//! Rows whose sort key changed, and whose place may not.

use super::entry::{Entry, Key};
use super::page::Mark;
use super::{Order, OrderChange};

/// Where a changed row was.
#[derive(Clone, Copy)]
pub(super) struct Place<S> {
    pub(super) page: usize,
    pub(super) slot: usize,
    pub(super) output: u64,
    pub(super) source: S,
}

impl<K: Key> Order<K> {
    /// Leaves changed rows where they are if their neighbours allow it; the others are added anew.
    pub(super) fn keep_in_place(
        &mut self,
        mut changed: Vec<(Place<K::Source>, Entry<K>)>,
        added: &mut Vec<Entry<K>>,
        change: &mut OrderChange<K::Source>,
    ) {
        let removed = change.removed.len();
        changed.sort_unstable_by(|a, b| a.1.cmp(&b.1));
        for (place, new) in changed {
            if !self.fits(place, &new) {
                change.removed.push(place.output);
                added.push(new);
                continue;
            }
            self.put_back(place, &new);
            if place.source != new.source() {
                change.source_rewrites.push((place.output, new.source()));
            }
        }
        if change.removed.len() > removed {
            change.removed.sort_unstable();
        }
    }

    fn fits(&self, place: Place<K::Source>, entry: &Entry<K>) -> bool {
        let page = &self.pages[place.page];
        if page.is_taken(place.slot) {
            return false;
        }
        let above_low = match page.last_taken(place.slot) {
            Some(slot) => page.is_less(slot, entry),
            None => (self.pages[..place.page].iter().rev().find(|page| page.len > 0))
                .is_none_or(|page| page.last_taken(page.size()).is_some_and(|slot| page.is_less(slot, entry))),
        };
        let below_high = match page.next_taken(place.slot) {
            Some(slot) => !page.is_less(slot, entry),
            None => (self.pages[place.page + 1..].iter().find(|page| page.len > 0))
                .is_none_or(|page| page.next_taken(0).is_some_and(|slot| !page.is_less(slot, entry))),
        };
        above_low && below_high
    }

    fn put_back(&mut self, place: Place<K::Source>, entry: &Entry<K>) {
        let mark = Mark { slot: place.slot, was: place.output, stays: true };
        self.pages[place.page].put(place.slot, entry, mark);
        self.len += 1;
        if self.pages[place.page].len == 1 || *entry < self.firsts[place.page] {
            self.firsts[place.page] = entry.clone();
        }
        let mut below = place.page;
        while below > 0 && self.pages[below - 1].len == 0 && self.firsts[below - 1] > *entry {
            below -= 1;
            self.firsts[below] = entry.clone();
        }
        let mut above = place.page + 1;
        while above < self.pages.len() && self.pages[above].len == 0 && self.firsts[above] <= *entry {
            self.firsts[above] = entry.clone();
            above += 1;
        }
    }
}
