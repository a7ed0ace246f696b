//! Aggregates: their names and the types they give. The engine owns their state.

use arrow_schema::{DataType, TimeUnit};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::tree::types::{is_float, is_integer, is_numeric, is_ordered, list_of, type_name};

/// A function of many rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Aggregate {
    /// The number of rows.
    Len,
    /// The number of values that are not null.
    Count,
    /// The sum; null when fewer than `min_count` values are there.
    Sum {
        /// How many values make a sum; 0 makes the sum of nothing 0.
        min_count: u64,
    },
    /// The mean.
    Mean,
    /// The least value; NaN only when nothing else is there.
    Min,
    /// The greatest value; NaN only when nothing else is there.
    Max,
    /// The least value; NaN when there is one.
    NanMin,
    /// The greatest value; NaN when there is one.
    NanMax,
    /// The standard deviation.
    Std {
        /// Subtracted from the count in the divisor.
        ddof: u8,
    },
    /// The variance.
    Var {
        /// Subtracted from the count in the divisor.
        ddof: u8,
    },
    /// The value of the first row, null or not.
    First,
    /// The value of the last row, null or not.
    Last,
    /// The number of distinct values; null counts as one.
    NUnique,
    /// The number of distinct values without null.
    CountDistinct,
    /// The value in the middle: of numbers the mean of the two, of others the lower.
    Median,
    /// The value at a part of the way from the least to the greatest.
    Quantile {
        /// Which part.
        part: Part,
        /// What is taken between two values.
        interpolation: Interpolation,
    },
    /// The product; integers wrap.
    Product,
    /// All values in the order of their rows, null or not, as a list.
    Implode,
    /// The place among the rows of the least value, the first of equals.
    ArgMin,
    /// The place among the rows of the greatest value, the first of equals.
    ArgMax,
}

/// A part of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part(u64);

impl Part {
    /// The middle.
    pub const HALF: Part = Part(0x3fe0_0000_0000_0000);

    /// None unless it lies between 0 and 1.
    pub fn new(part: f64) -> Option<Part> {
        (0.0..=1.0).contains(&part).then(|| Part((part + 0.0).to_bits()))
    }

    /// As a number.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// What a quantile is between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Interpolation {
    /// The nearer one, the later in the middle.
    Nearest,
    /// The lesser.
    Lower,
    /// The greater.
    Higher,
    /// Their mean.
    Midpoint,
    /// As far between them as it lies.
    Linear,
}

impl Interpolation {
    const ALL: [(Interpolation, &'static str); 5] = [
        (Interpolation::Nearest, "nearest"),
        (Interpolation::Lower, "lower"),
        (Interpolation::Higher, "higher"),
        (Interpolation::Midpoint, "midpoint"),
        (Interpolation::Linear, "linear"),
    ];

    /// The one that Python calls `name`.
    pub fn named(name: &str) -> Option<Interpolation> {
        Interpolation::ALL.iter().find(|(_, known)| *known == name).map(|(found, _)| *found)
    }

    /// What Python calls it.
    pub fn name(self) -> &'static str {
        Interpolation::ALL.iter().find(|(known, _)| *known == self).map_or("nearest", |(_, name)| name)
    }
}

impl Aggregate {
    /// The name under which expressions call it.
    pub fn name(&self) -> &'static str {
        match self {
            Aggregate::Len => "len",
            Aggregate::Count => "count",
            Aggregate::Sum { .. } => "sum",
            Aggregate::Mean => "mean",
            Aggregate::Min => "min",
            Aggregate::Max => "max",
            Aggregate::NanMin => "nan_min",
            Aggregate::NanMax => "nan_max",
            Aggregate::Std { .. } => "std",
            Aggregate::Var { .. } => "var",
            Aggregate::First => "first",
            Aggregate::Last => "last",
            Aggregate::NUnique => "n_unique",
            Aggregate::CountDistinct => "count_distinct",
            Aggregate::Median => "median",
            Aggregate::Quantile { .. } => "quantile",
            Aggregate::Product => "product",
            Aggregate::Implode => "implode",
            Aggregate::ArgMin => "arg_min",
            Aggregate::ArgMax => "arg_max",
        }
    }

    /// The type of the aggregate over values of type `input`. `len()` ignores `input`.
    pub fn output_type(&self, input: &DataType) -> Result<DataType, Error> {
        let allowed = match self {
            Aggregate::Len | Aggregate::Count | Aggregate::NUnique | Aggregate::CountDistinct => {
                return Ok(DataType::Int64);
            }
            Aggregate::First | Aggregate::Last => return Ok(input.clone()),
            Aggregate::Implode => return Ok(list_of(input)),
            Aggregate::Sum { .. } => sum_type(input),
            Aggregate::Mean => mean_type(input),
            Aggregate::Std { .. } | Aggregate::Var { .. } => spread_type(input),
            Aggregate::Min | Aggregate::Max => is_ordered(input).then(|| input.clone()),
            Aggregate::NanMin | Aggregate::NanMax => is_numeric(input).then(|| input.clone()),
            Aggregate::Median => ranked_type(input),
            Aggregate::Quantile { interpolation, .. } => {
                let between = matches!(interpolation, Interpolation::Midpoint | Interpolation::Linear);
                ranked_type(input).filter(|made| !between || *made == DataType::Float64)
            }
            Aggregate::Product => product_type(input),
            Aggregate::ArgMin | Aggregate::ArgMax => is_ordered(input).then_some(DataType::Int64),
        };
        allowed.ok_or_else(|| Error::Type {
            function: self.name().to_owned(),
            types: vec![type_name(input)],
            advice: self.advice(input).to_owned(),
        })
    }

    /// What to do where values of this type are not taken.
    fn advice(&self, input: &DataType) -> &'static str {
        match self {
            Aggregate::Quantile { .. } if is_ordered(input) => {
                "there is nothing between two values that are no numbers; interpolation is nearest, lower or higher"
            }
            Aggregate::Min
            | Aggregate::Max
            | Aggregate::Median
            | Aggregate::Quantile { .. }
            | Aggregate::ArgMin
            | Aggregate::ArgMax => "its values have no order; cast the column to a number or to String first",
            _ => "cast the column to a number first",
        }
    }
}

