//! `rename`: other names for columns, places and cells as they were. By position.

use crate::table::Table;

/// Each pair is (old, new); swaps are allowed, all pairs are read against the input.
pub fn rename(input: &Table, pairs: &[(&str, &str)]) -> Table {
    let new_name = |old: &String| {
        let pair = pairs.iter().find(|(from, _)| from == old);
        pair.map_or_else(|| old.clone(), |(_, to)| (*to).to_owned())
    };
    Table { names: input.names.iter().map(new_name).collect(), rows: input.rows.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn names_may_be_swapped() {
        let t = table(&["a", "b", "c"], &[]);
        assert_eq!(rename(&t, &[("a", "b"), ("b", "a")]).names, ["b", "a", "c"]);
    }
}
