//! Panics of the cycle itself, at every point, in random graphs: the step is closed, nothing is silently left out, the
//! graph goes on or says why not.

use fastrand::Rng;

use super::support::{Bench, Held};
use crate::failpoints::{Point, TEXT};
use crate::{GraphError, Node, Outcome, Schedule, Step};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONG: Option<Duration> = Some(Duration::from_secs(60));

/// Nodes with random parents, the first three of them sources; and for each its parents.
fn random_graph(bench: &Bench, random: &mut Rng) -> (Vec<Held>, Vec<Vec<usize>>) {
    let mut nodes: Vec<Held> = (0..3).map(|at| bench.source(&format!("n{at}."))).collect();
    let mut parents = vec![Vec::new(); 3];
    for at in 3..4 + random.usize(..12) {
        let above: BTreeSet<usize> = (0..1 + random.usize(..3)).map(|_| random.usize(..at)).collect();
        let held: Vec<&Held> = above.iter().map(|parent| &nodes[*parent]).collect();
        let node = bench.below(&format!("n{at}."), &held);
        nodes.push(node);
        parents.push(above.into_iter().collect());
    }
    (nodes, parents)
}

/// Which of the nodes are reached from the active ones.
fn reached(active: &BTreeSet<usize>, parents: &[Vec<usize>]) -> BTreeSet<usize> {
    let mut reached = active.clone();
    for (at, above) in parents.iter().enumerate() {
        if above.iter().any(|parent| reached.contains(parent)) {
            reached.insert(at);
        }
    }
    reached
}

/// The nodes of whom something is told that begins so, after the name.
fn told(events: &[String], what: &str) -> Vec<usize> {
    let number = |event: &String| {
        let (name, rest) = event.trim_start_matches('n').split_once('.')?;
        rest.trim_start().starts_with(what).then(|| name.parse().ok()).flatten()
    };
    events.iter().filter_map(number).collect()
}

/// One random graph, struck once, in a step by hand; whether the step broke off.
fn struck_by_hand(point: Point, seed: u64) -> bool {
    let mut random = Rng::with_seed(seed);
    let threads = [1, 2, 4][random.usize(..3)];
    let bench = Bench::new(threads);
    bench.graph.set_schedule(Schedule::Eager);
    let (nodes, parents) = random_graph(&bench, &mut random);
    let active: BTreeSet<usize> = (0..1 + random.usize(..3)).map(|_| random.usize(..3)).collect();
    active.iter().for_each(|at| bench.graph.activate(nodes[*at].id()));
    let (calls, counted) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    for _ in 0..2 {
        let calls = calls.clone();
        bench.graph.after_step(Box::new(move |_| _ = calls.fetch_add(1, Ordering::SeqCst)));
    }
    let seen = counted.clone();
    let _ = bench.graph.observe(Arc::new(move |_| _ = seen.fetch_add(1, Ordering::SeqCst)));
    bench.graph.strike(Some((point, random.usize(..4))));
    let done = bench.graph.step();
    bench.graph.strike(None);

    assert_eq!((bench.graph.running_step(), bench.graph.settled().number()), (None, 1));
    assert_eq!((calls.load(Ordering::SeqCst), counted.load(Ordering::SeqCst)), (2, 1), "callbacks, observers");
    drop(bench.graph.shared_lock().expect("outside"));
    let mut events = std::mem::take(&mut *bench.log.lock().unwrap());
    let whole = reached(&active, &parents);
    match &done {
        Ok(step) => assert_eq!(*step, Step::new(1)),
        Err(GraphError::Broken { step, message }) => {
            assert!(message.contains(TEXT) && *step == Step::new(1), "{message}");
            assert_eq!(bench.graph.counters().troubles, 1);
        }
        Err(other) => panic!("{other}"),
    }
    let untouched = told(&events, "1").is_empty() && told(&events, "panicked").is_empty();
    bench.graph.step().expect("it goes on");
    if untouched {
        // Nothing had been taken in: it is for the next step.
        let later = std::mem::take(&mut *bench.log.lock().unwrap());
        events = later.into_iter().map(|event| event.replace(" 2", " 1")).collect();
    }
    let (ran, failed) = (told(&events, "1"), told(&events, "panicked"));
    let all: BTreeSet<usize> = ran.iter().chain(&failed).copied().collect();
    assert_eq!(all, whole, "ran {ran:?}, failed {failed:?}");
    assert_eq!(ran.len(), ran.iter().collect::<BTreeSet<_>>().len(), "each runs once: {ran:?}");
    let settled: BTreeSet<String> =
        events.iter().filter_map(|event| event.strip_prefix("settle ")).map(str::to_owned).collect();
    assert_eq!(settled, whole.iter().map(|at| format!("n{at}. 1")).collect(), "all that ran or failed settle");
    if done.is_ok() {
        assert_eq!(failed, [0; 0]);
    }
    bench.log.lock().unwrap().clear();
    active.iter().for_each(|at| bench.graph.activate(nodes[*at].id()));
    bench.graph.step().expect("and on");
    let again: BTreeSet<usize> = told(&std::mem::take(&mut *bench.log.lock().unwrap()), "3").into_iter().collect();
    assert_eq!(again, whole, "in a later step all run");
    done.is_err()
}

#[test]
fn a_cycle_that_panics_closes_its_step_and_fails_what_it_had_not_come_to() {
    for point in Point::ALL {
        let mut broken = 0;
        for seed in 0..40 {
            match std::panic::catch_unwind(|| struck_by_hand(point, seed)) {
                Ok(broke) => broken += usize::from(broke),
                Err(panic) => {
                    eprintln!("{point:?}, seed {seed}");
                    std::panic::resume_unwind(panic);
                }
            }
        }
        match point {
            Point::Pools => assert_eq!(broken, 0, "the graph works alone"),
            // Whether a helper comes before all is done is up to the machine.
            Point::Help => {}
            _ => assert!(broken > 0, "{point:?} was never passed"),
        }
    }
}

