//! What changed in one table, as bytes and back.

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use column::Chunk;
use engine::sources::Stored;
use rowset::{RowSet, Shift};

use crate::cells::{Bytes, Draft, pieces, put_cells, put_keys, put_number, stored};

/// What changed in one table: rows that go (keys before), shifts, rows that come and cells that differ (keys after).
pub(crate) struct Change {
    /// The number of the table.
    pub(crate) table: u64,
    /// The row key that its next new row takes.
    pub(crate) next: u64,
    pub(crate) removed: RowSet,
    pub(crate) shifts: Vec<Shift>,
    /// Pieces with ascending keys.
    pub(crate) added: Vec<(RowSet, Vec<Chunk>)>,
    pub(crate) modified: Vec<Modified>,
}

/// Cells of some columns that differ in the same rows.
pub(crate) struct Modified {
    pub(crate) rows: RowSet,
    pub(crate) columns: Vec<usize>,
    pub(crate) cells: Vec<Chunk>,
}

impl Change {
    /// What a source stored in a step.
    pub(crate) fn of(stored: Stored) -> Change {
        let mut modified: Vec<Modified> = Vec::new();
        for (column, cells) in stored.writes.modified.into_iter().enumerate() {
            let Some((rows, cells)) = cells.filter(|(rows, _)| !rows.is_empty()) else { continue };
            match modified.iter_mut().find(|known| known.rows == rows) {
                Some(known) => {
                    known.columns.push(column);
                    known.cells.push(cells);
                }
                None => modified.push(Modified { rows, columns: vec![column], cells: vec![cells] }),
            }
        }
        Change {
            table: stored.source,
            next: stored.next,
            removed: stored.writes.removed.0,
            shifts: stored.writes.shifts.iter().copied().collect(),
            added: stored.writes.added,
            modified,
        }
    }

    /// Whether rows are added and nothing else.
    pub(crate) fn is_add_only(&self) -> bool {
        self.removed.is_empty() && self.shifts.is_empty() && self.modified.is_empty()
    }

    pub(crate) fn put(&self, into: &mut Draft) -> Result<(), String> {
        let bytes = into.bytes();
        put_number(bytes, self.table);
        put_number(bytes, self.next);
        put_keys(bytes, &self.removed);
        put_number(bytes, self.shifts.len() as u64);
        for shift in &self.shifts {
            put_number(bytes, shift.first);
            put_number(bytes, shift.last);
            bytes.extend(shift.delta.to_le_bytes());
        }
        let added = joined(&self.added)?;
        put_number(bytes, added.len() as u64);
        for (keys, cells) in &added {
            put_keys(into.bytes(), keys);
            put_cells(into, keys.len() as usize, cells)?;
        }
        put_number(into.bytes(), self.modified.len() as u64);
        for Modified { rows, columns, cells } in &self.modified {
            let bytes = into.bytes();
            put_keys(bytes, rows);
            put_number(bytes, columns.len() as u64);
            columns.iter().for_each(|column| put_number(bytes, *column as u64));
            put_cells(into, rows.len() as usize, cells)?;
        }
        Ok(())
    }

    /// The changes of a record; `types` gives the stored types of a table's columns.
    pub(crate) fn all(body: &[u8], types: impl Fn(u64) -> Option<Vec<DataType>>) -> Result<Vec<Change>, String> {
        let mut bytes = Bytes::new(body);
        let mut changes = Vec::new();
        while !bytes.is_empty() {
            changes.push(Change::read(&mut bytes, &types)?);
        }
        Ok(changes)
    }

    fn read(bytes: &mut Bytes<'_>, types: impl Fn(u64) -> Option<Vec<DataType>>) -> Result<Change, String> {
        let table = bytes.number()?;
        let types = types(table).ok_or_else(|| format!("it changes table {table}, of which nothing is said before"))?;
        let (next, removed) = (bytes.number()?, bytes.keys()?);
        let mut shifts = Vec::new();
        for _ in 0..bytes.number()? {
            let (first, last) = (bytes.number()?, bytes.number()?);
            shifts.push(Shift { first, last, delta: bytes.number()? as i64 });
        }
        let mut added = Vec::new();
        for _ in 0..bytes.number()? {
            let keys = bytes.keys()?;
            added.extend(pieces(&keys, &bytes.cells()?, &types)?);
        }
        let mut modified = Vec::new();
        for _ in 0..bytes.number()? {
            let rows = bytes.keys()?;
            let mut columns = Vec::new();
            for _ in 0..bytes.number()? {
                let column = bytes.number()? as usize;
                if column >= types.len() {
                    return Err(format!("cells of column {column}, of {}", types.len()));
                }
                columns.push(column);
            }
            let of: Vec<DataType> = columns.iter().map(|column| types[*column].clone()).collect();
            let mut from = 0;
            for batch in bytes.cells()? {
                let len = batch.num_rows() as u64;
                modified.push(Modified {
                    rows: rows.slice(from, len),
                    columns: columns.clone(),
                    cells: cells(&batch, &of)?,
                });
                from += len;
            }
            if from != rows.len() {
                return Err(format!("{} row keys with cells of {from} rows", rows.len()));
            }
        }
        Ok(Change { table, next, removed, shifts, added, modified })
    }
}

