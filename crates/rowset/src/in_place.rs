//! `|=` and `-=` in place: a set of blocks gains or loses the keys of a much smaller set, and only the blocks with such
//! keys are touched: bits of many blocks at once, the others one by one. A block that another handle holds is copied
//! first.

use std::borrow::Cow;

use crate::edit;
use crate::kernels::Op;
use crate::repr::Repr;
use crate::repr::blocks::Block;
use crate::repr::container::ops::combine;
use crate::repr::tree::{Edit, Edits};
use crate::rowset::RowSet;

impl RowSet {
    /// Edits block by block. Returns false, and changes nothing, if building a new set is better.
    pub(crate) fn edit_blocks(&mut self, op: Op, other: &RowSet) -> bool {
        let Repr::Blocks(tree) = &mut self.0 else { return false };
        if !matches!(op, Op::Union | Op::Difference) || other.is_empty() {
            return false;
        }
        // A long range would touch one full block after the other: merging whole sets is faster.
        if other.as_span().is_some_and(|span| span.len() > 1 << 16) {
            return false;
        }
        if other.0.entries() > tree.entries() || other.len() > tree.len() {
            return false;
        }
        let blocks: Vec<Cow<'_, Block>> = other.blocks().collect();
        if blocks.iter().any(|block| block.blocks > 1) {
            return false;
        }
        // First pass: blocks kept as bits take listed keys directly. Such an edit neither adds nor removes an entry, so
        // one walk of the tree does all of them, with prefetches ahead and the counts of each node updated once. Blocks
        // that may become empty, divide or change their form are collected for the second pass.
        let mut others: Vec<Block> = Vec::new();
        tree.edit_kept(
            &blocks,
            Edits {
                key: |block: &Cow<'_, Block>| block.number << 16,
                prefetch: |entry: &Block, block: &Cow<'_, Block>| entry.keys.prefetch_edit(&block.keys),
                edit: |entry: &mut Block, block: &Cow<'_, Block>| {
                    let keys = block.keys.listed().filter(|_| entry.number == block.number);
                    if !keys.is_some_and(|keys| entry.keys.edit_bits(keys, op == Op::Union)) {
                        others.push(Block::clone(block));
                    }
                },
            },
        );
        // Second pass, one descent per block: entries may come and go.
        let mut divided = false;
        for block in &others {
            let edited = tree.edit(block.number << 16, |entry| edit_entry(op, entry, block));
            divided |= edited.unwrap_or(false);
        }
        self.reshape(divided);
        true
    }
}

/// Edits one entry of the tree; true if the number of entries may have changed.
fn edit_entry(op: Op, entry: &mut Block, with: &Block) -> (bool, Edit<Block>) {
    let within = entry.number <= with.number && with.number < entry.end();
    match op {
        Op::Union if within => {
            entry.keys.unite(&with.keys);
            (false, Edit::Kept)
        }
        Op::Union => {
            let mut both = vec![entry.clone(), with.clone()];
            both.sort_by_key(|block| block.number);
            (true, Edit::Replaced(both))
        }
        _ if !within => (false, Edit::Kept),
        _ if entry.blocks == 1 => {
            let left = entry.keys.subtract(&with.keys);
            (!left, if left { Edit::Kept } else { Edit::Replaced(Vec::new()) })
        }
        _ => {
            let left = combine(Op::Difference, &entry.keys, &with.keys).map(|keys| Block::one(with.number, keys));
            (true, Edit::Replaced(edit::parted(entry, with.number, left)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fastrand::Rng;

    use crate::key::Span;
    use crate::rowset::RowSet;

    fn digest(rows: &RowSet) -> Vec<Span> {
        rows.spans().collect()
    }

    /// Dense, holed and emptied blocks, full runs divided and grown together, with handles held.
    #[test]
    fn many_keys_in_and_out_are_those_of_a_plain_set() {
        for seed in 0..30u64 {
            let mut dice = Rng::with_seed(seed);
            let width = [200_000, 600_000, 2_000_000][seed as usize % 3];
            let density = [2, 3, 20, 1_000_000][dice.u64(..4) as usize];
            let mut rows =
                RowSet::from_sorted_keys(&(0..width).filter(|_| dice.u64(..density) != 0).collect::<Vec<_>>());
            let mut plain: BTreeSet<u64> = rows.iter().collect();
            let mut held: Vec<(RowSet, Vec<Span>)> = Vec::new();
            for round in 0..40 {
                let (few, base) = (dice.u64(..800), dice.u64(..width));
                let spread = [width, 70_000, 400][dice.u64(..3) as usize];
                let keys: Vec<u64> = (0..few).map(|_| base + dice.u64(..spread)).collect();
                let mut some = RowSet::from_keys(keys);
                if dice.u64(..5) == 0 {
                    some |= &RowSet::range(base, base + dice.u64(..150_000));
                }
                match dice.u64(..2) {
                    0 => {
                        rows |= &some;
                        plain.extend(some.iter());
                    }
                    _ => {
                        rows -= &some;
                        some.iter().for_each(|key| {
                            plain.remove(&key);
                        });
                    }
                }
                assert_eq!(rows.validate(), Ok(()), "seed {seed} round {round}");
                assert_eq!(rows.len(), plain.len() as u64, "seed {seed} round {round}");
                if dice.u64(..4) == 0 {
                    held.push((rows.clone(), digest(&rows)));
                }
                if dice.u64(..6) == 0 {
                    held.pop();
                }
            }
            assert!(rows.iter().eq(plain.iter().copied()), "seed {seed}");
            held.iter().for_each(|(rows, was)| assert_eq!(&digest(rows), was, "seed {seed}: a held set changed"));
        }
    }

    #[test]
    fn a_set_that_nobody_else_holds_is_edited_without_a_copy_of_its_blocks() {
        let mut dice = Rng::with_seed(7);
        let mut rows = RowSet::from_keys((0..500_000).map(|_| dice.u64(..1_000_000)).collect());
        let addresses = |rows: &RowSet| rows.bitmap_addresses();
        let before = addresses(&rows);
        assert!(before.len() > 10);
        let some = RowSet::from_keys((0..1000).map(|_| dice.u64(..1_000_000)).collect());
        rows -= &some;
        rows |= &some;
        assert_eq!(addresses(&rows), before);
        let held = rows.clone();
        rows -= &some;
        assert!(addresses(&rows) != before && addresses(&held) == before);
    }
}
