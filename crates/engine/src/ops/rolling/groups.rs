//! The rows of each group as windows need them: in row order, or by stamp.

use std::ops::Range;

use arrow_array::Array;
use rowset::RowSet;

use super::spans::{Spans, around, by_rows, by_stamps, room, seen};
use super::spec::{RollingSpec, Stamps};
use super::stamped::StampedRows;
use crate::error::Error;
use crate::keys::frame::{Frame, affected};
use crate::keys::group_order::GroupOrder;
use crate::keys::grouped::GroupedRows;
use crate::keys::in_groups::InGroups;
use crate::keys::rows::KeyRows;
use crate::keys::timeline::{Place, Timelines};
use crate::sizes::{GROUP_PART_ROWS, ROLLING_ROWS, TIMELINE_CHUNK};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::view::View;
use crate::threads::parallel;

/// The rows of each group.
pub(super) enum Groups {
    InRowOrder(Box<GroupedRows>),
    ByStamp(Box<StampedRows>),
}

/// The rows of a table group by group, as it starts.
pub(super) struct Started {
    /// Positions of the rows, by group and in the order of windows. A row without a stamp is not among them.
    pub(super) ordered: InGroups,
    /// The stamps in that order; none if windows are of so many rows.
    pub(super) stamps: Vec<u64>,
    /// The slot of each row, if the order of windows is that of rows.
    pub(super) slots: Option<Vec<u32>>,
}

/// What a step asks to be computed.
pub(super) struct Wanted {
    /// Windows in parts, each of whole groups.
    pub(super) parts: Vec<Spans>,
    /// Rows that have come to have no stamp.
    pub(super) bare: RowSet,
}

impl Groups {
    /// The rows of a table; kept only if it is live.
    pub(super) fn start(spec: &RollingSpec, table: &Table, view: &View) -> Result<(Groups, Started), Error> {
        let parts = parallel::parts(view.rows(), GROUP_PART_ROWS.rows());
        match &spec.stamps {
            None => {
                let (groups, slots) = GroupedRows::filled(table, &spec.keys, view, table.is_live())?;
                let ordered = InGroups::new(&slots, groups.slots());
                let started = Started { ordered, stamps: Vec::new(), slots: Some(slots) };
                Ok((Groups::InRowOrder(Box::new(groups)), started))
            }
            Some(stamps) => {
                let mut groups = StampedRows::new(table, &spec.keys, stamps);
                let started = by_stamp(spec, stamps, table, view, &parts, &mut groups)?;
                Ok((Groups::ByStamp(Box::new(groups)), started))
            }
        }
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Groups::InRowOrder(groups) => groups.len(),
            Groups::ByStamp(groups) => groups.len(),
        }
    }

    /// Takes over a change of the table: the rows whose windows see it, and those windows.
    pub(super) fn follow(&mut self, spec: &RollingSpec, change: &Change) -> Result<Wanted, Error> {
        let update = change.update();
        let reads = spec.aggregates.reads(&update.columns) && !update.modified.is_empty();
        match self {
            Groups::InRowOrder(groups) => {
                let followed = groups.follow(change)?;
                let mut touched = followed.touched;
                if reads && !followed.rekeyed {
                    touched.extend(groups.changed(change.now(), &update.modified)?);
                }
                let spans = affected(spec.frame, groups.rows(), &touched);
                Ok(Wanted { parts: in_row_order(spec.frame, groups.rows(), &spans)?, bare: RowSet::new() })
            }
            Groups::ByStamp(groups) => {
                let (touched, fresh) = groups.follow(change, reads)?;
                if let Some(stamps) = spec.stamps.as_ref().filter(|stamps| stamps.ordered)
                    && let Some(row) = groups.first_that_goes_back(&fresh)
                {
                    return Err(goes_back(spec, stamps, change.now(), row));
                }
                let spans = affected(spec.frame, &groups.lines, &touched);
                let came = if update.columns.contains_any(&spec.keys)
                    || spec.stamps.as_ref().is_some_and(|stamps| update.columns.contains(stamps.column))
                {
                    &update.added | &update.modified
                } else {
                    update.added.clone()
                };
                Ok(Wanted { parts: in_stamp_order(spec.frame, &groups.lines, &spans)?, bare: &came - &fresh.rows })
            }
        }
    }
}

