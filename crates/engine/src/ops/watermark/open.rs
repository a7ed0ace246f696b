//! The rows of windows that are open: what is not late comes in, and leaves when its last window has closed.
//!
//!   windows of 10, watermark 5     in   + 0 7    + 1 3      out   + 0 7               1 is late
//!   watermark 12                   in   + 2 17   ~ 0 8      out   + 1 17    ~ 0 8     it was 5 before the step
//!   watermark 14                   in   - 0      + 3 19     out   - 0       + 2 19    the window of 0 ended at 10
//!
//! A row is late if its stamp lies before the watermark as it was at the end of the step before; what was is taken back, and
//! what is comes in, each if it is not late. Rows are copies, in the order in which they came; a window that closes in a step
//! gives its rows up in the next one, with all that came before. Cost of an update: a probe and a search for each row that
//! comes, goes, changes, moves or leaves.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_schema::DataType;
use column::keys::{KeyTable, NO_SLOT};
use graph::{Moment, Step};
use rowset::{Before, RowSet};

use super::Watermarks;
use super::own::{Own, OwnRows, Theirs};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::stamps::stamps;
use crate::table::beside::Tallies;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// What says from when on no window of a row is open.
#[derive(Clone)]
pub(crate) enum Closes {
    /// A column of instants, and how long after.
    Column(usize, i64),
    /// The columns of the keys, and the gap that ends a session of them.
    Sessions(Vec<usize>, i64),
}

/// The rows of windows that are open.
pub struct OpenRows {
    request: Request,
    stamp: usize,
    closes: Closes,
    allowed: i64,
    most: u64,
    tallies: Arc<Tallies>,
}

impl OpenRows {
    /// Over a table and its watermark. `stamp`: a column of times without nulls; `allowed`: how much later than the watermark
    /// rows may come.
    pub(crate) fn new(method: &str, stamp: usize, closes: Closes, allowed: i64, tallies: &Arc<Tallies>) -> OpenRows {
        let tallies = Arc::clone(tallies);
        OpenRows { request: Request::unique(method), stamp, closes, allowed, most: u64::MAX, tallies }
    }

    /// At most so many rows.
    pub(crate) fn at_most(self, rows: Option<u64>) -> OpenRows {
        OpenRows { most: rows.unwrap_or(u64::MAX), ..self }
    }
}

impl Operation for OpenRows {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [input, _] = inputs else { return Err(Error::internal("watermark", "two inputs")) };
        let rows = input.view.rows();
        // The copy, the row, what stands for both, and when it leaves.
        limits::ask_rows(rows.len(), 96)?;
        let types = |keys: &[usize]| keys.iter().map(|key| input.table.column_type(*key).clone()).collect();
        let mut live = OpenLive {
            stamp: self.stamp,
            allowed: self.allowed,
            blinks: input.table.attributes().blink,
            windows: Windows::new(self.closes.clone(), types),
            own: OwnRows::start(input, rows, at)?,
            operation: self.request.name.clone(),
            most: self.most,
            tallies: Arc::clone(&self.tallies),
        };
        let places = live.windows.places(self.stamp, &input.view, rows)?;
        for ((own, theirs), place) in rows.iter().enumerate().zip(places) {
            live.enter(own as u64, theirs, place);
        }
        live.full(0)?;
        self.tallies.rows(live.windows.held.len() as i64, 0);
        let (parts, owned) = live.own.parts(input, Attributes::default());
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

/// A row among those of open windows.
#[derive(Clone, Copy)]
struct Place {
    stamp: i64,
    /// From when on its windows are closed, if no later row makes them longer.
    due: i64,
    /// The group of its session.
    slot: u32,
    /// The row that it is a copy of, while it follows that.
    theirs: Option<Theirs>,
}

/// Which rows leave as the watermark moves on.
struct Windows {
    closes: Closes,
    due: BTreeSet<(i64, Own)>,
    held: HashMap<Own, Place>,
    /// By group and stamp, where a row may make the window of others longer.
    runs: BTreeSet<(u32, i64, Own)>,
    /// The groups, if sessions have keys, and how many rows each has.
    groups: Option<KeyTable>,
    counts: Vec<u64>,
}

impl Windows {
    fn new(closes: Closes, types: impl Fn(&[usize]) -> Vec<DataType>) -> Windows {
        let groups = match &closes {
            Closes::Sessions(keys, _) if !keys.is_empty() => Some(KeyTable::new(&types(keys))),
            _ => None,
        };
        let (due, held, runs) = (BTreeSet::new(), HashMap::new(), BTreeSet::new());
        Windows { closes, due, held, runs, groups, counts: Vec::new() }
    }

