//! `join`: every pair of a left and a right row with equal keys.
//!
//!   left  0 A    1 B    right  0 A 1    1 A 2       out, inner   A 1    A 2
//!                                                   out, left    A 1    A 2    B –
//!   right + 2 B 3                                   out, inner   + B 3
//!                                                   out, left    - B –    + B 3
//!   left  ~ 0 A                                     out          ~ A 1    ~ A 2    K {left}
//!   left  > [0..1]+5                                out          nothing
//!
//! Left-major: the pairs of a left row stand together, in the order of the right rows. Rows are own; columns of both
//! sides are read through an index of two row keys. Null matches null only with `nulls_equal`. Two static tables are
//! joined onto flat keys. Cost of an update: a probe a changed row, and a search a pair of it; a right row that comes
//! between others moves a few neighbours by a shift.

mod matching;
mod options;

use std::sync::Arc;

use column::{ColumnSource, FlatColumn, RedirectColumn};
use graph::{Moment, Step};
use rowset::RowSet;

use self::matching::Matching;
use self::options::check;
use super::on::{On, Side, added_columns, joined_schema};
use super::pairs::{LeftRow, PairList, PairShifts, entries};
use super::side::{JoinKeys, SideChange};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::order::Edits;
use crate::keys::order::entry::Entry;
use crate::keys::ordered::{OrderedRows, Source};
use crate::ops::asked::Asked;
use crate::plan::spec::{EquiOptions, How, Validate};
use crate::sizes::SORT_SWEEP;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::{ColumnSet, TableUpdate};

/// `join`: all pairs of rows with equal keys.
pub struct EquiJoin {
    request: Request,
    on: Arc<On>,
    added: Vec<(usize, String)>,
    options: EquiOptions,
}

impl EquiJoin {
    /// Checks names and types of the keys, and the names of the result.
    pub fn new(operation: &str, left: &Table, right: &Table, options: EquiOptions) -> Result<EquiJoin, Error> {
        if options.on.is_empty() {
            return Err(Error::schema(operation, "at least one key column is needed (on=)"));
        }
        let keys = On::new(operation, left, right, &options.on)?;
        let without = if options.coalesce { keys.columns(Side::Right) } else { Vec::new() };
        let added = added_columns(operation, left, right, None, &without, Some(&options.suffix))?;
        let request = Request::new(operation, &Asked::Join(&options)).with_text(On::text(left, right, &options.on));
        Ok(EquiJoin { request, on: Arc::new(keys), added, options })
    }

    /// The columns of both sides, each read through its index.
    fn columns(&self, left: &Table, right: &Table, index: [Arc<dyn ColumnSource>; 2]) -> Vec<Arc<dyn ColumnSource>> {
        let through = |column: &Arc<dyn ColumnSource>, index: &Arc<dyn ColumnSource>| {
            Arc::new(RedirectColumn::new(column.clone(), index.clone())) as Arc<dyn ColumnSource>
        };
        let own = left.parts().columns.iter().map(|column| through(column, &index[0]));
        let added = self.added.iter().map(|(column, _)| through(&right.parts().columns[*column], &index[1]));
        own.chain(added).collect()
    }

    fn attributes(&self, left: &Table, right: &Table) -> Attributes {
        let kept = left.attributes();
        let still = !right.is_live();
        Attributes {
            append_only: kept.append_only && still,
            add_only: kept.append_only && still,
            blink: kept.blink,
            flat: still && !left.is_live(),
            sorted_by: kept.sorted_by.clone(),
            ..Attributes::default()
        }
    }
}

