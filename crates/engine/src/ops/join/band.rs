//! Pairs of rows of which one stands within the bounds of the other: what `join_where` makes where its predicates say so.
//!
//!   left   0 A 10..20    1 A 15..30        right  0 A 12    1 A 18        out, lo <= x < hi    0 0    0 1    1 1
//!   right  ~ 0 A 25                                                        out  - 0 0    + 1 0
//!
//! The rows of one side stand in the order of their stamps, in groups of equal keys; the others look from one stamp to another.
//! The pairs have rows of their own, in the order of left rows and then of right ones, as those of `join`. Cost of an update: a
//! search a changed row, and one a pair of it; a pair that goes and comes back keeps its row.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::UInt64Array;
use column::{Chunk, ColumnSource, FlatColumn};
use graph::{Moment, Step};
use rowset::{Before, RowSet};

use super::equi::{Output, ask_for_pairs};
use super::on::{On, Side};
use super::pairs::{LeadRow, Pair, PairList, PairShifts, entries};
use super::range::{Place, RangeKeys, Reading, Sides, Standing, sweep};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::intervals::Interval;
use crate::keys::order::Edits;
use crate::keys::ordered::{OrderedRows, Still};
use crate::ops::asked::Asked;
use crate::plan::spec::{BandOptions, EquiOptions, How, Validate};
use crate::sizes::{RANGE_PAIRS, SORT_SWEEP};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::{ColumnSet, TableUpdate};

/// All pairs of rows with equal keys, of which one stands within the bounds of the other.
pub struct BandJoin {
    request: Request,
    keys: Arc<RangeKeys>,
    output: Arc<Output>,
}

impl BandJoin {
    /// Checks names and types.
    pub fn new(operation: &str, left: &Table, right: &Table, options: &BandOptions) -> Result<BandJoin, Error> {
        let BandOptions { range, looks_left, suffix } = options;
        let side = if *looks_left { Side::Left } else { Side::Right };
        let keys = RangeKeys::new(operation, left, right, side, range)?.of_pairs();
        let equi = EquiOptions {
            on: range.by.clone(),
            how: How::Inner,
            suffix: suffix.clone(),
            nulls_equal: false,
            validate: Validate::ManyToMany,
            coalesce: false,
        };
        let output = Output::new(operation, left, right, &keys.by, &equi)?;
        let by = if range.by.is_empty() { String::new() } else { format!("{}, ", On::text(left, right, &range.by)) };
        let request = Request::new(operation, &Asked::Band(options)).with_text(format!("{by}{}", range.text()));
        Ok(BandJoin { request, keys: Arc::new(keys), output: Arc::new(output) })
    }
}

/// Bytes of a pair that is kept: an entry, with room around it, and two cells.
const LIVE_PAIR: u64 = 160;
/// Bytes of a pair of two tables that stay as they are.
const STILL_PAIR: u64 = 32;

