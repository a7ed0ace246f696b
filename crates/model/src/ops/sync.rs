//! `sync_filter`, `sync_to_leader`: of each key the rows of one id, in several tables at once. Under the leader itself by key,
//! else by position.

use std::cmp::Ordering;

use crate::table::{Row, Table};
use crate::value::{Key, Value, order};

/// Key and id of a row, none without an id.
fn tagged(table: &Table, row: &[Value], keys: &[&str], id: &str) -> Option<(Key, Value)> {
    let places: Vec<usize> = keys.iter().map(|key| table.index_of(key)).collect();
    let id = row[table.index_of(id)].clone();
    (!id.is_null()).then(|| (Table::key_of(row, &places), id))
}

fn has(table: &Table, keys: &[&str], id: &str, wanted: &(Key, Value)) -> bool {
    let tags = table.rows.iter().filter_map(|(_, row)| tagged(table, row, keys, id));
    tags.into_iter().any(|(key, id)| key == wanted.0 && order(&id, &wanted.1) == Ordering::Equal)
}

fn kept(table: &Table, keep: impl Fn(&Row) -> bool) -> Table {
    Table { names: table.names.clone(), rows: table.rows.iter().filter(|(_, row)| keep(row)).cloned().collect() }
}

/// The rows of input `which` that have the newest id that all inputs have for their key.
pub fn sync_filter(inputs: &[&Table], keys: &[&str], ids: &[&str], which: usize) -> Table {
    let everywhere = |tag: &(Key, Value)| inputs.iter().zip(ids).all(|(input, id)| has(input, keys, id, tag));
    let newer = |tag: &(Key, Value)| {
        let tags = inputs[0].rows.iter().filter_map(|(_, row)| tagged(inputs[0], row, keys, ids[0]));
        tags.into_iter()
            .any(|other| other.0 == tag.0 && order(&other.1, &tag.1) == Ordering::Greater && everywhere(&other))
    };
    kept(inputs[which], |row| {
        tagged(inputs[which], row, keys, ids[which]).is_some_and(|tag| everywhere(&tag) && !newer(&tag))
    })
}

/// The last row of each key of the leader, the first input, whose ids the others have; or, of another input, the rows that it
/// wants. `ids`: columns of the leader and of the other, a pair for each other.
pub fn sync_leader(inputs: &[&Table], keys: &[&str], ids: &[(&str, &str)], which: usize) -> Table {
    let leader = inputs[0];
    let active = kept(leader, |row| {
        inputs[1..].iter().zip(ids).all(|(follower, (own, other))| {
            tagged(leader, row, keys, own).is_some_and(|tag| has(follower, keys, other, &tag))
        })
    });
    let places: Vec<usize> = keys.iter().map(|key| active.index_of(key)).collect();
    let mut last: Vec<(Key, u64, Row)> = Vec::new();
    for (at, row) in &active.rows {
        let key = Table::key_of(row, &places);
        match last.iter_mut().find(|(known, ..)| *known == key) {
            Some(known) => *known = (key, *at, row.clone()),
            None => last.push((key, *at, row.clone())),
        }
    }
    let wanted = Table::flat(leader.names.clone(), last.into_iter().map(|(_, _, row)| row).collect());
    let Some(follower) = which.checked_sub(1) else { return wanted };
    let (own, other) = ids[follower];
    kept(inputs[which], |row| tagged(inputs[which], row, keys, other).is_some_and(|tag| has(&wanted, keys, own, &tag)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn the_newest_id_that_all_have() {
        let rows = |ids: &[i64]| {
            let cells: Vec<[Value; 2]> = ids.iter().map(|id| ["a".into(), (*id).into()]).collect();
            table(&["k", "i"], &cells.iter().map(|row| &row[..]).collect::<Vec<_>>())
        };
        let (one, other) = (rows(&[1, 3, 2, 3, 4]), rows(&[3, 1, 5]));
        assert_eq!(sync_filter(&[&one, &other], &["k"], &["i", "i"], 0).to_string(), "k i\n1: \"a\" 3\n3: \"a\" 3\n");
        assert_eq!(sync_filter(&[&one, &other], &["k"], &["i", "i"], 1).to_string(), "k i\n0: \"a\" 3\n");
        // The last row of the leader that the other has is the second 3.
        assert_eq!(sync_leader(&[&one, &other], &["k"], &[("i", "i")], 0).to_string(), "k i\n0: \"a\" 3\n");
        assert_eq!(sync_leader(&[&one, &other], &["k"], &[("i", "i")], 1).to_string(), "k i\n0: \"a\" 3\n");
    }
}
