//! `range_join`: every left row, with aggregates of the right rows of its group whose stamp lies in its range.
//!
//!   right  0 A 10 1    1 A 20 2    2 A 30 4       by K, lo <= x <= hi, sum(V)
//!   left   0 A 10..20  1 A 15..30                 out   0 A 10..20 3    1 A 15..30 6
//!   right  + 3 A 12 8                             out   ~ 0 A 10..20 11   K {sum}
//!
//! Left rows and columns are shared, aggregates are stored. Right rows stand in the order of (stamp, row), left ranges in a
//! tree that tells which of them hold a stamp: a right row that comes, goes or changes concerns the left rows whose range
//! holds it, and with a reaching end those whose nearest row beyond it is. A row whose aggregates are as before is not modified.
//!
//! Counts, sums and what is made of them are kept for each range, and a right row enters or leaves those of the ranges that
//! hold it; so do the least and the greatest, which are read anew when they leave. The first and the last row are searched. Other
//! aggregates (medians, lists, distinct values) read the ranges concerned. Ranges that are new, and all as the join starts, are read
//! together: rows in which they overlap once. Cost of an update: a search a changed row, and the ranges that it concerns.

mod changes;
mod ranges;
mod sides;
mod sweep;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::{Array, BooleanArray};
use arrow_schema::Schema;
use column::Chunk;
use formula::Expr;
use graph::Moment;
use rowset::RowSet;

pub(super) use self::ranges::Place;
use self::ranges::{NO_ROWS, list_of};
pub(super) use self::sides::{RangeKeys, Sides, Standing};
pub(super) use self::sweep::{Reading, sweep};
use super::beside::Beside;
use super::on::{On, Side};
use crate::driver::operation::{Input, Operation, Start};
use crate::error::Error;
use crate::keys::intervals::Interval;
use crate::keys::timeline::Timeline;
use crate::ops::agg::{FOLLOWED, Followed, Listed};
use crate::ops::asked::{Asked, Expressions};
use crate::plan::spec::RangeOptions;
use crate::row_errors::RowErrors;
use crate::sizes::{RANGE_PAIRS, RANGE_ROWS};
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::view::View;
use crate::threads::parallel;

/// `range_join`: left rows with aggregates of the right rows in their ranges.
pub struct RangeJoin {
    request: Request,
    how: Arc<RangeSpec>,
}

/// What is aggregated, and of which rows.
struct RangeSpec {
    keys: Arc<RangeKeys>,
    aggregates: Listed,
    /// The aggregates that are kept for each range, those that are the cell of its first or last row, and the others.
    followed: Vec<usize>,
    ends: Vec<usize>,
    others: Vec<usize>,
}

impl RangeJoin {
    /// Checks names and types. `aggregates`: aggregate expressions over the right table, each named.
    pub fn new(
        operation: &str,
        left: &Table,
        right: &Table,
        options: &RangeOptions,
        aggregates: &[Expr],
    ) -> Result<RangeJoin, Error> {
        let keys = Arc::new(RangeKeys::new(operation, left, right, Side::Left, options)?);
        let listed = Listed::new(operation, right, aggregates)?;
        let mut taken: std::collections::HashSet<String> =
            left.schema().fields().iter().map(|field| field.name().clone()).collect();
        if let Some((twice, _)) = listed.fields().find(|(field, _)| !taken.insert(field.name().clone())) {
            return Err(Error::Duplicate { operation: operation.into(), name: twice.name().clone() });
        }
        let asked = Asked::Range { how: options, aggregates: Expressions(aggregates) };
        let by =
            if options.by.is_empty() { String::new() } else { format!("{}, ", On::text(left, right, &options.by)) };
        let request = Request::new(operation, &asked).with_text(format!("{by}{}", options.text()));
        let (followed, ends) = (listed.followed()?, listed.ends());
        let others = (0..listed.len()).filter(|at| !followed.contains(at) && !ends.contains(at)).collect();
        let how = RangeSpec { keys, aggregates: listed, followed, ends, others };
        Ok(RangeJoin { request, how: Arc::new(how) })
    }

    /// Where the right rows that it aggregates were passed over before it.
    pub(crate) fn reporting_to(mut self, row_errors: Option<&RowErrors>) -> RangeJoin {
        self.request.row_errors = row_errors.map(RowErrors::sibling);
        self
    }
}

