//! Cells of a column as memory that Python may read: NumPy looks at them where they lie.

#![allow(unsafe_code, reason = "a buffer is a raw pointer and a length")]

use arrow_buffer::Buffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Bytes that stay as they are while somebody looks at them.
#[pyclass(frozen, name = "Memory", module = "tickframe._native")]
pub struct PyMemory(pub Buffer);

#[pymethods]
impl PyMemory {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Read-only: who asks to write is refused.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: std::ffi::c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        let bytes = slf.get().0.as_slice();
        let length = ffi::Py_ssize_t::try_from(bytes.len())?;
        let start = bytes.as_ptr().cast_mut().cast::<std::ffi::c_void>();
        // SAFETY: `view` is the caller's to fill. The bytes are immutable, and live as long as this
        // object, to which the filled view holds a reference; read-only is said, so none writes.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// Sets how many bytes the process may hold; None is what the machine has. Gives what was set before.
#[pyfunction]
#[pyo3(signature = (bytes))]
pub fn limit_memory(bytes: Option<u64>) -> Option<u64> {
    limits::set_limit(bytes)
}

/// Bytes held in large allocations, and how many there may be.
#[pyfunction]
pub fn memory_figures() -> (u64, u64) {
    (limits::held(), limits::limit())
}