impl Operation for BandJoin {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [left, right] = inputs else { return Err(Error::internal("join", "a join has two inputs")) };
        let (looking, standing) = if self.keys.ranged == Side::Left { (left, right) } else { (right, left) };
        let live = left.table.is_live() || right.table.is_live();
        limits::ask_rows(standing.view.rows().len(), 16)?;
        limits::ask_rows(looking.view.rows().len(), if standing.table.is_live() { 80 } else { 24 })?;
        let mut sides = Sides::start(&self.keys, &standing.view, standing.table.is_live())?;
        let rows = looking.view.rows();
        let placed = sides.enter(&looking.view, rows)?;
        let keys = rows.to_vec();
        let mut readings = Vec::with_capacity(placed.len());
        for (list, place) in (0u32..).zip(&placed) {
            if let Place::Range { slot, from, to } = *place {
                readings.push(Reading { group: slot, from, to, list });
            }
        }
        readings.sort_unstable();
        if let Some(ranges) = &mut sides.ranges {
            let range = |Reading { group, from, to, list }: &Reading| {
                (*group, Interval { from: *from, to: *to, key: keys[*list as usize] })
            };
            ranges.fill(&readings.iter().map(range).collect::<Vec<_>>());
        }
        let band = Band { sides };
        let mut pairs = band.all(&keys, &readings, if live { LIVE_PAIR } else { STILL_PAIR }, &self.request.name)?;
        pairs.sort_unstable();
        let attributes = self.output.attributes(Side::Left, &left.table, &right.table);
        let schema = self.output.schema();
        if !live {
            let rows = Arc::new(LiveRows::new(RowSet::flat(pairs.len() as u64), at));
            let flat = |rows: Vec<u64>| {
                let cells: Chunk = Arc::new(UInt64Array::from(rows));
                FlatColumn::new(vec![cells]).map(|column| Arc::new(column) as Arc<dyn ColumnSource>)
            };
            let (own, others): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
            let columns = self.output.columns(Side::Left, inputs, [flat(own)?, flat(others)?])?;
            let parts = Parts { rows, columns, schema, attributes };
            return Ok(Start { parts, live: Box::new(Still), owned: Vec::new() });
        }
        let counters =
            inputs.iter().find_map(|input| input.table.graph()).map(crate::observe::storage).unwrap_or_default();
        let pairs = OrderedRows::start(&entries(pairs), at, &counters)?;
        let columns = self.output.columns(Side::Left, inputs, [pairs.index(0), pairs.index(1)])?;
        let parts = Parts { rows: pairs.rows().clone(), columns, schema, attributes };
        let owned = pairs.owned();
        let mut live = BandLive { band, output: self.output.clone(), pairs };
        live.band.sides.free_unused();
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

/// Both sides, and which pairs they make.
struct Band {
    sides: Sides,
}

impl Band {
    /// A pair of a row that looks and one that stands.
    fn pair(&self, looking: u64, standing: u64) -> Pair {
        if self.sides.how.ranged == Side::Left { (looking, standing) } else { (standing, looking) }
    }

    /// The pairs of these rows, which look at these ranges, in any order. How many there are is asked for before the first is made.
    fn all(&self, keys: &[u64], readings: &[Reading], bytes: u64, operation: &str) -> Result<Vec<Pair>, Error> {
        let Sides { lines, ends, .. } = &self.sides;
        let mut count = 0_u128;
        sweep(lines, *ends, readings, RANGE_PAIRS.get(), |_, spans| {
            count += spans.iter().map(|(_, span)| span.len() as u128).sum::<u128>();
            Ok(())
        })?;
        ask_for_pairs(operation, count, bytes)?;
        let mut pairs = PairList::with_room(count as u64)?;
        sweep(lines, *ends, readings, RANGE_PAIRS.get(), |rows, spans| {
            for (list, span) in spans {
                let looking = keys[*list as usize];
                rows[span.clone()].iter().for_each(|standing| pairs.push(self.pair(looking, *standing)));
            }
            Ok(())
        })?;
        pairs.finish()
    }

    /// The pairs of rows that look at these places, without those of rows in `skip`.
    fn of_looking(&self, rows: impl Iterator<Item = (u64, Place)>, skip: &RowSet, pairs: &mut PairList) {
        for (key, place) in rows {
            let Place::Range { slot, from, to } = place else { continue };
            if pairs.is_full() {
                return;
            }
            let line = &self.sides.lines[slot];
            let (start, end) = self.sides.ends.places(line, (from, to));
            let inside = line.from(line.lower(start)).take_while(|(stamp, other, ())| (*stamp, *other) < end);
            for (_, other, ()) in inside.filter(|(_, other, ())| !skip.contains(*other)) {
                pairs.push(self.pair(key, other));
            }
        }
    }

