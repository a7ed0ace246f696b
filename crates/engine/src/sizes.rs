//! The sizes at which the engine takes another path. Laws draw them, so that tables of forty rows walk the paths of
//! ten million.

use limits::Size;

/// From so many rows on, each of which waits for memory, it pays to wake another thread.
pub static TOGETHER_ROWS: Size = Size::new("engine.TOGETHER_ROWS", 1 << 11);

/// From so many rows far apart on, columns are read side by side.
pub static SCATTERED_ROWS: Size = Size::new("engine.SCATTERED_ROWS", 1 << 13);

/// Rows a thread evaluates at once: large enough to be worth a task, small enough to stay in cache.
pub static SLICE_ROWS: Size = Size::new("engine.SLICE_ROWS", 1 << 16);
/// Rows a thread evaluates at once when there are many of them and one pass stays in cache by itself: eight-byte values
/// of a slice fill two large pages.
pub static LARGE_SLICE_ROWS: Size = Size::new("engine.LARGE_SLICE_ROWS", 1 << 19);
/// Rows a thread evaluates at once when the expression calls a user function.
pub static HOST_ROWS: Size = Size::new("engine.HOST_ROWS", 1 << 18);
/// Rows evaluated at once when the user function takes arrays and one thread runs it. The slice is large because the
/// function allocates its own result: the system's allocator returns free pieces of about two megabytes to the kernel,
/// which must zero them again for the next call.
pub static HOST_ARRAY_ROWS: Size = Size::new("engine.HOST_ARRAY_ROWS", 1 << 20);

/// Rows that go together through a chain of predicates and computed columns: as many as pay for what a block costs, few enough
/// that what is read of them stays in the second cache.
pub static BLOCK_ROWS: Size = Size::new("engine.BLOCK_ROWS", 28 << 10);
/// One row in so many, or fewer, must be left of a block for them to be picked: more are evaluated all, and masked.
pub static PICKED_SHARE: Size = Size::new("engine.PICKED_SHARE", 8);
/// From so many rows on a chain of a plan over a static table runs block by block.
pub static FUSED_ROWS: Size = Size::new("engine.FUSED_ROWS", 1 << 13);
/// Groups that a join looks up are made of its left keys alone where these are one in so many rows, or fewer.
pub static REDUCED_SHARE: Size = Size::new("engine.REDUCED_SHARE", 8);

/// Writes of fewer cells than this are not worth a second thread.
pub static PARALLEL_CELLS: Size = Size::new("engine.PARALLEL_CELLS", 1 << 19);
/// Columns of so few rows stay in the cache.
pub static NEAR_ROWS: Size = Size::new("engine.NEAR_ROWS", 1 << 17);

/// Up to so many rows a build with debug assertions checks an update against all rows.
pub static FULL_CHECK_ROWS: Size = Size::new("engine.FULL_CHECK_ROWS", 1 << 16);
/// Rounds of catching up before an attaching operation holds back the steps.
pub static OPTIMISTIC_ROUNDS: Size = Size::new("engine.OPTIMISTIC_ROUNDS", 8);
/// Entries of a table's memo below which those of tables that are gone are not swept out.
pub static SWEEP_AT: Size = Size::new("engine.SWEEP_AT", 64);
/// Words of marks for each slot noted up to which slots are read from the marks, in order.
pub static WALKED_WORDS: Size = Size::new("engine.WALKED_WORDS", 4);
/// Rows of a key beyond which they are a row set rather than a list.
pub static LISTED_ROWS: Size = Size::at_least("engine.LISTED_ROWS", 1 << 10, 8);

/// Views over views before a column is computed and kept.
pub static DEEPEST_VIEW: Size = Size::new("engine.DEEPEST_VIEW", 32);
/// Values that a lazy column always keeps.
pub static LAZY_KEPT: Size = Size::new("engine.LAZY_KEPT", 1 << 16);
/// Values that a lazy column computes at once.
pub static LAZY_BATCH: Size = Size::new("engine.LAZY_BATCH", 1 << 16);
/// Chunks that a lazy column keeps before it joins them.
pub static LAZY_CHUNKS: Size = Size::new("engine.LAZY_CHUNKS", 64);

/// Rows whose cells an aggregation reads together while it starts.
pub static GROUP_PART_ROWS: Size = Size::new("engine.GROUP_PART_ROWS", 1 << 16);
/// Up to so many rows are one thread's work while an aggregation starts.
pub static GROUP_ALONE_ROWS: Size = Size::new("engine.GROUP_ALONE_ROWS", 1 << 18);
/// Rows entered at once within a part: their slots stay in cache, and no buffer is worth a page of its own.
pub static GROUP_BATCH_ROWS: Size = Size::new("engine.GROUP_BATCH_ROWS", 1 << 12);
/// Cells of results from which on the columns of groups are compared side by side.
pub static GROUP_SPLIT_CELLS: Size = Size::new("engine.GROUP_SPLIT_CELLS", 1 << 15);

