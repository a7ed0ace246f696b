//! Chunks put together.

use arrow_array::cast::AsArray;
use arrow_array::{Array, new_empty_array};
use arrow_schema::DataType;

use crate::column::Chunk;
use crate::error::Error;
use crate::sizes::OFFSETS;

/// The cells of all chunks, one after the other. One chunk is itself, without a copy.
pub fn concat(data_type: &DataType, chunks: &[Chunk]) -> Result<Chunk, Error> {
    if let Some(other) = chunks.iter().find(|chunk| chunk.data_type() != data_type) {
        return Err(Error::Type { expected: data_type.clone(), found: other.data_type().clone() });
    }
    match chunks {
        [] => Ok(new_empty_array(data_type)),
        [only] => Ok(only.clone()),
        many => Ok(arrow_select::concat::concat(&many.iter().map(|chunk| chunk.as_ref()).collect::<Vec<_>>())?),
    }
}

/// Arrays of one type as one.
///
/// # Errors
/// [`Error::OneArray`] if their texts are more than the offsets of the type reach.
pub fn one_array(arrays: &[Chunk], data_type: &DataType) -> Result<Chunk, Error> {
    let between =
        |offsets: &[i32]| offsets.last().zip(offsets.first()).map_or(0, |(last, first)| (last - first) as usize);
    let reach = |array: &Chunk| match data_type {
        DataType::Utf8 => between(array.as_string::<i32>().value_offsets()),
        DataType::Binary => between(array.as_binary::<i32>().value_offsets()),
        _ => 0,
    };
    let bytes: usize = if arrays.len() > 1 { arrays.iter().map(reach).sum() } else { 0 };
    if bytes > OFFSETS.get() {
        return Err(Error::OneArray { bytes, to: data_type.clone() });
    }
    concat(data_type, arrays)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array};
    use std::sync::Arc;

    #[test]
    fn chunks_join() {
        let one: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let two: ArrayRef = Arc::new(Int64Array::from(vec![3]));
        let joined = concat(&DataType::Int64, &[one.clone(), two]).unwrap();
        let wanted: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        assert_eq!(&joined, &wanted);
        assert!(Arc::ptr_eq(&concat(&DataType::Int64, std::slice::from_ref(&one)).unwrap(), &one));
        assert_eq!(concat(&DataType::Int64, &[]).unwrap().len(), 0);
        assert!(matches!(concat(&DataType::Int8, &[one]), Err(Error::Type { .. })));
    }
}
