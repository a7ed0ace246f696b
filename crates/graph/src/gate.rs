//! The graph's lock: held by one cycle, or shared by readers, who keep cycles from running. It also refuses what a
//! thread must not do while it holds the lock.

use crate::core::Core;
use crate::sync::thread::{self, ThreadId};
use crate::sync::{Arc, Condvar, Mutex, Rank};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a new reader lets a waiting cycle go first, doubled each time all who held the lock have gone and others hold
/// it. Bounded: who holds it may be waiting for this reader.
const COURTESY: Duration = Duration::from_millis(50);

/// More than an hour: nobody holds the lock for longer and is waited for.
const MOST_TURNS: u32 = 17;

/// The exclusive lock of a cycle and the shared lock of readers. A cycle that only waits delays readers, and blocks none.
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    cycle: bool,
    waiting_cycles: usize,
    /// Shared locks.
    shared: usize,
    /// Threads that hold at least one.
    readers: usize,
    threads: HashMap<ThreadId, Standing>,
    /// How often, since a cycle waits, all who held the shared lock have let go of it while others had taken it.
    turns: u32,
    /// Readers of the last turn that still hold it.
    old: usize,
    /// Turns ever: who has taken the lock before it was raised is old.
    epoch: u64,
}

/// What a reader that wants in is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    Now,
    /// Behind the cycle that runs.
    AfterTheCycle,
    /// Behind the cycle that waits, for so long at most.
    Within(Duration),
}

impl State {
    /// Whether a reader that has waited so long behind a cycle may enter.
    ///
    /// A cycle cannot run while a reader is inside, and a reader inside may be waiting for one outside: so none is refused
    /// for ever. But with each turn that has gone by, others wait twice as long. So readers that relieve each other wait
    /// longer than they stay after a few turns, and the cycle gets in.
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

    /// A cycle waits; those who are inside now are old.
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

    /// A cycle has got in, or has given up.
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

/// What a thread holds, each any number of times.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) shared: usize,
    pub(crate) transactions: usize,
    pub(crate) callbacks: usize,
    pub(crate) functions: usize,
    /// The turn in which it took the shared lock.
    since: u64,
}

/// One of the things a thread can hold.
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

    /// Takes the exclusive lock; `None` if `abandon` says so before its turn came.
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

    /// Makes waiting cycles ask again whether to give up.
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

    /// Cycles that wait for their turn.
    #[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
    pub(crate) fn waiting_cycles(&self) -> usize {
        self.state.lock().waiting_cycles
    }

    /// Takes the shared lock for this thread.
    pub(crate) fn share(&self, now: &dyn Fn() -> Instant) -> ThreadId {
        let me = thread::current().id();
        let mut state = self.state.lock();
        // From when on it waits behind a cycle that waits.
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

/// What keeps a thread's standing until dropped, on whichever thread.
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
        // In the child of a fork the lock may be held by a thread that does not exist here.
        if self.core.here().is_ok() {
            self.core.gate.let_go(self.thread, self.hold);
        }
    }
}

/// No step runs while it lives. May be dropped on any thread.
pub struct SharedLock(#[allow(dead_code, reason = "held for its drop")] Scope);

/// This thread runs a listener while it lives.
pub struct CallbackScope(#[allow(dead_code, reason = "held for its drop")] Scope);

/// This thread has an open transaction while it lives.
pub struct TransactionScope(#[allow(dead_code, reason = "held for its drop")] Scope);

/// This thread runs a user's function while it lives.
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

    /// Threads that exist only as names.
    fn names(count: usize) -> Vec<ThreadId> {
        (0..count).map(|_| std::thread::spawn(|| thread::current().id()).join().expect("a name")).collect()
    }

    /// Readers of whom one is always inside before another leaves, each for `stay`: how many turns until none is.
    fn relieved(stay: Duration, readers: usize) -> Option<u32> {
        let (threads, mut state) = (names(readers), State::default());
        state.enter(threads[0]);
        state.ask();
        for turn in 0..100 {
            let (inside, outside) = (threads[turn % readers], threads[(turn + 1) % readers]);
            // The next one asks as the first one enters, and is looked at once more as the first one leaves.
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
            // The one inside goes only when the next one is in.
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
