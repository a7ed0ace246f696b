//! Shifts: rows that keep their data and change their key.

use std::sync::Arc;

use crate::build::Builder;
use crate::key::{MAX_KEY, Span};
use crate::rowset::RowSet;
use crate::sizes::{PER_MOVE, SHIFT_FEW};
use crate::space::Before;

/// The rows of `first ..= last` move by `delta`: the hull of consecutive survivors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Shift {
    /// The lowest key that moves, before.
    pub first: u64,
    /// The highest key that moves, before.
    pub last: u64,
    /// What is added to each key; never 0.
    pub delta: i64,
}

/// A step's shifts: disjoint and ascending before and after, and in order with the rows that stay.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Shifts(Arc<[Shift]>);

/// Why a list of shifts is refused. `at` is the index of the shift in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ShiftError {
    /// The range is empty: its last key lies before its first.
    #[error("shift {at} is empty: its last key lies before its first")]
    Empty {
        /// Index of the shift.
        at: usize,
    },
    /// The delta is 0.
    #[error("shift {at} moves by nothing")]
    Still {
        /// Index of the shift.
        at: usize,
    },
    /// A key before or after lies outside `0 ..= MAX_KEY`.
    #[error("shift {at} leaves the key space")]
    OutOfKeys {
        /// Index of the shift.
        at: usize,
    },
    /// The range overlaps the one listed before it, or lies below it.
    #[error("shift {at} overlaps the shift before it, or lies below it")]
    Overlap {
        /// Index of the shift.
        at: usize,
    },
    /// A row would overtake, or land on, a row that stays or that moves elsewhere.
    #[error("shift {at} overtakes or lands on another row")]
    Reorder {
        /// Index of the shift.
        at: usize,
    },
}

impl Shift {
    /// The keys that move, before.
    pub fn origin(&self) -> Span {
        Span { first: self.first, last: self.last }
    }

    /// Where they are after.
    pub fn destination(&self) -> Span {
        Span { first: moved(self.first, self.delta), last: moved(self.last, self.delta) }
    }
}

/// `key + delta`, for a shift whose ends were checked when it was made.
fn moved(key: u64, delta: i64) -> u64 {
    key.checked_add_signed(delta).expect("a shift's destination was checked to be in the key space")
}

fn checked_move(key: u64, delta: i64) -> Option<u64> {
    key.checked_add_signed(delta).filter(|&key| key <= MAX_KEY)
}

impl Shifts {
    /// Checks shifts from outside against the rows that survive, and trims them to the hulls of the
    /// rows they move. A shift that moves no row is left out.
    pub fn new(shifts: Vec<Shift>, survivors: &Before) -> Result<Shifts, ShiftError> {
        let mut hulls: Vec<Shift> = Vec::with_capacity(shifts.len());
        // Of each hull, the index of the last shift in it: some move nothing, some become one.
        let mut origins: Vec<usize> = Vec::with_capacity(shifts.len());
        let mut previous: Option<Shift> = None;
        for (at, shift) in shifts.into_iter().enumerate() {
            if shift.last < shift.first {
                return Err(ShiftError::Empty { at });
            }
            if shift.delta == 0 {
                return Err(ShiftError::Still { at });
            }
            if shift.last > MAX_KEY {
                return Err(ShiftError::OutOfKeys { at });
            }
            if previous.is_some_and(|previous| previous.last >= shift.first) {
                return Err(ShiftError::Overlap { at });
            }
            previous = Some(shift);
            if let Some(hull) = hull(&survivors.0, shift.origin()) {
                check_order(&survivors.0, &hulls, hull, shift.delta, at)?;
                push_merged(&mut hulls, &survivors.0, hull, shift.delta);
                origins.resize(hulls.len(), at);
                origins[hulls.len() - 1] = at;
            }
        }
        if let Some(hull) = first_overtaking(&survivors.0, &hulls) {
            return Err(ShiftError::Reorder { at: origins[hull] });
        }
        Ok(Shifts(hulls.into()))
    }

