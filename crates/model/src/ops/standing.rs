//! Groups that are there without rows: those that a table names, in its order, before all others.

use crate::ops::aggregate::{Aggregate, aggregate};
use crate::table::{Fault, Table};

/// As [`aggregate`], of the groups with rows: those that `initial` names come first, in its order. `preserve`: all that it names
/// are there.
pub fn aggregate_onto(
    input: &Table,
    by: &[&str],
    aggregates: &[Aggregate],
    initial: &Table,
    preserve: bool,
) -> Result<Table, Fault> {
    let keys: Vec<String> = by.iter().map(|name| (*name).to_owned()).collect();
    let (of_input, of_initial) = (input.indices_of(&keys), initial.indices_of(&keys));
    let found = aggregate(input, by, aggregates)?;
    let none = Table { rows: Vec::new(), ..input.clone() };
    let (mut first, mut seen) = (Vec::new(), Vec::new());
    for (_, row) in &initial.rows {
        let key = Table::key_of(row, &of_initial);
        if seen.contains(&key) {
            continue;
        }
        let group = found.rows.iter().find(|(_, row)| Table::key_of(row, &(0..by.len()).collect::<Vec<_>>()) == key);
        if let Some((_, group)) = group {
            first.push(group.clone());
        } else if preserve {
            let nothing = crate::ops::aggregate::totals(&none, aggregates)?;
            first.push(key.0.iter().cloned().chain(nothing.rows[0].1.iter().cloned()).collect());
        }
        seen.push(key);
    }
    let own: Vec<usize> = (0..of_input.len()).collect();
    let others = found.rows.iter().filter(|(_, row)| !seen.contains(&Table::key_of(row, &own)));
    first.extend(others.map(|(_, row)| row.clone()));
    Ok(Table::flat(found.names.clone(), first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Aggregator;
    use crate::table::table;

    #[test]
    fn named_groups_come_first_and_may_be_empty() {
        let input = table(&["k", "v"], &[&["a".into(), 1i64.into()], &["b".into(), 2i64.into()]]);
        let initial = table(&["k"], &[&["c".into()], &["b".into()], &["c".into()]]);
        let sums = [Aggregate::new("s", Aggregator::Sum(0), "v")];
        let made = |preserve| aggregate_onto(&input, &["k"], &sums, &initial, preserve).expect("no fault").to_string();
        assert_eq!(made(false), "k s\n0: \"b\" 2\n1: \"a\" 1\n");
        assert_eq!(made(true), "k s\n0: \"c\" 0\n1: \"b\" 2\n2: \"a\" 1\n");
    }
}
