//! `natural_join`: every left row, with at most one right row beside it. By position.

use super::matching::Matching;
use crate::table::{Fault, Table};
use crate::value::Value;

/// What a second right row of one key means, if a left row meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondMatch {
    /// A fault that names the key.
    Error,
    /// The first counts.
    First,
    /// The last counts.
    Last,
}

/// The parameters of a natural join.
#[derive(Clone, Debug)]
pub struct NaturalJoin {
    /// Key columns: (left, right).
    pub on: Vec<(String, String)>,
    /// Columns taken from the right: (its name there, its name in the result).
    pub joins: Vec<(String, String)>,
    /// What a second match means.
    pub second: SecondMatch,
    /// Whether no match is a fault too: the exact join.
    pub exactly_one: bool,
    /// Whether null matches null.
    pub nulls_equal: bool,
}

impl NaturalJoin {
    /// Keys of the same name on both sides, columns under their own names, a second match an error.
    pub fn new(on: &[&str], joins: &[&str]) -> NaturalJoin {
        let pairs = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect();
        NaturalJoin {
            on: pairs(on),
            joins: pairs(joins),
            second: SecondMatch::Error,
            exactly_one: false,
            nulls_equal: false,
        }
    }
}

/// The left table with columns of its matches; nulls where there is none. A second right row is a
/// fault only where a left row meets it.
pub fn natural_join(left: &Table, right: &Table, join: &NaturalJoin) -> Result<Table, Fault> {
    let matching = Matching::new(left, right, &join.on, join.nulls_equal);
    let taken: Vec<usize> = join.joins.iter().map(|(name, _)| right.index_of(name)).collect();
    let mut output = left.clone();
    output.names.extend(join.joins.iter().map(|(_, name)| name.clone()));
    for (_, row) in &mut output.rows {
        let (key, matches) = matching.of(row);
        if matches.len() > 1 && (join.second == SecondMatch::Error || join.exactly_one) {
            return Err(Fault(format!("more than one right row has the key {key}")));
        }
        if matches.is_empty() && join.exactly_one {
            return Err(Fault(format!("no right row has the key {key}")));
        }
        let chosen = if join.second == SecondMatch::Last { matches.last() } else { matches.first() };
        let cell = |column: usize| chosen.map_or(Value::Null, |at| right.rows[*at].1[column].clone());
        row.extend(taken.iter().map(|column| cell(*column)));
    }
    Ok(output)
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

    fn joined(left: &Table, right: &Table, join: &NaturalJoin) -> Vec<String> {
        natural_join(left, right, join).expect("no fault").column("v").iter().map(Value::to_string).collect()
    }

    #[test]
    fn every_left_row_stays_and_nulls_fill_the_gaps() {
        let join = NaturalJoin::new(&["k"], &["v"]);
        let right = right(&[("a".into(), 1), (Value::Null, 2), ("c".into(), 3)]);
        assert_eq!(joined(&left(&["a".into(), "b".into(), Value::Null]), &right, &join), ["1", "null", "null"]);
        let equal = NaturalJoin { nulls_equal: true, ..join };
        assert_eq!(joined(&left(&["a".into(), "b".into(), Value::Null]), &right, &equal), ["1", "null", "2"]);
    }

    #[test]
    fn nan_meets_nan_and_zero_meets_zero() {
        let join = NaturalJoin::new(&["k"], &["v"]);
        let right = right(&[(f64::NAN.into(), 1), (0.0.into(), 2)]);
        assert_eq!(joined(&left(&[(-f64::NAN).into(), (-0.0).into()]), &right, &join), ["1", "2"]);
    }

    #[test]
    fn a_second_right_row_matters_only_where_a_left_row_meets_it() {
        let join = NaturalJoin::new(&["k"], &["v"]);
        let right = right(&[("a".into(), 1), ("b".into(), 2), ("b".into(), 3)]);
        assert_eq!(joined(&left(&["a".into()]), &right, &join), ["1"]);
        let fault = natural_join(&left(&["a".into(), "b".into()]), &right, &join).expect_err("b has two");
        assert!(fault.0.contains("\"b\""), "{fault}");
        let with = |second| joined(&left(&["b".into()]), &right, &NaturalJoin { second, ..join.clone() });
        assert_eq!(with(SecondMatch::First), ["2"]);
        assert_eq!(with(SecondMatch::Last), ["3"]);
    }

    #[test]
    fn two_null_keys_on_the_right_hurt_nobody() {
        let right = right(&[(Value::Null, 1), (Value::Null, 2)]);
        assert_eq!(joined(&left(&[Value::Null]), &right, &NaturalJoin::new(&["k"], &["v"])), ["null"]);
    }

    #[test]
    fn an_exact_join_needs_its_match() {
        let join = NaturalJoin { exactly_one: true, ..NaturalJoin::new(&["k"], &["v"]) };
        assert!(natural_join(&left(&["a".into()]), &right(&[]), &join).is_err());
    }
}