    /// No shift.
    pub fn none() -> Shifts {
        Shifts::default()
    }

    /// Whether no row moves.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many ranges move.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The shifts in ascending order of their keys.
    pub fn iter(&self) -> std::slice::Iter<'_, Shift> {
        self.0.iter()
    }

    /// Shifts out of an operation's own moves, ascending and in order with the survivors: trimmed
    /// to hulls of survivors, neighbours of equal delta merged, moves by 0 left out.
    pub fn from_moves(survivors: &Before, moves: impl Iterator<Item = (Span, i64)>) -> Shifts {
        let mut hulls = Vec::new();
        for (span, delta) in moves.filter(|(_, delta)| *delta != 0) {
            if let Some(hull) = hull(&survivors.0, span) {
                debug_assert!(checked_move(hull.first, delta).is_some() && checked_move(hull.last, delta).is_some());
                push_merged(&mut hulls, &survivors.0, hull, delta);
            }
        }
        debug_assert!(first_overtaking(&survivors.0, &hulls).is_none(), "moves keep the order of the survivors");
        Shifts(hulls.into())
    }

    /// Shifts that are known to be what [`Shifts::from_moves`] would give.
    pub fn from_hulls(hulls: Vec<Shift>) -> Shifts {
        let follow = |a: &Shift, b: &Shift| a.last < b.first && a.destination().last < b.destination().first;
        debug_assert!(hulls.windows(2).all(|pair| follow(&pair[0], &pair[1])), "hulls keep their order");
        debug_assert!(hulls.iter().all(|hull| hull.delta != 0 && hull.first <= hull.last), "each hull moves rows");
        Shifts(hulls.into())
    }

    /// Where these rows are after the step. They must be among the survivors.
    pub fn forward(&self, rows: &Before) -> RowSet {
        let near = self.near(&rows.0, Shift::origin);
        relocate(&rows.0, || near.iter().map(|shift| (shift.origin(), shift.delta)))
    }

    /// Where these survivors were before the step.
    pub fn back(&self, rows: &RowSet) -> Before {
        let near = self.near(rows, Shift::destination);
        Before(relocate(rows, || near.iter().map(|shift| (shift.destination(), -shift.delta))))
    }

    /// The shifts between the first of these rows and the last: others do not move them.
    fn near(&self, rows: &RowSet, at: impl Fn(&Shift) -> Span) -> &[Shift] {
        let Some(hull) = rows.hull() else { return &[] };
        let first = self.0.partition_point(|shift| at(shift).last < hull.first);
        let end = self.0.partition_point(|shift| at(shift).first <= hull.last);
        &self.0[first..end.max(first)]
    }

    /// Where one surviving row is after the step.
    pub fn forward_key(&self, key: u64) -> u64 {
        let at = self.0.partition_point(|shift| shift.last < key);
        match self.0.get(at) {
            Some(shift) if shift.first <= key => moved(key, shift.delta),
            _ => key,
        }
    }

    /// Where one survivor was before the step.
    pub fn back_key(&self, key: u64) -> u64 {
        let at = self.0.partition_point(|shift| shift.destination().last < key);
        match self.0.get(at) {
            Some(shift) if shift.destination().first <= key => moved(key, -shift.delta),
            _ => key,
        }
    }

    /// These shifts, then `next`, as one. `survivors` are the rows, before these shifts, that
    /// survive both.
    pub fn then(&self, next: &Shifts, survivors: &Before) -> Shifts {
        if self.is_empty() {
            return next.restrict(survivors);
        }
        if next.is_empty() {
            return self.restrict(survivors);
        }
        let mut moves = Vec::new();
        let mut from = Some(0);
        for shift in self.iter() {
            if let Some(start) = from.filter(|&start| start < shift.first) {
                next.moves_after(&survivors.0, Span { first: start, last: shift.first - 1 }, 0, &mut moves);
            }
            next.moves_after(&survivors.0, shift.origin(), shift.delta, &mut moves);
            from = (shift.last < MAX_KEY).then(|| shift.last + 1);
        }
        if let Some(first) = from {
            next.moves_after(&survivors.0, Span { first, last: MAX_KEY }, 0, &mut moves);
        }
        Shifts::from_moves(survivors, moves.into_iter())
    }

    /// How the survivors inside `origin`, already moved by `delta`, move in all when these shifts follow.
    fn moves_after(&self, survivors: &RowSet, origin: Span, delta: i64, moves: &mut Vec<(Span, i64)>) {
        let Some(rows) = hull(survivors, origin) else { return };
        let (low, high) = (moved(rows.first, delta), moved(rows.last, delta));
        let mut from = low;
        let start = self.0.partition_point(|shift| shift.last < low);
        for shift in self.0[start..].iter().take_while(|shift| shift.first <= high) {
            let (first, last) = (shift.first.max(low), shift.last.min(high));
            if from < first {
                moves.push((Span { first: moved(from, -delta), last: moved(first - 1, -delta) }, delta));
            }
            moves.push((Span { first: moved(first, -delta), last: moved(last, -delta) }, delta + shift.delta));
            from = last + 1;
        }
        if from <= high {
            moves.push((Span { first: moved(from, -delta), last: moved(high, -delta) }, delta));
        }
    }

    /// Restricts the shifts to these survivors: each range shrinks to the first and last survivor it moves.
    pub fn restrict(&self, survivors: &Before) -> Shifts {
        Shifts::from_moves(survivors, self.iter().map(|shift| (shift.origin(), shift.delta)))
    }

    /// An order in which ranges can be moved in place without one overwriting another: downward
    /// moves from the lowest, then upward moves from the highest. (The two never touch each other.)
    pub fn in_safe_order(&self) -> impl Iterator<Item = &Shift> {
        let down = self.0.iter().filter(|shift| shift.delta < 0);
        down.chain(self.0.iter().rev().filter(|shift| shift.delta > 0))
    }

    /// Those of `rows` that move.
    pub fn moved(&self, rows: &Before) -> Before {
        Before(&rows.0 & &self.origins())
    }

    /// The keys of before, between the ends of the shifts.
    pub fn origins(&self) -> RowSet {
        RowSet::from_spans(self.iter().map(Shift::origin))
    }

    /// The keys of after, between the ends of the shifts.
    pub fn destinations(&self) -> RowSet {
        RowSet::from_spans(self.iter().map(Shift::destination))
    }
}

