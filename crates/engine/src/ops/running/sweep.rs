//! Values that run, computed in row order over all groups at once: where many of a table's rows are computed anyway.
//!
//! Rows are read as they lie, each goes into the state of its group, and the new cells are held against the old ones part by
//! part. No row is searched for, and nothing is sorted. Groups are divided among threads; each thread computes its own in row
//! order, so that a result does not depend on how many there are.

use std::cell::OnceCell;
use std::sync::{Mutex, PoisonError};

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBufferBuilder;
use arrow_select::filter::filter;
use column::{Chunk, matching};
use rowset::RowSet;

use super::groups::{Groups, Run, Running};
use super::kernel::{Fault, Kernel};
use super::track::Tracked;
use crate::error::Error;
use crate::ops::made::{Made, Old};
use crate::sizes::{GROUP_PART_ROWS, MARK_ROWS};
use crate::table::view::View;
use crate::threads::lock;
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
}

/// Groups that one thread computes.
struct Worker<S> {
    /// Of each group its slot, its state, and how many rows ago the last mark was.
    lanes: Vec<(u32, S, u64)>,
    /// States behind rows, by group and row key.
    marks: Vec<((u32, u64), S)>,
}

/// Where the rows of a group go.
#[derive(Clone, Copy)]
struct Way {
    worker: u32,
    lane: u32,
    from: u64,
    first: u64,
}

/// A row that a worker takes in: its place in its part, the place of its group, and whether its value is told.
#[derive(Clone, Copy)]
struct Item {
    at: u32,
    lane: u32,
    told: bool,
}

/// A part with what is read of it, and the rows of each worker.
struct Taken<I> {
    rows: RowSet,
    inputs: Vec<I>,
    items: Vec<Vec<Item>>,
}

/// The values that a worker computed of a part, of its rows that are told.
type Computed<T> = Vec<Option<T>>;