impl Operation for RangeJoin {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [left, right] = inputs else { unreachable!("a join has two inputs") };
        let ticking = right.table.is_live();
        // Of right rows the stamp and the row, of left rows the range, and its place in a tree if it may be asked for.
        limits::ask_rows(right.view.rows().len(), 16)?;
        let kept = FOLLOWED * self.how.followed.len() as u64;
        limits::ask_rows(left.view.rows().len(), kept + if ticking { 80 } else { 24 })?;
        let mut live = RangeLive::of_right(&self.how, &right.view, ticking)?;
        let parts = parallel::parts(left.view.rows(), RANGE_ROWS.rows());
        let placed: Vec<Vec<Place>> = if ticking {
            parts.iter().map(|rows| live.sides.enter(&left.view, rows)).collect::<Result<_, Error>>()?
        } else {
            parallel::try_map(parts.len() > 1, &parts, |_, rows| live.sides.look(&left.view, rows))?
        };
        let lists = live.start(&right.view, left.view.rows(), &placed.concat())?;
        live.sides.free_unused();
        let work: Vec<(&[Place], &[u32])> = placed.iter().map(Vec::as_slice).zip(pieces_of(&lists, &placed)).collect();
        let made = parallel::try_map(work.len() > 1, &work, |_, (placed, lists)| {
            live.cells(&right.view, &live.state, placed, lists)
        })?;
        let cells: Vec<Vec<(RowSet, Chunk)>> = (0..self.how.aggregates.len())
            .map(|at| parts.iter().zip(&made).map(|(rows, made)| (rows.clone(), made[at].clone())).collect())
            .collect();
        if !ticking {
            live.state = Followed::new(&self.how.aggregates, &self.how.followed)?;
        }
        let counters =
            [left, right].iter().find_map(|input| input.table.graph()).map(crate::observe::storage).unwrap_or_default();
        let (declared, stored): (Vec<_>, Vec<_>) = self.how.aggregates.fields().unzip();
        let beside = Beside::filled(&Schema::new(stored), at, &counters, &cells, left.table.width())?;
        let own = left.table.schema().fields().iter().map(|field| arrow_schema::Field::clone(field));
        let schema = Arc::new(Schema::new(own.chain(declared).collect::<Vec<_>>()));
        let old = left.table.attributes();
        let attributes =
            Attributes { append_only: old.append_only && !ticking, add_only: old.add_only && !ticking, ..old.clone() };
        let parts = Parts {
            rows: left.table.parts().rows.clone(),
            columns: left.table.parts().columns.iter().cloned().chain(beside.sources()).collect(),
            schema,
            attributes,
        };
        let owned = beside.owned();
        live.beside = Some(beside);
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

/// The lists of each piece.
fn pieces_of<'a>(mut lists: &'a [u32], pieces: &'a [Vec<Place>]) -> impl Iterator<Item = &'a [u32]> {
    pieces.iter().map(move |piece| {
        let (own, rest) = lists.split_at(piece.len());
        lists = rest;
        own
    })
}

struct RangeLive {
    how: Arc<RangeSpec>,
    sides: Sides,
    /// What is known of the rows of each range: the list of a node. Of nothing if the right side never changes.
    state: Followed,
    beside: Option<Beside>,
}

impl RangeLive {
    /// The right rows, and no left one.
    fn of_right(how: &Arc<RangeSpec>, right: &View, ticking: bool) -> Result<RangeLive, Error> {
        let sides = Sides::start(&how.keys, right, ticking)?;
        Ok(RangeLive { how: how.clone(), sides, state: Followed::new(&how.aggregates, &how.followed)?, beside: None })
    }

    fn beside(&self) -> &Beside {
        self.beside.as_ref().expect("the columns are made as the join starts")
    }

