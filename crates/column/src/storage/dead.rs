//! Freed cells after a step: the blocks that lost rows, and the rows that each still has. Found once for all columns.

use std::ops::Range;

use rowset::RowSet;

use crate::sizes::BLOCK;
use crate::sizes::SPREAD_FROM;
use crate::storage::runs::{Run, runs};

/// The keys freed by a step, by block.
pub struct FreedCells {
    runs: Vec<Run>,
    blocks: Vec<BlockFreed>,
    /// The blocks with so few live rows that their dead cells must be reclaimed now.
    thin: Vec<BlockFreed>,
    /// The remaining rows.
    left: RowSet,
}

/// The losses of one block.
#[derive(Clone)]
pub(crate) struct BlockFreed {
    /// Number of the block.
    pub block: u64,
    /// The number of cells that are still rows.
    pub alive: usize,
    /// The block's range in `runs`.
    runs: Range<usize>,
}

impl BlockFreed {
    fn first(&self) -> u64 {
        self.block * BLOCK as u64
    }
}

impl FreedCells {
    /// `freed_keys` are the keys with a row before the step and none after it; `left` are the rows after it.
    pub fn new(freed_keys: &RowSet, left: &RowSet) -> FreedCells {
        let runs: Vec<Run> = runs(freed_keys).collect();
        let mut blocks: Vec<BlockFreed> = Vec::new();
        for (at, run) in runs.iter().enumerate() {
            match blocks.last_mut() {
                Some(last) if last.block == run.block => last.runs.end = at + 1,
                _ => blocks.push(BlockFreed { block: run.block, alive: 0, runs: at..at + 1 }),
            }
        }
        let ends: Vec<u64> = blocks.iter().flat_map(|losses| [losses.first(), losses.first() + BLOCK as u64]).collect();
        for (losses, ranks) in blocks.iter_mut().zip(left.ranks(&ends).chunks_exact(2)) {
            losses.alive = (ranks[1] - ranks[0]) as usize;
        }
        let spread = SPREAD_FROM.get();
        let thin = blocks.iter().filter(|losses| losses.alive < spread).cloned().collect();
        FreedCells { runs, blocks, thin, left: left.clone() }
    }

    /// The blocks that lost cells, ascending.
    pub(crate) fn blocks(&self) -> &[BlockFreed] {
        &self.blocks
    }

    /// The blocks with few rows left. In the other blocks dead plain cells stay in place until the block gets sparse.
    pub(crate) fn thin(&self) -> &[BlockFreed] {
        &self.thin
    }

    /// The dead cells of a block.
    pub(crate) fn runs(&self, losses: &BlockFreed) -> &[Run] {
        &self.runs[losses.runs.clone()]
    }

    /// The offsets within a block that are rows.
    pub(crate) fn offsets(&self, losses: &BlockFreed) -> Vec<u16> {
        let first = losses.first();
        self.left.between(first, first + (BLOCK as u64 - 1)).iter().map(|key| (key - first) as u16).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_knows_what_it_lost_and_what_it_has() {
        let block = BLOCK as u64;
        let left = RowSet::from_sorted_keys(&[0, 5, block + 7, 3 * block - 1]);
        let freed_keys = RowSet::from_sorted_keys(&[1, 2, 9, block, 4 * block, rowset::MAX_KEY]);
        let dead = FreedCells::new(&freed_keys, &left);
        let found: Vec<_> = dead.blocks().iter().map(|losses| (losses.block, losses.alive)).collect();
        assert_eq!(found, [(0, 2), (1, 1), (4, 0), (rowset::MAX_KEY / block, 0)]);
        assert_eq!(dead.offsets(&dead.blocks()[0]), [0, 5]);
        let runs: Vec<_> = dead.runs(&dead.blocks()[0]).iter().map(|run| (run.offset, run.len)).collect();
        assert_eq!(runs, [(1, 2), (9, 1)]);
    }
}
