//! The thread that starts cycles when something is pending and the period has passed.

use crate::core::Core;
use crate::cycle;
use crate::env;
use crate::sync::thread::JoinHandle;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, Rank};

/// The cycle thread of a graph, if it is started.
pub(crate) struct CycleThread(Mutex<Option<Running>>);

struct Running {
    stop: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl CycleThread {
    pub(crate) fn new() -> CycleThread {
        CycleThread(Mutex::ranked(Rank::Thread, None))
    }

    pub(crate) fn is_started(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Starts the thread unless it runs. A thread that was told to stop may still be finishing its last cycle: the
    /// gate keeps the two apart.
    pub(crate) fn start(&self, core: &Arc<Core>) {
        let mut running = self.0.lock();
        if running.is_some() {
            return;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (body_core, body_stop) = (core.clone(), stop.clone());
        let name = format!("tf-cycle-{}", core.id);
        let spawned = env::spawn(name, move || body_core.scope.enter(|| run(&body_core, &body_stop)));
        // The machine refuses a thread: the graph stays stopped, and every wait says so.
        if let Ok(handle) = spawned {
            *running = Some(Running { stop, handle: Some(handle) });
        }
    }

    /// Tells the thread to stop; the handle, to join where that is allowed.
    pub(crate) fn tell_stop(&self, core: &Core) -> Option<JoinHandle<()>> {
        let mut running = self.0.lock().take()?;
        running.stop.store(true, Ordering::SeqCst);
        core.intake.ring();
        core.gate.nudge();
        running.handle.take()
    }
}

fn run(core: &Arc<Core>, stop: &AtomicBool) {
    let stopped = || stop.load(Ordering::SeqCst);
    let now = || core.time.now();
    let sleep_until = |when| core.sleep_until(when);
    while core.intake.wait_due(core.period, &now, &sleep_until, &stopped) {
        cycle::run(core, cycle::Asked::Automatically, &stopped);
    }
}
