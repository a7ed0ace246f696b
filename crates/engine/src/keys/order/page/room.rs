//! Room inside a page: entries make way, are spread, slide, are cut off.

use super::{Gap, Mark, NEW, Page};
use crate::keys::order::entry::{Entry, Key};

impl<K: Key> Page<K> {
    /// Frees a slot between two neighbours by moving a run of at most `reach` entries by one; none if
    /// there is no room that near.
    pub(in crate::keys::order) fn make_room(&mut self, at: usize, reach: usize) -> Option<usize> {
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
    pub(in crate::keys::order) fn stretch(&self, at: usize, more: usize) -> Option<(usize, usize)> {
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
    pub(in crate::keys::order) fn spread(&mut self, from: usize, to: usize, group: &[Entry<K>]) {
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
    pub(in crate::keys::order) fn join(&mut self, other: &Page<K>, other_is_lower: bool) {
        let size = self.size();
        let (mine, theirs) = (self.marked_entries(0, size), other.marked_entries(0, size));
        let entries = if other_is_lower { [theirs, mine].concat() } else { [mine, theirs].concat() };
        let count = entries.len();
        self.lay(0, size, entries, |at| at * size / count);
    }

    /// Opens the gap at `high` by moving all entries above it, or all below, into the half of the room
    /// at that end of the page: one delta. None if there is little room at both ends.
    pub(in crate::keys::order) fn slide(&mut self, gap: Gap) -> Option<Gap> {
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
    pub(in crate::keys::order) fn cut(&mut self, slot: usize, number: u64) -> Page<K> {
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

    /// Spreads the entries over the page chunk by chunk: inside a chunk nothing moves by itself.
    pub(in crate::keys::order) fn loosen(&mut self, chunk: usize) {
        let size = self.size();
        let mut chunks: Vec<usize> = self.slots().map(|slot| slot / chunk).collect();
        chunks.dedup();
        let target = |at: usize| at * (size / chunk) / chunks.len() * chunk;
        let place = |slot: usize| target(chunks.partition_point(|&other| other < slot / chunk)) + slot % chunk;
        let slots: Vec<usize> = self.slots().map(place).collect();
        self.lay(0, size, self.marked_entries(0, size), |at| slots[at]);
    }

    /// Gives the page another number: all its entries move.
    pub(in crate::keys::order) fn renumber(&mut self, number: u64) {
        if number != self.number {
            self.mark_all();
            self.number = number;
        }
    }

    fn mark_all(&mut self) {
        self.marks = self.marked_entries(0, self.size()).into_iter().map(|(_, mark)| mark).collect();
    }
}
