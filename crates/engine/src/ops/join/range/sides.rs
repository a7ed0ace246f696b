//! The two sides of a join of ranges: rows that stand at a stamp, and rows that look from one stamp to another.
//!
//!   standing  0 A 10    1 A 20        looking  0 A 5..15        row 0 of the one looks at row 0 of the other

use std::sync::Arc;

use arrow_array::Array;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use column::Chunk;
use column::keys::NO_SLOT;
use formula::type_name;
use rowset::{RowSet, Shifts};

use super::ranges::{Ends, Extent, LeftRanges, Place};
use crate::error::Error;
use crate::keys::timeline::{Entry, Timelines};
use crate::ops::join::on::{On, Side, cells_as, meeting_type};
use crate::ops::join::side::JoinKeys;
use crate::ops::join::stamps::{is_stamp, ordered, ordered_with_nan};
use crate::plan::spec::{Bound, RangeEnd, RangeOptions};
use crate::table::handle::Table;
use crate::table::view::View;

/// Keys, ranges and stamps.
pub(in crate::ops::join) struct RangeKeys {
    pub(in crate::ops::join) by: Arc<On>,
    /// The side whose rows look.
    pub(in crate::ops::join) ranged: Side,
    /// The columns that bound ranges.
    from: Option<(usize, Bound)>,
    to: Option<(usize, Bound)>,
    /// The column of stamps, of the other side.
    stamp: usize,
    /// The type in which stamps and bounds compare.
    meet: DataType,
    /// Whether bounds are predicates over pairs: with null none is true, and NaN is the greatest number.
    of_pairs: bool,
}

impl RangeKeys {
    /// Checks names and types. The rows of one side look.
    pub(in crate::ops::join) fn new(
        operation: &str,
        left: &Table,
        right: &Table,
        side: Side,
        options: &RangeOptions,
    ) -> Result<RangeKeys, Error> {
        let (ranged, standing) = if side == Side::Left { (left, right) } else { (right, left) };
        let by = On::new(operation, left, right, &options.by)?;
        let stamp = standing.column_index(operation, &options.on)?;
        let mut meet = standing.column_type(stamp).clone();
        let mut end = |end: &RangeEnd| {
            let column = ranged.column_index(operation, &end.column)?;
            let own = ranged.column_type(column);
            meet = meeting_type(own, &meet).filter(is_stamp).ok_or_else(|| {
                let (one, other) = (type_name(own), type_name(standing.column_type(stamp)));
                let both = [own, standing.column_type(stamp)];
                let decimal = |kind: &&DataType| matches!(kind, DataType::Decimal128(..) | DataType::Decimal256(..));
                let remedy = if both.iter().any(decimal) {
                    "are no range: it is of times and plain numbers, and not of decimals; cast both to Float64 or Int64"
                } else if both.iter().all(|kind| kind.is_numeric()) {
                    "do not compare exactly, a whole number and a float; cast the whole one to Float64"
                } else {
                    "do not compare as times or numbers; cast one of them"
                };
                let message =
                    format!("the bound {:?} ({one}) and the column {:?} ({other}) {remedy}", end.column, options.on);
                Error::types(operation, message)
            })?;
            Ok::<_, Error>((column, end.bound))
        };
        let from = options.from.as_ref().map(&mut end).transpose()?;
        let to = options.to.as_ref().map(&mut end).transpose()?;
        if from.is_none() && to.is_none() {
            return Err(Error::schema(operation, "a range has a bound at one end, at least"));
        }
        Ok(RangeKeys { by: Arc::new(by), ranged: side, from, to, stamp, meet, of_pairs: false })
    }

    /// Bounds that are predicates over pairs.
    pub(in crate::ops::join) fn of_pairs(mut self) -> RangeKeys {
        self.of_pairs = true;
        self
    }

    fn stamps(&self, cells: &Chunk) -> Result<(Vec<u64>, Option<NullBuffer>), Error> {
        if self.of_pairs { ordered_with_nan(cells) } else { ordered(cells) }
    }
}

