//! Failing, panicking: of nodes and of everybody else who is called in a cycle.

use super::support::Bench;
use crate::{Node, Outcome, Step};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_panic_fails_one_node_and_its_children_find_out() {
    for threads in [1, 2] {
        let bench = Bench::new(threads);
        let a = bench.source("a");
        let calm = Arc::new(AtomicBool::new(false));
        let now_calm = calm.clone();
        let bad = bench.below_with("bad", &[&a], move |_| {
            if now_calm.load(Ordering::SeqCst) { Outcome::Quiet } else { panic!("boom {}", 7) }
        });
        let _child = bench.below("child", &[&bad]);
        let _sibling = bench.below("sibling", &[&a]);
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
        let mut events = bench.events();
        events.sort();
        assert_eq!(events, ["a 1", "bad 1", "bad panicked: boom 7", "child 1", "sibling 1"]);
        assert_eq!(bench.graph.counters().failed_nodes, 1);
        calm.store(true, Ordering::SeqCst);
        bench.graph.activate(a.id());
        bench.graph.step().expect("the graph goes on");
        assert_eq!(bench.events().len(), 3, "a, bad, sibling");
        drop(bad);
        assert_eq!(bench.graph.counters().failed_nodes, 0);
    }
}

/// Panics wherever it is called.
struct Bomb;

impl Node for Bomb {
    fn seal(&self) {
        panic!("in seal")
    }
    fn run(&self, _step: Step) -> Outcome {
        unreachable!("a source that could not seal does not run")
    }
    fn panicked(&self, _step: Step, message: String) {
        panic!("again, after {message}")
    }
    fn settle(&self, _step: Step) {
        panic!("in settle")
    }
    fn label(&self) -> String {
        "bomb".to_owned()
    }
}

#[test]
fn a_node_that_panics_everywhere_harms_nobody_else() {
    let bench = Bench::new(1);
    let bomb: Arc<dyn Node> = Arc::new(Bomb);
    let source = bench.graph.source(&bomb);
    let child = bench.probe("child", |_| Outcome::Changed);
    let _child = bench.graph.join(&child, &[source.id()], bench.graph.settled()).expect("idle");
    let a = bench.source("a");
    for step in 1..=2 {
        bench.graph.activate(source.id());
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
        let mut events = bench.events();
        events.sort();
        assert_eq!(events, [format!("a {step}"), format!("child {step}")]);
        let report = bench.graph.last_report().expect("a step ran");
        assert_eq!((report.failed, report.troubles.len()), (1, 1));
    }
}

#[test]
fn panics_of_hooks_callbacks_and_observers_are_counted_and_go_no_further() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    let hook = bench.graph.before_step(Arc::new(|_| panic!("hook")));
    let observer = bench.graph.observe(Arc::new(|_| panic!("observer")));
    bench.graph.after_step(Box::new(|_| panic!("callback")));
    let log = bench.log.clone();
    bench.graph.after_step(Box::new(move |step| log.lock().unwrap().push(format!("after {}", step.number()))));
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), ["a 1", "after 1"]);
    assert_eq!(bench.graph.counters().troubles, 3);
    bench.graph.remove_hook(hook);
    bench.graph.remove_observer(observer);
    bench.graph.step().expect("outside");
    assert_eq!(bench.graph.counters().troubles, 3);
}
