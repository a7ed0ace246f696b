//! `pivot`: one row a key, with an aggregate of the rows of each listed value in a column of its own. By key; the order of
//! rows is `GroupOrder`'s.

use crate::ops::aggregate::{Aggregate, totals};
use crate::ops::groups::groups;
use crate::table::{Fault, Row, Table};
use crate::value::{Key, Value};

/// One row for each key of `index`. `listed`: the values of `on` that become columns, and their names; rows with other values
/// are in none.
pub fn pivot(
    input: &Table,
    index: &[String],
    on: &str,
    listed: &[(Value, String)],
    of: &Aggregate,
) -> Result<Table, Fault> {
    let at = input.index_of(on);
    let mut names = index.to_vec();
    names.extend(listed.iter().map(|(_, name)| name.clone()));
    let row_of = |(key, rows): (Key, Vec<Row>)| {
        let mut row = key.0;
        for (value, _) in listed {
            let wanted = Key(vec![value.clone()]);
            let cell = rows.iter().filter(|row| Key(vec![row[at].clone()]) == wanted).cloned().collect();
            let cell = totals(&Table::flat(input.names.clone(), cell), std::slice::from_ref(of))?;
            row.push(cell.rows[0].1[0].clone());
        }
        Ok(row)
    };
    // Without keys all rows are one, an empty table too.
    let found = if index.is_empty() {
        vec![(Key(Vec::new()), input.rows.iter().map(|(_, row)| row.clone()).collect())]
    } else {
        groups(input, index)
    };
    Ok(Table::flat(names, found.into_iter().map(row_of).collect::<Result<_, Fault>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Aggregator;
    use crate::table::table;

    #[test]
    fn a_value_that_is_not_listed_has_no_column() {
        let cells = [("a", "x", 1i64), ("b", "y", 2), ("a", "x", 3), ("c", "z", 4)];
        let rows = cells.map(|(k, on, v)| [Value::from(k), on.into(), v.into()]);
        let t = table(&["k", "on", "v"], &rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
        let sum = Aggregate::of("s", Aggregator::Sum(0), &["v"]);
        let listed = [(Value::from("x"), "X".to_owned()), ("y".into(), "Y".to_owned())];
        let found = pivot(&t, &["k".to_owned()], "on", &listed, &sum).expect("sums");
        assert_eq!(found.to_string(), "k X Y\n0: \"a\" 4 0\n1: \"b\" 0 2\n2: \"c\" 0 0\n");
        let all = pivot(&t, &[], "on", &listed, &sum).expect("sums");
        assert_eq!(all.to_string(), "X Y\n0: 4 2\n");
    }
}