/// Group, stamp and key of a row.
pub(in crate::ops::join) type Standing = (u32, u64, u64);

/// The rows of both sides.
pub(in crate::ops::join) struct Sides {
    pub(in crate::ops::join) how: Arc<RangeKeys>,
    pub(in crate::ops::join) keys: JoinKeys,
    /// The rows that stand, by group and stamp.
    pub(in crate::ops::join) lines: Timelines<()>,
    pub(in crate::ops::join) ends: Ends,
    /// The ranges of the rows that look; none if those that stand never change.
    pub(in crate::ops::join) ranges: Option<LeftRanges>,
}

impl Sides {
    /// The rows that stand, and none that looks. `ticking`: whether rows that stand change.
    pub(in crate::ops::join) fn start(how: &Arc<RangeKeys>, view: &View, ticking: bool) -> Result<Sides, Error> {
        let reaching = |end: &Option<(usize, Bound)>| end.is_some_and(|(_, bound)| bound == Bound::Reaching);
        let ends = Ends { before: reaching(&how.from), after: reaching(&how.to) };
        let mut sides = Sides {
            how: how.clone(),
            // Both sides are kept by stamp, in structures of their own.
            keys: JoinKeys::new(&how.by, false, false, false),
            lines: Timelines::default(),
            ends,
            ranges: ticking.then(|| LeftRanges::new(ends)),
        };
        let mut rows = sides.standing(view, view.rows(), true)?;
        // In their order each goes to the end of its group.
        rows.sort_unstable();
        sides.stand(&rows);
        Ok(sides)
    }

    /// The columns of the ranged side that decide where a row looks.
    pub(in crate::ops::join) fn looking_columns(&self) -> Vec<usize> {
        let bounds = [self.how.from, self.how.to].into_iter().flatten().map(|(column, _)| column);
        self.how.by.columns(self.how.ranged).into_iter().chain(bounds).collect()
    }

    /// The columns of the other side that decide where a row stands.
    pub(in crate::ops::join) fn standing_columns(&self) -> Vec<usize> {
        self.how.by.columns(self.how.ranged.other()).into_iter().chain([self.how.stamp]).collect()
    }

    /// Frees the slots of keys that neither side has any more. This waits for the end of the step, which still refers
    /// to keys by their slots.
    pub(in crate::ops::join) fn free_unused(&mut self) {
        let touched = self.keys.take_touched();
        let (ranges, lines) = (&self.ranges, &self.lines);
        let unused = |slot: u32| ranges.as_ref().is_none_or(|ranges| ranges.is_empty(slot));
        self.keys.free(&touched, |slot| lines[slot].is_empty() && unused(slot));
    }

    /// Group, stamp and key of those rows that stand anywhere. A new key makes a new group if the rows enter.
    pub(in crate::ops::join) fn standing(
        &mut self,
        view: &View,
        rows: &RowSet,
        enter: bool,
    ) -> Result<Vec<Standing>, Error> {
        let side = self.how.ranged.other();
        let found = if enter { self.keys.insert(side, view, rows)? } else { self.keys.find(side, view, rows)? };
        self.grow();
        let known: Vec<u32> = found.slots.iter().copied().filter(|slot| *slot != NO_SLOT).collect();
        self.keys.touch(&known);
        let cells = cells_as(view.read(self.how.stamp, &found.rows)?, &self.how.meet)?;
        let (stamps, valid) = self.how.stamps(&cells)?;
        let is_there = |at: usize| valid.as_ref().is_none_or(|valid| valid.is_valid(at));
        let rows = found.iter().enumerate().filter(|(at, (_, slot))| *slot != NO_SLOT && is_there(*at));
        Ok(rows.map(|(at, (key, slot))| (slot, stamps[at], key)).collect())
    }

    /// Rows leave their places.
    pub(in crate::ops::join) fn leave(&mut self, rows: &[Standing]) {
        for (slot, stamp, key) in rows {
            self.lines[*slot].remove(*stamp, *key);
        }
    }

