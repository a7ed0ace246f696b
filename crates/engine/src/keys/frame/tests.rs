//! The law of frames: the rows that `affected` names beside those whose window is another by brute force.

use std::collections::BTreeMap;

use rowset::RowSet;

use super::*;
use crate::keys::rows::KeyRows;
use crate::keys::timeline::{Entry, Timelines};
use crate::testing::{Tape, explore};

const SLOTS: u64 = 3;

/// A row of the model: its group, its stamp, and how often its cells have changed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    slot: u32,
    stamp: u64,
    version: u32,
}

/// Rows by key, which stays the same.
type Rows = BTreeMap<u64, Row>;

/// A way to keep groups, beside what orders the rows of the model.
trait Kept {
    type Order: GroupOrder;

    fn keep(rows: &Rows) -> Self::Order;
    fn key(key: u64, row: Row) -> <Self::Order as GroupOrder>::Key;
    /// Which groups there are, if not those of the rows.
    fn slot(slot: u32) -> u32 {
        slot
    }
}

struct ByRow;
struct ByStamp;
struct AllRows;

impl Kept for ByRow {
    type Order = KeyRows;

    fn keep(rows: &Rows) -> KeyRows {
        let slots: Vec<u32> = rows.values().map(|row| row.slot).collect();
        let mut kept = KeyRows::new(true);
        kept.grow(SLOTS as usize);
        kept.enter(&slots, &RowSet::from_sorted_keys(&rows.keys().copied().collect::<Vec<_>>()));
        kept
    }

    fn key(key: u64, _: Row) -> u64 {
        key
    }
}

impl Kept for ByStamp {
    type Order = Timelines<()>;

    fn keep(rows: &Rows) -> Timelines<()> {
        let mut kept = Timelines::default();
        kept.grow(SLOTS as usize);
        for (key, row) in rows {
            kept[row.slot].insert(Entry { stamp: row.stamp, key: *key, tag: () });
        }
        kept
    }

    fn key(key: u64, row: Row) -> (u64, u64) {
        (row.stamp, key)
    }
}

impl Kept for AllRows {
    type Order = RowSet;

    fn keep(rows: &Rows) -> RowSet {
        rows.keys().copied().collect()
    }

    fn key(key: u64, _: Row) -> u64 {
        key
    }

    fn slot(_: u32) -> u32 {
        0
    }
}

/// What the value of each row is made of: keys and versions of the rows in its window; none stands for a place beyond the
/// ends of the group.
fn windows<K: Kept>(frame: Frame, rows: &Rows) -> BTreeMap<u64, Vec<Option<(u64, u32)>>> {
    type Sorted<K> = Vec<(<<K as Kept>::Order as GroupOrder>::Key, u64, u32)>;
    let mut groups: BTreeMap<u32, Sorted<K>> = BTreeMap::new();
    for (key, row) in rows {
        groups.entry(K::slot(row.slot)).or_default().push((K::key(*key, *row), *key, row.version));
    }
    let mut windows = BTreeMap::new();
    for group in groups.values_mut() {
        group.sort_unstable_by_key(|(order, ..)| *order);
        let cell = |at: usize| Some((group[at].1, group[at].2));
        for (at, (order, key, _)) in group.iter().enumerate() {
            let window = match frame {
                Frame::Rows { back, ahead } => (at as i64 - back..=at as i64 + ahead)
                    .map(|at| usize::try_from(at).ok().filter(|at| *at < group.len()).and_then(cell))
                    .collect(),
                Frame::Range { back, ahead } => {
                    let own = order.stamp() as i64;
                    let near = |at: &usize| (own - back..=own + ahead).contains(&(group[*at].0.stamp() as i64));
                    (0..group.len()).filter(near).map(cell).collect()
                }
            };
            windows.insert(*key, window);
        }
    }
    windows
}

/// What a step did, as an operation says it: in places of the rows as they are now.
fn touches<K: Kept>(before: &Rows, now: &Rows, kept: &K::Order) -> Vec<(u32, Touch<<K::Order as GroupOrder>::Place>)> {
    let stays = |key: &u64, row: &Row| now.get(key).is_some_and(|now| (now.slot, now.stamp) == (row.slot, row.stamp));
    let mut touched = Vec::new();
    for (key, row) in before.iter().filter(|(key, row)| !stays(key, row)) {
        let (slot, at) = (K::slot(row.slot), K::key(*key, *row));
        let staying = before.iter().filter(|(key, row)| K::slot(row.slot) == slot && stays(key, row));
        let next = staying.map(|(key, row)| K::key(*key, *row)).filter(|key| *key > at).min();
        let next = next.map_or(kept.end(slot), |next| kept.lower(slot, next));
        touched.push((slot, Touch::Left { next, stamp: at.stamp() }));
    }
    for (key, row) in now {
        let slot = K::slot(row.slot);
        let place = kept.lower(slot, K::key(*key, *row));
        let own = place..kept.moved(slot, place, 1);
        match before.get(key) {
            Some(was) if (was.slot, was.stamp) == (row.slot, row.stamp) => {
                if was.version != row.version {
                    touched.push((slot, Touch::Changed(own)));
                }
            }
            _ => touched.push((slot, Touch::Entered(own))),
        }
    }
    touched
}

