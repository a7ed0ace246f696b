//! The graph's lock: held by one cycle, or shared by readers, who keep cycles from running. It also refuses what a
//! thread must not do while it holds the lock.

use crate::core::Core;
use crate::sync::thread::{self, ThreadId};
use crate::sync::{Arc, Condvar, Mutex, Rank};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a new reader lets a waiting cycle go first. The time doubles with every turn: each time all readers of the
/// last turn have left and others hold the lock. It is bounded, because a reader that holds the lock may itself be
/// waiting for this new reader.
const COURTESY: Duration = Duration::from_millis(50);

/// The most doublings: with them the time is more than an hour.
const MOST_TURNS: u32 = 17;

/// The exclusive lock of a cycle and the shared lock of readers. A waiting cycle delays new readers and never blocks
/// them.
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    cycle: bool,
    waiting_cycles: usize,
    /// The number of shared locks held.
    shared: usize,
    /// The number of threads that hold at least one shared lock.
    readers: usize,
    threads: HashMap<ThreadId, Standing>,
    /// The number of turns since a cycle waits: a turn ends when all readers of the last turn have left.
    turns: u32,
    /// The number of readers of the last turn that still hold the lock.
    old: usize,
    /// The number of turns since the graph was made. A reader that took the lock in an earlier epoch is of the last
    /// turn.
    epoch: u64,
}

/// The answer to a reader that wants the shared lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    Now,
    /// After the running cycle.
    AfterTheCycle,
    /// After the waiting cycle, but after this time at the latest.
    Within(Duration),
}

impl State {
    /// Whether a reader may enter that has waited for `waited` behind a cycle.  A cycle cannot run while a reader holds
    /// the lock, and that reader may be waiting for another one that wants it. So no reader is refused for ever. But
    /// the waiting time doubles with each turn. So readers that relieve each other soon wait longer than they hold the
    /// lock, and the cycle gets in.
    fn entry(&self, thread: ThreadId, waited: Duration) -> Entry {
        if self.threads.get(&thread).is_some_and(|standing| standing.shared > 0) {
            return Entry::Now;
        }
        if self.cycle {
            return Entry::AfterTheCycle;
        }
        let left = (COURTESY * (1 << self.turns.min(MOST_TURNS))).saturating_sub(waited);
        if self.waiting_cycles == 0 || left.is_zero() { Entry::Now } else { Entry::Within(left) }
    }

    fn enter(&mut self, thread: ThreadId) {
        self.shared += 1;
        let standing = self.threads.entry(thread).or_default();
        standing.shared += 1;
        if standing.shared == 1 {
            standing.since = self.epoch;
            self.readers += 1;
        }
    }

    /// Notes that a cycle waits. The readers that hold the lock now are of the last turn.
    fn ask(&mut self) {
        self.waiting_cycles += 1;
        if self.waiting_cycles == 1 {
            self.turns = 0;
            self.begin_turn();
        }
    }

    fn begin_turn(&mut self) {
        self.epoch += 1;
        self.old = self.readers;
    }

    /// Notes that a cycle has entered or has given up.
    fn unask(&mut self) {
        self.waiting_cycles -= 1;
        self.turns = 0;
        self.begin_turn();
    }

    fn leave(&mut self, thread: ThreadId, hold: Hold) {
        if let Some(standing) = self.threads.get_mut(&thread) {
            *standing.count(hold) -= 1;
            let (gone, old) = (matches!(hold, Hold::Shared) && standing.shared == 0, standing.since < self.epoch);
            if standing.holds_nothing() {
                self.threads.remove(&thread);
            }
            if gone {
                self.readers -= 1;
                self.old -= usize::from(old);
                if old && self.old == 0 && self.readers > 0 && self.waiting_cycles > 0 {
                    self.turns += 1;
                    self.begin_turn();
                }
            }
        }
        if let Hold::Shared = hold {
            self.shared -= 1;
        }
    }
}

/// The locks and scopes that a thread holds, each any number of times.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) shared: usize,
    pub(crate) transactions: usize,
    pub(crate) callbacks: usize,
    pub(crate) functions: usize,
    /// The epoch in which the thread took the shared lock.
    since: u64,
}