    /// What is known of the ranges of all left rows as the join starts: the list of each row. The ranges are kept if the right
    /// side changes.
    fn start(&mut self, right: &View, rows: &RowSet, placed: &[Place]) -> Result<Vec<u32>, Error> {
        let mut lists = vec![NO_ROWS; placed.len()];
        if self.sides.ranges.is_none() && self.how.followed.is_empty() {
            return Ok(lists);
        }
        let mut ranges: Vec<(u32, u64, u32, u64)> = Vec::with_capacity(placed.len());
        for (at, place) in (0u32..).zip(placed) {
            if let Place::Range { slot, from, to } = place {
                ranges.push((*slot, *from, at, *to));
            }
        }
        ranges.sort_unstable();
        for (node, (.., at, _)) in (0u32..).zip(&ranges) {
            lists[*at as usize] = list_of(node);
        }
        if let Some(left) = &mut self.sides.ranges {
            let keys = rows.to_vec();
            let range = |(slot, from, at, to): &(u32, u64, u32, u64)| {
                (*slot, Interval { from: *from, to: *to, key: keys[*at as usize] })
            };
            left.fill(&ranges.iter().map(range).collect::<Vec<_>>());
        }
        self.state.grow(ranges.len() + 1);
        let pieces: Vec<_> = ranges.chunks(RANGE_ROWS.get()).collect();
        let made = parallel::try_map(pieces.len() > 1, &pieces, |_, ranges| {
            let reading = |(list, (group, from, _, to)): (u32, &(u32, u64, u32, u64))| Reading {
                group: *group,
                from: *from,
                to: *to,
                list,
            };
            let readings: Vec<Reading> = (1u32..).zip(*ranges).map(reading).collect();
            let mut state = Followed::new(&self.how.aggregates, &self.how.followed)?;
            state.grow(readings.len() + 1);
            self.read(right, &mut state, &readings)?;
            Ok::<_, Error>(state)
        })?;
        let mut from = 1;
        for (state, ranges) in made.into_iter().zip(pieces) {
            self.state.append(state, from);
            from += ranges.len() as u32;
        }
        Ok(lists)
    }

    /// Lists become the rows of ranges.
    fn read(&self, right: &View, state: &mut Followed, readings: &[Reading]) -> Result<(), Error> {
        if self.how.followed.is_empty() {
            return Ok(());
        }
        sweep(&self.sides.lines, self.sides.ends, readings, RANGE_PAIRS.get(), |rows, spans| {
            state.read(&self.how.aggregates, right, rows, spans)
        })
    }

    /// The aggregates of left rows that look at these places, and whose rows these lists are.
    fn cells(&self, right: &View, state: &Followed, placed: &[Place], lists: &[u32]) -> Result<Vec<Chunk>, Error> {
        let how = &*self.how;
        let mut cells: Vec<Option<Chunk>> = vec![None; how.aggregates.len()];
        for (at, values) in state.values(&how.aggregates, lists)? {
            cells[at] = Some(values);
        }
        let ends = self.listed(right, &how.ends, placed, |line, range, rows| {
            self.sides.ends.ends(line, range, rows);
            Ok(())
        })?;
        let others =
            self.listed(right, &how.others, placed, |line, range, rows| self.sides.ends.rows(line, range, rows))?;
        for (at, values) in how.ends.iter().zip(ends).chain(how.others.iter().zip(others)) {
            cells[*at] = Some(values);
        }
        let cells = cells.into_iter().flatten();
        if !placed.contains(&Place::Nowhere) {
            return Ok(cells.collect());
        }
        let somewhere = BooleanArray::from_iter(placed.iter().map(|place| Some(*place == Place::Nowhere)));
        cells.map(|cells| Ok(arrow_select::nullif::nullif(&cells, &somewhere)?)).collect()
    }

    /// Aggregates of left rows that look at these places, whose rows are listed.
    fn listed(
        &self,
        right: &View,
        which: &[usize],
        placed: &[Place],
        list: impl Fn(&Timeline<()>, (u64, u64), &mut Vec<u64>) -> Result<(), Error>,
    ) -> Result<Vec<Chunk>, Error> {
        if which.is_empty() {
            return Ok(Vec::new());
        }
        let mut pieces: Vec<Vec<Chunk>> = vec![Vec::new(); which.len()];
        let (mut rows, mut lengths): (Vec<u64>, Vec<usize>) = Default::default();
        let mut flush = |rows: &mut Vec<u64>, lengths: &mut Vec<usize>| -> Result<(), Error> {
            let values = self.how.aggregates.values(which, right, rows, lengths)?;
            pieces.iter_mut().zip(values).for_each(|(pieces, values)| pieces.push(values));
            rows.clear();
            lengths.clear();
            Ok(())
        };
        for place in placed {
            let before = rows.len();
            if let Place::Range { slot, from, to } = *place {
                list(&self.sides.lines[slot], (from, to), &mut rows)?;
            }
            lengths.push(rows.len() - before);
            if rows.len() >= RANGE_PAIRS.get() {
                flush(&mut rows, &mut lengths)?;
            }
        }
        flush(&mut rows, &mut lengths)?;
        let joined = pieces.iter().map(|pieces| match &pieces[..] {
            [one] => Ok(one.clone()),
            all => Ok(arrow_select::concat::concat(&all.iter().map(|one| &**one as &dyn Array).collect::<Vec<_>>())?),
        });
        joined.collect()
    }
}
