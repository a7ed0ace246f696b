//! Values that run, computed in row order over all groups at once: where many of a table's rows are computed anyway.
//!
//! Rows are read as they lie, each goes into the state of its group, and the new cells are held against the old ones part by
//! part. No row is searched for, and nothing is sorted.

use std::cell::OnceCell;
use std::sync::{Mutex, PoisonError};

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use column::{Chunk, matching};
use rowset::RowSet;

use super::groups::{Groups, Run, Running};
use super::kernel::Kernel;
use super::track::{Made, Old, Tracked};
use crate::error::Error;
use crate::sizes::{GROUP_PART_ROWS, MARK_ROWS};
use crate::table::view::View;
use crate::threads::parallel;

/// Parts that are read, and whose cells are compared, side by side.
const BATCH: usize = 8;

/// Rows that are read together, and their groups; none where all are one.
pub(super) type Part = (RowSet, Vec<u32>);

/// The rows of a table in parts, with the group of each row: found when they are first asked for, once for all columns.
pub(super) struct Parts<'a> {
    view: &'a View,
    groups: &'a Groups,
    found: OnceCell<Vec<Part>>,
}

impl<'a> Parts<'a> {
    pub(super) fn new(view: &'a View, groups: &'a Groups) -> Parts<'a> {
        Parts { view, groups, found: OnceCell::new() }
    }

    fn all(&self) -> Result<&[Part], Error> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let parts = parallel::parts(self.view.rows(), GROUP_PART_ROWS.rows());
        let slots = parallel::try_map(true, &parts, |_, rows| match self.groups {
            Groups::All => Ok(Vec::new()),
            Groups::Keyed(groups) => groups.find(self.view, rows),
        })?;
        Ok(self.found.get_or_init(|| parts.into_iter().zip(slots).collect()))
    }
}

/// A group that is computed.
struct Lane<S> {
    slot: u32,
    state: S,
    /// The key of the first row that goes into the state.
    from: u64,
    /// The key of the first row whose value may be another.
    first: u64,
    /// How many rows ago the last mark was.
    since: u64,
}

/// Where in a part rows have been computed, and their values.
type Computed<T> = (Vec<u32>, Vec<Option<T>>);

impl<K: Kernel> Tracked<K> {
    /// The cells that these runs make, each computed to its end.
    pub(super) fn sweep(
        &mut self,
        groups: &Running<'_>,
        parts: &Parts<'_>,
        runs: &[Run],
        added: &RowSet,
        old: &Old<'_>,
    ) -> Result<Made, Error> {
        let mut lanes: Vec<Lane<K::State>> =
            runs.iter().filter(|run| run.len > 0).map(|run| self.lane(groups, run)).collect();
        let mut lane_of = vec![None; self.ends.len()];
        lanes.iter().enumerate().for_each(|(at, lane)| lane_of[lane.slot as usize] = Some(at as u32));
        let begin = lanes.iter().map(|lane| lane.from).min().unwrap_or(u64::MAX);
        let (view, parts) = (parts.view, parts.all()?);
        let parts = &parts[parts.partition_point(|(rows, _)| rows.last() < Some(begin))..];
        let (mut fresh, mut modified, mut cells) = (Vec::new(), RowSet::new(), Vec::new());
        // States run on from row to row; reading before and comparing behind them do not.
        for parts in parts.chunks(BATCH) {
            let inputs =
                parallel::try_map(true, parts, |_, (rows, _)| self.kernel.read(&self.source.read(view, rows)?))?;
            let mut computed = Vec::with_capacity(parts.len());
            for ((rows, slots), inputs) in parts.iter().zip(inputs) {
                let made = self.compute(&mut lanes, &lane_of, slots, rows, &inputs)?;
                computed.push((rows, Mutex::new(made)));
            }
            let told = |rows: &RowSet, made: &Mutex<Computed<K::Out>>| {
                let made = std::mem::take(&mut *made.lock().unwrap_or_else(PoisonError::into_inner));
                self.told(rows, made, added, old)
            };
            for part in parallel::try_map(true, &computed, |_, (rows, made)| told(rows, made))? {
                fresh.push(part.fresh);
                if let Some((rows, changed)) = part.modified {
                    modified |= &rows;
                    cells.push(changed);
                }
            }
        }
        for Lane { slot, state, .. } in lanes {
            self.ends[slot as usize] = state;
        }
        let joined = |cells: &[Chunk]| {
            let cells: Vec<_> = cells.iter().map(AsRef::as_ref).collect();
            Ok::<_, Error>(if cells.is_empty() { self.kernel.write(Vec::new())? } else { concat(&cells)? })
        };
        let modified = if modified.is_empty() { None } else { Some((modified, joined(&cells)?)) };
        Ok(Made { fresh: joined(&fresh)?, modified })
    }

