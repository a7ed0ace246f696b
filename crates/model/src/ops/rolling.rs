//! `rolling`: aggregates of a window of rows that moves along with each row of a group. By position: rows stay where they are.

use crate::ops::aggregate::{Aggregate, Aggregator, totals};
use crate::table::{Fault, Row, Table};
use crate::value::Value;

/// Which rows of its group a row sees.
#[derive(Clone, Debug)]
pub enum Window {
    /// From so many rows before it to so many after it, in the order of rows.
    Rows(i64, i64),
    /// Those whose stamp, in this column, lies from so much less to so much more, both included, in the order of stamps. A row
    /// without a stamp sees nothing, and is seen by none.
    Range(String, i64, i64),
}

/// The parameters of a rolling aggregation.
#[derive(Clone, Debug)]
pub struct Rolling {
    /// Rows with equal values of these are one group.
    pub by: Vec<String>,
    /// The window.
    pub window: Window,
    /// Of fewer values a result is null.
    pub least: u64,
    /// What is computed of the rows in the window.
    pub aggregates: Vec<Aggregate>,
}

/// The table with the aggregates of each row's window.
pub fn rolling(input: &Table, how: &Rolling) -> Result<Table, Fault> {
    let keys = input.indices_of(&how.by);
    let mut result = input.clone();
    result.names.extend(how.aggregates.iter().map(|aggregate| aggregate.output.clone()));
    for (at, (_, row)) in result.rows.iter_mut().enumerate() {
        let own = Table::key_of(&input.rows[at].1, &keys);
        let group: Vec<usize> =
            (0..input.rows.len()).filter(|other| Table::key_of(&input.rows[*other].1, &keys) == own).collect();
        let Some(seen) = seen(input, &group, at, &how.window) else {
            row.extend(how.aggregates.iter().map(|_| Value::Null));
            continue;
        };
        let rows: Vec<Row> = seen.iter().map(|at| input.rows[*at].1.clone()).collect();
        let window = Table::flat(input.names.clone(), rows);
        let found = totals(&window, &how.aggregates)?;
        let values = found.rows[0].1.iter().zip(&how.aggregates);
        row.extend(values.map(|(value, of)| if count(&window, of) < how.least { Value::Null } else { value.clone() }));
    }
    Ok(result)
}

/// How many values an aggregate is of.
fn count(window: &Table, of: &Aggregate) -> u64 {
    let counted =
        |(_, row): &&(u64, Row)| of.aggregator == Aggregator::Len || !row[window.index_of(&of.inputs[0])].is_null();
    window.rows.iter().filter(counted).count() as u64
}

/// The rows of a group that one of them sees, in order; none if it has no stamp.
fn seen(input: &Table, group: &[usize], at: usize, window: &Window) -> Option<Vec<usize>> {
    match window {
        Window::Rows(back, ahead) => {
            let own = group.iter().position(|other| *other == at)? as i128;
            let inside = own - i128::from(*back)..=own + i128::from(*ahead);
            Some((0i128..).zip(group).filter(|(place, _)| inside.contains(place)).map(|(_, other)| *other).collect())
        }
        Window::Range(on, back, ahead) => {
            let on = input.index_of(on);
            let stamp = |at: usize| stamp(&input.rows[at].1[on]);
            let own = stamp(at)?;
            let inside = own - i128::from(*back)..=own + i128::from(*ahead);
            let sees = |other: &usize| stamp(*other).is_some_and(|stamp| inside.contains(&stamp));
            let mut seen: Vec<usize> = group.iter().copied().filter(sees).collect();
            seen.sort_by_key(|at| stamp(*at));
            Some(seen)
        }
    }
}

fn stamp(value: &Value) -> Option<i128> {
    match value {
        Value::Int(stamp) | Value::Timestamp(stamp) | Value::Time(stamp) | Value::Duration(stamp) => {
            Some((*stamp).into())
        }
        Value::UInt(stamp) => Some((*stamp).into()),
        Value::Date(day) => Some((*day).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    fn input() -> Table {
        let rows: Vec<[Value; 3]> = vec![
            ["a".into(), 10i64.into(), 1i64.into()],
            ["b".into(), 10i64.into(), 2i64.into()],
            ["a".into(), 12i64.into(), Value::Null],
            ["a".into(), 11i64.into(), 4i64.into()],
            ["a".into(), Value::Null, 8i64.into()],
        ];
        table(&["k", "t", "v"], &rows.iter().map(|row| &row[..]).collect::<Vec<_>>())
    }

    fn made(window: Window, least: u64, aggregator: Aggregator) -> String {
        let aggregates = vec![Aggregate::new("s", aggregator, "v")];
        let how = Rolling { by: vec!["k".into()], window, least, aggregates };
        let table = rolling(&input(), &how).expect("it has a value");
        table.rows.iter().map(|(_, row)| row[3].to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn windows_of_rows_move_within_a_group() {
        assert_eq!(made(Window::Rows(1, 0), 0, Aggregator::Sum(0)), "1 2 1 4 12");
        assert_eq!(made(Window::Rows(1, 0), 2, Aggregator::Sum(0)), "null null null null 12");
        assert_eq!(made(Window::Rows(-1, 2), 0, Aggregator::Implode), "[null, 4] [] [4, 8] [8] []");
        assert_eq!(made(Window::Rows(i64::MAX, i64::MAX), 0, Aggregator::Len), "4 1 4 4 4");
    }

    #[test]
    fn windows_of_stamps_go_by_stamps() {
        let range = |back, ahead| Window::Range("t".into(), back, ahead);
        assert_eq!(made(range(1, 0), 0, Aggregator::Implode), "[1] [2] [4, null] [1, 4] null");
        assert_eq!(made(range(0, 2), 0, Aggregator::Sum(0)), "5 2 0 4 null");
        assert_eq!(made(range(2, -1), 0, Aggregator::Sum(0)), "0 0 5 1 null");
    }
}
