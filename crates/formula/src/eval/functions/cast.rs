//! Casts that change how values lie in memory: to and from text, decimals, Float16, bytes.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, Time64NanosecondType};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray};
use arrow_cast::display::FormatOptions;
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::DataType;

use super::civil::DAY;
use crate::eval::node::failure;
use crate::eval::node::{Failure, Whole};
use crate::tree::types::{DURATION, type_name};

/// The kernel of a cast, if there is one. A value that does not fit is an error or, not strict, null.
pub(crate) fn kernel(from: &DataType, to: &DataType, strict: bool) -> Option<Whole> {
    if *from == DataType::Utf8View && *to == DURATION {
        return Some(super::parse::duration(strict));
    }
    if !can_cast_types(from, to) {
        return None;
    }
    let to = to.clone();
    Some(Arc::new(move |args, _| {
        let input = args[0].array();
        if strict && to.is_nested() {
            // What does not fit inside a cell leaves no null that could be seen from outside.
            return whole(input, &to);
        }
        let options = CastOptions { safe: true, format_options: FormatOptions::default() };
        let cast = within_a_day(cast_with_options(input, &to, &options).map_err(failure)?);
        if strict && cast.null_count() > input.logical_null_count() {
            let lost = (0..input.len()).find(|row| cast.is_null(*row) && !is_null(input, *row));
            if let Some(row) = lost {
                return Err(no_value(row, &to));
            }
        }
        Ok(cast)
    }))
}

/// Whole numbers of ticks as instants or durations; null where they leave the range of nanoseconds.
pub(crate) fn ticks(factor: i64, to: DataType) -> Whole {
    Arc::new(move |args, _| {
        let counted = args[0].array().as_primitive::<Int64Type>();
        let nanoseconds: Int64Array = counted.unary_opt(|count| count.checked_mul(factor));
        cast_with_options(&nanoseconds, &to, &CastOptions::default()).map_err(failure)
    })
}

/// Times of day: a number that is none is null.
fn within_a_day(cast: ArrayRef) -> ArrayRef {
    let Some(times) = cast.as_primitive_opt::<Time64NanosecondType>() else { return cast };
    if times.iter().flatten().all(|time| (0..DAY).contains(&time)) {
        return cast;
    }
    let within: PrimitiveArray<Time64NanosecondType> = times.unary_opt(|time| (0..DAY).contains(&time).then_some(time));
    Arc::new(within)
}

fn no_value(row: usize, to: &DataType) -> Failure {
    let message = format!("the value is no {}; cast with strict=False for null instead", type_name(to));
    Failure { row, payload: None, message }
}

fn whole(input: &ArrayRef, to: &DataType) -> Result<ArrayRef, Failure> {
    let options = CastOptions { safe: false, format_options: FormatOptions::default() };
    cast_with_options(input, to, &options).map_err(|error| {
        let fails = |row: &usize| cast_with_options(&input.slice(*row, 1), to, &options).is_err();
        (0..input.len()).find(fails).map_or_else(|| failure(error), |row| no_value(row, to))
    })
}

fn is_null(array: &dyn Array, row: usize) -> bool {
    array.logical_nulls().is_some_and(|nulls| nulls.is_null(row))
}
