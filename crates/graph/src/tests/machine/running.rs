//! The cycle thread, waiting for it, stopping it, and what is called around a step.

use super::support::{Bench, door};
use crate::{GraphError, Moment, Node, Outcome, Step};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

const LONG: Option<Duration> = Some(Duration::from_secs(60));

#[test]
fn activated_inside_a_step_it_runs_in_the_next() {
    let bench = Bench::new(1);
    let id = Arc::new(OnceLock::new());
    let (graph, own) = (bench.graph.clone(), id.clone());
    let blink = bench.source_with("blink", move |step| {
        if step.number() < 3 {
            graph.activate(*own.get().expect("set"));
        }
        Outcome::Changed
    });
    id.set(blink.id()).expect("once");
    bench.graph.activate(blink.id());
    bench.graph.step().expect("outside");
    assert_eq!((bench.events(), bench.graph.counters().pending), (vec!["blink 1".to_owned()], 1));
    bench.graph.start();
    bench.graph.wait_until(Step::new(3), LONG, &mut || true).expect("it pends until step 3");
    bench.graph.stop();
    assert_eq!(bench.events(), ["blink 2", "blink 3"]);
    assert_eq!((bench.graph.settled(), bench.graph.counters().pending), (Moment::new(3), 0));
}

#[test]
fn a_wait_on_a_stopped_graph_ends_at_its_timeout_and_says_why() {
    let bench = Bench::new(1);
    let wait = |graph: &crate::UpdateGraph, timeout| graph.wait_until(Step::new(1), Some(timeout), &mut || true);
    let error = wait(&bench.graph, Duration::ZERO).expect_err("nobody steps");
    assert!(matches!(error, GraphError::Stopped { .. }), "{error}");
    let text = error.to_string();
    assert!(["stop()", "start()", "step()"].iter().all(|name| text.contains(name)), "{text}");
    bench.graph.start();
    let error = wait(&bench.graph, Duration::ZERO).expect_err("nothing is pending");
    assert!(matches!(error, GraphError::Timeout { .. }), "{error}");
    bench.graph.stop();
    assert!(!bench.graph.is_started());
    bench.graph.step().expect("by hand after stop");
    wait(&bench.graph, Duration::ZERO).expect("it has settled");
    let mut polled = 0;
    let interrupted = bench.graph.wait_until(Step::new(2), None, &mut || {
        polled += 1;
        polled < 2
    });
    assert_eq!((interrupted, polled), (Err(GraphError::Interrupted { step: Step::new(2) }), 2));
}

#[test]
fn threads_of_a_graph_work_with_the_sizes_of_whoever_made_it() {
    static SIZE: limits::Size = limits::Size::new("graph.test", 1 << 16);
    let drawn = (1..).map(limits::Scope::drawn).find(|scope| scope.enter(|| SIZE.get()) == 7).expect("some seed");
    let bench = drawn.enter(|| Bench::new(3));
    bench.graph.set_schedule(crate::Schedule::Eager);
    let seen = Arc::new(Mutex::new(Vec::new()));
    // All three must be under way before any goes on, so each is on a thread of its own.
    let together = Arc::new(std::sync::Barrier::new(3));
    let sources: Vec<_> = (0..3)
        .map(|number| {
            let (seen, together) = (seen.clone(), together.clone());
            bench.source_with(&format!("source {number}"), move |_| {
                together.wait();
                seen.lock().unwrap().push(SIZE.get());
                Outcome::Quiet
            })
        })
        .collect();
    bench.graph.intake(|| sources.iter().for_each(|source| bench.graph.activate(source.id())));
    bench.graph.start();
    bench.graph.wait_until(Step::new(1), LONG, &mut || true).expect("it runs");
    bench.graph.stop();
    assert_eq!(*seen.lock().unwrap(), [7, 7, 7]);
}

#[test]
fn a_waiter_wakes_when_its_step_settles() {
    let bench = Bench::new(1);
    let (hold, wait_inside) = door();
    let a = bench.source_with("a", wait_inside);
    bench.graph.activate(a.id());
    let graph = bench.graph.clone();
    let waiting = thread::spawn(move || graph.wait_until(Step::new(1), None, &mut || true));
    bench.graph.start();
    hold.arrived.recv().expect("it runs");
    hold.open.send(()).expect("it waits");
    assert_eq!(waiting.join().expect("no panic"), Ok(()));
    bench.graph.stop();
}

