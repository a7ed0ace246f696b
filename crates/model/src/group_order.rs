//! The row order of grouped results, which depends on history.

use std::collections::BTreeSet;

use crate::table::Table;
use crate::value::{Key, Value};

/// Groups in the order of first encounter. A group that is empty at the end of a step is
/// forgotten; if its key comes back it stands at the end. A group that empties and fills again
/// within one step keeps its place.
#[derive(Clone, Debug, Default)]
pub struct GroupOrder {
    present: Vec<Key>,
}

impl GroupOrder {
    /// No group yet.
    pub fn new() -> GroupOrder {
        GroupOrder::default()
    }

    /// Takes over the input as it stands at the end of a step. Groups new in the same step stand in
    /// the order of their first rows.
    pub fn step(&mut self, input: &Table, by: &[String]) {
        let columns = input.indices_of(by);
        let keys: Vec<Key> = input.rows.iter().map(|(_, row)| Table::key_of(row, &columns)).collect();
        let now: BTreeSet<&Key> = keys.iter().collect();
        self.present.retain(|key| now.contains(key));
        let mut known: BTreeSet<Key> = self.present.iter().cloned().collect();
        for key in keys {
            if known.insert(key.clone()) {
                self.present.push(key);
            }
        }
    }

    /// The groups in order.
    pub fn keys(&self) -> &[Key] {
        &self.present
    }

    /// The rows of a grouped result, those of each group put where the group stands. No group may be without rows, unless all
    /// are.
    pub fn arrange(&self, result: &Table, by: &[String]) -> Table {
        let columns = result.indices_of(by);
        let rows_of = |key: &Key| -> Vec<Vec<Value>> {
            let found = result.rows.iter().filter(|(_, row)| Table::key_of(row, &columns) == *key);
            let found: Vec<Vec<Value>> = found.map(|(_, row)| row.clone()).collect();
            assert!(result.is_empty() || !found.is_empty(), "the result has no row for the group {key}");
            found
        };
        let rows: Vec<Vec<Value>> = self.present.iter().flat_map(rows_of).collect();
        assert_eq!(result.len(), rows.len(), "every row is of a group");
        Table::flat(result.names.clone(), rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    fn stepped(order: &mut GroupOrder, letters: &[&str]) -> String {
        let rows: Vec<Vec<Value>> = letters.iter().map(|letter| vec![(*letter).into()]).collect();
        let input = Table::flat(vec!["k".into()], rows);
        order.step(&input, &["k".into()]);
        order.keys().iter().map(|key| key.0[0].to_string().replace('"', "")).collect()
    }

    #[test]
    fn a_group_that_comes_back_stands_at_the_end() {
        let mut order = GroupOrder::new();
        assert_eq!(stepped(&mut order, &["a", "b", "a"]), "ab");
        assert_eq!(stepped(&mut order, &["b"]), "b");
        assert_eq!(stepped(&mut order, &["a", "b"]), "ba");
        assert_eq!(stepped(&mut order, &[]), "");
        assert_eq!(stepped(&mut order, &["a", "b"]), "ab");
    }

    #[test]
    fn a_group_that_stays_keeps_its_place_wherever_its_rows_are() {
        let mut order = GroupOrder::new();
        stepped(&mut order, &["a", "b"]);
        assert_eq!(stepped(&mut order, &["c", "b", "a"]), "abc");
    }

    #[test]
    fn arranging_puts_rows_into_the_order_of_the_groups() {
        let mut order = GroupOrder::new();
        stepped(&mut order, &["b", "a"]);
        let result = table(&["k", "n"], &[&["a".into(), 1i64.into()], &["b".into(), 2i64.into()]]);
        assert_eq!(order.arrange(&result, &["k".into()]).to_string(), "k n\n0: \"b\" 2\n1: \"a\" 1\n");
    }
}
