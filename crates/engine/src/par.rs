//! Splitting big work inside a node over the cores; results never depend on how it was split.

use rayon::prelude::*;

/// Runs `run` for each item, on several threads if `worth_it`; the first error by position wins.
pub fn try_each<T: Sync, E: Send>(worth_it: bool, items: &[T], run: impl Fn(usize, &T) -> Result<(), E> + Sync) -> Result<(), E> {
    if !worth_it || items.len() < 2 {
        return items.iter().enumerate().try_for_each(|(index, item)| run(index, item));
    }
    let outcomes: Vec<Result<(), E>> = items.par_iter().enumerate().map(|(index, item)| run(index, item)).collect();
    outcomes.into_iter().collect()
}

/// Maps each item, on several threads if `worth_it`, keeping the order.
pub fn try_map<T: Sync, R: Send, E: Send>(
    worth_it: bool,
    items: &[T],
    run: impl Fn(usize, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if !worth_it || items.len() < 2 {
        return items.iter().enumerate().map(|(index, item)| run(index, item)).collect();
    }
    let outcomes: Vec<Result<R, E>> = items.par_iter().enumerate().map(|(index, item)| run(index, item)).collect();
    outcomes.into_iter().collect()
}
