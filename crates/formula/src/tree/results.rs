//! The types of aggregates: of what they take, what they give, or what to do where they do not take it.

use arrow_schema::{DataType, TimeUnit};

use crate::tree::aggregate::Aggregate;
use crate::tree::quantile::Interpolation;
use crate::tree::types::{is_float, is_integer, is_numeric, is_ordered};

const NO_NUMBER: &str = "cast the column to a number first";
const NO_ORDER: &str = "its values have no order; cast the column to a number or to String first";
const NO_BETWEEN: &str =
    "there is nothing between two values that are no numbers; interpolation is nearest, lower or higher";

pub(super) fn counted(_: &Aggregate, _: &DataType) -> Result<DataType, &'static str> {
    Ok(DataType::Int64)
}

pub(super) fn ordered(_: &Aggregate, input: &DataType) -> Result<DataType, &'static str> {
    is_ordered(input).then(|| input.clone()).ok_or(NO_ORDER)
}

pub(super) fn place(_: &Aggregate, input: &DataType) -> Result<DataType, &'static str> {
    is_ordered(input).then_some(DataType::Int64).ok_or(NO_ORDER)
}

pub(super) fn number(_: &Aggregate, input: &DataType) -> Result<DataType, &'static str> {
    is_numeric(input).then(|| input.clone()).ok_or(NO_NUMBER)
}

pub(super) fn sum_type(_: &Aggregate, input: &DataType) -> Result<DataType, &'static str> {
    use DataType::*;
    Ok(match input {
        Boolean | Null => Int64,
        Int8 | Int16 | Int32 | Int64 => Int64,
        UInt8 | UInt16 | UInt32 | UInt64 => UInt64,
        Float16 | Float32 | Float64 => input.clone(),
        Decimal128(_, scale) => Decimal128(38, *scale),
        Decimal256(_, scale) => Decimal256(76, *scale),
        Duration(_) => Duration(TimeUnit::Nanosecond),
        _ => return Err(NO_NUMBER),
    })
}

pub(super) fn mean_type(_: &Aggregate, input: &DataType) -> Result<DataType, &'static str> {
    use DataType::*;
    match input {
        Boolean | Null => Ok(Float64),
        Duration(_) | Timestamp(_, _) => Ok(input.clone()),
        Decimal128(precision, scale) => Ok(Decimal128((precision + 4).min(38), (scale + 4).min(38))),
        Decimal256(precision, scale) => Ok(Decimal256((precision + 4).min(76), (scale + 4).min(76))),
        other => is_numeric(other).then_some(Float64).ok_or(NO_NUMBER),
    }
}

/// Numbers in the middle are Float64; of other values one that is there.
pub(super) fn ranked_type(kind: &Aggregate, input: &DataType) -> Result<DataType, &'static str> {
    let between = match kind {
        Aggregate::Quantile { interpolation, .. } => {
            matches!(interpolation, Interpolation::Midpoint | Interpolation::Linear)
        }
        _ => false,
    };
    match input {
        number if is_numeric(number) || *number == DataType::Null => Ok(DataType::Float64),
        other if !is_ordered(other) => Err(NO_ORDER),
        _ if between => Err(NO_BETWEEN),
        other => Ok(other.clone()),
    }
}

pub(super) fn product_type(_: &Aggregate, input: &DataType) -> Result<DataType, &'static str> {
    use DataType::*;
    Ok(match input {
        Boolean | Null | Int8 | Int16 | Int32 | Int64 => Int64,
        UInt8 | UInt16 | UInt32 | UInt64 => UInt64,
        Float16 | Float32 | Float64 => input.clone(),
        Decimal128(..) | Decimal256(..) => Float64,
        _ => return Err(NO_NUMBER),
    })
}

pub(super) fn spread_type(_: &Aggregate, input: &DataType) -> Result<DataType, &'static str> {
    let fits = is_integer(input) || is_float(input) || is_numeric(input) || *input == DataType::Null;
    fits.then_some(DataType::Float64).ok_or(NO_NUMBER)
}
