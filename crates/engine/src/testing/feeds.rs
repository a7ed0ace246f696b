//! Sources of random tables: every kind of live source, driven by the steps of a case, and static tables.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use graph::UpdateGraph;
use rowset::{RowSet, Shift};

use super::mirror::{Mirror, RawStep};
use super::random::{Case, Kind, TableSpec};
use super::tape::Tape;
use crate::error::Error;
use crate::sources::{AppendTable, Apply, BlinkTable, FedKind, Feeding, InputTable, KeyedTable, Token, from_chunks};
use crate::table::handle::Table;

/// A random table's source.
pub enum Source {
    /// Anything may happen to it.
    Input(InputTable),
    /// It only appends and says so, which operations make use of.
    Append(AppendTable),
    /// Rows by the cells of one column.
    Keyed(KeyedTable),
    /// Rows live for one step.
    Blink(BlinkTable),
    /// Nobody feeds it.
    Static(Table),
}

impl Source {
    /// A live source for a case of `spec`, mostly one to which anything may happen.
    pub fn draw(graph: &UpdateGraph, spec: &TableSpec, tape: &mut Tape) -> Result<(Source, Case), Error> {
        let case = Case::new(&spec.fit_for(Source::draw_kind(spec, tape)), tape);
        Ok((Source::of(graph, &case)?, case))
    }

    /// As [`Source::draw`], but now and then a static table instead of a live source.
    pub fn draw_any(graph: &UpdateGraph, spec: &TableSpec, tape: &mut Tape) -> Result<(Source, Case), Error> {
        let kind = match Source::draw_kind(spec, tape) {
            Kind::Append if tape.chance(100) => Kind::Static,
            kind => kind,
        };
        let case = Case::new(&spec.fit_for(kind), tape);
        let case = if kind == Kind::Static { case.still(tape) } else { case };
        Ok((Source::of(graph, &case)?, case))
    }

    fn draw_kind(spec: &TableSpec, tape: &mut Tape) -> Kind {
        match (spec.is_blink(), spec.key()) {
            (true, _) => Kind::Blink,
            (false, key) => match (tape.chance(40), key) {
                (false, _) => Kind::Input,
                // Row keys of a keyed table are its own.
                (true, Some(_)) if tape.chance(100) && !spec.moves_change_values() => Kind::Keyed,
                (true, _) => Kind::Append,
            },
        }
    }

    /// How the rows of the source are addressed that a case is for; none for a static table.
    pub fn kind_of(case: &Case) -> Option<FedKind> {
        Some(match case.kind() {
            Kind::Input => FedKind::Input,
            Kind::Append => FedKind::Append,
            Kind::Keyed => {
                let key = case.mirror.schema.field(case.keyed().expect("it tells rows apart"));
                FedKind::Keyed(vec![key.name().clone()])
            }
            Kind::Blink => FedKind::Blink,
            Kind::Static => return None,
        })
    }

    /// The source that a case is for.
    pub fn of(graph: &UpdateGraph, case: &Case) -> Result<Source, Error> {
        Source::fed(graph, case, Feeding::default())
    }

    /// As [`Source::of`], fed in this way.
    pub fn fed(graph: &UpdateGraph, case: &Case, feeding: Feeding) -> Result<Source, Error> {
        let schema = case.mirror.schema.clone();
        Ok(match case.kind() {
            Kind::Input => Source::Input(InputTable::fed(graph, schema, feeding)?),
            Kind::Append => Source::Append(AppendTable::fed(graph, schema, feeding)?),
            Kind::Keyed => {
                let key = schema.field(case.keyed().expect("it tells rows apart")).name().clone();
                Source::Keyed(KeyedTable::fed(graph, schema, &[key], feeding)?)
            }
            Kind::Blink => Source::Blink(BlinkTable::fed(graph, schema, feeding)?),
            Kind::Static => Source::Static(still(&case.mirror)?),
        })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        match self {
            Source::Input(source) => source.table(),
            Source::Append(source) => source.table(),
            Source::Keyed(source) => source.table(),
            Source::Blink(source) => source.table(),
            Source::Static(table) => table,
        }
    }

    /// Queues a step of the case that the source was drawn for.
    pub fn apply(&self, step: &RawStep, schema: &Arc<Schema>) -> Result<Token, Error> {
        let rows = |arrays: &[ArrayRef]| batch(schema.clone(), arrays.to_vec(), arrays.first().map_or(0, |a| a.len()));
        let added = || batch(schema.clone(), step.added.1.clone(), step.added.0.len() as usize);
        match self {
            Source::Input(source) => source.apply(apply_of(step, schema)),
            Source::Append(source) => source.append(&added()),
            Source::Blink(source) => source.append(&added()),
            Source::Static(_) => Err(Error::invalid("step", "a static table takes no step")),
            Source::Keyed(source) => {
                let keyed = step.keyed.as_ref().expect("a step of a keyed case");
                let field = schema.field(keyed.column).clone();
                let gone = batch(Arc::new(Schema::new(vec![field])), vec![keyed.gone.clone()], keyed.gone.len());
                // A queue is drained in order: when the last call has landed, all have.
                source.delete(&gone)?;
                let changed = source.upsert(&rows(&keyed.changed))?;
                if step.added.0.is_empty() { Ok(changed) } else { source.upsert(&added()) }
            }
        }
    }
}

/// The static table of these rows, in two chunks a column.
fn still(mirror: &Mirror) -> Result<Table, Error> {
    let rows = mirror.rows.len();
    let halves = |cells: ArrayRef| vec![cells.slice(0, rows / 2), cells.slice(rows / 2, rows - rows / 2)];
    let columns = mirror.arrays_of(&RowSet::flat(rows as u64)).into_iter().map(halves).collect();
    from_chunks(mirror.schema.clone(), columns, rows as u64)
}

fn batch(schema: Arc<Schema>, columns: Vec<ArrayRef>, rows: usize) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options).expect("the columns are the schema's")
}

/// A raw step as the input table takes it.
pub fn apply_of(step: &RawStep, schema: &Arc<Schema>) -> Apply {
    let (keys, columns) = &step.added;
    let added = (!keys.is_empty()).then(|| (keys.clone(), batch(schema.clone(), columns.clone(), keys.len() as usize)));
    let (keys, columns) = &step.modified;
    let fields: Vec<_> = columns.iter().map(|(at, _)| schema.field(*at).clone()).collect();
    let arrays = columns.iter().map(|(_, array)| array.clone()).collect();
    let modified =
        (!keys.is_empty()).then(|| (keys.clone(), batch(Arc::new(Schema::new(fields)), arrays, keys.len() as usize)));
    let shifted = step.shifts.iter().map(|&(first, last, delta)| Shift { first, last, delta }).collect();
    Apply { added, removed: step.removed.clone(), modified, shifted }
}
