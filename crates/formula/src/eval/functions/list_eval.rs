//! `list.eval`: what is computed of the elements of lists, all lists of a chunk at once.
//!
//!   [3, 1] null [5]      element() - element().mean()
//!   elements  3 1 5      means 2 5      of each  2 2 5      result  [1, -1] null [0]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, ListArray, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};

use super::list::{Lists, rebuilt};
use crate::error::RowError;
use crate::eval::bound::Bound;
use crate::eval::node::{Failure, Whole, failure};
use crate::tree::types::stored;

/// What is computed of elements: columns beside them, and the result over these.
pub(crate) struct Program {
    /// The type of an element.
    pub(crate) of: DataType,
    pub(crate) columns: Vec<Column>,
    pub(crate) result: Bound,
    /// Whether the result is one value a list.
    pub(crate) single: bool,
    pub(crate) keep: Option<Bound>,
    /// The type of the elements of the result, as they are stored.
    pub(crate) element: DataType,
}

/// A column beside the elements, over those before it.
pub(crate) struct Column {
    pub(crate) inputs: Vec<Bound>,
    pub(crate) part: Part,
    /// Whether it has one value a list.
    pub(crate) one: bool,
    pub(crate) data_type: DataType,
}

/// What a column is of its inputs.
pub(crate) enum Part {
    /// What an expression makes of the inputs as lists.
    Lists { of_lists: Bound },
    /// The value so many elements earlier in the same list.
    Shift { by: i64 },
}

/// The lists of a chunk: where each ends, and in which list each element stands.
struct Shape {
    offsets: OffsetBuffer<i32>,
    nulls: Option<NullBuffer>,
    parents: UInt64Array,
}

/// A column: a value for each element, and if there is one a list those.
struct Cells {
    each: ArrayRef,
    one: Option<ArrayRef>,
}

pub(crate) fn kernel(program: Program) -> Whole {
    Arc::new(move |args, rows| program.run(&args[0].expanded(rows)))
}

impl Program {
    fn run(&self, lists: &ArrayRef) -> Result<ArrayRef, Failure> {
        let (shape, elements) = Shape::of(lists, &self.of)?;
        let mut cells = vec![Cells { each: elements, one: None }];
        for column in &self.columns {
            let made = column.cells(&shape, &cells)?;
            cells.push(made);
        }
        if self.single {
            let values = shape.of_lists(&self.result, &cells)?;
            return self.listed(values, shape.singles(), &shape);
        }
        let values = shape.of_elements(&self.result, &cells)?;
        let Some(keep) = &self.keep else { return self.listed(values, shape.offsets.clone(), &shape) };
        let kept = shape.mask(keep, &cells)?;
        let lengths = shape.offsets.windows(2).map(|ends| {
            let range = ends[0] as usize..ends[1] as usize;
            range.filter(|at| kept.value(*at)).count()
        });
        let lengths = OffsetBuffer::from_lengths(lengths);
        self.listed(arrow_select::filter::filter(&values, &kept).map_err(failure)?, lengths, &shape)
    }

    fn listed(&self, values: ArrayRef, offsets: OffsetBuffer<i32>, shape: &Shape) -> Result<ArrayRef, Failure> {
        let values = as_type(values, &self.element)?;
        // Of a null list there is no value.
        let values = match self.single {
            true => arrow_select::take::take(&values, &shape.valid(), None).map_err(failure)?,
            false => values,
        };
        let field = Arc::new(Field::new_list_field(self.element.clone(), true));
        let made = ListArray::try_new(field, offsets, values, shape.nulls.clone());
        Ok(Arc::new(made.map_err(failure)?))
    }
}

impl Column {
    fn cells(&self, shape: &Shape, cells: &[Cells]) -> Result<Cells, Failure> {
        let inputs = self.inputs.iter().map(|input| shape.of_elements(input, cells)).collect::<Result<Vec<_>, _>>()?;
        match &self.part {
            Part::Shift { by } => {
                let each = arrow_select::take::take(&inputs[0], &shape.shifted(*by), None).map_err(failure)?;
                Ok(Cells { each, one: None })
            }
            Part::Lists { of_lists } => {
                let lists = of_lists.inputs().iter().map(|at| shape.list(Arc::clone(&inputs[*at])));
                let lists = lists.collect::<Result<Vec<_>, _>>()?;
                let made = of_lists.evaluate(&lists, shape.rows()).map_err(|error| Failure {
                    row: error.row,
                    message: error.message,
                    payload: error.payload,
                })?;
                if self.one {
                    let made = as_type(made, &self.data_type)?;
                    let each = arrow_select::take::take(&made, &shape.parents, None).map_err(failure)?;
                    return Ok(Cells { each, one: Some(made) });
                }
                let (of_made, each) = Shape::of(&made, &self.data_type)?;
                if of_made.offsets != shape.offsets {
                    let message = "a function of lists gave lists of another length".to_owned();
                    return Err(Failure { row: 0, message, payload: None });
                }
                Ok(Cells { each, one: None })
            }
        }
    }
}

