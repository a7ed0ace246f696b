//! `explode`, `ungroup`: a row for each value of lists.
//!
//!   in   0 A [1 2]    1 B []    2 C null      explode V   out   A 1    A 2    C null
//!   in   ~ 0 . [1 5 6]                                    out   ~ A 5    + A 6          K {V}
//!   in   ~ 0 Z .                                          out   ~ Z 1    ~ Z 5    ~ Z 6    K {K}
//!   in   > [0..2]+5                                       out   nothing
//!
//! The rows of a list stand together, in the order of its values. Rows are own, with room between them, so that a list may
//! grow: what has to make way moves by a shift, and no cell is written. Columns are read through an index of source row and
//! place. A static table is exploded onto flat keys. Cost of an update: a search for each value of the changed rows, and
//! for those of the rows that an upstream shift moves.

mod lists;

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt64Array};
use arrow_schema::{Field, Schema};
use column::kernels::equal_cells;
use column::{Chunk, ColumnSource, FlatColumn, RedirectColumn};
use formula::types::element_of;
use graph::{Moment, Step};
use rowset::{Before, RowSet, Shifts};

use self::lists::{ElementColumn, Lists};
use super::join::pairs::{LeadRow, Pair, PairList, PairShifts, entries};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::order::Edits;
use crate::keys::ordered::{OrderedRows, Source};
use crate::ops::asked::Asked;
use crate::plan::spec::ExplodeOptions;
use crate::sizes::SORT_SWEEP;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::{ColumnSet, TableUpdate};
use crate::table::view::View;

/// A row for each value of the lists of some columns.
pub struct Explode {
    request: Request,
    exploded: Arc<Exploded>,
    schema: Arc<Schema>,
}

impl Explode {
    /// Checks that the columns are there and hold lists.
    pub fn new(operation: &str, table: &Table, options: &ExplodeOptions) -> Result<Explode, Error> {
        if options.columns.is_empty() {
            return Err(Error::schema(operation, "at least one column of lists is needed"));
        }
        let mut fields: Vec<Field> = table.schema().fields().iter().map(|field| Field::clone(field)).collect();
        let mut columns = Vec::with_capacity(options.columns.len());
        for name in &options.columns {
            let column = table.column_index(operation, name)?;
            let Some(element) = element_of(table.column_type(column)) else {
                let given = formula::type_name(fields[column].data_type());
                return Err(Error::types(operation, format!("column {name:?} is {given}; lists are taken apart")));
            };
            fields[column] = Field::new(fields[column].name(), element, true);
            columns.push(column);
        }
        columns.sort_unstable();
        columns.dedup();
        let names = options.columns.iter().map(|name| formula::hidden::shown(table.schema(), name)).collect::<Vec<_>>();
        let request = Request::new(operation, &Asked::Explode(options)).with_text(names.join(", "));
        let exploded = Exploded {
            operation: operation.to_owned(),
            columns,
            options: options.clone(),
            input: table.schema().clone(),
        };
        Ok(Explode { request, exploded: Arc::new(exploded), schema: Arc::new(Schema::new(fields)) })
    }

    /// The columns of the input through an index of source rows, and of lists the values, made by `elements` from the
    /// column's number and cells.
    fn parts(
        &self,
        table: &Table,
        rows: Arc<LiveRows>,
        index: &Arc<dyn ColumnSource>,
        elements: impl Fn(usize, &Arc<dyn ColumnSource>) -> Arc<dyn ColumnSource>,
        flat: bool,
    ) -> Parts {
        let through = |(column, source): (usize, &Arc<dyn ColumnSource>)| -> Arc<dyn ColumnSource> {
            if self.exploded.columns.contains(&column) {
                return elements(column, source);
            }
            Arc::new(RedirectColumn::new(source.clone(), index.clone()))
        };
        let columns = table.parts().columns.iter().enumerate().map(through).collect();
        let old = table.attributes();
        let is_kept = |(name, _): &&(String, bool)| !self.exploded.options.columns.contains(name);
        let sorted_by = old.sorted_by.iter().take_while(is_kept).cloned().collect();
        let attributes = Attributes { blink: old.blink, flat, sorted_by, ..Attributes::default() };
        Parts { rows, columns, schema: self.schema.clone(), attributes }
    }
}

