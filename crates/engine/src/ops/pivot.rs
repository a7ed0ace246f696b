//! `pivot`: one row a key, with a column for each value that is listed: the cells of a table that has one row for each key
//! and value.
//!
//!   in    + 0 A x 4    + 1 B y 2    + 2 A y 3     listed x, y; nothing is 0
//!   out   + 0 A 4 3    + 1 B 0 2
//!   in    - 2                                     out   ~ 0 A 4 0    K {y}
//!   in    - 1                                     out   - 1: a key without a row is forgotten
//!   in    + 3 B z 5                               out   + 2 B 0 0: a value that is not listed has no column
//!
//! The input is an aggregation by the keys and the values, which gives each cell in one pass, however many columns there
//! are. Cost of an update: two probes for each row of the input that changed, and its cells; a new key costs a row of the
//! result.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, BooleanArray, Scalar};
use arrow_schema::{DataType, Field, Schema};
use column::keys::{KeyTable, NO_SLOT};
use column::types::can_be_key;
use column::{Chunk, NO_ROW};
use formula::hidden::renamed;
use formula::values::Values;
use graph::{Moment, Step};
use rowset::{Before, RowSet};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::asked::Asked;
use crate::ops::join::on::cells_as;
use crate::plan::spec::PivotOptions;
use crate::row_errors::RowErrors;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::store::{Store, Writes};
use crate::table::update::TableUpdate;
use crate::table::view::View;
use crate::threads::parallel;

/// One row a key, with a column for each listed value.
pub struct Pivot {
    request: Request,
    spec: Arc<Spec>,
    /// The listed values, and for each what column of an aggregate it is.
    listed: Listed,
    names: Vec<String>,
}

/// What the cells of the result are made of.
struct Spec {
    /// The columns of keys.
    index: Vec<usize>,
    /// What tells the cells of a key apart: columns, and the types of the listed values.
    on: Vec<(usize, DataType)>,
    /// The columns of aggregates. Each is as many columns of the result as there are listed values.
    aggregates: Vec<usize>,
    /// For each aggregate what it makes of no row: one cell.
    empty: Vec<Chunk>,
    /// How many values are listed.
    listed: usize,
}

/// The listed values.
#[derive(Clone)]
struct Listed(Arc<KeyTable>, Arc<[u32]>, usize);

/// The code of a value that is not listed.
const NOT_LISTED: u32 = u32::MAX;

/// Where a row of the input stands in the result: the slot of its key, and the code of its value.
type Place = (u32, u32);

impl Pivot {
    /// `cells`: one row for each key and value, whose aggregates are its last columns; `values`: for each column of `on` a
    /// chunk of those that become columns. `empty`: what each aggregate makes of no row.
    pub(crate) fn new(
        operation: &str,
        cells: &Table,
        how: &PivotOptions,
        values: &[Values],
        empty: Vec<Chunk>,
    ) -> Result<Pivot, Error> {
        let PivotOptions { index, on, names } = how;
        let listed = values.first().map_or(0, Values::len);
        if values.len() != on.len() || values.iter().any(|of| of.len() != listed) || names.len() != listed * empty.len()
        {
            return Err(Error::schema(operation, "values, columns and names are not as many as one another"));
        }
        if listed == 0 {
            return Err(Error::schema(operation, "no value becomes a column"));
        }
        let columns = index.iter().map(|key| cells.column_index(operation, key)).collect::<Result<Vec<_>, _>>()?;
        let mut seen: HashMap<&str, ()> = index.iter().map(|name| (name.as_str(), ())).collect();
        if let Some(twice) = names.iter().find(|name| seen.insert(name, ()).is_some()) {
            return Err(Error::Duplicate { operation: operation.into(), name: twice.clone() });
        }
        let mut turned = Vec::with_capacity(on.len());
        let mut chunks: Vec<Chunk> = Vec::with_capacity(on.len());
        for (name, values) in on.iter().zip(values) {
            let column = cells.column_index(operation, name)?;
            let data_type = match cells.column_type(column) {
                DataType::Dictionary(_, values) => column::types::canonical(values),
                other => other.clone(),
            };
            if !can_be_key(&data_type) {
                return Err(Error::unkeyable(operation, name, &data_type));
            }
            chunks.push(column::types::cast(values.array(), &data_type)?);
            turned.push((column, data_type));
        }
        let listed = Listed::new(operation, &chunks)?;
        let aggregates: Vec<usize> = (cells.width() - empty.len()..cells.width()).collect();
        let request = Request::new(operation, &Asked::Pivot { how, values }).with_text(on.join(", "));
        let spec = Spec { index: columns, on: turned, aggregates, empty, listed: listed.2 };
        Ok(Pivot { request, spec: Arc::new(spec), listed, names: names.to_vec() })
    }