impl Shape {
    /// The shape of lists, and their elements, one behind the other.
    fn of(lists: &ArrayRef, element: &DataType) -> Result<(Shape, ArrayRef), Failure> {
        let list = lists.as_list::<i32>();
        let is_hidden = |row: usize| list.is_null(row) && list.value_length(row) > 0;
        let compact = match list.nulls() {
            Some(_) if (0..list.len()).any(is_hidden) => {
                let argument = crate::eval::node::Argument::Many(Arc::clone(lists));
                rebuilt(&Lists::of(&argument), list.len(), |_, range| Some(range.collect()))?
            }
            _ => Arc::clone(lists),
        };
        let list = compact.as_list::<i32>();
        let (first, last) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
        let offsets: Vec<i32> = list.value_offsets().iter().map(|offset| offset - first).collect();
        let elements = list.values().slice(first as usize, (last - first) as usize);
        let offsets = OffsetBuffer::new(offsets.into());
        let rows = offsets.windows(2).enumerate();
        let parents = rows.flat_map(|(row, ends)| std::iter::repeat_n(row as u64, (ends[1] - ends[0]) as usize));
        let parents = UInt64Array::from_iter_values(parents);
        Ok((Shape { offsets, nulls: list.nulls().cloned(), parents }, as_type(elements, element)?))
    }

    fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// One value for each list that is there.
    fn singles(&self) -> OffsetBuffer<i32> {
        let there = |row: usize| usize::from(self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)));
        OffsetBuffer::from_lengths((0..self.rows()).map(there))
    }

    fn valid(&self) -> Int64Array {
        let there = |row: &usize| self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        (0..self.rows()).filter(there).map(|row| row as i64).collect()
    }

    /// Elements as the lists they stand in.
    fn list(&self, elements: ArrayRef) -> Result<ArrayRef, Failure> {
        let wanted = stored(elements.data_type());
        let elements = as_type(elements, &wanted)?;
        let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
        let made = ListArray::try_new(field, self.offsets.clone(), elements, self.nulls.clone());
        Ok(Arc::new(made.map_err(failure)?))
    }

    /// For each element the place of the one so many before it in its list.
    fn shifted(&self, by: i64) -> Int64Array {
        let places = self.offsets.windows(2).flat_map(|ends| {
            let (from, to) = (i64::from(ends[0]), i64::from(ends[1]));
            (from..to).map(move |at| at.checked_sub(by).filter(|at| (from..to).contains(at)))
        });
        places.collect()
    }

    fn of_elements(&self, bound: &Bound, cells: &[Cells]) -> Result<ArrayRef, Failure> {
        let inputs: Vec<ArrayRef> = bound.inputs().iter().map(|at| Arc::clone(&cells[*at].each)).collect();
        bound.evaluate(&inputs, self.parents.len()).map_err(|error| self.failed(error))
    }

    fn mask(&self, bound: &Bound, cells: &[Cells]) -> Result<BooleanArray, Failure> {
        let inputs: Vec<ArrayRef> = bound.inputs().iter().map(|at| Arc::clone(&cells[*at].each)).collect();
        let mask = bound.evaluate_mask(&inputs, self.parents.len()).map_err(|error| self.failed(error))?;
        Ok(BooleanArray::new(mask, None))
    }

    fn of_lists(&self, bound: &Bound, cells: &[Cells]) -> Result<ArrayRef, Failure> {
        let one = |at: &usize| cells[*at].one.clone().unwrap_or_else(|| Arc::clone(&cells[*at].each));
        let inputs: Vec<ArrayRef> = bound.inputs().iter().map(one).collect();
        bound.evaluate(&inputs, self.rows()).map_err(|RowError { row, value, message, expression, payload }| {
            let message = if value.is_empty() { message } else { format!("{value} {message} in {expression}") };
            Failure { row, message, payload }
        })
    }

    /// What failed of an element, told of its list.
    fn failed(&self, error: RowError) -> Failure {
        let RowError { row, value, message, expression, payload } = error;
        let parent = self.parents.values().get(row).map_or(0, |parent| *parent as usize);
        let place = row - self.offsets[parent] as usize;
        let value = if value.is_empty() { value } else { format!(" {value}") };
        Failure { row: parent, message: format!("element {place}:{value} {message} in {expression}"), payload }
    }
}

fn as_type(cells: ArrayRef, wanted: &DataType) -> Result<ArrayRef, Failure> {
    if cells.data_type() == wanted { Ok(cells) } else { arrow_cast::cast(&cells, wanted).map_err(failure) }
}
