//! An expression bound to a table's columns, evaluated over rows of a view: each column is read
//! once, big work is split over the cores, a failing value is named with its row.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, TimestampNanosecondArray, new_null_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::DataType;
use column::{Chunk, NO_ROW};
use formula::{Beside, Bound, Expr, Reach};
use rowset::{Positions, RowSet, Span};

use crate::error::Error;
use crate::faults::Faults;
use crate::table::Table;
use crate::view::View;

/// Rows a thread evaluates at once: large enough to be worth a task, small enough to stay in cache.
const SLICE_ROWS: usize = 1 << 16;
/// The same of many rows that run through one pass that stays in cache by itself: eight-byte values
/// of a slice fill two large pages.
const LARGE_SLICE_ROWS: usize = 1 << 19;

/// The same where a function of the user stands in the expression.
const HOST_ROWS: usize = 1 << 18;
/// The same of one that takes arrays, on one thread: there is nothing to share out. The function makes the result itself,
/// and where a result is asked for in pieces of two megabytes, the system's allocator gives them back when they are
/// free, and clears them anew for the next call.
const HOST_ARRAY_ROWS: usize = 1 << 20;

/// An expression bound to the columns of one table.
pub struct Evaluator {
    bound: Bound,
    name: String,
    text: String,
    /// The columns that it reads, as its user wrote them.
    reads: Vec<String>,
    operation: String,
    plain: Option<usize>,
    faults: Option<Faults>,
    /// As a predicate it asks whether there is a value at all.
    computes: bool,
    reach: Reach,
    turn: Turn,
    /// The start of the step, for what hangs on the clock.
    now: AtomicI64,
}

impl std::fmt::Debug for Evaluator {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Evaluator({})", self.text)
    }
}

/// Who may run beside whom: how one expression stands to the others of its operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Turn {
    /// Rows in order, on one thread.
    pub serial: bool,
    /// Whether a function that does not say so keeps no state.
    pub stateless: bool,
    /// Whether it may run beside others whose rows are in order too.
    pub overlaps: bool,
    /// Barriers that it opens when all its rows are done.
    pub declares: Vec<u64>,
    /// Barriers that it waits for.
    pub respects: Vec<u64>,
}

/// What an evaluation gives, in pieces that can be laid behind each other.
trait Piece: Sized {
    /// What stands for one row without a value.
    fn absent(kind: &DataType) -> Self;
    fn joined(pieces: Vec<Self>) -> Result<Self, Error>;
}

impl Piece for Chunk {
    fn absent(kind: &DataType) -> Chunk {
        new_null_array(kind, 1)
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
        let wrong = |error| wrong(operation, table, error);
        let bound = formula::bind(expression, table.canonical()).map_err(wrong)?;
        let name = expression.output_name().map_err(wrong)?;
        let unnamed = Evaluator::unnamed(operation, bound, expression, table)?;
        let plain = match expression.unaliased() {
            Expr::Column(column) => Some(table.column_index(operation, column)?),
            _ => None,
        };
        Ok(Evaluator { name, plain, ..unnamed })
    }

    /// The same, for a filter: the expression must be Boolean.
    pub fn predicate(operation: &str, expression: &Expr, table: &Table) -> Result<Evaluator, Error> {
        let bound = formula::bind(expression, table.canonical()).map_err(|error| wrong(operation, table, error))?;
        let text = expression.to_python();
        if !matches!(bound.data_type(), DataType::Boolean | DataType::Null) {
            let message = format!(
                "a filter must be Boolean, {text} is {}; compare it with something, or cast it",
                bound.data_type()
            );
            return Err(Error::types(operation, message));
        }
        Evaluator::unnamed(operation, bound, expression, table)
    }

