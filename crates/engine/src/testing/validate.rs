//! The checker of updates, as a node: it sits on any table and holds every update to U1–U8.
//!
//! It keeps its own copy of the watched table, made by nothing but the updates, and compares it
//! with what the table says it is: all cells, at harness sizes, in every step.

use std::sync::{Arc, Mutex};

use arrow_array::UInt32Array;
use arrow_schema::Schema;
use column::Chunk;
use graph::{Moment, Step};
use rowset::RowSet;

use super::draw::draw_step;
use super::mirror::RawStep;
use super::plain::{Cell, Plain};
use super::rules::{check_attributes, check_keys};
use crate::driver::attach::attach;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::{Error, Failure};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;
use crate::table::view::View;
use crate::threads::lock;

/// Follows a table and checks every one of its updates.
pub struct Watch {
    node: Table,
    watched: Table,
    seen: Arc<Mutex<Seen>>,
}

/// What the watch knows.
struct Seen {
    frame: Frame,
    now: Plain,
    told: Vec<(TableUpdate, Frame)>,
    modified: u64,
}

/// A table's keys and cells, as they were read.
#[derive(Clone)]
struct Frame {
    keys: Arc<Vec<u64>>,
    cells: Vec<Chunk>,
}

impl Frame {
    /// Each column is read whole and, now and then, in two halves of alternate rows, which must agree.
    fn read(view: &View, turn: u64) -> Result<Frame, Error> {
        let rows = view.rows();
        let keys = rows.to_vec();
        let cells: Vec<Chunk> = (0..view.width()).map(|column| view.read(column, rows)).collect::<Result<_, _>>()?;
        for (column, whole) in cells.iter().enumerate() {
            if whole.len() != keys.len() {
                let text = format!("column {column} answered {} cells for {} keys", whole.len(), keys.len());
                return Err(Error::internal("watch", text));
            }
        }
        if (turn + keys.len() as u64).is_multiple_of(HALVES_EVERY) {
            for odd in [0, 1] {
                let half: Vec<u64> = keys.iter().copied().skip(odd).step_by(2).collect();
                let places: UInt32Array = (odd as u32..keys.len() as u32).step_by(2).collect();
                let half = RowSet::from_sorted_keys(&half);
                for (column, whole) in cells.iter().enumerate() {
                    if !same_cells(&view.read(column, &half)?, &taken(whole, &places)) {
                        let text = format!("column {column} reads differently in part than whole");
                        return Err(Error::internal("watch", text));
                    }
                }
            }
        }
        Ok(Frame { keys: Arc::new(keys), cells })
    }

    fn plain(&self, schema: &Arc<Schema>) -> Plain {
        Plain::from_arrays(schema.clone(), &self.keys, &self.cells)
    }

    fn same(&self, other: &Frame) -> bool {
        self.keys == other.keys && self.cells.iter().zip(&other.cells).all(|(a, b)| same_cells(a, b))
    }

    /// Where these keys, which are there, stand.
    fn places(&self, keys: &RowSet) -> UInt32Array {
        keys.iter().map(|key| self.keys.binary_search(&key).expect("the key is there") as u32).collect()
    }
}

/// One step in so many reads its tables in halves, too.
const HALVES_EVERY: u64 = 4;

fn taken(cells: &Chunk, places: &UInt32Array) -> Chunk {
    arrow_select::take::take(cells, places, None).expect("the places are within the array")
}

/// Equal bit by bit, or else cell by cell.
fn same_cells(one: &Chunk, other: &Chunk) -> bool {
    if one == other {
        return true;
    }
    let (one, other) = (super::plain::cells_of(one), super::plain::cells_of(other));
    one.len() == other.len() && one.iter().zip(&other).all(|(a, b)| a.same(b))
}

impl Watch {
    /// Starts to watch a table, static or live.
    pub fn attach(table: &Table) -> Result<Watch, Error> {
        let empty = Plain { schema: table.schema().clone(), rows: Vec::new() };
        let frame = Frame { keys: Arc::default(), cells: Vec::new() };
        let seen = Arc::new(Mutex::new(Seen { frame, now: empty, told: Vec::new(), modified: 0 }));
        let request = Request::unique("watch");
        let operation = WatchOperation { request, seen: seen.clone() };
        Ok(Watch { node: attach(&operation, std::slice::from_ref(table))?, watched: table.clone(), seen })
    }

    /// The table as the updates made it.
    pub fn now(&self) -> Plain {
        lock(&self.seen).now.clone()
    }

    /// Calls `look` with the table as the updates made it, without a copy.
    pub fn with_now<R>(&self, look: impl FnOnce(&Plain) -> R) -> R {
        look(&lock(&self.seen).now)
    }

    /// The drawings of the last updates since the last call.
    pub fn take_drawings(&self) -> Vec<String> {
        let told = std::mem::take(&mut lock(&self.seen).told);
        let schema = self.watched.schema();
        told.iter().map(|(update, frame)| draw_step(&raw_step(update, frame), schema)).collect()
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
        let frame = Frame::read(view, at.number())?;
        let mut seen = lock(&self.seen);
        seen.now = frame.plain(table.schema());
        seen.frame = frame;
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

/// Updates whose drawings are kept.
const DRAWN: usize = 16;

impl Live for WatchLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let schema = change.table().schema();
        let broken = |text: String| Error::internal("watch", text);
        if self.last.replace(step.number()) >= Some(step.number()) {
            return Err(broken("U6: two updates in one step".into()));
        }
        let mut seen = lock(&self.seen);
        let seen = &mut *seen;
        let before = Frame::read(change.before(), step.number())?;
        if !seen.frame.same(&before) {
            let found = seen.now.first_difference(&before.plain(schema));
            return Err(broken(format!("U8: before the step, recorded against read: {}", found.unwrap_or_default())));
        }
        let now = Frame::read(change.now(), step.number() + 1)?;
        let update = change.update();
        let attributes = change.table().attributes();
        check_attributes(attributes, &before.keys, &now.keys, update)
            .and_then(|()| follow(&before, &now, &mut seen.now, update))
            .map_err(|text| {
                let (before, now) = (before.plain(schema), now.plain(schema));
                broken(format!("{text}; {} — before {before} — now {now}", shown(update)))
            })?;
        seen.modified += update.modified.len();
        if seen.told.len() == DRAWN {
            seen.told.remove(0);
        }
        seen.told.push((update.clone(), now.clone()));
        seen.frame = now;
        Ok(TableUpdate::default())
    }
}