fn goes_back(spec: &RollingSpec, stamps: &Stamps, view: &View, row: u64) -> Error {
    let text = |cell: column::Chunk| match cell.is_null(0) {
        true => "null".to_owned(),
        false => arrow_cast::display::array_value_to_string(&cell, 0).unwrap_or_default(),
    };
    let stamp = match view.read(stamps.column, &RowSet::key(row)) {
        Ok(cell) => text(cell),
        Err(error) => return error,
    };
    let (name, within) = (&stamps.name, if spec.keys.is_empty() { "" } else { " within its group" });
    Error::data(
        &spec.operation,
        format!(
            "the stamps in {name:?} must not go back{within}: at row key {row} stands {stamp}, after a greater one; sort \
             the table by {name:?}, or use rolling(…), which takes rows in any order"
        ),
    )
}

/// The rows of a table by group and stamp. Those with a stamp are kept if the table is live.
fn by_stamp(
    spec: &RollingSpec,
    stamps: &Stamps,
    table: &Table,
    view: &View,
    parts: &[RowSet],
    groups: &mut StampedRows,
) -> Result<Started, Error> {
    let rows = view.rows().len() as usize;
    let (mut slots, mut stamped) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for part in parts {
        let found = groups.standing(view, part)?;
        if found.slots.len() as u64 == part.len() {
            slots.extend(found.slots);
            stamped.extend(found.stamps);
            continue;
        }
        let mut standing = found.rows.iter().zip(found.slots.iter().zip(&found.stamps)).peekable();
        for key in part.iter() {
            let own = standing.next_if(|(standing, _)| *standing == key);
            let (slot, stamp) = own.map_or((column::keys::NO_SLOT, 0), |(_, (slot, stamp))| (*slot, *stamp));
            slots.push(slot);
            stamped.push(stamp);
        }
    }
    let mut ordered = InGroups::new(&slots, groups.slots());
    let InGroups { order, starts } = &mut ordered;
    let mut in_row_order = true;
    for ends in starts.windows(2) {
        let group = &mut order[ends[0]..ends[1]];
        if let Some(pair) = group.windows(2).find(|pair| stamped[pair[0]] > stamped[pair[1]]) {
            if stamps.ordered {
                let row = view.rows().key_at(pair[1] as u64).unwrap_or_default();
                return Err(goes_back(spec, stamps, view, row));
            }
            group.sort_by_key(|position| stamped[*position]);
            in_row_order = false;
        }
    }
    if table.is_live() {
        let keys = view.rows().to_vec();
        order.iter().for_each(|at| groups.enter((slots[*at], stamped[*at], keys[*at])));
    }
    let stamps = order.iter().map(|at| stamped[*at]).collect();
    Ok(Started { ordered, stamps, slots: in_row_order.then_some(slots) })
}

/// Rows of groups, in parts for threads. A group is in one part, so that a row is read for one part alone; `len`: about how
/// many rows a span reads.
fn shares<P>(spans: &[(u32, Range<P>)], len: impl Fn(u32, &Range<P>) -> u64) -> Vec<&[(u32, Range<P>)]> {
    let (mut shares, mut from, mut rows) = (Vec::new(), 0, 0u64);
    for (at, (slot, span)) in spans.iter().enumerate() {
        if rows >= ROLLING_ROWS.rows() && spans[at - 1].0 != *slot {
            shares.push(&spans[from..at]);
            (from, rows) = (at, 0);
        }
        rows += len(*slot, span);
    }
    if from < spans.len() {
        shares.push(&spans[from..]);
    }
    shares
}

/// The windows of rows in row order.
fn in_row_order(frame: Frame, groups: &KeyRows, spans: &[(u32, Range<u64>)]) -> Result<Vec<Spans>, Error> {
    let Frame::Rows { back, ahead } = frame else { return Ok(Vec::new()) };
    let of = |slot: u32, rows: &Range<u64>| seen(groups.end(slot), rows, back, ahead);
    let lengths = spans.iter().fold((0u64, 0u64), |(rows, read), (slot, span)| {
        let seen = of(*slot, span);
        (rows + (span.end - span.start), read + (seen.end - seen.start))
    });
    room(lengths.0, lengths.1)?;
    let shares = shares(spans, |slot, span| of(slot, span).end - of(slot, span).start);
    parallel::try_map(true, &shares, |_, share| {
        let mut wanted = Spans::default();
        for of_group in share.chunk_by(|(one, _), (next, _)| one == next) {
            windows_of_group(&mut wanted, groups, of_group, (back, ahead));
        }
        Ok(wanted)
    })
}

