//! The positions of rows group by group, as an operation over groups starts: one array, and where each group stands in it.
//!
//!   slots  0 1 0 1 1        order  0 2 | 1 3 4
//!
//! Cost: two passes over the slots.

use column::keys::NO_SLOT;

/// Positions of rows, group by group, each group in row order.
pub(crate) struct InGroups {
    /// Positions of rows, by group. A caller may put those of a group in another order.
    pub(crate) order: Vec<usize>,
    /// Where each group starts, and where the last one ends.
    pub(crate) starts: Vec<usize>,
}

impl InGroups {
    /// Of rows with these slots, all below `groups`; a row without a slot stands in no group.
    pub(crate) fn new(slots: &[u32], groups: usize) -> InGroups {
        let standing = || slots.iter().enumerate().filter(|(_, slot)| **slot != NO_SLOT);
        let mut starts = vec![0; groups + 1];
        standing().for_each(|(_, slot)| starts[*slot as usize + 1] += 1);
        (0..groups).for_each(|slot| starts[slot + 1] += starts[slot]);
        let mut next = starts.clone();
        let mut order = vec![0; starts[groups]];
        for (position, slot) in standing() {
            order[next[*slot as usize]] = position;
            next[*slot as usize] += 1;
        }
        InGroups { order, starts }
    }

    /// The positions of each group.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[usize]> {
        self.starts.windows(2).map(|ends| &self.order[ends[0]..ends[1]])
    }
}
