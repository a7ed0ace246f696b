//! An expression bound to a table's columns, evaluated over rows of a view: each column is read
//! once, big work is split over the cores, a failing value is named with its row.

mod context;
mod piece;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::{DataType, Field};
use column::{Chunk, Coded};
use formula::context::Dependencies;
use formula::{Bound, ColumnName, Expr};
use rowset::RowSet;

use self::piece::Piece;
use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::schedule::{ExecutionOrder, Scheduled, run_ordered};
use crate::eval::verdicts::Verdicts;
use crate::row_errors::RowErrors;
use crate::sizes::{HOST_ARRAY_ROWS, HOST_ROWS, LARGE_SLICE_ROWS, SLICE_ROWS};
use crate::table::handle::Table;
use crate::table::request::Explain;
use crate::table::view::View;
use crate::threads::interrupt::Interrupt;

/// An expression bound to the columns of one table.
pub struct Evaluator {
    bound: Bound,
    name: ColumnName,
    text: String,
    /// As its user wrote it: a formula, or the same as `text`.
    told: String,
    /// The columns that it reads, as its user wrote them.
    reads: Vec<String>,
    operation: String,
    plain: Option<usize>,
    row_errors: Option<RowErrors>,
    /// As a predicate it asks whether there is a value at all.
    computes: bool,
    /// Whether it is known that it cannot fail.
    total: bool,
    reach: Dependencies,
    order: ExecutionOrder,
    /// The start of the step, for what depends on the clock.
    now: AtomicI64,
    verdicts: Verdicts,
}

impl std::fmt::Debug for Evaluator {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Evaluator({})", self.text)
    }
}

impl Evaluator {
    /// Checks names and types.
    pub fn new(call: &Call, expression: &Expr, table: &Table) -> Result<Evaluator, Error> {
        let wrong = |error| wrong(&call.method, table, error);
        let bound = call.bind(expression, table.canonical()).map_err(wrong)?;
        let name = expression.output_column().map_err(wrong)?;
        let unnamed = Evaluator::unnamed(call, bound, expression, table)?;
        let plain = match expression.unaliased() {
            Expr::Column(column) => Some(table.column_index(&call.method, column)?),
            _ => None,
        };
        Ok(Evaluator { name, plain, ..unnamed })
    }

    /// As [`Evaluator::new`], for the predicate of a filter: fails unless the expression is Boolean.
    pub fn predicate(call: &Call, expression: &Expr, table: &Table) -> Result<Evaluator, Error> {
        let bound = call.bind(expression, table.canonical()).map_err(|error| wrong(&call.method, table, error))?;
        let text = expression.to_python();
        if !matches!(bound.data_type(), DataType::Boolean | DataType::Null) {
            let message = format!(
                "a filter must be Boolean, {text} is {}; compare it with something, or cast it",
                formula::type_name(bound.data_type())
            );
            return Err(Error::types(&call.method, message));
        }
        Evaluator::unnamed(call, bound, expression, table)
    }

    fn unnamed(call: &Call, bound: Bound, expression: &Expr, table: &Table) -> Result<Evaluator, Error> {
        let reach = bound.reach();
        crate::eval::affected::check(&call.method, &reach, table)?;
        Ok(Evaluator {
            bound,
            name: ColumnName::default(),
            text: expression.to_python(),
            told: call.told(expression, table.canonical()),
            reads: reads(expression),
            operation: call.method.to_string(),
            plain: None,
            row_errors: None,
            computes: false,
            total: expression.is_total(table.canonical()),
            reach,
            order: ExecutionOrder::default(),
            now: AtomicI64::new(0),
            verdicts: Verdicts::default(),
        })
    }

    /// A predicate that is true where the expression has a value, null or not.
    pub fn computable(call: &Call, expression: &Expr, table: &Table) -> Result<Evaluator, Error> {
        Ok(Evaluator { computes: true, ..Evaluator::new(call, expression, table)? })
    }