impl<'a> IntoIterator for &'a Shifts {
    type Item = &'a Shift;
    type IntoIter = std::slice::Iter<'a, Shift>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The least span that holds the rows of `rows` inside `within`.
fn hull(rows: &RowSet, within: Span) -> Option<Span> {
    let first = rows.first_at_or_after(within.first).filter(|&key| key <= within.last)?;
    let last = rows.last_at_or_before(within.last)?;
    Some(Span { first, last })
}

fn push_merged(hulls: &mut Vec<Shift>, survivors: &RowSet, hull: Span, delta: i64) {
    if let Some(previous) = hulls.last_mut()
        && previous.delta == delta
        && survivors.first_at_or_after(previous.last + 1) == Some(hull.first)
    {
        previous.last = hull.last;
        return;
    }
    hulls.push(Shift { first: hull.first, last: hull.last, delta });
}

/// A hull may not leave the key space, nor land at or below the row in front of it.
fn check_order(survivors: &RowSet, hulls: &[Shift], hull: Span, delta: i64, at: usize) -> Result<(), ShiftError> {
    let first = checked_move(hull.first, delta).ok_or(ShiftError::OutOfKeys { at })?;
    checked_move(hull.last, delta).ok_or(ShiftError::OutOfKeys { at })?;
    let in_front = hull.first.checked_sub(1).and_then(|key| survivors.last_at_or_before(key));
    let in_front = in_front.map(|key| match hulls.last() {
        Some(shift) if shift.last == key => moved(key, shift.delta),
        _ => key,
    });
    match in_front {
        Some(key) if key >= first => Err(ShiftError::Reorder { at }),
        _ => Ok(()),
    }
}

/// Index of the first hull that lands at or above the row behind it.
fn first_overtaking(survivors: &RowSet, hulls: &[Shift]) -> Option<usize> {
    (0..hulls.len()).find(|&at| {
        let shift = hulls[at];
        let behind = survivors.first_at_or_after(shift.last + 1);
        let behind = behind.map(|key| match hulls.get(at + 1) {
            Some(next) if next.first == key => checked_move(key, next.delta).unwrap_or(0),
            _ => key,
        });
        behind.is_some_and(|key| key <= moved(shift.last, shift.delta))
    })
}

/// Moves the rows inside each span by its delta, leaving the others.
pub(crate) fn relocate<M: Iterator<Item = (Span, i64)>>(rows: &RowSet, moves: impl Fn() -> M) -> RowSet {
    let mut all = moves();
    if let (Some((origin, delta)), None, Some(hull)) = (all.next(), all.next(), rows.hull())
        && origin.first <= hull.first
        && hull.last <= origin.last
    {
        return rows.moved(delta);
    }
    if (moves().count() + 1) * PER_MOVE.get() < rows.0.entries() {
        return relocate_by_parts(rows, moves());
    }
    // Few rows that move, by many shifts: they alone are walked, the others stay as they are.
    let moving = rows & &RowSet::from_spans(moves().map(|(origin, _)| origin));
    if moving.len() < rows.len() / SHIFT_FEW.rows() {
        return (rows - &moving) | relocate_by_spans(&moving, moves());
    }
    relocate_by_spans(rows, moves())
}

/// Few moves of many entries: whole parts are cut out, moved and put together.
fn relocate_by_parts(rows: &RowSet, moves: impl Iterator<Item = (Span, i64)>) -> RowSet {
    let mut placed = RowSet::new();
    let mut place = |part: RowSet, delta: i64| {
        let part = part.moved(delta);
        let behind = placed.last().is_none_or(|last| part.first().is_none_or(|first| last < first));
        let so_far = std::mem::take(&mut placed);
        // Only rows that do not survive can arrive out of order.
        placed = if behind { so_far.followed_by(part) } else { so_far | part };
    };
    let mut from = Some(0);
    for (origin, delta) in moves {
        if let Some(first) = from.filter(|&first| first < origin.first) {
            place(rows.between(first, origin.first - 1), 0);
        }
        place(rows.between(origin.first, origin.last), delta);
        from = (origin.last < MAX_KEY).then(|| origin.last + 1);
    }
    if let Some(first) = from {
        place(rows.between(first, MAX_KEY), 0);
    }
    placed
}

/// Many moves: one walk over all runs.
fn relocate_by_spans(rows: &RowSet, moves: impl Iterator<Item = (Span, i64)>) -> RowSet {
    let mut builder = Builder::new();
    let mut overtaken = RowSet::new();
    let mut moves = moves.peekable();
    for span in rows.spans() {
        let mut from = span.first;
        while from <= span.last {
            while moves.next_if(|(origin, _)| origin.last < from).is_some() {}
            let (last, delta) = match moves.peek() {
                Some((origin, delta)) if origin.first <= from => (span.last.min(origin.last), *delta),
                Some((origin, _)) => (span.last.min(origin.first - 1), 0),
                None => (span.last, 0),
            };
            let target = Span { first: moved(from, delta), last: moved(last, delta) };
            if builder.accepts(target.first) {
                builder.push(target.first, target.last);
            } else {
                // Only rows that do not survive can arrive out of order.
                overtaken.insert_span(target);
            }
            from = last + 1;
        }
    }
    let placed = builder.finish();
    if overtaken.is_empty() { placed } else { &placed | &overtaken }
}
