//! The thread that starts cycles by itself: no wake-up is lost, and it stops.

use super::support::{below, explore, graph, source};
use crate::Step;
use crate::sync::{Arc, AtomicU64, Ordering};
use shuttle::thread;

/// Writers on two threads; each waits for the step after which its own write must be visible.
#[test]
fn what_is_activated_runs_and_who_waits_wakes() {
    explore(|| {
        let graph = graph(2);
        let (first, second) = (Arc::new(source(&graph)), Arc::new(source(&graph)));
        let _both = below(&graph, &[&first, &second]);
        graph.start();
        let writers: Vec<_> = [first.clone(), second.clone()]
            .into_iter()
            .map(|source| {
                let graph = graph.clone();
                thread::spawn(move || {
                    graph.activate(source.id());
                    loop {
                        // Read first: a step that settled by then and took the write has run the source.
                        let next = Step::new(graph.settled().number() + 1);
                        if source.runs() > 0 {
                            break;
                        }
                        graph.wait_until(next, None, &mut || true).expect("the thread runs");
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        graph.stop();
        assert_eq!((first.runs(), second.runs(), graph.running_step()), (1, 1, None));
    });
}

/// A stop against a start of cycles, and against an activation.
#[test]
fn stop_returns_idle_whatever_comes_in_its_way() {
    explore(|| {
        let graph = graph(1);
        let top = source(&graph);
        graph.start();
        let writer = {
            let (graph, id) = (graph.clone(), top.id());
            thread::spawn(move || graph.activate(id))
        };
        graph.stop();
        assert_eq!((graph.running_step(), graph.is_started()), (None, false));
        writer.join().expect("no panic");
        graph.step().expect("outside");
        assert_eq!(top.runs(), 1, "by the thread or by hand, once");
    });
}

/// Terminal notifications come once each, after the moment has moved, and those added meanwhile in the next step.
#[test]
fn notifications_come_once_and_late() {
    explore(|| {
        let graph = graph(2);
        let told = Arc::new(AtomicU64::new(0));
        let adding = {
            let (graph, told) = (graph.clone(), told.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    let (looked, told) = (graph.downgrade(), told.clone());
                    graph.after_step(Box::new(move |step| {
                        let settled = looked.upgrade().map(|graph| graph.settled());
                        assert_eq!(settled, Some(step.now()));
                        told.fetch_add(1, Ordering::SeqCst);
                    }));
                }
            })
        };
        graph.step().expect("outside");
        adding.join().expect("no panic");
        graph.step().expect("outside");
        assert_eq!((told.load(Ordering::SeqCst), graph.counters().troubles), (2, 0));
    });
}
