//! Nodes that join while a step is under way.

use super::support::{Bench, Held, door};
use crate::{GraphError, Moment, Moved, Outcome, Step};
use std::sync::{Arc, Mutex};
use std::thread;

impl Bench {
    fn try_join(&self, name: &str, parents: &[&Held], pinned: Moment) -> Result<Held, Moved> {
        let node = self.probe(name, |_| Outcome::Changed);
        let parents: Vec<_> = parents.iter().map(|parent| parent.id()).collect();
        let registration = self.graph.join(&node, &parents, pinned)?;
        Ok(Held { registration, node })
    }
}

#[test]
fn joined_while_idle_it_runs_from_the_next_step() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    let _late = bench.try_join("late", &[&a], Moment::new(1)).expect("still the settled moment");
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), ["a 1", "a 2", "late 2"]);
}

#[test]
fn a_moment_that_is_gone_is_refused() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    bench.graph.step().expect("outside");
    assert_eq!(bench.try_join("early", &[&a], Moment::new(0)).err(), Some(Moved));
    assert_eq!(bench.try_join("future", &[&a], Moment::new(2)).err(), Some(Moved));
    assert_eq!(bench.graph.counters().nodes, 1);
}

#[test]
fn joined_while_a_step_runs_it_runs_last_in_order_of_joining() {
    for threads in [1, 2] {
        let bench = Bench::new(threads);
        let (hold, wait_inside) = door();
        let a = bench.source_with("a", wait_inside);
        let b = bench.below("b", &[&a]);
        let idle = bench.source("idle");
        bench.graph.activate(a.id());
        let graph = bench.graph.clone();
        let stepping = thread::spawn(move || graph.step());
        assert_eq!(hold.arrived.recv(), Ok(Step::new(1)));

        let second = bench.try_join("second", &[&b], Moment::new(0)).expect("step 1 runs");
        let third = bench.try_join("third", &[&second], Moment::new(0)).expect("step 1 runs");
        let fourth = bench.try_join("fourth", &[&a], Moment::new(0)).expect("step 1 runs");
        let quiet = bench.try_join("quiet", &[&idle], Moment::new(0)).expect("step 1 runs");
        assert_eq!(bench.try_join("wrong", &[&a], Moment::new(1)).err(), Some(Moved));

        hold.open.send(()).expect("the source waits");
        assert_eq!(stepping.join().expect("no panic"), Ok(Step::new(1)));
        assert_eq!(bench.events(), ["a 1", "b 1", "second 1", "third 1", "fourth 1"]);
        assert_eq!(bench.graph.last_report().expect("a step ran").joined, 3);

        hold.open.send(()).expect("the source waits");
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
        let events = bench.events();
        assert_eq!(events.len(), 5, "each once in the next step: {events:?}");
        drop((second, third, fourth, quiet));
    }
}

#[test]
fn joined_below_a_node_that_failed_in_the_step_it_runs_to_find_out() {
    let bench = Bench::new(1);
    let (hold, wait_inside) = door();
    let gate = bench.source_with("gate", wait_inside);
    let bad = bench.source_with("bad", |_| Outcome::Failed);
    bench.graph.activate(gate.id());
    bench.graph.activate(bad.id());
    let graph = bench.graph.clone();
    let stepping = thread::spawn(move || graph.step());
    hold.arrived.recv().expect("it runs");
    let _child = bench.try_join("child", &[&bad], Moment::new(0)).expect("step 1 runs");
    hold.open.send(()).expect("it waits");
    stepping.join().expect("no panic").expect("outside");
    assert_eq!(bench.events().last().map(String::as_str), Some("child 1"));
}

#[test]
fn joined_by_a_node_that_joined_it_still_runs_in_the_step() {
    let bench = Bench::new(1);
    let (hold, wait_inside) = door();
    let a = bench.source_with("a", wait_inside);
    bench.graph.activate(a.id());
    let graph = bench.graph.clone();
    let stepping = thread::spawn(move || graph.step());
    hold.arrived.recv().expect("it runs");

    let kept = Arc::new(Mutex::new(None));
    let (keep, graph, parent) = (kept.clone(), bench.graph.clone(), a.id());
    let inner = bench.probe("inner", |_| Outcome::Changed);
    let outer = bench.probe("outer", move |step| {
        *keep.lock().unwrap() =
            Some(graph.join(&inner, &[parent], step.before()).map(|joined| (joined, inner.clone())));
        Outcome::Quiet
    });
    let _outer = bench.graph.join(&outer, &[a.id()], Moment::new(0)).expect("step 1 runs");
    hold.open.send(()).expect("it waits");
    stepping.join().expect("no panic").expect("outside");
    assert_eq!(bench.events(), ["a 1", "outer 1", "inner 1"]);
    assert!(matches!(*kept.lock().unwrap(), Some(Ok(_))));
}

