//! The matches of two tables that stay as they are: the right rows of each group lie in one list by stamp, and a search
//! begins where the last one of its group ended. No timeline is made, and no left row is kept.

use column::NO_ROW;
use column::kernels::{RadixEntry, radix_sort};
use column::keys::NO_SLOT;
use rowset::RowSet;
use simd::prefetch;

use super::AsofSpec;
use super::nearest::Line;
use crate::error::Error;
use crate::keys::search::{gallop, interpolate};
use crate::ops::join::on::cells_as;
use crate::ops::join::side::JoinKeys;
use crate::ops::join::stamps::ordered;
use crate::ops::join::still::StillSlots;
use crate::sizes::{ASOF_BATCH, ASOF_PROBE_ROWS};
use crate::table::view::View;
use crate::threads::parallel;

/// The right rows that have a stamp, group by group, in order of (stamp, row).
struct Lines {
    /// Where the rows of each group begin, and where those of the last one end.
    starts: Vec<usize>,
    stamps: Vec<u64>,
    rows: Vec<u64>,
}

/// Those of one group.
struct StillLine<'a> {
    stamps: &'a [u64],
    rows: &'a [u64],
}

/// No hint.
const UNKNOWN: u32 = u32::MAX;

impl AsofSpec {
    /// The right row of each left row, `NO_ROW` for none.
    pub(super) fn of_still(&self, left: &View, right: &View) -> Result<Vec<u64>, Error> {
        let mut keys = JoinKeys::new(&self.by, false, false, false);
        let slots = match keys.is_keyless() {
            true => None,
            false => Some(StillSlots::new(&mut keys, left, right)?),
        };
        let groups = if slots.is_some() { keys.slots() } else { 1 };
        let lines = self.lines(right, slots.as_ref().map(|slots| &slots.right[..]), groups)?;
        let left_slots = slots.as_ref().map(|slots| &slots.left[..]);
        let mut matched = vec![NO_ROW; left.rows().len() as usize];
        let parts = parallel::parts(left.rows(), ASOF_PROBE_ROWS.rows());
        // A thread takes parts that follow each other: its hints stay near.
        let together = parts.len().div_ceil(parallel::threads().max(1)).max(1);
        let starts: Vec<usize> = parts
            .iter()
            .scan(0, |from, part| {
                let start = *from;
                *from += part.len() as usize;
                Some(start)
            })
            .collect();
        let runs: Vec<(&[RowSet], &[usize])> = parts.chunks(together).zip(starts.chunks(together)).collect();
        let lengths = runs.iter().map(|(parts, _)| parts.iter().map(|part| part.len() as usize).sum());
        let shares = parallel::shares(&mut matched, lengths);
        parallel::try_map(runs.len() > 1, &runs, |at, (parts, starts)| {
            let mut share = parallel::of_share(&shares[at]);
            let mut matched = &mut share[..];
            let mut hints = vec![UNKNOWN; groups];
            for (part, start) in parts.iter().zip(*starts) {
                let (own, later) = matched.split_at_mut(part.len() as usize);
                let slots = left_slots.map(|slots| &slots[*start..*start + own.len()]);
                self.search(left, part, slots, &lines, &mut hints, own)?;
                matched = later;
            }
            Ok::<_, Error>(())
        })?;
        drop(shares);
        Ok(matched)
    }

