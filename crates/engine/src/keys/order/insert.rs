//! New entries: into the gap where they belong, or into room that is made for them.

use super::Order;
use super::entry::{Entry, Key};
use super::numbers::Align;
use super::page::{Gap, Mark, NEW, Page};
use super::seek::{BATCH, Hint};

/// Keys for each entry of a new page.
const SPARSE: usize = 4;
/// Chunks of a page that is moved apart: each moves by one delta.
const CHUNKS: usize = 128;

impl<K: Key> Order<K> {
    pub(super) fn insert_all(&mut self, added: &[Entry<K>]) {
        self.len += added.len();
        let (mut rest, mut hints, mut hinted) = (added, [Hint::default(); BATCH], 0);
        while let Some(first) = rest.first() {
            let at = added.len() - rest.len();
            if at == 0 || at >= hinted + BATCH {
                (hints, hinted) = (self.hints(rest.iter()), at);
            }
            let hint = hints[at - hinted];
            let Some(page) = self.page_near(first, hint.page) else {
                return self.insert_pages(0, rest, Align::Low);
            };
            if *first < self.firsts[page] {
                self.firsts[page] = first.clone();
            }
            let gap = self.pages[page].gap(first, hint.slot);
            let count = self.group(page, gap, rest);
            let done = self.insert_group(page, gap, &rest[..count]);
            rest = &rest[done..];
        }
    }

    /// How many of these entries belong into this gap.
    fn group(&self, page: usize, gap: Gap, entries: &[Entry<K>]) -> usize {
        let slots = &self.pages[page];
        let before_end = |entry: &Entry<K>| {
            if gap.high < slots.size() {
                !slots.is_less(gap.high, entry)
            } else {
                self.firsts.get(page + 1).is_none_or(|first| entry < first)
            }
        };
        if entries.len() > 1 && before_end(&entries[1]) { entries.partition_point(before_end) } else { 1 }
    }

    /// Inserts some entries of a group that belongs into one gap; how many is said. None: the page was
    /// cut, look again.
    fn insert_group(&mut self, page: usize, gap: Gap, group: &[Entry<K>]) -> usize {
        let size = self.room.page;
        let (reach, bulk) = (64.min(size / 4), 64.min(size / 8).max(1));
        let free = gap.high - gap.low;
        if group.len() <= free {
            self.fill_gap(page, gap, group);
            return group.len();
        }
        let large = group.len() > bulk;
        if gap.high == size && (large || page + 1 == self.pages.len()) {
            return self.extend_up(page, gap, group);
        }
        if gap.low == 0 && (large || page == 0) {
            return self.extend_down(page, gap, group);
        }
        if !large && self.pages[page].len >= self.full(page) {
            self.halve(page);
            return 0;
        }
        let slots = &mut self.pages[page];
        if !large {
            let slot = if free > 0 { Some(gap.low) } else { slots.make_room(gap.low, reach) };
            if let Some(slot) = slot {
                slots.put(slot, &group[0], Mark { slot, was: NEW, stays: false });
                return 1;
            }
        }
        if let Some(opened) = slots.slide(gap)
            && opened.high - opened.low >= group.len()
        {
            self.fill_gap(page, opened, group);
            return group.len();
        }
        let slots = &mut self.pages[page];
        if let Some((from, to)) = slots.stretch(gap.low, group.len()) {
            slots.spread(from, to, group);
            return group.len();
        }
        if large {
            self.cut(page, gap.high)
        } else {
            self.halve(page)
        }
        0
    }

