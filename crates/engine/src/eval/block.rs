//! A block of rows on its way through predicates and computed columns: each column is read once, a computed one is computed once,
//! and what is read late is read of the rows that are left.
//!
//!   rows       0 1 2 3 4 5 6 7
//!   a > 1      . x . . x . x .       few are left: they are picked, and what follows is three cells long
//!   b < 2              x   x         read of 1, 4 and 6 alone
//!   sum(c)             c   c
//!
//! While many are left all are evaluated, and what is not wanted is masked: that is cheaper than to pick them.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use column::kernels::gather_rows;
use column::{Chunk, Coded, Column, ColumnSource};
use rowset::RowSet;

use crate::error::Error;
use crate::eval::computed::ComputedSource;
use crate::eval::evaluator::Evaluator;
use crate::sizes::PICKED_SHARE;
use crate::table::view::View;

/// One row in so many, or fewer, is picked by its place.
const PLACED_SHARE: usize = 8;

/// Some rows of a table, fewer with each predicate.
pub(crate) struct Block {
    all: RowSet,
    /// Whether computed columns are computed here, each once; else their columns are read.
    inline: bool,
    /// How many rows are evaluated: all, or those that were picked.
    len: usize,
    /// Which of those are left, if not all.
    left: Option<BooleanBuffer>,
    /// How those that were picked are picked of the cells of all rows.
    picked: Option<Arc<Pick>>,
    /// How they were picked, one time after the other.
    picks: Vec<Arc<Pick>>,
    cells: Vec<Cells>,
}

/// Some of the rows, few or most of them.
enum Pick {
    /// By their places, ascending.
    Few(UInt32Array),
    /// By a bit for each.
    Most(BooleanBuffer, RowSet),
}

impl Pick {
    /// Those that are set, which are so many.
    fn of(mask: BooleanBuffer, count: usize) -> Pick {
        if PLACED_SHARE * count > mask.len() {
            let rows = column::matching(&RowSet::flat(mask.len() as u64), &mask);
            return Pick::Most(mask, rows);
        }
        let mut places = Vec::with_capacity(count);
        places.extend(mask.set_indices().map(|place| place as u32));
        Pick::Few(places.into())
    }

    /// Of the rows that this picks, out of so many, those that another one picks of them.
    fn then(&self, next: &Pick, of: usize) -> Pick {
        let (own, next) = (self.places(), next.places());
        let both: Vec<u32> = next.iter().map(|place| own[*place as usize]).collect();
        if PLACED_SHARE * both.len() > of { Pick::of(bits(&both, of), both.len()) } else { Pick::Few(both.into()) }
    }

    fn places(&self) -> Cow<'_, [u32]> {
        match self {
            Pick::Few(places) => Cow::Borrowed(places.values()),
            Pick::Most(mask, _) => mask.set_indices().map(|place| place as u32).collect(),
        }
    }

    fn cells(&self, cells: &Chunk) -> Result<Chunk, Error> {
        Ok(match self {
            Pick::Few(places) => arrow_select::take::take(cells, places, None)?,
            Pick::Most(_, rows) => gather_rows(cells, 0, rows)?,
        })
    }
}

/// So many bits, these of them set.
fn bits(places: &[u32], len: usize) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(len);
    bits.append_n(len, false);
    places.iter().for_each(|place| bits.set_bit(*place as usize, true));
    bits.finish()
}

/// Cells of a column, as they were before the rows were picked once more.
struct Cells {
    source: usize,
    picks: usize,
    held: Held,
}

enum Held {
    Plain(Chunk),
    Coded(Coded),
}

impl Held {
    fn pick(&mut self, pick: &Pick) -> Result<(), Error> {
        match self {
            Held::Plain(cells) => *cells = pick.cells(cells)?,
            Held::Coded(coded) => {
                let codes = pick.cells(&(Arc::new(coded.codes.clone()) as Chunk))?;
                coded.codes = codes.as_primitive::<Int32Type>().clone();
            }
        }
        Ok(())
    }
}

fn address(source: &Arc<dyn ColumnSource>) -> usize {
    Arc::as_ptr(source).cast::<u8>() as usize
}

impl Block {
    /// All of these rows. Only of a table that never changes may computed columns be computed here.
    pub(crate) fn new(all: RowSet, inline: bool) -> Block {
        let len = all.len() as usize;
        Block { all, inline, len, left: None, picked: None, picks: Vec::new(), cells: Vec::new() }
    }

    /// Leaves out the rows for which a predicate is not true.
    pub(crate) fn narrow(&mut self, view: &View, predicate: &Evaluator) -> Result<(), Error> {
        if !predicate.is_total() {
            // It must not see a row that did not come so far.
            self.compact();
        }
        if self.len == 0 {
            return Ok(());
        }
        let coded = match predicate.of_values() {
            Some(column) => self.coded(view.source(column), view.column(column)?.as_ref())?,
            None => None,
        };
        let mask = match coded.and_then(|coded| predicate.mask_of_codes(&coded)) {
            Some(mask) => mask,
            None => {
                let cells = predicate.inputs().iter().map(|column| self.column(view, *column));
                predicate.mask_of_batch(&cells.collect::<Result<Vec<Chunk>, Error>>()?, &self.all, self.len)?
            }
        };
        let left = match self.left.take() {
            Some(left) => &left & &mask,
            None => mask,
        };
        let count = left.count_set_bits();
        self.left = (count < self.len).then_some(left);
        if count * PICKED_SHARE.get() <= self.len {
            self.compact();
        }
        Ok(())
    }

