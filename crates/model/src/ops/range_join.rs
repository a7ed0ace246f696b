//! `range_join`: every left row, with aggregates of the right rows in its range. By position.

use std::cmp::Ordering;

use super::aggregate::{Aggregate, totals};
use super::matching::Matching;
use crate::table::{Fault, Row, Table};
use crate::value::{Value, order};

/// How an end of a range belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A row exactly there is outside.
    Open,
    /// A row exactly there is inside.
    Closed,
    /// As `Closed`; where no row stands exactly there, the nearest row beyond is inside too.
    Reaching,
}

/// The parameters of a range join.
#[derive(Clone, Debug)]
pub struct RangeJoin {
    /// Columns that must be equal: (left, right). Null equals nothing.
    pub by: Vec<(String, String)>,
    /// The right column that lies in ranges.
    pub on: String,
    /// The left column where ranges begin.
    pub from: Option<(String, Bound)>,
    /// The left column where they end.
    pub to: Option<(String, Bound)>,
    /// What is computed of the right rows, in the order of (value, row).
    pub aggregates: Vec<Aggregate>,
}

/// The left table with the aggregates; nulls where the range is inverted or has NaN.
pub fn range_join(left: &Table, right: &Table, join: &RangeJoin) -> Result<Table, Fault> {
    let matching = Matching::new(left, right, &join.by, false);
    let on = right.index_of(&join.on);
    let end = |end: &Option<(String, Bound)>| end.as_ref().map(|(name, bound)| (left.index_of(name), *bound));
    let (from, to) = (end(&join.from), end(&join.to));
    let mut output = left.clone();
    output.names.extend(join.aggregates.iter().map(|aggregate| aggregate.output.clone()));
    for (_, row) in &mut output.rows {
        let cell = |end: Option<(usize, Bound)>| end.map(|(at, bound)| (row[at].clone(), bound));
        let (from, to) = (cell(from), cell(to));
        if is_impossible(&from, &to) {
            row.extend(join.aggregates.iter().map(|_| Value::Null));
            continue;
        }
        let (_, rows) = matching.of(row);
        let mut group: Vec<&Row> = rows.into_iter().map(|at| &right.rows[at].1).collect();
        group.retain(|other| !other[on].is_null() && !other[on].is_nan());
        group.sort_by(|one, other| order(&one[on], &other[on]));
        let inside: Vec<Row> = inside(&group, on, from, to).into_iter().cloned().collect();
        let found = totals(&Table::flat(right.names.clone(), inside), &join.aggregates)?;
        row.extend(found.rows[0].1.iter().cloned());
    }
    Ok(output)
}

type End = Option<(Value, Bound)>;

fn is_impossible(from: &End, to: &End) -> bool {
    let is_nan = |end: &End| end.as_ref().is_some_and(|(value, _)| value.is_nan());
    let inverted = match (from, to) {
        (Some((from, _)), Some((to, _))) => !from.is_null() && !to.is_null() && order(from, to).is_gt(),
        _ => false,
    };
    is_nan(from) || is_nan(to) || inverted
}

/// The rows of a group, which stand in order, that lie between the ends.
fn inside<'a>(group: &[&'a Row], on: usize, from: End, to: End) -> Vec<&'a Row> {
    let there = |end: End| end.filter(|(value, _)| !value.is_null());
    let (from, to) = (there(from), there(to));
    if let (Some((low, opens)), Some((high, closes))) = (&from, &to)
        && order(low, high).is_eq()
        && (*opens == Bound::Open || *closes == Bound::Open)
    {
        return Vec::new();
    }
    let beside = |row: &Row, end: &End, beyond: Ordering| {
        end.as_ref().is_none_or(|(value, bound)| match order(&row[on], value) {
            Ordering::Equal => *bound != Bound::Open,
            side => side != beyond,
        })
    };
    let is_in = |row: &Row| beside(row, &from, Ordering::Less) && beside(row, &to, Ordering::Greater);
    let mut rows: Vec<&Row> = group.iter().copied().filter(|row| is_in(row)).collect();
    let exactly = |value: &Value| group.iter().any(|row| order(&row[on], value).is_eq());
    if let Some((low, Bound::Reaching)) = &from
        && !exactly(low)
        && let Some(before) = group.iter().rfind(|row| order(&row[on], low).is_lt())
    {
        rows.insert(0, before);
    }
    if let Some((high, Bound::Reaching)) = &to
        && !exactly(high)
        && let Some(behind) = group.iter().find(|row| order(&row[on], high).is_gt())
    {
        rows.push(behind);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Aggregator;
    use crate::table::table;

    fn of(low: Value, high: Value, opens: Bound, closes: Bound) -> String {
        let left = table(&["lo", "hi"], &[&[low, high]]);
        let right: Vec<[Value; 1]> = [10i64, 20, 20, 30, 50].map(|x| [x.into()]).to_vec();
        let right = table(&["x"], &right.iter().map(|row| &row[..]).collect::<Vec<_>>());
        let join = RangeJoin {
            by: Vec::new(),
            on: "x".to_owned(),
            from: Some(("lo".to_owned(), opens)),
            to: Some(("hi".to_owned(), closes)),
            aggregates: vec![Aggregate::new("all", Aggregator::Implode, "x")],
        };
        range_join(&left, &right, &join).expect("no sum is too large").rows[0].1[2].to_string()
    }

    #[test]
    fn ends_are_inside_or_not_or_reach() {
        use Bound::*;
        assert_eq!(of(20.into(), 30.into(), Closed, Closed), "[20, 20, 30]");
        assert_eq!(of(20.into(), 30.into(), Open, Closed), "[30]");
        assert_eq!(of(20.into(), 30.into(), Open, Open), "[]");
        assert_eq!(of(20.into(), 20.into(), Closed, Closed), "[20, 20]");
        assert_eq!(of(20.into(), 20.into(), Closed, Open), "[]");
        assert_eq!(of(25.into(), 40.into(), Reaching, Reaching), "[20, 30, 50]");
        assert_eq!(of(20.into(), 30.into(), Reaching, Reaching), "[20, 20, 30]");
        assert_eq!(of(30.into(), 20.into(), Closed, Closed), "null");
        assert_eq!(of(Value::Null, 20.into(), Open, Open), "[10]");
        assert_eq!(of(35.into(), Value::Null, Reaching, Closed), "[30, 50]");
    }
}
