//! Pairs of group and value, listed as they come and counted at the end: what `n_unique` of a static table keeps once most
//! of its pairs are new. Nothing leaves a static table, so a pair need not be found again before all are there.
//!
//! Where rows come group by group, as lines of one order do, the values of a group already lie side by side. Otherwise they
//! are put so.

use std::convert::Infallible;

use column::Chunk;
use column::kernels::order_words;

use crate::sizes::{LISTED_PART, LISTED_SHARE};
use crate::threads::parallel;

/// Groups and the words of values, row by row.
#[derive(Default)]
struct Part {
    groups: Vec<u32>,
    words: Vec<u64>,
}

/// Pairs in parts, none of which is copied to grow.
#[derive(Default)]
pub(super) struct ListedPairs {
    parts: Vec<Part>,
}

impl ListedPairs {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.groups.len()).sum()
    }

    /// Appends groups and their values, of a type that has words; none is null.
    pub(super) fn extend(&mut self, groups: &[u32], cells: &Chunk) {
        let Some(words) = order_words(cells, false) else { return };
        let room = |part: &&mut Part| part.groups.capacity() - part.groups.len() >= groups.len();
        if let Some(part) = self.parts.last_mut().filter(room) {
            part.groups.extend_from_slice(groups);
            part.words.extend_from_slice(&words);
            return;
        }
        let rows = groups.len().max(LISTED_PART.get());
        let mut part = Part { groups: Vec::with_capacity(rows), words: Vec::with_capacity(rows) };
        part.groups.extend_from_slice(groups);
        part.words.extend_from_slice(&words);
        self.parts.push(part);
    }

    /// Appends the pairs of another list, whose group `i` is `groups[i]` here.
    pub(super) fn append(&mut self, mut other: ListedPairs, groups: &[u32]) {
        let all = other.parts.iter_mut().flat_map(|part| &mut part.groups);
        all.for_each(|group| *group = groups[*group as usize]);
        self.parts.append(&mut other.parts);
    }

    /// Runs over the words.
    pub(super) fn each_word(&mut self, each: impl FnMut(&mut u64)) {
        self.parts.iter_mut().flat_map(|part| &mut part.words).for_each(each);
    }

    /// How many distinct values each group has, all of which are below `many`.
    pub(super) fn distinct(&self, many: usize) -> Vec<i64> {
        if self.is_grouped() { self.of_runs(many) } else { self.of_placed(many) }
    }

    /// Whether the pairs of each group stand together, later groups after earlier ones.
    fn is_grouped(&self) -> bool {
        let ends = |part: &Part| part.groups.first().copied().zip(part.groups.last().copied());
        let ends: Vec<(u32, u32)> = self.parts.iter().filter_map(ends).collect();
        ends.is_sorted_by(|one, other| one.1 <= other.0) && self.parts.iter().all(|part| part.groups.is_sorted())
    }

    /// Counts each run of a group. The first and the last run of a part may go on in another.
    fn of_runs(&self, many: usize) -> Vec<i64> {
        let inner = |_: usize, part: &Part| {
            let runs: Vec<&[u32]> = part.groups.chunk_by(|one, other| one == other).collect();
            let mut from = runs.first().map_or(0, |run| run.len());
            let last = runs.len().saturating_sub(1);
            let counted = runs.get(1..last).unwrap_or_default().iter().map(|run| {
                let words = &part.words[from..from + run.len()];
                from += run.len();
                (run[0], of_one(words))
            });
            Ok::<_, Infallible>(counted.collect::<Vec<(u32, i64)>>())
        };
        let Ok(inner) = parallel::try_map(self.parts.len() > 1, &self.parts, inner);
        let mut counts = vec![0; many];
        inner.into_iter().flatten().for_each(|(group, count)| counts[group as usize] = count);
        let mut open: Option<(u32, Vec<u64>)> = None;
        for Part { groups, words } in &self.parts {
            let (Some(first), Some(last)) = (groups.first(), groups.last()) else { continue };
            let first_end = groups.partition_point(|group| group <= first);
            let last_start = groups.partition_point(|group| group < last).max(first_end);
            for (group, run) in [(*first, &words[..first_end]), (*last, &words[last_start..])] {
                match &mut open {
                    Some((same, words)) if *same == group => words.extend_from_slice(run),
                    _ => {
                        let closed = open.replace((group, run.to_vec()));
                        closed.into_iter().for_each(|(group, words)| counts[group as usize] = of_one(&words));
                    }
                }
            }
        }
        open.into_iter().for_each(|(group, words)| counts[group as usize] = of_one(&words));
        counts
    }

    fn of_placed(&self, many: usize) -> Vec<i64> {
        let mut starts = vec![0_usize; many + 2];
        // Counted two places on: as words are put down, the place of a group becomes where it ends, and the next one's begins.
        self.parts.iter().flat_map(|part| &part.groups).for_each(|group| starts[*group as usize + 2] += 1);
        (2..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let mut placed = vec![0_u64; self.len()];
        for Part { groups, words } in &self.parts {
            for (group, word) in groups.iter().zip(words) {
                let at = &mut starts[*group as usize + 1];
                placed[*at] = *word;
                *at += 1;
            }
        }
        let mut shares: Vec<(usize, usize)> = Vec::new();
        let mut from = 0;
        while from < many {
            let share = starts[from] + LISTED_SHARE.get();
            let end = starts.partition_point(|start| *start < share).clamp(from + 1, many);
            shares.push((from, end));
            from = end;
        }
        let counted = parallel::try_map(shares.len() > 1, &shares, |_, (from, end)| {
            let count = |group: usize| of_one(&placed[starts[group]..starts[group + 1]]);
            Ok::<_, Infallible>((*from..*end).map(count).collect::<Vec<i64>>())
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
        few if few.len() <= 8 => (0..few.len()).map(|at| i64::from(!few[..at].contains(&few[at]))).sum(),
        several => {
            let mut sorted = several.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.len() as i64
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;
    use limits::Scope;

    use super::*;

    /// Pairs in calls of some rows, and the counts by a set.
    fn both(pairs: &[(u32, i64)], call: usize, many: usize) -> (Vec<i64>, Vec<i64>) {
        let mut listed = ListedPairs::default();
        for pairs in pairs.chunks(call) {
            let cells: Chunk = Arc::new(pairs.iter().map(|pair| pair.1).collect::<Int64Array>());
            listed.extend(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>(), &cells);
        }
        let set: std::collections::HashSet<(u32, i64)> = pairs.iter().copied().collect();
        let mut counts = vec![0; many];
        set.into_iter().for_each(|(group, _)| counts[group as usize] += 1);
        (listed.distinct(many), counts)
    }

    #[test]
    fn groups_that_stand_together_and_groups_that_do_not() {
        for (rows, runs, values, call) in
            [(0, 1, 1, 1), (10, 3, 2, 4), (1000, 7, 3, 64), (5000, 1, 9, 300), (400, 400, 50, 9)]
        {
            let together: Vec<(u32, i64)> = (0..rows).map(|row| (row / runs, i64::from(row * 7 % values))).collect();
            let apart: Vec<(u32, i64)> = together.iter().map(|(group, value)| (group % 13, *value)).collect();
            for seed in 0..6 {
                Scope::drawn(seed).enter(|| {
                    let (listed, counted) = both(&together, call, rows as usize / runs as usize + 1);
                    assert_eq!(listed, counted);
                    let (listed, counted) = both(&apart, call, 13);
                    assert_eq!(listed, counted);
                });
            }
        }
    }
}