fn shown(update: &TableUpdate) -> String {
    let columns: Vec<usize> = update.columns.iter().collect();
    let shifts: Vec<String> =
        update.shifts.iter().map(|shift| format!("[{}..{}]{:+}", shift.first, shift.last, shift.delta)).collect();
    format!("A {} R {} M {} K {columns:?} Z {}", update.added, update.removed.0, update.modified, shifts.join(" "))
}

/// All cells of a view.
pub fn plain_of(view: &View, schema: &Arc<Schema>) -> Result<Plain, Error> {
    Ok(Frame::read(view, 0)?.plain(schema))
}

/// The update as a raw step, with the cells after it.
fn raw_step(update: &TableUpdate, now: &Frame) -> RawStep {
    let (added, modified) = (now.places(&update.added), now.places(&update.modified));
    RawStep {
        removed: update.removed.0.clone(),
        shifts: update.shifts.iter().map(|shift| (shift.first, shift.last, shift.delta)).collect(),
        added: (update.added.clone(), now.cells.iter().map(|cells| taken(cells, &added)).collect()),
        modified: (
            update.modified.clone(),
            update.columns.iter().map(|column| (column, taken(&now.cells[column], &modified))).collect(),
        ),
        keyed: None,
    }
}

/// U1–U6 of one update, by plain means: nothing of the engine's own arithmetic is used but the
/// reading of keys. The mirror follows: rows that stay are moved, what the update tells of is read.
fn follow(before: &Frame, now: &Frame, mirror: &mut Plain, update: &TableUpdate) -> Result<(), String> {
    let survivors = check_keys(&before.keys, &now.keys, update, mirror.schema.fields().len())?;
    let place = |keys: &[u64], key: u64| keys.binary_search(&key).expect("checked to be there") as u32;
    let places = |skip: &RowSet| -> (UInt32Array, UInt32Array) {
        let left = survivors.iter().filter(|(after, _)| !skip.contains(*after));
        let both = left.map(|(after, from)| (place(&before.keys, *from), place(&now.keys, *after)));
        let (from, to): (Vec<u32>, Vec<u32>) = both.unzip();
        (from.into(), to.into())
    };
    let all = places(&RowSet::new());
    let untold = if update.modified.is_empty() { all.clone() } else { places(&update.modified) };
    for (column, (was, is)) in before.cells.iter().zip(&now.cells).enumerate() {
        let (from, to) = if update.columns.contains(column) { &untold } else { &all };
        let (was, is) = (taken(was, from), taken(is, to));
        if !same_cells(&was, &is) {
            let (was, is) = (super::plain::cells_of(&was), super::plain::cells_of(&is));
            let odd = was.iter().zip(&is).position(|(was, is)| !was.same(is)).expect("they differ");
            let (name, key) = (mirror.schema.field(column).name(), now.keys[to.value(odd) as usize]);
            return Err(format!("U5: {name} of row {key} went from {} to {} untold", was[odd], is[odd]));
        }
    }
    let mut rows: Vec<(u64, Vec<Cell>)> = now.keys.iter().map(|key| (*key, Vec::new())).collect();
    for (from, to) in all.0.values().iter().zip(all.1.values()) {
        rows[*to as usize].1 = std::mem::take(&mut mirror.rows[*from as usize].1);
    }
    let (added, modified) = (now.places(&update.added), now.places(&update.modified));
    for (column, cells) in now.cells.iter().enumerate() {
        for (place, cell) in added.values().iter().zip(super::plain::cells_of(&taken(cells, &added))) {
            rows[*place as usize].1.push(cell);
        }
        if update.columns.contains(column) {
            for (place, cell) in modified.values().iter().zip(super::plain::cells_of(&taken(cells, &modified))) {
                rows[*place as usize].1[column] = cell;
            }
        }
    }
    mirror.rows = rows;
    Ok(())
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

    fn frame(plain: &Plain) -> Frame {
        let column = |at: usize| plain.rows.iter().map(|(_, row)| row[at].clone()).collect::<Vec<Cell>>();
        let fields = plain.schema.fields().iter().enumerate();
        Frame {
            keys: Arc::new(plain.rows.iter().map(|(key, _)| *key).collect()),
            cells: fields.map(|(at, field)| super::super::plain::array_of(field.data_type(), &column(at))).collect(),
        }
    }

    fn verdict(before: &str, drawing: &str, now: &str) -> String {
        let (before, now) = (draw::table(before), draw::table(now));
        let (mut mirror, wanted) = (before.plain(), now.plain());
        let found = follow(&frame(&mirror), &frame(&wanted), &mut mirror, &update(drawing, &before));
        if found.is_ok() {
            assert_eq!(mirror.first_difference(&wanted), None, "the mirror follows");
        }
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
