//! Row-major accumulators for bulk loading: all aggregates of a group share one or two cache lines, so an input row
//! causes one cache miss instead of one per aggregate.
//!
//!   group 0 | rows | sum of v: high, low | least v | … |      one or two cache lines
//!   group 1 | rows | …
//!
//! The words hold plain sums, minima and maxima. When all rows are loaded, each state converts its words into the form
//! that it maintains on updates ([`super::state::BulkState::flush`]).

use arrow_buffer::ArrowNativeType;
use column::kernels::{ones, pick_set};

use crate::sizes::FEW_GROUPS;

/// Rows per batch: few enough that the words of their groups stay in the first-level cache while all states are
/// updated.
pub(crate) const BATCH: usize = 256;
/// Words in a cache line.
const LINE: usize = 8;
/// The most groups whose rows are taken group by group.
const FEW_MOST: usize = FEW_GROUPS.real();

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
    /// The rows of the current batch group by group, where there are few groups.
    runs: Option<Runs>,
}

/// The rows of a batch, those of the first group first. What is summed group by group waits for no word in memory.
pub(crate) enum Runs {
    /// Of some groups: their rows, and where those of each group end.
    Sorted { rows: Vec<u8>, ends: Vec<usize> },
    /// Of one group: a bit for each row that is not left out, and how many those are.
    One { kept: [u64; BATCH / 64], count: usize },
}

impl Runs {
    /// The rows of a batch of one group that are left, by the words of their bits.
    fn one(left: &[u64]) -> Runs {
        let mut kept = [0; BATCH / 64];
        kept[..left.len()].copy_from_slice(left);
        Runs::One { kept, count: kept.iter().map(|word| word.count_ones() as usize).sum() }
    }

    /// The rows of a batch that belong to these groups, of which there are so many; of `left`, if not all, only those. The
    /// memory is that of the batch before.
    fn sorted(before: Option<Runs>, slots: &[u32], groups: usize, left: Option<&[u64]>) -> Runs {
        let (mut rows, mut ends) = match before {
            Some(Runs::Sorted { rows, ends }) => (rows, ends),
            _ => (Vec::new(), Vec::new()),
        };
        let mut of = [0_u8; BATCH];
        let of = &mut of[..slots.len()];
        of.iter_mut().zip(slots).for_each(|(group, slot)| *group = *slot as u8);
        if let Some(left) = left {
            // What is left out stands behind all groups.
            let gone = |row: usize| left[row / 64] >> (row % 64) & 1 == 0;
            of.iter_mut().enumerate().filter(|(row, _)| gone(*row)).for_each(|(_, group)| *group = groups as u8);
        }
        ends.clear();
        let mut places = [0; FEW_MOST + 1];
        let mut end = 0;
        for (group, place) in places.iter_mut().enumerate().take(groups + 1) {
            *place = end;
            end += of.iter().map(|one| usize::from(*one == group as u8)).sum::<usize>();
            ends.push(end);
        }
        rows.resize(slots.len(), 0);
        for (row, group) in of.iter().enumerate() {
            let place = &mut places[usize::from(*group)];
            rows[*place] = row as u8;
            *place += 1;
        }
        ends.pop();
        rows.truncate(ends.last().copied().unwrap_or(0));
        Runs::Sorted { rows, ends }
    }

