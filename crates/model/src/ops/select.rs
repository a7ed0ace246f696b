//! `select`: only the columns named or computed; rows and keys of the input. By position.

use crate::ops::with_columns::{Derived, cells};
use crate::table::{Row, Table};

/// Exactly these columns, in this order. Every expression sees the source only.
pub fn select(input: &Table, columns: &[Derived]) -> Table {
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let computed: Vec<Row> = columns.iter().map(|column| cells(input, column)).collect();
    let row_at = |position: usize| computed.iter().map(|column| column[position].clone()).collect();
    let rows = input.rows.iter().enumerate().map(|(position, (key, _))| (*key, row_at(position))).collect();
    Table { names, rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn columns_come_in_the_order_asked_for() {
        let t = table(&["a", "b"], &[&[1i64.into(), "x".into()]]);
        let picked = select(&t, &[Derived::column("b"), Derived::new("c", |row| row[0].clone())]);
        assert_eq!(picked.to_string(), "b c\n0: \"x\" 1\n");
    }

    #[test]
    fn no_column_still_has_rows() {
        let t = table(&["a"], &[&[1i64.into()]]);
        assert_eq!(select(&t, &[]).len(), 1);
    }
}
