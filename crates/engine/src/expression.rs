//! An expression bound to a table's columns, evaluated over rows of a view: each column is read
//! once, big work is split over the cores, a failing value is named with its row.

use std::collections::{BTreeSet, HashMap};

use arrow_array::Array;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::DataType;
use column::Chunk;
use formula::{Bound, Expr};
use rowset::RowSet;

use crate::error::Error;
use crate::faults::Faults;
use crate::table::Table;
use crate::view::View;

/// Rows a thread evaluates at once: large enough to be worth a task, small enough to stay in cache.
const SLICE_ROWS: usize = 1 << 16;
/// The same of many rows that run through one pass that stays in cache by itself: eight-byte values
/// of a slice fill two large pages.
const LARGE_SLICE_ROWS: usize = 1 << 19;

/// An expression bound to the columns of one table.
pub struct Evaluator {
    bound: Bound,
    name: String,
    text: String,
    operation: String,
    plain: Option<usize>,
    faults: Option<Faults>,
    /// As a predicate it asks whether there is a value at all.
    computes: bool,
}

/// What an evaluation gives, in pieces that can be laid behind each other.
trait Piece: Sized {
    /// What stands for one row without a value.
    fn absent(kind: &DataType) -> Self;
    fn joined(pieces: Vec<Self>) -> Result<Self, Error>;
}

impl Piece for Chunk {
    fn absent(kind: &DataType) -> Chunk {
        arrow_array::new_null_array(kind, 1)
    }

    fn joined(mut pieces: Vec<Chunk>) -> Result<Chunk, Error> {
        if pieces.len() == 1 {
            return Ok(pieces.remove(0));
        }
        let parts: Vec<&dyn Array> = pieces.iter().map(|piece| piece.as_ref()).collect();
        Ok(arrow_select::concat::concat(&parts)?)
    }
}

/// The rows for which a predicate is true.
impl Piece for BooleanBuffer {
    fn absent(_: &DataType) -> BooleanBuffer {
        BooleanBuffer::new_unset(1)
    }

    fn joined(pieces: Vec<BooleanBuffer>) -> Result<BooleanBuffer, Error> {
        let mut all = BooleanBufferBuilder::new(pieces.iter().map(BooleanBuffer::len).sum());
        pieces.iter().for_each(|piece| all.append_buffer(piece));
        Ok(all.finish())
    }
}

impl Evaluator {
    /// Checks names and types. `operation` is the method the user called.
    pub fn new(operation: &str, expression: &Expr, table: &Table) -> Result<Evaluator, Error> {
        let wrong = |error: formula::Error| match error {
            formula::Error::UnknownColumn { name, .. } => {
                Error::no_column(operation, &name, table.schema().fields().iter().map(|field| field.name().as_str()))
            }
            error => Error::Formula { operation: operation.into(), error },
        };
        let bound = formula::bind(expression, table.canonical()).map_err(wrong)?;
        let name = expression.output_name().map_err(wrong)?;
        let plain = match expression.unaliased() {
            Expr::Column(column) => Some(table.column_index(operation, column)?),
            _ => None,
        };
        Ok(Evaluator {
            bound,
            name,
            text: expression.to_python(),
            operation: operation.into(),
            plain,
            faults: None,
            computes: false,
        })
    }

    /// The same, for a filter: the expression must be Boolean.
    pub fn predicate(operation: &str, expression: &Expr, table: &Table) -> Result<Evaluator, Error> {
        let bound = formula::bind(expression, table.canonical()).map_err(|error| match error {
            formula::Error::UnknownColumn { name, .. } => {
                Error::no_column(operation, &name, table.schema().fields().iter().map(|field| field.name().as_str()))
            }
            error => Error::Formula { operation: operation.into(), error },
        })?;
        let text = expression.to_python();
        if !matches!(bound.data_type(), DataType::Boolean | DataType::Null) {
            let message = format!(
                "a filter must be Boolean, {text} is {}; compare it with something, or cast it",
                bound.data_type()
            );
            return Err(Error::types(operation, message));
        }
        Ok(Evaluator {
            bound,
            name: String::new(),
            text,
            operation: operation.into(),
            plain: None,
            faults: None,
            computes: false,
        })
    }

    /// A predicate that is true where the expression has a value, null or not.
    pub fn computable(operation: &str, expression: &Expr, table: &Table) -> Result<Evaluator, Error> {
        Ok(Evaluator { computes: true, ..Evaluator::new(operation, expression, table)? })
    }

    /// Passes over rows that cannot be computed: they are null, and noted. Functions that keep state may be called
    /// for such rows, and their neighbours, more than once.
    pub fn passing_over(&mut self, faults: &Faults) {
        self.faults = Some(faults.clone());
    }

    /// The name of the column it makes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The type of the column it makes.
    pub fn data_type(&self) -> &DataType {
        self.bound.data_type()
    }

    /// The columns it reads.
    pub fn inputs(&self) -> &[usize] {
        self.bound.inputs()
    }

    /// The column it is, if it is nothing but a column.
    pub fn as_column(&self) -> Option<usize> {
        self.plain
    }

    /// One value a row, in key order.
    pub fn evaluate(&self, view: &View, rows: &RowSet) -> Result<Chunk, Error> {
        self.on(&self.cells(view, rows)?, rows)
    }

