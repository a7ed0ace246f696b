//! The checker of updates, as a node: it sits on any table and holds every update to U1–U8.
//!
//! It keeps its own copy of the watched table, made by nothing but the updates, and compares it
//! with what the table says it is: all cells, at harness sizes, in every step.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_schema::Schema;
use graph::{Moment, Step};
use rowset::RowSet;

use super::draw::draw_step;
use super::mirror::RawStep;
use super::plain::{Cell, Plain};
use crate::attach::attach;
use crate::error::{Error, Failure};
use crate::live_rows::LiveRows;
use crate::operation::{Input, Live, Operation, Parts, Request, Start};
use crate::table::{Attributes, Table};
use crate::update::{ColumnSet, TableUpdate};
use crate::view::{Change, View};

/// Follows a table and checks every one of its updates.
pub struct Watch {
    node: Table,
    watched: Table,
    seen: Arc<Mutex<Seen>>,
}

/// What the watch knows.
struct Seen {
    now: Plain,
    drawings: Vec<String>,
    spurious: u64,
    modified: u64,
}

impl Watch {
    /// Starts to watch a table, static or live.
    pub fn attach(table: &Table) -> Result<Watch, Error> {
        let empty = Plain { schema: table.schema().clone(), rows: Vec::new() };
        let seen = Arc::new(Mutex::new(Seen { now: empty, drawings: Vec::new(), spurious: 0, modified: 0 }));
        let mut request = Request::new("watch", serde_json::Value::Null);
        request.shareable = false;
        let operation = WatchOperation { request, seen: seen.clone() };
        Ok(Watch { node: attach(&operation, std::slice::from_ref(table))?, watched: table.clone(), seen })
    }

    /// The table as the updates made it.
    pub fn now(&self) -> Plain {
        lock(&self.seen).now.clone()
    }

    /// The drawings of the updates since the last call.
    pub fn take_drawings(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.seen).drawings)
    }

    /// Rows that were called modified although no cell of theirs changed, so far (U9).
    pub fn spurious(&self) -> u64 {
        lock(&self.seen).spurious
    }

    /// Rows that were called modified, so far.
    pub fn modified(&self) -> u64 {
        lock(&self.seen).modified
    }

    /// Why the watched table failed, if it did.
    pub fn failure(&self) -> Option<Arc<Failure>> {
        self.watched.failure()
    }

    /// The rule that was broken, if one was.
    pub fn fault(&self) -> Option<String> {
        if self.watched.failure().is_some() {
            return None;
        }
        self.node.failure().map(|failure| failure.cause.to_string())
    }
}

struct WatchOperation {
    request: Request,
    seen: Arc<Mutex<Seen>>,
}

impl Operation for WatchOperation {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        lock(&self.seen).now = plain_of(view, table.schema())?;
        let parts = Parts {
            rows: Arc::new(LiveRows::new(RowSet::new(), at)),
            columns: Vec::new(),
            schema: Arc::new(Schema::empty()),
            attributes: Attributes::default(),
        };
        let live = WatchLive { seen: self.seen.clone(), last: None };
        Ok(Start { parts, live: Box::new(live), owned: Vec::new() })
    }
}

struct WatchLive {
    seen: Arc<Mutex<Seen>>,
    last: Option<u64>,
}

impl Live for WatchLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let schema = change.table().schema();
        let broken = |text: String| Error::internal("watch", text);
        if self.last.replace(step.number()) >= Some(step.number()) {
            return Err(broken("U6: two updates in one step".into()));
        }
        let mut seen = lock(&self.seen);
        let before = plain_of(change.before(), schema)?;
        if let Some(text) = seen.now.first_difference(&before) {
            return Err(broken(format!("U8: before the step, recorded against read: {text}")));
        }
        let now = plain_of(change.now(), schema)?;
        let update = change.update();
        check_update(&before, &now, update)
            .and_then(|()| check_attributes(change.table().attributes(), &before, &now, update))
            .map_err(|text| broken(format!("{text}; {} — before {before} — now {now}", shown(update))))?;
        seen.spurious += spurious(&before, &now, update);
        seen.modified += update.modified.len();
        let drawing = raw_step(update, change.now(), schema)?;
        seen.drawings.push(draw_step(&drawing, schema));
        seen.now = now;
        Ok(TableUpdate::default())
    }
}

