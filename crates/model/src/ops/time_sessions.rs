//! `session(…).agg(…)`: one row for each run of rows of a group no two neighbours of which lie further apart than a gap. By key.

use crate::ops::aggregate::{Aggregate, aggregate};
use crate::ops::groups::groups;
use crate::table::{Fault, Row, Table};
use crate::value::Value;

/// Keys, the first and the last time of each session, and the aggregates. A row without a time is in no session.
pub fn time_sessions(
    input: &Table,
    stamp: &str,
    gap: i64,
    by: &[String],
    aggregates: &[Aggregate],
) -> Result<Table, Fault> {
    let at = input.index_of(stamp);
    let mut names = by.to_vec();
    names.extend(["session_start".to_owned(), "session_end".to_owned()]);
    names.extend(aggregates.iter().map(|aggregate| aggregate.output.clone()));
    let time = |row: &Row| match row[at] {
        Value::Timestamp(time) => Some(time),
        _ => None,
    };
    let kept = input.rows.iter().filter(|(_, row)| time(row).is_some()).map(|(_, row)| row.clone()).collect();
    let kept = Table::flat(input.names.clone(), kept);
    let keys: Vec<&str> = by.iter().map(String::as_str).collect();
    let mut made: Vec<Row> = Vec::new();
    for (_, rows) in groups(&kept, by) {
        let mut times: Vec<i64> = rows.iter().filter_map(time).collect();
        times.sort_unstable();
        let mut ends: Vec<(i64, i64)> = Vec::new();
        for time in times {
            match ends.last_mut() {
                Some((_, end)) if i128::from(time) - i128::from(*end) <= i128::from(gap) => *end = time,
                _ => ends.push((time, time)),
            }
        }
        for (start, end) in ends {
            let is_in = |row: &&Row| time(row).is_some_and(|time| (start..=end).contains(&time));
            let inside = Table::flat(input.names.clone(), rows.iter().filter(is_in).cloned().collect());
            let mut row = aggregate(&inside, &keys, aggregates)?.rows[0].1.clone();
            row.splice(by.len()..by.len(), [Value::Timestamp(start), Value::Timestamp(end)]);
            made.push(row);
        }
    }
    Ok(Table::flat(names, made))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn neighbours_within_the_gap_are_of_one_session() {
        let times = [7, 1, 20, 4, 12].map(Value::Timestamp);
        let rows: Vec<&[Value]> = times.chunks(1).collect();
        let made = time_sessions(&table(&["t"], &rows), "t", 5, &[], &[Aggregate::len("n")]).expect("no sum");
        assert_eq!(made.to_string(), "session_start session_end n\n0: @1 @12 4\n1: @20 @20 1\n");
    }
}
