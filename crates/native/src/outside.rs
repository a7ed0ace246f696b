//! Panics. A panic is our own mistake, and comes to Python as `InternalError`, wherever it happens: in what runs without the
//! GIL ([`outside`]), and in any other call that Python makes ([`panics_are_internal_errors`]).

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::error::{self, InternalError};

/// Runs without the GIL.
pub fn outside<R: Send>(py: Python<'_>, run: impl FnOnce() -> R + Send) -> PyResult<R> {
    py.detach(|| catch_unwind(AssertUnwindSafe(run))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        internal(text.or_else(|| panic.downcast_ref::<&str>().copied()))
    })
}

/// The same for what the engine is asked.
pub fn asked<R: Send>(py: Python<'_>, run: impl FnOnce() -> Result<R, engine::Error> + Send) -> PyResult<R> {
    outside(py, run)?.map_err(error::raise)
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
