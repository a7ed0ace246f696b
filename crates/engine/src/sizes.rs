//! The sizes at which the engine takes another path.

use limits::Size;

/// With more changes of one table waiting for late followers than this, neighbours are merged.
pub(crate) static WAITING: Size = Size::new("engine.WAITING", 1024);

/// The same with more bytes in the rows that all waiting changes of a graph own.
pub(crate) static WAITING_BYTES: Size = Size::new("engine.WAITING_BYTES", 1 << 28);
