//! Inputs of an expression besides the cells of its own row: neighbours, positions, whole columns, the clock.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, TimestampNanosecondArray, new_null_array};
use column::{Chunk, NO_ROW};
use formula::Bound;
use formula::context::ContextInput;
use rowset::{Positions, RowSet, Span};

use super::Evaluator;
use super::piece::Piece;
use crate::error::Error;
use crate::table::view::View;

impl Evaluator {
    /// The time of the step. Whether what depends on the clock has another value than it had.
    pub fn set_now(&self, nanos: i64) -> Result<bool, Error> {
        let before = self.now.swap(nanos, Ordering::Relaxed);
        if !self.reach.clock || before == nanos {
            return Ok(false);
        }
        self.differs(&self.bound, before, nanos)
    }

    fn differs(&self, bound: &Bound, before: i64, now: i64) -> Result<bool, Error> {
        for beside in bound.context_inputs() {
            let differs = match beside {
                ContextInput::Clock(part) => *self.clock(part, before)? != *self.clock(part, now)?,
                ContextInput::Neighbour { of: part, .. } | ContextInput::Element { index: part, .. } => {
                    self.differs(part, before, now)?
                }
                ContextInput::Part { from, length, .. } => {
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

    /// When what depends on the clock has another value at the earliest; none if it may at any time.
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

    /// What `bound` reads: the cells of columns, then what stands beside the rows.
    pub(super) fn cells(&self, bound: &Bound, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        let mut cells = view.read_columns(bound.inputs(), rows)?;
        for beside in bound.context_inputs() {
            cells.push(self.beside(beside, view, rows)?);
        }
        Ok(cells)
    }

    pub(super) fn beside(&self, beside: &ContextInput, view: &View, rows: &RowSet) -> Result<Chunk, Error> {
        limits::ask_rows(rows.len(), 8)?;
        let len = rows.len() as usize;
        match beside {
            ContextInput::Neighbour { by, of } => self.neighbours(*by, of, view, rows),
            ContextInput::Position => Ok(numbers(view.rows().positions_of(rows).0.spans(), len)),
            ContextInput::RowKey | ContextInput::Draw => Ok(numbers(rows.spans(), len)),
            ContextInput::Rows => Ok(Arc::new(Int64Array::from_value(view.rows().len() as i64, len))),
            ContextInput::Element { column, index } => {
                let places = Chunk::joined(self.pieces_of(index, &self.cells(index, view, rows)?, rows)?)?;
                let key = |place: Option<i64>| {
                    place.and_then(|place| view.rows().key_at(u64::try_from(place).ok()?)).unwrap_or(NO_ROW)
                };
                let keys: Vec<u64> = places.as_primitive::<arrow_array::types::Int64Type>().iter().map(key).collect();
                Ok(view.column(*column)?.take(&keys)?)
            }
            ContextInput::Whole { column, of } => {
                let cells = view.read(*column, view.rows())?;
                let list = crate::eval::lists::list_of(&cells, [cells.len()])?;
                let whole = of.evaluate(&[list], 1);
                Ok(repeated(
                    &whole.map_err(|error| Error::data(&self.operation, format!("{error} in {}", self.text)))?,
                    len,
                )?)
            }
            ContextInput::Part { column, from, length } => {
                let [from, length] =
                    [from, length].map(|of| Chunk::joined(self.pieces_of(of, &self.cells(of, view, rows)?, rows)?));
                crate::eval::lists::parts(view, *column, &from?, &length?)
            }
            ContextInput::Clock(part) => Ok(repeated(&self.clock(part, self.now.load(Ordering::Relaxed))?, len)?),
            ContextInput::Now => Err(Error::internal(&self.operation, "now() outside what depends on the clock alone")),
        }
    }

    /// The values at rows so much earlier; null where there are none.
    fn neighbours(&self, by: i64, of: &Bound, view: &View, rows: &RowSet) -> Result<Chunk, Error> {
        let (all, len) = (view.rows().len(), rows.len());
        let places = view.rows().positions_of(rows).0;
        let far = by.unsigned_abs();
        let (leading, inside) = if by > 0 {
            let leading = places.rank(far);
            (leading, places.slice(leading, len))
        } else {
            (0, places.slice(0, places.rank(all.saturating_sub(far))))
        };
        let found = view.rows().at(&Positions(inside.moved(by.saturating_neg())));
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
}

/// The numbers of spans, each once.
fn numbers(spans: impl Iterator<Item = Span>, len: usize) -> Chunk {
    let mut all: Vec<i64> = Vec::with_capacity(len);
    spans.for_each(|span| all.extend(span.first as i64..=span.last as i64));
    Arc::new(Int64Array::from(all))
}

fn repeated(one: &ArrayRef, len: usize) -> Result<ArrayRef, Error> {
    if one.is_null(0) {
        return Ok(new_null_array(one.data_type(), len));
    }
    Ok(arrow_select::take::take(one, &arrow_array::UInt32Array::from(vec![0; len]), None)?)
}
