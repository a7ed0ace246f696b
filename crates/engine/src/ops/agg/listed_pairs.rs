//! Pairs of group and value, listed as they come and counted at the end: what `n_unique` of a static table keeps once most
//! of its pairs are new. Nothing leaves a static table, so a pair need not be found again before all are there.

use column::Chunk;
use column::kernels::order_words;

use crate::threads::parallel;

/// Pairs that one thread counts at once, about.
const SHARE: usize = 1 << 16;

/// Groups and the words of values, row by row.
#[derive(Default)]
pub(super) struct ListedPairs {
    groups: Vec<u32>,
    words: Vec<u64>,
}

impl ListedPairs {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Appends groups and their values, of a type that has words; none is null.
    pub(super) fn extend(&mut self, groups: impl Iterator<Item = u32>, cells: &Chunk) {
        if let Some(mut words) = order_words(cells, false) {
            self.groups.extend(groups);
            self.words.append(&mut words);
        }
    }

    /// Appends the pairs of another list, whose group `i` is `groups[i]` here.
    pub(super) fn append(&mut self, other: &ListedPairs, groups: &[u32]) {
        self.groups.extend(other.groups.iter().map(|group| groups[*group as usize]));
        self.words.extend_from_slice(&other.words);
    }

    /// How many distinct values each group has, all of which are below `many`.
    pub(super) fn distinct(&self, many: usize) -> Vec<i64> {
        let mut starts = vec![0_usize; many + 2];
        // Counted two places on: as words are put down, the place of a group becomes where it ends, and the next one's begins.
        self.groups.iter().for_each(|group| starts[*group as usize + 2] += 1);
        (2..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let mut placed = vec![0_u64; self.words.len()];
        for (group, word) in self.groups.iter().zip(&self.words) {
            let at = &mut starts[*group as usize + 1];
            placed[*at] = *word;
            *at += 1;
        }
        let mut shares: Vec<(usize, usize)> = Vec::new();
        let mut from = 0;
        while from < many {
            let end = starts.partition_point(|start| *start < starts[from] + SHARE).clamp(from + 1, many);
            shares.push((from, end));
            from = end;
        }
        let counted = parallel::try_map(shares.len() > 1, &shares, |_, (from, end)| {
            let count = |group: usize| of_one(&placed[starts[group]..starts[group + 1]]);
            Ok::<_, std::convert::Infallible>((*from..*end).map(count).collect::<Vec<i64>>())
        });
        let Ok(counted) = counted;
        counted.concat()
    }
}

/// How many distinct words there are.
fn of_one(words: &[u64]) -> i64 {
    match words {
        [] => 0,
        [_] => 1,
        [one, other] => 1 + i64::from(one != other),
        several => {
            let mut sorted = several.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.len() as i64
        }
    }
}
