//! `head_by`, `tail_by`: the first rows of each group, or the last; groups in the order in which they came.
//!
//!   in   0 A 1    1 B 2    2 A 3    3 A 4     head_by(2, K)     out   A 1    A 3    B 2
//!   in   - 0                                                    out   - A 1    + A 4 behind A 3
//!   in   + 9 B 5                                                out   + B 5
//!   in   + 10 B 6                                               out   nothing
//!   in   ~ 3 A 7                                                out   ~ A 7
//!
//! Own keys, columns read through an index, as in `sort`. A group that empties is forgotten; if it comes back it stands
//! at the end. Cost of an update: a probe and a search for each row that comes, goes, moves or changes, and the rows that
//! each touched group shows.

use std::collections::BTreeSet;

use column::types::can_be_key;
use graph::{Moment, Step};
use rowset::{RowSet, Shifts};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::frame::Touch;
use crate::keys::group_order::GroupOrder;
use crate::keys::grouped::{GroupedRows, GroupsChange, Regroups};
use crate::keys::order::Edits;
use crate::keys::order::entry::Entry;
use crate::keys::ordered::{OrderedRows, Still, through};
use crate::keys::rows::KeyRows;
use crate::ops::asked::Asked;
use crate::plan::spec::Keep;
use crate::sizes::SORT_SWEEP;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::update::TableUpdate;

const NO_LIMIT: &str = "the rows of a blink table live for one step, and no place in a group lasts; remove_blink or an \
                        aggregation is over rows that stay";

/// Some rows of each group of a table.
pub struct GroupLimit {
    request: Request,
    keys: Vec<usize>,
    limit: Limit,
}

/// So many rows at one end of a group.
#[derive(Clone, Copy)]
struct Limit {
    rows: u64,
    keep: Keep,
}

impl Limit {
    /// The rows of a group that are within the limit, in row order.
    fn shown<'a>(self, rows: &'a KeyRows, slot: u32) -> impl Iterator<Item = u64> + 'a {
        let len = rows.end(slot);
        let many = self.rows.min(len);
        let from = if self.keep == Keep::First { 0 } else { len - many };
        (from..from + many).filter_map(move |at| rows.get(slot, at))
    }

    /// Whether a place in a group of this length is within the limit.
    fn shows(self, at: u64, len: u64) -> bool {
        match self.keep {
            Keep::First => at < self.rows,
            Keep::Last => len - at <= self.rows,
        }
    }
}

impl GroupLimit {
    /// `keys`: the columns that make groups; all rows are one group without them.
    pub fn new(operation: &str, table: &Table, keys: &[String], rows: u64, keep: Keep) -> Result<GroupLimit, Error> {
        if table.attributes().blink {
            return Err(Error::invalid(operation, NO_LIMIT));
        }
        let columns = keys.iter().map(|key| table.column_index(operation, key)).collect::<Result<Vec<_>, _>>()?;
        if let Some((key, column)) = keys.iter().zip(&columns).find(|(_, at)| !can_be_key(table.column_type(**at))) {
            let shown = formula::hidden::shown(table.schema(), key);
            return Err(Error::unkeyable(operation, shown, table.column_type(*column)));
        }
        let request = Request::new(operation, &Asked::GroupLimit { keys, rows, keep }).with_text(keys.join(", "));
        Ok(GroupLimit { request, keys: columns, limit: Limit { rows, keep } })
    }
}

impl Operation for GroupLimit {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let rows = view.rows();
        // Its key, its slot and its place in the group, and an entry.
        limits::ask_rows(rows.len(), if table.is_live() { 48 } else { 28 })?;
        let (groups, slots) = GroupedRows::filled(table, &self.keys, view, table.is_live())?;
        let mut turns = Turns::default();
        turns.enter(&slots, groups.slots());
        let entries = self.limit.entries(rows, &slots, &turns);
        let kept = table.attributes();
        let attributes = Attributes { flat: !table.is_live(), blink: kept.blink, ..Attributes::default() };
        let schema = table.schema().clone();
        if !table.is_live() {
            let sources = entries.into_iter().map(|entry| entry.tie).collect();
            let (rows, index) = Still::rows(sources, at)?;
            let parts = Parts { rows, columns: through(table, &index), schema, attributes };
            return Ok(Start { parts, live: Box::new(Still), owned: Vec::new() });
        }
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let shown = OrderedRows::start(&entries, at, &counters)?;
        let columns = through(table, &shown.index(0));
        let parts = Parts { rows: shown.rows().clone(), columns, schema, attributes };
        let owned = shown.owned();
        let live = GroupLimitLive { limit: self.limit, groups, turns, shown };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

impl Limit {
    /// The entries of the rows that are shown, in their order.
    fn entries(self, rows: &RowSet, slots: &[u32], turns: &Turns) -> Vec<Entry<u64>> {
        let mut counts = vec![0_u64; turns.of.len()];
        let mut seen = vec![0_u64; turns.of.len()];
        slots.iter().for_each(|slot| counts[*slot as usize] += 1);
        let mut entries = Vec::new();
        for (row, slot) in rows.iter().zip(slots) {
            let at = &mut seen[*slot as usize];
            if self.shows(*at, counts[*slot as usize]) {
                entries.push(turns.entry(*slot, row));
            }
            *at += 1;
        }
        entries.sort_unstable();
        entries
    }
}

/// The order in which groups came.
#[derive(Default)]
struct Turns {
    /// By slot; `NONE` where there is no group.
    of: Vec<u64>,
    next: u64,
}

impl Turns {
    const NONE: u64 = u64::MAX;

