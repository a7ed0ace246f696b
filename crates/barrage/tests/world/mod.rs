//! A table of plain rows that changes at random, and says how.

pub mod client;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, StringArray, UInt16Array};
use arrow_schema::{DataType, Field, Schema};
use barrage::{BarrageError, Cells};
use engine::TableUpdate;
use fastrand::Rng;
use rowset::{Before, RowSet, Shifts, Span};

/// Once in so many times.
pub fn chance(random: &mut Rng, of: u64) -> bool {
    random.u64(..of) == 0
}

#[derive(Clone, Default)]
struct Row {
    number: Option<i64>,
    text: Option<String>,
    float: Option<f64>,
    truth: Option<bool>,
    letter: Option<u16>,
    list: Option<Vec<Option<i64>>>,
}

const COLUMNS: usize = 6;

impl Row {
    fn draw(random: &mut Rng) -> Row {
        let mut row = Row::default();
        (0..COLUMNS).for_each(|column| row.redraw(column, random));
        row
    }

    fn redraw(&mut self, column: usize, random: &mut Rng) {
        let some = !chance(random, 4);
        let word = random.u64(..1000);
        match column {
            0 => self.number = some.then_some(word as i64 - 500),
            1 => self.text = some.then(|| "text".repeat((word % 4) as usize) + &word.to_string()),
            2 => self.float = some.then_some(word as f64 / 8.0),
            3 => self.truth = some.then_some(word.is_multiple_of(2)),
            4 => self.letter = some.then_some(word as u16),
            _ => self.list = some.then(|| (0..word % 3).map(|at| (at != 1).then_some(word as i64)).collect()),
        }
    }
}

/// The elements of lists, as the wire has them.
fn item() -> Arc<Field> {
    let metadata = [("deephaven:type".to_owned(), "long".to_owned())];
    Arc::new(Field::new("", DataType::Int64, true).with_metadata(std::collections::HashMap::from(metadata)))
}

/// The table.
#[derive(Clone)]
pub struct World {
    rows: BTreeMap<u64, Row>,
    top: u64,
}

impl World {
    pub fn new(random: &mut Rng) -> World {
        let top = [40, 200, 1 << 20, 1 << 40][random.u64(..4) as usize];
        let mut world = World { rows: BTreeMap::new(), top };
        for _ in 0..random.u64(..20) {
            world.rows.insert(random.u64(..top), Row::draw(random));
        }
        world
    }

    pub fn schema(&self) -> Schema {
        Schema::new(vec![
            Field::new("number", DataType::Int64, true),
            Field::new("text", DataType::Utf8, true),
            Field::new("float", DataType::Float64, true),
            Field::new("truth", DataType::Boolean, true),
            Field::new("letter", DataType::UInt16, true),
            Field::new("list", DataType::List(item()), true),
        ])
    }

    pub fn keys(&self) -> Vec<u64> {
        self.rows.keys().copied().collect()
    }

    pub fn rows(&self) -> RowSet {
        RowSet::from_sorted_keys(&self.keys())
    }

    /// Changes the table; none if nothing changed.
    pub fn step(&mut self, random: &mut Rng) -> Option<TableUpdate> {
        let kind = random.u64(..10);
        let removed: Vec<u64> = match kind {
            0 if chance(random, 4) => self.keys(),
            1..=4 => self.keys().into_iter().filter(|_| chance(random, 5)).collect(),
            _ => Vec::new(),
        };
        removed.iter().for_each(|key| drop(self.rows.remove(key)));
        let survivors = self.keys();
        let mut keys = survivors.clone();
        for _ in 0..if chance(random, 3) { 1 + random.u64(..2) } else { 0 } {
            move_some(&mut keys, random);
        }
        let moves = survivors
            .iter()
            .zip(&keys)
            .map(|(from, to)| (Span { first: *from, last: *from }, *to as i64 - *from as i64));
        let shifts = Shifts::from_moves(&Before(RowSet::from_sorted_keys(&survivors)), moves);
        let rows = std::mem::take(&mut self.rows);
        self.rows = keys.iter().copied().zip(rows.into_values()).collect();
        let mut update =
            TableUpdate { removed: Before(RowSet::from_sorted_keys(&removed)), shifts, ..TableUpdate::default() };
        if chance(random, 2) {
            let columns: Vec<usize> = (0..COLUMNS).filter(|_| chance(random, 3)).collect();
            let modified: Vec<u64> = keys.into_iter().filter(|_| chance(random, 4)).collect();
            if !columns.is_empty() && !modified.is_empty() {
                for key in &modified {
                    let row = self.rows.get_mut(key).expect("a survivor");
                    columns.iter().for_each(|column| row.redraw(*column, random));
                }
                (update.modified, update.columns) =
                    (RowSet::from_sorted_keys(&modified), columns.into_iter().collect());
            }
        }
        let mut added = Vec::new();
        for _ in 0..if kind > 2 && self.rows.len() < 60 { random.u64(..4) } else { 0 } {
            let last = self.rows.keys().next_back().map_or(0, |key| key + 1);
            let key = if chance(random, 2) { last } else { random.u64(..self.top) };
            if let std::collections::btree_map::Entry::Vacant(free) = self.rows.entry(key) {
                free.insert(Row::draw(random));
                added.push(key);
            }
        }
        update.added = RowSet::from_keys(added);
        (!update.is_empty()).then_some(update)
    }
}

/// Moves a run of keys as far as their neighbours allow.
fn move_some(keys: &mut [u64], random: &mut Rng) {
    if keys.is_empty() {
        return;
    }
    let first = random.usize(..keys.len());
    let last = if chance(random, 2) { keys.len() - 1 } else { first + random.usize(..keys.len() - first) };
    let below = first.checked_sub(1).map_or(0, |at| keys[at] + 1);
    let above = keys.get(last + 1).map_or(keys[last] + 9, |key| key - 1);
    let (down, up) = (keys[first] - below, above - keys[last]);
    let delta = match chance(random, 2) {
        true => -(random.u64(..=down) as i64),
        false => random.u64(..=up) as i64,
    };
    keys[first..=last]
        .iter_mut()
        .for_each(|key| *key = key.checked_add_signed(delta).expect("within the space of keys"));
}

impl Cells for World {
    fn cells(&self, column: usize, rows: &RowSet) -> Result<ArrayRef, BarrageError> {
        let picked = || rows.iter().map(|key| &self.rows[&key]);
        Ok(match column {
            0 => Arc::new(picked().map(|row| row.number).collect::<Int64Array>()),
            1 => Arc::new(picked().map(|row| row.text.clone()).collect::<StringArray>()),
            2 => Arc::new(picked().map(|row| row.float).collect::<Float64Array>()),
            3 => Arc::new(picked().map(|row| row.truth).collect::<BooleanArray>()),
            4 => Arc::new(picked().map(|row| row.letter).collect::<UInt16Array>()),
            _ => {
                let list = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(
                    picked().map(|row| row.list.clone()),
                );
                let (_, offsets, values, nulls) = list.into_parts();
                let listed = ListArray::try_new(item(), offsets, values, nulls);
                Arc::new(listed.map_err(|error| BarrageError::Batch { what: error.to_string() })?)
            }
        })
    }
}