    /// One value a row over cells that were read already (one chunk for each of `inputs`).
    pub fn on(&self, cells: &[Chunk], rows: &RowSet) -> Result<Chunk, Error> {
        if let (Some(_), [cells]) = (self.plain, cells) {
            return Ok(cells.clone());
        }
        Chunk::joined(self.pieces_on(cells, rows, SLICE_ROWS)?)
    }

    /// One value a row, in consecutive chunks.
    pub fn pieces(&self, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        let large = rows.len() as usize >= 8 * LARGE_SLICE_ROWS && self.bound.is_one_pass();
        let slice = if large { LARGE_SLICE_ROWS } else { SLICE_ROWS };
        self.pieces_on(&self.cells(view, rows)?, rows, slice)
    }

    fn pieces_on(&self, cells: &[Chunk], rows: &RowSet, slice: usize) -> Result<Vec<Chunk>, Error> {
        self.split(cells, rows, slice, |cells, len| self.bound.evaluate(cells, len))
    }

    /// The rows for which it is true; null counts as false.
    pub fn matching(&self, view: &View, rows: &RowSet) -> Result<RowSet, Error> {
        if rows.is_empty() {
            return Ok(RowSet::new());
        }
        let masks = self.split(&self.cells(view, rows)?, rows, SLICE_ROWS, |cells, len| match self.computes {
            false => self.bound.evaluate_mask(cells, len),
            true => self.bound.evaluate(cells, len).map(|_| BooleanBuffer::new_set(len)),
        })?;
        if let [mask] = masks.as_slice() {
            return Ok(rows.select_mask(mask.values(), mask.offset()));
        }
        let starts: Vec<u64> = masks
            .iter()
            .scan(0, |start, mask| {
                let this = *start;
                *start += mask.len() as u64;
                Some(this)
            })
            .collect();
        let parts = crate::par::try_map(true, &masks, |at, mask| {
            let part = rows.slice(starts[at], mask.len() as u64);
            Ok::<RowSet, Error>(part.select_mask(mask.values(), mask.offset()))
        })?;
        Ok(RowSet::union_all(parts.iter()))
    }

    fn cells(&self, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        view.read_columns(self.inputs(), rows)
    }

    fn split<R: Piece + Send>(
        &self,
        cells: &[Chunk],
        rows: &RowSet,
        slice: usize,
        run: impl Fn(&[Chunk], usize) -> Result<R, formula::RowError> + Sync,
    ) -> Result<Vec<R>, Error> {
        let total = rows.len() as usize;
        if total <= 2 * slice {
            return Ok(vec![self.run(cells, rows, (0, total), &run)?]);
        }
        let starts: Vec<usize> = (0..total).step_by(slice).collect();
        // A function that keeps state sees its rows in order.
        let parallel = !self.bound.is_ordered();
        crate::par::try_map(parallel, &starts, |_, start| {
            let len = slice.min(total - start);
            let cells: Vec<Chunk> = cells.iter().map(|chunk| chunk.slice(*start, len)).collect();
            self.run(&cells, rows, (*start, len), &run)
        })
    }

    /// Evaluates `len` rows from row `start` on. Where rows are passed over, those that fail are found by halves.
    fn run<R: Piece>(
        &self,
        cells: &[Chunk],
        rows: &RowSet,
        (start, len): (usize, usize),
        run: &impl Fn(&[Chunk], usize) -> Result<R, formula::RowError>,
    ) -> Result<R, Error> {
        let error = match run(cells, len) {
            Ok(piece) => return Ok(piece),
            Err(error) => error,
        };
        let Some(faults) = &self.faults else { return Err(self.at_row(rows, start, error)) };
        if len == 1 {
            let column = (!self.name.is_empty()).then_some(self.name.as_str());
            faults.note(column, rows.key_at(start as u64).unwrap_or_default(), error.to_string());
            return Ok(R::absent(self.bound.data_type()));
        }
        let half = |from: usize, len: usize| {
            let part: Vec<Chunk> = cells.iter().map(|chunk| chunk.slice(from, len)).collect();
            self.run(&part, rows, (start + from, len), run)
        };
        R::joined(vec![half(0, len / 2)?, half(len / 2, len - len / 2)?])
    }

    fn at_row(&self, rows: &RowSet, start: usize, error: formula::RowError) -> Error {
        let key = rows.key_at((start + error.row) as u64);
        let place = key.map(|key| format!("row {key}")).unwrap_or_else(|| "a row".into());
        if let Some(payload) = &error.payload {
            let message = format!("{}: {place}: {error}", self.operation);
            return Error::External { message, payload: Some(payload.0.clone()) };
        }
        Error::data(&self.operation, format!("{place}: {error} in {}", self.text))
    }
}

/// Several expressions over the same rows: each column is read once.
pub fn evaluate_all(evaluators: &[&Evaluator], view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
    let columns: BTreeSet<usize> = evaluators.iter().flat_map(|evaluator| evaluator.inputs()).copied().collect();
    let columns: Vec<usize> = columns.into_iter().collect();
    let read: HashMap<usize, Chunk> = columns.iter().copied().zip(view.read_columns(&columns, rows)?).collect();
    evaluators
        .iter()
        .map(|evaluator| {
            let cells: Vec<Chunk> = evaluator.inputs().iter().map(|column| read[column].clone()).collect();
            evaluator.on(&cells, rows)
        })
        .collect()
}

/// The plan of an expression, for memo keys and serialised plans.
pub fn plan(expressions: &[Expr]) -> serde_json::Value {
    serde_json::to_value(expressions).unwrap_or_default()
}
