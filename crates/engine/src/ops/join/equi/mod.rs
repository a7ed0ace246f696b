//! `join`: every pair of a left and a right row with equal keys.
//!
//!   left  0 A    1 B    right  0 A 1    1 A 2    2 C 3       out, inner   A 1    A 2
//!                                                            out, left    A 1    A 2    B –
//!                                                            out, right   A 1    A 2    C 3
//!                                                            out, full    A 1    A 2    B –    – C 3
//!   right + 3 B 4                                            out, inner   + B 4
//!                                                            out, left    - B –    + B 4
//!   left  ~ 0 A                                              out          ~ A 1    ~ A 2    K {left}
//!   left  > [0..1]+5                                         out          nothing
//!
//! The pairs of a row of the leading side (the left one, unless `how` is right) stand together, in the order of the other
//! side's rows; rows of the other side that stand alone come last. Rows are own; columns of both sides are read through an
//! index of two row keys. Null matches null only with `nulls_equal`. A cross join is one over a key that all rows have.
//! Two static tables are joined onto flat keys. Cost of an update: a probe a changed row, and a search a pair of it; a row
//! that comes between others moves a few neighbours by a shift.

mod matching;
mod options;
mod output;
mod still;

use std::sync::Arc;

use arrow_array::UInt64Array;
use column::{Chunk, ColumnSource, FlatColumn};
use graph::{Moment, Step};
use rowset::RowSet;

use self::matching::Matching;
pub(super) use self::matching::ask_for_pairs;
use self::options::check;
pub(super) use self::output::Output;
use super::on::{On, Side};
use super::pairs::{LeadRow, PairList, PairShifts, entries};
use super::side::{JoinKeys, SideChange};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::order::Edits;
use crate::keys::order::entry::Entry;
use crate::keys::ordered::{OrderedRows, Still};
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
    output: Arc<Output>,
    options: EquiOptions,
}

impl EquiJoin {
    /// Checks names and types of the keys, and the names of the result.
    pub fn new(operation: &str, left: &Table, right: &Table, options: EquiOptions) -> Result<EquiJoin, Error> {
        let crossed = options.how == How::Cross;
        if options.on.is_empty() != crossed {
            let message = if crossed {
                "a cross join has every pair of rows, and takes no key columns"
            } else {
                "at least one key column is needed (on=); how=\"cross\" joins without keys"
            };
            return Err(Error::schema(operation, message));
        }
        if crossed && options.validate != Validate::ManyToMany {
            return Err(Error::invalid(operation, "a cross join has no keys whose rows validate= could count"));
        }
        let on = On::new(operation, left, right, &options.on)?;
        let output = Output::new(operation, left, right, &on, &options)?;
        let request = Request::new(operation, &Asked::Join(&options)).with_text(On::text(left, right, &options.on));
        Ok(EquiJoin { request, on: Arc::new(on), output: Arc::new(output), options })
    }

    /// What is kept of the contracts of the leading table.
    fn attributes(&self, lead: Side, table: &Table, other: &Table) -> Attributes {
        if self.options.how == How::Full {
            return Attributes { flat: !table.is_live() && !other.is_live(), ..Attributes::default() };
        }
        self.output.attributes(lead, table, other)
    }

    /// The keys, with no row in them. The leading rows of a key are needed when rows of the other side change, to judge how
    /// many there are, and to know which rows of the other side they leave alone.
    fn keys(&self, lead: Side, other_is_live: bool, live: bool) -> Matching {
        let how = self.options.how;
        let stored = other_is_live || self.options.validate != Validate::ManyToMany || how == How::Full;
        let stores = |side| live && (stored || side != lead);
        Matching {
            keys: JoinKeys::new(&self.on, self.options.nulls_equal, stores(Side::Left), stores(Side::Right)),
            lead,
            alone: match how {
                How::Inner | How::Cross => [false, false],
                How::Left | How::Right => [true, false],
                How::Full => [true, true],
            },
        }
    }
}

/// The two of a left and a right one: that of the leading side, and that of the other.
fn led<T>(lead: Side, both: &[T]) -> Result<(&T, &T), Error> {
    match (both, lead) {
        ([left, right], Side::Left) => Ok((left, right)),
        ([left, right], Side::Right) => Ok((right, left)),
        _ => Err(Error::internal("join", "a join has two inputs")),
    }
}