    /// How many entries make a page full: half to three quarters of its slots, not the same for all, or
    /// pages that grow alike would all be halved in the same step.
    fn full(&self, page: usize) -> usize {
        let size = self.room.page;
        let part = (self.pages[page].number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
        size / 2 + size / 4 * part / 256
    }

    /// Cuts a page at its middle entry, and moves what is left and what is cut off apart, chunk by chunk.
    fn halve(&mut self, page: usize) {
        let slots = &self.pages[page];
        let middle = slots.slots().nth(slots.len / 2).unwrap_or(slots.size() / 2);
        self.cut(page, middle);
        let chunk = (self.room.page / CHUNKS).max(1);
        self.pages[page].loosen(chunk);
        self.pages[page + 1].loosen(chunk);
    }

    /// Puts a group into the free slots between two neighbours, leaving room on all sides.
    fn fill_gap(&mut self, page: usize, gap: Gap, group: &[Entry<K>]) {
        let (free, count) = (gap.high - gap.low, group.len());
        let slots = &mut self.pages[page];
        let size = slots.size();
        let slot = |at: usize| {
            if gap.high == size && 2 * count <= free {
                gap.low + 1 + 2 * at
            } else if gap.low == 0 && 2 * count <= free {
                gap.high - 2 * (count - at)
            } else if free <= 4 * (count + 1) {
                gap.low + (at + 1) * (free + 1) / (count + 1) - 1
            } else {
                gap.low + free / 2 - count + 2 * at
            }
        };
        for (at, entry) in group.iter().enumerate() {
            let slot = slot(at);
            slots.put(slot, entry, Mark { slot, was: NEW, stays: false });
        }
    }

    /// Inserts a group after a page's last entry: at its end, at the start of the next, in new pages.
    fn extend_up(&mut self, page: usize, gap: Gap, group: &[Entry<K>]) -> usize {
        let here = ((gap.high - gap.low) / 2).min(group.len());
        let (low, rest) = group.split_at(here);
        self.fill_gap(page, gap, low);
        if rest.is_empty() {
            return group.len();
        }
        if let Some(next) = self.pages.get(page + 1) {
            let high = next.next_taken(0).unwrap_or(0);
            if 2 * rest.len() <= high {
                self.fill_gap(page + 1, Gap { low: 0, high }, rest);
                self.firsts[page + 1] = rest[0].clone();
                return group.len();
            }
        }
        let align = if page + 1 == self.pages.len() { Align::Low } else { Align::Middle };
        self.insert_pages(page + 1, rest, align);
        group.len()
    }

    /// Inserts a group before a page's first entry: at its start, and in new pages before it.
    fn extend_down(&mut self, page: usize, gap: Gap, group: &[Entry<K>]) -> usize {
        let here = ((gap.high - gap.low) / 2).min(group.len());
        let (rest, high) = group.split_at(group.len() - here);
        self.fill_gap(page, gap, high);
        if let Some(slot) = self.pages[page].next_taken(0) {
            self.firsts[page] = self.pages[page].entry(slot);
        }
        self.insert_pages(page, rest, if page == 0 { Align::High } else { Align::Middle });
        group.len()
    }

    /// Makes new pages of these entries, a quarter full, before page `at`.
    pub(super) fn insert_pages(&mut self, at: usize, entries: &[Entry<K>], align: Align) {
        if entries.is_empty() {
            return;
        }
        let size = self.room.page;
        let most = size / SPARSE;
        let count = entries.len().div_ceil(most);
        let numbers = self.numbers(at, count);
        // With room below, the first page is the one that is not full.
        let odd = if let Align::High = align { entries.len() - (count - 1) * most } else { most };
        let mut rest = entries;
        let mut pages = Vec::with_capacity(count);
        for (page, number) in numbers.into_iter().enumerate() {
            let (own, after) = rest.split_at(if page == 0 { odd.min(rest.len()) } else { most.min(rest.len()) });
            rest = after;
            let free = size - SPARSE * own.len();
            let start = match align {
                Align::Low => 0,
                Align::Middle => free / 2,
                Align::High => free,
            };
            let mut page = Page::new(number, size, own, |at| start + SPARSE * at);
            page.marks = page.slots().map(|slot| Mark { slot, was: NEW, stays: false }).collect();
            pages.push((own[0].clone(), page));
        }
        let (firsts, pages): (Vec<_>, Vec<_>) = pages.into_iter().unzip();
        self.firsts.splice(at..at, firsts);
        self.pages.splice(at..at, pages);
    }

    fn cut(&mut self, page: usize, slot: usize) {
        let number = self.numbers(page + 1, 1)[0];
        let upper = self.pages[page].cut(slot, number);
        let first = upper.next_taken(0).map(|slot| upper.entry(slot));
        if let Some(first) = first {
            self.firsts.insert(page + 1, first);
            self.pages.insert(page + 1, upper);
        }
    }
}
