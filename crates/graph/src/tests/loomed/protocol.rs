//! The protocol of clock, pinned values, snapshots and gate alone: one thread that runs three cycles, two that read.

use super::every_interleaving;
use crate::clock::{Clock, Moment, Moved};
use crate::gate::{Gate, Hold};
use crate::pinned::Pinned;
use crate::snapshot::optimistic;
use crate::sync::{Arc, thread};

const PREEMPTIONS: usize = 3;

/// What a cycle and a reader meet in.
struct Protocol {
    clock: Clock,
    gate: Gate,
    left: Pinned<u64>,
    right: Pinned<u64>,
}

impl Protocol {
    fn new() -> Protocol {
        let value = || Pinned::new(0, Moment::new(0));
        Protocol { clock: Clock::new(), gate: Gate::new(), left: value(), right: value() }
    }

    /// What `cycle.rs` does, without nodes: the left value is written in every step, the right one in every second.
    fn cycle(&self) {
        let gate = self.gate.exclusive(&|| false).expect("nobody abandons it");
        let step = self.clock.open();
        self.left.publish(step, step.number());
        if step.number().is_multiple_of(2) {
            self.right.publish(step, step.number());
        }
        self.clock.close(step);
        self.left.settle();
        self.right.settle();
        drop(gate);
    }

    fn at(&self, at: Moment) -> Result<(u64, u64, u64), Moved> {
        Ok((at.number(), self.left.at(at)?, self.right.at(at)?))
    }

    /// A snapshot: without a lock, then under the shared one.
    fn read(&self) -> u64 {
        let found = optimistic(&self.clock, &mut |at| self.at(at), || {});
        let (at, left, right) = found.unwrap_or_else(|| self.locked(|| self.at(self.clock.settled())).expect("still"));
        assert_eq!((left, right), (at, at / 2 * 2), "torn at {at}");
        at
    }

    fn locked<R>(&self, body: impl FnOnce() -> R) -> R {
        let me = self.gate.share(&crate::env::now);
        let result = body();
        self.gate.let_go(me, Hold::Shared);
        result
    }
}

/// Runs some threads beside cycles, and looks at the end.
fn beside_cycles<const N: usize>(cycles: u64, bodies: [fn(&Protocol); N]) {
    let protocol = Arc::new(Protocol::new());
    let threads = bodies.map(|body| {
        let protocol = protocol.clone();
        thread::spawn(move || body(&protocol))
    });
    (0..cycles).for_each(|_| protocol.cycle());
    for thread in threads {
        thread.join().expect("no panic");
    }
    assert_eq!(protocol.read(), cycles);
}

fn read_once(protocol: &Protocol) {
    protocol.read();
}

fn read_twice(protocol: &Protocol) {
    let first = protocol.read();
    assert!(protocol.read() >= first, "a reader never goes back");
}

fn hold(protocol: &Protocol) {
    protocol.locked(|| {
        let first = protocol.read();
        assert_eq!((protocol.clock.running(), protocol.read()), (None, first), "something moved under the shared lock");
    });
}

#[test]
fn two_readers_beside_three_cycles() {
    every_interleaving(PREEMPTIONS, "protocol: two readers, three cycles", || {
        beside_cycles(3, [read_once, read_once]);
    });
}

#[test]
fn a_reader_that_comes_back_beside_three_cycles() {
    every_interleaving(PREEMPTIONS, "protocol: a reader that comes back, three cycles", || {
        beside_cycles(3, [read_twice]);
    });
}

#[test]
fn a_shared_lock_and_a_reader_beside_two_cycles() {
    every_interleaving(PREEMPTIONS, "protocol: a shared lock and a reader, two cycles", || {
        beside_cycles(2, [hold, read_once]);
    });
}

/// Two threads that run cycles: one at a time, and none is lost.
#[test]
fn two_threads_that_run_cycles() {
    every_interleaving(PREEMPTIONS, "protocol: two threads that run cycles", || {
        let protocol = Arc::new(Protocol::new());
        let other = protocol.clone();
        let thread = thread::spawn(move || other.cycle());
        protocol.cycle();
        thread.join().expect("no panic");
        assert_eq!(protocol.read(), 2);
    });
}
