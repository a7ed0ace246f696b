//! One new column as it runs: its state at the end of each group, and marks of it on the way.
//!
//! A mark is the state behind a row, kept under the row's key, about every [`MARK_ROWS`] rows of a group. What is changed in the
//! middle of a group is computed from the mark before it on, until the value of a row tells that the state is again what it
//! was, or a mark does.

use std::collections::BTreeMap;

use column::Chunk;
use rowset::RowSet;

use super::groups::{Run, Running};
use super::kernel::{Fault, Kernel};
use super::sweep::Parts;
use crate::error::Error;
use crate::ops::made::{Made, Old};
use crate::sizes::{FELT_MOST, FELT_ROWS, MARK_ROWS, RUN_SWEEP};
use crate::table::view::View;

/// What the cells of a column are read from, and what messages call it.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The columns that are read, and the types in which.
    pub(super) columns: Vec<(usize, arrow_schema::DataType)>,
    /// The method.
    pub(super) operation: String,
    /// The operator and its column, as messages show them.
    pub(super) text: String,
    /// The column of stamps, if there is one.
    pub(super) stamp: String,
}

impl Source {
    /// The cells of rows, a chunk each column.
    pub(super) fn read(&self, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        self.columns.iter().map(|(column, data_type)| typed(view.read(*column, rows)?, data_type)).collect()
    }

    pub(super) fn fault(&self, fault: Fault, row: u64) -> Error {
        let Source { operation, text, stamp, .. } = self;
        let message = match fault {
            Fault::Null => format!("{text} meets a null in the row with key {row}, and on_null refuses it"),
            Fault::Nan => format!("{text} meets a NaN in the row with key {row}, and on_nan refuses it"),
            Fault::Back => format!(
                "{text}: the stamps of {stamp:?} must not decrease within a group, and that of the row with key {row} is \
                 less than one before it; sort by {stamp:?} first"
            ),
            Fault::Beyond => {
                format!("{text} leaves the range of its type in the row with key {row}; cast to Float64 first")
            }
        };
        Error::data(operation, message)
    }
}

/// The cells of rows by their keys. Several columns often ask for those of one input in the same rows.
pub(super) struct Reader<'a> {
    view: &'a View,
    kept: Vec<(usize, Vec<u64>, Chunk)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(view: &'a View) -> Reader<'a> {
        Reader { view, kept: Vec::new() }
    }

    fn cells(&mut self, source: &Source, rows: &[u64]) -> Result<Vec<Chunk>, Error> {
        source.columns.iter().map(|(column, data_type)| typed(self.column(*column, rows)?, data_type)).collect()
    }

    fn column(&mut self, column: usize, rows: &[u64]) -> Result<Chunk, Error> {
        if let Some((.., cells)) = self.kept.iter().find(|(known, kept, _)| *known == column && kept == rows) {
            return Ok(cells.clone());
        }
        let cells = match rows.is_sorted() {
            true => self.view.read(column, &RowSet::from_sorted_keys(rows))?,
            false => self.view.column(column)?.take(rows)?,
        };
        #[cfg(test)]
        super::tests::note_read(rows.len());
        self.kept.retain(|(known, ..)| *known != column);
        self.kept.push((column, rows.to_vec(), cells.clone()));
        Ok(cells)
    }
}

/// Codes of a dictionary are a matter of storage: what is computed with is values.
pub(super) fn typed(cells: Chunk, data_type: &arrow_schema::DataType) -> Result<Chunk, Error> {
    Ok(if cells.data_type() == data_type { cells } else { column::types::cast(&cells, data_type)? })
}

