//! The sizes at which the log takes another path.

use limits::Size;

/// A segment of so many bytes is closed: the next record begins another one.
pub static SEGMENT_BYTES: Size = Size::new("log.SEGMENT_BYTES", 64 << 20);

/// Parts of a write that are smaller are gathered before they go to the file.
pub static GATHERED_BYTES: Size = Size::new("log.GATHERED_BYTES", 64 << 10);

/// A base is synced each time so many bytes of it have gathered.
pub static BASE_SYNC_BYTES: Size = Size::new("log.BASE_SYNC_BYTES", 16 << 20);
