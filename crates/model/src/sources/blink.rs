//! `blink_table`: the rows of this step alone.

use crate::table::{Row, Table};

/// Rows live for one step; everything ever seen is kept beside them, for what accumulates.
#[derive(Clone, Debug)]
pub struct BlinkSource {
    names: Vec<String>,
    now: Vec<Row>,
    seen: Vec<Row>,
}

impl BlinkSource {
    /// No row yet.
    pub fn new(names: &[&str]) -> BlinkSource {
        BlinkSource { names: names.iter().map(|name| (*name).to_owned()).collect(), now: Vec::new(), seen: Vec::new() }
    }

    /// One step with these rows; those of the step before are gone.
    pub fn step(&mut self, rows: Vec<Row>) {
        self.seen.extend(rows.iter().cloned());
        self.now = rows;
    }

    /// What stands there. By position.
    pub fn table(&self) -> Table {
        Table::flat(self.names.clone(), self.now.clone())
    }

    /// All rows ever seen, by arrival: the input of an aggregation over a blink table.
    pub fn seen(&self) -> Table {
        Table::flat(self.names.clone(), self.seen.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Aggregate, Aggregator, aggregate};

    #[test]
    fn a_row_lives_one_step_and_aggregates_remember_it() {
        let mut source = BlinkSource::new(&["v"]);
        source.step(vec![vec![1i64.into()], vec![2i64.into()]]);
        source.step(vec![vec![5i64.into()]]);
        assert_eq!(source.table().to_string(), "v\n0: 5\n");
        source.step(vec![]);
        assert!(source.table().is_empty());
        let sum = aggregate(&source.seen(), &[], &[Aggregate::new("s", Aggregator::Sum(0), "v")]);
        assert_eq!(sum.expect("no fault").to_string(), "s\n0: 8\n");
    }
}