#[test]
fn made_inside_a_step_it_runs_from_the_next_one() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    let made = Arc::new(Mutex::new(None));
    let (keep, graph, parent) = (made.clone(), bench.graph.clone(), a.id());
    let inner = bench.probe("inner", |_| Outcome::Changed);
    let _maker = bench.below_with("maker", &[&a], move |step| {
        let mut keep = keep.lock().unwrap();
        if keep.is_none() {
            *keep = Some(graph.join_in_step(&inner, &[parent], step).expect("its step runs"));
        }
        Outcome::Changed
    });
    for _ in 0..2 {
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
    }
    let events = bench.events();
    assert_eq!(events[..3], ["a 1", "maker 1", "a 2"]);
    assert_eq!(events.len(), 5);
    let outside = bench.probe("outside", |_| Outcome::Changed);
    assert!(bench.graph.join_in_step(&outside, &[a.id()], Step::new(2)).is_err(), "no step runs");
}

/// `merge` waits for `maker`; `maker` finds out in the step that `merge` needs `slow`, which has not run yet.
#[test]
fn an_edge_made_inside_a_step_is_waited_for_in_that_step() {
    for seed in 0..50 {
        let bench = Bench::seeded(seed);
        let a = bench.source("a");
        let merge_id = Arc::new(Mutex::new(None));
        let x = bench.below("x", &[&a]);
        let slow = bench.below("slow", &[&x]);
        let (graph, wanted, found) = (bench.graph.clone(), slow.id(), merge_id.clone());
        let maker = bench.below_with("maker", &[&a], move |step| {
            let merge = found.lock().unwrap().expect("joined before the step");
            graph.depend_in_step(merge, wanted, step).expect("no loop").expect("it has not started");
            Outcome::Changed
        });
        let merge = bench.below("merge", &[&maker]);
        *merge_id.lock().unwrap() = Some(merge.id());
        for step in 1..=2 {
            bench.graph.activate(a.id());
            bench.graph.step().expect("outside");
            let events = bench.events();
            assert_eq!(events.len(), 5, "seed {seed}: {events:?}");
            assert_eq!(events[4], format!("merge {step}"), "seed {seed}: {events:?}");
        }
        let loop_error = bench.graph.depend(a.id(), merge.id());
        assert_eq!(loop_error, Err(GraphError::Loop { child: "a".into(), parent: "merge".into() }));
        bench.graph.independ(merge.id(), slow.id());
        assert_eq!(bench.graph.parents(merge.id()), [maker.id()]);
    }
}

#[test]
fn an_edge_to_a_node_that_noted_something_makes_the_child_run() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    let ids = Arc::new(Mutex::new(None));
    let done = bench.below("done", &[&a]);
    let (graph, found, wanted) = (bench.graph.clone(), ids.clone(), done.id());
    // Quiet itself: only the new edge can make `merge` run. It waits for `done`, which has settled before it runs.
    let maker = bench.below_with("maker", &[&done], move |step| {
        let merge = found.lock().unwrap().expect("joined");
        graph.depend_in_step(merge, wanted, step).expect("no loop").expect("not started");
        Outcome::Quiet
    });
    let merge = bench.below("merge", &[&maker]);
    *ids.lock().unwrap() = Some(merge.id());
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), ["a 1", "done 1", "maker 1", "merge 1"]);
    assert_eq!(bench.graph.depend_in_step(merge.id(), done.id(), Step::new(1)), Ok(Err(Moved)), "the step is over");
}

#[test]
fn a_quiet_node_wakes_some_of_its_children() {
    for seed in 0..20 {
        let bench = Bench::seeded(seed);
        let a = bench.source("a");
        let wanted = Arc::new(Mutex::new(None));
        let (graph, found, above) = (bench.graph.clone(), wanted.clone(), a.id());
        let hub = bench.below_with("hub", &[&a], move |step| {
            let child = found.lock().unwrap().expect("joined");
            assert!(graph.wake_in_step(child), "it waits for the hub");
            assert!(graph.has_settled_in(above, step) && !graph.has_settled_in(child, step));
            Outcome::Quiet
        });
        let _quiet = bench.below("quiet", &[&hub]);
        let woken = bench.below("woken", &[&hub]);
        let _below = bench.below("below", &[&woken]);
        *wanted.lock().unwrap() = Some(woken.id());
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
        assert_eq!(bench.events(), ["a 1", "hub 1", "woken 1", "below 1"]);
        assert!(!bench.graph.wake_in_step(woken.id()), "the step is over");
    }
}
