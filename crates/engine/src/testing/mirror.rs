//! A table kept by hand beside the engine's, and the raw steps that change both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::Schema;
use rowset::RowSet;

use super::plain::{Cell, Plain, array_of, cells_of};

/// One lawful update of an input table (U1–U4 hold over the mirror it was made for).
#[derive(Clone, Debug, Default)]
pub struct RawStep {
    /// Keys before the shifts.
    pub removed: RowSet,
    /// First and last key before, and the delta; hulls of consecutive survivors, ascending.
    pub shifts: Vec<(u64, u64, i64)>,
    /// Keys after, and all columns, in key order.
    pub added: (RowSet, Vec<ArrayRef>),
    /// Keys after, and the columns that change, in key order.
    pub modified: (RowSet, Vec<(usize, ArrayRef)>),
    /// The step in the form that a keyed table takes: by the cells of its key column.
    pub keyed: Option<KeyedStep>,
}

/// What goes and changes, by the cells of a key column.
#[derive(Clone, Debug)]
pub struct KeyedStep {
    /// Where the key column stands.
    pub column: usize,
    /// The keys of removed rows.
    pub gone: ArrayRef,
    /// All columns of modified rows, after the step.
    pub changed: Vec<ArrayRef>,
}

impl RawStep {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.shifts.is_empty() && self.added.0.is_empty() && self.modified.0.is_empty()
    }
}

/// Rows by key, and nothing clever.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// Names and declared types.
    pub schema: Arc<Schema>,
    /// The rows.
    pub rows: BTreeMap<u64, Vec<Cell>>,
}

impl Mirror {
    /// No row yet.
    pub fn new(schema: Arc<Schema>) -> Mirror {
        Mirror { schema, rows: BTreeMap::new() }
    }

    /// The rows as a plain table.
    pub fn plain(&self) -> Plain {
        Plain { schema: self.schema.clone(), rows: self.rows.iter().map(|(key, row)| (*key, row.clone())).collect() }
    }

    /// The cells of some rows, a column each.
    pub fn arrays_of(&self, keys: &RowSet) -> Vec<ArrayRef> {
        let cells = |at: usize| keys.iter().map(|key| self.rows[&key][at].clone()).collect::<Vec<Cell>>();
        let fields = self.schema.fields().iter().enumerate();
        fields.map(|(at, field)| array_of(field.data_type(), &cells(at))).collect()
    }

    /// Drop, shift, insert, overwrite: the order in which any mirror applies an update.
    pub fn apply(&mut self, step: &RawStep) {
        for key in step.removed.iter() {
            self.rows.remove(&key).expect("a removed row is there");
        }
        let goal = |key: u64| goal_of(&step.shifts, key);
        self.rows = std::mem::take(&mut self.rows).into_iter().map(|(key, row)| (goal(key), row)).collect();
        let added = Plain::from_arrays(self.schema.clone(), &step.added.0.to_vec(), &step.added.1);
        for (key, row) in added.rows {
            assert!(self.rows.insert(key, row).is_none(), "an added key is free");
        }
        for (column, array) in &step.modified.1 {
            for (key, cell) in step.modified.0.iter().zip(cells_of(array)) {
                self.rows.get_mut(&key).expect("a modified row is there")[*column] = cell;
            }
        }
    }
}

/// Where a key stands after the shifts.
pub fn goal_of(shifts: &[(u64, u64, i64)], key: u64) -> u64 {
    let shift = shifts.iter().find(|(first, last, _)| (*first..=*last).contains(&key));
    shift.map_or(key, |(.., delta)| key.checked_add_signed(*delta).expect("a shift stays in the key space"))
}

/// A step being written, over a mirror.
pub struct Draft<'a> {
    /// The rows before the step.
    pub mirror: &'a Mirror,
    /// Keys that go.
    pub removed: BTreeSet<u64>,
    /// Keys of survivors that move: before and after.
    pub moves: BTreeMap<u64, u64>,
    /// Rows that come.
    pub added: BTreeMap<u64, Vec<Cell>>,
    /// Cells that change, by key after and column. Every row names the same columns in the end.
    pub modified: BTreeMap<u64, BTreeMap<usize, Cell>>,
}