/// What a worker makes of parts, or its first row that has no value.
type Outcome<T> = Result<Vec<Mutex<Computed<T>>>, (u64, Fault)>;

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
        let lanes: Vec<Lane<K::State>> =
            runs.iter().filter(|run| run.len > 0).map(|run| self.lane(groups, run)).collect();
        let begin = lanes.iter().map(|lane| lane.from).min().unwrap_or(u64::MAX);
        let (ways, workers) = divided(lanes, self.ends.len());
        let (view, parts) = (parts.view, parts.all()?);
        let parts = &parts[parts.partition_point(|(rows, _)| rows.last() < Some(begin))..];
        let mut made = Vec::with_capacity(parts.len());
        // States run on from row to row, each group's by itself; reading before and comparing behind them do not.
        for parts in parts.chunks(BATCH) {
            let taken = parallel::try_map(true, parts, |_, (rows, slots)| {
                let inputs = self.kernel.read(&self.source.read(view, rows)?)?;
                let items = shared_out(rows, slots, &ways, workers.len());
                Ok::<_, Error>(Taken { rows: rows.clone(), inputs, items })
            })?;
            let computed = self.compute(&workers, &taken)?;
            made.extend(parallel::try_map(true, &taken, |part, taken| {
                let of_workers = computed.iter().map(|parts| &parts[part]);
                let (rows, cells) = self.in_row_order(taken, of_workers)?;
                Made::of(rows, cells, added, old)
            })?);
        }
        for worker in workers {
            let Worker { lanes, marks } = worker.into_inner().unwrap_or_else(PoisonError::into_inner);
            lanes.into_iter().for_each(|(slot, state, _)| self.ends[slot as usize] = state);
            self.marks.extend(marks);
        }
        Made::joined(made, self.kernel.write(Vec::new())?)
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
        Lane { slot: run.slot, state, from, first }
    }

    /// Takes the rows of parts into the states of their groups: for each worker what it computed of each part.
    fn compute(
        &self,
        workers: &[Mutex<Worker<K::State>>],
        parts: &[Taken<K::In>],
    ) -> Result<Vec<Vec<Mutex<Computed<K::Out>>>>, Error> {
        let outcomes = parallel::try_map(true, workers, |at, worker| {
            let mut worker = lock(worker);
            Ok::<_, Error>(self.advance_all(&mut worker, at, parts))
        })?;
        let fault = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).min_by_key(|(row, _)| *row);
        if let Some((row, fault)) = fault {
            return Err(self.source.fault(*fault, *row));
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    fn advance_all(
        &self,
        Worker { lanes, marks }: &mut Worker<K::State>,
        of: usize,
        parts: &[Taken<K::In>],
    ) -> Outcome<K::Out> {
        let mark_rows = MARK_ROWS.rows();
        let of_part = |Taken { rows, inputs, items }: &Taken<K::In>| {
            let items = &items[of];
            let mut values = Vec::with_capacity(items.len());
            let key = |at: u32| rows.key_at(u64::from(at)).unwrap_or_default();
            for Item { at, lane, told } in items {
                let (slot, state, since) = &mut lanes[*lane as usize];
                let value = self.kernel.step(state, &inputs[*at as usize]).map_err(|fault| (key(*at), fault))?;
                *since += 1;
                if *since >= mark_rows {
                    marks.push(((*slot, key(*at)), state.clone()));
                    *since = 0;
                }
                if *told {
                    values.push(value);
                }
            }
            Ok(Mutex::new(values))
        };
        parts.iter().map(of_part).collect()
    }

    /// The rows of a part that were computed, with their cells.
    fn in_row_order<'m>(
        &self,
        Taken { rows, items, .. }: &Taken<K::In>,
        of_workers: impl Iterator<Item = &'m Mutex<Computed<K::Out>>>,
    ) -> Result<(RowSet, Chunk), Error>
    where
        K::Out: 'm,
    {
        let len = rows.len() as usize;
        let (mut all, mut mask) = (vec![None; len], BooleanBufferBuilder::new(len));
        mask.append_n(len, false);
        for (items, made) in items.iter().zip(of_workers) {
            let values = std::mem::take(&mut *lock(made));
            for (item, value) in items.iter().filter(|item| item.told).zip(values) {
                all[item.at as usize] = value;
                mask.set_bit(item.at as usize, true);
            }
        }
        let (mask, cells) = (mask.finish(), self.kernel.write(all)?);
        if mask.count_set_bits() == len {
            return Ok((rows.clone(), cells));
        }
        Ok((matching(rows, &mask), filter(&cells, &BooleanArray::new(mask, None))?))
    }
}

/// Groups divided among as many workers as there are threads, and the way of each slot's rows.
fn divided<S>(lanes: Vec<Lane<S>>, slots: usize) -> (Vec<Option<Way>>, Vec<Mutex<Worker<S>>>) {
    let count = parallel::threads().min(lanes.len()).max(1);
    let mut ways = vec![None; slots];
    let mut workers: Vec<Worker<S>> =
        (0..count).map(|_| Worker { lanes: Vec::with_capacity(lanes.len() / count + 1), marks: Vec::new() }).collect();
    for (at, Lane { slot, state, from, first }) in lanes.into_iter().enumerate() {
        let (worker, lane) = (at % count, at / count);
        ways[slot as usize] = Some(Way { worker: worker as u32, lane: lane as u32, from, first });
        workers[worker].lanes.push((slot, state, 0));
    }
    (ways, workers.into_iter().map(Mutex::new).collect())
}

/// The rows of a part that each worker takes in; without slots all are of one group.
fn shared_out(rows: &RowSet, slots: &[u32], ways: &[Option<Way>], workers: usize) -> Vec<Vec<Item>> {
    let mut items: Vec<Vec<Item>> = (0..workers).map(|_| Vec::with_capacity(rows.len() as usize / workers)).collect();
    for (at, row) in rows.iter().enumerate() {
        let slot = slots.get(at).copied().unwrap_or(0);
        if let Some(Way { worker, lane, from, first }) = ways[slot as usize]
            && row >= from
        {
            items[worker as usize].push(Item { at: at as u32, lane, told: row >= first });
        }
    }
    items
}