    /// Rows take their places.
    pub(in crate::ops::join) fn stand(&mut self, rows: &[Standing]) {
        for (slot, stamp, key) in rows {
            self.lines[*slot].insert(Entry { stamp: *stamp, key: *key, tag: () });
        }
    }

    /// Rows of these places, some or all of their groups, have other keys now.
    pub(in crate::ops::join) fn shift(&mut self, rows: &[Standing], shifts: &Shifts) {
        let mut groups: Vec<u32> = rows.iter().map(|(slot, ..)| *slot).collect();
        groups.sort_unstable();
        groups.dedup();
        self.lines.shift(&groups, shifts);
    }

    fn grow(&mut self) {
        let groups = self.keys.slots();
        self.lines.grow(groups);
        if let Some(ranges) = &mut self.ranges {
            ranges.grow(groups);
        }
    }

    /// Where rows look that are kept; a new key makes a new group.
    pub(in crate::ops::join) fn enter(&mut self, view: &View, rows: &RowSet) -> Result<Vec<Place>, Error> {
        let found = self.keys.insert(self.how.ranged, view, rows)?;
        self.grow();
        // A group that is made for rows without a range has no row in the end.
        self.keys.touch(&found.slots);
        self.placed(view, rows, found.iter())
    }

    /// Where rows look that are not kept.
    pub(in crate::ops::join) fn look(&self, view: &View, rows: &RowSet) -> Result<Vec<Place>, Error> {
        let found = self.keys.find(self.how.ranged, view, rows)?;
        self.placed(view, rows, found.iter())
    }

    /// Where rows look that leave, or move.
    pub(in crate::ops::join) fn looked(&mut self, view: &View, rows: &RowSet) -> Result<Vec<Place>, Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.keys.find(self.how.ranged, view, rows)?;
        let known: Vec<u32> = found.slots.iter().copied().filter(|slot| *slot != NO_SLOT).collect();
        self.keys.touch(&known);
        self.placed(view, rows, found.iter())
    }

    /// Where rows look, given the groups of those that have one.
    fn placed(&self, view: &View, rows: &RowSet, found: impl Iterator<Item = (u64, u32)>) -> Result<Vec<Place>, Error> {
        let from = self.bounds(view, rows, self.how.from)?;
        let to = self.bounds(view, rows, self.how.to)?;
        let mut found = found.peekable();
        let place = |(at, key): (usize, u64)| {
            let slot = found.next_if(|(row, _)| *row == key).map_or(NO_SLOT, |(_, slot)| slot);
            let bound = |bounds: &Option<Bounds>| bounds.as_ref().map_or(Extent::Endless, |bounds| bounds.at(at));
            Place::new(slot, (bound(&from), self.how.from), (bound(&to), self.how.to))
        };
        Ok(rows.iter().enumerate().map(place).collect())
    }

    fn bounds(&self, view: &View, rows: &RowSet, end: Option<(usize, Bound)>) -> Result<Option<Bounds>, Error> {
        let Some((column, _)) = end else { return Ok(None) };
        let cells = cells_as(view.read(column, rows)?, &self.how.meet)?;
        let (stamps, valid) = self.how.stamps(&cells)?;
        Ok(Some(Bounds { cells, stamps, valid, of_pairs: self.how.of_pairs }))
    }
}

/// Bounds of rows as stamps.
struct Bounds {
    cells: Chunk,
    stamps: Vec<u64>,
    valid: Option<NullBuffer>,
    of_pairs: bool,
}

impl Bounds {
    /// Null is no bound, NaN is none that can be. Of pairs null is none that can be.
    fn at(&self, at: usize) -> Extent {
        match &self.valid {
            Some(valid) if valid.is_null(at) && self.cells.is_null(at) && !self.of_pairs => Extent::Endless,
            Some(valid) if valid.is_null(at) => Extent::Impossible,
            _ => Extent::At(self.stamps[at]),
        }
    }
}
