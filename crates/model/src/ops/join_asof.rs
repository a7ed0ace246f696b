//! `join_asof`: every left row, with the right row nearest in time on one side. By position.

use std::cmp::Ordering;

use crate::table::{Row, Table};
use crate::value::{Value, order};

/// Which right stamps a left stamp may take, and which of equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The greatest at or before; of equals the last row.
    Backward,
    /// The least at or after; of equals the first row.
    Forward,
    /// The least at or after; of equals the last row (`raj`).
    ForwardLast,
    /// The least distance; at equal distance the later stamp, of equal stamps the last row.
    Nearest,
}

/// The parameters of an as-of join.
#[derive(Clone, Debug)]
pub struct Asof {
    /// The stamp on the left.
    pub left_on: String,
    /// The stamp on the right.
    pub right_on: String,
    /// Columns that must be equal: (left, right).
    pub by: Vec<(String, String)>,
    /// Columns taken from the right: (its name there, its name in the result).
    pub joins: Vec<(String, String)>,
    /// Where to look.
    pub strategy: Strategy,
    /// The greatest distance allowed, itself included, in the unit of the stamps.
    pub tolerance: Option<Value>,
    /// Whether an equal stamp matches.
    pub allow_exact_matches: bool,
    /// Whether null matches null in `by`. A null stamp matches nothing, ever.
    pub nulls_equal: bool,
}

impl Asof {
    /// Backward over stamps, `by` columns and joined columns under their own names.
    pub fn new(left_on: &str, right_on: &str, by: &[&str], joins: &[&str]) -> Asof {
        let pairs = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect();
        Asof {
            left_on: left_on.to_owned(),
            right_on: right_on.to_owned(),
            by: pairs(by),
            joins: pairs(joins),
            strategy: Strategy::Backward,
            tolerance: None,
            allow_exact_matches: true,
            nulls_equal: false,
        }
    }
}

/// The left table with columns of its matches; nulls where there is none.
pub fn join_asof(left: &Table, right: &Table, join: &Asof) -> Table {
    let left_keys: Vec<usize> = join.by.iter().map(|(name, _)| left.index_of(name)).collect();
    let right_keys: Vec<usize> = join.by.iter().map(|(_, name)| right.index_of(name)).collect();
    let (left_stamp, right_stamp) = (left.index_of(&join.left_on), right.index_of(&join.right_on));
    let taken: Vec<usize> = join.joins.iter().map(|(name, _)| right.index_of(name)).collect();
    let mut output = left.clone();
    output.names.extend(join.joins.iter().map(|(_, name)| name.clone()));
    for (_, row) in &mut output.rows {
        let key = Table::key_of(row, &left_keys);
        let mut best: Option<&Row> = None;
        for (_, other) in &right.rows {
            let meets = (join.nulls_equal || !key.has_null()) && Table::key_of(other, &right_keys) == key;
            if !meets || !may_take(join, &row[left_stamp], &other[right_stamp]) {
                continue;
            }
            let better =
                best.is_none_or(|best| replaces(join, &row[left_stamp], &best[right_stamp], &other[right_stamp]));
            if better {
                best = Some(other);
            }
        }
        row.extend(taken.iter().map(|&column| best.map_or(Value::Null, |other| other[column].clone())));
    }
    output
}

fn may_take(join: &Asof, left: &Value, right: &Value) -> bool {
    let no_stamp = |value: &Value| value.is_null() || value.is_nan();
    if no_stamp(left) || no_stamp(right) {
        return false;
    }
    let side = match (order(right, left), join.strategy) {
        (Ordering::Equal, _) => join.allow_exact_matches,
        (_, Strategy::Nearest) => true,
        (Ordering::Less, strategy) => strategy == Strategy::Backward,
        (Ordering::Greater, strategy) => strategy != Strategy::Backward,
    };
    side && join.tolerance.as_ref().is_none_or(|tolerance| within(left, right, tolerance))
}

/// Whether a later right row takes the place of the best so far.
fn replaces(join: &Asof, left: &Value, best: &Value, other: &Value) -> bool {
    let later = order(other, best);
    match join.strategy {
        Strategy::Backward => later.is_ge(),
        Strategy::Forward => later.is_lt(),
        Strategy::ForwardLast => later.is_le(),
        Strategy::Nearest => match order_distances(left, best, other) {
            Ordering::Equal => later.is_ge(),
            closer => closer.is_gt(),
        },
    }
}

/// A stamp as a whole number of its own unit: days of a date, nanoseconds of the rest.
fn whole(stamp: &Value) -> Option<i128> {
    match stamp {
        Value::Timestamp(x) | Value::Time(x) | Value::Duration(x) => Some(i128::from(*x)),
        Value::Date(x) => Some(i128::from(*x)),
        other => other.as_integer(),
    }
}

fn within(left: &Value, right: &Value, tolerance: &Value) -> bool {
    match (whole(left), whole(right), whole(tolerance)) {
        (Some(a), Some(b), Some(most)) => (a - b).abs() <= most,
        _ => {
            let number = |value: &Value| value.as_number().expect("a stamp and its tolerance are of one kind");
            // Equal infinities have no difference to measure; they are as near as can be.
            number(left) == number(right) || (number(left) - number(right)).abs() <= number(tolerance)
        }
    }
}

