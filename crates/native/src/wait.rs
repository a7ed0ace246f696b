//! Waiting without the GIL: signals are looked at every 50 ms, so that Ctrl-C works, and a wait that
//! nobody can end says so in the log.

use std::cell::Cell;
use std::time::{Duration, Instant};

use graph::UpdateGraph;
use pyo3::prelude::*;

use crate::ending::Inside;
use crate::error;
use crate::transaction;

/// After so long a wait on a graph that does not run explains itself.
const EXPLAIN_AFTER: Duration = Duration::from_secs(5);

/// A timeout in seconds, as Python gives it.
pub fn timeout(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    match seconds {
        None => Ok(None),
        Some(seconds) if seconds.is_nan() => {
            Err(pyo3::exceptions::PyValueError::new_err("timeout must be a number of seconds"))
        }
        Some(seconds) => Ok(Duration::try_from_secs_f64(seconds.max(0.0)).ok()),
    }
}

/// Runs `wait` without the GIL; the closure it gets says whether to go on.
pub fn detached<R: Send>(
    py: Python<'_>,
    graph: &UpdateGraph,
    wait: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<R, engine::Error> + Send,
) -> PyResult<R> {
    // Signals come to the main thread alone. Another must not look for them: it may still wait when Python is gone.
    let main = is_main(py)?;
    let mut interrupted: Option<PyErr> = None;
    let current = transaction::current(py, graph)?;
    let (outcome, _back) = py.detach(|| {
        let begun = Instant::now();
        let mut explained = false;
        let mut poll = || {
            if !explained && begun.elapsed() >= EXPLAIN_AFTER && !graph.is_started() {
                explained = true;
                Python::try_attach(explain);
            }
            if !main {
                return true;
            }
            match Python::attach(|py| py.check_signals()) {
                Ok(()) => true,
                Err(raised) => {
                    interrupted = Some(raised);
                    false
                }
            }
        };
        let outcome = transaction::within(current.as_deref(), || wait(&mut poll));
        (outcome, Inside::enter())
    });
    match (outcome, interrupted) {
        (Ok(value), _) => Ok(value),
        (Err(_), Some(raised)) => Err(raised),
        (Err(failed), None) => Err(error::raise(failed)),
    }
}

/// Whether this is the thread that Python gives signals to. Asked once a thread: in the child of a fork it is another.
fn is_main(py: Python<'_>) -> PyResult<bool> {
    thread_local! {
        static KNOWN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
    }
    let process = std::process::id();
    if let Some((asked_in, is_main)) = KNOWN.get()
        && asked_in == process
    {
        return Ok(is_main);
    }
    let threading = py.import("threading")?;
    let is_main = threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?);
    KNOWN.set(Some((process, is_main)));
    Ok(is_main)
}

fn explain(py: Python<'_>) {
    let log = || -> PyResult<()> {
        let logger = py.import("logging")?.call_method1("getLogger", ("tickframe",))?;
        let text = "waiting for a step of a graph that is not running: call graph.start(), or graph.step() from another thread";
        logger.call_method1("warning", (text,))?;
        Ok(())
    };
    // A log that cannot be written must not end the wait.
    let _ = log();
}
