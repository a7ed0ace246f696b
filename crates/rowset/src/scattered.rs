//! Keys that stand apart against blocks: each is looked up where it lies, and the words of many are asked
//! for before the first is looked at, so that their cache misses do not wait for each other.

use crate::repr::Repr;
use crate::repr::blocks::{Block, leading, low_of};
use crate::repr::container::Container;
use crate::repr::tree::Tree;
use crate::rowset::RowSet;
use crate::sizes::SCATTERED_MOST;

/// Keys asked for at once: their words fit in the nearest caches.
const WINDOW: usize = 512;

impl RowSet {
    /// The keys of a set of pieces that mostly are single keys, if they are not too many to be written out.
    pub(crate) fn scattered(&self) -> Option<Vec<u64>> {
        match &self.0 {
            Repr::Spans(tree) if tree.len() <= SCATTERED_MOST.rows() && tree.len() <= 2 * tree.heft() => {
                Some(self.to_vec())
            }
            _ => None,
        }
    }
}

/// The keys that are in the tree, or those that are not.
pub(crate) fn filtered(keys: &[u64], tree: &Tree<Block>, present: bool) -> Vec<u64> {
    let mut kept = vec![0; keys.len()];
    let mut len = 0;
    let mut found: Vec<(&[u64], Option<&Container>)> = Vec::new();
    for mut keys in keys.chunks(WINDOW) {
        found.clear();
        while let Some((number, own)) = leading(keys) {
            let entry = tree.find(number << 16).filter(|(entry, _)| number < entry.end());
            let block = entry.map(|(entry, _)| &entry.keys);
            block.inspect(|block| own.iter().for_each(|key| block.prefetch(low_of(*key))));
            found.push((own, block));
            keys = &keys[own.len()..];
        }
        for (own, block) in &found {
            for &key in *own {
                kept[len] = key;
                len += usize::from(block.is_some_and(|block| block.contains(low_of(key))) == present);
            }
        }
    }
    kept.truncate(len);
    kept
}

#[cfg(test)]
mod tests {
    use crate::rowset::RowSet;

    /// Bits, full blocks, lists and gaps, in several nodes.
    fn blocks(count: u64) -> RowSet {
        let holds = |key: &u64| match (key >> 16) % 7 {
            0 => false,
            1 => true,
            2 => key % 97 == 5,
            _ => !key.is_multiple_of(3),
        };
        RowSet::from_sorted_keys(&(0..count << 16).filter(holds).collect::<Vec<_>>())
    }

    fn some(count: u64, keys: u64) -> Vec<u64> {
        let mut keys: Vec<u64> =
            (0..keys).map(|at| at.wrapping_mul(6_364_136_223_846_793_005) % (count << 16)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    #[test]
    fn keys_that_stand_apart_are_looked_up_and_edited_one_by_one() {
        let rows = blocks(150);
        for count in [40, 700, 1900] {
            let keys = some(150, count);
            let (inside, outside): (Vec<u64>, Vec<u64>) = keys.iter().partition(|key| rows.contains(**key));
            let keys = RowSet::from_sorted_keys(&keys);
            assert!(keys.scattered().is_some());
            assert_eq!((&keys & &rows).to_vec(), inside);
            assert_eq!((&rows & &keys).to_vec(), inside);
            assert_eq!((&keys - &rows).to_vec(), outside);
            let (inside, outside) = (RowSet::from_sorted_keys(&inside), RowSet::from_sorted_keys(&outside));
            assert!(inside.is_subset(&rows) && !keys.is_subset(&rows));
            let mut edited = rows.clone();
            edited -= &keys;
            assert_eq!((edited.validate(), edited.len()), (Ok(()), rows.len() - inside.len()));
            assert!(!edited.overlaps(&keys) && edited.is_subset(&rows));
            edited |= &keys;
            assert_eq!((edited.validate(), edited.len()), (Ok(()), rows.len() + outside.len()));
            assert!(keys.is_subset(&edited) && rows.is_subset(&edited));
            edited -= &outside;
            assert_eq!(edited, rows);
        }
    }
}
