//! Stamps: the ordered columns of joins, as numbers.

use arrow_array::Array;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use column::Chunk;

use crate::error::Error;

/// Whether a column of this type can be one.
pub(crate) fn is_stamp(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(data_type, Timestamp(..) | Date32 | Time64(_) | Duration(_) | Float16 | Float32 | Float64)
        || data_type.is_integer()
}

/// Stamps as numbers that order as they do, and which are missing (null or NaN).
pub(crate) fn ordered(cells: &Chunk) -> Result<(Vec<u64>, Option<NullBuffer>), Error> {
    const SIGN: u64 = 1 << 63;
    if matches!(cells.data_type(), DataType::Float16 | DataType::Float32 | DataType::Float64) {
        let values = crate::ops::agg::floats(cells);
        let stamps = values.values().iter().map(|value| crate::ops::agg::order_key(*value)).collect();
        let real: arrow_buffer::BooleanBuffer = values.values().iter().map(|value| !value.is_nan()).collect();
        return Ok((stamps, NullBuffer::union(values.nulls(), Some(&NullBuffer::new(real)))));
    }
    let values = crate::ops::agg::integers(cells);
    let flip = if *cells.data_type() == DataType::UInt64 { 0 } else { SIGN };
    Ok((values.values().iter().map(|value| *value as u64 ^ flip).collect(), values.nulls().cloned()))
}

/// As [`ordered`], with NaN as the greatest number: which are missing is null alone.
pub(super) fn ordered_with_nan(cells: &Chunk) -> Result<(Vec<u64>, Option<NullBuffer>), Error> {
    if !matches!(cells.data_type(), DataType::Float16 | DataType::Float32 | DataType::Float64) {
        return ordered(cells);
    }
    let values = crate::ops::agg::floats(cells);
    let stamp = |value: &f64| if value.is_nan() { u64::MAX } else { crate::ops::agg::order_key(*value) };
    Ok((values.values().iter().map(stamp).collect(), values.nulls().cloned()))
}