fn sum_type(input: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match input {
        Boolean | Null => Int64,
        Int8 | Int16 | Int32 | Int64 => Int64,
        UInt8 | UInt16 | UInt32 | UInt64 => UInt64,
        Float16 | Float32 | Float64 => input.clone(),
        Decimal128(_, scale) => Decimal128(38, *scale),
        Decimal256(_, scale) => Decimal256(76, *scale),
        Duration(_) => Duration(TimeUnit::Nanosecond),
        _ => return None,
    })
}

fn mean_type(input: &DataType) -> Option<DataType> {
    use DataType::*;
    match input {
        Boolean | Null => Some(Float64),
        Duration(_) | Timestamp(_, _) => Some(input.clone()),
        Decimal128(precision, scale) => Some(Decimal128((precision + 4).min(38), (scale + 4).min(38))),
        Decimal256(precision, scale) => Some(Decimal256((precision + 4).min(76), (scale + 4).min(76))),
        other => is_numeric(other).then_some(Float64),
    }
}

/// Numbers in the middle are Float64; of other values one that is there.
fn ranked_type(input: &DataType) -> Option<DataType> {
    let number = is_numeric(input) || *input == DataType::Null;
    if number { Some(DataType::Float64) } else { is_ordered(input).then(|| input.clone()) }
}

fn product_type(input: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match input {
        Boolean | Null | Int8 | Int16 | Int32 | Int64 => Int64,
        UInt8 | UInt16 | UInt32 | UInt64 => UInt64,
        Float16 | Float32 | Float64 => input.clone(),
        Decimal128(..) | Decimal256(..) => Float64,
        _ => return None,
    })
}

fn spread_type(input: &DataType) -> Option<DataType> {
    let fits = is_integer(input) || is_float(input) || is_numeric(input) || *input == DataType::Null;
    fits.then_some(DataType::Float64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_int64_and_sums_widen() {
        let of = |kind: Aggregate, input| kind.output_type(&input).unwrap();
        let sum = || Aggregate::Sum { min_count: 0 };
        assert_eq!(of(Aggregate::Count, DataType::Utf8View), DataType::Int64);
        assert_eq!(of(sum(), DataType::Int8), DataType::Int64);
        assert_eq!(of(sum(), DataType::UInt8), DataType::UInt64);
        assert_eq!(of(sum(), DataType::Boolean), DataType::Int64);
        assert_eq!(of(sum(), DataType::Float32), DataType::Float32);
        assert_eq!(of(Aggregate::Mean, DataType::Int8), DataType::Float64);
        let decimals = [((5, 2), (9, 6)), ((36, 2), (38, 6)), ((38, 38), (38, 38))];
        for ((precision, scale), (wide, fine)) in decimals {
            let mean = of(Aggregate::Mean, DataType::Decimal128(precision, scale));
            assert_eq!(mean, DataType::Decimal128(wide, fine));
        }
        assert_eq!(of(Aggregate::Mean, DataType::Decimal256(50, 3)), DataType::Decimal256(54, 7));
        assert_eq!(of(Aggregate::Max, DataType::Utf8View), DataType::Utf8View);
        let error = sum().output_type(&DataType::Utf8View).unwrap_err().to_string();
        assert_eq!(error, "sum does not take String: cast the column to a number first");
    }
}
