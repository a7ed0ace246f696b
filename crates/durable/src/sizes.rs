//! The sizes at which durable tables take another path.

use limits::Size;

/// A log of so many bytes, and as many as the tables took when they were last written whole, is replaced by the tables.
pub static LOG_BYTES: Size = Size::new("durable.LOG_BYTES", 64 << 20);
/// Rows of one piece of a table that is written whole.
pub static PIECE_ROWS: Size = Size::new("durable.PIECE_ROWS", 1 << 16);
/// Bytes of rows that wait for the disk; a call that finds more waits as well.
pub static WAITING_BYTES: Size = Size::new("durable.WAITING_BYTES", 256 << 20);
/// A checkpoint that would note more rows than this, and more than half of all, writes the tables whole.
pub static DELTA_ROWS: Size = Size::new("durable.DELTA_ROWS", 1 << 16);
/// A record of a checkpoint that has so many bytes is written, and the next one begun.
pub static PART_BYTES: Size = Size::new("durable.PART_BYTES", 4 << 20);
/// How long after a failure the disk is tried again, in milliseconds.
pub static AGAIN_AFTER: Size = Size::new("durable.AGAIN_AFTER", 100);