impl<'a> Draft<'a> {
    /// Nothing changes yet.
    pub fn new(mirror: &'a Mirror) -> Draft<'a> {
        Draft {
            mirror,
            removed: BTreeSet::new(),
            moves: BTreeMap::new(),
            added: BTreeMap::new(),
            modified: BTreeMap::new(),
        }
    }

    /// Survivors by their key after, with their key before.
    pub fn survivors(&self) -> BTreeMap<u64, u64> {
        let stay = self.mirror.rows.keys().filter(|key| !self.removed.contains(key));
        stay.map(|key| (self.moves.get(key).copied().unwrap_or(*key), *key)).collect()
    }

    /// Whether a key after the step is free for a new row.
    pub fn is_free(&self, key: u64) -> bool {
        !self.added.contains_key(&key) && !self.survivors().contains_key(&key)
    }

    /// The step. Modified rows are squared: a column that any names, all name.
    pub fn finish(self) -> RawStep {
        let survivors = self.survivors();
        let fields = self.mirror.schema.fields();
        let columns: BTreeSet<usize> = self.modified.values().flat_map(|cells| cells.keys().copied()).collect();
        let old = |key: &u64, column: usize| self.mirror.rows[&survivors[key]][column].clone();
        let modified_cells = |column: usize| -> Vec<Cell> {
            let cell = |(key, cells): (&u64, &BTreeMap<usize, Cell>)| {
                cells.get(&column).cloned().unwrap_or_else(|| old(key, column))
            };
            self.modified.iter().map(cell).collect()
        };
        let added_cells = |column: usize| self.added.values().map(|row| row[column].clone()).collect::<Vec<_>>();
        let set = |keys: Vec<u64>| RowSet::from_sorted_keys(&keys);
        RawStep {
            removed: set(self.removed.iter().copied().collect()),
            shifts: hulls(&survivors),
            added: (
                set(self.added.keys().copied().collect()),
                fields.iter().enumerate().map(|(at, field)| array_of(field.data_type(), &added_cells(at))).collect(),
            ),
            modified: (
                set(self.modified.keys().copied().collect()),
                columns.iter().map(|&at| (at, array_of(fields[at].data_type(), &modified_cells(at)))).collect(),
            ),
            keyed: None,
        }
    }
}

/// Runs of consecutive survivors that move by one delta.
fn hulls(survivors: &BTreeMap<u64, u64>) -> Vec<(u64, u64, i64)> {
    let mut found: Vec<(u64, u64, i64)> = Vec::new();
    let mut previous = 0;
    for (&after, &before) in survivors {
        let delta = (i128::from(after) - i128::from(before)) as i64;
        match found.last_mut() {
            Some(run) if delta != 0 && delta == previous => run.1 = before,
            _ if delta != 0 => found.push((before, before, delta)),
            _ => {}
        }
        previous = delta;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{DataType, Field};

    fn mirror(keys: &[u64]) -> Mirror {
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, true)]));
        Mirror { schema, rows: keys.iter().map(|key| (*key, vec![Cell::Int(*key as i64)])).collect() }
    }

    #[test]
    fn a_draft_becomes_a_step_that_the_mirror_follows() {
        let mut mirror = mirror(&[0, 1, 2, 3]);
        let mut draft = Draft::new(&mirror);
        draft.removed.insert(1);
        draft.moves = BTreeMap::from([(2, 1), (3, 2)]);
        assert!(draft.is_free(3) && !draft.is_free(2));
        draft.added.insert(3, vec![Cell::Int(9)]);
        draft.modified.entry(2).or_default().insert(0, Cell::Int(33));
        let step = draft.finish();
        assert_eq!(step.shifts, [(2, 3, -1)]);
        mirror.apply(&step);
        assert_eq!(mirror.plain().to_string(), "v | 0 0 | 1 2 | 2 33 | 3 9");
    }

    #[test]
    fn shifts_are_hulls_of_survivors_that_move_together() {
        let mirror = mirror(&[10, 11, 20, 30, 40]);
        let mut draft = Draft::new(&mirror);
        draft.removed.insert(20);
        draft.moves = BTreeMap::from([(10, 5), (11, 6), (30, 25), (40, 45)]);
        assert_eq!(draft.finish().shifts, [(10, 30, -5), (40, 40, 5)]);
    }
}
