//! Whether cells can be stored at all, asked before anything is.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;

use crate::cells::{is_long, length};
use crate::texts;
use crate::tree::BLOCK;
use crate::{Chunk, Error};

/// Whether chunks in their canonical type can be stored one after the other in neighbouring rows, wherever the first
/// of them comes to lie: the texts of any 4,096 neighbouring cells fit one block.
///
/// What the block holds already is not looked at: rows of several calls can still be more together than it holds.
///
/// # Errors
/// [`Error::TooLong`] with the bytes of the first such rows that do not fit.
pub fn fits(chunks: &[Chunk]) -> Result<(), Error> {
    let views = chunks.iter().map(|chunk| match chunk.data_type() {
        DataType::Utf8View => Some((chunk, chunk.as_string_view().views())),
        DataType::BinaryView => Some((chunk, chunk.as_binary_view().views())),
        _ => None,
    });
    let Some(views) = views.collect::<Option<Vec<_>>>() else { return Ok(()) };
    let most = texts::surely_fits();
    let bytes = |views: &[u128]| views.iter().map(|view| length(*view)).sum::<usize>();
    if views.iter().map(|(_, views)| bytes(views)).sum::<usize>() <= most {
        return Ok(());
    }
    let lengths = views.iter().flat_map(|(chunk, views)| {
        let long = |(row, view): (usize, &u128)| if is_long(*view) && chunk.is_valid(row) { length(*view) } else { 0 };
        views.iter().enumerate().map(long)
    });
    let lengths: Vec<usize> = lengths.collect();
    let mut together = 0;
    for (at, length) in lengths.iter().enumerate() {
        together += length;
        if let Some(left) = at.checked_sub(BLOCK) {
            together -= lengths[left];
        }
        let first = (at + 1).saturating_sub(BLOCK);
        // Only where the bytes might not fit are they laid out.
        if together > most && !texts::fit(lengths[first..=at].iter().copied().filter(|length| *length > 0)) {
            return Err(Error::TooLong { bytes: together });
        }
    }
    Ok(())
}
