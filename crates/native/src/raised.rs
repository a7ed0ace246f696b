//! Python exceptions on their way through the engine.

use std::sync::Arc;

use engine::interrupt::Interrupt;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// The exception of a user's function, kept to be raised as the cause.
pub struct Fault(pub Py<PyAny>);

/// Whether it is no error of the function, but ends what called it: Ctrl-C, `sys.exit`, a cancelled task.
pub fn is_interrupt(py: Python<'_>, raised: &PyErr) -> bool {
    !raised.is_instance_of::<PyException>(py)
}

/// The exception as the engine hands it to whoever called.
pub fn interrupt(py: Python<'_>, raised: &PyErr) -> engine::Error {
    let fault: engine::External = Arc::new(Fault(raised.value(py).clone().into_any().unbind()));
    let payload: engine::External = Arc::new(Interrupt(fault));
    engine::Error::External { message: raised.to_string(), payload: Some(payload) }
}
