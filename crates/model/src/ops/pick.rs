//! `first_by`, `last_by`: one row of each group, with all its columns. By key, the group columns;
//! the order of rows is `GroupOrder`'s.

use crate::ops::groups::groups;
use crate::table::{Row, Table};

/// The first row of each group, by row order.
pub fn first_by(input: &Table, by: &[&str]) -> Table {
    pick(input, by, |rows| rows.first().cloned())
}

/// The last row of each group, by row order.
pub fn last_by(input: &Table, by: &[&str]) -> Table {
    pick(input, by, |rows| rows.last().cloned())
}

fn pick(input: &Table, by: &[&str], choose: impl Fn(&[Row]) -> Option<Row>) -> Table {
    let by: Vec<String> = by.iter().map(|name| (*name).to_owned()).collect();
    let rows = groups(input, &by).iter().filter_map(|(_, rows)| choose(rows)).collect();
    Table::flat(input.names.clone(), rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;
    use crate::value::Value;

    #[test]
    fn rows_come_whole_nulls_included() {
        let t = table(
            &["v", "k"],
            &[
                &[Value::Null, "a".into()],
                &[2i64.into(), "b".into()],
                &[3i64.into(), "a".into()],
                &[4i64.into(), Value::Null],
            ],
        );
        assert_eq!(first_by(&t, &["k"]).to_string(), "v k\n0: null \"a\"\n1: 2 \"b\"\n2: 4 null\n");
        assert_eq!(last_by(&t, &["k"]).to_string(), "v k\n0: 3 \"a\"\n1: 2 \"b\"\n2: 4 null\n");
        assert_eq!(last_by(&t, &[]).to_string(), "v k\n0: 4 null\n");
    }
}