/// How the distance from the stamp to `best` stands to that to `other`.
fn order_distances(stamp: &Value, best: &Value, other: &Value) -> Ordering {
    match (whole(stamp), whole(best), whole(other)) {
        (Some(at), Some(best), Some(other)) => (best - at).abs().cmp(&(other - at).abs()),
        _ => {
            let number = |value: &Value| value.as_number().expect("stamps are numbers");
            let distance = |value: &Value| {
                if number(value) == number(stamp) { 0.0 } else { (number(value) - number(stamp)).abs() }
            };
            order(&Value::Float(distance(best)), &Value::Float(distance(other)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    fn right(rows: &[(&str, Value, i64)]) -> Table {
        let rows: Vec<[Value; 3]> = rows.iter().map(|(k, t, v)| [(*k).into(), t.clone(), (*v).into()]).collect();
        table(&["k", "t", "v"], &rows.iter().map(|row| &row[..]).collect::<Vec<_>>())
    }

    fn answer(stamp: impl Into<Value>, right: &Table, join: &Asof) -> String {
        let left = table(&["k", "t"], &[&["a".into(), stamp.into()]]);
        join_asof(&left, right, join).column("v")[0].to_string()
    }

    fn plan(strategy: Strategy) -> Asof {
        Asof { strategy, ..Asof::new("t", "t", &["k"], &["v"]) }
    }

    #[test]
    fn ties_go_to_the_last_backward_and_to_the_first_forward() {
        let right =
            right(&[("a", 5i64.into(), 1), ("a", 5i64.into(), 2), ("b", 5i64.into(), 3), ("a", 5i64.into(), 4)]);
        assert_eq!(answer(7i64, &right, &plan(Strategy::Backward)), "4");
        assert_eq!(answer(5i64, &right, &plan(Strategy::Backward)), "4");
        assert_eq!(answer(3i64, &right, &plan(Strategy::Forward)), "1");
        assert_eq!(answer(5i64, &right, &plan(Strategy::Forward)), "1");
        assert_eq!(answer(3i64, &right, &plan(Strategy::ForwardLast)), "4");
        assert_eq!(answer(4i64, &right, &plan(Strategy::Backward)), "null");
        assert_eq!(answer(6i64, &right, &plan(Strategy::Forward)), "null");
    }

    #[test]
    fn right_rows_need_not_be_in_time_order() {
        let right = right(&[("a", 9i64.into(), 9), ("a", 1i64.into(), 1), ("a", 5i64.into(), 5)]);
        assert_eq!(answer(6i64, &right, &plan(Strategy::Backward)), "5");
        assert_eq!(answer(6i64, &right, &plan(Strategy::Forward)), "9");
    }

    #[test]
    fn exact_matches_may_be_refused() {
        let right = right(&[("a", 4i64.into(), 4), ("a", 5i64.into(), 5), ("a", 6i64.into(), 6)]);
        let strict = |strategy| Asof { allow_exact_matches: false, ..plan(strategy) };
        assert_eq!(answer(5i64, &right, &strict(Strategy::Backward)), "4");
        assert_eq!(answer(5i64, &right, &strict(Strategy::Forward)), "6");
    }

    #[test]
    fn tolerance_includes_its_end() {
        let right = right(&[("a", 5i64.into(), 5)]);
        let near = |most: i64| Asof { tolerance: Some(most.into()), ..plan(Strategy::Backward) };
        assert_eq!(answer(8i64, &right, &near(3)), "5");
        assert_eq!(answer(8i64, &right, &near(2)), "null");
        assert_eq!(answer(5i64, &right, &near(0)), "5");
        assert_eq!(answer(i64::MAX, &self::right(&[("a", i64::MIN.into(), 1)]), &near(i64::MAX)), "null");
    }

    #[test]
    fn null_and_nan_stamps_match_nothing() {
        let right = right(&[("a", Value::Null, 1), ("a", f64::NAN.into(), 2), ("a", f64::NEG_INFINITY.into(), 3)]);
        assert_eq!(answer(Value::Null, &right, &plan(Strategy::Backward)), "null");
        assert_eq!(answer(f64::NAN, &right, &plan(Strategy::Backward)), "null");
        assert_eq!(answer(1.0, &right, &plan(Strategy::Backward)), "3");
        assert_eq!(answer(1.0, &right, &plan(Strategy::Forward)), "null");
    }

    #[test]
    fn nearest_takes_the_later_stamp_at_equal_distance() {
        let right = right(&[("a", 3i64.into(), 3), ("a", 7i64.into(), 7), ("a", 7i64.into(), 77)]);
        assert_eq!(answer(5i64, &right, &plan(Strategy::Nearest)), "77");
        assert_eq!(answer(4i64, &right, &plan(Strategy::Nearest)), "3");
    }

    #[test]
    fn null_groups_meet_only_when_told_to() {
        let left = table(&["k", "t"], &[&[Value::Null, 5i64.into()]]);
        let right = table(&["k", "t", "v"], &[&[Value::Null, 5i64.into(), 1i64.into()]]);
        let join = plan(Strategy::Backward);
        assert_eq!(join_asof(&left, &right, &join).column("v")[0].to_string(), "null");
        let equal = Asof { nulls_equal: true, ..join };
        assert_eq!(join_asof(&left, &right, &equal).column("v")[0].to_string(), "1");
    }
}