    /// Gives a turn to each new group, in the order of these slots, all of which are below `slots`.
    fn enter(&mut self, entered: &[u32], slots: usize) {
        self.of.resize(slots.max(self.of.len()), Turns::NONE);
        for slot in entered {
            let turn = &mut self.of[*slot as usize];
            if *turn == Turns::NONE {
                (*turn, self.next) = (self.next, self.next + 1);
            }
        }
    }

    fn entry(&self, slot: u32, row: u64) -> Entry<u64> {
        Entry { key: self.of[slot as usize], tie: row }
    }
}

struct GroupLimitLive {
    limit: Limit,
    groups: GroupedRows,
    turns: Turns,
    shown: OrderedRows<u64>,
}

/// What the touched groups showed before a step, in keys before it.
struct Showed {
    slots: Vec<u32>,
    rows: Vec<Vec<u64>>,
}

impl Live for GroupLimitLive {
    fn entries(&self) -> u64 {
        self.groups.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let update = change.update();
        let regroups = self.groups.read(change)?;
        self.turns.enter(&regroups.fresh_slots, self.groups.slots());
        let showed = self.showed(&regroups);
        let moving = self.moving(&regroups, &update.shifts);
        let followed = self.groups.take(regroups, change);
        let (removed, added) = self.differences(&showed, &update.removed.0, &update.shifts);
        let kept = self.kept(&followed, change, &added)?;
        for slot in showed.slots {
            if self.groups.rows().is_empty(slot) {
                self.turns.of[slot as usize] = Turns::NONE;
            }
        }
        let gone: BTreeSet<&Entry<u64>> = removed.iter().collect();
        let moved = moving.map(|moving| moving.into_iter().filter(|entry| !gone.contains(entry)).collect());
        let edits = Edits { removed, changed: Vec::new(), added, shifts: &update.shifts, moved };
        self.shown.apply(step, edits, &kept, &update.columns)
    }
}

impl GroupLimitLive {
    fn showed(&self, regroups: &Regroups) -> Showed {
        let mut slots: Vec<u32> = regroups.gone_slots.iter().chain(&regroups.fresh_slots).copied().collect();
        slots.sort_unstable();
        slots.dedup();
        let rows = slots.iter().map(|slot| self.limit.shown(self.groups.rows(), *slot).collect()).collect();
        Showed { slots, rows }
    }

    /// The entries of shown rows that move, if they are few; some of them go.
    fn moving(&self, regroups: &Regroups, shifts: &Shifts) -> Option<Vec<Entry<u64>>> {
        if shifts.is_empty() {
            return Some(Vec::new());
        }
        let many = regroups.moving.0.len() + regroups.gone.0.len();
        if many > self.shown.len() as u64 / SORT_SWEEP.rows() {
            return None;
        }
        let rows = self.groups.rows();
        let moving = regroups.moving_slots.iter().zip(regroups.moving.0.iter());
        let leaving = regroups.gone_slots.iter().zip(regroups.gone.0.iter());
        let shown = |(slot, row): &(&u32, u64)| self.limit.shows(rows.lower(**slot, *row), rows.end(**slot));
        Some(moving.chain(leaving).filter(shown).map(|(slot, row)| self.turns.entry(*slot, row)).collect())
    }