#[test]
fn stop_is_allowed_everywhere_and_returns() {
    let bench = Bench::new(1);
    let (graph, of_callback) = (bench.graph.clone(), bench.graph.clone());
    let (tell, told) = channel();
    let from_callback = tell.clone();
    let tell = Mutex::new(tell);
    let a = bench.source_with("a", move |_| {
        graph.stop();
        tell.lock().unwrap().send("node").expect("the test listens");
        Outcome::Changed
    });
    bench.graph.after_step(Box::new(move |_| {
        of_callback.start();
        of_callback.stop();
        from_callback.send("callback").expect("the test listens");
    }));
    bench.graph.start();
    bench.graph.activate(a.id());
    assert_eq!((told.recv(), told.recv()), (Ok("node"), Ok("callback")));
    bench.graph.stop();
    assert!(!bench.graph.is_started());
    // Under the shared lock, with a cycle thread that waits for it.
    bench.graph.start();
    let held = bench.graph.shared_lock().expect("outside");
    bench.graph.activate(a.id());
    bench.graph.stop();
    drop(held);
    let scope = bench.graph.callback_scope();
    bench.graph.start();
    bench.graph.stop();
    drop(scope);
    bench.graph.step().expect("by hand after it all");
}

#[test]
fn stop_returns_when_idle_and_start_resumes() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    for round in 1..=20 {
        bench.graph.start();
        bench.graph.activate(a.id());
        bench.graph.wait_until(Step::new(round), LONG, &mut || true).expect("it runs");
        bench.graph.stop();
        assert_eq!((bench.graph.running_step(), bench.graph.settled().number()), (None, round));
    }
}

#[test]
fn the_last_handle_stops_the_thread() {
    let bench = Bench::new(1);
    let (hold, wait_inside) = door();
    let node: Arc<dyn Node> = bench.probe("a", wait_inside);
    let source = bench.graph.source(&node);
    bench.graph.start();
    bench.graph.activate(source.id());
    hold.arrived.recv().expect("it runs");
    let core = Arc::downgrade(bench.graph.core());
    let weak = bench.graph.downgrade();
    drop(bench);
    assert!(weak.upgrade().is_none());
    hold.open.send(()).expect("the step ends in peace");
    drop(source);
    while core.strong_count() > 0 {
        thread::yield_now();
    }
}

#[test]
fn notifications_come_once_after_settled_moved_in_order() {
    let bench = Bench::new(1);
    let log = bench.log.clone();
    let note = |name: &'static str| -> Box<dyn FnOnce(Step) + Send> {
        let (log, graph) = (log.clone(), bench.graph.clone());
        Box::new(move |step| {
            assert_eq!(graph.settled(), step.now());
            log.lock().unwrap().push(format!("{name} after {}", step.number()));
        })
    };
    let (graph, first, second) = (bench.graph.clone(), note("first"), note("second"));
    let once = Mutex::new(Some((first, second)));
    let a = bench.source_with("a", move |_| {
        if let Some((first, second)) = once.lock().unwrap().take() {
            graph.after_step(first);
            graph.after_step(second);
        }
        Outcome::Changed
    });
    let _b = bench.below("b", &[&a]);
    let (graph, nested) = (bench.graph.clone(), note("nested"));
    bench.graph.after_step(Box::new(move |_| graph.after_step(nested)));
    bench.graph.before_step(Arc::new({
        let log = bench.log.clone();
        move |step| log.lock().unwrap().push(format!("before {}", step.number()))
    }));
    for _ in 0..3 {
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
    }
    let expected = ["before 1", "a 1", "b 1", "first after 1", "second after 1", "before 2", "a 2", "b 2"];
    let events = bench.events();
    assert_eq!(events[..8], expected);
    assert_eq!(events[8..], ["nested after 2", "before 3", "a 3", "b 3"]);
}