impl Operation for Explode {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let lists = self.exploded.cells(view, view.rows())?;
        let counts = self.exploded.counts(view.rows(), &lists)?;
        let all = counts.iter().fold(0, |all: u64, count| all.saturating_add(*count));
        // A live row has an entry, with room around it, and two cells.
        limits::ask_rows(all, if table.is_live() { 160 } else { 32 })?;
        let flat = |cells| FlatColumn::new(vec![cells]).map(|column| Arc::new(column) as Arc<dyn ColumnSource>);
        let whole = lists.iter().map(|lists| lists.whole(&counts)).collect::<Option<Vec<ArrayRef>>>();
        if let Some(whole) = whole.filter(|whole| !table.is_live() && !whole.is_empty()) {
            // The values lie as the result has them.
            let mut index = Vec::with_capacity(all as usize);
            view.rows()
                .iter()
                .zip(&counts)
                .for_each(|(row, count)| index.extend(std::iter::repeat_n(row, *count as usize)));
            let rows = Arc::new(LiveRows::new(RowSet::flat(all), at));
            let values = whole.into_iter().map(flat).collect::<Result<Vec<_>, _>>()?;
            let of = |column: usize| self.exploded.columns.iter().position(|exploded| *exploded == column).unwrap_or(0);
            let index = flat(Arc::new(UInt64Array::from(index)))?;
            let parts = self.parts(table, rows, &index, |column, _| values[of(column)].clone(), true);
            return Ok(Start { parts, live: Box::new(Still), owned: Vec::new() });
        }
        let mut pairs = PairList::with_room(all)?;
        push_all(view.rows(), &counts, &mut pairs);
        let pairs = pairs.finish()?;
        let through = |index: [Arc<dyn ColumnSource>; 2]| {
            move |column: usize, source: &Arc<dyn ColumnSource>| {
                let element = self.schema.field(column).data_type();
                Arc::new(ElementColumn::new(source.clone(), index.clone(), element)) as Arc<dyn ColumnSource>
            }
        };
        if !table.is_live() {
            let rows = Arc::new(LiveRows::new(RowSet::flat(pairs.len() as u64), at));
            let index = Source::cells(pairs).into_iter().map(flat).collect::<Result<Vec<_>, _>>()?;
            let index: [_; 2] = index.try_into().map_err(|_| Error::internal("explode", "an index has two columns"))?;
            let parts = self.parts(table, rows, &index[0].clone(), through(index), true);
            return Ok(Start { parts, live: Box::new(Still), owned: Vec::new() });
        }
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let rows = OrderedRows::start(&entries(pairs), at, &counters)?;
        let through = through([rows.index(0), rows.index(1)]);
        let parts = self.parts(table, rows.rows().clone(), &rows.index(0), through, false);
        let owned = rows.owned();
        let live = ExplodeLive { exploded: self.exploded.clone(), rows };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

/// A static table stays as it is.
struct Still;

impl Live for Still {
    fn update(&mut self, _: &[Change], _: Step) -> Result<TableUpdate, Error> {
        Ok(TableUpdate::default())
    }
}

/// Which columns of the input are taken apart, and what nulls and empty lists give.
struct Exploded {
    operation: String,
    /// In ascending order, each once.
    columns: Vec<usize>,
    options: ExplodeOptions,
    input: Arc<Schema>,
}

impl Exploded {
    /// The lists of these rows, a part for each column.
    fn cells(&self, view: &View, rows: &RowSet) -> Result<Vec<Lists>, Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        view.read_columns(&self.columns, rows)?.iter().map(|cells| Ok(Lists::of(cells)?)).collect()
    }

    /// How many rows each of these rows becomes.
    fn counts(&self, rows: &RowSet, cells: &[Lists]) -> Result<Vec<u64>, Error> {
        limits::ask_rows(rows.len(), size_of::<u64>() as u64)?;
        (rows.iter().enumerate()).map(|(at, key)| self.count(key, cells.iter().map(|lists| lists.len_of(at)))).collect()
    }

    fn count(&self, key: u64, lists: impl Iterator<Item = Option<u64>> + Clone) -> Result<u64, Error> {
        let counted = lists.map(|list| match list {
            None => u64::from(self.options.keep_nulls),
            Some(0) => u64::from(self.options.empty_as_null),
            Some(values) => values,
        });
        let most = counted.clone().max().unwrap_or(0);
        match counted.clone().position(|count| count != most) {
            Some(short) if !self.options.null_fill => {
                let long = counted.clone().position(|count| count == most).unwrap_or(0);
                let name = |at: usize| formula::hidden::shown(&self.input, self.input.field(self.columns[at]).name());
                let fewer = counted.clone().nth(short).unwrap_or(0);
                let message = format!(
                    "in the row with key {key}, {:?} gives {most} rows and {:?} {fewer}; lists that are taken apart together \
                     are of one length, or filled up with null_fill=True",
                    name(long),
                    name(short),
                );
                Err(Error::data(&self.operation, message))
            }
            _ => Ok(most),
        }
    }

    /// The rows that these rows become.
    fn pairs(&self, view: &View, rows: &RowSet, pairs: &mut PairList) -> Result<(), Error> {
        let counts = self.counts(rows, &self.cells(view, rows)?)?;
        push_all(rows, &counts, pairs);
        Ok(())
    }
}

