//! `join`: every pair of a left and a right row with equal keys. By position.

use super::matching::Matching;
use crate::table::{Fault, Table};
use crate::value::Value;

/// The parameters of a join.
#[derive(Clone, Debug)]
pub struct Join {
    /// Key columns: (left, right).
    pub on: Vec<(String, String)>,
    /// Whether left rows without a match stay, with nulls.
    pub outer: bool,
    /// Whether null matches null.
    pub nulls_equal: bool,
    /// Whether several left rows of a key that the right table has are a fault.
    pub one_left: bool,
    /// Whether several right rows of a key that the left table has are a fault.
    pub one_right: bool,
    /// Whether the right key columns are left out.
    pub coalesce: bool,
    /// Appended to the name of a right column that the result has already.
    pub suffix: String,
}

impl Join {
    /// The inner join on columns of one name.
    pub fn new(on: &[&str]) -> Join {
        Join {
            on: on.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect(),
            outer: false,
            nulls_equal: false,
            one_left: false,
            one_right: false,
            coalesce: true,
            suffix: "_right".to_owned(),
        }
    }
}

/// For each left row, in order, the right rows of its key, in order.
pub fn join(left: &Table, right: &Table, join: &Join) -> Result<Table, Fault> {
    let matching = Matching::new(left, right, &join.on, join.nulls_equal);
    let is_taken = |column: &usize| !join.coalesce || !matching.right_keys().contains(column);
    let taken: Vec<usize> = (0..right.names.len()).filter(is_taken).collect();
    let mut names = left.names.clone();
    for column in &taken {
        let name = &right.names[*column];
        names.push(if left.names.contains(name) { format!("{name}{}", join.suffix) } else { name.clone() });
    }
    let mut rows = Vec::new();
    let mut met = vec![0; right.rows.len()];
    for (_, row) in &left.rows {
        let (key, matches) = matching.of(row);
        if join.one_right && matches.len() > 1 {
            return Err(Fault(format!("more than one right row has the key {key}")));
        }
        for &at in &matches {
            met[at] += 1;
            if join.one_left && met[at] > 1 {
                return Err(Fault(format!("more than one left row has the key {key}")));
            }
            let other = taken.iter().map(|&column| right.rows[at].1[column].clone());
            rows.push(row.iter().cloned().chain(other).collect::<Vec<Value>>());
        }
        if join.outer && matches.is_empty() {
            rows.push(row.iter().cloned().chain(taken.iter().map(|_| Value::Null)).collect());
        }
    }
    Ok(Table { names, rows: (0..).zip(rows).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    fn left(keys: &[Value]) -> Table {
        table(&["k"], &keys.chunks(1).collect::<Vec<_>>())
    }

    fn right(rows: &[(Value, i64)]) -> Table {
        let rows: Vec<[Value; 2]> = rows.iter().map(|(key, v)| [key.clone(), (*v).into()]).collect();
        table(&["k", "v"], &rows.iter().map(|row| &row[..]).collect::<Vec<_>>())
    }

    fn joined(left: &Table, right: &Table, how: &Join) -> Vec<String> {
        join(left, right, how).expect("no fault").column("v").iter().map(Value::to_string).collect()
    }

    #[test]
    fn every_pair_left_major() {
        let right = right(&[("a".into(), 1), ("b".into(), 2), ("a".into(), 3), (Value::Null, 4)]);
        let left = left(&["b".into(), "a".into(), Value::Null, "c".into(), "a".into()]);
        let inner = Join::new(&["k"]);
        assert_eq!(joined(&left, &right, &inner), ["2", "1", "3", "1", "3"]);
        let outer = Join { outer: true, ..inner.clone() };
        assert_eq!(joined(&left, &right, &outer), ["2", "1", "3", "null", "null", "1", "3"]);
        let equal = Join { nulls_equal: true, ..inner };
        assert_eq!(joined(&left, &right, &equal), ["2", "1", "3", "4", "1", "3"]);
    }

    #[test]
    fn names_that_clash_get_a_suffix() {
        let both = right(&[("a".into(), 1)]);
        let names = |coalesce| join(&both, &both, &Join { coalesce, ..Join::new(&["k"]) }).expect("no fault").names;
        assert_eq!(names(true), ["k", "v", "v_right"]);
        assert_eq!(names(false), ["k", "v", "k_right", "v_right"]);
    }

    #[test]
    fn keys_are_counted_only_where_both_sides_have_them() {
        let right = right(&[("a".into(), 1), ("b".into(), 2), ("b".into(), 3)]);
        let once = Join { one_right: true, ..Join::new(&["k"]) };
        assert_eq!(joined(&left(&["a".into()]), &right, &once), ["1"]);
        assert!(join(&left(&["b".into()]), &right, &once).is_err());
        let twice = left(&["a".into(), "a".into(), "c".into(), "c".into()]);
        let first = Join { one_left: true, ..Join::new(&["k"]) };
        assert!(join(&twice, &right, &first).is_err());
        assert_eq!(joined(&left(&["c".into(), "c".into(), "b".into()]), &right, &first), ["2", "3"]);
    }
}
