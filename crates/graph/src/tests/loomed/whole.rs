//! The whole graph with two nodes: its own cycles beside its own snapshots and locks. A preemption less than the
//! protocol alone gets, as there is much more to interleave; `TICKFRAME_PREEMPTIONS=3` is a matter of minutes.

use super::every_interleaving;
use crate::sync::{Arc, thread};
use crate::{Moment, Node, Outcome, Pinned, Registration, Settings, Step, UpdateGraph};
use std::time::Duration;

const PREEMPTIONS: usize = 2;

/// A node that writes the number of the step, in every step or in every second one.
struct Writer {
    value: Arc<Pinned<u64>>,
    every: u64,
}

impl Node for Writer {
    fn run(&self, step: Step) -> Outcome {
        if !step.number().is_multiple_of(self.every) {
            return Outcome::Quiet;
        }
        self.value.publish(step, step.number());
        Outcome::Changed
    }
    fn settle(&self, _step: Step) {
        self.value.settle();
    }
    fn label(&self) -> String {
        "writer".to_owned()
    }
}

/// A graph of a source and a node below it, each with a value.
struct Model {
    graph: UpdateGraph,
    left: Arc<Pinned<u64>>,
    right: Arc<Pinned<u64>>,
    source: Registration,
    _below: Registration,
    _nodes: [Arc<dyn Node>; 2],
}

impl Model {
    fn new() -> Model {
        let settings = Settings { period: Duration::ZERO, threads: Some(1), init_threads: Some(1) };
        let graph = UpdateGraph::new(settings);
        let value = || Arc::new(Pinned::new(0, Moment::new(0)));
        let (left, right) = (value(), value());
        let node =
            |value: &Arc<Pinned<u64>>, every| -> Arc<dyn Node> { Arc::new(Writer { value: value.clone(), every }) };
        let nodes = [node(&left, 1), node(&right, 2)];
        let source = graph.source(&nodes[0]);
        let below = graph.join(&nodes[1], &[source.id()], graph.settled()).expect("idle");
        Model { graph, left, right, source, _below: below, _nodes: nodes }
    }

    fn cycles(&self, many: u64) {
        for _ in 0..many {
            self.graph.activate(self.source.id());
            self.graph.step().expect("outside");
        }
    }

    /// Both values at one moment, which is returned.
    fn read(&self) -> u64 {
        let (at, left, right) = self.graph.snapshot(|at| Ok((at.number(), self.left.at(at)?, self.right.at(at)?)));
        assert_eq!((left, right), (at, at / 2 * 2), "torn at {at}");
        at
    }
}

/// Runs some threads beside `cycles` of a model, and looks at it in the end.
fn beside_cycles<const N: usize>(cycles: u64, bodies: [fn(&Model); N]) {
    let model = Arc::new(Model::new());
    let threads = bodies.map(|body| {
        let model = model.clone();
        thread::spawn(move || body(&model))
    });
    model.cycles(cycles);
    for thread in threads {
        thread.join().expect("no panic");
    }
    assert_eq!(model.read(), cycles);
}

fn read_once(model: &Model) {
    model.read();
}

fn read_twice(model: &Model) {
    let first = model.read();
    assert!(model.read() >= first, "a reader never goes back");
}

fn hold(model: &Model) {
    let held = model.graph.shared_lock().expect("outside");
    let (first, at) = (model.read(), model.graph.settled());
    assert_eq!((model.graph.running_step(), at.number()), (None, first));
    assert_eq!((model.read(), model.graph.settled()), (first, at), "something moved under the shared lock");
    drop(held);
}

#[test]
fn two_readers_beside_three_cycles() {
    every_interleaving(PREEMPTIONS, "two readers, three cycles", || beside_cycles(3, [read_once, read_once]));
}

#[test]
fn one_reader_that_comes_back_beside_three_cycles() {
    every_interleaving(PREEMPTIONS, "a reader that comes back, three cycles", || beside_cycles(3, [read_twice]));
}

#[test]
fn a_shared_lock_and_a_reader_beside_two_cycles() {
    every_interleaving(PREEMPTIONS, "a shared lock and a reader, two cycles", || beside_cycles(2, [hold, read_once]));
}

/// Two threads that run cycles: never two at once, and none is lost.
#[test]
fn two_threads_that_step() {
    every_interleaving(PREEMPTIONS, "two threads that step", || {
        let model = Arc::new(Model::new());
        let other = model.clone();
        let thread = thread::spawn(move || other.cycles(1));
        model.cycles(1);
        thread.join().expect("no panic");
        assert_eq!(model.graph.settled(), Moment::new(2));
        // One step may have taken what both had made active; the other was then empty.
        assert!((1..=2).contains(&model.left.latest()));
    });
}
