//! The sizes at which the log takes another path.

use limits::Size;

/// A segment of so many bytes is closed: the next record begins another one.
pub static SEGMENT_BYTES: Size = Size::new("log.SEGMENT_BYTES", 64 << 20);