    /// Where the rows that its cells are made of were passed over before it.
    pub(crate) fn reporting_to(mut self, row_errors: Option<&RowErrors>) -> Pivot {
        self.request.row_errors = row_errors.map(RowErrors::sibling);
        self
    }

    fn schema(&self, of: &Schema) -> Schema {
        let keys = self.spec.index.iter().map(|at| of.field(*at).clone().with_nullable(true));
        let made =
            self.names.iter().enumerate().map(|(at, name)| {
                renamed(of.field(self.spec.aggregates[at / self.spec.listed]), name).with_nullable(true)
            });
        Schema::new(keys.chain(made).collect::<Vec<Field>>())
    }
}

impl Listed {
    fn new(operation: &str, cells: &[Chunk]) -> Result<Listed, Error> {
        let (mut slots, mut created) = (Vec::new(), Vec::new());
        let mut keys = KeyTable::new(&cells.iter().map(|cells| cells.data_type().clone()).collect::<Vec<_>>());
        keys.insert(cells, &mut slots, &mut created)?;
        if created.len() < slots.len() {
            return Err(Error::invalid(operation, "a value that becomes a column is listed twice"));
        }
        let mut codes = vec![NOT_LISTED; keys.capacity_slots()];
        slots.iter().enumerate().for_each(|(code, slot)| codes[*slot as usize] = code as u32);
        Ok(Listed(Arc::new(keys), codes.into(), slots.len()))
    }

    /// The code of each value.
    fn codes(&self, cells: &[Chunk]) -> Vec<u32> {
        let mut slots = Vec::new();
        self.0.find(cells, &mut slots);
        let code = |slot: &mut u32| *slot = if *slot == NO_SLOT { NOT_LISTED } else { self.1[*slot as usize] };
        slots.iter_mut().for_each(code);
        slots
    }
}

impl Spec {
    fn values(&self, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        self.on.iter().map(|(column, data_type)| cells_as(view.read(*column, rows)?, data_type)).collect()
    }

    fn keys(&self, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        self.index.iter().map(|column| view.read(*column, rows)).collect()
    }

    /// The cells of an aggregate in these rows of the input; what it makes of nothing where there is none.
    fn cells(&self, aggregate: usize, view: &View, rows: &[u64]) -> Result<Chunk, Error> {
        let cells = view.column(self.aggregates[aggregate])?.take(rows)?;
        let empty = &self.empty[aggregate];
        if empty.is_null(0) || !rows.contains(&NO_ROW) {
            return Ok(cells);
        }
        let there = BooleanArray::from_iter(rows.iter().map(|row| Some(*row != NO_ROW)));
        Ok(arrow_select::zip::zip(&there, &cells, &Scalar::new(empty.clone()))?)
    }

    /// How many columns are made.
    fn made(&self) -> usize {
        self.aggregates.len() * self.listed
    }
}