impl Operation for EquiJoin {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [left, right] = inputs else { unreachable!("a join has two inputs") };
        limits::ask_rows(left.view.rows().len().saturating_add(right.view.rows().len()), 16)?;
        // The left rows of a key are needed when its right rows change, and to judge how many there are.
        let stored = right.table.is_live() || self.options.validate != Validate::ManyToMany;
        let mut keys = Matching {
            keys: JoinKeys::new(&self.on, self.options.nulls_equal, stored, true),
            outer: self.options.how == How::Left,
        };
        let pairs = keys.start(&left.view, &right.view)?;
        let slots: Vec<u32> = (0..keys.keys.slots() as u32).collect();
        check(&keys.keys, &slots, self.options.validate, &self.request.name)?;
        let live = left.table.is_live() || right.table.is_live();
        // A row of a live join has an entry, with room around it, and two cells.
        limits::ask_rows(pairs.len() as u64, if live { 160 } else { 16 })?;
        let attributes = self.attributes(&left.table, &right.table);
        let schema = Arc::new(joined_schema(&left.table, &right.table, &self.added));
        if !live {
            let rows = Arc::new(LiveRows::new(RowSet::flat(pairs.len() as u64), at));
            let [own, added] = two(Source::cells(pairs))?;
            let flat = |cells| FlatColumn::new(vec![cells]).map(|column| Arc::new(column) as Arc<dyn ColumnSource>);
            let columns = self.columns(&left.table, &right.table, [flat(own)?, flat(added)?]);
            let parts = Parts { rows, columns, schema, attributes };
            return Ok(Start { parts, live: Box::new(Still), owned: Vec::new() });
        }
        let counters =
            [left, right].iter().find_map(|input| input.table.graph()).map(crate::observe::storage).unwrap_or_default();
        let pairs = OrderedRows::start(&entries(pairs), at, &counters)?;
        let columns = self.columns(&left.table, &right.table, [pairs.index(0), pairs.index(1)]);
        let parts = Parts { rows: pairs.rows().clone(), columns, schema, attributes };
        let owned = pairs.owned();
        let live = EquiLive {
            operation: self.request.name.clone(),
            keys,
            validate: self.options.validate,
            left_width: left.table.width(),
            added: self.added.iter().map(|(column, _)| *column).collect(),
            pairs,
        };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

fn two<T>(both: Vec<T>) -> Result<[T; 2], Error> {
    both.try_into().map_err(|_| Error::internal("join", "an index of pairs has two columns"))
}

/// Two static tables stay as they are.
struct Still;

impl Live for Still {
    fn update(&mut self, _: &[Change], _: Step) -> Result<TableUpdate, Error> {
        Ok(TableUpdate::default())
    }
}

struct EquiLive {
    operation: String,
    keys: Matching,
    validate: Validate,
    left_width: usize,
    added: Vec<usize>,
    pairs: OrderedRows<LeftRow>,
}

impl Live for EquiLive {
    fn entries(&self) -> u64 {
        (self.keys.keys.len() + self.pairs.len()) as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let [left, right] = inputs else { unreachable!("a join has two inputs") };
        // The order matters. The pairs that go, and those whose rows move, are listed while both sides are as they were
        // before the step, those that come and those that stay when both are as they are after it.
        let own = self.keys.keys.judge(Side::Left, left)?;
        let other = self.keys.keys.judge(Side::Right, right)?;
        let matched = self.keys.without_right(&other.fresh_found.slots);
        let removed = self.removed(&own, &other, &matched)?;
        let moved = self.moved(&own, &other, &matched)?;
        let shifts = PairShifts { left: left.update().shifts.clone(), right: right.update().shifts.clone() };
        self.keys.keys.take(Side::Right, &other, &shifts.right);
        self.keys.keys.take(Side::Left, &own, &shifts.left);
        let unmatched = self.keys.without_right(&other.gone_found.slots);
        let added = self.added(&own, &other, &unmatched)?;
        let (kept, columns) = self.kept(inputs, &own, &other, &unmatched)?;
        let touched = self.keys.keys.take_touched();
        check(&self.keys.keys, &touched, self.validate, &self.operation)?;
        self.keys.keys.free(&touched, |_| true);
        let edits = Edits { removed, changed: Vec::new(), added, shifts: &shifts, moved };
        self.pairs.apply(step, edits, &kept, &columns)
    }
}

impl EquiLive {
    /// The pairs that go. `matched` are slots to which the first right row comes.
    fn removed(&self, own: &SideChange, other: &SideChange, matched: &[u32]) -> Result<Vec<Entry<LeftRow>>, Error> {
        let (keys, mut pairs) = (&self.keys, PairList::default());
        keys.of_left(&own.gone, &own.gone_found, &RowSet::new(), |slot| keys.has_no_right(slot), &mut pairs);
        keys.of_right(&other.gone_found, &own.gone, &mut pairs);
        keys.of_alone(matched, &own.gone, &mut pairs);
        pairs.finish().map(entries)
    }

