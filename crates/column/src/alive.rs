//! Which cells of a block are rows: mostly one range, a bitmap where they are not.

use std::sync::Arc;

use crate::bits::Bits;
use crate::tree::BLOCK;

/// The cells of a block that are rows.
#[derive(Clone, Default)]
pub(crate) struct Alive {
    first: usize,
    count: usize,
    /// Absent while the rows are `first .. first + count`.
    bits: Option<Arc<Bits>>,
}

impl Alive {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    #[cfg(test)]
    pub(crate) fn contains(&self, offset: usize) -> bool {
        match &self.bits {
            Some(bits) => bits.get(offset),
            None => self.first <= offset && offset < self.first + self.count,
        }
    }

    pub(crate) fn insert(&mut self, offset: usize, len: usize) {
        if self.bits.is_none() {
            if self.count == 0 {
                (self.first, self.count) = (offset, len);
                return;
            }
            let end = (offset + len).max(self.first + self.count);
            let first = offset.min(self.first);
            let joined = offset <= self.first + self.count && self.first <= offset + len;
            if joined {
                (self.first, self.count) = (first, end - first);
                return;
            }
        }
        let bits = self.bitmap();
        let had = bits.count(offset, len);
        bits.fill(offset, len, true);
        self.count += len - had;
        self.tidy();
    }

    pub(crate) fn remove(&mut self, offset: usize, len: usize) {
        let (first, end) = (self.first, self.first + self.count);
        if self.bits.is_none() {
            let (from, to) = (offset.max(first), (offset + len).min(end));
            if from >= to {
                return;
            }
            if from == first || to == end {
                self.first = if from == first { to } else { first };
                self.count -= to - from;
                return;
            }
        }
        let bits = self.bitmap();
        let had = bits.count(offset, len);
        bits.fill(offset, len, false);
        self.count -= had;
        self.tidy();
    }

    /// The offsets, ascending.
    pub(crate) fn offsets(&self) -> Vec<usize> {
        match &self.bits {
            Some(bits) => bits.ones().collect(),
            None => (self.first..self.first + self.count).collect(),
        }
    }

    fn bitmap(&mut self) -> &mut Bits {
        let (first, count) = (self.first, self.count);
        let bits = self.bits.get_or_insert_with(|| {
            let mut bits = Bits::filled(BLOCK, false);
            bits.fill(first, count, true);
            Arc::new(bits)
        });
        Arc::make_mut(bits)
    }

    fn tidy(&mut self) {
        if self.count == 0 || self.count == BLOCK {
            (self.first, self.bits) = (0, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_set(edits in proptest::collection::vec((any::<bool>(), 0..BLOCK, 1usize..900), 1..40)) {
            let mut alive = Alive::default();
            let mut plain = std::collections::BTreeSet::new();
            for (insert, offset, len) in edits {
                let len = len.min(BLOCK - offset);
                if insert {
                    alive.insert(offset, len);
                    plain.extend(offset..offset + len);
                } else {
                    alive.remove(offset, len);
                    plain.retain(|at| !(offset..offset + len).contains(at));
                }
                prop_assert_eq!(alive.count(), plain.len());
                prop_assert_eq!(alive.offsets(), plain.iter().copied().collect::<Vec<_>>());
                prop_assert!((0..BLOCK).all(|at| alive.contains(at) == plain.contains(&at)));
            }
        }
    }
}
