//! Aggregates beside the rows they are of: `col("x").sum().over("k")`. By position: rows stay where they are.

use crate::ops::aggregate::{Aggregate, aggregate};
use crate::table::{Fault, Table};

/// The table with further columns: for each set of keys the aggregates of each row's group. Without keys all rows are
/// one group.
pub fn over(input: &Table, columns: &[(Vec<String>, Vec<Aggregate>)]) -> Result<Table, Fault> {
    over_sorted(input, input, columns)
}

/// As [`over`], but the rows of each group are taken in the order of `sorted`.
pub fn over_sorted(input: &Table, sorted: &Table, columns: &[(Vec<String>, Vec<Aggregate>)]) -> Result<Table, Fault> {
    let mut result = input.clone();
    for (by, aggregates) in columns {
        let names: Vec<&str> = by.iter().map(String::as_str).collect();
        let grouped = aggregate(sorted, &names, aggregates)?;
        let (keys, of_groups) = (input.indices_of(by), (0..by.len()).collect::<Vec<_>>());
        result.names.extend(aggregates.iter().map(|aggregate| aggregate.output.clone()));
        for ((_, row), (_, given)) in result.rows.iter_mut().zip(&input.rows) {
            let key = Table::key_of(given, &keys);
            let group = grouped.rows.iter().find(|(_, group)| Table::key_of(group, &of_groups) == key);
            let (_, group) = group.expect("every row is in a group");
            row.extend(group[by.len()..].iter().cloned());
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Aggregator;
    use crate::table::table;
    use crate::value::Value;

    #[test]
    fn every_row_has_the_value_of_its_group() {
        let input =
            table(&["k", "v"], &[&["a".into(), 1i64.into()], &[Value::Null, 2i64.into()], &["a".into(), 3i64.into()]]);
        let made = |by: Vec<String>, aggregate: Aggregate| {
            let table = over(&input, &[(by, vec![aggregate])]).expect("it has a value");
            table.rows.iter().map(|(_, row)| row[2].to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(made(vec!["k".into()], Aggregate::new("s", Aggregator::Sum(0), "v")), "4 2 4");
        assert_eq!(made(vec![], Aggregate::new("m", Aggregator::Max, "v")), "3 3 3");
    }
}
