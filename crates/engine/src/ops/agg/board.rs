//! Row-major accumulators for bulk loading: all aggregates of a group share one or two cache lines, so an input row
//! causes one cache miss instead of one per aggregate.
//!
//!   group 0 | rows | sum of v: high, low | least v | … |      one or two cache lines
//!   group 1 | rows | …
//!
//! The words hold plain sums, minima and maxima. When all rows are loaded, each state converts its words into the form
//! that it maintains on updates ([`super::state::BulkState::flush`]).

/// Rows per batch: few enough that the words of their groups stay in the first-level cache while all states are
/// updated.
pub(crate) const BATCH: usize = 256;
/// Words in a cache line.
const LINE: usize = 8;

/// The accumulators of all groups: one row of words per group slot, aligned to cache lines.
pub(crate) struct BulkTable {
    words: Vec<u64>,
    /// The index of the first word at a cache line boundary.
    start: usize,
    /// The initial words of a group.
    fresh: Vec<u64>,
    slots: usize,
    /// For each row of the current batch, the offset of its group's words.
    bases: Vec<usize>,
}

/// One state's words in every group, together with the groups of the current batch.
pub(crate) struct BulkColumn<'a> {
    words: &'a mut [u64],
    bases: &'a [usize],
    stride: usize,
    at: usize,
}

impl BulkTable {
    /// An empty board; `fresh` are the initial words of a group. They are padded, so that no group straddles more cache
    /// lines than it needs.
    pub(crate) fn new(mut fresh: Vec<u64>) -> BulkTable {
        let stride =
            if fresh.len() <= LINE { fresh.len().next_power_of_two() } else { fresh.len().next_multiple_of(LINE) };
        fresh.resize(stride, 0);
        BulkTable { words: Vec::new(), start: 0, fresh, slots: 0, bases: Vec::new() }
    }

    /// Grows to at least this many slots.
    pub(crate) fn grow(&mut self, slots: usize) {
        let stride = self.fresh.len();
        if slots > (self.words.len() - self.start) / stride {
            let mut words = vec![0; slots.next_power_of_two() * stride + LINE];
            let start = words.as_ptr().align_offset(LINE * size_of::<u64>()).min(LINE);
            let used = self.slots * stride;
            words[start..start + used].copy_from_slice(&self.words[self.start..self.start + used]);
            (self.words, self.start) = (words, start);
        }
        for slot in self.slots..slots {
            self.words[self.start + slot * stride..][..stride].copy_from_slice(&self.fresh);
        }
        self.slots = self.slots.max(slots);
    }

    /// Starts a batch of rows: row n belongs to the group `slots[n]`.
    pub(crate) fn turn_to(&mut self, slots: &[u32]) {
        let stride = self.fresh.len();
        if self.slots == 1 {
            // With a single group every base is 0, and always has been.
            return self.bases.resize(slots.len(), 0);
        }
        self.bases.clear();
        self.bases.extend(slots.iter().map(|slot| *slot as usize * stride));
    }

    /// The lane of the state whose words start at `at` within a group.
    pub(crate) fn lane(&mut self, at: usize) -> BulkColumn<'_> {
        let stride = self.fresh.len();
        let words = &mut self.words[self.start..self.start + self.slots * stride];
        BulkColumn { words, bases: &self.bases, stride, at }
    }
}