    /// The pairs of rows that stand at these places, without those of rows in `skip`.
    fn of_standing(&self, rows: &[Standing], skip: &RowSet, pairs: &mut PairList) {
        let Some(ranges) = &self.sides.ranges else { return };
        for (slot, stamp, key) in rows {
            if pairs.is_full() {
                return;
            }
            ranges.holding(*slot, &[*stamp], |node, _| {
                let looking = ranges.get(node).key;
                if !skip.contains(looking) {
                    pairs.push(self.pair(looking, *key));
                }
            });
        }
    }
}

struct BandLive {
    band: Band,
    output: Arc<Output>,
    pairs: OrderedRows<LeadRow>,
}

/// What a step does to the rows that look: which go, move, come and stay with other cells, and where they look.
struct Looking {
    gone: Before,
    gone_at: Vec<Place>,
    moving: Before,
    moving_at: Vec<Place>,
    fresh: RowSet,
    fresh_at: Vec<Place>,
    kept: RowSet,
}

/// What a step does to the rows that stand.
struct Stood {
    gone: Before,
    gone_at: Vec<Standing>,
    moving: Before,
    moving_at: Vec<Standing>,
    fresh: RowSet,
    fresh_at: Vec<Standing>,
    kept: RowSet,
}

impl Live for BandLive {
    fn entries(&self) -> u64 {
        (self.band.sides.keys.len() + self.pairs.len()) as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let [left, right] = inputs else { return Err(Error::internal("join", "a join has two inputs")) };
        let ranged = self.band.sides.how.ranged;
        let (first, second) = if ranged == Side::Left { (left, right) } else { (right, left) };
        // The order matters. The pairs that go, and those whose rows move, are listed while both sides are as they were before
        // the step, those that come and those that stay when both are as they are after it.
        let looking = self.looking(first)?;
        let stood = self.stood(second)?;
        let removed = self.removed(&looking, &stood)?;
        let mut moved = self.moved(&looking, &stood)?;
        self.take(&looking, &stood, first, second);
        let added = self.added(&looking, &stood)?;
        let (mut kept, mut columns) = self.kept(&looking, &stood, [first, second])?;
        self.band.sides.free_unused();
        let shifts = PairShifts { lead: left.update().shifts.clone(), other: right.update().shifts.clone() };
        let survives =
            |(one, other): &Pair| !left.update().removed.0.contains(*one) && !right.update().removed.0.contains(*other);
        let now = |(one, other): &Pair| (shifts.lead.forward_key(*one), shifts.other.forward_key(*other));
        let added: HashSet<Pair> = added.into_iter().collect();
        // A pair that goes and comes back has a row that changed.
        let (back, gone): (Vec<Pair>, Vec<Pair>) =
            removed.into_iter().partition(|pair| survives(pair) && added.contains(&now(pair)));
        let stayed: HashSet<Pair> = back.iter().map(now).collect();
        let added: Vec<Pair> = added.into_iter().filter(|pair| !stayed.contains(pair)).collect();
        if !stayed.is_empty() {
            for (side, change) in [(Side::Left, left), (Side::Right, right)] {
                self.output.changed(side, &change.update().columns).iter().for_each(|column| columns.insert(column));
            }
            kept.extend(stayed);
            if let Some(moved) = &mut moved {
                moved.extend(back.into_iter().filter(|pair| now(pair) != *pair));
            }
        }
        let edits = Edits {
            removed: entries(gone),
            changed: Vec::new(),
            added: entries(added),
            shifts: &shifts,
            moved: moved.map(entries),
        };
        self.pairs.apply(step, edits, &entries(kept), &columns)
    }
}

impl BandLive {
    /// What a step does to the rows that look. Nobody leaves, moves or enters yet.
    fn looking(&mut self, change: &Change) -> Result<Looking, Error> {
        let (update, sides) = (change.update(), &mut self.band.sides);
        let rekeyed = !update.modified.is_empty() && update.columns.contains_any(&sides.looking_columns());
        let mut elsewhere = RowSet::new();
        if rekeyed {
            let were = sides.looked(change.before(), &update.shifts.back(&update.modified).0)?;
            let are = sides.enter(change.now(), &update.modified)?;
            let differ = update.modified.iter().zip(were.iter().zip(&are)).filter(|(_, (were, are))| were != are);
            elsewhere = differ.map(|(key, _)| key).collect();
        }
        let gone = &update.removed | &update.shifts.back(&elsewhere);
        let moving = change.rekeyed_rows(&gone);
        let fresh = &update.added | &elsewhere;
        Ok(Looking {
            gone_at: sides.looked(change.before(), &gone.0)?,
            moving_at: sides.looked(change.before(), &moving.0)?,
            fresh_at: if fresh.is_empty() { Vec::new() } else { sides.enter(change.now(), &fresh)? },
            kept: &update.modified - &elsewhere,
            gone,
            moving,
            fresh,
        })
    }