#[test]
fn a_cycle_thread_whose_cycle_panics_goes_on_with_the_next() {
    for point in Point::ALL {
        let bench = Bench::new(2);
        bench.graph.set_schedule(Schedule::Eager);
        let sources: Vec<Held> = (0..4).map(|at| bench.source(&format!("n{at}."))).collect();
        let below = bench.below("n4.", &sources.iter().collect::<Vec<_>>());
        bench.graph.strike(Some((point, 0)));
        bench.graph.intake(|| sources.iter().for_each(|source| bench.graph.activate(source.id())));
        bench.graph.start();
        bench.graph.wait_until(Step::new(1), LONG, &mut || true).expect("the step is closed");
        assert!(bench.graph.is_started(), "{point:?}");
        // Read first: a step that begins meanwhile takes the source with it.
        let next = bench.graph.settled().number() + 1;
        bench.graph.activate(sources[0].id());
        bench.graph.wait_until(Step::new(next), LONG, &mut || true).expect("the next step runs");
        bench.graph.stop();
        drop(below);
    }
}

#[test]
fn what_breaks_every_cycle_ends_the_thread_and_every_wait_says_why() {
    let bench = Bench::new(1);
    let source = bench.source("n0.");
    let graph = bench.graph.downgrade();
    let hook = bench.graph.before_step(Arc::new(move |_| {
        graph.upgrade().expect("it runs").strike(Some((Point::TakeWalk, 0)));
    }));
    let graph = bench.graph.clone();
    let waiting = std::thread::spawn(move || graph.wait_until(Step::new(9), None, &mut || true));
    bench.graph.activate(source.id());
    bench.graph.start();
    let said = waiting.join().expect("no panic").expect_err("step 9 never comes").to_string();
    assert!(said.contains(TEXT) && said.contains("start()"), "{said}");
    assert!(!bench.graph.is_started());
    let again = bench.graph.wait_until(Step::new(9), None, &mut || true);
    assert!(matches!(again, Err(GraphError::Ended { .. })), "a wait that begins later is told at once");
    bench.graph.remove_hook(hook);
    bench.graph.strike(None);
    let next = Step::new(bench.graph.settled().number() + 1);
    bench.graph.start();
    bench.graph.wait_until(next, LONG, &mut || true).expect("what was taken is still pending");
    bench.graph.stop();
    assert_eq!(told(&bench.events(), &next.number().to_string()), [0]);
}

/// Joins another node below its source while it runs.
struct Mother {
    graph: crate::WeakGraph,
    child: Arc<dyn Node>,
    held: Mutex<Option<crate::Registration>>,
    me: std::sync::OnceLock<crate::NodeId>,
}

impl Node for Mother {
    fn run(&self, step: Step) -> Outcome {
        let graph = self.graph.upgrade().expect("it runs");
        let parents = [*self.me.get().expect("it is in")];
        *self.held.lock().unwrap() = Some(graph.join(&self.child, &parents, step.before()).expect("it runs"));
        Outcome::Changed
    }
    fn label(&self) -> String {
        "mother".into()
    }
}

#[test]
fn who_joined_a_step_that_breaks_off_runs_in_it_or_fails() {
    for (point, after) in Point::ALL.into_iter().flat_map(|point| [(point, 0), (point, 1), (point, 2)]) {
        let bench = Bench::new(1);
        let mother = Arc::new(Mother {
            graph: bench.graph.downgrade(),
            child: bench.probe("n0.", |_| Outcome::Changed),
            held: Mutex::default(),
            me: std::sync::OnceLock::new(),
        });
        let node: Arc<dyn Node> = mother.clone();
        let registration = bench.graph.source(&node);
        mother.me.set(registration.id()).expect("once");
        bench.graph.activate(registration.id());
        bench.graph.strike(Some((point, after)));
        let _ = bench.graph.step();
        bench.graph.strike(None);
        let joined = mother.held.lock().unwrap().is_some();
        let events = bench.events();
        let found = (told(&events, "1").len(), told(&events, "panicked").len());
        assert!(if joined { found == (1, 0) || found == (0, 1) } else { found == (0, 0) }, "{point:?}: {events:?}");
        assert_eq!((bench.graph.running_step(), bench.graph.settled().number()), (None, 1));
    }
}

/// A machine without threads: whatever is handed out is done by whoever hands it out.
#[test]
fn a_graph_whose_pool_cannot_start_works_on_the_calling_thread() {
    let bench = Bench::new(4);
    bench.graph.set_schedule(Schedule::Eager);
    let here = std::thread::current().id();
    let elsewhere = Arc::new(AtomicUsize::new(0));
    let sources: Vec<Held> = (0..8)
        .map(|at| {
            let elsewhere = elsewhere.clone();
            bench.source_with(&format!("n{at}."), move |_| {
                elsewhere.fetch_add(usize::from(std::thread::current().id() != here), Ordering::SeqCst);
                Outcome::Changed
            })
        })
        .collect();
    sources.iter().for_each(|source| bench.graph.activate(source.id()));
    bench.graph.strike(Some((Point::Pools, 0)));
    bench.graph.step().expect("it runs alone");
    assert!(bench.graph.update_pool().is_some(), "there is one as soon as the machine gives it");
    let mut ran = told(&bench.events(), "1");
    ran.sort_unstable();
    assert_eq!(ran, [0, 1, 2, 3, 4, 5, 6, 7]);
}