impl BulkColumn<'_> {
    /// The number of groups.
    pub(crate) fn slots(&self) -> usize {
        self.words.len() / self.stride
    }

    /// Adds a number to the word of each row's group.
    #[inline]
    pub(crate) fn add(&mut self, values: &[i64]) {
        if self.words.len() == self.stride {
            // One group: summing in a register first avoids a chain of loads and stores to one word, each of which
            // would wait for the one before.
            let total = values.iter().fold(0, |total: i64, value| total.wrapping_add(*value));
            self.words[self.at] = self.words[self.at].wrapping_add(total as u64);
            return;
        }
        for (base, value) in self.bases.iter().zip(values) {
            let word = &mut self.words[base + self.at];
            *word = word.wrapping_add(*value as u64);
        }
    }

    /// Adds a number to each of two neighbouring words.
    #[inline]
    pub(crate) fn add_two(&mut self, first: &[i64], second: &[i64]) {
        if self.words.len() == self.stride {
            self.add(first);
            self.at += 1;
            self.add(second);
            self.at -= 1;
            return;
        }
        for (base, (first, second)) in self.bases.iter().zip(first.iter().zip(second)) {
            let Some([one, two]) = self.words.get_mut(base + self.at..base + self.at + 2) else { return };
            *one = one.wrapping_add(*first as u64);
            *two = two.wrapping_add(*second as u64);
        }
    }

    /// Adds a number of 128 bits, sign included, to each of two neighbouring words, the low one first.
    #[inline]
    pub(crate) fn add_wide(&mut self, values: &[i64], unsigned: bool) {
        for (base, value) in self.bases.iter().zip(values) {
            let Some([low, high]) = self.words.get_mut(base + self.at..base + self.at + 2) else { return };
            let (sum, carry) = low.overflowing_add(*value as u64);
            let sign = if unsigned { 0 } else { (*value >> 63) as u64 };
            *low = sum;
            *high = high.wrapping_add(sign).wrapping_add(u64::from(carry));
        }
    }

    /// Replaces each word by the minimum, or maximum, of the word and a number.
    #[inline]
    pub(crate) fn extreme(&mut self, values: &[u64], greatest: bool) {
        if greatest { self.each(values, u64::max) } else { self.each(values, u64::min) }
    }

    #[inline]
    fn each(&mut self, values: &[u64], choose: impl Fn(u64, u64) -> u64) {
        for (base, value) in self.bases.iter().zip(values) {
            let word = &mut self.words[base + self.at];
            *word = choose(*word, *value);
        }
    }

    /// Counts a row in each row's group.
    pub(crate) fn count(&mut self) {
        if self.words.len() == self.stride {
            self.words[self.at] += self.bases.len() as u64;
            return;
        }
        for base in self.bases {
            self.words[base + self.at] += 1;
        }
    }

    /// A group's words from this lane's offset on, to be read or reset.
    #[inline]
    pub(crate) fn of(&mut self, slot: usize) -> &mut [u64] {
        &mut self.words[slot * self.stride + self.at..(slot + 1) * self.stride]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_their_words_when_there_are_more() {
        let mut board = BulkTable::new(vec![0, 7, u64::MAX]);
        for round in 1..=9 {
            board.grow(1 << round);
            let slots: Vec<u32> = (0..1 << round).collect();
            board.turn_to(&slots);
            board.lane(0).count();
            board.lane(1).add(&vec![2; slots.len()]);
            board.lane(2).extreme(&vec![100 - round as u64; slots.len()], false);
        }
        let mut lane = board.lane(0);
        assert_eq!(lane.slots(), 512);
        assert_eq!(lane.of(0)[..3], [9, 25, 91]);
        assert_eq!(lane.of(255)[..3], [2, 11, 91]);
        assert_eq!(lane.of(511)[..3], [1, 9, 91]);
    }

    #[test]
    fn wide_words_carry() {
        let mut board = BulkTable::new(vec![0, 0]);
        board.grow(2);
        board.turn_to(&[0, 1, 0, 1, 0]);
        board.lane(0).add_wide(&[-1, -1, -1, 1, i64::MIN], false);
        board.lane(0).add_wide(&[0, -1, 0, -1, 0], true);
        let wide = |words: &[u64]| i128::from(words[1] as i64) << 64 | i128::from(words[0]);
        assert_eq!(wide(board.lane(0).of(0)), i128::from(i64::MIN) - 2);
        assert_eq!(wide(board.lane(0).of(1)), 2 * i128::from(u64::MAX));
    }

    #[test]
    fn one_group_counts_and_adds_as_many_do() {
        let mut board = BulkTable::new(vec![0, 5, 0]);
        board.grow(1);
        board.turn_to(&[0; 4]);
        board.lane(0).count();
        board.lane(1).add_two(&[1, 2, 3, -1], &[10, 20, 30, 40]);
        assert_eq!(board.lane(0).of(0)[..3], [4, 10, 100]);
    }
}
