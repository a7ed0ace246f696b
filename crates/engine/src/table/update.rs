//! The update of a table in one step: rows added, removed, modified and shifted.
//!
//! Key spaces are types: `removed` holds keys before the step's shifts, `added` and `modified` hold keys after them.

use column::kernels::ones;
use rowset::{Before, RowSet, Shifts};

/// A set of columns, by position in the schema.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ColumnSet {
    low: u64,
    high: Vec<u64>,
}

impl ColumnSet {
    /// No column.
    pub fn new() -> ColumnSet {
        ColumnSet::default()
    }

    /// The first `count` columns.
    pub fn all(count: usize) -> ColumnSet {
        (0..count).collect()
    }

    /// Adds a column.
    pub fn insert(&mut self, column: usize) {
        if column < 64 {
            self.low |= 1 << column;
            return;
        }
        let word = column / 64 - 1;
        if self.high.len() <= word {
            self.high.resize(word + 1, 0);
        }
        self.high[word] |= 1 << (column % 64);
    }

    /// Whether a column is in the set.
    pub fn contains(&self, column: usize) -> bool {
        if column < 64 {
            return self.low >> column & 1 == 1;
        }
        self.high.get(column / 64 - 1).is_some_and(|word| word >> (column % 64) & 1 == 1)
    }

    /// Whether no column is in the set.
    pub fn is_empty(&self) -> bool {
        self.low == 0 && self.high.iter().all(|word| *word == 0)
    }

    /// The columns, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let words = std::iter::once(&self.low).chain(&self.high).enumerate();
        words.flat_map(|(word, bits)| ones(*bits).map(move |place| word * 64 + place))
    }

    /// Whether any of `columns` is in the set.
    pub fn contains_any(&self, columns: &[usize]) -> bool {
        columns.iter().any(|column| self.contains(*column))
    }

    /// This set, or the empty set if there are no modified rows: modified rows and modified columns are empty together
    /// (U4).
    pub fn unless_empty(&self, modified: &RowSet) -> ColumnSet {
        if modified.is_empty() { ColumnSet::new() } else { self.clone() }
    }
}

impl FromIterator<usize> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> ColumnSet {
        let mut set = ColumnSet::new();
        columns.into_iter().for_each(|column| set.insert(column));
        set
    }
}

/// One step's change of one table. `rows(now) = shifts(rows(before) − removed) ∪ added`.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TableUpdate {
    /// New rows, in after-keys.
    pub added: RowSet,
    /// Removed rows, in before-keys.
    pub removed: Before,
    /// Surviving rows of which some cell in `columns` changed, in after-keys.
    pub modified: RowSet,
    /// Columns in which some cell of `modified` changed.
    pub columns: ColumnSet,
    /// Shifts of the surviving rows: ranges of before-keys, each with a delta.
    pub shifts: Shifts,
}

impl TableUpdate {
    /// An update that only adds rows.
    pub fn of_added(added: RowSet) -> TableUpdate {
        TableUpdate { added, ..TableUpdate::default() }
    }