fn shown(update: &TableUpdate) -> String {
    let columns: Vec<usize> = update.columns.iter().collect();
    let shifts: Vec<String> =
        update.shifts.iter().map(|shift| format!("[{}..{}]{:+}", shift.first, shift.last, shift.delta)).collect();
    format!("A {} R {} M {} K {columns:?} Z {}", update.added, update.removed.0, update.modified, shifts.join(" "))
}

/// All cells of a view, each column read twice: whole, and in two halves of alternate rows, which
/// must agree.
pub fn plain_of(view: &View, schema: &Arc<Schema>) -> Result<Plain, Error> {
    let rows = view.rows();
    let keys = rows.to_vec();
    let every_second =
        |odd: usize| RowSet::from_sorted_keys(&keys.iter().copied().skip(odd).step_by(2).collect::<Vec<_>>());
    let halves = [every_second(0), every_second(1)];
    let mut arrays = Vec::with_capacity(view.width());
    for column in 0..view.width() {
        let whole = view.read(column, rows)?;
        if whole.len() != keys.len() {
            let text = format!("column {column} answered {} cells for {} keys", whole.len(), keys.len());
            return Err(Error::internal("watch", text));
        }
        let cells = super::plain::cells_of(&whole);
        for (odd, half) in halves.iter().enumerate() {
            let read = super::plain::cells_of(&view.read(column, half)?);
            let wanted: Vec<&Cell> = cells.iter().skip(odd).step_by(2).collect();
            if read.len() != wanted.len() || !read.iter().zip(wanted).all(|(a, b)| a.same(b)) {
                let text = format!("column {column} reads differently in part than whole");
                return Err(Error::internal("watch", text));
            }
        }
        arrays.push(whole);
    }
    Ok(Plain::from_arrays(schema.clone(), &keys, &arrays))
}

/// The update as a raw step, cells read at now.
pub fn raw_step(update: &TableUpdate, now: &View, schema: &Arc<Schema>) -> Result<RawStep, Error> {
    let width = schema.fields().len();
    let added: Result<Vec<_>, Error> = (0..width).map(|at| now.read(at, &update.added)).collect();
    let modified: Result<Vec<_>, Error> =
        update.columns.iter().map(|at| Ok((at, now.read(at, &update.modified)?))).collect();
    Ok(RawStep {
        removed: update.removed.0.clone(),
        shifts: update.shifts.iter().map(|shift| (shift.first, shift.last, shift.delta)).collect(),
        added: (update.added.clone(), added?),
        modified: (update.modified.clone(), modified?),
    })
}