/// A column that runs.
pub(super) trait Track: Send + Sync {
    /// Room for so many groups.
    fn grow(&mut self, slots: usize);
    /// The cells of rows at the ends of their groups, in row order; without slots all are of one group. `marked`:
    /// whether marks are kept.
    fn append(&mut self, slots: &[u32], rows: &RowSet, cells: &[Chunk], marked: bool) -> Result<Chunk, Error>;
    /// The cells that these runs make.
    fn rerun(
        &mut self,
        groups: &Running<'_>,
        parts: &Parts<'_>,
        runs: &[Run],
        added: &RowSet,
        reader: &mut Reader<'_>,
        old: &Old<'_>,
    ) -> Result<Made, Error>;
    /// Rows that have left their groups, in keys before the step.
    fn leave(&mut self, gone: &mut dyn Iterator<Item = (u32, u64)>);
    /// What is known of a group is forgotten.
    fn forget(&mut self, slot: u32);
    /// Rows of these groups have other keys.
    fn shift(&mut self, slots: &[u32], shifts: &rowset::Shifts);
    /// What it reads.
    fn source(&self) -> &Source;
}

/// A column with its states.
pub(super) struct Tracked<K: Kernel> {
    pub(super) kernel: K,
    pub(super) source: Source,
    /// The state behind the last row of each group.
    pub(super) ends: Vec<K::State>,
    /// States behind other rows, by group and row key.
    pub(super) marks: BTreeMap<(u32, u64), K::State>,
    /// About how many rows of each group have come behind its last mark, where rows came at its end.
    since: Vec<u32>,
}

impl<K: Kernel> Tracked<K> {
    pub(super) fn boxed(kernel: K, source: Source) -> Box<dyn Track> {
        Box::new(Tracked { kernel, source, ends: vec![K::State::default()], marks: BTreeMap::new(), since: Vec::new() })
    }
}

/// A group that is being computed.
struct Open<'a, S> {
    run: &'a Run,
    /// The next row, by its place in the group.
    at: u64,
    state: S,
    /// How many rows ago the last mark was.
    since: u64,
    settled: bool,
}

impl<K: Kernel> Tracked<K> {
    fn open<'a>(&self, groups: &Running<'_>, run: &'a Run) -> Open<'a, K::State> {
        let Run { slot, first, len, appended, .. } = *run;
        let (behind, state) = self.mark_before(groups, run);
        if appended && (len > first) {
            let state = self.ends[slot as usize].clone();
            return Open { run, at: first, state, since: first - behind, settled: false };
        }
        Open { run, at: behind, state, since: 0, settled: false }
    }

    /// The last mark before a run: the place behind it, and the state there.
    pub(super) fn mark_before(&self, groups: &Running<'_>, run: &Run) -> (u64, K::State) {
        let before = groups.key(run.slot, run.first).unwrap_or(u64::MAX);
        let mark = match self.marks.is_empty() {
            true => None,
            false => self.marks.range((run.slot, 0)..(run.slot, before)).next_back(),
        };
        let behind = mark.map_or(0, |((_, row), _)| groups.lower(run.slot, *row) + 1);
        (behind, mark.map_or_else(K::State::default, |(_, state)| state.clone()))
    }

    /// Computes the rows of a group at these places of `rows`, and hands out those that are wanted.
    fn advance(
        &mut self,
        open: &mut Open<'_, K::State>,
        rows: &[u64],
        inputs: &[K::In],
        mut each: impl FnMut(usize, Option<K::Out>),
    ) -> Result<(), Error> {
        let slot = open.run.slot;
        let known: Vec<u64> = match (self.marks.is_empty(), rows.first(), rows.last()) {
            (false, Some(first), Some(last)) => {
                self.marks.range((slot, *first)..=(slot, *last)).map(|((_, row), _)| *row).collect()
            }
            _ => Vec::new(),
        };
        let mut known = known.into_iter().peekable();
        for (at, (row, input)) in rows.iter().zip(inputs).enumerate() {
            let value = self.kernel.step(&mut open.state, input).map_err(|fault| self.source.fault(fault, *row))?;
            let place = open.at + at as u64;
            if place >= open.run.first {
                each(at, value);
            }
            open.since += 1;
            if known.next_if_eq(row).is_some() {
                let mark = self.marks.entry((slot, *row)).or_default();
                if place >= open.run.last && self.kernel.same(mark, &open.state) {
                    open.settled = true;
                    return Ok(());
                }
                mark.clone_from(&open.state);
                open.since = 0;
            } else if open.since >= MARK_ROWS.rows() {
                self.marks.insert((slot, *row), open.state.clone());
                open.since = 0;
            }
        }
        Ok(())
    }
}

