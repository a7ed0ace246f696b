//! The receiving end, for the one Python thread that calls the listeners of a graph.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use graph::UpdateGraph;
use pyo3::prelude::*;

use super::{Inbox, Word};
use crate::error;
use crate::graph::lock;
use crate::update::PyUpdate;

/// The receiving end, for the one Python thread that serves it.
#[pyclass(frozen, module = "tickframe._native", name = "Inbox")]
pub struct PyInbox(pub Arc<Inbox>, pub UpdateGraph);

#[pymethods]
impl PyInbox {
    /// Whether the caller is to serve; true once.
    fn claim(&self) -> bool {
        !std::mem::replace(&mut self.0.state.lock().served, true)
    }

    /// Waits for the next thing to hear: (subscription, update or error); None at the end.
    fn take(&self, py: Python<'_>) -> PyResult<Option<(u64, Py<PyAny>)>> {
        loop {
            let Some(item) = py.detach(|| self.0.take()) else { return Ok(None) };
            if item.to.cancelled.load(Ordering::Acquire) {
                self.0.finish();
                continue;
            }
            let word = match item.word {
                Word::Update(delivered) => {
                    let update = PyUpdate::new(item.to.table(), delivered, item.to.columns.clone());
                    Bound::new(py, update)?.into_any().unbind()
                }
                Word::Failure(failure) => error::table_failed(&failure).into_value(py).into_any(),
            };
            return Ok(Some((item.to.id, word)));
        }
    }

    /// Waiting changes that were made one with a neighbour because a listener is late, ever.
    #[getter]
    fn merged(&self) -> u64 {
        self.0.merged()
    }

    /// The last thing taken has been listened to.
    fn done(&self) {
        self.0.finish();
    }

    /// Marks the calling thread as a listener's while the scope lives.
    fn scope(&self) -> PyScope {
        PyScope(Mutex::new(Some(self.1.callback_scope())))
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

/// The mark of a listener's thread.
#[pyclass(frozen, module = "tickframe._native")]
pub struct PyScope(Mutex<Option<graph::CallbackScope>>);

#[pymethods]
impl PyScope {
    fn leave(&self) {
        lock(&self.0).take();
    }
}
