//! What is held of a table that never ends, row at a time: groups whose last row is not too long ago, rows that are not too
//! old, and at most so many of them.

use crate::table::{Row, Table};
use crate::value::Key;

/// For how long, and how many.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// How long.
    pub ttl: Option<i64>,
    /// How many.
    pub most: Option<usize>,
}

impl Limits {
    fn is_old(self, time: i64, now: i64) -> bool {
        self.ttl.is_some_and(|ttl| time.saturating_add(ttl) < now)
    }

    fn is_full(self, held: usize) -> bool {
        self.most.is_some_and(|most| held > most)
    }
}

/// The groups of rows that came, from the first row of each on until it is let go.
#[derive(Clone, Debug)]
pub struct HeldGroups {
    limits: Limits,
    by: Vec<usize>,
    names: Vec<String>,
    lives: Vec<Life>,
    touches: u64,
}

/// A group, until it is let go.
#[derive(Clone, Debug)]
struct Life {
    key: Key,
    rows: Vec<Row>,
    last: (i64, u64),
    held: bool,
}

impl HeldGroups {
    /// Without a row.
    pub fn new(names: &[String], by: &[&str], limits: Limits) -> HeldGroups {
        let place = |key: &&str| names.iter().position(|name| name == key).expect("the column is there");
        let by = by.iter().map(place).collect();
        HeldGroups { limits, by, names: names.to_vec(), lives: Vec::new(), touches: 0 }
    }

    /// Rows with their times come, and what is too much goes. Gives the rows of its group for each row, up to that one.
    pub fn step(&mut self, now: i64, rows: &[(i64, Row)]) -> Vec<Vec<Row>> {
        let mut so_far = Vec::new();
        for (time, row) in rows {
            let key = Table::key_of(row, &self.by);
            let touch = (*time, self.touches);
            self.touches += 1;
            let known = self.lives.iter().position(|life| life.held && life.key == key);
            let at = known.unwrap_or_else(|| {
                self.lives.push(Life { key, rows: Vec::new(), last: touch, held: true });
                self.lives.len() - 1
            });
            let life = &mut self.lives[at];
            life.rows.push(row.clone());
            life.last = life.last.max(touch);
            so_far.push(life.rows.clone());
        }
        loop {
            let held = self.held();
            let oldest = self.lives.iter_mut().filter(|life| life.held).min_by_key(|life| life.last);
            match oldest {
                Some(life) if self.limits.is_old(life.last.0, now) || self.limits.is_full(held) => life.held = false,
                _ => return so_far,
            }
        }
    }

    /// How many groups are held.
    pub fn held(&self) -> usize {
        self.lives.iter().filter(|life| life.held).count()
    }

    /// How many groups were let go.
    pub fn let_go(&self) -> usize {
        self.lives.len() - self.held()
    }

    /// The rows of each group, in the order in which groups came. `all`: of those that were let go too.
    pub fn tables(&self, all: bool) -> Vec<Table> {
        let lives = self.lives.iter().filter(|life| all || life.held);
        lives.map(|life| Table::flat(self.names.clone(), life.rows.clone())).collect()
    }
}

/// The rows of a table that are held.
#[derive(Clone, Debug)]
pub struct HeldRows {
    limits: Limits,
    names: Vec<String>,
    /// The key in the table, while it follows that; the time; the row.
    rows: Vec<(Option<u64>, i64, Row)>,
    /// How many rows came too late, or were let go.
    pub refused: usize,
}

impl HeldRows {
    /// Without a row.
    pub fn new(names: &[String], limits: Limits) -> HeldRows {
        HeldRows { limits, names: names.to_vec(), rows: Vec::new(), refused: 0 }
    }

    /// Rows go.
    pub fn go(&mut self, keys: &[u64]) {
        self.rows.retain(|(key, ..)| key.is_none_or(|key| !keys.contains(&key)));
    }

    /// Rows have other keys.
    pub fn rekey(&mut self, to: impl Fn(u64) -> u64) {
        self.rows.iter_mut().for_each(|(key, ..)| *key = key.map(&to));
    }

    /// A row changes, and with it its time, if a time is given.
    pub fn change(&mut self, key: u64, time: Option<i64>, row: Row) {
        if let Some(held) = self.rows.iter_mut().find(|(held, ..)| *held == Some(key)) {
            *held = (Some(key), time.unwrap_or(held.1), row);
        }
    }

    /// Rows with their times come, and what is too old or too much goes.
    pub fn come(&mut self, now: i64, rows: &[(Option<u64>, i64, Row)]) {
        let before = self.rows.len() + rows.len();
        self.rows.extend(rows.iter().cloned());
        self.rows.retain(|(_, time, _)| !self.limits.is_old(*time, now));
        while self.limits.is_full(self.rows.len()) {
            let times = || self.rows.iter().map(|(_, time, _)| *time);
            let oldest = times().min().and_then(|least| times().position(|time| time == least));
            oldest.map(|at| self.rows.remove(at));
        }
        self.refused += before - self.rows.len();
    }

    /// The rows, in the order in which they came.
    pub fn table(&self) -> Table {
        Table::flat(self.names.clone(), self.rows.iter().map(|(.., row)| row.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn row(key: &str) -> Row {
        vec![Value::from(key)]
    }

    #[test]
    fn the_group_that_was_touched_longest_ago_goes() {
        let mut held = HeldGroups::new(&["k".to_owned()], &["k"], Limits { ttl: None, most: Some(2) });
        held.step(0, &[(0, row("a")), (0, row("b")), (0, row("a")), (0, row("c"))]);
        assert_eq!((held.held(), held.let_go()), (2, 1));
        assert_eq!(held.step(0, &[(0, row("b"))])[0].len(), 1);
    }

    #[test]
    fn a_row_is_held_as_long_as_it_is_said() {
        let mut held = HeldRows::new(&["k".to_owned()], Limits { ttl: Some(5), most: None });
        held.come(0, &[(Some(0), 0, row("a")), (Some(1), 3, row("b"))]);
        held.come(6, &[]);
        assert_eq!((held.table().len(), held.refused), (1, 1));
    }
}
