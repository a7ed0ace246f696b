//! Row sets out of integer arrays of keys, and back; rows chosen by a Boolean mask.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::{BooleanBuffer, Buffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};
use rowset::{MAX_KEY, RowSet};

/// Why an array names no rows.
#[derive(Clone, Debug, thiserror::Error)]
pub enum KeysError {
    /// A key is missing.
    #[error("a row key is 0 … 2^63-1, not null")]
    Null,
    /// A key is negative, or above the top.
    #[error("a row key is 0 … 2^63-1, not {0}")]
    OutOfRange(i128),
    /// It is no array of integers.
    #[error("a RowSet takes an array of integers, not of {0}")]
    Type(DataType),
    /// Arrow refused to widen it.
    #[error(transparent)]
    Arrow(Arc<ArrowError>),
}

/// The rows whose keys an array of integers of any width holds, in any order.
pub fn rows_of_keys(array: &ArrayRef) -> Result<RowSet, KeysError> {
    if array.null_count() > 0 {
        return Err(KeysError::Null);
    }
    let kind = array.data_type();
    if !kind.is_integer() {
        return Err(KeysError::Type(kind.clone()));
    }
    let wide = if kind.is_signed_integer() { DataType::Int64 } else { DataType::UInt64 };
    let cells = arrow_cast::cast(array, &wide).map_err(|error| KeysError::Arrow(Arc::new(error)))?;
    // A negative key is one above the top, read as what it is not.
    let buffer = match wide {
        DataType::Int64 => cells.as_primitive::<Int64Type>().values().inner().clone(),
        _ => cells.as_primitive::<UInt64Type>().values().inner().clone(),
    };
    let keys = buffer.typed_data::<u64>();
    match keys.iter().find(|key| **key > MAX_KEY) {
        Some(bad) if wide == DataType::Int64 => Err(KeysError::OutOfRange(i128::from(*bad as i64))),
        Some(bad) => Err(KeysError::OutOfRange(i128::from(*bad))),
        None if keys.is_sorted_by(|left, right| left < right) => Ok(RowSet::from_sorted_keys(keys)),
        None => Ok(RowSet::from_keys(keys.to_vec())),
    }
}

/// The keys of rows, ascending; none where there is no room for them.
pub fn keys_of_rows(rows: &RowSet) -> Option<Int64Array> {
    limits::ask_rows(rows.len(), 8).ok()?;
    let mut keys = Vec::new();
    keys.try_reserve_exact(usize::try_from(rows.len()).ok()?).ok()?;
    rows.write_keys(&mut keys);
    // A key is at most 2^63-1: the same bits as an int64.
    Some(Int64Array::new(ScalarBuffer::<i64>::from(Buffer::from_vec(keys)), None))
}

/// Of these rows, in key order, those where a mask of as many bits is set.
pub fn matching(rows: &RowSet, mask: &BooleanBuffer) -> RowSet {
    rows.select_mask(mask.values(), mask.offset())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, Int8Array, UInt64Array};

    use super::*;

    fn of(array: impl Array + 'static) -> Result<RowSet, String> {
        rows_of_keys(&(Arc::new(array) as ArrayRef)).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_of_any_width_and_order_come_in_and_leave_as_int64() {
        let rows = of(Int8Array::from(vec![7, 0, 3, 7])).unwrap();
        assert_eq!(rows.to_vec(), [0, 3, 7]);
        assert_eq!(keys_of_rows(&rows).unwrap(), Int64Array::from(vec![0, 3, 7]));
        assert_eq!(of(UInt64Array::from(vec![MAX_KEY])).unwrap(), RowSet::key(MAX_KEY));
        assert_eq!(of(Int64Array::from(Vec::<i64>::new())).unwrap(), RowSet::new());
    }

    #[test]
    fn what_is_no_key_is_named() {
        let texts = [
            of(Int64Array::from(vec![1, -2])),
            of(UInt64Array::from(vec![u64::MAX])),
            of(Int64Array::from(vec![Some(1), None])),
            of(Float64Array::from(vec![1.0])),
        ]
        .map(|result| result.unwrap_err());
        let ends = ["not -2", "not 18446744073709551615", "not null", "not of Float64"];
        assert!(texts.iter().zip(ends).all(|(text, end)| text.ends_with(end)), "{texts:?}");
    }

    #[test]
    fn rows_are_chosen_by_masks_whatever_their_offset() {
        let bits: BooleanBuffer = (0..3000u64).map(|at| at % 3 == 0).collect();
        let wanted: Vec<u64> = (0..2500).filter(|at| (at + 5) % 3 == 0).map(|at| at + 100).collect();
        assert_eq!(matching(&RowSet::range(100, 2599), &bits.slice(5, 2500)).to_vec(), wanted);
    }
}
