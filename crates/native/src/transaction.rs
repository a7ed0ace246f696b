//! Transactions as Python sees them: who a call belongs to is found by its context.
//!
//! A context variable of Python names the transactions that were opened in it, weakly: one that ended, or that
//! nobody holds any more, takes in nothing. Contexts are copied for new tasks and threads; a transaction takes only what
//! the thread, and the asyncio task, that opened it does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::ThreadId;

use engine::sources::Transaction;
use graph::UpdateGraph;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::error::InvalidOperationError;
use crate::gil::call_engine;
use crate::gil::drop_without_gil;

/// Transactions that there are: without any, no call looks for one.
static KEPT: AtomicUsize = AtomicUsize::new(0);
static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A transaction, and who opened it.
pub struct Kept {
    transaction: Transaction,
    graph: UpdateGraph,
    thread: ThreadId,
    /// A weak reference to the task of asyncio.
    task: Option<Py<PyAny>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Kept {
    fn is_mine(&self, py: Python<'_>) -> PyResult<bool> {
        if self.thread != std::thread::current().id() {
            return Ok(false);
        }
        match (&self.task, task(py)?) {
            (None, None) => Ok(true),
            (Some(opener), Some(now)) => Ok(opener.bind(py).call0()?.is(&now)),
            _ => Ok(false),
        }
    }
}

/// What the context variable holds: the transactions opened in this context or those it was copied from.
#[pyclass(frozen, module = "tickframe._native")]
struct Opened(Vec<Weak<Kept>>);

fn variable(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let made = VARIABLE.get_or_try_init(py, || {
        py.import("contextvars")?.call_method1("ContextVar", ("tickframe_transactions",)).map(Bound::unbind)
    })?;
    Ok(made.bind(py))
}

fn opened(py: Python<'_>) -> PyResult<Vec<Arc<Kept>>> {
    let found = variable(py)?.call_method1("get", (py.None(),))?;
    let Ok(found) = found.cast::<Opened>() else { return Ok(Vec::new()) };
    Ok(found.get().0.iter().filter_map(Weak::upgrade).collect())
}

/// The task of asyncio that runs on this thread. There is none where asyncio was never imported.
fn task(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let modules = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
    let Some(asyncio) = modules.get_item("asyncio")? else { return Ok(None) };
    let running = asyncio.call_method0("_get_running_loop")?;
    if running.is_none() {
        return Ok(None);
    }
    let task = asyncio.call_method1("current_task", (running,))?;
    Ok((!task.is_none()).then_some(task))
}

/// The open transaction of this thread, or task, over this graph.
pub fn current(py: Python<'_>, graph: &UpdateGraph) -> PyResult<Option<Arc<Kept>>> {
    if KEPT.load(Ordering::Relaxed) == 0 {
        return Ok(None);
    }
    for kept in opened(py)?.into_iter().rev() {
        if kept.graph == *graph && kept.transaction.is_open() && kept.is_mine(py)? {
            return Ok(Some(kept));
        }
    }
    Ok(None)
}

/// Runs what belongs to that transaction: calls fall into it, and waiting is refused.
pub fn within<R>(current: Option<&Kept>, run: impl FnOnce() -> R) -> R {
    match current {
        Some(kept) => kept.transaction.collect(run),
        None => run(),
    }
}

/// An open transaction; dropped, it is rolled back.
#[pyclass(frozen, name = "Transaction", module = "tickframe._native")]
pub struct PyTransaction(Mutex<Option<Arc<Kept>>>);

impl Drop for PyTransaction {
    fn drop(&mut self) {
        drop_without_gil(graph::lock(&self.0).take());
    }
}

impl PyTransaction {
    pub fn begin(py: Python<'_>, graph: &UpdateGraph) -> PyResult<PyTransaction> {
        if current(py, graph)?.is_some() {
            let message = "transaction: one of this thread or task is open already; they do not nest";
            return Err(InvalidOperationError::new_err(message));
        }
        let task = task(py)?.map(|task| py.import("weakref")?.call_method1("ref", (task,)));
        let task = task.transpose()?.map(Bound::unbind);
        KEPT.fetch_add(1, Ordering::Relaxed);
        let (thread, graph) = (std::thread::current().id(), graph.clone());
        let kept = Arc::new(Kept { transaction: Transaction::begin(&graph), graph, thread, task });
        let known = opened(py)?;
        let opened = Opened(known.iter().chain([&kept]).map(Arc::downgrade).collect());
        variable(py)?.call_method1("set", (Py::new(py, opened)?,))?;
        Ok(PyTransaction(Mutex::new(Some(kept))))
    }
}

#[pymethods]
impl PyTransaction {
    /// Queues everything, or raises and queues nothing. May be called on any thread.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let kept = graph::lock(&self.0).take();
        call_engine(py, || kept.map_or(Ok(()), |kept| kept.transaction.commit()))
    }

    fn rollback(&self, py: Python<'_>) {
        let kept = graph::lock(&self.0).take();
        py.detach(|| kept.into_iter().for_each(|kept| kept.transaction.rollback()));
    }
}
