//! Several calls of one step as one set of writes: the last cell given for each key.
//!
//!   call 0    added 0..=99          modified –
//!   call 1    added 100..=199       modified 10..=19
//!   runs      0..=9 of call 0, 10..=19 of call 1, 20..=99 of call 0, 100..=199 of call 1
//!
//! Keys are merged by the update algebra. Cells are looked for from the last call back: what a call gave of the
//! keys that still want a cell is a set, found by set algebra; shifts keep the order of rows, so a set stands for
//! its places. Long runs leave as slices of what was given, short ones are gathered.
//! Cost: what was given, and the pieces of it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::Array;
use column::Chunk;
use limits::Size;
use rowset::{Positions, RowSet, Shifts};

use crate::error::Error;
use crate::table::store::Writes;
use crate::table::update::{ColumnSet, Merged, TableUpdate};

/// Runs that are as long on average leave as slices.
static SLICED_RUN: Size = Size::new("engine.SLICED_RUN", 32);

/// The cells of one call: of the rows it adds, and of those it modifies in some columns.
pub(super) struct Given {
    pub(super) update: TableUpdate,
    pub(super) added: Vec<Chunk>,
    pub(super) modified: Vec<(usize, Chunk)>,
}

impl Given {
    fn modified_in(&self, column: usize) -> Option<&Chunk> {
        self.modified.iter().find(|(index, _)| *index == column).map(|(_, chunk)| chunk)
    }
}

/// Neighbouring rows whose cells lie side by side in what one call gave.
#[derive(Clone, Copy)]
struct Run {
    /// Place of the first among the rows looked for.
    at: usize,
    call: usize,
    /// Whether the call added the rows; else it modified them.
    added: bool,
    row: usize,
    len: usize,
}

/// The writes of `calls`, over a table with these rows and so many columns.
pub(super) fn layered(rows: RowSet, calls: &[Given], width: usize) -> Result<Writes, Error> {
    let mut merged = Merged::new(rows, width);
    calls.iter().for_each(|call| merged.push(&call.update));
    let TableUpdate { added, removed, shifts, .. } = merged.update();
    let classes = Classes::of(calls, width);
    let mut modified = vec![None; width];
    let mut pieces: Vec<Vec<Run>> = Vec::with_capacity(classes.len());
    for class in &classes.members {
        let of = class[0];
        pieces.push(runs(calls, of, &added)?);
        let keys = merged.modified_in(of);
        if keys.is_empty() {
            continue;
        }
        let found = runs(calls, of, keys)?;
        for column in class {
            modified[*column] = Some((keys.clone(), gathered(calls, *column, &found)?));
        }
    }
    let added = added_pieces(calls, &classes, &pieces, added)?;
    Ok(Writes { removed, shifts, added, modified, ..Writes::default() })
}

/// Columns that the same calls give: their cells come from the same places.
struct Classes {
    members: Vec<Vec<usize>>,
}

impl Classes {
    fn of(calls: &[Given], width: usize) -> Classes {
        let mut columns: Vec<&ColumnSet> = calls.iter().map(|call| &call.update.columns).collect();
        columns.dedup();
        let mut known: HashMap<Vec<bool>, usize> = HashMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        for column in 0..width {
            let given: Vec<bool> = columns.iter().map(|columns| columns.contains(column)).collect();
            let class = *known.entry(given).or_insert(members.len());
            if class == members.len() {
                members.push(Vec::new());
            }
            members[class].push(column);
        }
        Classes { members }
    }

    fn len(&self) -> usize {
        self.members.len()
    }
}

/// Where the cells of one column lie for these keys, which are as after the last call; in order of the keys.
fn runs(calls: &[Given], column: usize, keys: &RowSet) -> Result<Vec<Run>, Error> {
    let (mut wanted, mut places) = (keys.clone(), RowSet::flat(keys.len()));
    let mut found: Vec<Run> = Vec::new();
    for (index, call) in calls.iter().enumerate().rev() {
        if wanted.is_empty() {
            break;
        }
        let TableUpdate { added, modified, shifts, .. } = &call.update;
        let some = if call.modified_in(column).is_some() { Some((modified, false)) } else { None };
        for (given, new) in some.into_iter().chain([(added, true)]) {
            let hit = &wanted & given;
            if hit.is_empty() {
                continue;
            }
            let at = places.at(&wanted.positions_of(&hit));
            let from = given.positions_of(&hit);
            side_by_side(&at, &from, |at, row, len| found.push(Run { at, call: index, added: new, row, len }));
            places -= &at;
            wanted -= &hit;
        }
        back(&mut wanted, shifts);
    }
    if !wanted.is_empty() {
        return Err(Error::internal("input_table", format!("no cells were given for {} keys", wanted.len())));
    }
    found.sort_unstable_by_key(|run| run.at);
    Ok(found)
}

