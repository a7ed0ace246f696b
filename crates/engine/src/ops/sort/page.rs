//! A page of the order: a run of output keys, of which some hold an entry and some are room.

/// A row's place in the order: its sort key, then its source row key.
///
/// The source key takes 63 bits; the highest bit of `tie` ranks before it, so that a null can be told
/// from the least or the greatest cell, whose key it shares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry<K> {
    /// The sort key, in ascending form.
    pub key: K,
    /// Source row key and, above it, one bit of rank.
    pub tie: u64,
}

impl<K> Entry<K> {
    /// The source row key.
    pub fn source(&self) -> u64 {
        source_of(self.tie)
    }
}

pub(super) fn source_of(tie: u64) -> u64 {
    tie & (u64::MAX >> 1)
}

/// A tie with another source row key.
pub(super) fn with_source(tie: u64, source: u64) -> u64 {
    (tie & (1 << 63)) | source
}

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
    keys: Vec<K>,
    ties: Vec<u64>,
    taken: Vec<u64>,
}

impl<K: Ord + Clone> Page<K> {
    /// A page of `size` slots with these entries at these slots; at least one.
    pub(super) fn new(number: u64, size: usize, entries: &[Entry<K>], slot: impl Fn(usize) -> usize) -> Page<K> {
        let first = &entries[0];
        let mut page = Page {
            number,
            len: 0,
            marks: Vec::new(),
            shrunk: false,
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

    pub(super) fn tie(&self, slot: usize) -> u64 {
        self.ties[slot]
    }

    pub(super) fn is_less(&self, slot: usize, than: &Entry<K>) -> bool {
        match self.keys[slot].cmp(&than.key) {
            std::cmp::Ordering::Equal => self.ties[slot] < than.tie,
            order => order.is_lt(),
        }
    }

    /// The first slot whose entry, own or repeated, is not less.
    pub(super) fn search(&self, entry: &Entry<K>) -> usize {
        let (mut low, mut count) = (0, self.size());
        while count > 0 {
            let half = count / 2;
            if self.is_less(low + half, entry) {
                low += half + 1;
                count -= half + 1;
            } else {
                count = half;
            }
        }
        low
    }

    /// One step of several searches at once: whether the entry lies above the next `half` slots.
    pub(super) fn is_beyond(&self, low: usize, half: usize, entry: &Entry<K>) -> bool {
        self.is_less(low + half - 1, entry)
    }

    /// The slot of this very entry.
    pub(super) fn find(&self, entry: &Entry<K>) -> Option<usize> {
        let slot = self.next_taken(self.search(entry))?;
        (self.ties[slot] == entry.tie && self.keys[slot] == entry.key).then_some(slot)
    }

    /// The free slots where an entry belongs that is not here.
    pub(super) fn gap(&self, entry: &Entry<K>) -> Gap {
        let at = self.search(entry);
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

    /// Frees a slot between two neighbours by moving a run of at most `reach` entries by one; none if
    /// there is no room that near.
    pub(super) fn make_room(&mut self, at: usize, reach: usize) -> Option<usize> {
        let right = self.next_free(at).filter(|free| free - at <= reach);
        let left = self.last_free(at).filter(|free| at - free <= reach);
        match (left, right) {
            (Some(left), Some(right)) if at - left <= right - at => Some(self.move_down(left, at)),
            (_, Some(right)) => Some(self.move_up(at, right)),
            (Some(left), None) => Some(self.move_down(left, at)),
            (None, None) => None,
        }
    }

    /// The run `at .. free` moves up by one.
    fn move_up(&mut self, at: usize, free: usize) -> usize {
        self.mark_run(at, free, at + 1);
        self.keys[at..=free].rotate_right(1);
        self.ties.copy_within(at..free, at + 1);
        self.set(free);
        self.clear(at);
        self.keys[at] = self.keys[at + 1].clone();
        at
    }

    /// The run `free + 1 .. at` moves down by one.
    fn move_down(&mut self, free: usize, at: usize) -> usize {
        self.mark_run(free + 1, at, free);
        self.keys[free..at].rotate_left(1);
        self.ties.copy_within(free + 1..at, free);
        self.set(free);
        self.clear(at - 1);
        self.keys[at - 1] = self.keys[at - 2].clone();
        at - 1
    }

    /// Marks the run `from .. to` of taken slots as moved to `target ..`.
    fn mark_run(&mut self, from: usize, to: usize, target: usize) {
        let low = self.marks.partition_point(|mark| mark.slot < from);
        let high = self.marks.partition_point(|mark| mark.slot < to);
        let mut known = self.marks[low..high].iter().copied().peekable();
        let base = self.base();
        let moved: Vec<Mark> = (from..to)
            .map(|slot| {
                let mark = known.next_if(|mark| mark.slot == slot);
                let mark = mark.unwrap_or(Mark { slot, was: base + slot as u64, stays: false });
                Mark { slot: slot - from + target, ..mark }
            })
            .collect();
        self.marks.splice(low..high, moved);
    }

    /// The smallest stretch around `at` that stays at most three quarters full with `more` entries.
    pub(super) fn stretch(&self, at: usize, more: usize) -> Option<(usize, usize)> {
        let mut size = 64.min(self.size());
        while size <= self.size() {
            let from = (at.min(self.size() - 1) / size) * size;
            if self.count(from, from + size) + more <= size / 4 * 3 {
                return Some((from, from + size));
            }
            size *= 2;
        }
        None
    }

    /// The entries of `from .. to` with what their marks say of them.
    fn marked_entries(&self, from: usize, to: usize) -> Vec<(Entry<K>, Mark)> {
        let mut known = self.marks[self.marks.partition_point(|mark| mark.slot < from)..].iter().peekable();
        self.slots_between(from, to)
            .map(|slot| {
                let mark = known.next_if(|mark| mark.slot == slot).copied();
                (self.entry(slot), mark.unwrap_or(Mark { slot, was: self.output(slot), stays: false }))
            })
            .collect()
    }

    /// Spreads the entries of `from .. to`, and `group` among them, over it. Half of the room is left
    /// around the group: where rows came, more will come.
    pub(super) fn spread(&mut self, from: usize, to: usize, group: &[Entry<K>]) {
        let mut entries = self.marked_entries(from, to);
        let place = group.first().map_or(0, |first| entries.partition_point(|(entry, _)| entry < first));
        let new = group.iter().map(|entry| (entry.clone(), Mark { slot: 0, was: NEW, stays: false }));
        entries.splice(place..place, new);
        let hole = if group.is_empty() { 0 } else { (to - from - entries.len()) / 2 };
        let (room, count) = (to - from - hole, entries.len());
        self.lay(from, to, entries, |at| {
            let skipped =
                usize::from(at >= place) * (hole / 2) + usize::from(at >= place + group.len()) * (hole - hole / 2);
            from + at * room / count + skipped
        });
    }

    fn lay(&mut self, from: usize, to: usize, entries: Vec<(Entry<K>, Mark)>, slot: impl Fn(usize) -> usize) {
        let before = self.count(from, to);
        (from..to).for_each(|slot| self.clear(slot));
        let count = entries.len();
        let mut marks = Vec::with_capacity(count);
        for (at, (entry, mark)) in entries.iter().enumerate() {
            let next = if at + 1 < count { slot(at + 1) } else { to };
            let first = if at == 0 { from } else { slot(at) };
            (first..next).for_each(|slot| self.write(slot, entry));
            self.set(slot(at));
            if mark.stays || mark.was != self.output(slot(at)) {
                marks.push(Mark { slot: slot(at), ..*mark });
            }
        }
        let low = self.marks.partition_point(|mark| mark.slot < from);
        let high = self.marks.partition_point(|mark| mark.slot < to);
        self.marks.splice(low..high, marks);
        self.len = self.len + count - before;
        self.mend_beside(from, to);
    }

    /// Free slots beside a stretch may repeat entries that no longer stand on their side.
    fn mend_beside(&mut self, from: usize, to: usize) {
        let (first, last) = (self.entry(from), self.entry(to - 1));
        let mut after = to;
        while after < self.size() && !self.is_taken(after) && self.is_less(after, &last) {
            self.write(after, &last);
            after += 1;
        }
        let mut before = from;
        while before > 0 && !self.is_taken(before - 1) && !self.is_less(before - 1, &first) {
            before -= 1;
            self.write(before, &first);
        }
    }

    /// Takes all entries of a neighbour, the lower or the upper one, and spreads them with its own.
    pub(super) fn join(&mut self, other: &Page<K>, other_is_lower: bool) {
        let size = self.size();
        let (mine, theirs) = (self.marked_entries(0, size), other.marked_entries(0, size));
        let entries = if other_is_lower { [theirs, mine].concat() } else { [mine, theirs].concat() };
        let count = entries.len();
        self.lay(0, size, entries, |at| at * size / count);
    }

    /// Opens the gap at `high` by moving all entries above it, or all below, into the half of the room
    /// at that end of the page: one delta. None if there is little room at both ends.
    pub(super) fn slide(&mut self, gap: Gap) -> Option<Gap> {
        let first = self.next_taken(0)?;
        let last = self.last_taken(self.size())?;
        let (below, above) = (first, self.size() - 1 - last);
        let least = self.size() / 8;
        if above >= least && above >= below && gap.high <= last {
            let entries = self.marked_entries(gap.high, last + 1);
            let (by, from) = (above / 2, gap.high);
            let slots: Vec<usize> = self.slots_between(gap.high, last + 1).map(|slot| slot + by).collect();
            self.lay(from, last + 1 + by, entries, |at| slots[at]);
            return Some(Gap { low: gap.low, high: gap.high + by });
        }
        if below >= least && gap.low > first {
            let entries = self.marked_entries(first, gap.low);
            let by = below / 2;
            let slots: Vec<usize> = self.slots_between(first, gap.low).map(|slot| slot - by).collect();
            self.lay(first - by, gap.low, entries, |at| slots[at]);
            return Some(Gap { low: gap.low - by, high: gap.high });
        }
        None
    }

    /// Moves the entries from `slot` on to a page of their own, by one delta.
    pub(super) fn cut(&mut self, slot: usize, number: u64) -> Page<K> {
        let mut upper = self.clone();
        upper.mark_all();
        upper.number = number;
        let upper_from = upper.marks.partition_point(|mark| mark.slot < slot);
        upper.marks.drain(..upper_from);
        self.marks.truncate(self.marks.partition_point(|mark| mark.slot < slot));
        (0..slot).for_each(|slot| upper.clear(slot));
        (slot..self.size()).for_each(|slot| self.clear(slot));
        upper.len = upper.marks.len();
        self.len -= upper.len;
        upper
    }

    /// Gives the page another number: all its entries move.
    pub(super) fn renumber(&mut self, number: u64) {
        if number != self.number {
            self.mark_all();
            self.number = number;
        }
    }

    fn mark_all(&mut self) {
        self.marks = self.marked_entries(0, self.size()).into_iter().map(|(_, mark)| mark).collect();
    }

    /// Rewrites every source key, and what free slots repeat of them.
    pub(super) fn rewrite_all(&mut self, forward: &impl Fn(u64) -> u64, mut rewritten: impl FnMut(u64, u64)) {
        let Some(first) = self.next_taken(0) else { return };
        for slot in first..self.size() {
            if self.is_taken(slot) {
                let source = source_of(self.ties[slot]);
                let moved = forward(source);
                if moved != source {
                    self.ties[slot] = with_source(self.ties[slot], moved);
                    rewritten(self.output(slot), moved);
                }
            } else if self.ties[slot] != self.ties[slot - 1] || self.keys[slot] != self.keys[slot - 1] {
                self.repeat(slot - 1, slot);
            }
        }
        (0..first).for_each(|slot| self.repeat(first, slot));
    }

    /// Rewrites the source keys of some slots, ascending.
    pub(super) fn rewrite(&mut self, slots: &[(usize, u64)]) {
        for &(slot, source) in slots {
            self.ties[slot] = with_source(self.ties[slot], source);
        }
        for &(slot, _) in slots {
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
