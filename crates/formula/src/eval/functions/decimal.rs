//! Exact arithmetic of decimals. Everything is computed in 256 bits and checked against the
//! precision of the result; a value beyond it is an error of its row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{Array, ArrayRef, Decimal128Array, Decimal256Array};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::DataType;

use super::list::Lists;
use crate::eval::lanes::Unary;
use crate::eval::node::failure;
use crate::eval::node::{Argument, Failure, Whole};
use crate::tree::function::{Function, List};
use crate::tree::types::{decimal_of, type_name};

/// The kernel of an operator and the type of its result; `met` is the decimal type both operands fit.
pub(crate) fn operator(function: Function, a: &DataType, b: &DataType, met: &DataType) -> (Whole, DataType) {
    let ((a_whole, a_scale), (b_whole, b_scale)) = (shape(a), shape(b));
    let scale = a_scale.max(b_scale);
    let wide = matches!(a, DataType::Decimal256(_, _)) || matches!(b, DataType::Decimal256(_, _));
    let (whole, result_scale) = match function {
        Function::Add | Function::Subtract => (a_whole.max(b_whole) + 1, scale),
        Function::Multiply => (a_whole + b_whole, a_scale + b_scale),
        Function::Divide => (a_whole + b_scale, scale.max(6)),
        Function::FloorDivide => (a_whole + b_scale, 0),
        _ => (shape(met).0, scale),
    };
    let result = bounded(whole, result_scale, wide);
    let result_scale = shape(&result).1;
    let output = result.clone();
    let kernel: Whole = Arc::new(move |args, rows| {
        let (a, b) = (Values::of(&args[0])?, Values::of(&args[1])?);
        compute(args, rows, &output, |row| {
            let (a, b) = (a.at(row), b.at(row));
            match function {
                Function::Multiply => Outcome::from(a.checked_mul(b)),
                Function::Divide => divide(a, b, a_scale, b_scale, result_scale),
                _ => aligned(function, raise(a, scale - a_scale), raise(b, scale - b_scale)),
            }
        })
    });
    (kernel, result)
}

fn aligned(function: Function, a: Option<i256>, b: Option<i256>) -> Outcome {
    let (Some(a), Some(b)) = (a, b) else { return Outcome::Overflow };
    match function {
        Function::Add => Outcome::from(a.checked_add(b)),
        Function::Subtract => Outcome::from(a.checked_sub(b)),
        _ if b == i256::ZERO => Outcome::Null,
        Function::FloorDivide => Outcome::Value(floor_divide(a, b)),
        _ => Outcome::Value(a.wrapping_sub(floor_divide(a, b).wrapping_mul(b))),
    }
}

enum Outcome {
    Value(i256),
    Null,
    Overflow,
}

impl From<Option<i256>> for Outcome {
    fn from(value: Option<i256>) -> Outcome {
        value.map_or(Outcome::Overflow, Outcome::Value)
    }
}

/// Division at the result's scale; halves go to the even neighbour; by zero there is no value.
fn divide(a: i256, b: i256, a_scale: i32, b_scale: i32, scale: i32) -> Outcome {
    if b == i256::ZERO {
        return Outcome::Null;
    }
    let shift = scale - a_scale + b_scale;
    let (a, b) = if shift >= 0 { (raise(a, shift), Some(b)) } else { (Some(a), raise(b, -shift)) };
    let (Some(a), Some(b)) = (a, b) else { return Outcome::Overflow };
    Outcome::Value(divide_to_even(a, b))
}

fn divide_to_even(a: i256, b: i256) -> i256 {
    let quotient = a.wrapping_div(b);
    let rest = a.wrapping_rem(b);
    let (twice, size) = (rest.wrapping_abs().wrapping_mul(i256::from_i128(2)), b.wrapping_abs());
    let odd = quotient.wrapping_rem(i256::from_i128(2)) != i256::ZERO;
    if twice > size || (twice == size && odd) {
        let one = if (a < i256::ZERO) == (b < i256::ZERO) { i256::ONE } else { i256::MINUS_ONE };
        return quotient.wrapping_add(one);
    }
    quotient
}

