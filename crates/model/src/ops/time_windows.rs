//! `group_by_dynamic(…).agg(…)`: one row for each group and each window of time that holds a row of it. By key.

use crate::ops::aggregate::{Aggregate, aggregate};
use crate::table::{Fault, Table};
use crate::value::Value;

/// Windows of a fixed length, in nanoseconds.
#[derive(Clone, Debug)]
pub struct TimeWindows {
    /// The column of times.
    pub stamp: String,
    /// How far apart they begin.
    pub every: i64,
    /// How long they last.
    pub period: i64,
    /// How long after 1970 the first begins.
    pub offset: i64,
    /// Whether each end belongs to them.
    pub closed: (bool, bool),
    /// The keys.
    pub by: Vec<String>,
    /// What is computed of each.
    pub aggregates: Vec<Aggregate>,
}

impl TimeWindows {
    /// Where the windows begin that hold a time, among all that begin so long before it.
    fn starts(&self, time: i64) -> Vec<i64> {
        let [time, every, period, offset] = [time, self.every, self.period, self.offset].map(i128::from);
        let near = (time - offset).div_euclid(every);
        let all = (near - period / every - 2..=near + 1).map(|number| number * every + offset);
        let from = |start: &i128| if self.closed.0 { *start <= time } else { *start < time };
        let to = |start: &i128| if self.closed.1 { time <= start + period } else { time < start + period };
        all.filter(|start| from(start) && to(start)).filter_map(|start| i64::try_from(start).ok()).collect()
    }
}

/// Keys, where the window begins under the name of the times, and the aggregates. A row without a time is in no window.
pub fn time_windows(input: &Table, windows: &TimeWindows) -> Result<Table, Fault> {
    const WINDOW: &str = "where the window begins";
    let at = input.index_of(&windows.stamp);
    let mut names = input.names.clone();
    names.push(WINDOW.to_owned());
    let mut rows = Vec::new();
    for (_, row) in &input.rows {
        let Value::Timestamp(time) = row[at] else { continue };
        for start in windows.starts(time) {
            rows.push(row.iter().cloned().chain([Value::Timestamp(start)]).collect());
        }
    }
    let by: Vec<&str> = windows.by.iter().map(String::as_str).chain([WINDOW]).collect();
    let mut made = aggregate(&Table::flat(names, rows), &by, &windows.aggregates)?;
    made.names[windows.by.len()].clone_from(&windows.stamp);
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn a_row_is_in_every_window_that_holds_its_time() {
        let input = table(&["t"], &[&[Value::Timestamp(10)], &[Value::Null], &[Value::Timestamp(-1)]]);
        let of = |period, closed| {
            let windows = TimeWindows {
                stamp: "t".to_owned(),
                every: 5,
                period,
                offset: 0,
                closed,
                by: Vec::new(),
                aggregates: vec![Aggregate::len("n")],
            };
            let made = time_windows(&input, &windows).expect("no sum");
            made.cells().iter().map(|row| row[0].to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(5, (true, false)), "@10 @-5");
        assert_eq!(of(5, (false, true)), "@5 @-5");
        assert_eq!(of(10, (true, true)), "@0 @5 @10 @-10 @-5");
        assert_eq!(of(2, (true, false)), "@10");
    }
}