    /// When these rows leave. Their groups are entered; the rows are not.
    fn places(&mut self, stamp: usize, view: &View, rows: &RowSet) -> Result<Vec<Place>, Error> {
        let times = stamps(view, stamp, rows)?;
        let mut slots = vec![0; times.len()];
        let dues: Vec<i64> = match &self.closes {
            Closes::Column(column, after) => {
                let ends = stamps(view, *column, rows)?;
                ends.into_iter().map(|end| end.unwrap_or(i64::MIN).saturating_add(*after)).collect()
            }
            Closes::Sessions(keys, gap) => {
                if let Some(groups) = self.groups.as_mut().filter(|_| !rows.is_empty()) {
                    slots.clear();
                    groups.insert(&view.read_columns(keys, rows)?, &mut slots, &mut Vec::new())?;
                }
                let after = gap.saturating_add(1);
                times.iter().map(|time| time.unwrap_or(i64::MIN).saturating_add(after)).collect()
            }
        };
        if slots.contains(&NO_SLOT) {
            return Err(Error::internal("watermark", "a row has a key of no group"));
        }
        let places = times.into_iter().zip(dues).zip(slots);
        let place = |((stamp, due), slot): ((Option<i64>, i64), u32)| {
            let stamp = stamp.unwrap_or(i64::MIN);
            Place { stamp, due, slot, theirs: None }
        };
        Ok(places.map(place).collect())
    }

    fn enter(&mut self, own: Own, place: Place) {
        self.due.insert((place.due, own));
        self.held.insert(own, place);
        if let Closes::Sessions(..) = self.closes {
            self.runs.insert((place.slot, place.stamp, own));
            let slot = place.slot as usize;
            self.counts.resize(self.counts.len().max(slot + 1), 0);
            self.counts[slot] += 1;
        }
    }

    fn leave(&mut self, own: Own) -> Option<Place> {
        let place = self.held.remove(&own)?;
        self.due.remove(&(place.due, own));
        if let Closes::Sessions(..) = self.closes {
            self.runs.remove(&(place.slot, place.stamp, own));
            self.counts[place.slot as usize] -= 1;
        }
        Some(place)
    }

    /// Forgets the groups that have no row among those that were entered in a step, and those of rows that left.
    fn sweep(&mut self, mut slots: Vec<u32>) {
        slots.sort_unstable();
        slots.dedup();
        if let Some(groups) = &mut self.groups {
            let empty = |slot: &&u32| self.counts.get(**slot as usize).is_none_or(|count| *count == 0);
            slots.iter().filter(empty).for_each(|slot| groups.free(*slot));
        }
    }

    /// The rows all of whose windows ended by then; they are still held.
    fn closed(&mut self, by: i64) -> Vec<Own> {
        let mut closed = Vec::new();
        while let Some((due, own)) = self.due.first().copied()
            && due <= by
        {
            self.due.pop_first();
            let Closes::Sessions(_, gap) = self.closes else {
                closed.push(own);
                continue;
            };
            let Some(Place { slot, stamp, .. }) = self.held.get(&own).copied() else { continue };
            // A later row makes the session longer, and takes this one along as it leaves.
            let mut at = (slot, stamp, own);
            let near = |of: &(u32, i64, Own), later: i64| of.0 == slot && later.saturating_sub(of.1) <= gap;
            let next = self.runs.range(at..).nth(1);
            if next.is_some_and(|next| next.0 == slot && next.1.saturating_sub(stamp) <= gap) {
                continue;
            }
            loop {
                self.runs.remove(&at);
                closed.push(at.2);
                match self.runs.range(..at).next_back().copied() {
                    Some(earlier) if near(&earlier, at.1) => at = earlier,
                    _ => break,
                }
            }
        }
        closed
    }
}

struct OpenLive {
    stamp: usize,
    allowed: i64,
    /// Whether rows of the table live for one step: that they go is no change.
    blinks: bool,
    windows: Windows,
    own: OwnRows,
    operation: String,
    most: u64,
    tallies: Arc<Tallies>,
}

impl OpenLive {
    /// Whether there is room for so many rows more.
    fn full(&self, more: usize) -> Result<(), Error> {
        let (held, most) = ((self.windows.held.len() + more) as u64, self.most);
        if held <= most {
            return Ok(());
        }
        let message = format!(
            "the windows that are open hold {held} rows, and max_rows={most}; allow more, or let windows close earlier: a shorter \
             delay= of the watermark, a shorter period or gap"
        );
        Err(Error::Resource { operation: self.operation.clone(), message })
    }

