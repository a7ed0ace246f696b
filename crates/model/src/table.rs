//! A table of the model: names, and rows in the order of their keys.

use std::fmt;

use crate::value::{Key, Value};

/// The cells of one row, in the order of the table's names.
pub type Row = Vec<Value>;

/// Why an operation of the model has no result; the engine must fail where the model does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
impl std::error::Error for Fault {}

/// Rows in key order, each with its row key.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Column names, in order.
    pub names: Vec<String>,
    /// Row key and cells, ascending by key.
    pub rows: Vec<(u64, Row)>,
}

impl Table {
    /// A table with the given keys; they must ascend.
    pub fn new(names: &[&str], rows: Vec<(u64, Row)>) -> Table {
        assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0), "row keys ascend");
        assert!(rows.iter().all(|(_, row)| row.len() == names.len()), "a cell for each name");
        Table { names: names.iter().map(|name| (*name).to_owned()).collect(), rows }
    }

    /// A table whose keys are the positions.
    pub fn flat(names: Vec<String>, rows: Vec<Row>) -> Table {
        Table { names, rows: (0..).zip(rows).collect() }
    }

    /// Where a column stands. A wrong name is a mistake of the test, not of the engine.
    pub fn index_of(&self, name: &str) -> usize {
        let place = self.names.iter().position(|known| known == name);
        place.unwrap_or_else(|| panic!("the model's table has no column {name:?}, only {:?}", self.names))
    }

    /// Where several columns stand.
    pub fn indices_of(&self, names: &[String]) -> Vec<usize> {
        names.iter().map(|name| self.index_of(name)).collect()
    }

    /// The cells of the given columns of one row, as a key.
    pub fn key_of(row: &[Value], columns: &[usize]) -> Key {
        Key(columns.iter().map(|&column| row[column].clone()).collect())
    }

    /// All cells of one column, in row order.
    pub fn column(&self, name: &str) -> Vec<Value> {
        let at = self.index_of(name);
        self.rows.iter().map(|(_, row)| row[at].clone()).collect()
    }

    /// The rows without their keys.
    pub fn cells(&self) -> Vec<Row> {
        self.rows.iter().map(|(_, row)| row.clone()).collect()
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.names.join(" "))?;
        self.rows.iter().try_for_each(|(key, row)| {
            let cells: Vec<String> = row.iter().map(Value::to_string).collect();
            writeln!(out, "{key}: {}", cells.join(" "))
        })
    }
}

#[cfg(test)]
pub(crate) fn table(names: &[&str], rows: &[&[Value]]) -> Table {
    Table::new(names, (0..).zip(rows.iter().map(|row| row.to_vec())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let t = table(&["a", "b"], &[&[1i64.into(), "x".into()], &[2i64.into(), Value::Null]]);
        assert_eq!(t.index_of("b"), 1);
        assert_eq!(t.column("a").len(), 2);
        assert_eq!(Table::key_of(&t.rows[1].1, &[1, 0]), Key(vec![Value::Null, 2i64.into()]));
        assert_eq!(t.to_string(), "a b\n0: 1 \"x\"\n1: 2 null\n");
    }
}