    /// The values of a batch, those of the first group first.
    pub(crate) fn gather<'a, T: ArrowNativeType>(&self, values: &[T], room: &'a mut [T; BATCH]) -> &'a [T] {
        match self {
            Runs::One { kept, .. } => {
                let count = pick_set(values, kept, room);
                &room[..count]
            }
            Runs::Sorted { rows, .. } => {
                let room = &mut room[..rows.len()];
                room.iter_mut().zip(rows).for_each(|(to, row)| *to = values[usize::from(*row)]);
                room
            }
        }
    }

    /// Each row of a batch with its group; rows that are left out are not among them.
    pub(crate) fn each_row(&self, mut each: impl FnMut(usize, usize)) {
        match self {
            Runs::One { kept, .. } => {
                let words = kept.iter().zip((0..).step_by(64));
                words.for_each(|(word, first)| ones(*word).for_each(|place| each(0, first + place)));
            }
            Runs::Sorted { rows, .. } => {
                self.groups().for_each(|(slot, run)| rows[run].iter().for_each(|row| each(slot, usize::from(*row))))
            }
        }
    }

    /// Where there is one group, a bit for each row of the batch that is not left out.
    pub(crate) fn kept(&self) -> Option<&[u64; BATCH / 64]> {
        match self {
            Runs::One { kept, .. } => Some(kept),
            Runs::Sorted { .. } => None,
        }
    }

    /// Each group, and which of the gathered values are its own; groups without a row are left out.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
        let ends = match self {
            Runs::One { count, .. } => std::slice::from_ref(count),
            Runs::Sorted { ends, .. } => ends,
        };
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(ends).map(|(start, end)| start..*end).enumerate().filter(|(_, run)| !run.is_empty())
    }
}

/// One state's words in every group, together with the groups of the current batch.
pub(crate) struct BulkColumn<'a> {
    words: &'a mut [u64],
    bases: &'a [usize],
    runs: Option<&'a Runs>,
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
        BulkTable { words: Vec::new(), start: 0, fresh, slots: 0, bases: Vec::new(), runs: None }
    }

    /// Grows to at least this many slots, with room for `expected` ones where it must grow.
    pub(crate) fn grow(&mut self, slots: usize, expected: usize) {
        let stride = self.fresh.len();
        if slots > (self.words.len() - self.start) / stride {
            let mut words = vec![0; expected.max(slots) * stride + LINE];
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

    /// Starts a batch of rows: row n belongs to the group `slots[n]`. Of few groups some rows may be left out: `left` has
    /// the words of a bit for each row.
    pub(crate) fn turn_to(&mut self, slots: &[u32], left: Option<&[u64]>) {
        let stride = self.fresh.len();
        if self.slots == 1 {
            // With a single group every base is 0, and always has been.
            self.bases.resize(slots.len(), 0);
            self.runs = left.map(Runs::one);
            return;
        }
        let few = self.slots <= FEW_GROUPS.get();
        self.runs = few.then(|| Runs::sorted(self.runs.take(), slots, self.slots, left));
        self.bases.clear();
        self.bases.extend(slots.iter().map(|slot| *slot as usize * stride));
    }

    /// The lane of the state whose words start at `at` within a group.
    pub(crate) fn lane(&mut self, at: usize) -> BulkColumn<'_> {
        let stride = self.fresh.len();
        let words = &mut self.words[self.start..self.start + self.slots * stride];
        BulkColumn { words, bases: &self.bases, runs: self.runs.as_ref(), stride, at }
    }
}

impl<'a> BulkColumn<'a> {
    /// The number of groups.
    pub(crate) fn slots(&self) -> usize {
        self.words.len() / self.stride
    }