    /// What a step does to the rows that stand.
    fn stood(&mut self, change: &Change) -> Result<Stood, Error> {
        let (update, sides) = (change.update(), &mut self.band.sides);
        let mut elsewhere = RowSet::new();
        if !update.modified.is_empty() && update.columns.contains_any(&sides.standing_columns()) {
            let were = sides.standing(change.before(), &update.shifts.back(&update.modified).0, false)?;
            let are = sides.standing(change.now(), &update.modified, true)?;
            let forward = |(slot, stamp, key): Standing| (slot, stamp, update.shifts.forward_key(key));
            let were: HashSet<Standing> = were.into_iter().map(forward).collect();
            let are: HashSet<Standing> = are.into_iter().collect();
            elsewhere = RowSet::from_keys(were.symmetric_difference(&are).map(|(.., key)| *key).collect());
        }
        let gone = &update.removed | &update.shifts.back(&elsewhere);
        let moving = change.rekeyed_rows(&gone);
        let fresh = &update.added | &elsewhere;
        Ok(Stood {
            gone_at: sides.standing(change.before(), &gone.0, false)?,
            moving_at: sides.standing(change.before(), &moving.0, false)?,
            fresh_at: sides.standing(change.now(), &fresh, true)?,
            kept: &update.modified - &elsewhere,
            gone,
            moving,
            fresh,
        })
    }

    /// The pairs that go.
    fn removed(&self, looking: &Looking, stood: &Stood) -> Result<Vec<Pair>, Error> {
        let mut pairs = PairList::default();
        let gone = looking.gone.0.iter().zip(looking.gone_at.iter().copied());
        self.band.of_looking(gone, &RowSet::new(), &mut pairs);
        self.band.of_standing(&stood.gone_at, &looking.gone.0, &mut pairs);
        pairs.finish()
    }

    /// The pairs that stay and whose rows have other row keys now, as they were; none if they are many.
    fn moved(&self, looking: &Looking, stood: &Stood) -> Result<Option<Vec<Pair>>, Error> {
        if looking.moving.0.len() + stood.moving.0.len() > self.pairs.len() as u64 / SORT_SWEEP.rows() {
            return Ok(None);
        }
        let mut pairs = PairList::default();
        let moving = looking.moving.0.iter().zip(looking.moving_at.iter().copied());
        self.band.of_looking(moving, &stood.gone.0, &mut pairs);
        self.band.of_standing(&stood.moving_at, &(&looking.gone.0 | &looking.moving.0), &mut pairs);
        pairs.finish().map(Some)
    }

    /// Both sides become what they are after the step.
    fn take(&mut self, looking: &Looking, stood: &Stood, first: &Change, second: &Change) {
        let sides = &mut self.band.sides;
        sides.leave(&stood.gone_at);
        sides.shift(&stood.moving_at, &second.update().shifts);
        sides.stand(&stood.fresh_at);
        let Some(ranges) = &mut sides.ranges else { return };
        let ranged = |rows: &RowSet, at: &[Place]| -> Vec<_> {
            rows.iter().zip(at).filter_map(|(key, place)| place.of_row(key)).collect()
        };
        for (slot, range) in ranged(&looking.gone.0, &looking.gone_at) {
            ranges.remove(slot, range);
        }
        let shifts = &first.update().shifts;
        ranges.rekey(&ranged(&looking.moving.0, &looking.moving_at), |key| shifts.forward_key(key));
        for (slot, range) in ranged(&looking.fresh, &looking.fresh_at) {
            ranges.insert(slot, range);
        }
    }

    /// The pairs that come.
    fn added(&self, looking: &Looking, stood: &Stood) -> Result<Vec<Pair>, Error> {
        let mut pairs = PairList::default();
        let fresh = looking.fresh.iter().zip(looking.fresh_at.iter().copied());
        self.band.of_looking(fresh, &RowSet::new(), &mut pairs);
        self.band.of_standing(&stood.fresh_at, &looking.fresh, &mut pairs);
        pairs.finish()
    }