impl<K: Kernel> Track for Tracked<K> {
    fn grow(&mut self, slots: usize) {
        if slots > self.ends.len() {
            self.ends.resize(slots, K::State::default());
        }
    }

    fn append(&mut self, slots: &[u32], rows: &RowSet, cells: &[Chunk], marked: bool) -> Result<Chunk, Error> {
        let inputs = self.kernel.read(cells)?;
        let Tracked { kernel, source, ends, .. } = self;
        let fault = |fault, at: usize| source.fault(fault, rows.key_at(at as u64).unwrap_or_default());
        let mut values = Vec::with_capacity(inputs.len());
        if marked {
            self.since.resize(ends.len(), 0);
            for (at, (input, row)) in inputs.iter().zip(rows.iter()).enumerate() {
                let slot = slots.get(at).copied().unwrap_or(0);
                let state = &mut ends[slot as usize];
                values.push(kernel.step(state, input).map_err(|why| fault(why, at))?);
                let since = &mut self.since[slot as usize];
                *since += 1;
                if u64::from(*since) >= MARK_ROWS.rows() {
                    *since = 0;
                    self.marks.insert((slot, row), state.clone());
                }
            }
        } else if slots.is_empty() {
            let state = &mut ends[0];
            for (at, input) in inputs.iter().enumerate() {
                values.push(kernel.step(state, input).map_err(|why| fault(why, at))?);
            }
        } else {
            for (at, (input, slot)) in inputs.iter().zip(slots).enumerate() {
                values.push(kernel.step(&mut ends[*slot as usize], input).map_err(|why| fault(why, at))?);
            }
        }
        self.kernel.write(values)
    }