    /// What became of the computed rows of a part.
    fn told(&self, rows: &RowSet, made: Computed<K::Out>, added: &RowSet, old: &Old<'_>) -> Result<Made, Error> {
        let (places, values) = made;
        let mut stay = chosen(rows, &places);
        let mut cells = self.kernel.write(values)?;
        let mut fresh = cells.slice(0, 0);
        if stay.overlaps(added) {
            let came: BooleanBuffer = stay.iter().map(|row| added.contains(row)).collect();
            fresh = filter(&cells, &BooleanArray::new(came.clone(), None))?;
            stay = matching(&stay, &!&came);
            cells = filter(&cells, &BooleanArray::new(!&came, None))?;
        }
        Ok(Made { fresh, modified: differing(stay, cells, old)? })
    }

    /// Begins behind the last mark before a run; those behind it are made anew.
    fn lane(&mut self, groups: &Running<'_>, run: &Run) -> Lane<K::State> {
        let (behind, state) = self.mark_before(groups, run);
        let key = |place| groups.key(run.slot, place).unwrap_or(u64::MAX);
        let (from, first) = (key(behind), key(run.first));
        let later: Vec<u64> = match self.marks.is_empty() {
            true => Vec::new(),
            false => self.marks.range((run.slot, from)..=(run.slot, u64::MAX)).map(|((_, row), _)| *row).collect(),
        };
        later.into_iter().for_each(|row| _ = self.marks.remove(&(run.slot, row)));
        Lane { slot: run.slot, state, from, first, since: 0 }
    }

    /// Takes the rows of a part into the states of their groups.
    fn compute(
        &mut self,
        lanes: &mut [Lane<K::State>],
        lane_of: &[Option<u32>],
        slots: &[u32],
        rows: &RowSet,
        inputs: &[K::In],
    ) -> Result<Computed<K::Out>, Error> {
        let (mut places, mut values) = (Vec::with_capacity(inputs.len()), Vec::with_capacity(inputs.len()));
        for (at, (row, input)) in rows.iter().zip(inputs).enumerate() {
            let slot = slots.get(at).copied().unwrap_or(0);
            let Some(lane) = lane_of[slot as usize].map(|at| &mut lanes[at as usize]) else { continue };
            if row < lane.from {
                continue;
            }
            let value = self.kernel.step(&mut lane.state, input).map_err(|fault| self.source.fault(fault, row))?;
            lane.since += 1;
            if lane.since >= MARK_ROWS.rows() {
                self.marks.insert((slot, row), lane.state.clone());
                lane.since = 0;
            }
            if row >= lane.first {
                places.push(at as u32);
                values.push(value);
            }
        }
        Ok((places, values))
    }
}

/// Of rows that stay, those whose cells are others than before, with them.
fn differing(rows: RowSet, cells: Chunk, old: &Old<'_>) -> Result<Option<(RowSet, Chunk)>, Error> {
    let differs = !&column::kernels::equal_cells(&cells, &old(&rows)?);
    Ok(match differs.count_set_bits() {
        0 => None,
        all if all == differs.len() => Some((rows, cells)),
        _ => Some((matching(&rows, &differs), filter(&cells, &BooleanArray::new(differs, None))?)),
    })
}

/// The rows at these places.
fn chosen(rows: &RowSet, places: &[u32]) -> RowSet {
    if places.len() as u64 == rows.len() {
        return rows.clone();
    }
    let mut mask = arrow_buffer::BooleanBufferBuilder::new(rows.len() as usize);
    mask.append_n(rows.len() as usize, false);
    places.iter().for_each(|at| mask.set_bit(*at as usize, true));
    matching(rows, &mask.finish())
}
