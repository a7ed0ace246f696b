//! `partition_by`: the rows of each key as a table of its own, keys in first-encounter order; as history has it, their order
//! is another. Stacked, by key, they are the table.

use crate::ops::groups::groups;
use crate::table::{Row, Table};

/// For each key its cells, and its rows in their order.
pub fn partition(input: &Table, by: &[String]) -> Vec<(Row, Table)> {
    let columns = input.indices_of(by);
    let cells = |row: &Row| columns.iter().map(|column| row[*column].clone()).collect::<Row>();
    let of_key = |rows: &[Row]| (cells(&rows[0]), Table::flat(input.names.clone(), rows.to_vec()));
    groups(input, by).iter().map(|(_, rows)| of_key(rows)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;
    use crate::value::Key;

    #[test]
    fn each_key_has_its_rows() {
        let cells = [(1i64, "a"), (2, "b"), (3, "a")].map(|(v, k)| [v.into(), k.into()]);
        let t = table(&["v", "k"], &cells.iter().map(|row| &row[..]).collect::<Vec<_>>());
        let parts = partition(&t, &["k".to_owned()]);
        let texts: Vec<String> = parts.iter().map(|(_, table)| table.to_string()).collect();
        assert_eq!(texts, ["v k\n0: 1 \"a\"\n1: 3 \"a\"\n", "v k\n0: 2 \"b\"\n"]);
        assert_eq!(Key(parts[1].0.clone()), Key(vec!["b".into()]));
    }
}