fn found<O: GroupOrder>(spans: &[(u32, Range<O::Place>)], kept: &O, row: impl Fn(O::Key) -> u64) -> Vec<u64> {
    let mut keys = Vec::new();
    for (slot, span) in spans {
        let mut place = span.start;
        while place < span.end {
            keys.push(row(kept.get(*slot, place).expect("a row stands at each place")));
            place = kept.moved(*slot, place, 1);
        }
    }
    assert!(keys.len() == keys.iter().collect::<std::collections::BTreeSet<_>>().len(), "each row once: {keys:?}");
    keys
}

fn any_frame(tape: &mut Tape) -> Frame {
    let back = tape.below(9) as i64 - 4;
    let ahead = tape.below(6) as i64 - back.min(4);
    match tape.below(3) {
        0 => Frame::Range { back, ahead },
        1 => Frame::Rows { back, ahead: -back },
        _ => Frame::Rows { back, ahead },
    }
}

fn any_row(tape: &mut Tape) -> Row {
    Row { slot: tape.below(SLOTS) as u32, stamp: tape.below(25), version: 0 }
}

/// The rows before and after a step of so many changes.
fn any_step(tape: &mut Tape, changes: u64) -> (Rows, Rows) {
    let keys = 2 + tape.below(40);
    let mut before = Rows::new();
    for key in 0..keys {
        if tape.chance(150) {
            before.insert(key, any_row(tape));
        }
    }
    let mut now = before.clone();
    for _ in 0..changes {
        let key = tape.below(keys);
        match now.get_mut(&key) {
            None => {
                now.insert(key, any_row(tape));
            }
            Some(_) if tape.chance(80) => {
                now.remove(&key);
            }
            Some(row) if tape.chance(128) => row.version += 1,
            Some(row) => *row = any_row(tape),
        }
    }
    (before, now)
}

/// Every row whose window is another is named; after a change of a single row no other is, but where a window ends
/// beyond its group.
fn check<K: Kept>(frame: Frame, before: &Rows, now: &Rows, row: impl Fn(<K::Order as GroupOrder>::Key) -> u64) {
    let kept = K::keep(now);
    let touched = touches::<K>(before, now, &kept);
    let named = found(&affected(frame, &kept, &touched), &kept, row);
    let (was, is) = (windows::<K>(frame, before), windows::<K>(frame, now));
    for (key, window) in &is {
        let entered = before.get(key).is_none_or(|was| (was.slot, was.stamp) != (now[key].slot, now[key].stamp));
        let differs = entered || was.get(key) != Some(window);
        assert!(!differs || named.contains(key), "{frame:?}: {key} is missing of {named:?}\n{before:?}\n{now:?}");
        let inside = was.get(key).is_some_and(|was| !was.contains(&None)) && !window.contains(&None);
        if touched.len() == 1 && inside && !differs {
            assert!(!named.contains(key), "{frame:?}: {key} is too many of {named:?}\n{before:?}\n{now:?}");
        }
    }
}

#[test]
fn law_of_frames() {
    explore(12_000, |tape| {
        let frame = any_frame(tape);
        let changes = if tape.chance(128) { 1 } else { tape.below(8) };
        let (before, now) = any_step(tape, changes);
        check::<ByRow>(frame, &before, &now, |key| key);
        check::<ByStamp>(frame, &before, &now, |(_, key)| key);
        // One group has one order: a row that changes its group stays where it is.
        let alone = |rows: &Rows| rows.iter().map(|(key, row)| (*key, Row { slot: 0, stamp: 0, ..*row })).collect();
        check::<AllRows>(frame, &alone(&before), &alone(&now), |key| key);
        Ok(())
    });
}

#[test]
fn neighbours_end_at_the_ends_of_a_group() {
    let rows: Rows = [3, 5, 8, 13].into_iter().map(|key| (key, Row { slot: 1, stamp: 20 - key, version: 0 })).collect();
    let (by_row, by_stamp, all) = (ByRow::keep(&rows), ByStamp::keep(&rows), AllRows::keep(&rows));
    for (by, wanted) in [(0, Some(5)), (-1, Some(3)), (-2, None), (2, Some(13)), (3, None), (i64::MIN, None)] {
        assert_eq!(by_row.neighbour(1, by_row.lower(1, 5), by), wanted, "{by}");
        assert_eq!(all.neighbour(0, 1, by), wanted, "{by}");
    }
    for (by, wanted) in [(0, Some(8)), (-1, Some(13)), (-2, None), (2, Some(3)), (3, None), (i64::MAX, None)] {
        let place = by_stamp.lower(1, (12, 0));
        assert_eq!(by_stamp.neighbour(1, place, by).map(|(_, row)| row), wanted, "{by}");
    }
}

#[test]
fn a_frame_over_stamps_may_end_beyond_all_numbers() {
    let rows: Rows =
        [(1, 0), (2, 7), (3, u64::MAX)].map(|(key, stamp)| (key, Row { slot: 0, stamp, version: 0 })).into();
    let kept = ByStamp::keep(&rows);
    let frame = Frame::Range { back: i64::MAX, ahead: i64::MAX };
    let last = kept.lower(0, (u64::MAX, 0));
    let touched = [(0, Touch::Changed(last..kept.end(0)))];
    assert_eq!(found(&affected(frame, &kept, &touched), &kept, |(_, key)| key), [3]);
    let touched = [(0, Touch::Left { next: kept.start(0), stamp: 3 })];
    assert_eq!(found(&affected(frame, &kept, &touched), &kept, |(_, key)| key), [1, 2]);
}