    /// The rows of the batch group by group, where there are few groups.
    pub(crate) fn runs(&self) -> Option<&'a Runs> {
        self.runs
    }

    /// Adds a number to each of two neighbouring words of a group.
    pub(crate) fn add_two_to(&mut self, slot: usize, [first, second]: [i64; 2]) {
        let words = self.of(slot);
        words[0] = words[0].wrapping_add(first as u64);
        words[1] = words[1].wrapping_add(second as u64);
    }

    /// Adds a number to the word of each row's group.
    #[inline]
    pub(crate) fn add(&mut self, values: &[i64]) {
        if let Some(runs) = self.runs {
            let mut room = [0; BATCH];
            let values = runs.gather(values, &mut room);
            for (slot, run) in runs.groups() {
                let total = values[run].iter().fold(0, |total: i64, value| total.wrapping_add(*value));
                let word = &mut self.of(slot)[0];
                *word = word.wrapping_add(total as u64);
            }
            return;
        }
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
        if let Some(runs) = self.runs {
            let wide = |value: &i64| if unsigned { i128::from(*value as u64) } else { i128::from(*value) };
            let mut room = [0; BATCH];
            let values = runs.gather(values, &mut room);
            for (slot, run) in runs.groups() {
                let words = self.of(slot);
                let known = i128::from(words[1] as i64) << 64 | i128::from(words[0]);
                let total = values[run].iter().fold(known, |total, value| total.wrapping_add(wide(value)));
                (words[0], words[1]) = (total as u64, (total >> 64) as u64);
            }
            return;
        }
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
        if let Some(runs) = self.runs {
            let mut room = [0; BATCH];
            let values = runs.gather(values, &mut room);
            for (slot, run) in runs.groups() {
                let word = &mut self.of(slot)[0];
                *word = values[run].iter().fold(*word, |chosen, value| choose(chosen, *value));
            }
            return;
        }
        if self.words.len() == self.stride {
            // One group: as in `add`.
            self.words[self.at] = values.iter().fold(self.words[self.at], |chosen, value| choose(chosen, *value));
            return;
        }
        for (base, value) in self.bases.iter().zip(values) {
            let word = &mut self.words[base + self.at];
            *word = choose(*word, *value);
        }
    }

    /// Counts a row in each row's group.
    pub(crate) fn count(&mut self) {
        if let Some(runs) = self.runs {
            return runs.groups().for_each(|(slot, run)| self.of(slot)[0] += run.len() as u64);
        }
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
            board.grow(1 << round, 0);
            let slots: Vec<u32> = (0..1 << round).collect();
            board.turn_to(&slots, None);
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
    fn rows_that_are_left_out_are_in_no_group() {
        let mut board = BulkTable::new(vec![0, 0, 0, 0, u64::MAX]);
        board.grow(3, 0);
        board.turn_to(&[0, 2, 0, 2, 1, 0], Some(&[0b10_1011]));
        let values = [1, 2, 3, -4, 5, 6];
        board.lane(0).count();
        board.lane(1).add(&values);
        board.lane(2).add_wide(&values, false);
        board.lane(4).extreme(&values.map(|value| value as u64), false);
        assert_eq!(board.lane(0).of(0)[..5], [2, 7, 7, 0, 1]);
        assert_eq!(board.lane(0).of(1)[..5], [0, 0, 0, 0, u64::MAX]);
        assert_eq!(board.lane(0).of(2)[..5], [2, -2_i64 as u64, -2_i64 as u64, u64::MAX, 2]);
    }

    #[test]
    fn wide_words_carry() {
        let mut board = BulkTable::new(vec![0, 0]);
        board.grow(2, 0);
        board.turn_to(&[0, 1, 0, 1, 0], None);
        board.lane(0).add_wide(&[-1, -1, -1, 1, i64::MIN], false);
        board.lane(0).add_wide(&[0, -1, 0, -1, 0], true);
        let wide = |words: &[u64]| i128::from(words[1] as i64) << 64 | i128::from(words[0]);
        assert_eq!(wide(board.lane(0).of(0)), i128::from(i64::MIN) - 2);
        assert_eq!(wide(board.lane(0).of(1)), 2 * i128::from(u64::MAX));
    }

    #[test]
    fn one_group_counts_and_adds_as_many_do() {
        let mut board = BulkTable::new(vec![0, 5, 0]);
        board.grow(1, 0);
        board.turn_to(&[0; 4], None);
        board.lane(0).count();
        board.lane(1).add_two(&[1, 2, 3, -1], &[10, 20, 30, 40]);
        assert_eq!(board.lane(0).of(0)[..3], [4, 10, 100]);
    }
}
