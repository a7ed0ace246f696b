//! Snapshots: again while it moved, then under the shared lock, and never of two moments.

use super::support::Bench;
use crate::{Moment, Moved, Outcome, Pinned, Step};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[test]
fn it_starts_again_while_the_moment_is_gone() {
    let bench = Bench::new(1);
    let mut tries = 0;
    let found = bench.graph.snapshot(|moment| {
        tries += 1;
        bench.graph.step().expect("no lock is held");
        if tries < 5 { Err(Moved) } else { Ok(moment) }
    });
    assert_eq!((found, tries), (Moment::new(4), 5));
    let counters = bench.graph.counters();
    assert_eq!((counters.snapshot_restarts, counters.snapshot_fallbacks), (4, 0));
}

#[test]
fn after_eight_tries_it_keeps_steps_from_running() {
    let bench = Bench::new(1);
    let mut tries = 0;
    let found = bench.graph.snapshot(|moment| {
        tries += 1;
        // A reader so slow that a whole step passes each time, until steps cannot run any more.
        if bench.graph.step().is_ok() { Err(Moved) } else { Ok(moment) }
    });
    assert_eq!((found, tries), (Moment::new(8), 9));
    assert_eq!(bench.graph.counters().snapshot_fallbacks, 1);
    bench.graph.step().expect("the lock is gone");
}

#[test]
fn two_values_are_never_read_at_two_moments() {
    let bench = Bench::new(2);
    let zero = || Arc::new(Pinned::new(0u64, Moment::new(0)));
    let (left, right) = (zero(), zero());
    let writes = |value: &Arc<Pinned<u64>>| {
        let value = value.clone();
        move |step: Step| {
            value.publish(step, step.number());
            Outcome::Changed
        }
    };
    let a = bench.source_with("a", writes(&left));
    // The right one is written every third step only.
    let write = writes(&right);
    let _b =
        bench.below_with("b", &[&a], move |step| if step.number() % 3 == 0 { write(step) } else { Outcome::Quiet });
    let (done, graph) = (AtomicBool::new(false), &bench.graph);
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let mut last = Moment::new(0);
                while !done.load(Ordering::SeqCst) {
                    let (at, pair) = graph.snapshot(|moment| Ok((moment, (left.at(moment)?, right.at(moment)?))));
                    assert_eq!(pair, (at.number(), at.number() / 3 * 3), "torn at {at:?}");
                    assert!(at >= last, "one reader never goes back");
                    last = at;
                }
            });
        }
        for _ in 0..3_000 {
            graph.activate(a.id());
            graph.step().expect("outside");
            left.settle();
            right.settle();
        }
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
#[should_panic(expected = "written outside of a step")]
fn a_moment_that_never_comes_is_a_mistake_and_not_a_hang() {
    Bench::new(1).graph.snapshot(|_| Err::<(), Moved>(Moved));
}

#[test]
fn inside_a_step_the_state_before_it_is_read() {
    let bench = Bench::new(1);
    let value = Arc::new(Pinned::new(10, Moment::new(0)));
    let (written, graph) = (value.clone(), bench.graph.clone());
    let a = bench.source_with("a", move |step| {
        written.publish(step, 11);
        let seen = graph.snapshot(|moment| Ok((moment, written.at(moment)?)));
        assert_eq!(seen, (step.before(), 10));
        Outcome::Changed
    });
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    assert_eq!(bench.graph.last_report().expect("a step ran").failed, 0);
    assert_eq!(bench.graph.snapshot(|moment| value.at(moment)), 11);
}
