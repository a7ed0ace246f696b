//! `input_table`: the update model by hand, in row keys.

use std::collections::{BTreeMap, BTreeSet};

use crate::table::{Fault, Row, Table};
use crate::value::Value;

/// One update: removed keys before the shifts, the rest after them.
#[derive(Clone, Debug, Default)]
pub struct InputStep {
    /// Removed keys.
    pub removed: Vec<u64>,
    /// Ranges that move: first, last, delta.
    pub shifts: Vec<(u64, u64, i64)>,
    /// Rows that come.
    pub added: Vec<(u64, Row)>,
    /// Cells that change: key, column, value.
    pub modified: Vec<(u64, String, Value)>,
}

/// Rows by row key.
#[derive(Clone, Debug)]
pub struct InputSource {
    names: Vec<String>,
    rows: BTreeMap<u64, Row>,
}

const LAST_KEY: u64 = (1 << 63) - 1;

impl InputSource {
    /// No row yet.
    pub fn new(names: &[&str]) -> InputSource {
        InputSource { names: names.iter().map(|name| (*name).to_owned()).collect(), rows: BTreeMap::new() }
    }

    /// Drop, shift, insert, overwrite. Whatever breaks the rules of an update is a fault, and
    /// nothing of it is applied.
    pub fn step(&mut self, step: &InputStep) -> Result<(), Fault> {
        let mut rows = self.rows.clone();
        for key in &step.removed {
            rows.remove(key).ok_or_else(|| Fault(format!("the removed key {key} is absent")))?;
        }
        let mut rows = shifted(rows, &step.shifts)?;
        let mut added = BTreeSet::new();
        for (key, row) in &step.added {
            if *key > LAST_KEY || rows.insert(*key, row.clone()).is_some() {
                return Err(Fault(format!("the added key {key} is taken or beyond the last")));
            }
            added.insert(*key);
        }
        for (key, column, value) in &step.modified {
            let at = self.names.iter().position(|name| name == column);
            let at = at.ok_or_else(|| Fault(format!("no column {column}")))?;
            match rows.get_mut(key) {
                Some(row) if !added.contains(key) => row[at] = value.clone(),
                _ => return Err(Fault(format!("the modified key {key} is absent or added"))),
            }
        }
        self.rows = rows;
        Ok(())
    }

    /// What stands there, with its keys. By position.
    pub fn table(&self) -> Table {
        Table { names: self.names.clone(), rows: self.rows.iter().map(|(key, row)| (*key, row.clone())).collect() }
    }
}

/// Every row at its new key. Rows must not meet, and must keep their order; every shift moves one.
fn shifted(rows: BTreeMap<u64, Row>, shifts: &[(u64, u64, i64)]) -> Result<BTreeMap<u64, Row>, Fault> {
    for &(first, last, delta) in shifts {
        let moves = first <= last && delta != 0 && rows.range(first..=last).next().is_some();
        let lands = |key: u64| key.checked_add_signed(delta).is_some_and(|key| key <= LAST_KEY);
        if !moves || !lands(first) || !lands(last) {
            return Err(Fault(format!(
                "the shift of [{first}..{last}] by {delta} moves nothing or leaves the key space"
            )));
        }
    }
    let overlaps = |ranges: &[(u64, u64)]| ranges.windows(2).any(|pair| pair[0].1 >= pair[1].0);
    let origins: Vec<(u64, u64)> = shifts.iter().map(|&(first, last, _)| (first, last)).collect();
    let by = |key: u64, delta: i64| key.wrapping_add_signed(delta);
    let goals: Vec<(u64, u64)> =
        shifts.iter().map(|&(first, last, delta)| (by(first, delta), by(last, delta))).collect();
    if overlaps(&origins) || overlaps(&goals) {
        return Err(Fault("shifts overlap or are out of order".into()));
    }
    let goal = |key: u64| {
        let shift = shifts.iter().find(|(first, last, _)| (*first..=*last).contains(&key));
        shift.map_or(key, |&(.., delta)| by(key, delta))
    };
    let moved: Vec<(u64, Row)> = rows.into_iter().map(|(key, row)| (goal(key), row)).collect();
    if moved.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
        return Err(Fault("a shift lands on or overtakes a row that stays".into()));
    }
    Ok(moved.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(keys: &[u64]) -> InputSource {
        let mut source = InputSource::new(&["v"]);
        let added = keys.iter().map(|key| (*key, vec![(*key as i64).into()])).collect();
        source.step(&InputStep { added, ..InputStep::default() }).expect("keys are new");
        source
    }

    #[test]
    fn a_vacated_key_may_be_taken_and_a_moved_row_changed() {
        let mut source = source(&[0, 1, 2, 3]);
        let step = InputStep {
            removed: vec![1],
            shifts: vec![(2, 3, -1)],
            added: vec![(3, vec![9i64.into()])],
            modified: vec![(2, "v".into(), 33i64.into())],
        };
        source.step(&step).expect("lawful");
        assert_eq!(source.table().to_string(), "v\n0: 0\n1: 2\n2: 33\n3: 9\n");
    }

    #[test]
    fn unlawful_steps_apply_nothing() {
        let mut source = source(&[0, 1, 5]);
        let step = InputStep::default;
        let bad = [
            InputStep { removed: vec![2], ..step() },
            InputStep { shifts: vec![(2, 4, 1)], ..step() },
            InputStep { shifts: vec![(1, 1, 0)], ..step() },
            InputStep { shifts: vec![(1, 1, -1)], ..step() },
            InputStep { shifts: vec![(0, 0, 9)], ..step() },
            InputStep { shifts: vec![(5, 5, i64::MAX)], ..step() },
            InputStep { shifts: vec![(0, 1, 1), (1, 5, 2)], ..step() },
            InputStep { added: vec![(5, vec![1i64.into()])], ..step() },
            InputStep { modified: vec![(7, "v".into(), 1i64.into())], ..step() },
            InputStep { added: vec![(7, vec![1i64.into()])], modified: vec![(7, "v".into(), 1i64.into())], ..step() },
        ];
        for step in bad {
            let removed_first =
                InputStep { removed: if step.removed.is_empty() { vec![] } else { vec![0, 2] }, ..step };
            assert!(source.step(&removed_first).is_err(), "{removed_first:?}");
            assert_eq!(source.table().len(), 3);
        }
    }
}
