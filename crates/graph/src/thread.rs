//! The thread that starts cycles when something is pending and the period has passed.

use crate::core::Core;
use crate::cycle;
use crate::env;
use crate::error::GraphError;
use crate::node::panic_message;
use crate::report::trouble;
use crate::sync::thread::JoinHandle;
use crate::sync::{Arc, AtomicBool, CHECKED, Mutex, Ordering, Rank};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The graphs whose thread has not ended, with the process that started it: also those without a handle.
static RUNNING: std::sync::Mutex<Vec<(u32, Arc<Core>)>> = std::sync::Mutex::new(Vec::new());

fn running() -> std::sync::MutexGuard<'static, Vec<(u32, Arc<Core>)>> {
    RUNNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Cycle threads of this process that have not ended.
pub fn running_threads() -> usize {
    running().iter().filter(|(process, _)| *process == env::process()).count()
}

/// Tells every cycle thread of this process to stop, for the end of the program; see [`running_threads`].
pub fn stop_threads() {
    let all: Vec<Arc<Core>> =
        running().iter().filter(|(process, _)| *process == env::process()).map(|(_, core)| core.clone()).collect();
    all.iter().for_each(|core| drop(core.thread.tell_stop(core)));
}

/// Stands in the list until dropped, at the end of the thread.
struct Listed(Arc<Core>);

impl Listed {
    fn enter(core: &Arc<Core>) -> Listed {
        // A checker's graphs must not outlive its model.
        if !CHECKED {
            running().push((env::process(), core.clone()));
        }
        Listed(core.clone())
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut all = running();
        let own = all.iter().position(|(_, core)| Arc::ptr_eq(core, &self.0));
        let gone = own.map(|at| all.swap_remove(at));
        drop(all);
        drop(gone);
    }
}

/// The cycle thread of a graph, if it is started.
pub(crate) struct CycleThread {
    state: Mutex<State>,
    /// Whether the thread ended by itself; read under other locks. Not an atomic of the model checkers: `announce`
    /// orders it.
    ended: std::sync::atomic::AtomicBool,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    /// The cause, if the last thread ended without being told to stop.
    cause: Option<String>,
}

struct Running {
    stop: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl CycleThread {
    pub(crate) fn new() -> CycleThread {
        CycleThread { state: Mutex::ranked(Rank::Thread, State::default()), ended: false.into() }
    }

    pub(crate) fn is_started(&self) -> bool {
        self.state.lock().running.is_some()
    }

    /// Whether the thread ended by itself, and no step was run and no thread started since.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// The cause of the thread's end.
    pub(crate) fn cause(&self) -> String {
        self.state.lock().cause.clone().unwrap_or_default()
    }

    /// Forgets that the thread ended: steps are run by hand now.
    pub(crate) fn forget_end(&self) {
        if self.has_ended() {
            self.ended.store(false, Ordering::Release);
        }
    }

    /// Starts the thread unless it runs. A thread that was told to stop may still be finishing its last cycle; the gate
    /// orders the two.
    pub(crate) fn start(&self, core: &Arc<Core>) -> Result<(), GraphError> {
        let mut state = self.state.lock();
        if state.running.is_some() {
            return Ok(());
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (listed, body_stop) = (Listed::enter(core), stop.clone());
        let name = format!("tf-cycle-{}", core.id);
        let body = move || {
            let listed = listed;
            listed.0.scope.enter(|| run(&listed.0, &body_stop));
        };
        match env::spawn(name, body) {
            Ok(handle) => {
                state.running = Some(Running { stop, handle: Some(handle) });
                self.ended.store(false, Ordering::Release);
                Ok(())
            }
            // The graph stays stopped, and every wait fails with the cause.
            Err(why) => {
                state.cause = Some(why.to_string());
                self.ended.store(true, Ordering::Release);
                Err(GraphError::NoThread { why: why.to_string() })
            }
        }
    }

    /// Tells the thread to stop, and returns its handle, to be joined where waiting is allowed.
    pub(crate) fn tell_stop(&self, core: &Core) -> Option<JoinHandle<()>> {
        let mut running = self.state.lock().running.take()?;
        running.stop.store(true, Ordering::SeqCst);
        core.intake.ring();
        core.gate.nudge();
        running.handle.take()
    }

    /// Notes that the thread with this stop flag ends by itself: it no longer counts as started, and waiters get the
    /// cause.
    fn end(&self, core: &Core, stop: &Arc<AtomicBool>, cause: String) {
        let mut state = self.state.lock();
        if !state.running.as_ref().is_some_and(|running| Arc::ptr_eq(&running.stop, stop)) {
            // The thread was stopped meanwhile.
            return;
        }
        trouble(&format!("the thread of graph {} has ended, call start() to go on: {cause}", core.id));
        state.cause = Some(cause);
        self.ended.store(true, Ordering::Release);
        let running = state.running.take();
        drop(state);
        drop(running);
        core.announce();
    }
}

fn run(core: &Arc<Core>, stop: &Arc<AtomicBool>) {
    let ended = catch_unwind(AssertUnwindSafe(|| run_cycles(core, stop)));
    if let Some(cause) = ended.unwrap_or_else(|payload| Some(panic_message(payload))) {
        core.thread.end(core, stop, cause);
    }
}

/// Runs cycles until told to stop. Returns the cause if two cycles in a row were abandoned: going on could fail for
/// ever.
fn run_cycles(core: &Arc<Core>, stop: &AtomicBool) -> Option<String> {
    let stopped = || stop.load(Ordering::SeqCst);
    let now = || core.time.now();
    let sleep_until = |when| core.sleep_until(when);
    let mut broken = false;
    while core.intake.wait_due(core.period, &now, &sleep_until, &stopped) {
        match cycle::run(core, cycle::Asked::Automatically, &stopped) {
            Ok(_) => broken = false,
            Err(why) if broken => return Some(why.to_string()),
            Err(_) => broken = true,
        }
    }
    None
}