/// U1–U6 of one update, by plain means: nothing of the engine's own arithmetic is used but the
/// reading of keys.
pub fn check_update(before: &Plain, now: &Plain, update: &TableUpdate) -> Result<(), String> {
    let old: BTreeMap<u64, &Vec<Cell>> = before.rows.iter().map(|(key, row)| (*key, row)).collect();
    let new: BTreeMap<u64, &Vec<Cell>> = now.rows.iter().map(|(key, row)| (*key, row)).collect();
    let width = before.schema.fields().len();
    if update.is_empty() {
        return Err("U6: an empty update was sent".into());
    }
    if let Some(key) = update.removed.0.iter().find(|key| !old.contains_key(key)) {
        return Err(format!("U1: the removed row {key} was not there"));
    }
    let survivors: Vec<u64> = old.keys().copied().filter(|key| !update.removed.0.contains(*key)).collect();
    let goals = check_shifts(&survivors, update)?;
    if let Some(key) = update.added.iter().find(|key| goals.contains_key(key)) {
        return Err(format!("U3: the added row {key} lands on a survivor"));
    }
    let arrived = goals.keys().copied().chain(update.added.iter());
    let mut arrived: Vec<u64> = arrived.collect();
    arrived.sort_unstable();
    if !arrived.iter().eq(new.keys()) {
        return Err("U3: rows now are not the survivors and the added".into());
    }
    if let Some(key) = update.modified.iter().find(|key| !goals.contains_key(key)) {
        return Err(format!("U4: the modified row {key} is no survivor"));
    }
    if update.modified.is_empty() != update.columns.is_empty() {
        return Err("U4: modified rows and columns must be empty together".into());
    }
    if let Some(column) = update.columns.iter().find(|column| *column >= width) {
        return Err(format!("U4: the modified column {column} is not in the schema"));
    }
    for (after, from) in &goals {
        for column in 0..width {
            let told = update.modified.contains(*after) && update.columns.contains(column);
            let (was, is) = (&old[from][column], &new[after][column]);
            if !told && !was.same(is) {
                let name = before.schema.field(column).name();
                return Err(format!("U5: {name} of row {after} went from {was} to {is} untold"));
            }
        }
    }
    Ok(())
}

/// U2; the keys after of all survivors, with their keys before.
fn check_shifts(survivors: &[u64], update: &TableUpdate) -> Result<BTreeMap<u64, u64>, String> {
    const LAST_KEY: u64 = super::keys::LAST_KEY;
    let mut previous: Option<(u64, u64)> = None;
    for shift in update.shifts.iter() {
        let text = format!("[{}..{}]{:+}", shift.first, shift.last, shift.delta);
        let goal = |key: u64| key.checked_add_signed(shift.delta).filter(|key| *key <= LAST_KEY);
        let (Some(low), Some(high)) = (goal(shift.first), goal(shift.last)) else {
            return Err(format!("U2: the shift {text} leaves the key space"));
        };
        if shift.delta == 0 || shift.first > shift.last {
            return Err(format!("U2: the shift {text} moves nothing"));
        }
        if survivors.binary_search(&shift.first).is_err() || survivors.binary_search(&shift.last).is_err() {
            return Err(format!("U2: the shift {text} is wider than the survivors it moves"));
        }
        if previous.is_some_and(|(origin, goal)| origin >= shift.first || goal >= low) {
            return Err(format!("U2: the shift {text} overlaps the one before it, or is out of order"));
        }
        previous = Some((shift.last, high));
    }
    let mut goals = BTreeMap::new();
    let mut last = None;
    for key in survivors {
        let shift = update.shifts.iter().find(|shift| (shift.first..=shift.last).contains(key));
        let goal = shift.map_or(*key, |shift| key.wrapping_add_signed(shift.delta));
        if last >= Some(goal) {
            return Err(format!("U2: the row {key} lands on or overtakes a survivor"));
        }
        last = Some(goal);
        goals.insert(goal, *key);
    }
    Ok(goals)
}

/// U7.
fn check_attributes(attributes: &Attributes, before: &Plain, now: &Plain, update: &TableUpdate) -> Result<(), String> {
    let adds_only = update.removed.0.is_empty() && update.modified.is_empty() && update.shifts.is_empty();
    if (attributes.append_only || attributes.add_only) && !adds_only {
        return Err("U7: a table that only adds did something else".into());
    }
    let last = before.rows.last().map(|(key, _)| *key);
    if attributes.append_only && update.added.first() <= last && !update.added.is_empty() && last.is_some() {
        return Err("U7: an append-only table added a row below its last".into());
    }
    let keys = |plain: &Plain| plain.rows.iter().map(|(key, _)| *key).collect::<Vec<_>>();
    let blinks = update.modified.is_empty()
        && update.shifts.is_empty()
        && update.added.to_vec() == keys(now)
        && update.removed.0.to_vec() == keys(before);
    if attributes.blink && !blinks {
        return Err("U7: a blink table kept or changed a row".into());
    }
    if attributes.flat && !keys(now).iter().copied().eq(0..now.rows.len() as u64) {
        return Err("U7: a flat table has a gap".into());
    }
    Ok(())
}