fn floor_divide(a: i256, b: i256) -> i256 {
    let quotient = a.wrapping_div(b);
    let inexact = a.wrapping_rem(b) != i256::ZERO;
    if inexact && (a < i256::ZERO) != (b < i256::ZERO) { quotient.wrapping_sub(i256::ONE) } else { quotient }
}

fn raise(value: i256, places: i32) -> Option<i256> {
    if places <= 0 {
        return Some(value);
    }
    value.checked_mul(power_of_ten(places)?)
}

fn power_of_ten(places: i32) -> Option<i256> {
    i256::from_i128(10).checked_pow(u32::try_from(places).ok()?)
}

/// Negation, absolute value or sign of a decimal.
pub(crate) fn unary(op: Unary, data_type: &DataType) -> Whole {
    let output = data_type.clone();
    let one = power_of_ten(shape(data_type).1).unwrap_or(i256::ONE);
    Arc::new(move |args, rows| {
        let values = Values::of(&args[0])?;
        compute(args, rows, &output, |row| {
            let value = values.at(row);
            Outcome::Value(match op {
                Unary::Negate => value.wrapping_neg(),
                Unary::Abs => value.wrapping_abs(),
                Unary::Sign if value == i256::ZERO => i256::ZERO,
                Unary::Sign if value < i256::ZERO => one.wrapping_neg(),
                Unary::Sign => one,
            })
        })
    })
}

/// Rounding to so many places, or down, or up; the type stays.
pub(crate) fn rounding(function: Function, places: i64, data_type: &DataType) -> Whole {
    let output = data_type.clone();
    let dropped = i64::from(shape(data_type).1).saturating_sub(places).clamp(0, 77);
    let unit = power_of_ten(dropped as i32);
    Arc::new(move |args, rows| {
        let values = Values::of(&args[0])?;
        compute(args, rows, &output, |row| {
            let (value, Some(unit)) = (values.at(row), unit) else { return Outcome::Value(i256::ZERO) };
            let counted = match function {
                Function::Floor => floor_divide(value, unit),
                Function::Ceil => floor_divide(value.wrapping_neg(), unit).wrapping_neg(),
                _ => divide_to_even(value, unit),
            };
            Outcome::from(counted.checked_mul(unit))
        })
    })
}

/// The sum of the decimals of each list, their mean, or that of their sizes, in the type of the column's aggregate: exact, and of a
/// mean what lies in the middle goes away from zero.
pub(crate) fn of_lists(function: List, of: &DataType, output: &DataType) -> Whole {
    let (of, output) = (of.clone(), output.clone());
    let finer = power_of_ten(shape(&output).1 - shape(&of).1).unwrap_or(i256::ONE);
    Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        let cells = arrow_cast::cast(lists.values(), &of).map_err(failure)?;
        let values = Values::of(&Argument::Many(Arc::clone(&cells)))?;
        compute(args, rows, &output, |row| {
            let present = lists.get(row).into_iter().flatten().filter(|place| cells.is_valid(*place));
            let sized = |value: i256| if function == List::AbsMean { value.wrapping_abs() } else { value };
            let mut count = 0;
            let sum = present.map(|place| sized(values.at(place))).try_fold(i256::ZERO, |sum, value| {
                count += 1;
                sum.checked_add(value)
            });
            match (function, sum) {
                (_, None) => Outcome::Overflow,
                (List::Sum, Some(sum)) => Outcome::Value(sum),
                (_, Some(_)) if count == 0 => Outcome::Null,
                (_, Some(sum)) => Outcome::from(mean(sum, i256::from_i128(count), finer)),
            }
        })
    })
}

/// The sum over the count, so much finer.
fn mean(sum: i256, count: i256, finer: i256) -> Option<i256> {
    let (whole, rest) = (sum.wrapping_div(count), sum.wrapping_rem(count).wrapping_mul(finer));
    let (part, left) = (rest.wrapping_div(count), rest.wrapping_rem(count));
    let twice = left.wrapping_abs().wrapping_add(left.wrapping_abs());
    let up = if twice >= count { left.signum() } else { i256::ZERO };
    whole.checked_mul(finer)?.checked_add(part.wrapping_add(up))
}

