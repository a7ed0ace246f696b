//! Aggregates: their names and the types they give. The engine owns their state.

use arrow_schema::{DataType, TimeUnit};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::types::{is_float, is_integer, is_numeric, is_ordered, type_name};

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
        }
    }

    /// The type of the aggregate over values of type `input`. `len()` ignores `input`.
    pub fn output_type(&self, input: &DataType) -> Result<DataType, Error> {
        let allowed = match self {
            Aggregate::Len | Aggregate::Count | Aggregate::NUnique => return Ok(DataType::Int64),
            Aggregate::First | Aggregate::Last => return Ok(input.clone()),
            Aggregate::Sum { .. } => sum_type(input),
            Aggregate::Mean => mean_type(input),
            Aggregate::Std { .. } | Aggregate::Var { .. } => spread_type(input),
            Aggregate::Min | Aggregate::Max => is_ordered(input).then(|| input.clone()),
            Aggregate::NanMin | Aggregate::NanMax => is_numeric(input).then(|| input.clone()),
        };
        allowed.ok_or_else(|| Error::Type {
            function: self.name().to_owned(),
            types: vec![type_name(input)],
            advice: "cast the column to a number first".to_owned(),
        })
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
        other => is_numeric(other).then_some(Float64),
    }
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
        assert_eq!(of(Aggregate::Max, DataType::Utf8View), DataType::Utf8View);
        let error = sum().output_type(&DataType::Utf8View).unwrap_err().to_string();
        assert_eq!(error, "sum does not take String: cast the column to a number first");
    }
}
