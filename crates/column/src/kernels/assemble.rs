//! An array from memory that is known to be right: the checks of Arrow would read every cell again.
#![allow(unsafe_code)]

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

/// An array of `len` cells of a fixed width, Booleans or views.
///
/// Callers pass cells that came out of arrays of the same type: whole values, UTF-8 where the type says
/// so, views that lie within `texts`.
pub(crate) fn array(
    data_type: &DataType,
    len: usize,
    values: Buffer,
    nulls: Option<NullBuffer>,
    texts: Vec<Buffer>,
) -> ArrayRef {
    debug_assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == len));
    let builder = ArrayData::builder(data_type.clone()).len(len).nulls(nulls).add_buffer(values).add_buffers(texts);
    if cfg!(test) {
        return make_array(builder.build().expect("cells are whole values of their type"));
    }
    // SAFETY: every cell was taken from a valid array of this type, and views were given the buffers
    // they point into; the tests of this crate check it.
    make_array(unsafe { builder.build_unchecked() })
}
