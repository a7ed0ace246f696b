//! Several writers of the same tables, some in transactions, against plain maps: what fits is taken, what does not is
//! refused, a transaction lands whole or raises, and each step shows what was queued.

use super::super::Token;
use super::*;
use crate::testing::Tape;
use rowset::Shift;

type Rows = BTreeMap<u64, (String, i64)>;

/// A change as a plain map takes it.
#[derive(Clone, Default, Debug)]
struct Plan {
    removed: Vec<u64>,
    shift: Option<Shift>,
    added: Rows,
    /// New texts and new numbers: each column may change in rows of its own choice only by calls of their own.
    modified: BTreeMap<u64, (Option<String>, Option<i64>)>,
}

impl Plan {
    /// What it makes of these rows, if it fits them.
    fn over(&self, rows: &Rows) -> Option<Rows> {
        let mut left = rows.clone();
        for key in &self.removed {
            left.remove(key)?;
        }
        let moved = |key: u64| match self.shift {
            Some(shift) if (shift.first..=shift.last).contains(&key) => key.checked_add_signed(shift.delta),
            _ => Some(key),
        };
        let places: Vec<u64> = left.keys().map(|key| moved(*key)).collect::<Option<_>>()?;
        if places.windows(2).any(|pair| pair[0] >= pair[1]) {
            return None;
        }
        let mut now: Rows = places.into_iter().zip(left.into_values()).collect();
        for (key, (text, number)) in &self.modified {
            let row = now.get_mut(key)?;
            row.0 = text.clone().unwrap_or(std::mem::take(&mut row.0));
            row.1 = number.unwrap_or(row.1);
        }
        for (key, row) in &self.added {
            if now.insert(*key, row.clone()).is_some() {
                return None;
            }
        }
        Some(now)
    }

    fn apply(&self) -> Apply {
        let cells: Vec<(&str, i64)> = self.added.values().map(|(text, number)| (text.as_str(), *number)).collect();
        let added = (!cells.is_empty()).then(|| (self.added.keys().copied().collect::<RowSet>(), batch(&cells)));
        let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
        if self.modified.values().any(|(text, _)| text.is_some()) {
            columns.push(("k", Arc::new(StringArray::from_iter(self.modified.values().map(|(text, _)| text.clone())))));
        }
        if self.modified.values().any(|(_, number)| number.is_some()) {
            columns.push(("v", Arc::new(Int64Array::from_iter(self.modified.values().map(|(_, number)| *number)))));
        }
        let modified = (!columns.is_empty())
            .then(|| (self.modified.keys().copied().collect::<RowSet>(), RecordBatch::try_from_iter(columns).unwrap()));
        let removed = self.removed.iter().copied().collect();
        Apply { added, removed, modified, shifted: self.shift.into_iter().collect() }
    }

    /// Mostly one that fits `rows`.
    fn draw(tape: &mut Tape, rows: &Rows) -> Plan {
        let mut plan = Plan::default();
        let keys: Vec<u64> = rows.keys().copied().collect();
        for _ in 0..tape.below(3) {
            let key = if keys.is_empty() || tape.chance(10) { tape.below(40) } else { *tape.choose(&keys) };
            if !plan.removed.contains(&key) {
                plan.removed.push(key);
            }
        }
        let left: Vec<u64> = keys.iter().copied().filter(|key| !plan.removed.contains(key)).collect();
        if tape.below(4) == 0 && !left.is_empty() {
            let from = tape.below(left.len() as u64) as usize;
            let to = from + tape.below((left.len() - from) as u64) as usize;
            let delta = *tape.choose(&[1, -1, 2, -2, 7]);
            plan.shift = Some(Shift { first: left[from], last: left[to], delta });
        }
        let survivors = Plan { modified: BTreeMap::new(), ..plan.clone() }.over(rows).unwrap_or_default();
        let there: Vec<u64> = survivors.keys().copied().collect();
        let which = tape.below(3);
        for _ in 0..tape.below(4) {
            let key = if there.is_empty() || tape.chance(10) { tape.below(40) } else { *tape.choose(&there) };
            let text = (which != 0).then(|| format!("m{}", tape.below(9)));
            let number = (which != 1).then(|| tape.below(9) as i64);
            plan.modified.insert(key, (text, number));
        }
        let first = tape.below(60);
        for key in first..first + tape.below(5) {
            if tape.chance(10) || !survivors.contains_key(&key) {
                plan.added.insert(key, (format!("a{}", tape.below(9)), tape.below(9) as i64));
            }
        }
        plan.modified.retain(|key, _| !plan.added.contains_key(key));
        plan
    }
}

/// An open transaction and what the model knows of it.
struct Opened {
    transaction: Transaction,
    calls: Vec<(usize, Plan, Token)>,
    /// For each table: the rows after its calls, as long as nobody else has queued anything since.
    above: [Option<Rows>; 2],
}

