//! `concat`: tables one after the other. By position.

use crate::table::Table;

/// All rows of the first, then all of the second, and so on. The columns are those of the first;
/// the others have them too, in any order.
pub fn concat(inputs: &[&Table]) -> Table {
    let names = inputs.first().map(|first| first.names.clone()).unwrap_or_default();
    let rows = inputs.iter().flat_map(|input| {
        let columns = input.indices_of(&names);
        assert_eq!(columns.len(), input.names.len(), "the same columns in every input");
        input.rows.iter().map(move |(_, row)| Table::key_of(row, &columns).0)
    });
    let rows = rows.collect();
    Table::flat(names, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn rows_stack_in_the_order_of_the_inputs() {
        let a = table(&["v"], &[&[1i64.into()], &[2i64.into()]]);
        let b = table(&["v"], &[&[1i64.into()]]);
        assert_eq!(concat(&[&a, &b, &a]).to_string(), "v\n0: 1\n1: 2\n2: 1\n3: 1\n4: 2\n");
        assert_eq!(concat(&[]).len(), 0);
    }
}