impl Operation for Pivot {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let rows = view.rows();
        // Its slot and its code, and its place among the rows of its column.
        limits::ask_rows(rows.len(), 16)?;
        let mut state = PivotState {
            spec: self.spec.clone(),
            listed: self.listed.clone(),
            keys: KeyTable::new(&self.spec.index.iter().map(|at| table.column_type(*at).clone()).collect::<Vec<_>>()),
            counts: vec![0],
        };
        let (places, first) = state.enter(view, rows)?;
        let groups = if self.spec.index.is_empty() { 1 } else { first.len() };
        let mut cells: Vec<Chunk> = Vec::with_capacity(self.spec.index.len() + self.spec.made());
        for column in &self.spec.index {
            cells.push(view.column(*column)?.take(&first)?);
        }
        limits::ask_rows(groups as u64, 8 * self.spec.made() as u64)?;
        cells.extend(self.filled(view, &places, groups)?);
        let flat = RowSet::flat(groups as u64);
        let pieces: Vec<Vec<(RowSet, Chunk)>> = cells.into_iter().map(|cells| vec![(flat.clone(), cells)]).collect();
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let store = Store::filled(&self.schema(table.canonical()), at, &counters, flat, &pieces)?;
        let key = self.spec.index.iter().map(|at| table.schema().field(*at).name().clone()).collect();
        let parts = Parts {
            rows: store.rows().clone(),
            columns: store.columns().sources(),
            schema: Arc::new(self.schema(table.schema())),
            attributes: Attributes { key, ..Attributes::default() },
        };
        let owned = store.owned();
        let rows = (0..groups as u64).collect();
        let live = PivotLive { state, rows, next: groups as u64, store };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

impl Pivot {
    /// The cells of every column that is made, for so many keys whose slots are their places.
    fn filled(&self, view: &View, places: &[Place], groups: usize) -> Result<Vec<Chunk>, Error> {
        let listed = self.spec.listed;
        // The rows of each code, one code after the other.
        let mut starts = vec![0_usize; listed + 1];
        places.iter().filter(|(_, code)| *code != NOT_LISTED).for_each(|(_, code)| starts[*code as usize + 1] += 1);
        (0..listed).for_each(|code| starts[code + 1] += starts[code]);
        let (mut next, mut rows) = (starts.clone(), vec![(0_u32, 0_u64); starts[listed]]);
        for (row, (slot, code)) in view.rows().iter().zip(places) {
            if *code != NOT_LISTED {
                rows[next[*code as usize]] = (*slot, row);
                next[*code as usize] += 1;
            }
        }
        let made: Vec<usize> = (0..self.spec.made()).collect();
        parallel::try_map(made.len() > 1 && groups > 1, &made, |_, at| {
            let (aggregate, code) = (at / listed, at % listed);
            let mut of = vec![NO_ROW; groups];
            rows[starts[code]..starts[code + 1]].iter().for_each(|(slot, row)| of[*slot as usize] = *row);
            self.spec.cells(aggregate, view, &of)
        })
    }
}

/// Which keys there are.
struct PivotState {
    spec: Arc<Spec>,
    listed: Listed,
    keys: KeyTable,
    /// How many rows of the input each key has, by slot.
    counts: Vec<u32>,
}

impl PivotState {
    /// Enters rows of the input: where they stand, and the first row of each key that is new, in order.
    fn enter(&mut self, view: &View, rows: &RowSet) -> Result<(Vec<Place>, Vec<u64>), Error> {
        if rows.is_empty() {
            return Ok(Default::default());
        }
        let codes = self.listed.codes(&self.spec.values(view, rows)?);
        let (mut slots, mut created) = (vec![0; codes.len()], Vec::new());
        if !self.spec.index.is_empty() {
            self.keys.insert(&self.spec.keys(view, rows)?, &mut slots, &mut created)?;
            self.counts.resize(self.keys.capacity_slots(), 0);
        }
        slots.iter().for_each(|slot| self.counts[*slot as usize] += 1);
        let keys = rows.to_vec();
        let first = created.iter().map(|at| keys[*at as usize]).collect();
        Ok((slots.into_iter().zip(codes).collect(), first))
    }

    /// Where rows that are there stand.
    fn places(&self, view: &View, rows: &RowSet) -> Result<Vec<Place>, Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let codes = self.listed.codes(&self.spec.values(view, rows)?);
        let mut slots = vec![0; codes.len()];
        if !self.spec.index.is_empty() {
            self.keys.find(&self.spec.keys(view, rows)?, &mut slots);
        }
        if slots.contains(&NO_SLOT) {
            return Err(Error::internal("pivot", "a row that is present has a key of no row"));
        }
        Ok(slots.into_iter().zip(codes).collect())
    }
}

struct PivotLive {
    state: PivotState,
    /// The row of each key, by slot; `NO_ROW` if it has none.
    rows: Vec<u64>,
    next: u64,
    store: Store,
}

