//! Functions that make lists: of cells side by side, of one cell many times, of numbers in a row.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, UInt64Array};
use arrow_schema::DataType;
use arrow_select::interleave::interleave;
use arrow_select::take::take;

use super::declared::{ANY, FunctionSpec, free, method, named};
use super::list::{Lists, Numbers, listed};
use crate::eval::node::{Argument, Failure, Whole, failure};
use crate::tree::family::Family;
use crate::tree::function::{Function, List};
use crate::tree::payload::Payload;

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    free(Function::List(List::Concat), "concat_list", (1, ANY, "values, or lists of them"), |b, c| {
        b.concat_list(c, concatenated)
    })
    .always(Family::List)
    .shown_by(r#"tf.concat_list("v", "n")"#)
    .in_formulas(&[
        named("enlist", "enlist(1, n)", "a list of the arguments; one that is a list gives its elements"),
        named("array", "array(v)", "the list itself"),
        named("vec", "vec(v)", "the list itself"),
    ]),
    method(Function::List(List::Repeat), "repeat_by", (2, 2, "a value and how often"), |b, c| b.repeat_by(c, repeated))
        .always(Family::List)
        .shown_by(r#"col("n").repeat_by(2)"#)
        .in_formulas(&[named("repeat", "repeat(n, 2)", "a list of the value, so many times")]),
    free(
        Function::List(List::Ranges { closed: false }),
        "int_ranges",
        (2, 3, "where it begins, ends, and a step"),
        |b, c| b.int_ranges(c, ranges),
    )
    .always(Family::List)
    .shown_by(r#"tf.int_ranges(0, "n")"#)
    .in_formulas(&[named("sequence", "sequence(1, 7, 2)", "the numbers from the first to the second, in steps")
        .meaning(Function::List(List::Ranges { closed: true }))]),
];

/// The elements of each argument, or the argument itself where it is no list; null where a list is.
fn concatenated(of_lists: Vec<bool>, element: DataType) -> Whole {
    Arc::new(move |args, rows| {
        let lists: Vec<Option<Lists>> =
            args.iter().zip(&of_lists).map(|(arg, is_list)| is_list.then(|| Lists::of(arg))).collect();
        let cells: Vec<ArrayRef> = args
            .iter()
            .zip(&lists)
            .map(|(arg, lists)| as_stored(lists.as_ref().map_or_else(|| arg.array(), Lists::values), &element))
            .collect::<Result<_, _>>()?;
        let (mut places, mut lengths, mut valid) = (Vec::new(), Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let from = places.len();
            let whole = args.iter().zip(&lists).enumerate().all(|(of, (arg, lists))| match lists {
                Some(lists) => lists.get(row).map(|range| places.extend(range.map(|at| (of, at)))).is_some(),
                None => {
                    places.push((of, if matches!(arg, Argument::One(_)) { 0 } else { row }));
                    true
                }
            });
            if !whole {
                places.truncate(from);
            }
            valid.push(whole);
            lengths.push(places.len() - from);
            if places.len() > MOST_ELEMENTS {
                return Err(too_many(row));
            }
        }
        let cells: Vec<&dyn Array> = cells.iter().map(AsRef::as_ref).collect();
        listed(interleave(&cells, &places).map_err(failure)?, lengths, valid)
    })
}

/// Elements as lists keep them: strings are no views there.
fn as_stored(cells: &ArrayRef, element: &DataType) -> Result<ArrayRef, Failure> {
    if cells.data_type() == element { Ok(cells.clone()) } else { arrow_cast::cast(cells, element).map_err(failure) }
}

/// Elements of the lists of one slice of rows.
const MOST_ELEMENTS: usize = i32::MAX as usize;

fn too_many(row: usize) -> Failure {
    Failure { row, message: "lists of more than 2,147,483,647 elements".to_owned(), payload: None }
}

/// The lengths of lists, none for null, as far as there is memory for them.
fn lengths(
    rows: usize,
    width: u64,
    length: impl Fn(usize) -> Result<Option<usize>, String>,
) -> Result<(Vec<usize>, Vec<bool>), Failure> {
    let (mut lengths, mut valid, mut all) = (Vec::with_capacity(rows), Vec::with_capacity(rows), 0_usize);
    for row in 0..rows {
        let length = length(row).map_err(|message| Failure { row, message, payload: None })?;
        valid.push(length.is_some());
        lengths.push(length.unwrap_or(0));
        all = all.saturating_add(length.unwrap_or(0));
        if all > MOST_ELEMENTS {
            return Err(too_many(row));
        }
    }
    let asked = limits::ask_rows(all as u64, width.max(1));
    asked.map_err(|why| Failure { row: 0, message: why.to_string(), payload: Some(Payload(Arc::new(why))) })?;
    Ok((lengths, valid))
}

/// A value so many times; null where that is.
fn repeated(element: DataType) -> Whole {
    Arc::new(move |args, rows| {
        let (cells, times) = (&args[0], Numbers(&args[1]));
        let length = |row: usize| match times.get(row) {
            Some(times) => {
                let many = usize::try_from(times).map(Some);
                many.map_err(|_| format!("a list of {times} elements"))
            }
            None => Ok(None),
        };
        let (lengths, valid) = lengths(rows, 8, length)?;
        let place = |row: usize| if matches!(cells, Argument::One(_)) { 0 } else { row as u64 };
        let places = lengths.iter().enumerate().flat_map(|(row, many)| std::iter::repeat_n(place(row), *many));
        let places = UInt64Array::from_iter_values(places);
        let cells = as_stored(cells.array(), &element)?;
        listed(take(&cells, &places, None).map_err(failure)?, lengths, valid)
    })
}

/// Numbers from the first argument to the second, in steps of the third; null where one of them is.
fn ranges(closed: bool) -> Whole {
    Arc::new(move |args, rows| {
        let (from, to) = (Numbers(&args[0]), Numbers(&args[1]));
        let by = |row| args.get(2).map_or(Some(1), |by| Numbers(by).get(row));
        let length = |row: usize| match (from.get(row), to.get(row), by(row)) {
            (_, _, Some(0)) => Err("a range in steps of 0".to_owned()),
            (Some(from), Some(to), Some(by)) => {
                let (from, to, by) = (i128::from(from), i128::from(to), i128::from(by));
                let way = (to - from) * by.signum() - i128::from(!closed);
                let many = if way < 0 { 0 } else { way / by.abs() + 1 };
                Ok(Some(usize::try_from(many).unwrap_or(usize::MAX)))
            }
            _ => Ok(None),
        };
        let (lengths, valid) = lengths(rows, 8, length)?;
        let mut numbers = Vec::with_capacity(lengths.iter().sum());
        for (row, many) in lengths.iter().enumerate().filter(|(_, many)| **many > 0) {
            let (from, by) = (from.get(row).unwrap_or(0), by(row).unwrap_or(1));
            numbers.extend((0..*many as i64).map(|at| from + at * by));
        }
        listed(Arc::new(Int64Array::from(numbers)), lengths, valid)
    })
}