    fn rerun(
        &mut self,
        groups: &Running<'_>,
        parts: &Parts<'_>,
        runs: &[Run],
        added: &RowSet,
        reader: &mut Reader<'_>,
        old: &Old<'_>,
    ) -> Result<Made, Error> {
        for run in runs.iter().filter(|run| run.len == 0) {
            self.ends[run.slot as usize] = K::State::default();
        }
        let many = |rows: u64| rows.saturating_mul(RUN_SWEEP.rows()) >= groups.rows.len();
        if many(runs.iter().map(|run| run.last.max(run.first).min(run.len) - run.first.min(run.len)).sum()) {
            return self.sweep(groups, parts, runs, added, old);
        }
        let mut open: Vec<Open<'_, K::State>> =
            runs.iter().filter(|run| run.len > 0).map(|run| self.open(groups, run)).collect();
        let (mut fresh, mut changed) = (Vec::new(), Vec::new());
        let mut ahead = FELT_ROWS.rows();
        while !open.is_empty() {
            let (mut rows, mut ends) = (Vec::new(), Vec::with_capacity(open.len()));
            for one in &open {
                let to = one.run.last.max(one.run.first).min(one.at + FELT_MOST.rows()).max(one.at) + ahead;
                groups.keys(one.run.slot, one.at..to.min(one.run.len), &mut rows);
                ends.push(rows.len());
            }
            let inputs = self.kernel.read(&reader.cells(&self.source, &rows)?)?;
            // Row key, place among the rows that are read, value.
            let mut made: Vec<(u64, usize, Option<K::Out>)> = Vec::new();
            let mut from = 0;
            for (one, end) in open.iter_mut().zip(&ends) {
                let span = from..*end;
                let each = |at, value| made.push((rows[from + at], from + at, value));
                self.advance(one, &rows[span.clone()], &inputs[span], each)?;
                from = *end;
            }
            made.sort_unstable_by_key(|(row, ..)| *row);
            let (came, stayed): (Vec<_>, Vec<_>) = made.into_iter().partition(|(row, ..)| added.contains(*row));
            fresh.extend(came.into_iter().map(|(row, _, value)| (row, value)));
            let same = self.kept(&stayed, old, rows.len())?;
            changed.extend(stayed.into_iter().filter(|(_, at, _)| !same[*at]).map(|(row, _, value)| (row, value)));
            let (mut from, mut index) = (0, 0);
            open.retain_mut(|one| {
                let span = from..ends[index];
                (from, index) = (span.end, index + 1);
                let behind = one.run.last.max(one.run.first).saturating_sub(one.at);
                let looked = span.clone().skip(usize::try_from(behind).unwrap_or(usize::MAX));
                one.at += span.len() as u64;
                if one.settled || looked.into_iter().any(|at| same[at] && self.kernel.tells(&inputs[at])) {
                    return false;
                }
                if one.at >= one.run.len {
                    self.ends[one.run.slot as usize] = std::mem::take(&mut one.state);
                    return false;
                }
                true
            });
            // What was walked so far is computed once more.
            if !open.is_empty() && many(open.iter().map(|one| one.run.len - one.at).sum()) {
                return self.sweep(groups, parts, runs, added, old);
            }
            ahead = (ahead * 4).min(FELT_MOST.rows());
        }
        fresh.sort_unstable_by_key(|(row, _)| *row);
        changed.sort_unstable_by_key(|(row, _)| *row);
        let fresh = self.kernel.write(fresh.into_iter().map(|(_, value)| value).collect())?;
        let (rows, values): (Vec<u64>, Vec<Option<K::Out>>) = changed.into_iter().unzip();
        let modified = match rows.is_empty() {
            true => None,
            false => Some((RowSet::from_sorted_keys(&rows), self.kernel.write(values)?)),
        };
        Ok(Made { fresh, modified })
    }

    fn leave(&mut self, gone: &mut dyn Iterator<Item = (u32, u64)>) {
        if !self.marks.is_empty() {
            gone.for_each(|place| _ = self.marks.remove(&place));
        }
    }

    fn forget(&mut self, slot: u32) {
        self.ends[slot as usize] = K::State::default();
    }

    fn shift(&mut self, slots: &[u32], shifts: &rowset::Shifts) {
        let Some(first) = shifts.iter().map(|shift| shift.first).min().filter(|_| !self.marks.is_empty()) else {
            return;
        };
        for slot in slots {
            let moved: Vec<u64> =
                self.marks.range((*slot, first)..=(*slot, u64::MAX)).map(|((_, row), _)| *row).collect();
            let taken: Vec<(u64, K::State)> =
                moved.into_iter().filter_map(|row| Some((row, self.marks.remove(&(*slot, row))?))).collect();
            self.marks.extend(taken.into_iter().map(|(row, state)| ((*slot, shifts.forward_key(row)), state)));
        }
    }

    fn source(&self) -> &Source {
        &self.source
    }
}

impl<K: Kernel> Tracked<K> {
    /// Of so many rows that were read, which stay and have the value that they had.
    fn kept(
        &self,
        stayed: &[(u64, usize, Option<K::Out>)],
        old: &dyn Fn(&RowSet) -> Result<Chunk, Error>,
        read: usize,
    ) -> Result<Vec<bool>, Error> {
        let mut same = vec![false; read];
        if stayed.is_empty() {
            return Ok(same);
        }
        let rows: Vec<u64> = stayed.iter().map(|(row, ..)| *row).collect();
        let cells = self.kernel.write(stayed.iter().map(|(.., value)| value.clone()).collect())?;
        let equal = column::kernels::equal_cells(&cells, &old(&RowSet::from_sorted_keys(&rows))?);
        stayed.iter().enumerate().for_each(|(place, (_, at, _))| same[*at] = equal.value(place));
        Ok(same)
    }
}