/// A pair of source row and place for each of so many values.
fn push_all(rows: &RowSet, counts: &[u64], pairs: &mut PairList) {
    for (key, count) in rows.iter().zip(counts) {
        push(key, 0..*count, pairs);
    }
}

fn push(key: u64, places: std::ops::Range<u64>, pairs: &mut PairList) {
    for place in places {
        if pairs.is_full() {
            return;
        }
        pairs.push((key, place));
    }
}

struct ExplodeLive {
    exploded: Arc<Exploded>,
    rows: OrderedRows<LeadRow>,
}

/// What becomes of the rows of changed lists. Their source rows are as they were in `removed` and `moved`, else as they are.
#[derive(Default)]
struct Judged {
    removed: PairList,
    added: PairList,
    /// Those that stay, with modified cells in `columns`.
    kept: Vec<Pair>,
    columns: ColumnSet,
    /// Those that stay and whose source row has another key now.
    moved: PairList,
}

impl Live for ExplodeLive {
    fn entries(&self) -> u64 {
        self.rows.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let (change, exploded) = (&inputs[0], &self.exploded);
        let update = change.update();
        let has_lists = update.columns.contains_any(&exploded.columns);
        let changed = if has_lists { update.shifts.back(&update.modified) } else { Before::default() };
        let mut judged = if has_lists { judge(exploded, change, &changed.0)? } else { Judged::default() };
        exploded.pairs(change.before(), &update.removed.0, &mut judged.removed)?;
        exploded.pairs(change.now(), &update.added, &mut judged.added)?;
        if !has_lists && !update.modified.is_empty() {
            let mut kept = PairList::default();
            exploded.pairs(change.now(), &update.modified, &mut kept)?;
            (judged.kept, judged.columns) = (kept.finish()?, update.columns.clone());
        }
        let moving = change.rekeyed_rows(&(&update.removed | &changed)).0;
        let sweeps = moving.len() > self.rows.len() as u64 / SORT_SWEEP.rows();
        let moved = if sweeps {
            None
        } else {
            exploded.pairs(change.before(), &moving, &mut judged.moved)?;
            Some(entries(judged.moved.finish()?))
        };
        let shifts = PairShifts { lead: update.shifts.clone(), other: Shifts::none() };
        let edits = Edits {
            removed: entries(judged.removed.finish()?),
            changed: Vec::new(),
            added: entries(judged.added.finish()?),
            shifts: &shifts,
            moved,
        };
        self.rows.apply(step, edits, &entries(judged.kept), &judged.columns)
    }
}

/// The modified rows, whose lists may differ: what goes and comes at the ends of lists, and which values changed. `changed`
/// are their keys before.
fn judge(exploded: &Exploded, change: &Change, changed: &RowSet) -> Result<Judged, Error> {
    let update = change.update();
    let old = exploded.cells(change.before(), changed)?;
    let new = exploded.cells(change.now(), &update.modified)?;
    let was = exploded.counts(changed, &old)?;
    let is = exploded.counts(&update.modified, &new)?;
    let mut judged = Judged::default();
    let mut common = PairList::default();
    let keys: Vec<u64> = update.modified.to_vec();
    for (row, (from, to)) in changed.iter().zip(&keys).enumerate() {
        let stay = was[row].min(is[row]);
        push(from, stay..was[row], &mut judged.removed);
        push(*to, stay..is[row], &mut judged.added);
        push(row as u64, 0..stay, &mut common);
        if from != *to {
            push(from, 0..stay, &mut judged.moved);
        }
    }
    let common = common.finish()?;
    let others = update.columns.iter().filter(|column| !exploded.columns.contains(column));
    let whole = others.fold(false, |_, column| {
        judged.columns.insert(column);
        true
    });
    let mut differs = vec![whole; common.len()];
    for (at, column) in exploded.columns.iter().enumerate().filter(|(_, column)| update.columns.contains(**column)) {
        let cells = |lists: &[Lists]| -> Result<Chunk, Error> {
            let places = common.iter().map(|(row, place)| Some((*row as usize, *place)));
            Ok(lists[at].elements(places)?)
        };
        if common.is_empty() {
            break;
        }
        let same = equal_cells(&cells(&old)?, &cells(&new)?);
        if same.count_set_bits() < common.len() {
            judged.columns.insert(*column);
            differs.iter_mut().zip(&same).for_each(|(differs, same)| *differs |= !same);
        }
    }
    let kept = common.into_iter().zip(differs).filter(|(_, differs)| *differs);
    judged.kept = kept.map(|((row, place), _)| (keys[row as usize], place)).collect();
    Ok(judged)
}

#[cfg(test)]
mod tests;