    /// The pairs that stay and whose rows have other row keys now, as they were; none if they are many.
    fn moved(
        &self,
        own: &SideChange,
        other: &SideChange,
        matched: &[u32],
    ) -> Result<Option<Vec<Entry<LeftRow>>>, Error> {
        if own.moving.len() + other.moving.len() > self.pairs.len() as u64 / SORT_SWEEP.rows() {
            return Ok(None);
        }
        let (keys, mut pairs) = (&self.keys, PairList::default());
        let stays_alone = |slot| keys.has_no_right(slot) && matched.binary_search(&slot).is_err();
        keys.of_left(&own.moving, &own.moving_found, &other.gone, stays_alone, &mut pairs);
        keys.of_right(&other.moving_found, &(&own.gone | &own.moving), &mut pairs);
        pairs.finish().map(|pairs| Some(entries(pairs)))
    }

    /// The pairs that come. `unmatched` are slots that the last right row left.
    fn added(&self, own: &SideChange, other: &SideChange, unmatched: &[u32]) -> Result<Vec<Entry<LeftRow>>, Error> {
        let (keys, mut pairs) = (&self.keys, PairList::default());
        keys.of_left(&own.fresh, &own.fresh_found, &RowSet::new(), |slot| keys.has_no_right(slot), &mut pairs);
        keys.of_right(&other.fresh_found, &own.fresh, &mut pairs);
        keys.of_alone(unmatched, &own.fresh, &mut pairs);
        pairs.finish().map(entries)
    }

    /// The pairs that stay and have modified cells, and the columns of these.
    fn kept(
        &self,
        inputs: &[Change],
        own: &SideChange,
        other: &SideChange,
        unmatched: &[u32],
    ) -> Result<(Vec<Entry<LeftRow>>, ColumnSet), Error> {
        let (keys, mut pairs, mut columns) = (&self.keys, PairList::default(), ColumnSet::new());
        if !own.kept.is_empty() {
            let found = keys.keys.find(Side::Left, inputs[0].now(), &own.kept)?;
            let stays_alone = |slot| keys.has_no_right(slot) && unmatched.binary_search(&slot).is_err();
            keys.of_left(&own.kept, &found, &other.fresh, stays_alone, &mut pairs);
        }
        let mut pairs_of_left = pairs.finish()?;
        if !pairs_of_left.is_empty() {
            columns = inputs[0].update().columns.clone();
        }
        let changed = &inputs[1].update().columns;
        let changed: Vec<usize> = (0..self.added.len()).filter(|at| changed.contains(self.added[*at])).collect();
        if !changed.is_empty() && !other.kept.is_empty() {
            let mut pairs = PairList::default();
            let found = keys.keys.find(Side::Right, inputs[1].now(), &other.kept)?;
            keys.of_right(&found, &own.fresh, &mut pairs);
            let pairs = pairs.finish()?;
            if !pairs.is_empty() {
                changed.into_iter().for_each(|at| columns.insert(self.left_width + at));
                pairs_of_left.extend(pairs);
                pairs_of_left.sort_unstable();
                pairs_of_left.dedup();
            }
        }
        Ok((entries(pairs_of_left), columns))
    }
}

#[cfg(test)]
mod tests;