/// A lock or scope that a thread can hold.
#[derive(Clone, Copy)]
pub(crate) enum Hold {
    Shared,
    Transaction,
    Callback,
    Function,
}

impl Standing {
    fn holds_nothing(&self) -> bool {
        self.shared + self.transactions + self.callbacks + self.functions == 0
    }

    fn count(&mut self, hold: Hold) -> &mut usize {
        match hold {
            Hold::Shared => &mut self.shared,
            Hold::Transaction => &mut self.transactions,
            Hold::Callback => &mut self.callbacks,
            Hold::Function => &mut self.functions,
        }
    }
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate { state: Mutex::ranked(Rank::Gate, State::default()), changed: Condvar::new() }
    }

    /// Takes the exclusive lock; `None` if `abandon` returns true while waiting.
    pub(crate) fn exclusive(&self, abandon: &dyn Fn() -> bool) -> Option<Exclusive<'_>> {
        let mut state = self.state.lock();
        state.ask();
        while state.cycle || state.shared > 0 {
            if abandon() {
                state.unask();
                drop(state);
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state);
        }
        state.unask();
        state.cycle = true;
        Some(Exclusive { gate: self })
    }

    /// Makes waiting cycles call `abandon` again.
    pub(crate) fn nudge(&self) {
        drop(self.state.lock());
        self.changed.notify_all();
    }

    /// Waits until no cycle runs.
    pub(crate) fn wait_idle(&self) {
        let mut state = self.state.lock();
        while state.cycle {
            state = self.changed.wait(state);
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        let me = thread::current().id();
        self.state.lock().threads.get(&me).copied().unwrap_or_default()
    }

    /// The number of waiting cycles.
    #[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
    pub(crate) fn waiting_cycles(&self) -> usize {
        self.state.lock().waiting_cycles
    }

    /// Takes the shared lock for this thread.
    pub(crate) fn share(&self, now: &dyn Fn() -> Instant) -> ThreadId {
        let me = thread::current().id();
        let mut state = self.state.lock();
        // The time since which this reader waits behind a waiting cycle.
        let mut asked = None;
        loop {
            let waited = asked.map_or(Duration::ZERO, |asked| now().saturating_duration_since(asked));
            state = match state.entry(me, waited) {
                Entry::Now => break,
                Entry::AfterTheCycle => self.changed.wait(state),
                Entry::Within(left) => {
                    asked.get_or_insert_with(now);
                    self.changed.wait_timeout(state, left)
                }
            };
        }
        state.enter(me);
        me
    }

    fn hold(&self, hold: Hold) -> ThreadId {
        let me = thread::current().id();
        *self.state.lock().threads.entry(me).or_default().count(hold) += 1;
        me
    }

    pub(crate) fn let_go(&self, thread: ThreadId, hold: Hold) {
        let mut state = self.state.lock();
        let turns = state.turns;
        state.leave(thread, hold);
        if let Hold::Shared = hold {
            let look = state.shared == 0 || state.turns != turns;
            drop(state);
            if look {
                self.changed.notify_all();
            }
        }
    }
}

/// The exclusive lock of a cycle.
pub(crate) struct Exclusive<'a> {
    gate: &'a Gate,
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        self.gate.state.lock().cycle = false;
        self.gate.changed.notify_all();
    }
}

/// The guard of an entry in a thread's standing. It may be dropped on another thread.
struct Scope {
    core: Arc<Core>,
    thread: ThreadId,
    hold: Hold,
}

impl Scope {
    fn enter(core: &Arc<Core>, hold: Hold) -> Scope {
        Scope { core: core.clone(), thread: core.gate.hold(hold), hold }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // In the child of a fork the lock may be held by a thread that does not exist in it.
        if self.core.here().is_ok() {
            self.core.gate.let_go(self.thread, self.hold);
        }
    }
}

