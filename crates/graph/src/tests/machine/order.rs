//! Tests of which nodes run in a step, and in which order.

use super::support::Bench;
use crate::{Moment, Outcome, Step};

#[test]
fn a_chain_runs_in_order_and_settles_afterwards() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    let b = bench.below("b", &[&a]);
    let _c = bench.below("c", &[&b]);
    bench.graph.activate(a.id());
    let step = bench.graph.step().expect("outside");
    assert_eq!((step, bench.graph.settled()), (Step::new(1), Moment::new(1)));
    assert_eq!(bench.all_events(), ["seal a", "a 1", "b 1", "c 1", "settle a 1", "settle b 1", "settle c 1"]);
}

#[test]
fn nobody_runs_below_an_idle_source() {
    let bench = Bench::new(1);
    let (a, idle) = (bench.source("a"), bench.source("idle"));
    let _below = bench.below("below", &[&idle]);
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), ["a 1"]);
    let report = bench.graph.last_report().expect("a step ran");
    assert_eq!((report.active, report.reached, report.ran), (1, 1, 1));
}

#[test]
fn a_quiet_parent_settles_its_children_without_running_them() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    let filter = bench.below_with("filter", &[&a], |_| Outcome::Quiet);
    let _below = bench.below("below", &[&filter]);
    let _both = bench.below("both", &[&filter, &a]);
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), ["a 1", "filter 1", "both 1"]);
}

#[test]
fn a_diamond_runs_its_end_once_after_both_sides() {
    for seed in 0..20 {
        let bench = Bench::seeded(seed);
        let a = bench.source("a");
        let (left, right) = (bench.below("left", &[&a]), bench.below("right", &[&a]));
        let _end = bench.below("end", &[&left, &right]);
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
        let events = bench.events();
        assert_eq!((events.len(), events[0].as_str(), events[3].as_str()), (4, "a 1", "end 1"));
    }
}

#[test]
fn a_step_by_hand_runs_with_nothing_pending() {
    let bench = Bench::new(1);
    let _a = bench.source("a");
    assert_eq!(bench.graph.step(), Ok(Step::new(1)));
    assert_eq!(bench.graph.step(), Ok(Step::new(2)));
    assert_eq!(bench.all_events(), [""; 0]);
}

#[test]
fn an_active_node_runs_though_its_parents_are_quiet() {
    let bench = Bench::new(1);
    let a = bench.source_with("a", |_| Outcome::Quiet);
    let window = bench.below("window", &[&a]);
    bench.graph.activate(window.id());
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), ["window 1"]);
    bench.graph.activate(window.id());
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), ["a 2", "window 2"]);
}
