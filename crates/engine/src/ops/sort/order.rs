//! The order of a live sort: sort keys to output row keys, with room between them.
//!
//! Entries stand in pages, a page is a run of output keys half of which are free at first. A new entry
//! takes a free key between its neighbours; where there is none, the nearest room is moved there, one
//! key's width, and where that is far, a stretch is spread. A page that is three quarters full is cut
//! in two; its upper part moves by one delta. Pages lie apart in the key space, so that cutting one
//! seldom moves another. Nothing here reads a source column.

use rowset::{MAX_KEY, Shift, Shifts};

pub use super::page::Entry;
use super::page::{Gap, Mark, NEW, Page, source_of};

/// Slots of a page, and how far pages lie apart at first.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Output keys a page.
    pub page: usize,
    /// Pages of the key space from one page to the next.
    pub stride: u64,
    /// Pages of the key space.
    pub pages: u64,
}

impl Default for Room {
    fn default() -> Room {
        Room { page: 8192, stride: 4, pages: (MAX_KEY + 1) / 8192 }
    }
}

/// What a step does to the order. Entries are in any order.
pub struct Edits<'a, K> {
    /// Rows that are gone, as they were: with source keys before.
    pub removed: Vec<Entry<K>>,
    /// Rows whose sort key changed: as they were, and as they are, with source keys after.
    pub changed: Vec<(Entry<K>, Entry<K>)>,
    /// New rows, with source keys after.
    pub added: Vec<Entry<K>>,
    /// How source keys move.
    pub shifts: &'a Shifts,
    /// The surviving rows whose source keys move, as they were, changed ones left out; none: look at
    /// every entry, which is the better way where many move.
    pub moved: Option<Vec<Entry<K>>>,
}

/// What the step did to the output.
#[derive(Debug, Default, PartialEq)]
pub struct OrderChange {
    /// Output keys before of rows that are gone or that changed their place, ascending.
    pub removed: Vec<u64>,
    /// Output keys after of new rows and of rows that changed their place, ascending, with source keys.
    pub added: Vec<(u64, u64)>,
    /// Output keys after of rows whose sort key changed and whose place did not, ascending.
    pub stayed: Vec<u64>,
    /// How the output keys of all other rows move.
    pub shifts: Vec<Shift>,
    /// Output keys after, ascending, of rows that stay and have another source key now, with it.
    pub source_rewrites: Vec<(u64, u64)>,
}

/// Entries in order, each at an output key.
pub struct Order<K> {
    room: Room,
    pages: Vec<Page<K>>,
    /// For each page an entry that none of its own is less than, and all before it are.
    firsts: Vec<Entry<K>>,
    len: usize,
}

/// Searches that are walked side by side.
const WARM: usize = 16;

/// On which side new pages leave their room.
#[derive(Clone, Copy)]
enum Align {
    Low,
    Middle,
    High,
}

impl<K: Ord + Clone> Order<K> {
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

