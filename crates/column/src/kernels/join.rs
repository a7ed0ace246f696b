//! Chunks put together and thinned out.

use arrow_array::{Array, BooleanArray, new_empty_array};
use arrow_schema::DataType;

use crate::column::Chunk;
use crate::error::Error;

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

/// The cells where `keep` is true; null counts as false.
pub fn chunk_filter(chunk: &Chunk, keep: &BooleanArray) -> Result<Chunk, Error> {
    if keep.null_count() == 0 && keep.true_count() == chunk.len() {
        return Ok(chunk.clone());
    }
    Ok(arrow_select::filter::filter(chunk, keep)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array};
    use std::sync::Arc;

    #[test]
    fn chunks_join_and_thin_out() {
        let one: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let two: ArrayRef = Arc::new(Int64Array::from(vec![3]));
        let joined = concat(&DataType::Int64, &[one.clone(), two]).unwrap();
        let wanted: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        assert_eq!(&joined, &wanted);
        assert!(Arc::ptr_eq(&concat(&DataType::Int64, std::slice::from_ref(&one)).unwrap(), &one));
        assert_eq!(concat(&DataType::Int64, &[]).unwrap().len(), 0);
        assert!(matches!(concat(&DataType::Int8, &[one]), Err(Error::Type { .. })));
        let kept = chunk_filter(&joined, &BooleanArray::from(vec![Some(true), None, Some(true)])).unwrap();
        let wanted: ArrayRef = Arc::new(Int64Array::from(vec![1, 3]));
        assert_eq!(&kept, &wanted);
    }
}