    /// The pairs that stay, whose rows stay where they are and have modified cells, and the columns of these.
    fn kept(&mut self, looking: &Looking, stood: &Stood, sides: [&Change; 2]) -> Result<(Vec<Pair>, ColumnSet), Error> {
        let ranged = self.band.sides.how.ranged;
        let (mut pairs, mut columns) = (PairList::default(), ColumnSet::new());
        let changed = self.output.changed(ranged, &sides[0].update().columns);
        if !changed.is_empty() && !looking.kept.is_empty() {
            let placed = self.band.sides.look(sides[0].now(), &looking.kept)?;
            self.band.of_looking(looking.kept.iter().zip(placed), &stood.fresh, &mut pairs);
            changed.iter().for_each(|column| columns.insert(column));
        }
        let changed = self.output.changed(ranged.other(), &sides[1].update().columns);
        if !changed.is_empty() && !stood.kept.is_empty() {
            let rows = self.band.sides.standing(sides[1].now(), &stood.kept, false)?;
            self.band.of_standing(&rows, &looking.fresh, &mut pairs);
            changed.iter().for_each(|column| columns.insert(column));
        }
        let mut pairs = pairs.finish()?;
        pairs.sort_unstable();
        pairs.dedup();
        Ok((pairs, columns))
    }
}

#[cfg(test)]
mod tests {
    use model::{Compare, Comparison, ModelExpr, ops};

    use super::*;
    use crate::driver::attach::attach;
    use crate::plan::spec::{Bound, RangeEnd, RangeOptions};
    use crate::testing::values::Style;
    use crate::testing::{check_law_of_two, table_of};

    /// A case: whether left rows look, the keys, the column that is looked for, both ends, and what they say as predicates.
    type Case<'a> =
        (bool, bool, &'a str, Option<(&'a str, Bound)>, Option<(&'a str, Bound)>, &'a [(&'a str, Comparison, &'a str)]);

    /// Bounds of every kind, of either side, beside the pairs that a walk finds.
    #[test]
    fn law() {
        use Bound::{Closed, Open};
        use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
        let cases: &[Case<'_>] = &[
            (true, false, "x", Some(("a", Closed)), Some(("b", Open)), &[("a", LessOrEqual, "x"), ("x", Less, "b")]),
            (
                true,
                true,
                "x",
                Some(("a", Open)),
                Some(("b", Closed)),
                &[("x", Greater, "a"), ("b", GreaterOrEqual, "x")],
            ),
            (false, true, "a", Some(("x", Closed)), Some(("y", Open)), &[("x", LessOrEqual, "a"), ("y", Greater, "a")]),
            (true, true, "x", Some(("a", Open)), None, &[("a", Less, "x")]),
            (false, false, "b", None, Some(("y", Closed)), &[("b", LessOrEqual, "y")]),
        ];
        let crowded = &[Style::Skewed, Style::Pool][..];
        let of = |kind: &str, [k, a, b]: [&str; 3]| {
            table_of(&format!("{k}:str {a}:{kind} {b}:{kind}")).styled(a, crowded).styled(b, crowded).rows(9)
        };
        for kind in ["int", "float", "time"] {
            for (looks_left, keyed, on, from, to, tests) in cases {
                let end = |end: &(&str, Bound)| RangeEnd { column: end.0.to_owned(), bound: end.1 };
                let by = if *keyed { vec![("k".to_owned(), "j".to_owned())] } else { Vec::new() };
                let range =
                    RangeOptions { by, on: (*on).to_owned(), from: from.as_ref().map(end), to: to.as_ref().map(end) };
                let options = BandOptions { range, looks_left: *looks_left, suffix: "_right".to_owned() };
                let compare = |one: &str, is: Comparison, other: &str| {
                    let [one, other] = [one, other].map(|name| Box::new(ModelExpr::column(name)));
                    ModelExpr::Compare(is, one, other)
                };
                let mut wanted: Vec<ModelExpr> =
                    tests.iter().map(|(one, is, other)| compare(one, *is, other)).collect();
                wanted.extend(keyed.then(|| compare("k", Comparison::Equal, "j")));
                check_law_of_two(
                    (&of(kind, ["k", "a", "b"]), &of(kind, ["j", "x", "y"])),
                    12,
                    Compare::ByPosition,
                    |left, right| {
                        let both = [left.clone(), right.clone()];
                        attach(&BandJoin::new("join_where", left, right, &options)?, &both)
                    },
                    |left, right| {
                        let all = ops::Join { how: ops::How::Cross, ..ops::Join::new(&[]) };
                        Ok(ops::filter(&ops::join(left, right, &all)?, &wanted))
                    },
                );
            }
        }
    }
}
