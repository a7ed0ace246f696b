//! Panics. A panic is our own mistake, and comes to Python as `InternalError`, wherever it happens: in what runs without the
//! GIL ([`outside`]), and in any other call that Python makes ([`panics_are_internal_errors`]).

use std::panic::{AssertUnwindSafe, catch_unwind};

use std::cell::RefCell;
use std::rc::Rc;

use engine::interrupt;
use graph::hearing;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::ending::{self, Inside};
use crate::error::{self, InternalError};
use crate::udf;

/// Runs without the GIL.
pub fn outside<R: Send>(py: Python<'_>, run: impl FnOnce() -> R + Send) -> PyResult<R> {
    let (done, _back) = py.detach(|| (catch_unwind(AssertUnwindSafe(run)), Inside::enter()));
    done.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        internal(text.or_else(|| panic.downcast_ref::<&str>().copied()))
    })
}

/// The same for what the engine is asked. Where it waits, signals are looked at.
pub fn asked<R: Send>(py: Python<'_>, run: impl FnOnce() -> Result<R, engine::Error> + Send) -> PyResult<R> {
    heard(py, || interrupt::polled(Rc::new(signals), run))?.map_err(error::raise)
}

/// Runs a step by hand without the GIL. A signal that comes while other threads work for it ends their functions, and is
/// raised when the step is over.
pub fn stepped<R: Send>(py: Python<'_>, step: impl FnOnce() -> R + Send) -> PyResult<R> {
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
    let done = outside(py, || hearing::listening(listen, run));
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
    if hearing::ear().is_some() {
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
    let heard = Python::try_attach(|py| py.check_signals().map_err(|raised| udf::interrupt(py, &raised)));
    heard.unwrap_or(Ok(()))
}

fn internal(text: Option<&str>) -> PyErr {
    InternalError::new_err(format!("internal error: {}; please report it", text.unwrap_or("a panic without text")))
}

/// pyo3 catches a panic in each function and method that Python calls, and raises its own `PanicException`, which no handler
/// of errors sees. From here on, making one makes an `InternalError`: a class may make what is not of it.
pub fn panics_are_internal_errors(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let made = wrap_pyfunction!(internal_error, module)?;
    module.py().get_type::<PanicException>().setattr("__new__", made)
}

/// Some versions of Python ask again, with what was made, since that is not of the class: it is the answer.
#[pyfunction]
#[pyo3(signature = (_class, given = None))]
fn internal_error<'py>(_class: &Bound<'py, PyType>, given: Option<Bound<'py, PyAny>>) -> Bound<'py, PyAny> {
    let py = _class.py();
    match given {
        Some(made) if made.is_instance_of::<InternalError>() => made,
        given => {
            let text = given.and_then(|given| given.extract::<String>().ok());
            internal(text.as_deref()).into_value(py).into_bound(py).into_any()
        }
    }
}

/// Panics, holding the GIL, as a mistake of ours would: for the test of what becomes of it.
#[pyfunction]
pub fn panic_here(text: &str) {
    panic!("{text}");
}
