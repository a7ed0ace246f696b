//! `shift(n).over(k)`: the value of another row of the row's group. By position: rows stay where they are.

use crate::table::{Row, Table};
use crate::value::Value;

/// The table with a further column: the value that `column` has in the row `n` before, in the order of rows, among those
/// with equal keys (negative: after); null where there is none.
pub fn shift_over(input: &Table, by: &[String], column: &str, n: i64, output: &str) -> Table {
    let (keys, column) = (input.indices_of(by), input.index_of(column));
    let neighbour = |at: usize| {
        let mine = |(_, row): &&(u64, Row)| Table::key_of(row, &keys) == Table::key_of(&input.rows[at].1, &keys);
        // Nearest first: the rows on that side of the row, of its own key.
        let found = if n > 0 {
            input.rows[..at].iter().rev().filter(mine).nth(n as usize - 1)
        } else if n < 0 {
            input.rows[at + 1..].iter().filter(mine).nth(n.unsigned_abs() as usize - 1)
        } else {
            Some(&input.rows[at])
        };
        found.map_or(Value::Null, |(_, row)| row[column].clone())
    };
    let shifted: Vec<Value> = (0..input.rows.len()).map(neighbour).collect();
    let mut result = input.clone();
    result.names.push(output.to_owned());
    result.rows.iter_mut().zip(shifted).for_each(|((_, row), value)| row.push(value));
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn each_group_has_its_own_neighbours() {
        let key = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
        let cells: Vec<[Value; 2]> =
            ["a", "", "a", "a", ""].iter().zip(1i64..).map(|(k, v)| [key(k), v.into()]).collect();
        let rows: Vec<&[Value]> = cells.iter().map(|row| &row[..]).collect();
        let input = table(&["k", "v"], &rows);
        let shifted = |n| {
            let made = shift_over(&input, &["k".into()], "v", n, "s");
            made.rows.iter().map(|(_, row)| row[2].to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shifted(1), "null null 1 3 2");
        assert_eq!(shifted(-1), "3 5 4 null null");
        assert_eq!(shifted(2), "null null null 1 null");
        assert_eq!(shifted(0), "1 2 3 4 5");
        assert_eq!(shifted(i64::MIN), "null null null null null");
    }
}
