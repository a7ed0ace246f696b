//! Taking nodes out: at any time, in any number, with nothing left behind.

use super::support::{Bench, door};
use crate::{Node, NodeId, Outcome, Registration, Step, UpdateGraph, release};
use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;

#[test]
fn a_node_dropped_during_the_step_does_not_run_and_holds_nobody_up() {
    for threads in [1, 2] {
        let bench = Bench::new(threads);
        let (hold, wait_inside) = door();
        let a = bench.source_with("a", wait_inside);
        let gone = bench.below("gone", &[&a]);
        let _end = bench.below("end", &[&gone, &a]);
        bench.graph.activate(a.id());
        let graph = bench.graph.clone();
        let stepping = thread::spawn(move || graph.step());
        hold.arrived.recv().expect("it runs");
        drop(gone);
        hold.open.send(()).expect("it waits");
        stepping.join().expect("no panic").expect("outside");
        assert_eq!(bench.events(), ["a 1", "end 1"]);
    }
}

#[test]
fn a_node_may_drop_itself_while_it_runs() {
    let bench = Bench::new(1);
    let own: Arc<Mutex<Option<Registration>>> = Arc::default();
    let mine = own.clone();
    let node = bench.probe("brief", move |_| {
        drop(mine.lock().unwrap().take());
        Outcome::Changed
    });
    *own.lock().unwrap() = Some(bench.graph.source(&node));
    let id = own.lock().unwrap().as_ref().map(Registration::id).expect("in the graph");
    bench.graph.activate(id);
    bench.graph.step().expect("outside");
    bench.graph.activate(id);
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), ["brief 1"]);
    assert_eq!(bench.graph.counters().nodes, 0);
}

#[test]
fn a_place_taken_again_hears_nothing_meant_for_the_old_node() {
    let bench = Bench::new(1);
    let old = bench.source("old");
    let old_id = old.id();
    bench.graph.activate(old_id);
    drop(old);
    assert_eq!(bench.graph.counters().pending, 0, "a node that is gone has nothing for the next step");
    let new = bench.source("new");
    assert_ne!(new.id(), old_id);
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), [""; 0]);
    bench.graph.activate(old_id);
    bench.graph.activate(new.id());
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), ["new 2"]);
}

/// A table in miniature: it holds its parent, its node and its place in the graph.
struct Link {
    registration: OnceLock<Registration>,
    label: String,
}

impl Node for Link {
    fn run(&self, _step: Step) -> Outcome {
        Outcome::Changed
    }
    fn label(&self) -> String {
        self.label.clone()
    }
}

fn link(graph: &UpdateGraph, parent: Option<(NodeId, Box<dyn Any + Send + Sync>)>) -> Arc<Link> {
    let made = Arc::new(Link { registration: OnceLock::new(), label: "link".to_owned() });
    let node: Arc<dyn Node> = made.clone();
    let parents: Vec<NodeId> = parent.iter().map(|(id, _)| *id).collect();
    let mut registration = graph.join(&node, &parents, graph.settled()).expect("idle");
    if let Some((_, parent)) = parent {
        registration.keep(parent);
    }
    assert!(made.registration.set(registration).is_ok());
    made
}

#[test]
fn a_chain_of_a_hundred_thousand_nodes_runs_and_drops_on_a_small_stack() {
    let body = || {
        let bench = Bench::new(1);
        let mut last = link(&bench.graph, None);
        let first = last.registration.get().expect("set").id();
        for _ in 1..100_000 {
            let id = last.registration.get().expect("set").id();
            last = link(&bench.graph, Some((id, Box::new(last))));
        }
        bench.graph.activate(first);
        bench.graph.step().expect("outside");
        assert_eq!(bench.graph.last_report().expect("a step ran").ran, 100_000);
        drop(last);
        assert_eq!(bench.graph.counters().nodes, 0);
    };
    let thread = thread::Builder::new().stack_size(256 * 1024).spawn(body).expect("a thread");
    thread.join().expect("no overflow");
}

#[test]
fn a_hundred_thousand_children_of_one_node_drop_in_any_order() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    let mut children: Vec<_> = (0..100_000)
        .map(|_| {
            let node = bench.probe("child", |_| Outcome::Changed);
            (bench.graph.join(&node, &[a.id()], bench.graph.settled()).expect("idle"), node)
        })
        .collect();
    // Every other one first: the list of the parent is cut in the middle.
    let mut at = 0;
    children.retain(|_| {
        at += 1;
        at % 2 == 0
    });
    assert_eq!(bench.graph.counters().nodes, 50_001);
    children.reverse();
    drop(children);
    assert_eq!(bench.graph.counters().nodes, 1);
}

#[test]
fn after_dropping_everything_and_one_cycle_nothing_is_left() {
    let bench = Bench::new(2);
    let probes: Vec<Weak<dyn Node>> = {
        let a = bench.source("a");
        let b = bench.below("b", &[&a]);
        bench.graph.activate_at(a.id(), crate::env::now() + std::time::Duration::from_secs(3600));
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
        [&a, &b].map(|held| Arc::downgrade(&held.node)).into()
    };
    bench.graph.step().expect("outside");
    let counters = bench.graph.counters();
    assert_eq!((counters.nodes, counters.pending, counters.timers), (0, 0, 0));
    assert!(probes.iter().all(|node| node.strong_count() == 0));
    // The only `Weak` left is the test's own: the cached walk has let go, too.
    assert!(probes.iter().all(|node| node.weak_count() == 0), "weak_count is 0 once the value is gone");
}

#[test]
fn steady_steps_make_no_new_walk() {
    let bench = Bench::new(1);
    let (a, b) = (bench.source("a"), bench.source("b"));
    let _end = bench.below("end", &[&a, &b]);
    for _ in 0..10 {
        for active in [&[&a][..], &[&b], &[&b, &a], &[]] {
            active.iter().for_each(|source| bench.graph.activate(source.id()));
            bench.graph.step().expect("outside");
        }
    }
    assert_eq!(bench.graph.counters().walks, 3);
    let _more = bench.source("more");
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    assert_eq!(bench.graph.counters().walks, 4);
}

#[test]
fn release_outside_of_a_chain_drops_at_once() {
    let thing = Arc::new(());
    release(thing.clone());
    assert_eq!(Arc::strong_count(&thing), 1);
}
