//! `keyed_table`: at most one row a key; upserts and deletes.

use std::collections::BTreeSet;

use crate::table::{Row, Table};
use crate::value::{Key, Value};

/// One call of a writer.
#[derive(Clone, Debug)]
pub enum KeyedWrite {
    /// Rows by key; the last of equal keys wins.
    Upsert(Vec<Row>),
    /// Keys to take out; unknown ones are ignored.
    Delete(Vec<Vec<Value>>),
    /// Rows that are to be all there is.
    Replace(Vec<Row>),
}

/// The rows by key, in the order in which their keys came.
#[derive(Clone, Debug)]
pub struct KeyedSource {
    names: Vec<String>,
    key: Vec<usize>,
    rows: Vec<Row>,
}

impl KeyedSource {
    /// No row yet.
    pub fn new(names: &[&str], key: &[&str]) -> KeyedSource {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let place = |wanted: &&str| names.iter().position(|name| name == wanted).expect("the key is a column");
        KeyedSource { key: key.iter().map(place).collect(), names, rows: Vec::new() }
    }

    /// All writes of one step, judged at its end: a key that is deleted and upserted again keeps
    /// its row; a new key stands at the end. A null key is a key.
    pub fn step(&mut self, writes: &[KeyedWrite]) {
        let mut rows = std::mem::take(&mut self.rows);
        let mut absent: BTreeSet<Key> = BTreeSet::new();
        for write in writes {
            if let KeyedWrite::Replace(_) = write {
                absent.extend(rows.iter().map(|row| Table::key_of(row, &self.key)));
            }
            match write {
                KeyedWrite::Upsert(batch) | KeyedWrite::Replace(batch) => batch.iter().for_each(|row| {
                    let key = Table::key_of(row, &self.key);
                    absent.remove(&key);
                    match rows.iter_mut().find(|known| Table::key_of(known, &self.key) == key) {
                        // The cells of the key stay those first seen: they represent the key.
                        Some(known) => put(known, row, &self.key),
                        None => rows.push(row.clone()),
                    }
                }),
                KeyedWrite::Delete(keys) => absent.extend(keys.iter().cloned().map(Key)),
            }
        }
        rows.retain(|row| !absent.contains(&Table::key_of(row, &self.key)));
        self.rows = rows;
    }

    /// What stands there. By position where no key came twice in one step, else by key.
    pub fn table(&self) -> Table {
        Table::flat(self.names.clone(), self.rows.clone())
    }
}

fn put(known: &mut Row, row: &Row, key: &[usize]) {
    let others = (0..row.len()).filter(|column| !key.contains(column));
    others.for_each(|column| known[column] = row[column].clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upsert(rows: &[(&str, i64)]) -> KeyedWrite {
        KeyedWrite::Upsert(rows.iter().map(|(key, v)| vec![(*key).into(), (*v).into()]).collect())
    }

    fn delete(key: &str) -> KeyedWrite {
        KeyedWrite::Delete(vec![vec![key.into()]])
    }

    #[test]
    fn the_last_of_equal_keys_wins_and_known_keys_keep_their_place() {
        let mut source = KeyedSource::new(&["k", "v"], &["k"]);
        source.step(&[upsert(&[("a", 1), ("b", 2), ("a", 3)])]);
        source.step(&[upsert(&[("c", 4), ("a", 5)])]);
        assert_eq!(source.table().to_string(), "k v\n0: \"a\" 5\n1: \"b\" 2\n2: \"c\" 4\n");
    }

    #[test]
    fn deleted_and_back_in_one_step_keeps_its_row_later_it_is_new() {
        let mut source = KeyedSource::new(&["k", "v"], &["k"]);
        source.step(&[upsert(&[("a", 1), ("b", 2)])]);
        source.step(&[delete("a"), upsert(&[("a", 9)]), delete("nobody")]);
        assert_eq!(source.table().to_string(), "k v\n0: \"a\" 9\n1: \"b\" 2\n");
        source.step(&[delete("a")]);
        source.step(&[upsert(&[("a", 7)])]);
        assert_eq!(source.table().to_string(), "k v\n0: \"b\" 2\n1: \"a\" 7\n");
    }

    #[test]
    fn what_replaces_all_is_all_there_is() {
        let mut source = KeyedSource::new(&["k", "v"], &["k"]);
        source.step(&[upsert(&[("a", 1), ("b", 2)])]);
        let KeyedWrite::Upsert(rows) = upsert(&[("c", 4), ("b", 5)]) else { unreachable!() };
        source.step(&[upsert(&[("d", 3)]), KeyedWrite::Replace(rows)]);
        assert_eq!(source.table().to_string(), "k v\n0: \"b\" 5\n1: \"c\" 4\n");
    }

    #[test]
    fn null_is_a_key() {
        let mut source = KeyedSource::new(&["k", "v"], &["k"]);
        source.step(&[KeyedWrite::Upsert(vec![vec![Value::Null, 1i64.into()], vec![Value::Null, 2i64.into()]])]);
        assert_eq!(source.table().to_string(), "k v\n0: null 2\n");
    }
}
