//! The receiving end, for the one Python thread that calls the listeners of a graph.

use std::sync::{Arc, Mutex};

use engine::waiting::Word;
use graph::UpdateGraph;
use pyo3::prelude::*;

use super::Inbox;
use crate::error;
use crate::graph::lock;
use crate::update::PyUpdate;

/// The queue of a graph, as Python sees it.
#[pyclass(frozen, module = "tickframe._native", name = "Inbox")]
pub struct PyInbox(pub Arc<Inbox>, pub UpdateGraph);

#[pymethods]
impl PyInbox {
    /// The right to serve, unless somebody has it. Whoever drops it serves no more.
    fn claim(&self) -> Option<PyServer> {
        let number = self.0.claim()?;
        Some(PyServer { inbox: self.0.clone(), graph: self.1.clone(), number, scope: Mutex::default() })
    }

    /// The graph's number.
    #[getter]
    fn graph_id(&self) -> u64 {
        self.1.id()
    }
}

/// The right to serve the listeners of a graph.
#[pyclass(frozen, module = "tickframe._native", name = "Server")]
pub struct PyServer {
    inbox: Arc<Inbox>,
    graph: UpdateGraph,
    number: u64,
    scope: Mutex<Option<graph::CallbackScope>>,
}

#[pymethods]
impl PyServer {
    /// Marks the calling thread as a listener's, until [`PyServer::leave`].
    fn enter(&self) {
        *lock(&self.scope) = Some(self.graph.callback_scope());
    }

    /// Waits for the next thing to hear: (subscription, update or error); None at the end.
    fn take(&self, py: Python<'_>) -> PyResult<Option<(u64, Py<PyAny>)>> {
        let Some((to, word)) = py.detach(|| self.inbox.take(self.number)) else { return Ok(None) };
        let word = match word {
            Word::Update(delivered) => {
                let update = PyUpdate::new(to.table(), delivered, to.columns.clone());
                Bound::new(py, update)?.into_any().unbind()
            }
            Word::Failure(failure) => error::table_failed(&failure).into_value(py).into_any(),
        };
        Ok(Some((to.id, word)))
    }

    /// The last thing taken has been listened to.
    fn done(&self) {
        self.inbox.finish(self.number);
    }

    /// Waiting changes that were made one with a neighbour because a listener is late, ever.
    #[getter]
    fn merged(&self) -> u64 {
        self.inbox.merged()
    }

    /// Serves no more.
    fn leave(&self) {
        lock(&self.scope).take();
        self.inbox.leave(self.number);
    }
}

impl Drop for PyServer {
    fn drop(&mut self) {
        self.leave();
    }
}
