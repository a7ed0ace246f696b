//! The groups of rows that values run over, and where a step has touched them.

use std::ops::Range;

use rowset::RowSet;

use crate::error::Error;
use crate::keys::frame::Touch;
use crate::keys::group_order::GroupOrder;
use crate::keys::grouped::{GroupedRows, GroupsChange};
use crate::table::change::Change;
use crate::table::view::View;

/// The rows of each key, or all rows as one group.
pub(super) enum Groups {
    All,
    Keyed(Box<GroupedRows>),
}

/// What a step did to the groups.
pub(super) struct Touches {
    /// Rows that have left their groups, in keys before the step.
    pub(super) gone: Vec<(u32, u64)>,
    /// Groups with rows that have other keys now.
    pub(super) moved: Vec<u32>,
    pub(super) change: GroupsChange,
}

/// What became of the groups in a step.
pub(super) enum Followed {
    /// Rows came at the ends of these groups, one each; no other row has left its place.
    AtEnds(Vec<u32>),
    Within(Touches),
}

/// A group of which rows are computed, by places in it after the step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) slot: u32,
    /// The first row that was touched.
    pub(super) first: u64,
    /// Behind the last row that was touched.
    pub(super) last: u64,
    /// How many rows there are.
    pub(super) len: u64,
    /// Whether all that happened is that these rows came at the end.
    pub(super) appended: bool,
}

impl Groups {
    /// Every slot is below this.
    pub(super) fn slots(&self) -> usize {
        match self {
            Groups::All => 1,
            Groups::Keyed(groups) => groups.slots(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Groups::All => 0,
            Groups::Keyed(groups) => groups.len(),
        }
    }

    /// Forgets the key of a group whose rows are not followed.
    pub(super) fn forget(&mut self, slot: u32) {
        if let Groups::Keyed(groups) = self {
            groups.forget(slot);
        }
    }

    /// The groups of rows that came, where nothing else is known of a group.
    pub(super) fn slots_of(&mut self, view: &View, rows: &RowSet) -> Result<Vec<u32>, Error> {
        match self {
            Groups::Keyed(groups) if !rows.is_empty() => groups.slots_of(view, rows),
            _ => Ok(Vec::new()),
        }
    }

    /// Takes over a change of the table.
    pub(super) fn follow(&mut self, change: &Change) -> Result<Followed, Error> {
        let update = change.update();
        let Groups::Keyed(groups) = self else {
            let last = change.before().rows().last();
            if update.removed.0.is_empty() && update.shifts.is_empty() && update.added.first() > last {
                return Ok(Followed::AtEnds(Vec::new()));
            }
            let gone = update.removed.0.iter().map(|row| (0, row)).collect();
            let moved = if update.shifts.is_empty() { Vec::new() } else { vec![0] };
            let change = GroupsChange { touched: of_all(change), rekeyed: false };
            return Ok(Followed::Within(Touches { gone, moved, change }));
        };
        let regroups = groups.read(change)?;
        if groups.enter_at_ends(&regroups) {
            return Ok(Followed::AtEnds(regroups.fresh_slots));
        }
        let gone = regroups.gone_slots.iter().copied().zip(regroups.gone.0.iter()).collect();
        let mut moved = regroups.moving_slots.clone();
        moved.sort_unstable();
        moved.dedup();
        Ok(Followed::Within(Touches { gone, moved, change: groups.take(regroups, change) }))
    }

    /// The touches of rows that came at the ends of these groups.
    pub(super) fn at_ends(&self, change: &Change, slots: &[u32]) -> Touches {
        let touched = match self {
            Groups::All => of_all(change),
            Groups::Keyed(groups) => groups.entered(slots, &change.update().added),
        };
        Touches { gone: Vec::new(), moved: Vec::new(), change: GroupsChange { touched, rekeyed: false } }
    }

    /// The touches of rows whose cells have changed, and whose keys have not.
    pub(super) fn changed(&self, change: &Change) -> Result<Vec<(u32, Touch<u64>)>, Error> {
        let (now, rows) = (change.now(), &change.update().modified);
        match self {
            Groups::All => Ok(rows.spans().map(|span| (0, Touch::Changed(places(now.rows(), span)))).collect()),
            Groups::Keyed(groups) => groups.changed(now, rows),
        }
    }
}

fn places(rows: &RowSet, span: rowset::Span) -> Range<u64> {
    let from = rows.rank(span.first);
    from..from + (span.last - span.first + 1)
}

/// As a change of groups tells it, where all rows are one.
fn of_all(change: &Change) -> Vec<(u32, Touch<u64>)> {
    let (update, now, before) = (change.update(), change.now().rows(), change.before().rows());
    let mut touched: Vec<(u32, Touch<u64>)> =
        update.added.spans().map(|span| (0, Touch::Entered(places(now, span)))).collect();
    for span in update.removed.0.spans() {
        // The next row that stays, past further ones that go.
        let mut next = before.first_at_or_after(span.last.saturating_add(1));
        while let Some(row) = next.filter(|row| update.removed.0.contains(*row)) {
            next = before.first_at_or_after(row + 1);
        }
        let next = next.map_or(now.len(), |row| now.rank(update.shifts.forward_key(row)));
        touched.push((0, Touch::Left { next, stamp: 0 }));
    }
    touched
}

/// The groups and the rows that are there now.
pub(super) struct Running<'a> {
    pub(super) groups: &'a Groups,
    pub(super) rows: &'a RowSet,
}

