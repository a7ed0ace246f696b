//! `head_by`, `tail_by`: rows at one end of each group, with all their columns. By key, the group columns; the order of groups
//! is `GroupOrder`'s.

use crate::ops::groups::groups;
use crate::table::{Row, Table};

/// The first rows of each group, by row order; groups in first-encounter order.
pub fn head_by(input: &Table, n: u64, by: &[String]) -> Table {
    limited(input, by, |rows| rows.iter().take(many(n)).cloned().collect())
}

/// The last rows of each group, by row order; groups in first-encounter order.
pub fn tail_by(input: &Table, n: u64, by: &[String]) -> Table {
    limited(input, by, |rows| rows.iter().skip(rows.len().saturating_sub(many(n))).cloned().collect())
}

fn many(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn limited(input: &Table, by: &[String], choose: impl Fn(&[Row]) -> Vec<Row>) -> Table {
    let rows = groups(input, by).iter().flat_map(|(_, rows)| choose(rows)).collect();
    Table::flat(input.names.clone(), rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn rows_stand_in_their_groups() {
        let cells = [(1i64, "a"), (2, "b"), (3, "a"), (4, "a")].map(|(v, k)| [v.into(), k.into()]);
        let t = table(&["v", "k"], &cells.iter().map(|row| &row[..]).collect::<Vec<_>>());
        let by = ["k".to_owned()];
        assert_eq!(head_by(&t, 2, &by).to_string(), "v k\n0: 1 \"a\"\n1: 3 \"a\"\n2: 2 \"b\"\n");
        assert_eq!(tail_by(&t, 2, &by).to_string(), "v k\n0: 3 \"a\"\n1: 4 \"a\"\n2: 2 \"b\"\n");
        assert_eq!(tail_by(&t, 1, &[]).to_string(), "v k\n0: 4 \"a\"\n");
        assert_eq!(head_by(&t, 0, &by).len(), 0);
    }
}
