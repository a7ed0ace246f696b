//! `filter`: the rows for which every predicate is true, with their own keys. By position.

use crate::expr::ModelExpr;
use crate::table::{Row, Table};

/// Keeps the rows for which all of the expressions are true.
pub fn filter(input: &Table, predicates: &[ModelExpr]) -> Table {
    filter_by(input, |row| predicates.iter().all(|predicate| predicate.holds(input, row)))
}

/// Keeps the rows for which the closure says so.
pub fn filter_by(input: &Table, keeps: impl Fn(&Row) -> bool) -> Table {
    let rows = input.rows.iter().filter(|(_, row)| keeps(row)).cloned().collect();
    Table { names: input.names.clone(), rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Comparison;
    use crate::table::table;
    use crate::value::Value;

    #[test]
    fn null_counts_as_false_and_keys_stay() {
        let t = table(&["v"], &[&[1i64.into()], &[Value::Null], &[3i64.into()]]);
        let less = |than: i64| {
            ModelExpr::Compare(Comparison::Less, Box::new(ModelExpr::column("v")), Box::new(ModelExpr::literal(than)))
        };
        assert_eq!(filter(&t, &[less(9)]).to_string(), "v\n0: 1\n2: 3\n");
        assert_eq!(filter(&t, &[less(9), less(2)]).to_string(), "v\n0: 1\n");
        assert_eq!(filter(&t, &[]).len(), 3);
        assert_eq!(filter_by(&t, |row| row[0].is_null()).to_string(), "v\n1: null\n");
    }
}
