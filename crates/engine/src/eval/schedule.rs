//! Execution order of the expressions of one operation: serial columns, barriers and stateful functions run in order,
//! all others in parallel.
//!
//! A stateful or serial expression sees its rows in order on one thread. Two such expressions never overlap: the first
//! has seen all its rows before the next begins, unless the setting `serial_implicit_barriers` is off. Native
//! expressions keep no state and are not ordered.

use std::collections::HashSet;

use crate::error::Error;
use crate::threads::parallel;

/// Who may run beside whom: how one expression stands to the others of its operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ExecutionOrder {
    /// Rows in order, on one thread.
    pub serial: bool,
    /// Whether a function that does not say so keeps no state.
    pub stateless: bool,
    /// Whether it may run beside others whose rows are in order too.
    pub overlaps: bool,
    /// Barriers that it opens when all its rows are done.
    pub declares: Vec<u64>,
    /// Barriers that it waits for.
    pub respects: Vec<u64>,
}

/// What is scheduled among the expressions of its operation.
pub(crate) trait Scheduled: Sync {
    /// How it stands to the others.
    fn order(&self) -> &ExecutionOrder;
    /// Whether it runs beside no other such expression.
    fn is_exclusive(&self) -> bool;
    /// Whether a function of the user stands in it.
    fn calls_host(&self) -> bool;
}

/// Runs each expression after those it must wait for; returns the results in the given order.
pub(crate) fn run_ordered<E: Scheduled, R: Send>(
    evaluators: &[&E],
    run: impl Fn(&E) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    if evaluators.iter().all(|evaluator| !evaluator.calls_host()) {
        // Native ones split their rows over the cores themselves.
        return evaluators.iter().map(|evaluator| run(evaluator)).collect();
    }
    let levels = levels(evaluators);
    let mut results: Vec<Option<R>> = evaluators.iter().map(|_| None).collect();
    for level in 0..=levels.iter().copied().max().unwrap_or(0) {
        let together: Vec<usize> = (0..evaluators.len()).filter(|at| levels[*at] == level).collect();
        let done = parallel::try_map(together.len() > 1, &together, |_, at| run(evaluators[*at]))?;
        for (at, result) in together.into_iter().zip(done) {
            results[at] = Some(result);
        }
    }
    Ok(results.into_iter().flatten().collect())
}

/// The level of each expression. Expressions of one level run in parallel; a level starts when the levels before it are
/// done.
fn levels<E: Scheduled>(evaluators: &[&E]) -> Vec<usize> {
    let mut levels: Vec<usize> = Vec::with_capacity(evaluators.len());
    for (at, evaluator) in evaluators.iter().enumerate() {
        let waits_for = |earlier: &usize| {
            let other = evaluators[*earlier];
            (evaluator.is_exclusive() && other.is_exclusive())
                || evaluator.order().respects.iter().any(|barrier| other.order().declares.contains(barrier))
        };
        levels.push((0..at).filter(waits_for).map(|earlier| levels[earlier] + 1).max().unwrap_or(0));
    }
    levels
}

/// Checks that each barrier is declared once, and before it is used.
pub fn check_barriers(operation: &str, orders: &[ExecutionOrder]) -> Result<(), Error> {
    let mut declared: HashSet<u64> = HashSet::new();
    let all: HashSet<u64> = orders.iter().flat_map(|order| order.declares.iter().copied()).collect();
    for order in orders {
        if let Some(barrier) = order.respects.iter().find(|barrier| !declared.contains(barrier)) {
            let why = if all.contains(barrier) { "declared later, or by the same one" } else { "that nobody declared" };
            return Err(Error::invalid(
                operation,
                format!("a barrier is respected {why}: declare it on an earlier one"),
            ));
        }
        for barrier in &order.declares {
            if !declared.insert(*barrier) {
                return Err(Error::invalid(operation, "a barrier is declared twice: one declarer opens a barrier"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(declares: &[u64], respects: &[u64]) -> ExecutionOrder {
        ExecutionOrder { declares: declares.to_vec(), respects: respects.to_vec(), ..ExecutionOrder::default() }
    }

    #[test]
    fn barriers_are_declared_once_and_before() {
        let check = |orders: &[ExecutionOrder]| check_barriers("select", orders).map_err(|error| error.to_string());
        assert!(check(&[order(&[1], &[]), order(&[], &[1])]).is_ok());
        assert!(check(&[order(&[], &[1]), order(&[1], &[])]).is_err_and(|text| text.contains("later")));
        assert!(check(&[order(&[], &[1])]).is_err_and(|text| text.contains("nobody declared")));
        assert!(check(&[order(&[1], &[1])]).is_err_and(|text| text.contains("by the same one")));
        assert!(check(&[order(&[1], &[]), order(&[1], &[])]).is_err_and(|text| text.contains("declared twice")));
    }
}
