//! Groups in order: what an operation asks of the rows of each group, however they are kept.
//!
//! There are three layouts. All rows of a table are one group, and their order is the row set itself. The rows of each
//! key in row order are [`KeyRows`](super::rows::KeyRows): a row key is its own order, so long groups are row sets. The
//! rows of each key by stamp are [`Timelines`](super::timeline::Timelines), which keep the stamps.

use rowset::RowSet;

/// What rows of a group are ordered by. No two rows of a group have equal ones.
pub(crate) trait OrderKey: Copy + Ord {
    /// The number in which frames over stamps are measured.
    fn stamp(self) -> u64;
    /// The least of all keys with this stamp.
    fn least(stamp: u64) -> Self;
}

/// A row key, which is its own stamp.
impl OrderKey for u64 {
    fn stamp(self) -> u64 {
        self
    }

    fn least(stamp: u64) -> u64 {
        stamp
    }
}

/// Stamp and row key.
impl OrderKey for (u64, u64) {
    fn stamp(self) -> u64 {
        self.0
    }

    fn least(stamp: u64) -> (u64, u64) {
        (stamp, 0)
    }
}

/// The rows of each group (a slot), in an order.
pub(crate) trait GroupOrder {
    /// What rows are ordered by.
    type Key: OrderKey;
    /// Where a row stands in its group. Places are ordered as the rows are, and valid until the next change.
    type Place: Copy + Ord;

    /// The place of the first row.
    fn start(&self, slot: u32) -> Self::Place;
    /// The place behind the last row.
    fn end(&self, slot: u32) -> Self::Place;
    /// The place of the first row at or after a key; the end if there is none.
    fn lower(&self, slot: u32, key: Self::Key) -> Self::Place;
    /// The row at a place; none at the end.
    fn get(&self, slot: u32, place: Self::Place) -> Option<Self::Key>;
    /// The place so many rows later (negative: earlier), no further than the ends.
    fn moved(&self, slot: u32, place: Self::Place, by: i64) -> Self::Place;

    /// The row so many places after one (negative: before it); none beyond the ends.
    fn neighbour(&self, slot: u32, place: Self::Place, by: i64) -> Option<Self::Key> {
        if by < 0 {
            // The start is as far as a place moves: a row is beyond it if one step less leads there already.
            let next = self.moved(slot, place, by + 1);
            return if next == self.start(slot) { None } else { self.get(slot, self.moved(slot, next, -1)) };
        }
        self.get(slot, self.moved(slot, place, by))
    }
}

/// A position, moved within a group of so many rows.
#[inline]
pub(crate) fn moved_within(len: u64, position: u64, by: i64) -> u64 {
    position.saturating_add_signed(by).min(len)
}

/// All rows of a table: one group.
impl GroupOrder for RowSet {
    type Key = u64;
    type Place = u64;

    fn start(&self, _: u32) -> u64 {
        0
    }

    fn end(&self, _: u32) -> u64 {
        self.len()
    }

    fn lower(&self, _: u32, key: u64) -> u64 {
        self.rank(key)
    }

    fn get(&self, _: u32, position: u64) -> Option<u64> {
        self.key_at(position)
    }

    fn moved(&self, _: u32, position: u64, by: i64) -> u64 {
        moved_within(self.len(), position, by)
    }
}
