//! `join`: every pair of a left and a right row with equal keys. By position.

use super::matching::Matching;
use crate::table::{Fault, Row, Table};
use crate::value::Value;

/// Which rows a join has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Pairs.
    Inner,
    /// Pairs, and left rows without a match.
    Left,
    /// Pairs, and right rows without a match, in the order of the right rows.
    Right,
    /// Pairs, left rows without a match, and at the end right rows without one.
    Full,
    /// Every pair of rows, whatever is in them.
    Cross,
}

/// The parameters of a join.
#[derive(Clone, Debug)]
pub struct Join {
    /// Key columns: (left, right).
    pub on: Vec<(String, String)>,
    /// Which rows it has.
    pub how: How,
    /// Whether null matches null.
    pub nulls_equal: bool,
    /// Whether several left rows of a key that the right table has are a fault.
    pub one_left: bool,
    /// Whether several right rows of a key that the left table has are a fault.
    pub one_right: bool,
    /// Whether the key columns of one side are left out: the right ones, in a right join the left ones. In a full join a left
    /// key is the right one's where there is no left row.
    pub coalesce: bool,
    /// Appended to the name of a right column that the result has already.
    pub suffix: String,
}

impl Join {
    /// The inner join on columns of one name.
    pub fn new(on: &[&str]) -> Join {
        Join {
            on: on.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect(),
            how: How::Inner,
            nulls_equal: false,
            one_left: false,
            one_right: false,
            coalesce: true,
            suffix: "_right".to_owned(),
        }
    }
}

/// A left and a right row, by position.
type Pair = (Option<usize>, Option<usize>);

/// For each left row, in order, the right rows of its key, in order; in a right join the other way round.
pub fn join(left: &Table, right: &Table, join: &Join) -> Result<Table, Fault> {
    let matching = Matching::new(left, right, &join.on, join.nulls_equal);
    let pairs = pairs(left, right, &matching, join)?;
    let keys = [matching.left_keys(), matching.right_keys()];
    let left_out = |side: usize, column: usize| join.coalesce && keys[side].contains(&column);
    let of_left: Vec<usize> =
        (0..left.names.len()).filter(|column| join.how != How::Right || !left_out(0, *column)).collect();
    let of_right: Vec<usize> =
        (0..right.names.len()).filter(|column| join.how == How::Right || !left_out(1, *column)).collect();
    let mut names: Vec<String> = of_left.iter().map(|column| left.names[*column].clone()).collect();
    for column in &of_right {
        let name = &right.names[*column];
        let taken = of_left.iter().any(|own| left.names[*own] == *name);
        names.push(if taken { format!("{name}{}", join.suffix) } else { name.clone() });
    }
    let row = |(own, other): &Pair| -> Row {
        let left_cell = |column: &usize| match (own, other, keys[0].iter().position(|key| key == column)) {
            (Some(at), ..) => left.rows[*at].1[*column].clone(),
            (None, Some(at), Some(key)) if join.coalesce => right.rows[*at].1[keys[1][key]].clone(),
            _ => Value::Null,
        };
        let right_cell = |column: &usize| other.map_or(Value::Null, |at| right.rows[at].1[*column].clone());
        of_left.iter().map(left_cell).chain(of_right.iter().map(right_cell)).collect()
    };
    Ok(Table::flat(names, pairs.iter().map(row).collect()))
}

fn pairs(left: &Table, right: &Table, matching: &Matching<'_>, join: &Join) -> Result<Vec<Pair>, Fault> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut met = vec![0; right.len()];
    for (at, (_, row)) in left.rows.iter().enumerate() {
        let (key, matches) = matching.of(row);
        if join.one_right && matches.len() > 1 {
            return Err(Fault(format!("more than one right row has the key {key}")));
        }
        for &other in &matches {
            met[other] += 1;
            if join.one_left && met[other] > 1 {
                return Err(Fault(format!("more than one left row has the key {key}")));
            }
            pairs.push((Some(at), Some(other)));
        }
        if matches.is_empty() && matches!(join.how, How::Left | How::Full) {
            pairs.push((Some(at), None));
        }
    }
    if matches!(join.how, How::Right | How::Full) {
        let unmet = met.iter().enumerate().filter(|(_, met)| **met == 0);
        pairs.extend(unmet.map(|(other, _)| (None, Some(other))));
    }
    if join.how == How::Right {
        pairs.sort_by_key(|(_, other)| *other);
    }
    Ok(pairs)
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
        let outer = Join { how: How::Left, ..inner.clone() };
        assert_eq!(joined(&left, &right, &outer), ["2", "1", "3", "null", "null", "1", "3"]);
        let by_right = Join { how: How::Right, ..inner.clone() };
        assert_eq!(joined(&left, &right, &by_right), ["1", "1", "2", "3", "3", "4"]);
        let full = Join { how: How::Full, coalesce: false, ..inner.clone() };
        assert_eq!(joined(&left, &right, &full), ["2", "1", "3", "null", "null", "1", "3", "4"]);
        let cross = Join { how: How::Cross, ..Join::new(&[]) };
        assert_eq!(joined(&left, &right, &cross), ["1", "2", "3", "4"].repeat(5));
        let equal = Join { nulls_equal: true, ..inner };
        assert_eq!(joined(&left, &right, &equal), ["2", "1", "3", "4", "1", "3"]);
    }

    #[test]
    fn names_that_clash_get_a_suffix() {
        let both = right(&[("a".into(), 1)]);
        let names = |coalesce| join(&both, &both, &Join { coalesce, ..Join::new(&["k"]) }).expect("no fault").names;
        assert_eq!(names(true), ["k", "v", "v_right"]);
        assert_eq!(names(false), ["k", "v", "k_right", "v_right"]);
        let by_right = |coalesce| {
            let how = Join { how: How::Right, coalesce, ..Join::new(&["k"]) };
            join(&both, &both, &how).expect("no fault").names
        };
        assert_eq!(by_right(true), ["v", "k", "v_right"]);
        assert_eq!(by_right(false), ["k", "v", "k_right", "v_right"]);
    }

    #[test]
    fn a_coalesced_key_is_that_of_the_side_that_is_there() {
        let right = right(&[("a".into(), 1), ("b".into(), 2)]);
        let full = Join { how: How::Full, ..Join::new(&["k"]) };
        let found = join(&left(&["c".into(), "a".into()]), &right, &full).expect("no fault");
        assert_eq!(found.to_string(), "k v\n0: \"c\" null\n1: \"a\" 1\n2: \"b\" 2\n");
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