    fn unnamed(operation: &str, bound: Bound, expression: &Expr, table: &Table) -> Result<Evaluator, Error> {
        let reach = bound.reach();
        crate::reach::check(operation, &reach, table)?;
        Ok(Evaluator {
            bound,
            name: String::new(),
            text: expression.to_python(),
            reads: expression.columns().into_iter().map(|name| Expr::column(name).to_python()).collect(),
            operation: operation.into(),
            plain: None,
            faults: None,
            computes: false,
            reach,
            turn: Turn::default(),
            now: AtomicI64::new(0),
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

    /// How it is computed, and what makes it be computed again.
    pub fn explain(&self) -> String {
        let mut how = self.bound.steps().join(", ");
        if self.is_ordered() {
            how.push_str(", rows in order on one thread");
        }
        if self.faults.is_some() {
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
    pub fn reads_beside(&self) -> bool {
        !self.bound.besides().is_empty()
    }

    /// The rows and columns its value hangs on.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The same, in its turn among the others of the operation.
    pub fn in_turn(self, turn: Turn) -> Evaluator {
        Evaluator { turn, ..self }
    }

    /// How it stands to the others of the operation.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Whether its rows are evaluated in order, on one thread.
    pub fn is_ordered(&self) -> bool {
        self.turn.serial || self.bound.is_ordered() || (self.bound.leaves_order_open() && !self.turn.stateless)
    }

    /// Whether it runs beside no other such expression.
    pub fn is_exclusive(&self) -> bool {
        self.is_ordered() && !self.turn.overlaps
    }

    /// Whether a function of the user stands in it.
    pub fn calls_host(&self) -> bool {
        self.bound.calls_host()
    }

    /// The time of the step. Whether what hangs on the clock has another value than it had.
    pub fn set_now(&self, nanos: i64) -> Result<bool, Error> {
        let before = self.now.swap(nanos, Ordering::Relaxed);
        if !self.reach.clock || before == nanos {
            return Ok(false);
        }
        self.differs(&self.bound, before, nanos)
    }

    fn differs(&self, bound: &Bound, before: i64, now: i64) -> Result<bool, Error> {
        for beside in bound.besides() {
            let differs = match beside {
                Beside::Clock(part) => *self.clock(part, before)? != *self.clock(part, now)?,
                Beside::Neighbour { of: part, .. } | Beside::Element { index: part, .. } => {
                    self.differs(part, before, now)?
                }
                Beside::Part { from, length, .. } => {
                    self.differs(from, before, now)? || self.differs(length, before, now)?
                }
                _ => false,
            };
            if differs {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// When what hangs on the clock has another value at the earliest; none if it may at any time.
    pub fn next_change(&self, now: i64) -> Result<Option<i64>, Error> {
        const LONGEST_DAY: i64 = 26 * 3_600_000_000_000;
        if self.reach.instant {
            return Ok(None);
        }
        // A date only grows: the first instant of the next one is found by halves.
        let (mut same, mut other) = (now, now.saturating_add(LONGEST_DAY));
        while other - same > 1 {
            let middle = same + (other - same) / 2;
            if self.differs(&self.bound, now, middle)? { other = middle } else { same = middle }
        }
        Ok(Some(other))
    }

    fn clock(&self, part: &Bound, nanos: i64) -> Result<ArrayRef, Error> {
        let now: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![nanos]).with_timezone("UTC"));
        part.at_time(&now).map_err(|error| Error::data(&self.operation, format!("{error} in {}", self.text)))
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
        if let (Some(_), [cells], true) = (self.plain, cells, std::ptr::eq(bound, &self.bound)) {
            return Ok(vec![cells.clone()]);
        }
        let total = rows.len() as usize;
        let large = total >= 8 * LARGE_SLICE_ROWS && bound.is_one_pass();
        let slice = if large { LARGE_SLICE_ROWS } else { self.slice(total) };
        self.split(cells, rows, (slice, bound.data_type()), |cells, len| bound.evaluate(cells, len))
    }

    /// One value a row of a batch of rows that is no part of a table, on this thread; `keys` name them.
    pub(crate) fn on_batch(&self, cells: &[Chunk], keys: &RowSet) -> Result<Chunk, Error> {
        self.bound.evaluate(cells, keys.len() as usize).map_err(|error| self.at_row(keys, 0, error))
    }

    /// The rows for which it is true; null counts as false.
    pub fn matching(&self, view: &View, rows: &RowSet) -> Result<RowSet, Error> {
        if rows.is_empty() {
            return Ok(RowSet::new());
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
        let parts = crate::par::try_map(true, &masks, |at, mask| {
            let part = rows.slice(starts[at], mask.len() as u64);
            Ok::<RowSet, Error>(column::matching(&part, mask))
        })?;
        Ok(RowSet::union_all(parts.iter()))
    }

    /// What `bound` reads: the cells of columns, then what stands beside the rows.
    fn cells(&self, bound: &Bound, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        let mut cells = view.read_columns(bound.inputs(), rows)?;
        for beside in bound.besides() {
            cells.push(self.beside(beside, view, rows)?);
        }
        Ok(cells)
    }

    fn beside(&self, beside: &Beside, view: &View, rows: &RowSet) -> Result<Chunk, Error> {
        let len = rows.len() as usize;
        match beside {
            Beside::Neighbour { by, of } => self.neighbours(*by, of, view, rows),
            Beside::Position => Ok(numbers(view.rows().positions_of(rows).0.spans(), len)),
            Beside::RowKey | Beside::Draw => Ok(numbers(rows.spans(), len)),
            Beside::Rows => Ok(Arc::new(Int64Array::from_value(view.rows().len() as i64, len))),
            Beside::Element { column, index } => {
                let places = Chunk::joined(self.pieces_of(index, &self.cells(index, view, rows)?, rows)?)?;
                let key = |place: Option<i64>| {
                    place.and_then(|place| view.rows().key_at(u64::try_from(place).ok()?)).unwrap_or(NO_ROW)
                };
                let keys: Vec<u64> = places.as_primitive::<arrow_array::types::Int64Type>().iter().map(key).collect();
                Ok(view.column(*column)?.take(&keys)?)
            }
            Beside::Whole { column, of } => {
                let cells = view.read(*column, view.rows())?;
                let list = crate::arrays::list_of(&cells, [cells.len()])?;
                let whole = of.evaluate(&[list], 1);
                Ok(repeated(
                    &whole.map_err(|error| Error::data(&self.operation, format!("{error} in {}", self.text)))?,
                    len,
                )?)
            }
            Beside::Part { column, from, length } => {
                let [from, length] =
                    [from, length].map(|of| Chunk::joined(self.pieces_of(of, &self.cells(of, view, rows)?, rows)?));
                crate::arrays::parts(view, *column, &from?, &length?)
            }
            Beside::Clock(part) => Ok(repeated(&self.clock(part, self.now.load(Ordering::Relaxed))?, len)?),
            Beside::Now => Err(Error::internal(&self.operation, "now() outside what hangs on the clock alone")),
        }
    }

    /// The values at rows so much earlier; null where there are none.
    fn neighbours(&self, by: i64, of: &Bound, view: &View, rows: &RowSet) -> Result<Chunk, Error> {
        let (all, len) = (view.rows().len(), rows.len());
        let places = view.rows().positions_of(rows).0;
        let far = by.unsigned_abs();
        let (leading, inside) = if by > 0 {
            let leading = places.rank(far);
            (leading, moved(&places.slice(leading, len), -i128::from(far)))
        } else {
            (0, moved(&places.slice(0, places.rank(all.saturating_sub(far))), i128::from(far)))
        };
        let found = view.rows().at(&Positions(inside));
        let mut pieces = Vec::new();
        let nulls = |count: u64| new_null_array(of.data_type(), count as usize);
        if leading > 0 {
            pieces.push(nulls(leading));
        }
        if !found.is_empty() {
            pieces.extend(self.pieces_of(of, &self.cells(of, view, &found)?, &found)?);
        }
        let trailing = len - leading - found.len();
        if trailing > 0 || pieces.is_empty() {
            pieces.push(nulls(trailing));
        }
        Chunk::joined(pieces)
    }

    fn split<R: Piece + Send>(
        &self,
        cells: &[Chunk],
        rows: &RowSet,
        (slice, kind): (usize, &DataType),
        run: impl Fn(&[Chunk], usize) -> Result<R, formula::RowError> + Sync,
    ) -> Result<Vec<R>, Error> {
        let total = rows.len() as usize;
        if total <= SLICE_ROWS || total < 2 * slice {
            return Ok(vec![self.run(cells, rows, (0, total), kind, &run)?]);
        }
        // The last slice takes the rest: none is shorter than the others.
        let starts: Vec<usize> = (0..total / slice).map(|at| at * slice).collect();
        // A function that keeps state sees its rows in order.
        crate::par::try_map(!self.is_ordered(), &starts, |at, start| {
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
        let Some(faults) = &self.faults else { return Err(self.at_row(rows, start, error)) };
        if len == 1 {
            faults.note(
                formula::told_name(&self.name),
                rows.key_at(start as u64).unwrap_or_default(),
                error.to_string(),
            );
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
            (false, _) => SLICE_ROWS,
            (true, true) if self.bound.is_by_row() => HOST_ROWS,
            (true, true) => HOST_ARRAY_ROWS,
            (true, false) => (total / crate::par::threads().max(1)).clamp(SLICE_ROWS, HOST_ROWS),
        }
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

/// An unknown column is told with those there are.
fn wrong(operation: &str, table: &Table, error: formula::Error) -> Error {
    match error {
        formula::Error::UnknownColumn { name, .. } => {
            Error::no_column(operation, &name, table.schema().fields().iter().map(|field| field.name().as_str()))
        }
        error => Error::Formula { operation: operation.into(), error },
    }
}

/// Refuses what an operation that looks at modified rows alone would not keep true.
pub(crate) fn own_row_only(operation: &str, evaluators: &[Evaluator]) -> Result<(), Error> {
    match evaluators.iter().find(|evaluator| evaluator.reads_beside()) {
        Some(far) => Err(Error::internal(operation, format!("{} reads beside its row", far.text))),
        None => Ok(()),
    }
}

/// Several expressions over the same rows: each column is read once, and each expression is in its turn.
pub fn evaluate_all(evaluators: &[&Evaluator], view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
    let pieces = pieces_of_all(evaluators, view, rows)?;
    pieces.into_iter().map(Chunk::joined).collect()
}

/// The same, in consecutive chunks.
pub fn pieces_of_all(evaluators: &[&Evaluator], view: &View, rows: &RowSet) -> Result<Vec<Vec<Chunk>>, Error> {
    let columns: BTreeSet<usize> = evaluators.iter().flat_map(|evaluator| evaluator.inputs()).copied().collect();
    let columns: Vec<usize> = columns.into_iter().collect();
    let read: HashMap<usize, Chunk> = columns.iter().copied().zip(view.read_columns(&columns, rows)?).collect();
    let run = |evaluator: &Evaluator| {
        let mut cells: Vec<Chunk> = evaluator.inputs().iter().map(|column| read[column].clone()).collect();
        for beside in evaluator.bound.besides() {
            cells.push(evaluator.beside(beside, view, rows)?);
        }
        evaluator.pieces_of(&evaluator.bound, &cells, rows)
    };
    crate::turns::in_turns(evaluators, run)
}

/// The numbers of spans, each once.
fn numbers(spans: impl Iterator<Item = Span>, len: usize) -> Chunk {
    let mut all: Vec<i64> = Vec::with_capacity(len);
    spans.for_each(|span| all.extend(span.first as i64..=span.last as i64));
    Arc::new(Int64Array::from(all))
}

/// Positions as many places later, or earlier; all of them stay positions.
fn moved(places: &RowSet, by: i128) -> RowSet {
    let place = |at: u64| u64::try_from(i128::from(at) + by).unwrap_or_default();
    RowSet::from_spans(places.spans().map(|span| Span { first: place(span.first), last: place(span.last) }))
}

fn repeated(one: &ArrayRef, len: usize) -> Result<ArrayRef, Error> {
    if one.is_null(0) {
        return Ok(new_null_array(one.data_type(), len));
    }
    Ok(arrow_select::take::take(one, &arrow_array::UInt32Array::from(vec![0; len]), None)?)
}

/// The plan of an expression, for memo keys and serialised plans.
pub fn plan(expressions: &[Expr]) -> serde_json::Value {
    serde_json::to_value(expressions).unwrap_or_default()
}

/// The same for expressions in turns: what differs in who may run beside whom is another plan.
pub fn plan_in_turns(expressions: &[Expr], turns: &[Turn]) -> serde_json::Value {
    if turns.iter().all(|turn| *turn == Turn::default()) {
        return plan(expressions);
    }
    serde_json::json!([plan(expressions), turns])
}