impl Running<'_> {
    fn end(&self, slot: u32) -> u64 {
        match self.groups {
            Groups::All => self.rows.len(),
            Groups::Keyed(groups) => groups.rows().end(slot),
        }
    }

    /// The place of the first row at or after a key.
    pub(super) fn lower(&self, slot: u32, row: u64) -> u64 {
        match self.groups {
            Groups::All => self.rows.rank(row),
            Groups::Keyed(groups) => groups.rows().lower(slot, row),
        }
    }

    /// The key of the row at a place.
    pub(super) fn key(&self, slot: u32, place: u64) -> Option<u64> {
        match self.groups {
            Groups::All => self.rows.key_at(place),
            Groups::Keyed(groups) => groups.rows().get(slot, place),
        }
    }

    /// The keys of the rows at places.
    pub(super) fn keys(&self, slot: u32, places: Range<u64>, into: &mut Vec<u64>) {
        match self.groups {
            Groups::All => self.rows.slice(places.start, places.end - places.start).write_keys(into),
            Groups::Keyed(groups) => groups.rows().keys(slot, places, into),
        }
    }

    /// The groups that these touches concern, in order.
    pub(super) fn runs<'t>(&self, touched: impl Iterator<Item = &'t (u32, Touch<u64>)>) -> Vec<Run> {
        // Group, from, to, rows that came; none if something else happened.
        let span = |(slot, touch): &(u32, Touch<u64>)| match touch {
            Touch::Entered(rows) => (*slot, rows.start, rows.end, Some(rows.end - rows.start)),
            Touch::Changed(rows) => (*slot, rows.start, rows.end, None),
            Touch::Left { next, .. } => (*slot, *next, *next, None),
        };
        let mut spans: Vec<(u32, u64, u64, Option<u64>)> = touched.map(span).collect();
        spans.sort_unstable_by_key(|(slot, from, ..)| (*slot, *from));
        let run = |spans: &[(u32, u64, u64, Option<u64>)]| {
            let (slot, first) = (spans[0].0, spans[0].1);
            let last = spans.iter().map(|(_, _, to, _)| *to).max().unwrap_or(first);
            let came: Option<u64> = spans.iter().map(|(.., came)| *came).sum();
            let len = self.end(slot);
            Run { slot, first, last, len, appended: came.is_some_and(|came| came == len - first) }
        };
        spans.chunk_by(|one, other| one.0 == other.0).map(run).collect()
    }
}
