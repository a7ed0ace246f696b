//! The view of a text or of bytes: 16 bytes that say how long it is, and where it lies unless it is short.

use arrow_data::MAX_INLINE_VIEW_LEN;

/// Whether a view's bytes lie in a buffer rather than in the view itself.
pub(crate) fn is_long(view: u128) -> bool {
    view as u32 > MAX_INLINE_VIEW_LEN
}

/// The length of a view's bytes.
pub(crate) fn length(view: u128) -> usize {
    view as u32 as usize
}

/// The buffer of a long view and the place in it.
pub(crate) fn place(view: u128) -> (u32, u32) {
    ((view >> 64) as u32, (view >> 96) as u32)
}

/// A long view over the same bytes elsewhere.
pub(crate) fn placed(view: u128, buffer: u32, offset: u32) -> u128 {
    view & u128::from(u64::MAX) | u128::from(buffer) << 64 | u128::from(offset) << 96
}
