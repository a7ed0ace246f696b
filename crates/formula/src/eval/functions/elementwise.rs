//! Arithmetic of lists, element by element: the operator of the elements is evaluated once for all lists of a chunk.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};

use super::list::Lists;
use crate::eval::bound::Bound;
use crate::eval::node::failure;
use crate::eval::node::{Argument, Failure, Whole};

/// What an argument is: lists, or one value for all elements of a row's list.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// The type of the elements, or of the value.
    pub(crate) of: DataType,
    pub(crate) is_list: bool,
}

/// Lists of `element` of what `operate` makes of the elements; `sides` are its inputs, in order.
pub(crate) fn elementwise(operate: Bound, sides: Vec<Side>, element: DataType) -> Whole {
    Arc::new(move |args, rows| {
        let lists: Vec<Option<Lists>> =
            sides.iter().zip(args).map(|(side, arg)| side.is_list.then(|| Lists::of(arg))).collect();
        let lengths = lengths(&lists, rows)?;
        let count: usize = lengths.iter().flatten().sum();
        let mut inputs = Vec::with_capacity(sides.len());
        for ((side, list), arg) in sides.iter().zip(&lists).zip(args) {
            let elements = match list {
                Some(list) => elements(list, &lengths, count)?,
                None => repeated(arg, &lengths)?,
            };
            let same = *elements.data_type() == side.of;
            inputs.push(if same { elements } else { arrow_cast::cast(&elements, &side.of).map_err(failure)? });
        }
        let values = operate.evaluate(&inputs, count).map_err(|error| Failure {
            row: row_of(&lengths, error.row),
            message: error.message,
            payload: error.payload,
        })?;
        let same = *values.data_type() == element;
        let values = if same { values } else { arrow_cast::cast(&values, &element).map_err(failure)? };
        let field = Arc::new(Field::new_list_field(element.clone(), true));
        let nulls = NullBuffer::from_iter(lengths.iter().map(Option::is_some));
        let offsets = OffsetBuffer::from_lengths(lengths.iter().map(|length| length.unwrap_or(0)));
        let made = ListArray::try_new(field, offsets, values, Some(nulls).filter(|nulls| nulls.null_count() > 0));
        Ok(Arc::new(made.map_err(failure)?) as ArrayRef)
    })
}

/// How many elements each row has, none where a list is null.
fn lengths(lists: &[Option<Lists>], rows: usize) -> Result<Vec<Option<usize>>, Failure> {
    let mut lengths = Vec::with_capacity(rows);
    for row in 0..rows {
        let mut known: Option<usize> = None;
        let mut missing = false;
        for list in lists.iter().flatten() {
            let Some(length) = list.get(row).map(|range| range.len()) else {
                missing = true;
                continue;
            };
            if let Some(other) = known.filter(|other| *other != length) {
                let message = format!(
                    "the lists have {other} and {length} elements; element by element they must have as many, or one \
                     side be a value"
                );
                return Err(Failure { row, message, payload: None });
            }
            known = Some(length);
        }
        lengths.push(known.filter(|_| !missing));
    }
    Ok(lengths)
}

/// The elements of the lists of rows that have a length, one list after the other.
fn elements(list: &Lists, lengths: &[Option<usize>], count: usize) -> Result<ArrayRef, Failure> {
    let ranges =
        || lengths.iter().enumerate().filter(|(_, length)| length.is_some()).filter_map(|(row, _)| list.get(row));
    let (first, last) = (ranges().next(), ranges().next_back());
    let whole: Range<usize> = first.map_or(0, |range| range.start)..last.map_or(0, |range| range.end);
    let ascending = || ranges().zip(ranges().skip(1)).all(|(one, next)| one.end <= next.start);
    if whole.len() == count && ascending() {
        return Ok(list.values().slice(whole.start, count));
    }
    let places = UInt64Array::from_iter_values(ranges().flatten().map(|place| place as u64));
    arrow_select::take::take(list.values(), &places, None).map_err(failure)
}

/// The value of each row once for each element of its list.
fn repeated(value: &Argument, lengths: &[Option<usize>]) -> Result<ArrayRef, Failure> {
    let one = matches!(value, Argument::One(_));
    let of = |(row, length): (usize, &Option<usize>)| {
        std::iter::repeat_n(if one { 0 } else { row as u64 }, length.unwrap_or(0))
    };
    let places = UInt64Array::from_iter_values(lengths.iter().enumerate().flat_map(of));
    arrow_select::take::take(value.array(), &places, None).map_err(failure)
}

/// The row in whose list an element lies.
fn row_of(lengths: &[Option<usize>], element: usize) -> usize {
    let mut end = 0;
    let ends = lengths.iter().map(|length| {
        end += length.unwrap_or(0);
        end
    });
    ends.into_iter().position(|end| element < end).unwrap_or(0)
}