    fn enter(&mut self, own: Own, theirs: Theirs, place: Place) {
        let theirs = (!self.blinks).then_some(theirs);
        if let Some(theirs) = theirs {
            self.own.follow(theirs, own);
        }
        self.windows.enter(own, Place { theirs, ..place });
    }

    /// What was is taken back, unless it is late. The copy then leaves, or follows the row no longer.
    fn retract(&mut self, theirs: Theirs, late: bool, gone: &mut Vec<Own>) {
        let Some(own) = self.own.forget(theirs) else { return };
        match late {
            true => {
                if let Some(place) = self.windows.held.get_mut(&own) {
                    place.theirs = None;
                }
            }
            false => gone.push(own),
        }
    }
}

impl Live for OpenLive {
    fn entries(&self) -> u64 {
        self.windows.held.len() as u64 + self.windows.groups.as_ref().map_or(0, |groups| groups.len() as u64)
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let [change, clock] = inputs else { return Err(Error::internal("watermark", "two inputs")) };
        let limit = Watermarks::of(clock, self.allowed)?.before;
        let (update, held) = (change.update(), self.windows.held.len() as i64);
        let (mut late, mut gone, mut touched) = (0, Vec::new(), Vec::new());
        let (mut added, mut places): (Vec<Theirs>, Vec<Place>) = (Vec::new(), Vec::new());
        let mut changed: Vec<(Own, Theirs, Place)> = Vec::new();
        let was_late = |stamp: &Option<i64>| stamp.is_some_and(|stamp| stamp < limit);

        let removed = if self.blinks { Before::default() } else { update.removed.clone() };
        let mut late_removals = 0;
        for (theirs, stamp) in removed.0.iter().zip(stamps(change.before(), self.stamp, &removed.0)?) {
            late_removals += u64::from(was_late(&stamp));
            self.retract(theirs, was_late(&stamp), &mut gone);
        }
        let back = update.shifts.back(&update.modified);
        let old = stamps(change.before(), self.stamp, &back.0)?;
        let new = self.windows.places(self.stamp, change.now(), &update.modified)?;
        let rows = back.0.iter().zip(update.modified.iter()).zip(old.iter().zip(new));
        for ((before, theirs), (old, place)) in rows {
            touched.push(place.slot);
            match (was_late(old), place.stamp < limit, self.own.of(before)) {
                (false, false, Some(own)) => changed.push((own, theirs, place)),
                (was, true, _) => {
                    (late, late_removals) = (late + 1, late_removals + u64::from(was));
                    if !was {
                        self.retract(before, false, &mut gone);
                    }
                }
                (was, false, _) => {
                    late_removals += u64::from(was);
                    self.retract(before, was, &mut gone);
                    added.push(theirs);
                    places.push(place);
                }
            }
        }
        for (own, theirs) in self.own.shift(change) {
            if let Some(place) = self.windows.held.get_mut(&own) {
                place.theirs = Some(theirs);
            }
        }
        let fresh = self.windows.places(self.stamp, change.now(), &update.added)?;
        for (theirs, place) in update.added.iter().zip(fresh) {
            touched.push(place.slot);
            match place.stamp < limit {
                true => late += 1,
                false => {
                    added.push(theirs);
                    places.push(place);
                }
            }
        }

        for own in &gone {
            touched.extend(self.windows.leave(*own).map(|place| place.slot));
        }
        // A row in no window closes early, and may come into one by a change that is not late.
        for (own, ..) in &changed {
            touched.extend(self.windows.leave(*own).map(|place| place.slot));
        }
        for own in self.windows.closed(limit) {
            if let Some(place) = self.windows.leave(own) {
                touched.push(place.slot);
                place.theirs.and_then(|theirs| self.own.forget(theirs));
                gone.push(own);
            }
        }
        for (own, theirs, place) in &changed {
            self.windows.enter(*own, Place { theirs: Some(*theirs), ..*place });
        }
        self.full(added.len())?;
        limits::ask_rows(added.len() as u64, 96)?;
        let changed = changed.into_iter().map(|(own, theirs, _)| (own, theirs)).collect();
        let (told, fresh) = self.own.write(step, change, &added, changed, gone)?;
        for (own, (theirs, place)) in fresh.iter().zip(added.into_iter().zip(places)) {
            self.enter(own, theirs, place);
        }
        self.windows.sweep(touched);
        self.tallies.late(late, late_removals);
        self.tallies.rows(self.windows.held.len() as i64 - held, 0);
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Emit, Late};

    #[test]
    fn law() {
        crate::ops::watermark::tests::equal_to_the_model(200, &[Emit::Update], &[Late::Drop, Late::Keep]);
    }
}
