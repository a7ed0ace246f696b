//! `sort`: stable on several columns. By position.

use std::cmp::Ordering;

use crate::table::{Row, Table};
use crate::value::{Value, order};

/// One column to sort by.
#[derive(Clone, Debug)]
pub struct SortBy {
    /// Its name.
    pub column: String,
    /// Greatest first.
    pub descending: bool,
    /// Nulls at the end instead of at the start, in both directions.
    pub nulls_last: bool,
}

impl SortBy {
    /// Least first, nulls at the start.
    pub fn ascending(column: &str) -> SortBy {
        SortBy { column: column.to_owned(), descending: false, nulls_last: false }
    }

    /// Greatest first, nulls at the start all the same.
    pub fn descending(column: &str) -> SortBy {
        SortBy { descending: true, ..SortBy::ascending(column) }
    }
}

/// The rows in the order of the columns; ties keep source order in both directions.
pub fn sort(input: &Table, by: &[SortBy]) -> Table {
    let columns: Vec<usize> = by.iter().map(|key| input.index_of(&key.column)).collect();
    let mut rows = input.cells();
    // The sort of the standard library is stable.
    rows.sort_by(|a, b| compare_rows(a, b, by, &columns));
    Table::flat(input.names.clone(), rows)
}

pub(super) fn compare_rows(a: &Row, b: &Row, by: &[SortBy], columns: &[usize]) -> Ordering {
    let parts = by.iter().zip(columns).map(|(key, &column)| compare_cells(&a[column], &b[column], key));
    parts.fold(Ordering::Equal, Ordering::then)
}

fn compare_cells(a: &Value, b: &Value, by: &SortBy) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) | (false, true) => {
            let first = a.is_null() != by.nulls_last;
            if first { Ordering::Less } else { Ordering::Greater }
        }
        (false, false) if by.descending => order(b, a),
        (false, false) => order(a, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    fn sorted(by: SortBy) -> String {
        let cells: Vec<[Value; 2]> =
            [Some(1.0), None, Some(f64::NAN), Some(-0.0), Some(0.0), None, Some(f64::NEG_INFINITY)]
                .iter()
                .zip("abcdefg".chars())
                .map(|(x, name)| [(*x).into(), name.to_string().as_str().into()])
                .collect();
        let t = table(&["x", "n"], &cells.iter().map(|row| &row[..]).collect::<Vec<_>>());
        sort(&t, &[by]).column("n").iter().map(|name| name.to_string().replace('"', "")).collect()
    }

    #[test]
    fn nulls_first_in_both_directions_unless_last_and_ties_keep_their_order() {
        assert_eq!(sorted(SortBy::ascending("x")), "bfgdeac");
        assert_eq!(sorted(SortBy::descending("x")), "bfcadeg");
        assert_eq!(sorted(SortBy { nulls_last: true, ..SortBy::ascending("x") }), "gdeacbf");
        assert_eq!(sorted(SortBy { nulls_last: true, ..SortBy::descending("x") }), "cadegbf");
    }

    #[test]
    fn later_columns_break_ties() {
        let t = table(
            &["a", "b"],
            &[&[1i64.into(), 2i64.into()], &[1i64.into(), 3i64.into()], &[0i64.into(), 9i64.into()]],
        );
        let found = sort(&t, &[SortBy::ascending("a"), SortBy::descending("b")]);
        assert_eq!(found.to_string(), "a b\n0: 0 9\n1: 1 3\n2: 1 2\n");
    }
}
