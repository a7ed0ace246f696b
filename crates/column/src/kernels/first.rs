//! The first rows in order: a selection, which puts only these in order.
//!
//! The word of the last of them is found first, in one pass; rows with a lesser word are sorted, and among those with
//! the same word the next level selects.

use arrow_array::ArrayRef;
use rayon::prelude::*;

use super::sort::{Cells, Level, directed, eight_bytes, levels_of, shared_bytes, sort_by_levels, sort_to_positions};
use super::words::{have_words, words};
use crate::error::Error;
use crate::sizes::{SELECTED_SHARE, SORT_FEW, SORT_MANY};

/// The positions of the first `count` rows in the order of [`sort_to_positions`].
///
/// # Errors
/// As there.
pub fn first_positions(
    columns: &[ArrayRef],
    descending: &[bool],
    nulls_last: &[bool],
    count: usize,
) -> Result<Vec<u32>, Error> {
    let rows = columns.first().map_or(0, |column| column.len());
    if count == 0 {
        return Ok(Vec::new());
    }
    let whole = u32::try_from(rows).ok().filter(|_| count <= rows / SELECTED_SHARE.get());
    let Some(whole) = whole else {
        let mut all = sort_to_positions(columns, descending, nulls_last)?;
        all.truncate(count);
        return Ok(all);
    };
    if let [column] = columns
        && have_words(column.data_type())
    {
        return Ok(first_words(column, descending[0], nulls_last[0], count));
    }
    let levels = levels_of(columns, descending, nulls_last)?;
    Ok(first_by_levels(&levels, 0, (0..whole).collect(), count))
}

/// The least of what is offered.
struct Least<T> {
    count: usize,
    kept: Vec<T>,
    /// What is not less is none of them.
    bound: Option<T>,
}

impl<T: Ord + Copy> Least<T> {
    fn new(count: usize) -> Least<T> {
        Least { count, kept: Vec::new(), bound: None }
    }

    #[inline]
    fn offer(&mut self, item: T) {
        if self.bound.is_none_or(|bound| item < bound) {
            self.kept.push(item);
            if self.kept.len() >= (2 * self.count).max(1 << 10) {
                self.settle();
            }
        }
    }

    fn settle(&mut self) {
        if self.kept.len() > self.count {
            self.kept.select_nth_unstable(self.count - 1);
            self.kept.truncate(self.count);
        }
        if self.kept.len() == self.count {
            self.bound = self.kept.iter().max().copied();
        }
    }

    /// The least of several, in any order.
    fn of_all(count: usize, parts: Vec<Least<T>>) -> Vec<T> {
        let mut all = Least { count, kept: parts.into_iter().flat_map(|part| part.kept).collect(), bound: None };
        all.settle();
        all.kept
    }
}

/// Runs over `0 .. len`, one a thread.
fn runs(len: usize) -> Vec<(usize, usize)> {
    let size = len.div_ceil(rayon::current_num_threads()).max(SORT_MANY.get());
    (0..len).step_by(size).map(|start| (start, len.min(start + size))).collect()
}

/// One column that has words: they are looked at a cache's worth at a time, and none is kept that cannot be among the first.
fn first_words(column: &ArrayRef, descending: bool, nulls_last: bool, count: usize) -> Vec<u32> {
    let nulls = column.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    let many = SORT_MANY.get();
    let part = |&(from, to): &(usize, usize)| {
        let mut least = Least::new(count);
        for start in (from..to).step_by(many) {
            let end = to.min(start + many);
            let words = words(&column.slice(start, end - start)).unwrap_or_default();
            for (position, word) in (start..end).zip(words) {
                if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(position)) {
                    least.offer((directed(word, descending), position as u32));
                }
            }
        }
        least.settle();
        least
    };
    let parts = runs(column.len()).par_iter().map(part).collect();
    let mut valid: Vec<(u64, u32)> = Least::of_all(count, parts);
    valid.sort_unstable();
    let valid = valid.into_iter().map(|(_, position)| position);
    let null = nulls.iter().flat_map(|nulls| (0..nulls.len()).filter(|at| nulls.is_null(*at))).map(|at| at as u32);
    if nulls_last { valid.chain(null).take(count).collect() } else { null.chain(valid).take(count).collect() }
}

