//! `append_table`: rows in order of arrival, for ever.

use crate::table::{Row, Table};

/// The rows appended so far. Keys are positions.
#[derive(Clone, Debug)]
pub struct AppendSource {
    names: Vec<String>,
    rows: Vec<Row>,
}

impl AppendSource {
    /// No row yet.
    pub fn new(names: &[&str]) -> AppendSource {
        AppendSource { names: names.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
    }

    /// Rows come after those that are there.
    pub fn append(&mut self, rows: Vec<Row>) {
        self.rows.extend(rows);
    }

    /// What stands there. By position.
    pub fn table(&self) -> Table {
        Table::flat(self.names.clone(), self.rows.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrival_is_the_order() {
        let mut source = AppendSource::new(&["v"]);
        source.append(vec![vec![2i64.into()], vec![1i64.into()]]);
        source.append(vec![]);
        source.append(vec![vec![2i64.into()]]);
        assert_eq!(source.table().to_string(), "v\n0: 2\n1: 1\n2: 2\n");
    }
}
