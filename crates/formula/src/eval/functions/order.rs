//! Comparison and choice among values that do not lie in lanes: strings, bytes, decimals, lists.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Scalar};
use arrow_buffer::BooleanBuffer;
use arrow_ord::cmp;
use arrow_ord::ord::make_comparator;
use arrow_schema::SortOptions;

use super::list_order::comparable;
use crate::eval::node::{Argument, Failure, Whole, array, failure};
use crate::tree::function::Function;

/// The kernel of a comparison; both sides have one type.
pub(crate) fn comparison(function: Function) -> Whole {
    Arc::new(move |args, _| {
        let (a, b) = (args[0].datum(), args[1].datum());
        let (a, b) = (&*a, &*b);
        let compared = match function {
            Function::Equal => cmp::eq(a, b),
            Function::NotEqual => cmp::neq(a, b),
            Function::Less => cmp::lt(a, b),
            Function::LessEqual => cmp::lt_eq(a, b),
            Function::Greater => cmp::gt(a, b),
            Function::GreaterEqual => cmp::gt_eq(a, b),
            Function::EqualMissing => cmp::not_distinct(a, b),
            _ => cmp::distinct(a, b),
        };
        array(compared)
    })
}

/// The kernel of a comparison of lists of one type: by their first elements that differ, null being the least of all, a
/// prefix before what is longer.
pub(crate) fn comparison_of_lists(function: Function) -> Whole {
    Arc::new(move |args, rows| {
        let place = |at: usize, row: usize| if matches!(args[at], Argument::One(_)) { 0 } else { row };
        let [a, b] = [0, 1].map(|at| comparable(args[at].array()));
        let compare = make_comparator(&a, &b, SortOptions::default()).map_err(failure)?;
        let answer = |row: usize| {
            let (left, right) = (place(0, row), place(1, row));
            let missing = a.is_null(left) || b.is_null(right);
            let found = || compare(left, right);
            match function {
                Function::EqualMissing => Some(found().is_eq()),
                Function::NotEqualMissing => Some(found().is_ne()),
                _ if missing => None,
                Function::Equal => Some(found().is_eq()),
                Function::NotEqual => Some(found().is_ne()),
                Function::Less => Some(found().is_lt()),
                Function::LessEqual => Some(found().is_le()),
                Function::Greater => Some(found().is_gt()),
                _ => Some(found().is_ge()),
            }
        };
        Ok(Arc::new((0..rows).map(answer).collect::<BooleanArray>()))
    })
}

/// Condition, value if it is true, value if it is not.
pub(crate) fn select() -> Whole {
    Arc::new(|args, rows| {
        let condition = args[0].expanded(rows);
        let condition = condition.as_any().downcast_ref::<BooleanArray>().expect("binding gives a Boolean condition");
        zip(condition, &args[1], &args[2])
    })
}

/// The lesser or greater of two values, the one that is there if the other is not.
pub(crate) fn extreme(greatest: bool) -> Whole {
    Arc::new(move |args, rows| {
        let (a, b) = (args[0].datum(), args[1].datum());
        let wins = if greatest { cmp::gt_eq(&*a, &*b) } else { cmp::lt_eq(&*a, &*b) };
        let wins = wins.map_err(failure)?;
        // Where one is missing the comparison is null: the left one is taken if it is there.
        let left = validity(&args[0], rows);
        let right = validity(&args[1], rows);
        let takes_left = &left & &(wins.values() | &!&right);
        zip(&BooleanArray::new(takes_left, None), &args[0], &args[1])
    })
}

fn validity(argument: &Argument, rows: usize) -> BooleanBuffer {
    match argument {
        Argument::One(value) if value.is_null(0) => BooleanBuffer::new_unset(rows),
        Argument::One(_) => BooleanBuffer::new_set(rows),
        Argument::Many(values) => {
            values.logical_nulls().map_or_else(|| BooleanBuffer::new_set(rows), |nulls| nulls.inner().clone())
        }
    }
}

fn zip(condition: &BooleanArray, a: &Argument, b: &Argument) -> Result<ArrayRef, Failure> {
    if condition.len() == 1 {
        // Arrow's kernel takes arrays of the mask's length; one row is both.
        let one = |argument: &Argument| Scalar::new(Arc::clone(argument.array()));
        return arrow_select::zip::zip(condition, &one(a), &one(b)).map_err(failure);
    }
    arrow_select::zip::zip(condition, &*a.datum(), &*b.datum()).map_err(failure)
}