struct World {
    graph: UpdateGraph,
    tables: [InputTable; 2],
    watches: [Watch; 2],
    queued: [Rows; 2],
    open: Vec<Opened>,
    waiting: Vec<Token>,
}

impl World {
    fn new() -> World {
        let graph = still_graph();
        let tables = [0, 1].map(|_| InputTable::new(&graph, schema()).unwrap());
        let watches = [0, 1].map(|at: usize| Watch::attach(tables[at].table()).unwrap());
        World { graph, tables, watches, queued: Default::default(), open: Vec::new(), waiting: Vec::new() }
    }

    fn write(&mut self, tape: &mut Tape) {
        let table = tape.below(2) as usize;
        let plan = Plan::draw(tape, &self.queued[table]);
        let after = plan.over(&self.queued[table]);
        let answer = self.tables[table].apply(plan.apply());
        assert_eq!(answer.is_ok(), after.is_some(), "{plan:?} over {:?}: {:?}", self.queued[table], answer.err());
        let (Ok(token), Some(after)) = (answer, after) else { return };
        self.waiting.push(token);
        self.queued[table] = after;
        self.open.iter_mut().for_each(|open| open.above[table] = None);
    }

    fn validate_in_transaction(&mut self, tape: &mut Tape, at: usize) {
        let (table, open) = (tape.below(2) as usize, &mut self.open[at]);
        let first = !open.calls.iter().any(|(of, ..)| *of == table);
        let known = if first { Some(self.queued[table].clone()) } else { open.above[table].clone() };
        let plan = Plan::draw(tape, known.as_ref().unwrap_or(&self.queued[table]));
        let answer = open.transaction.collect(|| self.tables[table].apply(plan.apply()));
        let after = known.as_ref().map(|rows| plan.over(rows));
        if let Some(after) = &after {
            assert_eq!(answer.is_ok(), after.is_some(), "{plan:?} over {known:?}: {:?}", answer.err());
        }
        if let Ok(token) = answer {
            open.above[table] = after.flatten();
            open.calls.push((table, plan, token));
        }
    }

    fn commit(&mut self, at: usize) {
        let Opened { transaction, calls, .. } = self.open.remove(at);
        let mut after = self.queued.clone();
        let fits = calls.iter().all(|(table, plan, _)| match plan.over(&after[*table]) {
            Some(rows) => {
                after[*table] = rows;
                true
            }
            None => false,
        });
        assert_eq!(transaction.commit().is_ok(), fits, "{calls:?} over {:?}", self.queued, calls = plans(&calls));
        if !fits {
            return all_cancelled(calls);
        }
        calls.iter().for_each(|(table, ..)| self.open.iter_mut().for_each(|open| open.above[*table] = None));
        self.waiting.extend(calls.into_iter().map(|(_, _, token)| token));
        self.queued = after;
    }

    fn step(&mut self) {
        assert!(self.waiting.iter().all(|token| token.landed().is_none()));
        let step = self.graph.step().unwrap().number();
        count_step();
        let landed = |token: Token| assert_eq!(token.landed().unwrap().unwrap(), step);
        self.waiting.drain(..).for_each(landed);
        for at in 0..2 {
            assert!(self.watches[at].fault().is_none(), "{:?}", self.watches[at].fault());
            let table = self.tables[at].table();
            let keys: Vec<u64> = table.rows().unwrap().iter().collect();
            let found: Rows = keys.into_iter().zip(now(table)).collect();
            assert_eq!(found, self.queued[at]);
        }
    }
}

fn plans(calls: &[(usize, Plan, Token)]) -> Vec<(usize, &Plan)> {
    calls.iter().map(|(table, plan, _)| (*table, plan)).collect()
}

fn all_cancelled(calls: Vec<(usize, Plan, Token)>) {
    assert!(calls.iter().all(|(_, _, token)| matches!(token.landed(), Some(Err(Error::Cancelled(_))))));
}

#[test]
fn law_of_writers_and_transactions() {
    explore(150, |tape| {
        limits::Scope::drawn(tape.below(1 << 16)).enter(|| {
            let mut world = World::new();
            for _ in 0..60 {
                let at = tape.below(world.open.len().max(1) as u64) as usize;
                match tape.below(12) {
                    0 => world.step(),
                    1 | 2 if world.open.len() < 3 => world.open.push(Opened {
                        transaction: Transaction::begin(&world.graph),
                        calls: Vec::new(),
                        above: Default::default(),
                    }),
                    3 if !world.open.is_empty() => world.commit(at),
                    4 if !world.open.is_empty() => {
                        let Opened { transaction, calls, .. } = world.open.remove(at);
                        transaction.rollback();
                        all_cancelled(calls);
                    }
                    5..=8 if !world.open.is_empty() => world.validate_in_transaction(tape, at),
                    _ => world.write(tape),
                }
            }
            world.step();
        });
        Ok(())
    });
}