/// The windows of rows of one group. What two spans see is read once where they lie near one another.
fn windows_of_group(wanted: &mut Spans, groups: &KeyRows, spans: &[(u32, Range<u64>)], (back, ahead): (i64, i64)) {
    // The places of the group that were read last.
    let mut known: Option<Range<u64>> = None;
    let mut keys = Vec::new();
    for (slot, span) in spans {
        let end = groups.end(*slot);
        let seen = seen(end, span, back, ahead);
        let from = known.as_ref().map(|known| known.end).filter(|known| (seen.start..=seen.end).contains(known));
        let fresh = from.unwrap_or(seen.start)..seen.end;
        let at = wanted.read.len() - (fresh.start - seen.start) as usize;
        keys.clear();
        groups.keys(*slot, span.clone(), &mut keys);
        let frames = by_rows(end, span.clone(), back, ahead);
        groups.keys(*slot, fresh, &mut wanted.read);
        wanted.push(at, keys.iter().copied(), [], frames);
        known = Some(seen);
    }
}

/// The windows of rows in the order of their stamps.
fn in_stamp_order(frame: Frame, groups: &Timelines<()>, spans: &[(u32, Range<Place>)]) -> Result<Vec<Spans>, Error> {
    // A span is at least one row, and mostly as many as a chunk of the line holds.
    let shares = shares(spans, |_, _| TIMELINE_CHUNK.rows());
    parallel::try_map(true, &shares, |_, share| {
        let mut wanted = Spans::default();
        share.iter().try_for_each(|(slot, span)| windows_of_line(&mut wanted, frame, groups, (*slot, span.clone())))?;
        Ok(wanted)
    })
}