    /// Passes over rows that cannot be computed: they are null, and noted. Functions that keep state may be called
    /// for such rows, and their neighbours, more than once.
    pub fn with_on_error(&mut self, row_errors: &RowErrors) {
        self.row_errors = Some(row_errors.clone());
    }

    /// The name of the column it makes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The field of the column it makes, of this declared type.
    pub(crate) fn field(&self, data_type: DataType) -> Field {
        self.name.field(data_type)
    }

    /// As its user wrote it: a formula as it is, an expression as Python.
    pub fn told(&self) -> &str {
        &self.told
    }

    /// The expression as Python.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How it is computed, and what makes it be computed again.
    pub fn explain(&self) -> String {
        let mut how = self.bound.steps().join(", ");
        if self.is_ordered() {
            how.push_str(", rows in order on one thread");
        }
        if self.row_errors.is_some() {
            how.push_str(", passing over rows that fail");
        }
        let reach = &self.reach;
        let mut with = self.reads.clone();
        let beside = [
            (reach.back > 0, format!("up to {} rows earlier", reach.back)),
            (reach.ahead > 0, format!("up to {} rows later", reach.ahead)),
            (reach.clock, "the clock".to_owned()),
            (reach.position, "the row's position".to_owned()),
            (reach.key, "the row's key".to_owned()),
            (reach.whole, "any row".to_owned()),
        ];
        with.extend(beside.into_iter().filter_map(|(reaches, what)| reaches.then_some(what)));
        let with = if with.is_empty() { "nothing".to_owned() } else { with.join(", ") };
        format!("{}: {how}; changes with {with}", self.text)
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

    /// Whether it reads more than its own row.
    pub fn needs_context(&self) -> bool {
        !self.bound.context_inputs().is_empty()
    }

    /// The rows and columns its value depends on.
    pub fn reach(&self) -> &Dependencies {
        &self.reach
    }

    /// Sets the evaluator's place in the execution order of the operation's expressions.
    pub fn with_order(self, order: ExecutionOrder) -> Evaluator {
        Evaluator { order, ..self }
    }

    /// Whether its rows are evaluated in order, on one thread.
    pub fn is_ordered(&self) -> bool {
        self.order.serial || self.bound.is_ordered() || (self.bound.leaves_order_open() && !self.order.stateless)
    }

    /// How it stands to the others of the operation.
    pub fn order(&self) -> &ExecutionOrder {
        &self.order
    }

    /// Whether a function of the user stands in it.
    pub fn calls_host(&self) -> bool {
        self.bound.calls_host()
    }

    /// One value a row, in key order.
    pub fn evaluate(&self, view: &View, rows: &RowSet) -> Result<Chunk, Error> {
        Chunk::joined(self.pieces(view, rows)?)
    }

    /// One value a row, in consecutive chunks.
    pub fn pieces(&self, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        self.pieces_of(&self.bound, &self.cells(&self.bound, view, rows)?, rows)
    }

    fn pieces_of(&self, bound: &Bound, cells: &[Chunk], rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        // One column as it is: nothing is to be evaluated, nothing cut.
        // Codes of a dictionary are a matter of storage: whoever evaluates sees the values.
        let whole = std::ptr::eq(bound, &self.bound);
        if let (Some(_), [cells], true) = (self.plain, cells, whole)
            && cells.data_type() == bound.data_type()
        {
            return Ok(vec![cells.clone()]);
        }
        let total = rows.len() as usize;
        limits::ask_rows(rows.len(), column::types::width(bound.data_type()))?;
        let large = total >= 8 * LARGE_SLICE_ROWS.get() && bound.is_one_pass();
        let slice = if large { LARGE_SLICE_ROWS.get() } else { self.slice(total) };
        self.split(cells, rows, (slice, bound.data_type()), |cells, len| bound.evaluate(cells, len))
    }

    /// One value a row of a batch of rows that is no part of a table, on this thread; `keys` name them.
    pub(crate) fn on_batch(&self, cells: &[Chunk], keys: &RowSet) -> Result<Chunk, Error> {
        self.of_batch(cells, keys, keys.len() as usize)
    }

    /// One value for each of `len` rows, on this thread. The rows are among `keys`.
    pub(crate) fn of_batch(&self, cells: &[Chunk], keys: &RowSet, len: usize) -> Result<Chunk, Error> {
        self.bound.evaluate(cells, len).map_err(|error| self.at_row(keys, 0, error))
    }

    /// As [`Evaluator::of_batch`], of a predicate: where it is true; null counts as false.
    pub(crate) fn mask_of_batch(&self, cells: &[Chunk], keys: &RowSet, len: usize) -> Result<BooleanBuffer, Error> {
        self.bound.evaluate_mask(cells, len).map_err(|error| self.at_row(keys, 0, error))
    }

    /// Whether it may be evaluated over a batch of rows in the place of all: it reads nothing else, calls no function of the
    /// user, and a row that fails is an error.
    pub(crate) fn is_by_batch(&self) -> bool {
        !self.needs_context() && !self.calls_host() && !self.is_ordered() && self.row_errors.is_none() && !self.computes
    }

    /// The only column that it reads, where it may be evaluated over values that no row has.
    pub(crate) fn of_values(&self) -> Option<usize> {
        let free = self.is_total() && self.is_by_batch() && !self.reach.clock;
        match self.inputs() {
            [column] if free => Some(*column),
            _ => None,
        }
    }

    /// As [`Evaluator::mask_of_batch`], of cells that are codes, of a predicate with [`Evaluator::of_values`]. None where the
    /// values are too many.
    pub(crate) fn mask_of_codes(&self, coded: &Coded) -> Option<BooleanBuffer> {
        self.verdicts.mask(self, coded)
    }

    #[cfg(test)]
    pub(crate) fn verdicts(&self) -> &Verdicts {
        &self.verdicts
    }

    /// Whether it has a value in every row, whatever is in its columns.
    pub(crate) fn is_total(&self) -> bool {
        self.total
    }

    /// The rows for which it is true; null counts as false.
    pub fn matching(&self, view: &View, rows: &RowSet) -> Result<RowSet, Error> {
        if rows.is_empty() {
            return Ok(RowSet::new());
        }
        // A bit a row, and what stands beside it.
        limits::ask_rows(rows.len(), 1)?;
        if self.is_by_batch() && rows.len() > SLICE_ROWS.rows() {
            return self.matching_in_slices(view, rows);
        }
        let cells = self.cells(&self.bound, view, rows)?;
        let slice = self.slice(rows.len() as usize);
        let masks = self.split(&cells, rows, (slice, self.data_type()), |cells, len| match self.computes {
            false => self.bound.evaluate_mask(cells, len),
            true => self.bound.evaluate(cells, len).map(|_| BooleanBuffer::new_set(len)),
        })?;
        if let [mask] = masks.as_slice() {
            return Ok(column::matching(rows, mask));
        }
        let starts: Vec<u64> = masks
            .iter()
            .scan(0, |start, mask| {
                let this = *start;
                *start += mask.len() as u64;
                Some(this)
            })
            .collect();
        let parts = crate::threads::parallel::try_map(true, &masks, |at, mask| {
            let part = rows.slice(starts[at], mask.len() as u64);
            Ok::<RowSet, Error>(column::matching(&part, mask))
        })?;
        Ok(RowSet::union_all(parts.iter()))
    }

    /// As [`Evaluator::matching`], slice by slice: a column whose cells lie in many arrays is never copied as one.
    fn matching_in_slices(&self, view: &View, rows: &RowSet) -> Result<RowSet, Error> {
        let slices = view.parts(self.inputs(), rows, SLICE_ROWS.rows());
        let kept = crate::threads::parallel::try_map(true, &slices, |_, rows| {
            let mask = |cells: &[Chunk], from: usize, len: usize| {
                let mask = self.bound.evaluate_mask(cells, len);
                mask.map_err(|error| self.at_row(rows, from, error))
            };
            let [column] = self.inputs() else {
                let cells = view.read_columns(self.inputs(), rows)?;
                return Ok(column::matching(rows, &mask(&cells, 0, rows.len() as usize)?));
            };
            let cells = view.column(*column)?;
            let coded = if self.of_values().is_some() { cells.read_coded(rows)? } else { None };
            if let Some(mask) = coded.and_then(|coded| self.mask_of_codes(&coded)) {
                return Ok(column::matching(rows, &mask));
            }
            // The cells of one column are looked at where they lie.
            let mut masks = BooleanBufferBuilder::new(rows.len() as usize);
            for piece in cells.pieces(rows)? {
                let len = piece.len();
                masks.append_buffer(&mask(&[piece], masks.len(), len)?);
            }
            Ok::<RowSet, Error>(column::matching(rows, &masks.finish()))
        })?;
        Ok(RowSet::union_all(kept.iter()))
    }

    fn split<R: Piece + Send>(
        &self,
        cells: &[Chunk],
        rows: &RowSet,
        (slice, kind): (usize, &DataType),
        run: impl Fn(&[Chunk], usize) -> Result<R, formula::RowError> + Sync,
    ) -> Result<Vec<R>, Error> {
        let total = rows.len() as usize;
        if total <= SLICE_ROWS.get() || total < 2 * slice {
            return Ok(vec![self.run(cells, rows, (0, total), kind, &run)?]);
        }
        // The last slice takes the rest: none is shorter than the others.
        let starts: Vec<usize> = (0..total / slice).map(|at| at * slice).collect();
        // A function that keeps state sees its rows in order.
        crate::threads::parallel::try_map(!self.is_ordered(), &starts, |at, start| {
            let len = starts.get(at + 1).map_or(total, |next| *next) - start;
            let cells: Vec<Chunk> = cells.iter().map(|chunk| chunk.slice(*start, len)).collect();
            self.run(&cells, rows, (*start, len), kind, &run)
        })
    }

    /// Evaluates `len` rows from row `start` on. Where rows are passed over, those that fail are found by halves.
    fn run<R: Piece>(
        &self,
        cells: &[Chunk],
        rows: &RowSet,
        (start, len): (usize, usize),
        kind: &DataType,
        run: &impl Fn(&[Chunk], usize) -> Result<R, formula::RowError>,
    ) -> Result<R, Error> {
        let error = match run(cells, len) {
            Ok(piece) => return Ok(piece),
            Err(error) => error,
        };
        let interrupted = error.payload.as_ref().is_some_and(|payload| payload.0.is::<Interrupt>());
        let Some(row_errors) = self.row_errors.as_ref().filter(|_| !interrupted) else {
            return Err(self.at_row(rows, start, error));
        };
        if len == 1 {
            row_errors.note(self.name.becomes(), rows.key_at(start as u64).unwrap_or_default(), error.to_string());
            return Ok(R::absent(kind));
        }
        let half = |from: usize, len: usize| {
            let part: Vec<Chunk> = cells.iter().map(|chunk| chunk.slice(from, len)).collect();
            self.run(&part, rows, (start + from, len), kind, run)
        };
        R::joined(vec![half(0, len / 2)?, half(len / 2, len - len / 2)?])
    }

    /// Rows of a slice. A call of a function of the user costs as much as thousands of rows.
    fn slice(&self, total: usize) -> usize {
        match (self.calls_host(), self.is_ordered()) {
            (false, _) => SLICE_ROWS.get(),
            (true, true) if self.bound.is_by_row() => HOST_ROWS.get(),
            (true, true) => HOST_ARRAY_ROWS.get(),
            (true, false) => {
                (total / crate::threads::parallel::threads().max(1)).min(HOST_ROWS.get()).max(SLICE_ROWS.get())
            }
        }
    }

    fn at_row(&self, rows: &RowSet, start: usize, mut error: formula::RowError) -> Error {
        let key = rows.key_at((start + error.row) as u64);
        let place = key.map(|key| format!("row {key}")).unwrap_or_else(|| "a row".into());
        if let Some(why) = error.payload.as_ref().and_then(|payload| payload.0.downcast_ref::<limits::Exhausted>()) {
            return Error::Resource {
                operation: self.operation.clone(),
                message: format!("{place}: {why}, in {}", self.told),
            };
        }
        if let Some(payload) = &error.payload {
            let made = self.name.becomes().map(|name| format!(" (making column {name:?})"));
            let message = format!("{}: {place}: {}{}", self.operation, error.message, made.unwrap_or_default());
            return Error::External { message, payload: Some(payload.0.clone()) };
        }
        let named = self.told.strip_prefix(&*error.expression).is_some_and(|rest| rest.starts_with(".alias("));
        if named || self.told == error.expression {
            error.expression.clone_from(&self.told);
            return Error::data(&self.operation, format!("{place}: {error}"));
        }
        Error::data(&self.operation, format!("{place}: {error} in {}", self.told))
    }
}

impl Scheduled for Evaluator {
    fn order(&self) -> &ExecutionOrder {
        &self.order
    }

