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
pub struct Turn {
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

/// What has a turn among the expressions of its operation.
pub(crate) trait InTurn: Sync {
    /// How it stands to the others.
    fn turn(&self) -> &Turn;
    /// Whether it runs beside no other such expression.
    fn is_exclusive(&self) -> bool;
    /// Whether a function of the user stands in it.
    fn calls_host(&self) -> bool;
}

/// Runs each expression after those it must wait for; returns the results in the given order.
pub(crate) fn in_turns<E: InTurn, R: Send>(
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
fn levels<E: InTurn>(evaluators: &[&E]) -> Vec<usize> {
    let mut levels: Vec<usize> = Vec::with_capacity(evaluators.len());
    for (at, evaluator) in evaluators.iter().enumerate() {
        let waits_for = |earlier: &usize| {
            let other = evaluators[*earlier];
            (evaluator.is_exclusive() && other.is_exclusive())
                || evaluator.turn().respects.iter().any(|barrier| other.turn().declares.contains(barrier))
        };
        levels.push((0..at).filter(waits_for).map(|earlier| levels[earlier] + 1).max().unwrap_or(0));
    }
    levels
}

/// Checks that each barrier is declared once, and before it is used.
pub fn check_barriers(operation: &str, turns: &[Turn]) -> Result<(), Error> {
    let mut declared: HashSet<u64> = HashSet::new();
    let all: HashSet<u64> = turns.iter().flat_map(|turn| turn.declares.iter().copied()).collect();
    for turn in turns {
        if let Some(barrier) = turn.respects.iter().find(|barrier| !declared.contains(barrier)) {
            let why = if all.contains(barrier) { "declared later, or by the same one" } else { "that nobody declared" };
            return Err(Error::invalid(
                operation,
                format!("a barrier is respected {why}: declare it on an earlier one"),
            ));
        }
        for barrier in &turn.declares {
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

    fn turn(declares: &[u64], respects: &[u64]) -> Turn {
        Turn { declares: declares.to_vec(), respects: respects.to_vec(), ..Turn::default() }
    }

    #[test]
    fn barriers_are_declared_once_and_before() {
        let check = |turns: &[Turn]| check_barriers("select", turns).map_err(|error| error.to_string());
        assert!(check(&[turn(&[1], &[]), turn(&[], &[1])]).is_ok());
        assert!(check(&[turn(&[], &[1]), turn(&[1], &[])]).is_err_and(|text| text.contains("later")));
        assert!(check(&[turn(&[], &[1])]).is_err_and(|text| text.contains("nobody declared")));
        assert!(check(&[turn(&[1], &[1])]).is_err_and(|text| text.contains("by the same one")));
        assert!(check(&[turn(&[1], &[]), turn(&[1], &[])]).is_err_and(|text| text.contains("declared twice")));
    }
}
