//! Predicates that shall all be true, and what they cost: of those that may change places the one goes first that leaves out most
//! rows in the least time, as measured over the rows so far.
//!
//! A predicate that may fail, calls a function of the user or waits for a barrier keeps its place, and sees the rows that passed
//! those before it. All others have a value in every row, so that their order decides about nothing but time.

use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::eval::evaluator::Evaluator;

/// Rows after which what was measured counts half.
const REMEMBERED: u64 = 1 << 20;

/// Predicates, in the order in which they were given.
pub(crate) struct Conjunction {
    predicates: Arc<[Evaluator]>,
    measured: Box<[Measured]>,
    /// Neighbours that may change places.
    runs: Vec<Range<usize>>,
}

#[derive(Default)]
struct Measured {
    nanoseconds: AtomicU64,
    came: AtomicU64,
    passed: AtomicU64,
}

impl Measured {
    fn note(&self, came: u64, passed: u64, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX / 2);
        let add = |sum: &AtomicU64, more: u64| {
            let so_far = sum.load(Ordering::Relaxed);
            let so_far = if self.came.load(Ordering::Relaxed) > REMEMBERED { so_far / 2 } else { so_far };
            sum.store(so_far.saturating_add(more), Ordering::Relaxed);
        };
        // Threads may lose each other's numbers: they are all of the same kind.
        add(&self.nanoseconds, took);
        add(&self.passed, passed);
        add(&self.came, came);
    }

    /// Time for each row that it leaves out; nothing is known of one that has seen no row, and it is tried.
    fn price(&self) -> f64 {
        let read = |sum: &AtomicU64| sum.load(Ordering::Relaxed) as f64;
        let came = read(&self.came);
        if came == 0.0 {
            return 0.0;
        }
        read(&self.nanoseconds) / (came - read(&self.passed)).max(came / 1024.0)
    }
}

impl Conjunction {
    pub(crate) fn new(predicates: Arc<[Evaluator]>) -> Conjunction {
        let moves: Vec<bool> = predicates.iter().map(|one| one.is_total() && one.is_by_batch()).collect();
        let measured = predicates.iter().map(|_| Measured::default()).collect();
        Conjunction { predicates, measured, runs: runs(&moves) }
    }

    /// Whether some of them may change places.
    pub(crate) fn has_choice(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Narrows something down by each in turn, in the order that is best by now. `count` tells how many rows are left; none is
    /// narrowed further.
    pub(crate) fn narrow<T>(
        &self,
        rows: &mut T,
        count: impl Fn(&T) -> u64,
        mut by: impl FnMut(&mut T, &Evaluator) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !self.has_choice() {
            return self.predicates.iter().try_for_each(|predicate| by(rows, predicate));
        }
        let mut came = count(rows);
        for at in self.order() {
            if came == 0 {
                break;
            }
            let began = Instant::now();
            by(rows, &self.predicates[at])?;
            let took = began.elapsed();
            let passed = count(rows);
            self.measured[at].note(came, passed, took);
            came = passed;
        }
        Ok(())
    }

    fn order(&self) -> Vec<usize> {
        let prices: Vec<f64> = self.measured.iter().map(Measured::price).collect();
        let mut order: Vec<usize> = (0..self.predicates.len()).collect();
        for run in &self.runs {
            order[run.clone()].sort_by(|a, b| prices[*a].total_cmp(&prices[*b]));
        }
        order
    }
}

impl Deref for Conjunction {
    type Target = [Evaluator];

    fn deref(&self) -> &[Evaluator] {
        &self.predicates
    }
}

/// Neighbours of which each moves, two or more.
fn runs(moves: &[bool]) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut from = 0;
    for run in moves.chunk_by(|a, b| a == b) {
        if run[0] && run.len() > 1 {
            runs.push(from..from + run.len());
        }
        from += run.len();
    }
    runs
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;
    use formula::{Expr, Function};

    use super::*;
    use crate::eval::call::Call;
    use crate::testing::{Drawn, still_graph};

    fn above(name: &str, value: i64) -> Expr {
        Expr::call(Function::Greater, vec![Expr::column(name), Expr::literal(value)]).expect("a call")
    }

    fn conjunction(predicates: &[Expr]) -> Conjunction {
        let table = Drawn::new(&still_graph(), "0 A 1").table().clone();
        let call = Call::from("filter");
        let bound: Vec<Evaluator> = predicates
            .iter()
            .map(|predicate| Evaluator::predicate(&call, predicate, &table).expect("it is Boolean"))
            .collect();
        Conjunction::new(bound.into())
    }

    #[test]
    fn the_cheapest_goes_first_and_what_was_not_tried_before_it() {
        let three = conjunction(&[above("V", 1), above("V", 2), above("V", 3)]);
        assert_eq!(three.order(), [0, 1, 2]);
        three.measured[0].note(100, 0, Duration::from_micros(900));
        assert_eq!(three.order(), [1, 2, 0]);
        three.measured[1].note(100, 50, Duration::from_micros(100));
        three.measured[2].note(100, 100, Duration::from_micros(1));
        assert_eq!(three.order(), [1, 0, 2]);
    }

    #[test]
    fn a_predicate_that_may_fail_keeps_its_place() {
        let strict = Expr::column("K").cast(DataType::Int64, true).expect("a cast");
        let strict = Expr::call(Function::Greater, vec![strict, Expr::literal(1_i64)]).expect("a call");
        let held = conjunction(&[above("V", 1), strict.clone(), above("V", 2), above("V", 3)]);
        held.measured[2].note(10, 0, Duration::from_micros(9));
        held.measured[3].note(10, 0, Duration::from_micros(1));
        assert_eq!(held.order(), [0, 1, 3, 2]);
        assert!(!conjunction(&[above("V", 1), strict, above("V", 2)]).has_choice());
        let contains = Function::Text(formula::functions::Text::Contains { literal: false });
        let pattern = Expr::call(contains, vec![Expr::column("K"), Expr::literal("a|b")]).expect("a call");
        assert!(conjunction(&[pattern, above("V", 1)]).has_choice());
    }

    #[test]
    fn what_was_measured_long_ago_counts_less() {
        let one = Measured::default();
        one.note(REMEMBERED + 1, 0, Duration::from_secs(1));
        let before = one.price();
        for _ in 0..40 {
            one.note(REMEMBERED / 8, 0, Duration::from_millis(1));
        }
        assert!(one.price() < before / 10.0, "{} {before}", one.price());
    }
}