impl Operation for EquiJoin {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let lead = if self.options.how == How::Right { Side::Right } else { Side::Left };
        let (first, other) = led(lead, inputs)?;
        let live = first.table.is_live() || other.table.is_live();
        let attributes = self.attributes(lead, &first.table, &other.table);
        let schema = self.output.schema();
        let mut matching = self.keys(lead, other.table.is_live(), live);
        let (validate, name) = (self.options.validate, &self.request.name);
        if !live {
            let [left, right] = inputs else { return Err(Error::internal("join", "a join has two inputs")) };
            let [own, others] = matching.of_still(&left.view, &right.view, validate, name)?;
            let rows = Arc::new(LiveRows::new(RowSet::flat(own.len() as u64), at));
            let flat = |rows: Vec<u64>| {
                let cells: Chunk = Arc::new(UInt64Array::from(rows));
                FlatColumn::new(vec![cells]).map(|column| Arc::new(column) as Arc<dyn ColumnSource>)
            };
            let columns = self.output.columns(lead, inputs, [flat(own)?, flat(others)?])?;
            let parts = Parts { rows, columns, schema, attributes };
            return Ok(Start { parts, live: Box::new(Still), owned: Vec::new() });
        }
        // A row has an entry, with room around it, and two cells.
        let pairs = matching.start(&first.view, &other.view, 160)?;
        let slots: Vec<u32> = (0..matching.keys.slots() as u32).collect();
        check(&matching.keys, &slots, validate, name)?;
        let counters =
            inputs.iter().find_map(|input| input.table.graph()).map(crate::observe::storage).unwrap_or_default();
        let pairs = OrderedRows::start(&entries(pairs), at, &counters)?;
        let columns = self.output.columns(lead, inputs, [pairs.index(0), pairs.index(1)])?;
        let parts = Parts { rows: pairs.rows().clone(), columns, schema, attributes };
        let owned = pairs.owned();
        let live =
            EquiLive { operation: self.request.name.clone(), matching, validate, output: self.output.clone(), pairs };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

struct EquiLive {
    operation: String,
    matching: Matching,
    validate: Validate,
    output: Arc<Output>,
    pairs: OrderedRows<LeadRow>,
}

/// A step of both sides: the leading one, and the other.
struct Sides {
    own: SideChange,
    other: SideChange,
    /// Slots whose leading rows stop, or begin, to stand alone, as the first row of the other side comes or the last leaves.
    own_turned: Vec<u32>,
    /// Slots whose rows of the other side do, as leading rows come or leave.
    other_turned: Vec<u32>,
}

impl Live for EquiLive {
    fn entries(&self) -> u64 {
        (self.matching.keys.len() + self.pairs.len()) as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let (lead, second) = (self.matching.lead, self.matching.lead.other());
        let (first_change, second_change) = led(lead, inputs)?;
        // The order matters. The pairs that go, and those whose rows move, are listed while both sides are as they were
        // before the step, those that come and those that stay when both are as they are after it.
        let own = self.matching.keys.judge(lead, first_change)?;
        let other = self.matching.keys.judge(second, second_change)?;
        let own_turned = self.matching.without(second, &other.fresh_found.slots);
        let other_turned = self.matching.without(lead, &own.fresh_found.slots);
        let mut sides = Sides { own, other, own_turned, other_turned };
        let removed = self.removed(&sides)?;
        let moved = self.moved(&sides)?;
        let shifts =
            PairShifts { lead: first_change.update().shifts.clone(), other: second_change.update().shifts.clone() };
        self.matching.keys.take(second, &sides.other, &shifts.other);
        self.matching.keys.take(lead, &sides.own, &shifts.lead);
        sides.own_turned = self.matching.without(second, &sides.other.gone_found.slots);
        sides.other_turned = self.matching.without(lead, &sides.own.gone_found.slots);
        let added = self.added(&sides)?;
        let (kept, columns) = self.kept(first_change, second_change, &sides)?;
        let touched = self.matching.keys.take_touched();
        check(&self.matching.keys, &touched, self.validate, &self.operation)?;
        self.matching.keys.free(&touched, |_| true);
        let edits = Edits { removed, changed: Vec::new(), added, shifts: &shifts, moved };
        self.pairs.apply(step, edits, &kept, &columns)
    }
}

/// Whether a slot is one of these, which ascend.
fn is_among(slots: &[u32], slot: u32) -> bool {
    slots.binary_search(&slot).is_ok()
}

impl EquiLive {
    /// The pairs that go.
    fn removed(&self, sides: &Sides) -> Result<Vec<Entry<LeadRow>>, Error> {
        let Sides { own, other, own_turned, other_turned } = sides;
        let (matching, mut pairs) = (&self.matching, PairList::default());
        let (lead, second) = (matching.lead, matching.lead.other());
        matching.of_lead(
            &own.gone,
            &own.gone_found,
            &RowSet::new(),
            |slot| matching.has_none(second, slot),
            &mut pairs,
        );
        matching.of_other(&other.gone_found, &own.gone, &mut pairs);
        matching.of_slots(lead, own_turned, &own.gone, &mut pairs);
        matching.alone(second, &other.gone, &other.gone_found, |slot| matching.has_none(lead, slot), &mut pairs);
        matching.of_slots(second, other_turned, &other.gone, &mut pairs);
        pairs.finish().map(entries)
    }