    /// Picks the rows that are left: cells read from here on are theirs alone. How many there are.
    pub(crate) fn compact(&mut self) -> usize {
        let Some(left) = self.left.take() else { return self.len };
        self.len = left.count_set_bits();
        let pick = Arc::new(Pick::of(left, self.len));
        self.picked = Some(match self.picked.take() {
            None => pick.clone(),
            Some(before) => Arc::new(before.then(&pick, self.all.len() as usize)),
        });
        self.picks.push(pick);
        self.len
    }

    /// How many rows are left.
    pub(crate) fn many(&self) -> u64 {
        self.left.as_ref().map_or(self.len, BooleanBuffer::count_set_bits) as u64
    }

    /// How many rows are evaluated, and which of them are left if not all.
    pub(crate) fn left(&self) -> (usize, Option<&BooleanBuffer>) {
        (self.len, self.left.as_ref())
    }

    /// A bit for each row, set for those that are left.
    pub(crate) fn mask(&self) -> BooleanBuffer {
        let len = self.all.len() as usize;
        let Some(picked) = &self.picked else {
            return self.left.clone().unwrap_or_else(|| BooleanBuffer::new_set(len));
        };
        let places = picked.places();
        match &self.left {
            None => bits(&places, len),
            Some(left) => bits(&left.set_indices().map(|at| places[at]).collect::<Vec<u32>>(), len),
        }
    }

    /// The rows that are left, by their keys.
    pub(crate) fn rows(&self) -> RowSet {
        let all = self.picked.is_none() && self.left.is_none();
        if all { self.all.clone() } else { column::matching(&self.all, &self.mask()) }
    }

    /// The cells of a column of a view over the rows of the block.
    pub(crate) fn column(&mut self, view: &View, column: usize) -> Result<Chunk, Error> {
        self.read(view.source(column), || view.column(column).cloned(), view)
    }

    /// The values of an expression over the columns of a view.
    pub(crate) fn evaluate(&mut self, view: &View, expression: &Evaluator) -> Result<Chunk, Error> {
        let cells = expression.inputs().iter().map(|column| self.column(view, *column));
        let cells = cells.collect::<Result<Vec<Chunk>, Error>>()?;
        expression.of_batch(&cells, &self.all, self.len)
    }

    fn read(
        &mut self,
        source: &Arc<dyn ColumnSource>,
        pinned: impl FnOnce() -> Result<Arc<dyn Column>, Error>,
        view: &View,
    ) -> Result<Chunk, Error> {
        if let Some(at) = self.known(source)? {
            let cells = match &self.cells[at].held {
                Held::Plain(cells) => return Ok(cells.clone()),
                Held::Coded(coded) => coded.cells()?,
            };
            self.cells[at].held = Held::Plain(cells.clone());
            return Ok(cells);
        }
        let computed = source.as_any().downcast_ref::<ComputedSource>().filter(|_| self.inline);
        let chunk = match computed.map(ComputedSource::parts).filter(|(of, _)| !of.needs_context()) {
            Some((expression, sources)) => self.computed(expression, sources, view)?,
            None => {
                let column = pinned()?;
                // Of rows that were picked no others are made cells.
                if self.picked.is_some()
                    && let Some(coded) = self.coded(source, column.as_ref())?
                {
                    let cells = coded.cells()?;
                    self.hold(source, Held::Plain(cells.clone()));
                    return Ok(cells);
                }
                let cells = column.read(&self.all)?;
                match &self.picked {
                    Some(picked) => picked.cells(&cells)?,
                    None => cells,
                }
            }
        };
        self.hold(source, Held::Plain(chunk.clone()));
        Ok(chunk)
    }

    /// The cells of a column of the table as codes of the rows that were picked, where they are codes.
    fn coded(&mut self, source: &Arc<dyn ColumnSource>, column: &dyn Column) -> Result<Option<Coded>, Error> {
        if let Some(at) = self.known(source)? {
            return Ok(match &self.cells[at].held {
                Held::Plain(_) => None,
                Held::Coded(coded) => Some(coded.clone()),
            });
        }
        let Some(coded) = column.read_coded(&self.all)? else { return Ok(None) };
        let mut held = Held::Coded(coded);
        if let Some(picked) = &self.picked {
            held.pick(picked)?;
        }
        self.hold(source, held);
        self.coded(source, column)
    }

    /// Where cells of a column are held, of the rows that are evaluated.
    fn known(&mut self, source: &Arc<dyn ColumnSource>) -> Result<Option<usize>, Error> {
        let address = address(source);
        let Some(at) = self.cells.iter().position(|known| known.source == address) else { return Ok(None) };
        let known = &mut self.cells[at];
        for pick in &self.picks[known.picks..] {
            known.held.pick(pick)?;
        }
        known.picks = self.picks.len();
        Ok(Some(at))
    }

    /// Holds the cells of a column, of the rows that are evaluated.
    fn hold(&mut self, source: &Arc<dyn ColumnSource>, held: Held) {
        let source = address(source);
        self.cells.retain(|known| known.source != source);
        self.cells.push(Cells { source, picks: self.picks.len(), held });
    }

    fn computed(
        &mut self,
        expression: &Evaluator,
        sources: &[Arc<dyn ColumnSource>],
        view: &View,
    ) -> Result<Chunk, Error> {
        let gone = |_| Error::internal("view", "a column was read after its moment was gone");
        let mut cells = Vec::with_capacity(expression.inputs().len());
        for column in expression.inputs() {
            let source = &sources[*column];
            cells.push(self.read(source, || source.at(view.moment()).map_err(gone), view)?);
        }
        expression.of_batch(&cells, &self.all, self.len)
    }
}
