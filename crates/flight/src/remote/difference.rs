//! The difference between the rows that are held and those of a fresh snapshot, as calls that lead from one to the other.
//!
//! Rows are matched by key, or, where that leaves fewer of them as they were, by position: what is equal at the front and
//! at the end stays, under other keys. Cells of matched rows are compared; NaN equals NaN.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

use arrow_array::{Array, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_row::{RowConverter, Rows as Encoded, SortField};
use arrow_schema::ArrowError;
use arrow_select::take::take;
use engine::sources::Apply;
use rowset::{RowSet, Shift};

/// Rows with their keys, in key order.
pub(crate) struct Rows {
    pub(crate) keys: RowSet,
    pub(crate) cells: RecordBatch,
}

/// Rows of before and of now that are one row, as positions; ascending on both sides.
type Pairs = Vec<(usize, usize)>;

/// Each column of both sides, in a form that is compared byte by byte.
struct Compared(Vec<(Encoded, Encoded)>);

impl Compared {
    fn of(before: &Rows, now: &Rows) -> Result<Compared, ArrowError> {
        let mut columns = Vec::new();
        for (old, new) in before.cells.columns().iter().zip(now.cells.columns()) {
            let converter = RowConverter::new(vec![SortField::new(old.data_type().clone())])?;
            let encoded = |column| converter.convert_columns(std::slice::from_ref(column));
            columns.push((encoded(old)?, encoded(new)?));
        }
        Ok(Compared(columns))
    }

    fn same(&self, column: usize, old: usize, new: usize) -> bool {
        let (before, now) = &self.0[column];
        before.row(old) == now.row(new)
    }

    fn hashes(&self, rows: usize, side: impl Fn(&(Encoded, Encoded)) -> &Encoded) -> Vec<u64> {
        let hash = |row: usize| {
            let mut hasher = DefaultHasher::new();
            for column in &self.0 {
                hasher.write(side(column).row(row).as_ref());
                hasher.write_u8(0);
            }
            hasher.finish()
        };
        (0..rows).map(hash).collect()
    }
}

fn by_key(before: &RowSet, now: &RowSet) -> Pairs {
    let both = before & now;
    let places = |of: &RowSet| of.positions_of(&both).0.to_vec();
    places(before).into_iter().zip(places(now)).map(|(old, new)| (old as usize, new as usize)).collect()
}

fn by_place(before: &[u64], now: &[u64]) -> Pairs {
    let front = before.iter().zip(now).take_while(|(old, new)| old == new).count();
    let (rest, fresh) = (&before[front..], &now[front..]);
    let back = rest.iter().rev().zip(fresh.iter().rev()).take_while(|(old, new)| old == new).count();
    let middle = (rest.len() - back).min(fresh.len() - back);
    let head = (0..front + middle).map(|at| (at, at));
    let tail = (0..back).rev().map(|at| (before.len() - 1 - at, now.len() - 1 - at));
    head.chain(tail).collect()
}

/// Rows that are not as they were, if these are matched.
fn changed(pairs: &Pairs, before: &[u64], now: &[u64]) -> usize {
    let same = pairs.iter().filter(|(old, new)| before[*old] == now[*new]).count();
    before.len() + now.len() - 2 * same
}

fn taken(of: &RecordBatch, columns: &[usize], rows: &[usize]) -> Result<RecordBatch, ArrowError> {
    let places: UInt64Array = rows.iter().map(|row| *row as u64).collect();
    let arrays: Result<Vec<_>, ArrowError> =
        columns.iter().map(|column| take(of.column(*column), &places, None)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(std::sync::Arc::new(of.schema().project(columns)?), arrays?, &options)
}

/// The calls, which belong into one step; none if nothing differs.
pub(crate) fn between(before: &Rows, now: &Rows) -> Result<Vec<Apply>, ArrowError> {
    let compared = Compared::of(before, now)?;
    let (old, new) = (before.keys.len() as usize, now.keys.len() as usize);
    let hashes = (compared.hashes(old, |column| &column.0), compared.hashes(new, |column| &column.1));
    let mut pairs = by_key(&before.keys, &now.keys);
    let placed = by_place(&hashes.0, &hashes.1);
    if changed(&placed, &hashes.0, &hashes.1) < changed(&pairs, &hashes.0, &hashes.1) {
        pairs = placed;
    }
    let (before_keys, now_keys) = (before.keys.to_vec(), now.keys.to_vec());
    let kept: RowSet = pairs.iter().map(|(old, _)| before_keys[*old]).collect();
    let stayed: RowSet = pairs.iter().map(|(_, new)| now_keys[*new]).collect();
    let removed = &before.keys - &kept;
    let added = &now.keys - &stayed;
    let mut shifted: Vec<Shift> = Vec::new();
    // A shift is the hull of neighbours that move alike; one that does not move parts them.
    let mut last = 0_i64;
    for (old, new) in &pairs {
        let (from, to) = (before_keys[*old], now_keys[*new]);
        let delta = to as i64 - from as i64;
        match shifted.last_mut().filter(|_| delta == last) {
            Some(shift) if delta != 0 => shift.last = from,
            _ if delta != 0 => shifted.push(Shift { first: from, last: from, delta }),
            _ => {}
        }
        last = delta;
    }
    // Columns whose changed rows are the same go together.
    let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for column in 0..compared.0.len() {
        let differ = |(_, (old, new)): &(usize, &(usize, usize))| !compared.same(column, *old, *new);
        let rows: Vec<usize> = pairs.iter().enumerate().filter(differ).map(|(_, (_, new))| *new).collect();
        if !rows.is_empty() {
            groups.entry(rows).or_default().push(column);
        }
    }
    let mut calls = Vec::new();
    if !(removed.is_empty() && added.is_empty() && shifted.is_empty()) {
        let places: Vec<usize> = now.keys.positions_of(&added).0.to_vec().into_iter().map(|at| at as usize).collect();
        let all: Vec<usize> = (0..now.cells.num_columns()).collect();
        let rows = if added.is_empty() { None } else { Some((added, taken(&now.cells, &all, &places)?)) };
        calls.push(Apply { added: rows, removed, modified: None, shifted });
    }
    for (rows, columns) in groups {
        let keys: RowSet = rows.iter().map(|row| now_keys[*row]).collect();
        let modified = Some((keys, taken(&now.cells, &columns, &rows)?));
        calls.push(Apply { modified, ..Apply::default() });
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    use engine::sources::{InputTable, Transaction};
    use graph::{Settings, UpdateGraph};

    use super::*;
    use crate::remote::target::rows_of;

    fn schema() -> Arc<Schema> {
        let fields = [("n", DataType::Int64), ("x", DataType::Float64), ("s", DataType::Utf8)];
        Arc::new(Schema::new(fields.map(|(name, of)| Field::new(name, of, true)).to_vec()))
    }

    fn rows(keys: &[u64], cells: &[(Option<i64>, f64, &str)]) -> Rows {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(cells.iter().map(|cell| cell.0).collect::<Int64Array>()),
            Arc::new(cells.iter().map(|cell| Some(cell.1)).collect::<Float64Array>()),
            Arc::new(cells.iter().map(|cell| Some(cell.2)).collect::<StringArray>()),
        ];
        Rows { keys: keys.iter().copied().collect(), cells: RecordBatch::try_new(schema(), columns).expect("rows") }
    }

    /// Rows touched on the way from one to the other: added, removed, cells that changed.
    fn led(before: &Rows, now: &Rows) -> [u64; 3] {
        let graph = UpdateGraph::new(Settings::default());
        let source = InputTable::new(&graph, schema()).expect("a source");
        let apply = |calls: Vec<Apply>| {
            let transaction = Transaction::begin(&graph);
            let calls = transaction.collect(|| calls.into_iter().map(|call| source.apply(call)).collect::<Vec<_>>());
            calls.into_iter().for_each(|call| drop(call.expect("it fits")));
            transaction.commit().expect("it fits");
            graph.step().expect("a step");
        };
        let nothing = Rows { keys: RowSet::new(), cells: RecordBatch::new_empty(schema()) };
        apply(between(&nothing, before).expect("a difference"));
        let calls = between(before, now).expect("a difference");
        let count = |part: &Option<(RowSet, RecordBatch)>| part.as_ref().map_or(0, |(keys, _)| keys.len());
        let cells = |part: &Option<(RowSet, RecordBatch)>| {
            part.as_ref().map_or(0, |(keys, batch)| keys.len() * batch.num_columns() as u64)
        };
        let added = calls.iter().map(|call| count(&call.added)).sum();
        let removed = calls.iter().map(|call| call.removed.len()).sum();
        let changed = calls.iter().map(|call| cells(&call.modified)).sum();
        apply(calls);
        let held = rows_of(source.table()).expect("rows");
        assert_eq!(held.keys, now.keys);
        let compared = Compared::of(&held, now).expect("one schema");
        for column in 0..3 {
            for row in 0..now.keys.len() as usize {
                assert!(compared.same(column, row, row), "column {column}, row {row}");
            }
        }
        [added, removed, changed]
    }

    #[test]
    fn nothing_is_touched_that_is_as_it_was() {
        let cells = [(Some(1), f64::NAN, "a"), (None, 2.0, "b"), (Some(3), 3.0, "c")];
        let same = rows(&[3, 5, 9], &cells);
        assert!(between(&same, &rows(&[3, 5, 9], &cells)).expect("a difference").is_empty());
        // Other keys, the same rows: they move.
        assert_eq!(led(&same, &rows(&[0, 7, 1 << 40], &cells)), [0, 0, 0]);
        // A row more in front, and one in the middle.
        let more = [(Some(0), 0.0, ""), cells[0], cells[1], cells[2]];
        assert_eq!(led(&same, &rows(&[0, 1, 2, 3], &more)), [1, 0, 0]);
        let more = [cells[0], (Some(0), 0.0, ""), cells[1], cells[2]];
        assert_eq!(led(&same, &rows(&[3, 4, 5, 9], &more)), [1, 0, 0]);
        // One cell differs.
        let other = [cells[0], (None, 2.0, "B"), cells[2]];
        assert_eq!(led(&same, &rows(&[3, 5, 9], &other)), [0, 0, 1]);
        assert_eq!(led(&same, &rows(&[0, 1, 2], &other)), [0, 0, 1]);
        assert_eq!(led(&same, &rows(&[], &[])), [0, 3, 0]);
    }

    #[test]
    fn any_rows_lead_to_any_others() {
        let mut seed = 7_u64;
        let mut below = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        for _ in 0..400 {
            let mut draw = || {
                let keys: RowSet = (0..below(12)).map(|_| below(20)).collect();
                let cells: Vec<(Option<i64>, f64, &str)> = (0..keys.len())
                    .map(|_| {
                        let number = below(4);
                        let text = ["", "a", "b"][below(3) as usize];
                        ((number > 0).then_some(number as i64), [0.5, f64::NAN][below(2) as usize], text)
                    })
                    .collect();
                rows(&keys.to_vec(), &cells)
            };
            let (before, now) = (draw(), draw());
            led(&before, &now);
        }
    }
}