    /// The pairs that stay and whose rows have other row keys now, as they were; none if they are many.
    fn moved(&self, sides: &Sides) -> Result<Option<Vec<Entry<LeadRow>>>, Error> {
        let Sides { own, other, own_turned, other_turned } = sides;
        if own.moving.len() + other.moving.len() > self.pairs.len() as u64 / SORT_SWEEP.rows() {
            return Ok(None);
        }
        let (matching, mut pairs) = (&self.matching, PairList::default());
        let (lead, second) = (matching.lead, matching.lead.other());
        let stays_alone = |slot| matching.has_none(second, slot) && !is_among(own_turned, slot);
        matching.of_lead(&own.moving, &own.moving_found, &other.gone, stays_alone, &mut pairs);
        matching.of_other(&other.moving_found, &(&own.gone | &own.moving), &mut pairs);
        let stays_alone = |slot| matching.has_none(lead, slot) && !is_among(other_turned, slot);
        matching.alone(second, &other.moving, &other.moving_found, stays_alone, &mut pairs);
        pairs.finish().map(|pairs| Some(entries(pairs)))
    }

    /// The pairs that come.
    fn added(&self, sides: &Sides) -> Result<Vec<Entry<LeadRow>>, Error> {
        let Sides { own, other, own_turned, other_turned } = sides;
        let (matching, mut pairs) = (&self.matching, PairList::default());
        let (lead, second) = (matching.lead, matching.lead.other());
        let is_alone = |slot| matching.has_none(second, slot);
        matching.of_lead(&own.fresh, &own.fresh_found, &RowSet::new(), is_alone, &mut pairs);
        matching.of_other(&other.fresh_found, &own.fresh, &mut pairs);
        matching.of_slots(lead, own_turned, &own.fresh, &mut pairs);
        matching.alone(second, &other.fresh, &other.fresh_found, |slot| matching.has_none(lead, slot), &mut pairs);
        matching.of_slots(second, other_turned, &other.fresh, &mut pairs);
        pairs.finish().map(entries)
    }

    /// The pairs that stay and have modified cells, and the columns of these.
    fn kept(&self, first: &Change, second: &Change, sides: &Sides) -> Result<(Vec<Entry<LeadRow>>, ColumnSet), Error> {
        let Sides { own, other, own_turned, other_turned } = sides;
        let (matching, mut kept, mut columns) = (&self.matching, Vec::new(), ColumnSet::new());
        let (lead, looked_up) = (matching.lead, matching.lead.other());
        let changed = self.output.changed(lead, &first.update().columns);
        if !changed.is_empty() && !own.kept.is_empty() {
            let mut pairs = PairList::default();
            let found = matching.keys.find(lead, first.now(), &own.kept)?;
            let stays_alone = |slot| matching.has_none(looked_up, slot) && !is_among(own_turned, slot);
            matching.of_lead(&own.kept, &found, &other.fresh, stays_alone, &mut pairs);
            kept = pairs.finish()?;
            changed.iter().filter(|_| !kept.is_empty()).for_each(|column| columns.insert(column));
        }
        let changed = self.output.changed(looked_up, &second.update().columns);
        if !changed.is_empty() && !other.kept.is_empty() {
            let mut pairs = PairList::default();
            let found = matching.keys.find(looked_up, second.now(), &other.kept)?;
            matching.of_other(&found, &own.fresh, &mut pairs);
            let stays_alone = |slot| matching.has_none(lead, slot) && !is_among(other_turned, slot);
            matching.alone(looked_up, &other.kept, &found, stays_alone, &mut pairs);
            let pairs = pairs.finish()?;
            changed.iter().filter(|_| !pairs.is_empty()).for_each(|column| columns.insert(column));
            kept.extend(pairs);
            kept.sort_unstable();
            kept.dedup();
        }
        Ok((entries(kept), columns))
    }
}

#[cfg(test)]
mod tests;
