//! `explode`: a row for each value of lists. By position.

use crate::table::{Fault, Row, Table};
use crate::value::Value;

/// Which lists are taken apart, and what nulls and empty lists give.
#[derive(Clone, Debug)]
pub struct Explode {
    /// The columns of lists.
    pub columns: Vec<String>,
    /// Whether an empty list gives a null row.
    pub empty_as_null: bool,
    /// Whether a null gives a null row.
    pub keep_nulls: bool,
    /// Whether shorter lists are filled up with nulls.
    pub fill: bool,
}

impl Explode {
    /// The values that a cell gives.
    fn values(&self, cell: &Value) -> Vec<Value> {
        match cell {
            Value::List(values) if values.is_empty() && self.empty_as_null => vec![Value::Null],
            Value::List(values) => values.clone(),
            Value::Null if self.keep_nulls => vec![Value::Null],
            Value::Null => Vec::new(),
            other => panic!("{other} is no list"),
        }
    }
}

/// The rows, each once for every value; lists of one row must be of one length, unless they are filled up.
pub fn explode(input: &Table, how: &Explode) -> Result<Table, Fault> {
    let columns = input.indices_of(&how.columns);
    let mut rows: Vec<Row> = Vec::new();
    for (key, row) in &input.rows {
        let lists: Vec<Vec<Value>> = columns.iter().map(|column| how.values(&row[*column])).collect();
        let most = lists.iter().map(Vec::len).max().unwrap_or(0);
        if !how.fill && lists.iter().any(|list| list.len() != most) {
            return Err(Fault(format!("lists of several lengths at key {key}")));
        }
        for place in 0..most {
            let mut row = row.clone();
            for (column, list) in columns.iter().zip(&lists) {
                row[*column] = list.get(place).cloned().unwrap_or(Value::Null);
            }
            rows.push(row);
        }
    }
    Ok(Table::flat(input.names.clone(), rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn nulls_and_empty_lists() {
        let list = |values: &[i64]| Value::List(values.iter().map(|value| (*value).into()).collect());
        let t =
            table(&["k", "l"], &[&["a".into(), list(&[1, 2])], &["b".into(), list(&[])], &["c".into(), Value::Null]]);
        let mut how = Explode { columns: vec!["l".into()], empty_as_null: false, keep_nulls: true, fill: false };
        assert_eq!(explode(&t, &how).unwrap().to_string(), "k l\n0: \"a\" 1\n1: \"a\" 2\n2: \"c\" null\n");
        (how.empty_as_null, how.keep_nulls) = (true, false);
        assert_eq!(explode(&t, &how).unwrap().to_string(), "k l\n0: \"a\" 1\n1: \"a\" 2\n2: \"b\" null\n");
    }

    #[test]
    fn lists_of_several_lengths() {
        let list = |values: &[i64]| Value::List(values.iter().map(|value| (*value).into()).collect());
        let t = table(&["l", "m"], &[&[list(&[1, 2]), list(&[3])]]);
        let columns = vec!["l".into(), "m".into()];
        let mut how = Explode { columns, empty_as_null: false, keep_nulls: true, fill: false };
        assert!(explode(&t, &how).is_err());
        how.fill = true;
        assert_eq!(explode(&t, &how).unwrap().to_string(), "l m\n0: 1 3\n1: 2 null\n");
    }
}
