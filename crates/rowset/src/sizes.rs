//! The sizes at which row sets take another path. Laws draw them.

use limits::Size;

/// Fewer keys than this are compared.
pub(crate) static RADIX_FROM: Size = Size::new("rowset.RADIX_FROM", 2048);
/// With more entries than this, what lies outside the other side's hull is cut off and shared.
pub(crate) static CUT_FROM: Size = Size::new("rowset.CUT_FROM", 48);
/// When less than this part of both sides' hull lies outside of one of them, nothing is cut off.
pub(crate) static OUTSIDE: Size = Size::new("rowset.OUTSIDE", 8);
/// A side this many times smaller is looked up in the other, piece by piece.
pub(crate) static PROBE: Size = Size::new("rowset.PROBE", 16);
/// A list so many times longer than the other is leapt through.
pub(crate) static LOPSIDED: Size = Size::new("rowset.LOPSIDED", 32);
/// No more keys than this are written out.
pub(crate) static SCATTERED_MOST: Size = Size::new("rowset.SCATTERED_MOST", 1 << 17);
/// Fewer keys or ranges than this of a block, on average, are looked up one by one.
pub(crate) static EXTRACT_FROM: Size = Size::new("rowset.EXTRACT_FROM", 192);
/// Fewer keys of a block are not worth a block.
pub(crate) static ONE_BY_ONE: Size = Size::new("rowset.ONE_BY_ONE", 64);
/// Fewer than one row in so many moves: few.
pub(crate) static SHIFT_FEW: Size = Size::new("rowset.SHIFT_FEW", 8);
/// Entries that are walked in the time of one cut.
pub(crate) static PER_MOVE: Size = Size::new("rowset.PER_MOVE", 4);
/// More runs than this are put together as bits.
pub(crate) static RUNS_AT_MOST: Size = Size::new("rowset.RUNS_AT_MOST", 512);