    /// The entries that go, as they were, and those that come.
    fn differences(&self, showed: &Showed, removed: &RowSet, shifts: &Shifts) -> (Vec<Entry<u64>>, Vec<Entry<u64>>) {
        let (mut going, mut coming) = (Vec::new(), Vec::new());
        for (slot, old) in showed.slots.iter().zip(&showed.rows) {
            let mut stay = old.iter().filter(|row| !removed.contains(**row)).peekable();
            going.extend(old.iter().filter(|row| removed.contains(**row)).map(|row| self.turns.entry(*slot, *row)));
            for row in self.limit.shown(self.groups.rows(), *slot) {
                while let Some(gone) = stay.next_if(|old| shifts.forward_key(**old) < row) {
                    going.push(self.turns.entry(*slot, *gone));
                }
                if stay.next_if(|old| shifts.forward_key(**old) == row).is_none() {
                    coming.push(self.turns.entry(*slot, row));
                }
            }
            going.extend(stay.map(|gone| self.turns.entry(*slot, *gone)));
        }
        (going, coming)
    }

    /// The entries of modified rows that were shown and still are.
    fn kept(&self, followed: &GroupsChange, change: &Change, added: &[Entry<u64>]) -> Result<Vec<Entry<u64>>, Error> {
        let modified = &change.update().modified;
        if modified.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.groups.rows();
        let touched = match followed.rekeyed {
            true => &followed.touched,
            false => &self.groups.changed(change.now(), modified)?,
        };
        let new: BTreeSet<&Entry<u64>> = added.iter().collect();
        let mut kept = Vec::new();
        for (slot, touch) in touched {
            let (Touch::Entered(places) | Touch::Changed(places)) = touch else { continue };
            let place = places.start;
            let Some(row) = rows.get(*slot, place).filter(|_| self.limit.shows(place, rows.end(*slot))) else {
                continue;
            };
            let entry = self.turns.entry(*slot, row);
            if modified.contains(row) && !new.contains(&entry) {
                kept.push(entry);
            }
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use model::Compare;

    use super::*;
    use crate::attach;
    use crate::testing::draw::in_order as draw;
    use crate::testing::{any_table, check_law, check_steps};

    fn limited(table: &Table, rows: u64, keep: Keep) -> Result<Table, Error> {
        attach(&GroupLimit::new("head_by", table, &["K".into()], rows, keep)?, std::slice::from_ref(table))
    }

    fn check(rows: u64, keep: Keep, steps: &[(&str, &str)]) {
        let drawn: Vec<(&str, String)> = steps.iter().map(|(given, wanted)| (*given, draw(wanted))).collect();
        let drawn: Vec<(&str, &str)> = drawn.iter().map(|(given, wanted)| (*given, wanted.as_str())).collect();
        check_steps(|table| limited(table, rows, keep), "0 A 1 | 1 B 2 | 2 A 3 | 3 A 4", &drawn);
    }

    #[test]
    fn a_row_that_goes_lets_the_next_one_in() {
        check(2, Keep::First, &[("- 0", "- @0 | + @6 A 4"), ("+ 9 B 5", "+ @10 B 5"), ("+ 10 B 6", "")]);
        check(2, Keep::Last, &[("+ 9 B 5 | + 10 B 6", "- @8 | + @6 B 5 | + @8 B 6")]);
    }

    #[test]
    fn cells_change_where_they_are_shown() {
        check(2, Keep::First, &[("~ 3 . 9", ""), ("~ 2 . 9", "~ @4 . 9"), ("~ 2 B .", "- @4 | + @4 A 9 | + @10 B 9")]);
    }

    #[test]
    fn a_group_that_returns_stands_at_the_end() {
        check(1, Keep::First, &[("- 1", "- @4"), ("+ 4 C 5 | + 5 B 6", "+ @2 C 5 | + @4 B 6")]);
    }

    #[test]
    fn a_row_that_takes_the_key_of_another_is_new() {
        check(1, Keep::First, &[("- 0 | + 0 A 7", "- @0 | + @2 A 7")]);
    }

    #[test]
    fn law() {
        for (rows, keep) in
            [(0, Keep::First), (1, Keep::Last), (2, Keep::First), (3, Keep::Last), (u64::MAX, Keep::First)]
        {
            let by = ["k".to_owned()];
            let limit = |table: &Table| {
                attach(&GroupLimit::new("head_by", table, &by, rows, keep)?, std::slice::from_ref(table))
            };
            check_law(&any_table(), 120, Compare::by_key(&["k"]), limit, |table| match keep {
                Keep::First => model::ops::head_by(table, rows, &by),
                Keep::Last => model::ops::tail_by(table, rows, &by),
            });
        }
    }
}
