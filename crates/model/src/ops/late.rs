//! A watermark, and the rows of a table that are not late: batch by batch, each row judged by itself.

use crate::table::{Row, Table};
use crate::value::{Value, same};

/// The rows that a table with a watermark ever had, but for those that came too late and with those that went too late.
#[derive(Clone, Debug)]
pub struct Timely {
    stamp: usize,
    delay: i64,
    allowed: i64,
    mark: Option<i64>,
    names: Vec<String>,
    rows: Vec<Row>,
    /// How many rows came too late, and how many were to go too late.
    pub late: [u64; 2],
}

impl Timely {
    /// Without a row. `allowed`: how much later than the watermark rows may come.
    pub fn new(names: &[String], stamp: &str, delay: i64, allowed: i64) -> Timely {
        let stamp = names.iter().position(|name| name == stamp).expect("the column is there");
        Timely { stamp, delay, allowed, mark: None, names: names.to_vec(), rows: Vec::new(), late: [0; 2] }
    }

    /// A row whose stamp lies before this is late; a window that ends by then has closed.
    pub fn limit(&self) -> i64 {
        self.mark.map_or(i64::MIN, |mark| mark.saturating_sub(self.allowed))
    }

    /// A batch: the rows that were, and those that are in their place.
    pub fn step(&mut self, before: &[Row], now: &[Row]) {
        let (gone, come) = (without(before, now), without(now, before));
        let limit = self.limit();
        for row in gone {
            let Value::Timestamp(stamp) = row[self.stamp] else { continue };
            if stamp < limit {
                self.late[1] += 1;
            } else {
                let at = self.rows.iter().position(|known| equal(known, &row)).expect("a row that was timely is held");
                self.rows.remove(at);
            }
        }
        for row in come {
            let Value::Timestamp(stamp) = row[self.stamp] else { continue };
            self.mark = self.mark.max(Some(stamp.saturating_sub(self.delay)));
            match stamp >= limit {
                true => self.rows.push(row),
                false => self.late[0] += 1,
            }
        }
    }

    /// The rows.
    pub fn table(&self) -> Table {
        Table::flat(self.names.clone(), self.rows.clone())
    }
}

/// The rows that the others have not, as often as they have not.
fn without(rows: &[Row], others: &[Row]) -> Vec<Row> {
    let mut others = others.to_vec();
    let mut left = Vec::new();
    for row in rows {
        match others.iter().position(|other| equal(other, row)) {
            Some(at) => drop(others.swap_remove(at)),
            None => left.push(row.clone()),
        }
    }
    left
}

fn equal(row: &Row, other: &Row) -> bool {
    row.iter().zip(other).all(|(a, b)| same(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_before_the_watermark_are_late() {
        let rows = |times: &[i64]| times.iter().map(|time| vec![Value::Timestamp(*time)]).collect::<Vec<Row>>();
        let mut timely = Timely::new(&["t".to_owned()], "t", 5, 0);
        timely.step(&[], &rows(&[3, 20]));
        assert_eq!(timely.limit(), 15);
        timely.step(&rows(&[3, 20]), &rows(&[14, 15, 20]));
        assert_eq!((timely.table().len(), timely.late), (3, [1, 1]));
    }
}
