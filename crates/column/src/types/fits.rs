//! Whether cells can be stored at all, asked before anything is.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::error::Error;
use crate::sizes::TEXT_BUFFER;
use crate::types::views::length;

/// Whether each cell of a chunk in its canonical type can be stored. What is stored beside it does not matter.
///
/// # Errors
/// [`Error::TooLong`] with the bytes of the first text that is longer than a buffer may be.
pub fn fits(chunk: &ArrayRef) -> Result<(), Error> {
    let views = match chunk.data_type() {
        DataType::Utf8View => chunk.as_string_view().views(),
        DataType::BinaryView => chunk.as_binary_view().views(),
        _ => return Ok(()),
    };
    let most = TEXT_BUFFER.get();
    let too_long = |(row, view): (usize, &u128)| (length(*view) > most && chunk.is_valid(row)).then(|| length(*view));
    match views.iter().enumerate().find_map(too_long) {
        Some(bytes) => Err(Error::TooLong { bytes, most }),
        None => Ok(()),
    }
}