/// The windows of rows that follow one another on a line.
fn windows_of_line(
    wanted: &mut Spans,
    frame: Frame,
    groups: &Timelines<()>,
    (slot, span): (u32, Range<Place>),
) -> Result<(), Error> {
    let line = &groups[slot];
    let end = groups.get(slot, span.end);
    let inside = |at: (u64, u64)| end.is_none_or(|end| at < end);
    let own: Vec<(u64, u64)> =
        line.from(span.start).map(|(stamp, key, ())| (stamp, key)).take_while(|at| inside(*at)).collect();
    let (Some(first), Some(last)) = (own.first(), own.last()) else { return Ok(()) };
    let (least, greatest) = (around(frame, first.0).0, around(frame, last.0).1);
    let from = match u64::try_from(least.max(0)) {
        Ok(stamp) => line.lower((stamp, 0)),
        Err(_) => groups.end(slot),
    };
    let read: Vec<(u64, u64)> = line
        .from(from)
        .map(|(stamp, key, ())| (stamp, key))
        .take_while(|(stamp, _)| i128::from(*stamp) <= greatest)
        .collect();
    room(own.len() as u64, read.len() as u64)?;
    let stamps = |rows: &[(u64, u64)]| rows.iter().map(|(stamp, _)| *stamp).collect::<Vec<_>>();
    let frames = by_stamps(frame, &stamps(&own), &stamps(&read));
    let at = wanted.read.len();
    wanted.push(at, own.iter().map(|(_, key)| *key), read.iter().map(|(_, key)| *key), frames);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::frame::Touch;
    use crate::keys::timeline::Entry;
    use crate::testing::explore::explore;

    /// How many rows a touch computes, and how many it reads, of a group of 5,000.
    fn cost(frame: Frame, touch: Range<u64>, entered: bool) -> [(usize, usize); 2] {
        let mut in_rows = KeyRows::new(true);
        in_rows.grow(1);
        in_rows.enter(&[0; 5_000], &RowSet::flat(5_000));
        let mut lines = Timelines::default();
        lines.grow(1);
        (0..5_000).for_each(|key| lines[0].insert(Entry { stamp: key, key, tag: () }));
        let place = |at: u64| lines.lower(0, (at, 0));
        let stamps = place(touch.start)..place(touch.end);
        let (of_rows, of_stamps) = match entered {
            true => (Touch::Entered(touch), Touch::Entered(stamps)),
            false => (Touch::Changed(touch), Touch::Changed(stamps)),
        };
        let (back, ahead) = match frame {
            Frame::Rows { back, ahead } => (back, ahead),
            _ => (0, 0),
        };
        let by_stamp = Frame::Range { back, ahead };
        let rows = in_row_order(frame, &in_rows, &affected(frame, &in_rows, &[(0, of_rows)])).expect("there is room");
        let spans = affected(by_stamp, &lines, &[(0, of_stamps)]);
        let stamped = in_stamp_order(by_stamp, &lines, &spans).expect("there is room");
        let lengths = |parts: &[Spans]| match parts {
            [one] => (one.rows.len(), one.read.len()),
            _ => (0, 0),
        };
        [lengths(&rows), lengths(&stamped)]
    }

    #[test]
    fn a_change_costs_its_windows_and_not_its_group() {
        let frame = |back, ahead| Frame::Rows { back, ahead };
        assert_eq!(cost(frame(99, 0), 4_990..5_000, true), [(10, 109); 2], "ten rows that come at the end");
        assert_eq!(cost(frame(999, 0), 2_500..2_501, false), [(1_000, 1_999); 2], "a value in the middle");
        assert_eq!(cost(frame(0, 4), 2_500..2_501, false), [(5, 9); 2], "windows that look ahead");
        assert_eq!(cost(frame(-2, 4), 2_500..2_501, false), [(3, 5); 2], "windows beside their row");
    }

    /// Runs of rows that meet, lie near one another, or end with their group, in lists and in row sets, in parts of any size.
    #[test]
    fn law_of_runs() {
        explore(60, |tape| {
            let mut groups = KeyRows::new(true);
            groups.grow(3);
            let rows = *tape.choose(&[1, 9, 40, 1_500]);
            let slots: Vec<u32> = (0..rows).map(|_| tape.below(3) as u32).collect();
            groups.enter(&slots, &RowSet::flat(rows));
            let of = |slot: u32| (0..rows).filter(|row| slots[*row as usize] == slot).collect::<Vec<u64>>();
            let of = [of(0), of(1), of(2)];
            let (back, ahead) = *tape.choose(&[(0, 0), (3, 0), (0, 2), (5, 5), (-1, 3), (4, -2), (i64::MAX, 0)]);
            let frame = Frame::Rows { back, ahead };
            let mut touched = Vec::new();
            for _ in 0..1 + tape.below(20) {
                let slot = tape.below(3) as u32;
                let len = of[slot as usize].len() as u64;
                let (from, many) = (tape.below(len + 1), tape.below(4));
                let rows = from..(from + many).min(len);
                touched.push(match tape.below(3) {
                    0 => (slot, Touch::Entered(rows)),
                    1 => (slot, Touch::Changed(rows)),
                    _ => (slot, Touch::Left { next: from, stamp: 0 }),
                });
            }
            let spans = affected(frame, &groups, &touched);
            let parts = in_row_order(frame, &groups, &spans).map_err(|error| error.to_string())?;
            let wanted: Vec<u64> =
                spans.iter().flat_map(|(slot, span)| span.clone().map(|at| of[*slot as usize][at as usize])).collect();
            let made: Vec<u64> = parts.iter().flat_map(|part| part.rows.clone()).collect();
            if made != wanted {
                return Err(format!("{made:?} are computed, and not {wanted:?}"));
            }
            for part in &parts {
                let mut before = 0..0;
                for (row, frame) in part.rows.iter().zip(&part.frames) {
                    let group = &of[slots[*row as usize] as usize];
                    let at = group.partition_point(|other| other < row) as u64;
                    let seen = seen(group.len() as u64, &(at..at + 1), back, ahead);
                    let wanted = &group[seen.start as usize..seen.end as usize];
                    if part.read[frame.clone()] != *wanted {
                        return Err(format!("row {row} sees {:?}, and not {wanted:?}", &part.read[frame.clone()]));
                    }
                    if frame.start < before.start || frame.end < before.end {
                        return Err(format!("{frame:?} lies before {before:?}"));
                    }
                    before = frame.clone();
                }
            }
            let mut places: Vec<u32> = parts
                .iter()
                .flat_map(|part| part.rows.chunk_by(|one, next| slots[*one as usize] == slots[*next as usize]))
                .map(|run| slots[run[0] as usize])
                .collect();
            let runs = places.len();
            places.dedup();
            if places.len() != runs {
                return Err(format!("a group is in two of {} parts", parts.len()));
            }
            Ok(())
        });
    }

    #[test]
    fn what_two_spans_see_is_read_once_and_a_group_is_in_one_part() {
        let mut groups = KeyRows::new(true);
        groups.grow(2);
        groups.enter(&[0; 100], &RowSet::flat(100));
        groups.enter(&[1; 10], &RowSet::range(100, 109));
        let spans = [(0, 10..12), (0, 14..15), (0, 40..41), (1, 0..2)];
        let small = |scope: &limits::Scope| scope.enter(|| ROLLING_ROWS.rows() <= 4);
        let scope = (1..).map(limits::Scope::drawn).find(small).expect("a scope of small parts");
        let frame = Frame::Rows { back: 3, ahead: 0 };
        let parts = scope.enter(|| in_row_order(frame, &groups, &spans)).expect("there is room");
        let told: Vec<_> = parts.into_iter().map(|part| (part.rows, part.read, part.frames)).collect();
        let first = (vec![10, 11, 14, 40], (7..15).chain(37..41).collect(), vec![0..4, 1..5, 4..8, 8..12]);
        assert_eq!(told, [first, (vec![100, 101], vec![100, 101], vec![0..1, 0..2])]);
    }
}