fn spurious(before: &Plain, now: &Plain, update: &TableUpdate) -> u64 {
    let old: BTreeMap<u64, &Vec<Cell>> = before.rows.iter().map(|(key, row)| (*key, row)).collect();
    let new: BTreeMap<u64, &Vec<Cell>> = now.rows.iter().map(|(key, row)| (*key, row)).collect();
    let columns: &ColumnSet = &update.columns;
    let from = |key: u64| {
        let moved = update.shifts.iter().find(|shift| {
            let back = key.checked_add_signed(-shift.delta);
            back.is_some_and(|back| (shift.first..=shift.last).contains(&back))
        });
        moved.map_or(key, |shift| key.wrapping_add_signed(-shift.delta))
    };
    let unchanged = |key: &u64| {
        let (was, is) = (old[&from(*key)], new[key]);
        columns.iter().all(|column| was[column].same(&is[column]))
    };
    update.modified.iter().filter(unchanged).count() as u64
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::draw;
    use rowset::{Before, Shift, Shifts};

    fn update(drawing: &str, before: &super::super::Mirror) -> TableUpdate {
        let step = draw::step(drawing, &before.schema);
        let rows = RowSet::from_sorted_keys(&before.rows.keys().copied().collect::<Vec<_>>());
        let survivors = Before(&rows - &step.removed);
        let shifts = step.shifts.iter().map(|&(first, last, delta)| Shift { first, last, delta }).collect();
        TableUpdate {
            added: step.added.0,
            removed: Before(step.removed),
            modified: step.modified.0,
            columns: step.modified.1.iter().map(|(column, _)| *column).collect(),
            shifts: Shifts::new(shifts, &survivors).expect("the test draws lawful shifts"),
        }
    }

    fn verdict(before: &str, drawing: &str, now: &str) -> String {
        let (before, now) = (draw::table(before), draw::table(now));
        let found = check_update(&before.plain(), &now.plain(), &update(drawing, &before));
        found.err().unwrap_or_default().chars().take(2).collect()
    }

    #[test]
    fn a_lawful_update_passes() {
        let before = "0 A 1 | 1 B 2 | 2 C 3 | 3 D 4";
        let now = "0 A 1 | 1 C 3 | 2 D 40 | 3 E 5";
        assert_eq!(verdict(before, "- 1 | > [2..3]-1 | + 3 E 5 | ~ 2 . 40", now), "");
    }

    #[test]
    fn each_rule_is_told_by_its_name() {
        let before = "0 A 1 | 1 B 2";
        assert_eq!(verdict(before, "", before), "U6");
        assert_eq!(verdict(before, "- 7", before), "U1");
        assert_eq!(verdict(before, "- 1", before), "U3");
        assert_eq!(verdict(before, "+ 1 B 2", before), "U3");
        assert_eq!(verdict(before, "- 1 | ~ 1 . 2", "0 A 1"), "U4");
        assert_eq!(verdict(before, "~ 0 . 1", "0 A 1 | 1 B 3"), "U5");
        assert_eq!(verdict(before, "~ 0 Z .", "0 Z 1 | 1 B 2"), "");
        assert_eq!(verdict(before, "~ 0 Z .", "0 Z 9 | 1 B 2"), "U5");
    }

    #[test]
    fn nan_stays_nan_without_being_told() {
        assert_eq!(verdict("0 NaN | 1 -0.0", "~ 1 0.0", "0 NaN | 1 0.0"), "");
        assert_eq!(verdict("0 NaN | 1 -0.0 | 2 1.5", "~ 2 1.0", "0 NaN | 1 0.0 | 2 1.0"), "");
    }
}
