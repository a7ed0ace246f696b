//! Panics. A panic is a mistake of the engine, and comes to Python as `InternalError`, wherever it happens: in what runs without
//! the GIL ([`crate::gil`]), and in any other call that Python makes ([`panics_are_internal_errors`]).

use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::error::InternalError;

/// The error that a panic with this text becomes.
pub fn internal(text: Option<&str>) -> PyErr {
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