/// The shared lock: no step runs while it is held. It may be dropped on any thread.
pub struct SharedLock(#[allow(dead_code, reason = "held for its drop")] Scope);

/// Marks this thread as running a listener, until dropped.
pub struct CallbackScope(#[allow(dead_code, reason = "held for its drop")] Scope);

/// Marks this thread as having an open transaction, until dropped.
pub struct TransactionScope(#[allow(dead_code, reason = "held for its drop")] Scope);

/// Marks this thread as running a user function, until dropped.
pub struct FunctionScope(#[allow(dead_code, reason = "held for its drop")] Scope);

impl SharedLock {
    pub(crate) fn take(core: &Arc<Core>) -> SharedLock {
        let thread = core.gate.share(&crate::env::now);
        SharedLock(Scope { core: core.clone(), thread, hold: Hold::Shared })
    }
}

impl CallbackScope {
    pub(crate) fn enter(core: &Arc<Core>) -> CallbackScope {
        CallbackScope(Scope::enter(core, Hold::Callback))
    }
}

impl TransactionScope {
    pub(crate) fn enter(core: &Arc<Core>) -> TransactionScope {
        TransactionScope(Scope::enter(core, Hold::Transaction))
    }
}

impl FunctionScope {
    pub(crate) fn enter(core: &Arc<Core>) -> FunctionScope {
        FunctionScope(Scope::enter(core, Hold::Function))
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use super::*;

    /// Ids of threads that do not exist.
    fn names(count: usize) -> Vec<ThreadId> {
        (0..count).map(|_| std::thread::spawn(|| thread::current().id()).join().expect("a name")).collect()
    }

    /// Simulates readers that relieve each other, each holding the lock for `stay`: the number of turns until the lock
    /// is free.
    fn relieved(stay: Duration, readers: usize) -> Option<u32> {
        let (threads, mut state) = (names(readers), State::default());
        state.enter(threads[0]);
        state.ask();
        for turn in 0..100 {
            let (inside, outside) = (threads[turn % readers], threads[(turn + 1) % readers]);
            // The next reader asks as the first one enters, and once more as the first one leaves.
            let relieved = match state.entry(outside, Duration::ZERO) {
                Entry::Within(left) => left <= stay && state.entry(outside, stay) == Entry::Now,
                entry => panic!("{entry:?} while a cycle waits"),
            };
            if relieved {
                state.enter(outside);
            }
            state.leave(inside, Hold::Shared);
            if state.shared == 0 {
                return Some(turn as u32 + 1);
            }
        }
        None
    }

    #[test]
    fn readers_that_relieve_each_other_let_a_cycle_in_after_a_few_turns() {
        for readers in [2, 3, 7] {
            for (millis, most) in [(0, 1), (49, 1), (50, 2), (199, 3), (5_000, 8), (60_000, 12)] {
                let turns = relieved(Duration::from_millis(millis), readers).expect("a cycle gets in");
                assert!(turns <= most, "{readers} readers of {millis} ms kept a cycle out for {turns} turns");
            }
        }
    }

    #[test]
    fn a_reader_that_another_inside_waits_for_gets_in() {
        let (threads, mut state) = (names(40), State::default());
        state.enter(threads[0]);
        state.ask();
        for pair in threads.windows(2) {
            // The reader inside leaves only when the next one has entered.
            assert!(matches!(state.entry(pair[1], Duration::ZERO), Entry::Within(_)));
            assert_eq!(state.entry(pair[1], COURTESY * (1 << MOST_TURNS)), Entry::Now);
            state.enter(pair[1]);
            assert_eq!(state.entry(pair[0], Duration::ZERO), Entry::Now, "who is inside gets it again at once");
            state.leave(pair[0], Hold::Shared);
        }
        state.unask();
        assert_eq!(state.entry(threads[0], Duration::ZERO), Entry::Now, "no cycle waits any more");
    }

    #[test]
    fn who_stays_inside_costs_others_no_turn() {
        let (threads, mut state) = (names(3), State::default());
        state.enter(threads[0]);
        state.ask();
        for _ in 0..100 {
            assert_eq!(state.entry(threads[1], COURTESY), Entry::Now);
            state.enter(threads[1]);
            state.leave(threads[1], Hold::Shared);
        }
        assert_eq!(state.turns, 0);
    }
}