impl Live for PivotLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let update = change.update();
        let on: Vec<usize> = self.state.spec.on.iter().map(|(column, _)| *column).collect();
        let rekeyed = update.columns.contains_any(&self.state.spec.index) || update.columns.contains_any(&on);
        let rekeyed = rekeyed && !update.modified.is_empty();
        let (gone, _) = change.departing_rows(rekeyed);
        let came = if rekeyed { &update.added | &update.modified } else { update.added.clone() };
        let stayed = if rekeyed { RowSet::new() } else { update.modified.clone() };

        let left = self.state.places(change.before(), &gone.0)?;
        let changed = self.state.places(change.now(), &stayed)?;
        let (entered, _) = self.state.enter(change.now(), &came)?;
        left.iter().for_each(|(slot, _)| self.state.counts[*slot as usize] -= 1);
        self.rows.resize(self.state.counts.len().max(self.rows.len()), NO_ROW);

        // What each cell is made of now: what comes last counts.
        let mut touched: Vec<(u32, u32, u64)> = left.iter().map(|(slot, code)| (*code, *slot, NO_ROW)).collect();
        let with_rows = |places: &[Place], rows: &RowSet| {
            places.iter().zip(rows.iter()).map(|((slot, code), row)| (*code, *slot, row)).collect::<Vec<_>>()
        };
        touched.extend(with_rows(&changed, &stayed));
        touched.extend(with_rows(&entered, &came));
        touched.sort_by_key(|(code, slot, _)| (*code, *slot));
        let mut cells: Vec<(u32, u32, u64)> = Vec::with_capacity(touched.len());
        for cell in touched {
            match cells.last_mut() {
                Some(last) if (last.0, last.1) == (cell.0, cell.1) => *last = cell,
                _ => cells.push(cell),
            }
        }

        let removed = self.forget(left.iter().map(|(slot, _)| *slot));
        let mut fresh = Fresh::default();
        for ((slot, _), row) in entered.iter().zip(came.iter()) {
            if self.rows[*slot as usize] == NO_ROW {
                self.rows[*slot as usize] = self.next + fresh.first.len() as u64;
                fresh.first.push(row);
            }
        }
        fresh.from = self.next;
        self.next += fresh.first.len() as u64;
        let mut writes = Writes { removed, ..Writes::default() };
        self.cells(change.now(), step, &cells, &fresh, &mut writes)?;
        self.store.write(step, writes)
    }

    fn entries(&self) -> u64 {
        self.state.keys.len() as u64
    }
}

/// The keys that came in a step: their rows of the result follow one another.
#[derive(Default)]
struct Fresh {
    /// The row of the first one.
    from: u64,
    /// Of each a row of the input.
    first: Vec<u64>,
}

impl PivotLive {
    /// Frees those of these keys that have no row any more; returns the rows that they had.
    fn forget(&mut self, left: impl Iterator<Item = u32>) -> Before {
        if self.state.spec.index.is_empty() {
            return Before::default();
        }
        let mut gone = Vec::new();
        for slot in left {
            let row = self.rows[slot as usize];
            if self.state.counts[slot as usize] == 0 && row != NO_ROW {
                gone.push(row);
                self.rows[slot as usize] = NO_ROW;
                self.state.keys.free(slot);
            }
        }
        Before(RowSet::from_keys(gone))
    }

