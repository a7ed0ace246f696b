//! Texts and bytes with offsets as views of the same buffer: sixteen bytes are read at once, and what is not the text's
//! own is masked away.
#![allow(unsafe_code, reason = "views that need not be checked again")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, ByteArrayType, ByteViewType, StringViewType};
use arrow_array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrow_schema::DataType;

/// Bytes that lie in the view itself.
const INLINE: usize = 12;
const VIEW: usize = size_of::<u128>();

/// The cells of texts or bytes with offsets as views; none for other types, and for offsets that no view holds.
pub(crate) fn to_views(array: &ArrayRef) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::Utf8 => views::<_, StringViewType>(array.as_string::<i32>()),
        DataType::LargeUtf8 => views::<_, StringViewType>(array.as_string::<i64>()),
        DataType::Binary => views::<_, BinaryViewType>(array.as_binary::<i32>()),
        DataType::LargeBinary => views::<_, BinaryViewType>(array.as_binary::<i64>()),
        _ => None,
    }
}

fn views<T: ByteArrayType, V: ByteViewType<Native = T::Native>>(array: &GenericByteArray<T>) -> Option<ArrayRef> {
    let (offsets, bytes) = (array.value_offsets(), array.value_data());
    let last = offsets.last().map_or(0, |last| last.as_usize());
    if i32::try_from(last).is_err() {
        return None;
    }
    let view = |pair: &[T::Offset]| view_of(bytes, pair[0].as_usize(), pair[1].as_usize());
    let views: ScalarBuffer<u128> = offsets.windows(2).map(view).collect();
    let buffers = [array.values().clone()].into();
    // SAFETY: each view is a value of the array: inside the one buffer, and of its bytes' kind.
    let views = unsafe { GenericByteViewArray::<V>::new_unchecked(views, buffers, array.nulls().cloned()) };
    Some(Arc::new(views))
}

/// The view of the bytes between two places of the first buffer.
#[inline(always)]
fn view_of(bytes: &[u8], from: usize, to: usize) -> u128 {
    let length = to - from;
    let start = match bytes.get(from..from + VIEW).and_then(|start| <[u8; VIEW]>::try_from(start).ok()) {
        Some(start) => u128::from_le_bytes(start),
        // The buffer ends before.
        None => {
            let mut start = [0; VIEW];
            let known = length.min(VIEW);
            start[..known].copy_from_slice(&bytes[from..from + known]);
            u128::from_le_bytes(start)
        }
    };
    if length <= INLINE {
        (start & ((1 << (8 * length)) - 1)) << 32 | length as u128
    } else {
        (from as u128) << 96 | u128::from(start as u32) << 32 | length as u128
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, LargeBinaryArray, LargeStringArray, StringArray};

    use super::*;

    #[test]
    fn the_views_are_those_of_arrow() {
        let text = |row: usize| match row % 19 {
            18 => None,
            some => Some("täglich eine Zeile und noch eine".chars().skip(row % 7).take(some * 2).collect::<String>()),
        };
        for rows in [0, 1, 2, 3, 20, 400] {
            let texts = || (0..rows).map(text);
            let bytes = || texts().map(|text| text.map(String::into_bytes));
            let arrays: [ArrayRef; 4] = [
                Arc::new(texts().collect::<StringArray>()),
                Arc::new(texts().collect::<LargeStringArray>()),
                Arc::new(bytes().collect::<BinaryArray>()),
                Arc::new(bytes().collect::<LargeBinaryArray>()),
            ];
            for array in arrays {
                for (from, len) in [(0, rows), (rows / 2, rows / 3), (rows, 0)] {
                    let array = array.slice(from, len);
                    let views = to_views(&array).expect("a type with offsets");
                    views.to_data().validate_full().expect("sound views");
                    let wanted = arrow_cast::cast(&array, views.data_type()).expect("the same values");
                    assert_eq!(&views, &wanted);
                }
            }
        }
    }
}
