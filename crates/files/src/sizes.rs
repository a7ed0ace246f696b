//! Sizes at which readers take another path, drawn by laws.

use limits::Size;

/// Bytes of CSV that one thread reads at a time.
pub(crate) static CSV_PART: Size = Size::at_least("files.CSV_PART", 8 << 20, 8);
/// Bytes that are scanned and then decoded, so that they are in the processor's cache.
pub(crate) static CSV_PIECE: Size = Size::new("files.CSV_PIECE", 512 << 10);
/// Bytes of JSON that one thread reads at a time.
pub(crate) static JSON_PART: Size = Size::at_least("files.JSON_PART", 4 << 20, 8);
/// Bytes of the first block, of which types are inferred.
pub(crate) static SAMPLE: Size = Size::at_least("files.SAMPLE", 1 << 20, 8);

/// A record of more bytes has a quote that is not closed, or no end.
pub(crate) const LONGEST: usize = 256 << 20;
