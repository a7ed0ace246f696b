//! `unique`: the distinct rows. By key, all columns; the order of rows is `GroupOrder`'s.

use crate::ops::groups::groups;
use crate::table::Table;

/// One row for each distinct tuple, in first-encounter order.
pub fn unique(input: &Table) -> Table {
    let rows = groups(input, &input.names).into_iter().map(|(key, _)| key.0).collect();
    Table::flat(input.names.clone(), rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;
    use crate::value::Value;

    #[test]
    fn null_is_a_value_like_any_other() {
        let t = table(&["v"], &[&[1i64.into()], &[Value::Null], &[1i64.into()], &[Value::Null], &[2i64.into()]]);
        assert_eq!(unique(&t).to_string(), "v\n0: 1\n1: null\n2: 2\n");
    }
}
