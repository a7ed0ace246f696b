//! Timers and the period, by a clock that the test moves.

use super::support::Bench;
use crate::env::{ManualTime, TimeSource};
use crate::{Outcome, Settings, Step, UpdateGraph};
use std::sync::Arc;
use std::sync::mpsc::{TryRecvError, channel};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn manual(period: Duration) -> (Bench, Arc<ManualTime>) {
    let time = ManualTime::starting_at(1_000_000_000);
    let settings = Settings { period, threads: Some(1), init_threads: Some(1) };
    let graph = UpdateGraph::with_time(settings, TimeSource::Manual(time.clone()));
    (Bench { graph, log: Default::default() }, time)
}

#[test]
fn a_timer_is_active_in_the_first_step_at_or_after_it() {
    let (bench, time) = manual(Duration::ZERO);
    let a = bench.source("a");
    let start = time.now();
    bench.graph.activate_at(a.id(), start + 20 * MS);
    bench.graph.activate_at(a.id(), start + 10 * MS);
    bench.graph.step().expect("outside");
    time.advance(9 * MS);
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), [""; 0]);
    time.advance(MS);
    bench.graph.step().expect("outside");
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), ["a 3"], "at the last time that was asked for, once");
    bench.graph.activate_at(a.id(), time.now() + 10 * MS);
    assert_eq!(bench.graph.counters().timers, 1);
    bench.graph.withdraw_timer(a.id());
    assert_eq!(bench.graph.counters().timers, 0);
    time.advance(100 * MS);
    bench.graph.step().expect("outside");
    assert_eq!(bench.events(), [""; 0]);
}

#[test]
fn a_step_has_one_time() {
    let (bench, time) = manual(Duration::ZERO);
    time.advance(5 * MS);
    assert_eq!(bench.graph.step_nanos(), 1_000_000_000);
    bench.graph.step().expect("outside");
    time.advance(5 * MS);
    assert_eq!(bench.graph.step_nanos(), 1_005_000_000);
    assert_eq!(bench.graph.time().instant_at(1_015_000_000), time.now() + 5 * MS);
    assert_eq!(bench.graph.time().instant_at(0), time.now());
}

#[test]
fn the_thread_starts_a_cycle_when_the_timer_is_due() {
    let (bench, time) = manual(Duration::ZERO);
    let (tell, told) = channel();
    let tell = std::sync::Mutex::new(tell);
    let a = bench.source_with("a", move |step| {
        tell.lock().unwrap().send(step).expect("the test listens");
        Outcome::Changed
    });
    bench.graph.start();
    bench.graph.activate_at(a.id(), time.now() + 10 * MS);
    time.advance(9 * MS);
    assert_eq!(told.try_recv(), Err(TryRecvError::Empty));
    time.advance(MS);
    assert_eq!(told.recv(), Ok(Step::new(1)));
    bench.graph.stop();
}

#[test]
fn cycles_start_a_period_apart_and_take_all_that_came_meanwhile() {
    let (bench, time) = manual(50 * MS);
    let (tell, told) = channel();
    let tell = std::sync::Mutex::new(tell);
    let a = bench.source_with("a", move |step| {
        tell.lock().unwrap().send(step).expect("the test listens");
        Outcome::Changed
    });
    bench.graph.start();
    bench.graph.activate(a.id());
    assert_eq!(told.recv(), Ok(Step::new(1)), "nothing ran before: at once");
    bench.graph.activate(a.id());
    time.advance(49 * MS);
    bench.graph.activate(a.id());
    assert_eq!(told.try_recv(), Err(TryRecvError::Empty));
    time.advance(MS);
    assert_eq!(told.recv(), Ok(Step::new(2)));
    time.advance(500 * MS);
    bench.graph.stop();
    assert_eq!(bench.graph.settled().number(), 2, "an automatic cycle that would find nothing does not run");
}
