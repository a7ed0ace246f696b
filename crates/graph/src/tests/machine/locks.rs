//! The shared lock, and every place where waiting is refused.

use super::support::{Bench, door};
use crate::env::TimeSource;
use crate::{GraphError, Outcome, Settings, Step, UpdateGraph};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Returns once some thread waits for the exclusive lock.
fn until_a_cycle_waits(graph: &UpdateGraph) {
    while graph.core().gate.waiting_cycles() == 0 {
        thread::yield_now();
    }
}

#[test]
fn no_step_runs_while_somebody_holds_it() {
    let bench = Bench::new(1);
    let held = bench.graph.shared_lock().expect("outside");
    let graph = bench.graph.clone();
    let stepping = thread::spawn(move || graph.step());
    until_a_cycle_waits(&bench.graph);
    let again = bench.graph.shared_lock().expect("re-entrant while a cycle waits");
    let graph = bench.graph.clone();
    // Another thread gets it, too, though a cycle waits: this one may be waiting for that thread.
    thread::spawn(move || drop(graph.shared_lock().expect("outside"))).join().expect("no deadlock");
    drop(held);
    assert_eq!((bench.graph.settled().number(), bench.graph.running_step()), (0, None));
    // Dropped on another thread than the one that took it.
    thread::spawn(move || drop(again)).join().expect("no deadlock");
    assert_eq!(stepping.join().expect("no panic"), Ok(Step::new(1)));
    assert_eq!(bench.graph.step(), Ok(Step::new(2)), "this thread holds nothing any more");
}

#[test]
fn it_waits_for_the_running_step() {
    let bench = Bench::new(1);
    let (hold, wait_inside) = door();
    let a = bench.source_with("a", wait_inside);
    bench.graph.activate(a.id());
    let graph = bench.graph.clone();
    let stepping = thread::spawn(move || graph.step());
    hold.arrived.recv().expect("it runs");
    let graph = bench.graph.clone();
    let (tell, told) = channel();
    let sharing = thread::spawn(move || {
        let held = graph.shared_lock().expect("outside");
        tell.send(graph.settled()).expect("the test listens");
        drop(held);
    });
    assert!(told.try_recv().is_err(), "the step is held open by the test");
    hold.open.send(()).expect("it waits");
    assert_eq!(told.recv().map(|moment| moment.number()), Ok(1));
    sharing.join().expect("no panic");
    stepping.join().expect("no panic").expect("outside");
}

/// What the three waiting calls answer here.
fn answers(graph: &UpdateGraph) -> [Result<(), GraphError>; 4] {
    let wait = graph.wait_until(Step::new(99), Some(Duration::ZERO), &mut || true);
    [graph.may_wait(), graph.step().map(drop), wait, graph.shared_lock().map(drop)]
}

#[test]
fn waiting_where_it_would_hang_is_refused() {
    let bench = Bench::new(2);
    let graph = bench.graph.clone();
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let (inside, from_pool, after, hook) = (seen.clone(), seen.clone(), seen.clone(), seen.clone());
    let a = bench.source_with("a", {
        let graph = graph.clone();
        move |_| {
            inside.lock().unwrap().push(answers(&graph));
            let in_pool = graph.update_pool().expect("a pool").install(|| answers(&graph));
            from_pool.lock().unwrap().push(in_pool);
            Outcome::Changed
        }
    });
    let weak = graph.downgrade();
    graph.before_step(Arc::new(move |_| hook.lock().unwrap().extend(weak.upgrade().map(|graph| answers(&graph)))));
    graph.activate(a.id());
    graph.step().expect("outside");
    let all = |error: GraphError| [(); 4].map(|()| Err(error.clone()));
    assert_eq!(*seen.lock().unwrap(), [(); 3].map(|()| all(GraphError::InsideStep)));

    let of_callback = graph.clone();
    graph.after_step(Box::new(move |_| after.lock().unwrap().push(answers(&of_callback))));
    graph.step().expect("outside");
    assert_eq!(seen.lock().unwrap().last(), Some(&all(GraphError::InsideCallback)));

    assert_eq!(graph.init_pool().expect("a pool").install(|| answers(&graph)), all(GraphError::InsideStep));
    assert_eq!(graph.intake(|| answers(&graph)), all(GraphError::InsideTransaction));

    let three = |error: GraphError| [Err(error.clone()), Err(error.clone()), Err(error), Ok(())];
    let scope = graph.callback_scope();
    assert_eq!(answers(&graph), three(GraphError::InsideCallback));
    drop(scope);
    let scope = graph.transaction_scope();
    assert_eq!(answers(&graph), three(GraphError::InsideTransaction));
    drop(scope);
    let held = graph.shared_lock();
    assert_eq!(answers(&graph), three(GraphError::UnderSharedLock));
    drop(held);
    let scope = graph.function_scope();
    assert_eq!(answers(&graph), all(GraphError::InsideStep));
    drop(scope);
    let elsewhere = graph.callback_scope();
    thread::scope(|threads| threads.spawn(|| graph.may_wait().expect("another thread may")).join().expect("no panic"));
    drop(elsewhere);
    graph.may_wait().expect("all is over");
    assert_eq!(bench.graph.settled().number(), 2, "no refused step ran");
}

#[test]
fn another_graph_is_not_concerned() {
    let (one, other) = (Bench::new(1), Bench::new(1));
    let inner = other.graph.clone();
    let a = one.source_with("a", move |_| {
        inner.step().expect("another graph");
        Outcome::Quiet
    });
    one.graph.activate(a.id());
    one.graph.step().expect("outside");
    assert_eq!(other.graph.settled().number(), 1);
}

#[test]
fn in_the_child_of_a_fork_every_call_says_so_and_none_hangs() {
    let owner = crate::env::process() + 1;
    let graph = UpdateGraph::owned_by(owner, Settings::default(), TimeSource::Wall);
    let forked = GraphError::Forked { owner, child: crate::env::process() };
    assert_eq!(answers(&graph), [(); 4].map(|()| Err(forked.clone())));
    assert_eq!(graph.check_process(), Err(forked));
    graph.start();
    assert!(!graph.is_started());
    graph.stop();
    assert_eq!(graph.intake(|| 7), 7);
}
