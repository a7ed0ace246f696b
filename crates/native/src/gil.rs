//! Work without the GIL: calls of the engine, and drops of values that may be the last handle.

use std::panic::{AssertUnwindSafe, catch_unwind};

use std::cell::RefCell;
use std::rc::Rc;

use engine::interrupt;
use graph::signals;
use pyo3::prelude::*;

use crate::ending::{self, Inside};
use crate::panics::internal;
use crate::{error, raised};

/// Runs without the GIL.
pub fn without_gil<R: Send>(py: Python<'_>, run: impl FnOnce() -> R + Send) -> PyResult<R> {
    let (done, _back) = py.detach(|| (catch_unwind(AssertUnwindSafe(run)), Inside::enter()));
    done.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        internal(text.or_else(|| panic.downcast_ref::<&str>().copied()))
    })
}

/// Calls the engine without the GIL and raises its error as a Python exception. Signals are polled while it waits.
pub fn call_engine<R: Send>(py: Python<'_>, run: impl FnOnce() -> Result<R, engine::Error> + Send) -> PyResult<R> {
    heard(py, || interrupt::polled(Rc::new(signals), run))?.map_err(error::raise)
}

/// Runs a step by hand without the GIL. A signal that comes while other threads work for it ends their functions, and is
/// raised when the step is over.
pub fn run_step<R: Send>(py: Python<'_>, step: impl FnOnce() -> R + Send) -> PyResult<R> {
    heard(py, step)
}

/// What was done without the GIL, unless this thread was interrupted meanwhile.
fn heard<R: Send>(py: Python<'_>, run: impl FnOnce() -> R + Send) -> PyResult<R> {
    // A function may call us in turn: what interrupts its caller stays its caller's.
    let above = RAISED.take();
    let run = || {
        let done = run();
        ending::is_over();
        done
    };
    let done = without_gil(py, || signals::polling(listen, run));
    match (done, RAISED.replace(above)) {
        (done, None) => done,
        (done, Some(raised)) => {
            // Tables are let go without the GIL.
            ending::detached(py, || drop(done));
            Err(raised)
        }
    }
}

/// Looks for signals while other threads work for this one.
fn listen() {
    Python::try_attach(|py| {
        if let Err(raised) = py.check_signals() {
            interrupts_others(py, raised);
        }
    });
}

/// A call of this thread is interrupted by this, and so are the functions that other threads run for it.
pub fn interrupts_others(py: Python<'_>, raised: PyErr) {
    if signals::poll().is_some() {
        // The first counts.
        RAISED.with_borrow_mut(|kept| _ = kept.get_or_insert(raised));
        ending::interrupt_others(py);
    }
}

thread_local! {
    /// What interrupted a call that can only say so in words.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// What this thread is asked for is interrupted by this.
pub fn interrupted(raised: PyErr) {
    RAISED.set(Some(raised));
}

/// Whether a signal has come; only the main thread hears them.
fn signals() -> Result<(), engine::Error> {
    let heard = Python::try_attach(|py| py.check_signals().map_err(|raised| raised::interrupt(py, &raised)));
    heard.unwrap_or(Ok(()))
}

/// Drops without the GIL: a last handle takes the graph's lock, which a thread that wants the GIL may hold.
pub fn drop_without_gil<T: Send>(held: T) {
    let mut held = Some(held);
    Python::try_attach(|py| {
        let held = held.take();
        ending::detached(py, move || drop(held));
    });
    // Without an interpreter there is no GIL to wait for.
    drop(held);
}