fn back(keys: &mut RowSet, shifts: &Shifts) {
    if !shifts.is_empty() {
        *keys = shifts.back(keys).0;
    }
}

/// Walks two sets of the same size: each stretch in which both have neighbours.
fn side_by_side(at: &RowSet, from: &Positions, mut each: impl FnMut(usize, usize, usize)) {
    let mut froms = from.0.spans();
    let mut rest = froms.next();
    for span in at.spans() {
        let mut first = span.first;
        while let Some(from) = &mut rest {
            let len = (span.last - first + 1).min(from.len());
            each(first as usize, from.first as usize, len as usize);
            (first, from.first) = (first + len, from.first + len);
            if from.first > from.last {
                rest = froms.next();
            }
            if first > span.last {
                break;
            }
        }
    }
}

fn chunk<'a>(calls: &'a [Given], column: usize, run: &Run) -> Result<&'a Chunk, Error> {
    let call = &calls[run.call];
    let given = if run.added { call.added.get(column) } else { call.modified_in(column) };
    given.ok_or_else(|| Error::internal("input_table", "a call gave no cells for a column"))
}

fn are_long(runs: &[Run]) -> bool {
    let rows: usize = runs.iter().map(|run| run.len).sum();
    rows >= runs.len() * SLICED_RUN.get()
}

/// The cells of one column as one array.
fn gathered(calls: &[Given], column: usize, runs: &[Run]) -> Result<Chunk, Error> {
    if let [run] = runs {
        return Ok(slice(chunk(calls, column, run)?, run));
    }
    if are_long(runs) {
        let slices: Result<Vec<Chunk>, Error> =
            runs.iter().map(|run| Ok(slice(chunk(calls, column, run)?, run))).collect();
        let slices = slices?;
        return Ok(arrow_select::concat::concat(&slices.iter().map(|slice| slice.as_ref()).collect::<Vec<_>>())?);
    }
    let mut arrays: Vec<&dyn Array> = Vec::new();
    let mut known: HashMap<(usize, bool), usize> = HashMap::new();
    let mut places: Vec<(usize, usize)> = Vec::new();
    for run in runs {
        let chunk = chunk(calls, column, run)?;
        let array = *known.entry((run.call, run.added)).or_insert(arrays.len());
        if array == arrays.len() {
            arrays.push(chunk.as_ref());
        }
        places.extend((run.row..run.row + run.len).map(|row| (array, row)));
    }
    Ok(arrow_select::interleave::interleave(&arrays, &places)?)
}

fn slice(chunk: &Chunk, run: &Run) -> Chunk {
    if run.len == chunk.len() { Arc::clone(chunk) } else { chunk.slice(run.row, run.len) }
}

/// The new rows: a piece for each run where all columns come from the same places and runs are long, else one.
fn added_pieces(
    calls: &[Given],
    classes: &Classes,
    runs: &[Vec<Run>],
    added: RowSet,
) -> Result<Vec<(RowSet, Vec<Chunk>)>, Error> {
    if added.is_empty() {
        return Ok(Vec::new());
    }
    if let ([columns], [runs]) = (classes.members.as_slice(), runs)
        && are_long(runs)
    {
        let piece = |run: &Run| {
            let cells: Result<Vec<Chunk>, Error> =
                columns.iter().map(|column| Ok(slice(chunk(calls, *column, run)?, run))).collect();
            Ok((added.slice(run.at as u64, run.len as u64), cells?))
        };
        return runs.iter().map(piece).collect();
    }
    let mut cells: Vec<(usize, Chunk)> = Vec::new();
    for (class, runs) in classes.members.iter().zip(runs) {
        for column in class {
            cells.push((*column, gathered(calls, *column, runs)?));
        }
    }
    cells.sort_unstable_by_key(|(column, _)| *column);
    Ok(vec![(added, cells.into_iter().map(|(_, chunk)| chunk).collect())])
}