/// Digits before and after the point.
fn shape(data_type: &DataType) -> (i32, i32) {
    match data_type {
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            (i32::from(*precision) - i32::from(*scale), i32::from(*scale))
        }
        DataType::Int8 | DataType::UInt8 => (3, 0),
        DataType::Int16 | DataType::UInt16 => (5, 0),
        DataType::Int32 | DataType::UInt32 => (10, 0),
        _ => (20, 0),
    }
}

/// The type of a result: of 128 bits when the operands are, as far as its digits go.
fn bounded(whole: i32, scale: i32, wide: bool) -> DataType {
    if wide {
        return decimal_of(whole, scale.min(76), true);
    }
    let scale = scale.min(38);
    decimal_of(whole.min(38 - scale), scale, false)
}

/// Operands as 256-bit numbers.
enum Values {
    Narrow(Decimal128Array),
    Wide(Decimal256Array),
    One(i256),
}

impl Values {
    fn of(argument: &Argument) -> Result<Values, Failure> {
        let array = argument.array();
        let decimals = match array.data_type() {
            DataType::Decimal256(_, _) => Values::Wide(array.as_primitive::<Decimal256Type>().clone()),
            DataType::Decimal128(_, _) => Values::Narrow(array.as_primitive::<Decimal128Type>().clone()),
            _ => {
                let cast = arrow_cast::cast(array, &DataType::Decimal128(20, 0)).map_err(failure)?;
                Values::Narrow(cast.as_primitive::<Decimal128Type>().clone())
            }
        };
        Ok(match argument {
            Argument::Many(_) => decimals,
            Argument::One(_) => Values::One(decimals.at(0)),
        })
    }

    fn at(&self, row: usize) -> i256 {
        match self {
            Values::Narrow(values) => i256::from_i128(values.values()[row]),
            Values::Wide(values) => values.values()[row],
            Values::One(value) => *value,
        }
    }
}

fn compute(
    args: &[Argument],
    rows: usize,
    output: &DataType,
    value: impl Fn(usize) -> Outcome,
) -> Result<ArrayRef, Failure> {
    let rows = if args.iter().any(|arg| matches!(arg, Argument::Many(_))) { rows } else { 1 };
    let (precision, scale) = match output {
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => (*precision, *scale),
        _ => unreachable!("decimals give decimals"),
    };
    let limit = power_of_ten(i32::from(precision)).unwrap_or(i256::MAX);
    let mut values = Vec::with_capacity(rows);
    let mut there = Vec::with_capacity(rows);
    for row in 0..rows {
        let missing = args.iter().any(|arg| match arg {
            Argument::Many(array) => array.is_null(row),
            Argument::One(array) => array.is_null(0),
        });
        let outcome = if missing { Outcome::Null } else { value(row) };
        let (result, is_there) = match outcome {
            Outcome::Value(value) if value < limit && value.wrapping_neg() < limit => (value, true),
            Outcome::Null => (i256::ZERO, false),
            _ => {
                return Err(Failure {
                    row,
                    payload: None,
                    message: format!(
                        "the result has more digits than {} holds; cast to a wider Decimal",
                        type_name(output)
                    ),
                });
            }
        };
        values.push(result);
        there.push(is_there);
    }
    let nulls = Some(NullBuffer::from(there)).filter(|nulls| nulls.null_count() > 0);
    let array: ArrayRef = match output {
        DataType::Decimal128(_, _) => {
            let narrow: Vec<i128> = values.iter().map(|value| value.as_i128()).collect();
            Arc::new(
                Decimal128Array::new(narrow.into(), nulls)
                    .with_precision_and_scale(precision, scale)
                    .map_err(failure)?,
            )
        }
        _ => Arc::new(
            Decimal256Array::new(values.into(), nulls).with_precision_and_scale(precision, scale).map_err(failure)?,
        ),
    };
    Ok(array)
}
