//! Calls of an input table against a plain map: what breaks the law of updates is refused and changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use engine::sources::{Apply, InputTable};
use engine::testing::{Watch, still_graph};
use rowset::{RowSet, Shift};

use super::reader::Reader;

type Row = (i64, Option<String>);

/// Calls and steps in any order, under drawn sizes; after each step the table holds what the map holds.
pub fn apply(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let scope = limits::Scope::drawn(u64::from(reader.byte()));
    scope.enter(|| sequence(&mut reader));
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true), Field::new("s", DataType::Utf8, true)]))
}

fn sequence(reader: &mut Reader<'_>) {
    let graph = still_graph();
    let table = InputTable::new(&graph, schema()).expect("a table");
    let watch = Watch::attach(table.table()).expect("a watch");
    let mut held: BTreeMap<u64, Row> = BTreeMap::new();
    for _ in 0..24 {
        if reader.is_empty() {
            break;
        }
        if reader.below(3) == 0 {
            graph.step().expect("a step");
            compare(&watch, &held);
            continue;
        }
        let call = Call::read(reader);
        let next = call.applied_to(&held);
        match (table.apply(call.given()), next) {
            (Ok(_), Some(next)) => held = next,
            (Err(_), None) => {}
            (Ok(_), None) => panic!("{call:?} breaks the law over {held:?}, and was taken"),
            (Err(error), Some(_)) => panic!("{call:?} keeps the law over {held:?}, and was refused: {error}"),
        }
    }
    graph.step().expect("a step");
    compare(&watch, &held);
    assert_eq!(watch.fault(), None);
}

fn compare(watch: &Watch, held: &BTreeMap<u64, Row>) {
    let keys: Vec<u64> = held.keys().copied().collect();
    let expected = engine::testing::Plain::from_arrays(schema(), &keys, &batch(held.values()));
    watch.with_now(|now| assert_eq!(expected.first_difference_in_order(now), None));
}

fn batch<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Vec<ArrayRef> {
    let numbers: Int64Array = rows.clone().map(|(number, _)| Some(*number)).collect();
    let texts: StringArray = rows.map(|(_, text)| text.as_deref()).collect();
    vec![Arc::new(numbers), Arc::new(texts)]
}

#[derive(Debug)]
struct Call {
    removed: Vec<u64>,
    shifted: Vec<(u64, u64, i64)>,
    added: BTreeMap<u64, Row>,
    modified: BTreeMap<u64, Row>,
}

impl Call {
    fn read(reader: &mut Reader<'_>) -> Call {
        let mut removed: Vec<u64> = (0..reader.below(4)).map(|_| key(reader)).collect();
        removed.sort_unstable();
        removed.dedup();
        let rows = |reader: &mut Reader<'_>| -> BTreeMap<u64, Row> {
            (0..reader.below(5)).map(|_| (key(reader), (reader.integer(), text(reader)))).collect()
        };
        let (added, modified) = (rows(reader), rows(reader));
        let shift = |reader: &mut Reader<'_>| {
            let (first, delta) = (key(reader), i64::from(reader.byte() as i8 / 8));
            (first, first + reader.below(8) as u64, delta)
        };
        let shifted = if reader.below(4) == 0 { vec![shift(reader)] } else { Vec::new() };
        Call { removed, shifted, added, modified }
    }

    fn given(&self) -> Apply {
        let part = |rows: &BTreeMap<u64, Row>| {
            (!rows.is_empty()).then(|| {
                let batch = RecordBatch::try_new(schema(), batch(rows.values())).expect("a batch");
                (RowSet::from_keys(rows.keys().copied().collect()), batch)
            })
        };
        let shifted =
            self.shifted.iter().map(|(first, last, delta)| Shift { first: *first, last: *last, delta: *delta });
        Apply {
            added: part(&self.added),
            removed: RowSet::from_keys(self.removed.clone()),
            modified: part(&self.modified),
            shifted: shifted.collect(),
        }
    }

    /// The rows after this call; none where it breaks the law.
    fn applied_to(&self, held: &BTreeMap<u64, Row>) -> Option<BTreeMap<u64, Row>> {
        let mut rows = held.clone();
        for key in &self.removed {
            rows.remove(key)?;
        }
        for (first, last, delta) in &self.shifted {
            // A range may be wider than its rows: only rows that are there have to stay in the key space.
            if *delta == 0 {
                return None;
            }
            let keys: Vec<u64> = rows.range(first..=last).map(|(key, _)| *key).collect();
            let moved: Vec<(u64, Row)> = keys.iter().filter_map(|key| Some((*key, rows.remove(key)?))).collect();
            // Order is kept, and nobody is overrun.
            for (key, row) in &moved {
                let to = key.checked_add_signed(*delta)?;
                let (low, high) = (to.min(*key), to.max(*key));
                if rows.range(low..=high).next().is_some() {
                    return None;
                }
                let _ = row;
            }
            for (key, row) in moved {
                rows.insert(key.checked_add_signed(*delta)?, row);
            }
        }
        for (key, row) in &self.modified {
            *rows.get_mut(key)? = row.clone();
        }
        for (key, row) in &self.added {
            if self.modified.contains_key(key) || rows.insert(*key, row.clone()).is_some() {
                return None;
            }
        }
        Some(rows)
    }
}

fn key(reader: &mut Reader<'_>) -> u64 {
    let near = [0_u64, 60, 4090, 65_530, 1 << 31];
    *reader.choice(&near) + reader.below(16) as u64
}

fn text(reader: &mut Reader<'_>) -> Option<String> {
    match reader.below(4) {
        0 => None,
        1 => Some("a text that no view holds by itself, ".repeat(1 + reader.below(8))),
        _ => Some(reader.text(24)),
    }
}