    fn is_exclusive(&self) -> bool {
        self.is_ordered() && !self.order.overlaps
    }

    fn calls_host(&self) -> bool {
        self.calls_host()
    }
}

impl Explain for Arc<[Evaluator]> {
    fn explain(&self) -> Vec<String> {
        self.iter().filter(|one| one.as_column().is_none()).map(Evaluator::explain).collect()
    }
}

/// The columns that an expression reads, each once, as its user wrote them.
fn reads(expression: &Expr) -> Vec<String> {
    fn walk(expression: &Expr, found: &mut Vec<String>) {
        if let Expr::Column(_) = expression {
            let text = expression.to_python();
            if !found.contains(&text) {
                found.push(text);
            }
        }
        expression.children().for_each(|child| walk(child, found));
    }
    let mut found = Vec::new();
    walk(expression, &mut found);
    found
}

/// An unknown column is told with those there are.
fn wrong(operation: &str, table: &Table, error: formula::Error) -> Error {
    match error {
        formula::Error::UnknownColumn(missing) => {
            let names = table.schema().fields().iter().map(|field| field.name().as_str());
            Error::no_column(operation, &missing.name, names)
        }
        error => Error::Formula { operation: operation.into(), error },
    }
}

/// Refuses what an operation that looks at modified rows alone would not keep true.
pub(crate) fn own_row_only(operation: &str, evaluators: &[Evaluator]) -> Result<(), Error> {
    match evaluators.iter().find(|evaluator| evaluator.needs_context()) {
        Some(far) => Err(Error::internal(operation, format!("{} reads beside its row", far.text))),
        None => Ok(()),
    }
}

/// Several expressions over the same rows: each column is read once, and they run in their execution order.
pub fn evaluate_all(evaluators: &[&Evaluator], view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
    let pieces = pieces_of_all(evaluators, view, rows)?;
    pieces.into_iter().map(Chunk::joined).collect()
}

/// As [`evaluate_all`], but each expression gives consecutive chunks that are not joined.
pub fn pieces_of_all(evaluators: &[&Evaluator], view: &View, rows: &RowSet) -> Result<Vec<Vec<Chunk>>, Error> {
    let mut columns: Vec<usize> = evaluators.iter().flat_map(|evaluator| evaluator.inputs()).copied().collect();
    columns.sort_unstable();
    columns.dedup();
    let read = view.read_columns(&columns, rows)?;
    let of = |column: &usize| read[columns.binary_search(column).expect("every input is read")].clone();
    let run = |evaluator: &Evaluator| {
        let mut cells: Vec<Chunk> = evaluator.inputs().iter().map(of).collect();
        for beside in evaluator.bound.context_inputs() {
            cells.push(evaluator.beside(beside, view, rows)?);
        }
        evaluator.pieces_of(&evaluator.bound, &cells, rows)
    };
    run_ordered(evaluators, run)
}
