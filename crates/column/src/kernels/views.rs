//! Texts and bytes with offsets as views of the same buffer, and back: sixteen bytes are read at once, or twelve written,
//! and what is not the text's own is masked away, or written over.
#![allow(unsafe_code, reason = "views that need not be checked again")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, LargeBinaryType, LargeUtf8Type, StringViewType, Utf8Type,
};
use arrow_array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{ArrowNativeType, Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;

/// Bytes that lie in the view itself.
const INLINE: usize = 12;
const VIEW: usize = size_of::<u128>();
/// By the length of a short text: the bits that are its own.
const OWN: [u128; INLINE + 1] = {
    let mut own = [0; INLINE + 1];
    let mut length = 0;
    while length <= INLINE {
        own[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    own
};

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
        (start & OWN[length]) << 32 | length as u128
    } else {
        (from as u128) << 96 | u128::from(start as u32) << 32 | length as u128
    }
}

/// The cells of views as texts or bytes with offsets; none for other types, and for more bytes than the offsets reach.
pub(crate) fn from_views(array: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    match (array.data_type(), to) {
        (DataType::Utf8View, DataType::Utf8) => texts::<_, Utf8Type>(array.as_string_view()),
        (DataType::Utf8View, DataType::LargeUtf8) => texts::<_, LargeUtf8Type>(array.as_string_view()),
        (DataType::BinaryView, DataType::Binary) => texts::<_, BinaryType>(array.as_binary_view()),
        (DataType::BinaryView, DataType::LargeBinary) => texts::<_, LargeBinaryType>(array.as_binary_view()),
        _ => None,
    }
}

fn texts<V: ByteViewType<Native = T::Native>, T: ByteArrayType>(array: &GenericByteViewArray<V>) -> Option<ArrayRef> {
    let (views, nulls) = (array.views(), array.nulls());
    // Of a null nothing leaves.
    let length = |row: usize, view: u128| match nulls {
        Some(nulls) if nulls.is_null(row) => 0,
        _ => view as u32 as usize,
    };
    let bytes = views.iter().enumerate().map(|(row, view)| length(row, *view)).sum();
    T::Offset::from_usize(bytes)?;
    // A short text is written with all the bytes that a view has room for: the next one writes over them.
    let mut written = vec![0; bytes + INLINE];
    let (mut offsets, mut at) = (Vec::with_capacity(views.len() + 1), 0);
    offsets.push(T::Offset::usize_as(0));
    for (row, &view) in views.iter().enumerate() {
        let length = length(row, view);
        if length <= INLINE
            && let Some(room) = written[at..].first_chunk_mut::<INLINE>()
        {
            room.copy_from_slice(&view.to_le_bytes()[VIEW - INLINE..]);
        } else {
            let (buffer, from) = ((view >> 64) as u32 as usize, (view >> 96) as usize);
            written[at..at + length].copy_from_slice(&array.data_buffers()[buffer][from..from + length]);
        }
        at += length;
        offsets.push(T::Offset::usize_as(at));
    }
    written.truncate(bytes);
    // SAFETY: offsets ascend from zero to the number of bytes, and between two of them lies a value of the array.
    let texts = unsafe {
        let offsets = OffsetBuffer::new_unchecked(offsets.into());
        GenericByteArray::<T>::new_unchecked(offsets, Buffer::from_vec(written), nulls.cloned())
    };
    Some(Arc::new(texts))
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray, StringArray};
    use arrow_buffer::NullBuffer;

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
                    let back = from_views(&views, array.data_type()).expect("what views are made of");
                    back.to_data().validate_full().expect("sound texts");
                    assert_eq!(&back, &array);
                }
            }
        }
    }
    #[test]
    fn what_stands_behind_a_null_does_not_leave() {
        let long = "a text that no view has room for".as_bytes();
        let views = BinaryViewArray::from_iter_values([b"short", long, b"", long, b"last"]);
        let (views, buffers, _) = views.into_parts();
        let nulls = Some(NullBuffer::from(vec![false, true, false, false, true]));
        let array: ArrayRef = Arc::new(BinaryViewArray::new(views, buffers, nulls));
        let texts = from_views(&array, &DataType::Binary).expect("a type with offsets");
        texts.to_data().validate_full().expect("sound texts");
        assert_eq!(texts.as_binary::<i32>().value_data(), [long, b"last"].concat());
        assert_eq!(texts.as_binary::<i32>().iter().collect::<Vec<_>>(), [None, Some(long), None, None, Some(b"last")]);
    }
}
