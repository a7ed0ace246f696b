//! The sizes at which columns and their kernels take another path.

use limits::Size;

/// Keys a block spans.
pub(crate) const BLOCK: usize = 1 << BLOCK_BITS;
pub(crate) const BLOCK_BITS: u32 = 12;

/// Bytes of one buffer of texts: a view's offset is a 32-bit number with a sign. A longer text is refused: laws
/// of other crates draw it so large that their texts fit.
pub(crate) static TEXT_BUFFER: Size =
    Size::at_least("column.TEXT_BUFFER", i32::MAX as usize, if cfg!(test) { 128 } else { 1 << 16 });
/// Bytes of texts that leave in one array with offsets of 32 bits.
pub(crate) static OFFSETS: Size =
    Size::at_least("column.OFFSETS", i32::MAX as usize, if cfg!(test) { 64 } else { 1 << 12 });
/// Below this many bytes of texts, dead ones are not worth a copy.
pub(crate) static SMALL_TEXTS: Size = Size::new("column.SMALL_TEXTS", 1024);
/// A buffer of texts made for more to come is no larger than this beyond what is needed.
pub(crate) static MOST_ROOM: Size = Size::new("column.MOST_ROOM", 64 * 1024);
/// A block that gives this many strings at once shares its buffers, else their bytes are copied: so a
/// reader of few strings keeps only these.
pub(crate) static SHARE_STRINGS: Size = Size::new("column.SHARE_STRINGS", BLOCK / 8);
/// Copied bytes of strings go into buffers of about this size.
pub(crate) static COPY_BYTES: Size = Size::new("column.COPY_BYTES", 1 << 28);

/// Neighbouring blocks leave as one array up to this size.
pub(crate) static SLAB_BYTES: Size = Size::new("column.SLAB_BYTES", 8 << 20);
/// So many idle regions are no waste.
pub(crate) static IDLE_REGIONS: Size = Size::new("column.IDLE_REGIONS", 4);
/// Cells written before readers get their turn at the lock: some tens of microseconds.
pub(crate) static SLICE_CELLS: Size = Size::new("column.SLICE_CELLS", 16 * BLOCK);
/// Steps until held blocks are asked again to move.
pub(crate) static RETRY_STEPS: Size = Size::new("column.RETRY_STEPS", 64);
/// Moved rows are carried over in batches of this many.
pub(crate) static MOVE_ROWS: Size = Size::new("column.MOVE_ROWS", 64 * BLOCK);
/// A block with fewer rows than this is packed.
pub(crate) static PACKED_BELOW: Size = Size::new("column.PACKED_BELOW", BLOCK / 8);
/// A packed block with this many cells is spread: above the other bound, so that no block swings.
pub(crate) static SPREAD_FROM: Size = Size::new("column.SPREAD_FROM", BLOCK / 16 * 3);
/// More shifts than this are one move, if they move few rows: what a shift costs by itself adds up.
pub(crate) static SINGLE_SHIFTS: Size = Size::new("column.SINGLE_SHIFTS", 4);
/// Rows that are moved as one, read whole before any is written.
pub(crate) static MERGED_ROWS: Size = Size::new("column.MERGED_ROWS", 1 << 18);
/// So many spans at the start of a row set tell whether its keys stand apart.
pub(crate) static SAMPLED_SPANS: Size = Size::new("column.SAMPLED_SPANS", 16);
/// Up to this many keys are written out and looked at one by one, if they stand apart.
pub(crate) static LISTED_KEYS: Size = Size::new("column.LISTED_KEYS", 1 << 17);

/// Fewer bytes than this are copied sooner than lent; a lent block must be copied before its next edit.
pub(crate) static LEND_BYTES: Size = Size::new("column.LEND_BYTES", 256);
/// Fewer views than this are copied: to lend them means to list the buffers of their whole slab.
pub(crate) static LEND_VIEWS: Size = Size::new("column.LEND_VIEWS", 256);
/// Keys whose cells are asked for before the first is read.
pub(crate) static WINDOW: Size = Size::new("column.WINDOW", 512);
/// From this many keys on, a table of blocks is made to look them up in.
pub(crate) static DIRECTORY_KEYS: Size = Size::new("column.DIRECTORY_KEYS", 512);
/// A range with at least this many cells is worth a piece of its own.
pub(crate) static PIECE: Size = Size::new("column.PIECE", 1024);
/// So few ranges of a flat column are slices each, however short they are.
pub(crate) static FEW_RANGES: Size = Size::new("column.FEW_RANGES", 64);

/// Runs that are sorted by comparing rows.
pub(crate) static SORT_FEW: Size = Size::new("column.SORT_FEW", 32);
/// Rows to sort that are worth a second thread.
pub(crate) static SORT_MANY: Size = Size::new("column.SORT_MANY", 1 << 16);
/// One row in so many, or fewer, are selected rather than sorted out of all.
pub(crate) static SELECTED_SHARE: Size = Size::new("column.SELECTED_SHARE", 4);
/// Entries for which the plainest way to sort is the fastest.
pub(crate) static RADIX_FEW: Size = Size::new("column.RADIX_FEW", 24);
/// Fewer runs in order than this are merged rather than sorted.
pub(crate) static MERGED_RUNS: Size = Size::new("column.MERGED_RUNS", 8);
/// Entries that sort inside a core's own cache.
pub(crate) static RADIX_CACHED: Size = Size::at_least("column.RADIX_CACHED", 1 << 15, 4);
/// Entries to deal out that are worth a second thread.
pub(crate) static RADIX_MANY: Size = Size::new("column.RADIX_MANY", 1 << 17);
/// The real one stands for the secret of the process by which keys are hashed; any other is a secret of its own.
pub(crate) static HASH_SECRET: Size = Size::new("column.HASH_SECRET", usize::MAX);
/// Words are close together that have up to so many places a key: a place costs a quarter of an entry of the index.
pub(crate) static KEYS_CLOSE: Size = Size::new("column.KEYS_CLOSE", 6);
/// So many places are no waste.
pub(crate) static KEYS_CLOSE_ROOM: Size = Size::new("column.KEYS_CLOSE_ROOM", 1 << 12);
/// Up to so many keys of texts are few: they are found without a hash.
pub(crate) static KEYS_FEW: Size = Size::new("column.KEYS_FEW", 64);
/// Up to so many entries a table of keys stays in the cache by itself.
pub(crate) static KEYS_NEAR: Size = Size::new("column.KEYS_NEAR", 1 << 14);
/// Up to so many entries a table of keys has room to spare.
pub(crate) static KEYS_SMALL: Size = Size::new("column.KEYS_SMALL", 1 << 15);
/// Keys that are looked for in a table of more entries than this are first looked for in a filter of its hashes.
pub(crate) static KEYS_SEEN: Size = Size::new("column.KEYS_SEEN", 1 << 11);
/// Rows, in blocks of 64, after which it is seen whether that filter leaves out enough.
pub(crate) static KEYS_TRIED: Size = Size::at_least("column.KEYS_TRIED", 1 << 12, 64);
/// A table of keys of more entries than this gets smaller when most keys have left.
pub(crate) static KEYS_SHRINK: Size = Size::at_least("column.KEYS_SHRINK", 1 << 10, 64);
/// Beyond so many entries the keys are far too.
pub(crate) static KEYS_FAR: Size = Size::new("column.KEYS_FAR", 1 << 18);