#[test]
fn a_transaction_lands_in_one_step() {
    let bench = Bench::new(1);
    let queued = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    let taken = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    struct Source {
        queued: Arc<AtomicU64>,
        taken: Arc<AtomicU64>,
    }
    impl Node for Source {
        fn seal(&self) {
            // Long enough for a writer to come between two sources, if it could.
            (0..5).for_each(|_| thread::yield_now());
            self.taken.store(self.queued.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        fn run(&self, _step: Step) -> Outcome {
            Outcome::Changed
        }
        fn label(&self) -> String {
            "source".to_owned()
        }
    }
    let sources = [0, 1].map(|at| {
        let node: Arc<dyn Node> = Arc::new(Source { queued: queued[at].clone(), taken: taken[at].clone() });
        (bench.graph.source(&node), node)
    });
    let (left, right) = (taken[0].clone(), taken[1].clone());
    let check = bench.probe("check", move |_| {
        assert_eq!(left.load(Ordering::SeqCst), right.load(Ordering::SeqCst));
        Outcome::Quiet
    });
    let ids = [sources[0].0.id(), sources[1].0.id()];
    let _check = bench.graph.join(&check, &ids, bench.graph.settled()).expect("idle");
    bench.graph.start();
    for _ in 0..2_000 {
        bench.graph.intake(|| {
            for (queue, id) in queued.iter().zip(ids) {
                bench.graph.intake(|| queue.fetch_add(1, Ordering::SeqCst));
                bench.graph.activate(id);
            }
        });
        // Cycles and transactions take turns, or one step would take them all.
        thread::yield_now();
    }
    bench.graph.stop();
    bench.graph.step().expect("what is left");
    assert!(!bench.all_events().iter().any(|event| event.contains("panicked")));
    assert_eq!(taken.map(|taken| taken.load(Ordering::SeqCst)), [2_000; 2]);
}

/// Every activation is followed by a run: no wake-up is lost, however the threads meet.
#[test]
fn no_wake_up_is_lost() {
    let bench = Bench::new(2);
    let (asked, served) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (reads, writes) = (asked.clone(), served.clone());
    let a = bench.source_with("a", move |_| {
        writes.store(reads.load(Ordering::SeqCst), Ordering::SeqCst);
        Outcome::Quiet
    });
    bench.graph.start();
    thread::scope(|threads| {
        for in_transaction in [false, true] {
            let (bench, a, asked, served) = (&bench, &a, &asked, &served);
            threads.spawn(move || {
                for _ in 0..3_000 {
                    let mine = asked.fetch_add(1, Ordering::SeqCst) + 1;
                    if in_transaction {
                        bench.graph.intake(|| bench.graph.activate(a.id()));
                    } else {
                        bench.graph.activate(a.id());
                    }
                    while served.load(Ordering::SeqCst) < mine {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    bench.graph.stop();
}

#[test]
fn an_observer_sees_each_node_that_ran() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    let b = bench.below_with("b", &[&a], |_| Outcome::Quiet);
    let _c = bench.below("c", &[&b]);
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let keep = seen.clone();
    bench.graph.observe(Arc::new(move |report| {
        keep.lock().unwrap().extend(report.nodes.iter().map(|run| (report.step, run.id, run.outcome)));
    }));
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    let step = Step::new(1);
    assert_eq!(*seen.lock().unwrap(), [(step, a.id(), Outcome::Changed), (step, b.id(), Outcome::Quiet)]);
    let timings = bench.graph.timings();
    let shown: Vec<_> = timings.iter().map(|t| (t.label.as_str(), t.runs, t.last_step.number())).collect();
    assert_eq!(shown, [("a", 1, 1), ("b", 1, 1), ("c", 0, 0)]);
    assert_eq!(timings[1].parents, [a.id()]);
}

#[test]
fn nodes_are_told_to_settle_once_readers_find_the_new_moment() {
    struct Looks(crate::WeakGraph, Mutex<Vec<Moment>>);
    impl Node for Looks {
        fn run(&self, _step: Step) -> Outcome {
            Outcome::Quiet
        }
        fn settle(&self, step: Step) {
            let graph = self.0.upgrade().expect("the test holds it");
            assert_eq!(graph.running_step(), None);
            assert_eq!(graph.settled(), step.now());
            self.1.lock().unwrap().push(graph.settled());
        }
        fn label(&self) -> String {
            "looks".to_owned()
        }
    }
    let bench = Bench::new(1);
    let node = Arc::new(Looks(bench.graph.downgrade(), Mutex::default()));
    let as_node: Arc<dyn Node> = node.clone();
    let source = bench.graph.source(&as_node);
    let seen = Arc::new(Mutex::new(0));
    let (count, looks) = (seen.clone(), node.clone());
    bench.graph.after_step(Box::new(move |_| *count.lock().unwrap() = looks.1.lock().unwrap().len()));
    bench.graph.activate(source.id());
    bench.graph.step().expect("outside");
    bench.graph.step().expect("it does not run, so it has nothing to settle");
    assert_eq!((*seen.lock().unwrap(), node.1.lock().unwrap().len()), (1, 1), "before the notifications, and once");
    assert_eq!(bench.graph.counters().troubles, 0);
}
