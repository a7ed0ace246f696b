//! `drop`: leaves columns out. By position.

use crate::ops::select;
use crate::ops::with_columns::Derived;
use crate::table::Table;

/// The input without the named columns.
pub fn drop(input: &Table, names: &[&str]) -> Table {
    names.iter().for_each(|name| assert!(input.names.iter().any(|known| known == name), "no column {name:?} to drop"));
    let kept = input.names.iter().filter(|name| !names.contains(&name.as_str()));
    select(input, &kept.map(|name| Derived::column(name)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn the_rest_keeps_its_order() {
        let t = table(&["a", "b", "c"], &[&[1i64.into(), 2i64.into(), 3i64.into()]]);
        assert_eq!(drop(&t, &["b"]).to_string(), "a c\n0: 1 3\n");
    }
}