    /// Writes what each of these cells is made of now, in order of their codes and slots: those of new keys, and those of
    /// others that differ.
    fn cells(
        &self,
        now: &View,
        step: Step,
        cells: &[(u32, u32, u64)],
        fresh: &Fresh,
        writes: &mut Writes,
    ) -> Result<(), Error> {
        let spec = &self.state.spec;
        let mut of_code: Vec<&[(u32, u32, u64)]> = vec![&[]; spec.listed];
        for of in cells.chunk_by(|one, other| one.0 == other.0) {
            if let Some(known) = of_code.get_mut(of[0].0 as usize) {
                *known = of;
            }
        }
        let mut added = Vec::new();
        if !fresh.first.is_empty() {
            for column in &spec.index {
                added.push(now.column(*column)?.take(&fresh.first)?);
            }
        }
        let keys = spec.index.len();
        let made: Vec<usize> = (0..spec.made()).collect();
        let written = parallel::try_map(cells.len() > 1024, &made, |_, at| {
            let (aggregate, code) = (at / spec.listed, at % spec.listed);
            let mut new = vec![NO_ROW; fresh.first.len()];
            let mut known: Vec<(u64, u64)> = Vec::new();
            for (_, slot, row) in of_code[code] {
                match self.rows[*slot as usize] {
                    NO_ROW => {}
                    of if of >= fresh.from => new[(of - fresh.from) as usize] = *row,
                    of => known.push((of, *row)),
                }
            }
            let new = (!new.is_empty()).then(|| spec.cells(aggregate, now, &new)).transpose()?;
            if known.is_empty() {
                return Ok::<_, Error>((None, new));
            }
            known.sort_unstable();
            let (rows, from): (Vec<u64>, Vec<u64>) = known.into_iter().unzip();
            let given = spec.cells(aggregate, now, &from)?;
            Ok((self.store.differing(step, keys + at, &RowSet::from_sorted_keys(&rows), &given)?, new))
        })?;
        let (differing, new): (Vec<_>, Vec<_>) = written.into_iter().unzip();
        writes.differing((0..keys).map(|_| None).chain(differing));
        if !fresh.first.is_empty() {
            added.extend(new.into_iter().flatten());
            let to = fresh.from + fresh.first.len() as u64 - 1;
            writes.added.push((RowSet::range(fresh.from, to), added));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use formula::{Aggregate, Expr};
    use model::ops::{self, Aggregator};
    use model::{Compare, Value};

    use super::*;
    use crate::plan::{Op, apply};
    use crate::row_errors::OnError;
    use crate::testing::{Drawn, any_table, check_law, check_steps, still_graph};

    fn integers(values: &[Option<i64>]) -> Values {
        let cells: Chunk = Arc::new(values.iter().copied().collect::<arrow_array::Int64Array>());
        Values::new(&cells).expect("integers").expect("literals")
    }

    fn options(index: &[&str], on: &str, names: &[&str]) -> PivotOptions {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        PivotOptions { index: owned(index), on: vec![on.to_owned()], names: owned(names) }
    }

    fn pivoted(table: &Table, how: PivotOptions, values: Values, of: (Aggregate, &str)) -> Result<Table, Error> {
        let aggregate = Expr::aggregate(of.0, Some(Expr::column(of.1)))?.alias("cell");
        let op = Op::Pivot { how, values: vec![values], aggregates: vec![aggregate], on_error: OnError::Fail };
        apply(op, "pivot", std::slice::from_ref(table))
    }

    const SUM: Aggregate = Aggregate::Sum { min_count: 0 };

    #[test]
    fn cells_come_and_go_with_their_rows() {
        check_steps(
            |table| pivoted(table, options(&["K"], "V", &["one", "two"]), integers(&[Some(1), Some(2)]), (SUM, "V")),
            "0 A 1 | 1 B 2 | 2 A 2",
            &[
                ("+ 3 A 1", "~ 0 . 2 ."),
                ("- 2", "~ 0 . . 0"),
                ("~ 1 . 1", "~ 1 . 1 0"),
                ("+ 4 B 7 | + 5 C 7", "+ 2 C 0 0"),
                ("- 1 | - 4", "- 1"),
                ("+ 6 B 2 | ~ 5 . 2", "+ 3 B 0 2 | ~ 2 . . 2"),
                ("- 5 | + 7 C 1", "~ 2 . 1 0"),
            ],
        );
    }

    #[test]
    fn without_keys_there_is_one_row() {
        check_steps(
            |table| {
                pivoted(table, options(&[], "V", &["one", "none"]), integers(&[Some(1), None]), (Aggregate::Count, "K"))
            },
            "0 A 1",
            &[("- 0", "~ 0 0 ."), ("+ 1 B null", "~ 0 . 1")],
        );
    }

    #[test]
    fn law() {
        let least = (Aggregate::Min, Aggregator::Min);
        for (index, (of, wanted)) in
            [(&["k"][..], (SUM, Aggregator::Sum(0))), (&["k", "b"], least.clone()), (&[], least)]
        {
            let values = [Some(0), Some(1), Some(3), None];
            let names = ["n0", "n1", "n3", "none"];
            let listed = values.map(|value| value.map_or(Value::Null, Value::Int));
            let listed: Vec<(Value, String)> =
                listed.into_iter().zip(names).map(|(value, name)| (value, name.to_owned())).collect();
            let keys: Vec<String> = index.iter().map(|name| (*name).to_owned()).collect();
            check_law(
                &any_table(),
                100,
                Compare::ByKey(keys.clone()),
                |table| pivoted(table, options(index, "g", &names), integers(&values), (of.clone(), "v")),
                |input| {
                    let wanted = ops::Aggregate::of("cell", wanted.clone(), &["v"]);
                    ops::pivot(input, &keys, "g", &listed, &wanted).expect("no sum is too large")
                },
            );
        }
    }

    #[test]
    fn what_cannot_be_is_told() {
        let graph = still_graph();
        let drawn = Drawn::new(&graph, "0 A 1");
        let refused = |how, values| {
            let made = pivoted(drawn.table(), how, values, (SUM, "V"));
            made.err().expect("refused").to_string()
        };
        let two = || integers(&[Some(1), Some(2)]);
        assert!(refused(options(&["K"], "V", &["a"]), two()).contains("as many"));
        assert!(refused(options(&["K"], "V", &["a", "a"]), two()).contains("\"a\""));
        assert!(refused(options(&["K"], "V", &["a", "K"]), two()).contains("\"K\""));
        assert!(refused(options(&["K"], "V", &[]), integers(&[])).contains("no value"));
        assert!(refused(options(&["K"], "V", &["a", "b"]), integers(&[Some(1), Some(1)])).contains("listed twice"));
        assert!(refused(options(&["Q"], "V", &["a", "b"]), two()).contains("\"Q\""));
    }
}
