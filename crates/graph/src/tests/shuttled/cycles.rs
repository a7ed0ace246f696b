//! Cycles, readers and locks: nothing is torn, nothing moves under the shared lock, nobody waits for ever.

use super::support::{below, below_with, explore, graph, source, step};
use crate::sync::Arc;
use crate::{GraphError, Outcome, SharedLock};
use shuttle::thread;

#[test]
fn snapshots_of_two_nodes_are_of_one_moment() {
    explore(|| {
        let graph = graph(2);
        let left = source(&graph);
        let second =
            |step: crate::Step| if step.number().is_multiple_of(2) { Outcome::Changed } else { Outcome::Quiet };
        let right = below_with(&graph, &[&left], second);
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (graph, left, right) = (graph.clone(), left.cell.clone(), right.cell.clone());
                thread::spawn(move || {
                    let mut last = 0;
                    for _ in 0..2 {
                        let read = |at| Ok((at, left.value.at(at)?, right.value.at(at)?));
                        let (at, left, right) = graph.snapshot(read);
                        assert_eq!((left, right), (at.number(), at.number() / 2 * 2), "torn at {at:?}");
                        assert!(at.number() >= last, "a reader never goes back");
                        last = at.number();
                    }
                })
            })
            .collect();
        for _ in 0..3 {
            step(&graph, &[&left]);
        }
        readers.into_iter().for_each(|reader| reader.join().expect("no panic"));
    });
}

#[test]
fn under_the_shared_lock_nothing_moves_and_cycles_come_after() {
    explore(|| {
        let graph = graph(2);
        let top = source(&graph);
        let below = below(&graph, &[&top]);
        let holders: Vec<_> = (0..2)
            .map(|_| {
                let (graph, cell) = (graph.clone(), below.cell.clone());
                thread::spawn(move || {
                    let held = graph.shared_lock().expect("outside");
                    let again: SharedLock = graph.shared_lock().expect("a thread that holds it gets it at once");
                    let (at, value) = (graph.settled(), cell.value.latest());
                    assert_eq!((graph.running_step(), value), (None, at.number()));
                    assert_eq!(graph.step(), Err(GraphError::UnderSharedLock));
                    drop(held);
                    thread::yield_now();
                    assert_eq!((graph.settled(), cell.value.latest()), (at, value), "it moved");
                    drop(again);
                })
            })
            .collect();
        step(&graph, &[&top]);
        step(&graph, &[&top]);
        holders.into_iter().for_each(|holder| holder.join().expect("no panic"));
    });
}

/// Two sources that are written together, by a writer who does not know when cycles run.
#[test]
fn a_transaction_lands_in_one_step() {
    explore(|| {
        let graph = graph(2);
        let (left, right) = (Arc::new(source(&graph)), Arc::new(source(&graph)));
        let writer = {
            let (graph, left, right) = (graph.clone(), left.clone(), right.clone());
            thread::spawn(move || {
                graph.intake(|| {
                    graph.activate(left.id());
                    thread::yield_now();
                    graph.activate(right.id());
                });
            })
        };
        for _ in 0..2 {
            graph.step().expect("outside");
            assert_eq!(left.runs(), right.runs(), "half of a transaction");
        }
        writer.join().expect("no panic");
        graph.step().expect("outside");
        assert_eq!((left.runs(), right.runs()), (1, 1), "taken once");
    });
}