    /// Output key and source key of every row, in order.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.pages.iter().flat_map(|page| page.slots().map(|slot| (page.output(slot), source_of(page.tie(slot)))))
    }

    /// The output keys of these entries, in their order; all must be there, with source keys of now.
    pub fn locate(&self, entries: &[Entry<K>]) -> Vec<u64> {
        let locate = |(at, entry): (usize, &Entry<K>)| {
            self.warm_at(at, entries, |entry| entry);
            self.find(entry).map(|(page, slot)| self.pages[page].output(slot))
        };
        entries.iter().enumerate().filter_map(locate).collect()
    }

    /// Bytes of memory held.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        let pages: usize = self.pages.iter().map(Page::bytes).sum();
        (pages + self.firsts.capacity() * size_of::<Entry<K>>()) as u64
    }

    /// Takes a step in: first what is gone, then the moves of source keys, then what is new.
    pub fn apply(&mut self, edits: Edits<'_, K>) -> OrderChange {
        let Edits { mut removed, mut changed, mut added, shifts, moved } = edits;
        let mut change = OrderChange::default();
        removed.sort_unstable();
        if removed.len() == self.len {
            self.clear(&mut change);
        } else {
            for (at, entry) in removed.iter().enumerate() {
                self.warm_at(at, &removed, |entry| entry);
                self.remove(entry, &mut change);
            }
        }
        let mut places = Vec::with_capacity(changed.len());
        changed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (at, (old, new)) in changed.iter().enumerate() {
            self.warm_at(at, &changed, |(old, _)| old);
            let Some((page, slot)) = self.find(old) else {
                added.push(new.clone());
                continue;
            };
            let output = self.pages[page].output(slot);
            self.pages[page].remove(slot);
            self.len -= 1;
            places.push((Place { page, slot, output, source: old.source() }, new.clone()));
        }
        self.refresh_firsts(|page| page.shrunk);
        if !shifts.is_empty() {
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

    fn clear(&mut self, change: &mut OrderChange) {
        change.removed = self.rows().map(|(output, _)| output).collect();
        self.pages.clear();
        self.firsts.clear();
        self.len = 0;
    }

    /// The page where an entry is, if it is anywhere.
    fn page_of(&self, entry: &Entry<K>) -> Option<usize> {
        let mut page = self.firsts.partition_point(|first| first <= entry).max(1) - 1;
        while page > 0 && self.pages[page].len == 0 {
            page -= 1;
        }
        (page < self.pages.len()).then_some(page)
    }

    fn find(&self, entry: &Entry<K>) -> Option<(usize, usize)> {
        let page = self.page_of(entry)?;
        let slot = self.pages[page].find(entry);
        debug_assert!(slot.is_some(), "an entry that is looked up is there");
        Some((page, slot?))
    }

    /// Walks the searches of the next entries side by side, so that their cache misses overlap: what
    /// is searched one by one afterwards is there.
    fn warm<E>(&self, entries: &[E], entry: impl Fn(&E) -> &Entry<K>) {
        let entries = &entries[..entries.len().min(WARM)];
        let mut lows = [0usize; WARM];
        let mut pages = [0usize; WARM];
        for (page, of) in pages.iter_mut().zip(entries) {
            let Some(found) = self.page_of(entry(of)) else { return };
            *page = found;
        }
        let mut half = self.room.page / 2;
        while half > 0 {
            for ((low, page), of) in lows.iter_mut().zip(&pages).zip(entries) {
                *low += if self.pages[*page].is_beyond(*low, half, entry(of)) { half } else { 0 };
            }
            half /= 2;
        }
        let ties =
            lows.iter().zip(&pages).take(entries.len()).fold(0, |all, (low, page)| all ^ self.pages[*page].tie(*low));
        std::hint::black_box(ties);
    }

    fn warm_at<E>(&self, at: usize, entries: &[E], entry: impl Fn(&E) -> &Entry<K>) {
        if at.is_multiple_of(WARM) {
            self.warm(&entries[at..], entry);
        }
    }

    fn remove(&mut self, entry: &Entry<K>, change: &mut OrderChange) {
        if let Some((page, slot)) = self.find(entry) {
            change.removed.push(self.pages[page].output(slot));
            self.pages[page].remove(slot);
            self.len -= 1;
        }
    }

    /// What stands for a page is its first entry; for an empty page, which is only passed by, that of
    /// the page before it.
    fn refresh_firsts(&mut self, which: impl Fn(&Page<K>) -> bool) {
        let mut empty = Vec::new();
        for (at, page) in self.pages.iter().enumerate().filter(|(_, page)| which(page)) {
            match page.next_taken(0) {
                Some(slot) => self.firsts[at] = page.entry(slot),
                None => empty.push(at),
            }
        }
        for at in empty {
            match at.checked_sub(1) {
                Some(before) => self.firsts[at] = self.firsts[before].clone(),
                None => {
                    if let Some(filled) = self.pages.iter().position(|page| page.len > 0) {
                        self.firsts[at] = self.firsts[filled].clone();
                    }
                }
            }
        }
    }

    fn rewrite(&mut self, shifts: &Shifts, moved: Option<Vec<Entry<K>>>, change: &mut OrderChange) {
        let rewrites = &mut change.source_rewrites;
        match moved {
            None => {
                let forward = |source| shifts.forward_key(source);
                for page in &mut self.pages {
                    page.rewrite_all(&forward, |output, source| rewrites.push((output, source)));
                }
            }
            Some(mut moved) => {
                moved.sort_unstable();
                let find = |(at, entry): (usize, &Entry<K>)| {
                    self.warm_at(at, &moved, |entry| entry);
                    self.find(entry).map(|(page, slot)| (page, slot, entry.source()))
                };
                let found: Vec<(usize, usize, u64)> = moved.iter().enumerate().filter_map(find).collect();
                for run in found.chunk_by(|a, b| a.0 == b.0) {
                    let page = &mut self.pages[run[0].0];
                    let slots: Vec<(usize, u64)> =
                        run.iter().map(|&(_, slot, source)| (slot, shifts.forward_key(source))).collect();
                    rewrites.extend(slots.iter().map(|&(slot, source)| (page.output(slot), source)));
                    page.rewrite(&slots);
                }
            }
        }
    }

    /// Leaves changed rows where they are if their neighbours allow it; the others are added anew.
    fn keep_in_place(
        &mut self,
        mut changed: Vec<(Place, Entry<K>)>,
        added: &mut Vec<Entry<K>>,
        change: &mut OrderChange,
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

    fn fits(&self, place: Place, entry: &Entry<K>) -> bool {
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

    fn put_back(&mut self, place: Place, entry: &Entry<K>) {
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

    fn drop_empty(&mut self) {
        if self.pages.iter().any(|page| page.len == 0) {
            let mut keep = self.pages.iter().map(|page| page.len > 0);
            self.firsts.retain(|_| keep.next().is_some_and(|keep| keep));
            self.pages.retain(|page| page.len > 0);
        }
    }

    fn insert_all(&mut self, added: &[Entry<K>]) {
        self.len += added.len();
        let mut rest = added;
        let mut warm = added.len();
        while let Some(first) = rest.first() {
            if rest.len() <= warm {
                self.warm(rest, |entry| entry);
                warm = rest.len().saturating_sub(WARM);
            }
            let Some(page) = self.page_of(first) else {
                return self.insert_pages(0, rest, Align::Low);
            };
            if *first < self.firsts[page] {
                self.firsts[page] = first.clone();
            }
            let gap = self.pages[page].gap(first);
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
        let slots = &mut self.pages[page];
        if !large && slots.len < size / 4 * 3 {
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
        let cut = if large { gap.high } else { self.middle(page) };
        self.cut(page, cut);
        0
    }

    /// The slot of a page's middle entry.
    fn middle(&self, page: usize) -> usize {
        let slots = &self.pages[page];
        slots.slots().nth(slots.len / 2).unwrap_or(slots.size() / 2)
    }

    /// Puts a group into the free slots between two neighbours, leaving room on all sides.
    fn fill_gap(&mut self, page: usize, gap: Gap, group: &[Entry<K>]) {
        let (free, count) = (gap.high - gap.low, group.len());
        let slots = &mut self.pages[page];
        let slot = |at: usize| {
            if gap.high == slots.size() && 2 * count <= free {
                gap.low + 1 + 2 * at
            } else if gap.low == 0 && 2 * count <= free {
                gap.high - 2 * (count - at)
            } else if free <= 4 * (count + 1) {
                gap.low + (at + 1) * (free + 1) / (count + 1) - 1
            } else {
                gap.low + free / 2 - count + 2 * at
            }
        };
        let chosen: Vec<usize> = (0..count).map(slot).collect();
        for (&slot, entry) in chosen.iter().zip(group) {
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

    /// Makes new pages of these entries, half full, before page `at`.
    fn insert_pages(&mut self, at: usize, entries: &[Entry<K>], align: Align) {
        if entries.is_empty() {
            return;
        }
        let size = self.room.page;
        let half = size / 2;
        let count = entries.len().div_ceil(half);
        let numbers = self.numbers(at, count);
        // With room below, the first page is the one that is not full.
        let odd = if let Align::High = align { entries.len() - (count - 1) * half } else { half };
        let mut rest = entries;
        let mut pages = Vec::with_capacity(count);
        for (page, number) in numbers.into_iter().enumerate() {
            let (own, after) = rest.split_at(if page == 0 { odd.min(rest.len()) } else { half.min(rest.len()) });
            rest = after;
            let free = size - 2 * own.len();
            let start = match align {
                Align::Low => 0,
                Align::Middle => free / 2,
                Align::High => free,
            };
            let mut page = Page::new(number, size, own, |at| start + 2 * at);
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

    /// Numbers for `count` new pages before page `at`, renumbering its neighbours where they lie too close.
    fn numbers(&mut self, at: usize, count: usize) -> Vec<u64> {
        let Room { stride, pages: limit, .. } = self.room;
        let wanted = count as u64;
        let below = at.checked_sub(1).map(|page| self.pages[page].number);
        let above = self.pages.get(at).map(|page| page.number);
        let apart = |first: u64, step: u64| (0..wanted).map(|page| first + page * step).collect();
        match (below, above) {
            (None, None) => {
                let step = stride.min(limit / (wanted + 1)).max(1);
                return apart((limit - (wanted - 1) * step) / 2, step);
            }
            (Some(below), None) if below + wanted * stride < limit => return apart(below + stride, stride),
            (None, Some(above)) if wanted * stride <= above => return apart(above - wanted * stride, stride),
            (Some(below), Some(above)) if above - below > wanted => {
                return (1..=wanted).map(|page| below + page * (above - below) / (wanted + 1)).collect();
            }
            _ => {}
        }
        self.renumber_around(at, count)
    }

    /// Spreads the pages around `at` evenly, with places for `count` more among them.
    fn renumber_around(&mut self, at: usize, count: usize) -> Vec<u64> {
        let (mut from, mut to) = (at, at);
        if self.pages.len() - at <= 4 {
            to = self.pages.len(); // the end is open: nothing below has to move
        } else if at <= 4 {
            from = 0;
        }
        loop {
            let all = (to - from + count) as u64;
            // An open end may use `stride` for each page, as far as the key space goes.
            let grow = all * self.room.stride;
            let low = match from.checked_sub(1) {
                Some(page) => self.pages[page].number + 1,
                None => self.pages.first().map_or(0, |page| page.number.saturating_sub(grow)),
            };
            let high = match self.pages.get(to) {
                Some(page) => page.number,
                None => self.pages.last().map_or(0, |page| (page.number + 1 + grow).min(self.room.pages)),
            };
            let whole = from == 0 && to == self.pages.len();
            if high - low >= 2 * all || whole {
                let (low, high) = if high - low < all { (0, self.room.pages) } else { (low, high) };
                assert!(high - low >= all, "there are fewer pages than the key space holds");
                let step = (high - low) / all;
                let number = |page: usize| low + page as u64 * step;
                for page in from..to {
                    let place = if page < at { page - from } else { page - from + count };
                    self.pages[page].renumber(number(place));
                }
                return (0..count).map(|page| number(at - from + page)).collect();
            }
            let width = (to - from).max(1);
            from = from.saturating_sub(width);
            to = (to + width).min(self.pages.len());
        }
    }

    /// Joins pages that removals left nearly empty with a neighbour.
    fn join_sparse(&mut self) {
        let (sparse, most) = (self.room.page / 8, self.room.page / 2);
        let mut page = 0;
        while page < self.pages.len() {
            let len = self.pages[page].len;
            if std::mem::take(&mut self.pages[page].shrunk) && len < sparse && self.pages.len() > 1 {
                let lower = page.checked_sub(1).filter(|&lower| self.pages[lower].len + len <= most);
                let upper = Some(page + 1).filter(|&upper| self.pages.get(upper).is_some_and(|p| p.len + len <= most));
                if let Some(low) = lower.or(upper.map(|_| page)) {
                    self.join(low);
                    page = low;
                    // What was joined may still be sparse.
                    self.pages[page].shrunk = self.pages[page].len < sparse && page + 1 < self.pages.len();
                    continue;
                }
            }
            page += 1;
        }
    }

    /// Makes one page of `low` and the one after it: the fuller one stays where it is.
    fn join(&mut self, low: usize) {
        let upper = self.pages.remove(low + 1);
        self.firsts.remove(low + 1);
        if self.pages[low].len >= upper.len {
            self.pages[low].join(&upper, false);
        } else {
            let lower = std::mem::replace(&mut self.pages[low], upper);
            self.pages[low].join(&lower, true);
        }
    }

    /// Turns marks into the change of the output.
    fn finish(&mut self, change: &mut OrderChange) {
        for page in self.pages.iter_mut().filter(|page| !page.marks.is_empty()) {
            let marks = std::mem::take(&mut page.marks);
            let mut open: Option<(Shift, usize)> = None;
            let mut new_since = 0;
            for mark in marks {
                let output = page.output(mark.slot);
                if mark.was == NEW {
                    change.added.push((output, source_of(page.tie(mark.slot))));
                    new_since += 1;
                    continue;
                }
                if mark.stays {
                    change.stayed.push(output);
                }
                let delta = output as i64 - mark.was as i64;
                let next = Shift { first: mark.was, last: mark.was, delta };
                open = match open {
                    Some((shift, slot)) if shift.delta == delta && page.count(slot + 1, mark.slot) == new_since => {
                        Some((Shift { last: mark.was, ..shift }, mark.slot))
                    }
                    before => {
                        change.shifts.extend(before.map(|(shift, _)| shift).filter(|shift| shift.delta != 0));
                        Some((next, mark.slot))
                    }
                };
                new_since = 0;
            }
            change.shifts.extend(open.map(|(shift, _)| shift).filter(|shift| shift.delta != 0));
        }
        change.source_rewrites.sort_unstable();
        carry(&mut change.source_rewrites, &change.shifts);
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

/// Where a changed row was.
#[derive(Clone, Copy)]
struct Place {
    page: usize,
    slot: usize,
    output: u64,
    source: u64,
}

/// Moves ascending keys by ascending shifts.
fn carry(rewrites: &mut [(u64, u64)], shifts: &[Shift]) {
    let mut next = shifts.iter().peekable();
    for (output, _) in rewrites {
        while next.next_if(|shift| shift.last < *output).is_some() {}
        if let Some(shift) = next.peek()
            && shift.first <= *output
        {
            *output = output.wrapping_add_signed(shift.delta);
        }
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