/// The first of these rows, which stand as they came.
fn first_by_levels(levels: &[Level], at: usize, mut rows: Vec<u32>, count: usize) -> Vec<u32> {
    let Some(level) = levels.get(at) else {
        rows.truncate(count);
        return rows;
    };
    if rows.len() <= count.max(SORT_FEW.get()) {
        sort_by_levels(levels, at, &mut rows);
        rows.truncate(count);
        return rows;
    }
    let (null, valid): (Vec<u32>, Vec<u32>) =
        if level.has_nulls() { rows.into_iter().partition(|row| level.is_null(*row)) } else { (Vec::new(), rows) };
    let groups = if level.nulls_last { [(false, valid), (true, null)] } else { [(true, null), (false, valid)] };
    let mut first = Vec::new();
    for (is_null, rows) in groups {
        let rest = count - first.len();
        first.extend(match &level.cells {
            _ if rest == 0 || rows.is_empty() => continue,
            _ if is_null => first_by_levels(levels, at + 1, rows, rest),
            Cells::Words(words) => first_by_word(rows, &|row| words[row as usize], rest, levels, at, &|rows, count| {
                first_by_levels(levels, at + 1, rows, count)
            }),
            _ => first_by_bytes(levels, at, 0, rows, rest),
        });
    }
    first
}

/// As [`first_by_levels`], of rows whose cells begin with the same bytes, at least so many.
fn first_by_bytes(levels: &[Level], at: usize, shared: usize, mut rows: Vec<u32>, count: usize) -> Vec<u32> {
    if rows.len() <= count.max(SORT_FEW.get()) {
        sort_by_levels(levels, at, &mut rows);
        rows.truncate(count);
        return rows;
    }
    let level = &levels[at];
    let shared = shared_bytes(level, shared, &rows);
    if rows.iter().all(|&row| level.bytes(row).len() <= shared) {
        // Equal but for zeros at their ends: the shorter is the lesser.
        let length = |row| directed(level.bytes(row).len() as u64, level.descending);
        return first_by_word(rows, &length, count, levels, at, &|rows, count| {
            first_by_levels(levels, at + 1, rows, count)
        });
    }
    let word = |row| directed(eight_bytes(level.bytes(row), shared), level.descending);
    first_by_word(rows, &word, count, levels, at, &|rows, count| first_by_bytes(levels, at, shared + 8, rows, count))
}

/// The first of these rows by a word; `ties` are the first of those that have the word of the last.
fn first_by_word(
    rows: Vec<u32>,
    word: &(impl Fn(u32) -> u64 + Sync),
    count: usize,
    levels: &[Level],
    at: usize,
    ties: &dyn Fn(Vec<u32>, usize) -> Vec<u32>,
) -> Vec<u32> {
    if rows.len() <= count {
        let mut rows = rows;
        sort_by_levels(levels, at, &mut rows);
        return rows;
    }
    let part = |&(from, to): &(usize, usize)| {
        let mut least = Least::new(count);
        rows[from..to].iter().for_each(|&row| least.offer(word(row)));
        least.settle();
        least
    };
    let parts = runs(rows.len()).par_iter().map(part).collect();
    let last = Least::of_all(count, parts).into_iter().max().unwrap_or(u64::MAX);
    let within = |row: &u32| word(*row) <= last;
    let kept: Vec<u32> = rows.into_par_iter().with_min_len(SORT_MANY.get()).filter(within).collect();
    let (mut less, equal): (Vec<u32>, Vec<u32>) = kept.into_iter().partition(|&row| word(row) < last);
    sort_by_levels(levels, at, &mut less);
    let rest = count - less.len();
    less.extend(ties(equal, rest));
    less
}