    /// Whether nothing changed. An empty update is never sent (U6).
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.0.is_empty() && self.modified.is_empty() && self.shifts.is_empty()
    }

    /// Whether the update only adds rows.
    pub fn is_add_only(&self) -> bool {
        self.removed.0.is_empty() && self.modified.is_empty() && self.shifts.is_empty()
    }

    /// The size of the change: rows added, removed and modified.
    pub fn size(&self) -> u64 {
        self.added.len() + self.removed.0.len() + self.modified.len()
    }

    /// Checks, in O(1), the part of the update law that does not depend on the rows (U4).
    pub fn check(&self, columns: usize) -> Result<(), String> {
        let broken = |what: &str| Err(format!("{what}: {self:?}"));
        if self.modified.is_empty() != self.columns.is_empty() {
            return broken("U4: modified rows and modified columns must be empty together");
        }
        if self.columns.iter().any(|column| column >= columns) {
            return broken("U4: a modified column outside the schema");
        }
        Ok(())
    }

    /// Checks U3 and U4 row by row of the change, against the rows after it.
    pub fn check_change(&self, now: &RowSet) -> Result<(), String> {
        let broken = |what: &str| Err(format!("{what}: {self:?}"));
        if self.modified.overlaps(&self.added) {
            return broken("U4: a row both added and modified");
        }
        if !self.added.is_subset(now) || !self.modified.is_subset(now) {
            return broken("U3: an added or modified row is not there");
        }
        Ok(())
    }

    /// Checks U1, U3 and U4 against the whole row sets on both sides.
    pub fn check_rows(&self, before: &RowSet, now: &RowSet) -> Result<(), String> {
        self.check_change(now)?;
        let broken = |what: &str| Err(format!("{what}: {self:?}"));
        if !self.removed.0.is_subset(before) {
            return broken("U1: removed rows that were not there");
        }
        let moved = self.shifts.forward(&Before(before - &self.removed.0));
        if moved.overlaps(&self.added) {
            return broken("U3: an added row lands on a survivor");
        }
        if &(&moved | &self.added) != now {
            return broken("U3: rows(now) is not survivors and added rows");
        }
        if !self.modified.is_subset(&moved) {
            return broken("U4: a modified row that did not survive");
        }
        Ok(())
    }
}

/// Several steps' updates as one: each column keeps its own modified rows, because merging the
/// column set alone would claim a change where there was none.
#[derive(Clone, Debug)]
pub struct Merged {
    base: RowSet,
    added: RowSet,
    removed: Before,
    modified: Vec<RowSet>,
    shifts: Shifts,
}

impl Merged {
    /// Nothing yet, over a table with these rows and so many columns.
    pub fn new(base: RowSet, columns: usize) -> Merged {
        Merged {
            base,
            added: RowSet::new(),
            removed: Before::default(),
            modified: vec![RowSet::new(); columns],
            shifts: Shifts::default(),
        }
    }

    /// Takes the next update in (`u₁ then u₂` of the update algebra).
    pub fn push(&mut self, next: &TableUpdate) {
        let fresh_gone = &self.added & &next.removed.0;
        let old_gone = &next.removed.0 - &fresh_gone;
        if !old_gone.is_empty() {
            self.removed.0 |= &self.shifts.back(&old_gone).0;
        }
        carry(&mut self.added, next);
        self.added |= &next.added;
        for (column, rows) in self.modified.iter_mut().enumerate() {
            if !rows.is_empty() {
                carry(rows, next);
                *rows -= &next.added;
            }
            if next.columns.contains(column) {
                *rows |= &(&next.modified - &self.added);
            }
        }
        if !self.shifts.is_empty() || !next.shifts.is_empty() {
            let survivors = Before(&self.base - &self.removed.0);
            self.shifts = self.shifts.then(&next.shifts, &survivors);
        }
    }

    /// The rows of one column that are modified.
    pub fn modified_in(&self, column: usize) -> &RowSet {
        &self.modified[column]
    }

    /// As one update, with one modified set for all its columns.
    pub fn update(&self) -> TableUpdate {
        let mut modified = RowSet::new();
        let mut columns = ColumnSet::new();
        for (column, rows) in self.modified.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            modified |= rows;
            columns.insert(column);
        }
        TableUpdate {
            added: self.added.clone(),
            removed: self.removed.clone(),
            modified,
            columns,
            shifts: self.shifts.clone(),
        }
    }
}

/// Where the rows of a set stand after an update that they may not all outlive. Costs what goes, unless rows move.
fn carry(rows: &mut RowSet, update: &TableUpdate) {
    if update.shifts.is_empty() {
        *rows -= &update.removed.0;
    } else {
        *rows = update.shifts.forward(&Before(&*rows - &update.removed.0));
    }
}