fn cells(batch: &RecordBatch, types: &[DataType]) -> Result<Vec<Chunk>, String> {
    stored(batch, types)
}

/// Pieces whose keys follow on each other as one: calls of one row each make one array.
pub(crate) fn joined(pieces: &[(RowSet, Vec<Chunk>)]) -> Result<Vec<(RowSet, Vec<Chunk>)>, String> {
    let mut made: Vec<(RowSet, Vec<Chunk>)> = Vec::new();
    let mut at = 0;
    while at < pieces.len() {
        let mut end = at + 1;
        let mut keys = pieces[at].0.clone();
        let mut rows = keys.len();
        while let Some((next, _)) = pieces.get(end)
            && rows + next.len() <= crate::sizes::PIECE_ROWS.rows().max(1)
        {
            rows += next.len();
            end += 1;
        }
        let run = &pieces[at..end];
        if let [only] = run {
            made.push(only.clone());
        } else {
            let ends = run.first().and_then(|piece| piece.0.first()).zip(run.last().and_then(|piece| piece.0.last()));
            keys = match ends {
                Some((first, last)) if last - first + 1 == rows => RowSet::range(first, last),
                _ => run.iter().skip(1).fold(keys, |keys, (more, _)| &keys | more),
            };
            let column = |at: usize| {
                let chunks: Vec<_> = run.iter().map(|(_, cells)| cells[at].as_ref()).collect();
                arrow_select::concat::concat(&chunks).map_err(|error| error.to_string())
            };
            made.push((keys, (0..run[0].1.len()).map(column).collect::<Result<_, _>>()?));
        }
        at = end;
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, StringViewArray};

    use super::*;

    #[test]
    fn a_change_comes_back_and_changed_bytes_are_told_or_read() {
        let types = vec![DataType::Int64, DataType::Utf8View];
        let cells = |n: i64| -> Vec<Chunk> {
            let texts: Vec<String> = (0..n).map(|at| format!("text {at}")).collect();
            vec![Arc::new(Int64Array::from_iter_values(0..n)), Arc::new(StringViewArray::from_iter_values(texts))]
        };
        let change = Change {
            table: 3,
            next: 40,
            removed: RowSet::from_sorted_keys(&[1, 5, 9]),
            shifts: vec![Shift { first: 10, last: 20, delta: -2 }],
            added: vec![(RowSet::range(30, 33), cells(4)), (RowSet::range(34, 34), cells(1))],
            modified: vec![Modified {
                rows: RowSet::from_sorted_keys(&[2, 4]),
                columns: vec![1],
                cells: cells(2)[1..].to_vec(),
            }],
        };
        let mut bytes = Draft::default();
        change.put(&mut bytes).unwrap();
        let bytes = bytes.parts().concat();
        let known = |id: u64| (id == 3).then(|| types.clone());
        let back = Change::all(&bytes, known).unwrap();
        assert_eq!((back.len(), back[0].next, &back[0].removed), (1, 40, &change.removed));
        assert_eq!(back[0].shifts, change.shifts);
        // The two pieces are one.
        assert_eq!(back[0].added.len(), 1);
        assert_eq!((&back[0].added[0].0, back[0].added[0].1[0].len()), (&RowSet::range(30, 34), 5));
        assert_eq!((&back[0].modified[0].rows, &back[0].modified[0].columns), (&change.modified[0].rows, &vec![1]));
        assert_eq!(&back[0].modified[0].cells[0], &change.modified[0].cells[0]);
        assert!(Change::all(&bytes, |_| None).is_err_and(|what| what.contains("table 3")));
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..3000 {
            let mut changed = bytes.clone();
            for _ in 0..3 {
                let at = random.usize(..changed.len());
                changed[at] = random.u8(..);
            }
            changed.truncate(changed.len() - random.usize(..3));
            // Read or told, and never a panic.
            let _ = Change::all(&changed, known);
        }
    }
}
