//! Nodes that join a moving graph: no step is lost to them, none counted twice.

use super::support::{Held, below, cell, explore, graph, source, source_with, step};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::{Moved, Outcome};
use shuttle::thread;

/// Counts the steps that its parent changed in, from a first count read at a moment; must agree with the parent's own.
#[test]
fn a_count_that_starts_anywhere_is_the_whole_count() {
    explore(|| {
        let graph = graph(2);
        let top = Arc::new(source(&graph));
        let joining = {
            let (graph, top) = (graph.clone(), top.clone());
            thread::spawn(move || {
                loop {
                    let (at, first) = graph.snapshot(|at| Ok((at, top.cell.value.at(at)?)));
                    let count = Arc::new(AtomicU64::new(first));
                    let counted = count.clone();
                    let (cell, node) = cell(&[&top], at, move |_| {
                        counted.fetch_add(1, Ordering::SeqCst);
                        Outcome::Changed
                    });
                    thread::yield_now();
                    match graph.join(&node, &[top.id()], at) {
                        Ok(registration) => return (Held::new(cell, node, registration), count),
                        Err(Moved) => drop(node),
                    }
                }
            })
        };
        for _ in 0..3 {
            step(&graph, &[&top]);
        }
        let (held, count) = joining.join().expect("no panic");
        assert_eq!(count.load(Ordering::SeqCst), 3, "a gap or a double count; it ran {} times", held.runs());
    });
}

/// Two that join below each other while a step runs: in order, in that step or the next, never both.
#[test]
fn two_that_join_below_each_other_keep_their_order() {
    explore(|| {
        let graph = graph(2);
        let top = Arc::new(source(&graph));
        let joining = {
            let (graph, top) = (graph.clone(), top.clone());
            thread::spawn(move || {
                let mut chain: Vec<(u64, Held)> = Vec::new();
                while chain.len() < 2 {
                    let above: &Held = chain.last().map_or(&top, |(_, held)| held);
                    let (at, first) = graph.snapshot(|at| Ok((at, above.cell.value.at(at)?)));
                    let (cell, node) = cell(&[above], at, |_| Outcome::Changed);
                    if let Ok(registration) = graph.join(&node, &[above.id()], at) {
                        chain.push((first, Held::new(cell, node, registration)));
                    }
                }
                chain
            })
        };
        for _ in 0..3 {
            step(&graph, &[&top]);
        }
        for (first, held) in joining.join().expect("no panic") {
            assert_eq!((first + held.runs(), held.cell.value.latest()), (3, 3), "each step once");
        }
    });
}

/// A transform makes a constituent inside a step and puts it above the merge that waits for the transform.
#[test]
fn made_inside_a_step_it_is_waited_for_from_then_on() {
    explore(|| {
        let graph = graph(3);
        let (top, other) = (source(&graph), source(&graph));
        let slow = Arc::new(below(&graph, &[&other]));
        let merge = Arc::new(Mutex::new(None::<crate::NodeId>));
        let made = Arc::new(Mutex::new(None::<Held>));
        let transform = {
            let (inside, merge, made, slow, top_id) =
                (graph.clone(), merge.clone(), made.clone(), slow.clone(), top.id());
            let work = move |step: crate::Step| {
                if step.number() > 1 {
                    return Outcome::Quiet;
                }
                let merge = merge.lock().expect("the merge is there");
                let (cell, node) = cell(&[], step.now(), |_| Outcome::Changed);
                let registration = inside.join_in_step(&node, &[top_id], step).expect("the step runs");
                let late = inside.depend_in_step(merge, registration.id(), step).expect("no loop");
                assert_eq!(late, Ok(()));
                let late = inside.depend_in_step(merge, slow.id(), step).expect("no loop");
                assert_eq!(late, Ok(()));
                *made.lock() = Some(Held::new(cell, node, registration));
                Outcome::Changed
            };
            super::support::below_with(&graph, &[&top], work)
        };
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (noted, watched) = (seen.clone(), slow.clone());
        let end = super::support::below_with(&graph, &[&transform], move |_| {
            noted.lock().push(watched.runs());
            Outcome::Changed
        });
        *merge.lock() = Some(end.id());
        step(&graph, &[&top, &other]);
        assert_eq!(*seen.lock(), [1], "the merge waited for the new parent");
        step(&graph, &[&top, &other]);
        assert_eq!((end.runs(), slow.runs()), (2, 2));
        let made = made.lock().take().expect("it was made");
        assert_eq!(made.runs(), 1, "from the next step on");
    });
}

/// A parent that is added during the step makes its child run by its own change, when no other parent changed.
#[test]
fn a_late_parent_that_changed_makes_the_child_run() {
    explore(|| {
        let graph = graph(3);
        let other = source(&graph);
        let slow = Arc::new(below(&graph, &[&other]));
        let merge = Arc::new(Mutex::new(None::<crate::NodeId>));
        let quiet = {
            let (graph, merge, slow) = (graph.clone(), merge.clone(), slow.clone());
            source_with(&graph.clone(), move |step| {
                let merge = merge.lock().expect("the merge is there");
                if step.number() == 1 {
                    assert_eq!(graph.depend_in_step(merge, slow.id(), step).expect("no loop"), Ok(()));
                }
                Outcome::Quiet
            })
        };
        let end = below(&graph, &[&quiet]);
        *merge.lock() = Some(end.id());
        step(&graph, &[&quiet, &other]);
        assert_eq!(end.runs(), 1, "told by its late parent");
    });
}
