//! `time_table`: a stamp each period, as the clock passes it.

use crate::table::{Row, Table};
use crate::value::Value;

/// The stamps that are due: all of them, or those of this step alone.
#[derive(Clone, Debug)]
pub struct TimeSource {
    period: i64,
    next: i64,
    blink: bool,
    rows: Vec<Row>,
}

impl TimeSource {
    /// A stamp every `period` nanoseconds: from `start`, or else from `now` rounded down to a period.
    pub fn new(period: i64, start: Option<i64>, now: i64, blink: bool) -> TimeSource {
        let next = start.unwrap_or_else(|| now - now.rem_euclid(period));
        TimeSource { period, next, blink, rows: Vec::new() }
    }

    /// One step at `now`: every stamp that is not later and was not there yet.
    pub fn step(&mut self, now: i64) {
        if self.blink {
            self.rows.clear();
        }
        while self.next <= now {
            self.rows.push(vec![Value::Timestamp(self.next)]);
            self.next += self.period;
        }
    }

    /// What stands there. By position.
    pub fn table(&self) -> Table {
        Table::flat(vec!["Timestamp".to_owned()], self.rows.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_step_brings_all_that_is_due() {
        for (blink, wanted) in [(false, [1, 3, 3]), (true, [1, 2, 0])] {
            let mut source = TimeSource::new(10, None, 25, blink);
            let rows = [25, 49, 49].map(|now| {
                source.step(now);
                source.table().len()
            });
            assert_eq!(rows, wanted);
        }
        let mut late = TimeSource::new(10, Some(7), 3, false);
        late.step(6);
        assert!(late.table().is_empty());
        late.step(17);
        assert_eq!(late.table().len(), 2);
    }
}