    /// The right rows in order.
    fn lines(&self, right: &View, slots: Option<&[u32]>, groups: usize) -> Result<Lines, Error> {
        let count = right.rows().len() as usize;
        let mut stamps = vec![0; count];
        let parts = parallel::parts(right.rows(), ASOF_PROBE_ROWS.rows());
        let lengths = || parts.iter().map(|part| part.len() as usize);
        let shares = parallel::shares(&mut stamps, lengths());
        let valid = parallel::try_map(parts.len() > 1, &parts, |at, part| {
            let (stamps, valid) = ordered(&cells_as(right.read(self.right_stamp, part)?, &self.meet)?)?;
            parallel::of_share(&shares[at]).copy_from_slice(&stamps);
            Ok::<_, Error>(valid.filter(|valid| valid.null_count() > 0))
        })?;
        drop(shares);
        if slots.is_none() && valid.iter().all(Option::is_none) {
            let mut rows: Vec<u64> = right.rows().iter().collect();
            sort_line(&mut stamps, &mut rows);
            return Ok(Lines { starts: vec![0, count], stamps, rows });
        }
        let mut group = vec![0; count];
        let mut from = 0;
        for (length, valid) in lengths().zip(valid) {
            let own = &mut group[from..from + length];
            slots.into_iter().for_each(|slots| own.copy_from_slice(&slots[from..from + length]));
            let missing = valid.iter().flat_map(|valid| valid.iter().enumerate().filter(|(_, valid)| !valid));
            missing.for_each(|(row, _)| own[row] = NO_SLOT);
            from += length;
        }
        let mut starts = vec![0_usize; groups + 2];
        // Counted two places on, as in `RowsOfSlots`.
        group.iter().filter(|slot| **slot != NO_SLOT).for_each(|slot| starts[*slot as usize + 2] += 1);
        (2..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let many = starts[groups + 1];
        let (mut placed, mut rows) = (vec![0; many], vec![0; many]);
        for ((row, slot), stamp) in right.rows().iter().zip(&group).zip(&stamps) {
            if *slot != NO_SLOT {
                let at = &mut starts[*slot as usize + 1];
                (placed[*at], rows[*at]) = (*stamp, row);
                *at += 1;
            }
        }
        starts.pop();
        for ends in starts.windows(2) {
            sort_line(&mut placed[ends[0]..ends[1]], &mut rows[ends[0]..ends[1]]);
        }
        Ok(Lines { starts, stamps: placed, rows })
    }

    /// Puts down the matches of left rows.
    fn search(
        &self,
        left: &View,
        part: &RowSet,
        slots: Option<&[u32]>,
        lines: &Lines,
        hints: &mut [u32],
        matched: &mut [u64],
    ) -> Result<(), Error> {
        let (stamps, valid) = ordered(&cells_as(left.read(self.left_stamp, part)?, &self.meet)?)?;
        let valid = valid.filter(|valid| valid.null_count() > 0);
        let slot_of = |row: usize| slots.map_or(0, |slots| slots[row]);
        for from in (0..stamps.len()).step_by(ASOF_BATCH.get()) {
            let to = (from + ASOF_BATCH.get()).min(stamps.len());
            if slots.is_some() {
                (from..to)
                    .map(slot_of)
                    .filter(|slot| *slot != NO_SLOT)
                    .for_each(|slot| lines.prefetch_search(slot, hints));
            }
            for row in from..to {
                let slot = slot_of(row);
                if slot == NO_SLOT || valid.as_ref().is_some_and(|valid| valid.is_null(row)) {
                    continue;
                }
                matched[row] = self.find(&lines.of(slot), stamps[row], &mut hints[slot as usize]);
            }
        }
        Ok(())
    }
}

/// Orders rows by stamp; rows of one stamp keep their order.
fn sort_line(stamps: &mut [u64], rows: &mut [u64]) {
    if stamps.is_sorted() {
        return;
    }
    let entry = |(stamp, position): (&u64, u32)| RadixEntry { word: *stamp, position };
    let mut entries: Vec<RadixEntry> = stamps.iter().zip(0..).map(entry).collect();
    radix_sort(&mut entries);
    let old = rows.to_vec();
    for ((stamp, row), entry) in stamps.iter_mut().zip(rows).zip(entries) {
        (*stamp, *row) = (entry.word, old[entry.position as usize]);
    }
}

impl Lines {
    fn of(&self, slot: u32) -> StillLine<'_> {
        let own = self.starts[slot as usize]..self.starts[slot as usize + 1];
        StillLine { stamps: &self.stamps[own.clone()], rows: &self.rows[own] }
    }

    /// Prefetches where the next search of a group begins.
    fn prefetch_search(&self, slot: u32, hints: &[u32]) {
        let hint = match hints[slot as usize] {
            UNKNOWN => 0,
            hint => hint as usize,
        };
        let at = self.starts[slot as usize] + hint;
        self.stamps.get(at).into_iter().for_each(prefetch);
        self.rows.get(at).into_iter().for_each(prefetch);
    }
}

impl Line for StillLine<'_> {
    type Place = u32;

    #[inline]
    fn lower_from(&self, hint: u32, (stamp, key): (u64, u64)) -> u32 {
        let (Some(first), Some(last)) = (self.stamps.first(), self.stamps.last()) else { return 0 };
        let guess = match hint {
            UNKNOWN => interpolate(self.stamps.len(), *first, *last, stamp),
            hint => (hint as usize).min(self.stamps.len() - 1),
        };
        // Places are asked for before all rows of a stamp, or after all of them.
        match key {
            0 => gallop(self.stamps.len(), guess, |at| self.stamps[at] < stamp) as u32,
            _ => gallop(self.stamps.len(), guess, |at| self.stamps[at] <= stamp) as u32,
        }
    }

    #[inline]
    fn lower(&self, at: (u64, u64)) -> u32 {
        self.lower_from(UNKNOWN, at)
    }

    #[inline]
    fn at(&self, place: u32) -> Option<(u64, u64)> {
        let place = place as usize;
        Some((*self.stamps.get(place)?, self.rows[place]))
    }

    #[inline]
    fn before_place(&self, place: u32) -> Option<(u64, u64)> {
        self.at(place.checked_sub(1)?)
    }
}
