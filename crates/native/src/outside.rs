//! Leaving Python: what runs without the GIL, and what becomes of a panic there.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::error::{self, InternalError};

/// Runs without the GIL. A panic is our own mistake, and comes to Python as such, never as an exception that no handler
/// of errors sees.
pub fn outside<R: Send>(py: Python<'_>, run: impl FnOnce() -> R + Send) -> PyResult<R> {
    py.detach(|| catch_unwind(AssertUnwindSafe(run))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without text");
        InternalError::new_err(format!("internal error: {text}; please report it"))
    })
}

/// The same for what the engine is asked.
pub fn asked<R: Send>(py: Python<'_>, run: impl FnOnce() -> Result<R, engine::Error> + Send) -> PyResult<R> {
    outside(py, run)?.map_err(error::raise)
}
