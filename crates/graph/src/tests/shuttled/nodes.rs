//! Nodes on several threads: each once, after its parents; nobody sleeps for ever.

use super::support::{Held, below, below_with, explore, graph, source, source_with, step};
use crate::Outcome;
use shuttle::thread;

#[test]
fn a_fan_runs_each_node_once_after_its_parents() {
    explore(|| {
        let graph = graph(3);
        let top = source(&graph);
        let sides: Vec<Held> = (0..3).map(|_| below(&graph, &[&top])).collect();
        let end = below(&graph, &sides.iter().collect::<Vec<_>>());
        for round in 1..=2 {
            step(&graph, &[&top]);
            assert!(sides.iter().all(|side| side.runs() == round));
            assert_eq!(end.runs(), round);
        }
    });
}

#[test]
fn what_is_quiet_or_failed_settles_those_below() {
    explore(|| {
        let graph = graph(3);
        let quiet = source_with(&graph, |_| Outcome::Quiet);
        let failed = source_with(&graph, |_| Outcome::Failed);
        let still = below(&graph, &[&quiet]);
        let told = below(&graph, &[&still, &failed]);
        let never = below(&graph, &[&still]);
        let last = below(&graph, &[&never, &told]);
        step(&graph, &[&quiet, &failed]);
        assert_eq!([&still, &told, &never, &last].map(Held::runs), [0, 1, 0, 1]);
    });
}

/// Two levels of fans: helpers hand out work themselves, the leader sleeps and is woken more than once.
#[test]
fn helpers_share_what_they_find() {
    explore(|| {
        let graph = graph(2);
        let tops = [source(&graph), source(&graph)];
        let middle: Vec<Held> = (0..4).map(|at| below(&graph, &[&tops[at % 2]])).collect();
        let ends: Vec<Held> = (0..4).map(|at| below(&graph, &[&middle[at], &middle[(at + 1) % 4]])).collect();
        step(&graph, &[&tops[0], &tops[1]]);
        step(&graph, &[&tops[1]]);
        assert!(ends.iter().all(|end| end.runs() == 2), "each end hears of both tops");
    });
}

/// A node is dropped while a step may be running it or about to.
#[test]
fn a_node_dropped_while_a_step_runs_settles_all_the_same() {
    explore(|| {
        let graph = graph(2);
        let top = source(&graph);
        let goes = below(&graph, &[&top]);
        let stays = below(&graph, &[&top]);
        let end = below_with(&graph, &[&stays], |_| Outcome::Changed);
        graph.depend(end.id(), goes.id()).expect("no loop");
        let dropping = thread::spawn(move || drop(goes));
        step(&graph, &[&top]);
        dropping.join().expect("no panic");
        assert_eq!([&stays, &end].map(Held::runs), [1, 1]);
        step(&graph, &[&top]);
        assert_eq!((end.runs(), graph.counters().nodes), (2, 3));
    });
}