/// Pairs of group and value from which on those of a static table are listed, if most of them are new.
pub static UNIQUE_PAIRS: Size = Size::new("engine.UNIQUE_PAIRS", 1 << 16);
/// Listed pairs are kept in parts of this many: two large pages of words.
pub static LISTED_PART: Size = Size::new("engine.LISTED_PART", 1 << 19);
/// Listed pairs that one thread counts at once, about.
pub static LISTED_SHARE: Size = Size::new("engine.LISTED_SHARE", 1 << 16);
/// Of so few groups the rows of a batch are summed group by group.
pub static FEW_GROUPS: Size = Size::new("engine.FEW_GROUPS", 8);
/// Rows summed in fixed units before their words are emptied: so many cannot overflow a word.
pub static FIXED_ROWS: Size = Size::new("engine.FIXED_ROWS", 1 << 22);
/// How often the unit of a sum may change: values that lie too far apart for any are added as ever.
pub static FIXED_CHANGES: Size = Size::new("engine.FIXED_CHANGES", 16);

/// Rows of a group from one mark of what runs over it to the next.
pub static MARK_ROWS: Size = Size::new("engine.MARK_ROWS", 512);
/// Once one row in so many of a table would be computed, values that run are computed in row order over all groups at once.
pub static RUN_SWEEP: Size = Size::new("engine.RUN_SWEEP", 4);
/// Rows of a group behind a change that are computed before it is asked whether the change is still felt; four times as many
/// each further time.
pub static FELT_ROWS: Size = Size::new("engine.FELT_ROWS", 64);
/// So many of them at most.
pub static FELT_MOST: Size = Size::new("engine.FELT_MOST", 1 << 16);

/// Left rows that look for their match at once.
pub static PROBE_ROWS: Size = Size::new("engine.PROBE_ROWS", 1 << 16);
/// Left rows that look for their match at once when there are many of them.
pub static LARGE_PROBE_ROWS: Size = Size::new("engine.LARGE_PROBE_ROWS", 1 << 19);
/// Rows looked up at once among keys that are settled.
pub static PROBE_BATCH_ROWS: Size = Size::new("engine.PROBE_BATCH_ROWS", 1 << 12);
/// Left rows that look for their match in time at once.
pub static ASOF_PROBE_ROWS: Size = Size::new("engine.ASOF_PROBE_ROWS", 1 << 16);
/// Searches in time that are prefetched together.
pub static ASOF_BATCH: Size = Size::new("engine.ASOF_BATCH", 64);
/// Entries that a chunk of a timeline holds before it is split.
pub static TIMELINE_CHUNK: Size = Size::at_least("engine.TIMELINE_CHUNK", 128, 2);
/// Left rows whose ranges are aggregated at once.
pub static RANGE_ROWS: Size = Size::new("engine.RANGE_ROWS", 1 << 14);
/// Right rows that are read at once for the ranges in which they lie.
pub static RANGE_PAIRS: Size = Size::new("engine.RANGE_PAIRS", 1 << 16);
/// Rows whose windows are aggregated at once while an operation over windows starts.
pub static ROLLING_ROWS: Size = Size::new("engine.ROLLING_ROWS", 1 << 14);
/// Up to so many values of a window are kept in order side by side: to move half of them costs less than to look them up in a tree.
pub static SORTED_WINDOW: Size = Size::new("engine.SORTED_WINDOW", 1 << 9);
/// Rows that look for their key in a set at once.
pub static WHERE_IN_PROBE_ROWS: Size = Size::new("engine.WHERE_IN_PROBE_ROWS", 1 << 16);

/// Output keys of a page of sorted rows.
pub static SORT_PAGE: Size = Size::at_least("engine.SORT_PAGE", 1 << 13, 16);
/// An upstream shift of more rows than one in so many sweeps through the whole order.
pub static SORT_SWEEP: Size = Size::new("engine.SORT_SWEEP", 32);

/// Of the rows below the first ones, one in so many is kept in order, to take the place of those that go: between two
/// readings of all rows at least so many of the first ones go, or as many come as are read.
pub static TOP_SHARE: Size = Size::new("engine.TOP_SHARE", 64);
/// At least so many rows below the first ones are kept in order.
pub static TOP_RESERVE: Size = Size::new("engine.TOP_RESERVE", 1 << 10);

/// Neighbouring changes of a table are coalesced once more than this many wait for slow listeners.
pub static WAITING: Size = Size::new("engine.WAITING", 1024);

/// Neighbouring changes are also coalesced once the rows owned by all waiting changes of a graph take more bytes than
/// this.
pub static WAITING_BYTES: Size = Size::new("engine.WAITING_BYTES", 1 << 28);
