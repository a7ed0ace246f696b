//! `multi_join`: one row a key that any input has. By key; the order of rows is `GroupOrder`'s over the keys of all inputs.

use super::concat::concat;
use super::natural_join::{NaturalJoin, natural_join};
use super::select::select;
use super::unique::unique;
use super::with_columns::Derived;
use crate::table::{Fault, Table};

/// The keys of all inputs, each once, with the other columns of the row that each input has for it. A second row of a key
/// is a fault.
pub fn multi_join(inputs: &[&Table], on: &[&str], nulls_equal: bool) -> Result<Table, Fault> {
    let columns: Vec<Derived> = on.iter().map(|name| Derived::column(name)).collect();
    let keys: Vec<Table> = inputs.iter().map(|input| select(input, &columns)).collect();
    let mut joined = unique(&concat(&keys.iter().collect::<Vec<_>>()));
    for input in inputs {
        let others: Vec<&str> = input.names.iter().map(String::as_str).filter(|name| !on.contains(name)).collect();
        joined = natural_join(&joined, input, &NaturalJoin { nulls_equal, ..NaturalJoin::new(on, &others) })?;
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;
    use crate::value::Value;

    #[test]
    fn every_key_has_one_row() {
        let a = table(&["k", "a"], &[&["A".into(), 1i64.into()], &["B".into(), 2i64.into()]]);
        let b = table(&["k", "b"], &[&["B".into(), 7i64.into()], &[Value::Null, 8i64.into()]]);
        let joined = multi_join(&[&a, &b], &["k"], false).expect("keys are distinct");
        assert_eq!(joined.to_string(), "k a b\n0: \"A\" 1 null\n1: \"B\" 2 7\n2: null null null\n");
        assert!(multi_join(&[&concat(&[&a, &a]), &b], &["k"], false).is_err());
    }
}
