//! Rows by group: what grouped operations share. Groups in first-encounter order.

use crate::table::{Row, Table};
use crate::value::Key;

/// Each group's key and its rows in row order. Null is a group, NaN one, both zeros one; the
/// first value seen represents the group.
pub(crate) fn groups(input: &Table, by: &[String]) -> Vec<(Key, Vec<Row>)> {
    let columns = input.indices_of(by);
    let mut found: Vec<(Key, Vec<Row>)> = Vec::new();
    for (_, row) in &input.rows {
        let key = Table::key_of(row, &columns);
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(row.clone()),
            None => found.push((key, vec![row.clone()])),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;
    use crate::value::Value;

    #[test]
    fn null_nan_and_zero_are_one_group_each() {
        let cells = [Value::Null, f64::NAN.into(), (-0.0).into(), Value::Null, (-f64::NAN).into(), 0.0.into()];
        let rows: Vec<&[Value]> = cells.chunks(1).collect();
        let sizes: Vec<usize> =
            groups(&table(&["k"], &rows), &["k".into()]).iter().map(|(_, rows)| rows.len()).collect();
        assert_eq!(sizes, [2, 2, 2]);
    }
}
