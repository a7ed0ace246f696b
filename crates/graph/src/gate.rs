//! Who holds the graph: one cycle, or readers who keep cycles from running. And what each thread must not do meanwhile.

use crate::core::Core;
use crate::sync::thread::{self, ThreadId};
use crate::sync::{Arc, Condvar, Mutex, Rank};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a new reader lets a waiting cycle go first. Bounded: the cycle may be waiting for a thread that waits for
/// this reader.
const COURTESY: Duration = Duration::from_millis(50);

/// The exclusive lock of a cycle and the shared lock of readers. Readers are never blocked by a cycle that only waits.
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    cycle: bool,
    waiting_cycles: usize,
    shared: usize,
    threads: HashMap<ThreadId, Standing>,
}

/// What a thread holds, each any number of times.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) shared: usize,
    pub(crate) transactions: usize,
    pub(crate) callbacks: usize,
    pub(crate) functions: usize,
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
        state.waiting_cycles += 1;
        while state.cycle || state.shared > 0 {
            if abandon() {
                state.waiting_cycles -= 1;
                drop(state);
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state);
        }
        state.waiting_cycles -= 1;
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
        let again = state.threads.get(&me).is_some_and(|standing| standing.shared > 0);
        if !again {
            let patience = now() + COURTESY;
            loop {
                if state.cycle {
                    state = self.changed.wait(state);
                    continue;
                }
                let left = patience.saturating_duration_since(now());
                if state.waiting_cycles == 0 || left.is_zero() {
                    break;
                }
                state = self.changed.wait_timeout(state, left);
            }
        }
        state.shared += 1;
        state.threads.entry(me).or_default().shared += 1;
        me
    }

    fn hold(&self, hold: Hold) -> ThreadId {
        let me = thread::current().id();
        *self.state.lock().threads.entry(me).or_default().count(hold) += 1;
        me
    }

    pub(crate) fn let_go(&self, thread: ThreadId, hold: Hold) {
        let mut state = self.state.lock();
        if let Some(standing) = state.threads.get_mut(&thread) {
            *standing.count(hold) -= 1;
            if *standing == Standing::default() {
                state.threads.remove(&thread);
            }
        }
        if let Hold::Shared = hold {
            state.shared -= 1;
            let last = state.shared == 0;
            drop(state);
            if last {
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
