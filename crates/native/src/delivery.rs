//! Deliveries to Python: the receiving end of a graph's queue, for the one thread that calls its listeners, and the handle of a
//! subscription.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::follow::Message;
use engine::follow::{DeliveryQueue, Follower, Following, FollowingSteps, Waited};
use graph::{UpdateGraph, lock};
use pyo3::prelude::*;

use crate::error;
use crate::gil::{call_engine, drop_without_gil};
use crate::graph::PyGraph;
use crate::table::PyTable;
use crate::update::PyUpdate;

/// How often a wait looks at signals.
pub const POLL: Duration = Duration::from_millis(50);

/// The queue of a graph, as Python sees it.
#[pyclass(frozen, module = "tickframe._native", name = "Inbox")]
pub struct PyInbox(pub Arc<DeliveryQueue>, pub UpdateGraph);

#[pymethods]
impl PyInbox {
    /// The right to serve, unless somebody has it. Whoever drops it serves no more.
    fn claim(&self) -> Option<PyServer> {
        let number = self.0.claim()?;
        Some(PyServer { queue: self.0.clone(), graph: self.1.clone(), number, scope: Mutex::default() })
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
    queue: Arc<DeliveryQueue>,
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

    /// Waits for the next thing to hear: (subscription, update, error, number of a step that is over, or None when its table
    /// was closed); None at the end.
    fn take(&self, py: Python<'_>) -> PyResult<Option<(u64, Py<PyAny>)>> {
        let Some((to, word)) = py.detach(|| self.queue.take(self.number)) else { return Ok(None) };
        let word = match word {
            Message::Update(delivered) => {
                let update = PyUpdate::new(&to, delivered);
                Bound::new(py, update)?.into_any().unbind()
            }
            Message::Failure(failure) => error::table_failed(&failure).into_value(py).into_any(),
            Message::Ended => py.None(),
            Message::Step(step) => step.into_pyobject(py)?.into_any().unbind(),
        };
        Ok(Some((to.id(), word)))
    }

    /// The last thing taken has been listened to.
    fn done(&self) {
        self.queue.finish(self.number);
    }

    /// Waiting changes that were made one with a neighbour because a listener is late, ever.
    #[getter]
    fn merged(&self) -> u64 {
        self.queue.merged()
    }

    /// Serves no more.
    fn leave(&self) {
        lock(&self.scope).take();
        self.queue.leave(self.number);
    }
}

impl Drop for PyServer {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A subscription's handle: dropping it ends the following.
#[pyclass(frozen, module = "tickframe._native", name = "Subscription")]
pub struct PySubscription {
    follower: Arc<Follower>,
    queue: Arc<DeliveryQueue>,
    held: Mutex<Option<Following>>,
}

static IDS: AtomicU64 = AtomicU64::new(1);

/// Follows a table; what it sends arrives in the graph's queue under the subscription's id.
#[pyfunction]
#[pyo3(signature = (table, id, initial, columns, rows_before = false))]
pub fn subscribe(
    py: Python<'_>,
    table: &PyTable,
    id: u64,
    initial: bool,
    columns: Option<Vec<String>>,
    rows_before: bool,
) -> PyResult<PySubscription> {
    let followed = table.checked()?;
    let index = |name: &String| followed.column_index("subscribe", name).map_err(error::raise);
    let columns = columns.map(|names| names.iter().map(index).collect::<PyResult<Vec<_>>>()).transpose()?;
    let Some(shared) = table.shared() else {
        return Err(error::InvalidOperationError::new_err("subscribe: the table is static; it will never change"));
    };
    let queue = shared.queue.clone();
    let held = call_engine(py, || queue.follow(followed, id, initial, rows_before, columns))?;
    Ok(PySubscription { follower: held.follower().clone(), queue, held: Mutex::new(Some(held)) })
}

/// A following of steps: dropping it ends it.
#[pyclass(frozen, module = "tickframe._native", name = "Steps")]
pub struct PySteps(Mutex<Option<FollowingSteps>>);

#[pymethods]
impl PySteps {
    fn cancel(&self, py: Python<'_>) {
        let held = lock(&self.0).take();
        py.detach(|| drop(held));
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        lock(&self.0).is_none()
    }
}

impl Drop for PySteps {
    fn drop(&mut self) {
        if let Some(held) = lock(&self.0).take() {
            drop_without_gil(held);
        }
    }
}

/// Hears of each step of a graph that is over, behind its changes, under this number; with `last` of the last one at once.
#[pyfunction]
pub fn follow_steps(py: Python<'_>, graph: &PyGraph, id: u64, last: bool) -> PyResult<PySteps> {
    graph.0.graph.check_process().map_err(|refused| error::graph(&refused))?;
    let held = crate::ending::detached(py, || graph.0.queue.follow_steps(&graph.0.graph, id, last));
    Ok(PySteps(Mutex::new(Some(held))))
}

/// A number no other subscription has.
#[pyfunction]
pub fn next_subscription_id() -> u64 {
    IDS.fetch_add(1, Ordering::Relaxed)
}

#[pymethods]
impl PySubscription {
    fn cancel(&self, py: Python<'_>) {
        let held = lock(&self.held).take();
        py.detach(|| drop(held));
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.follower.is_cancelled()
    }

    /// Waits until what was delivered so far has been listened to.
    fn wait_heard(&self, py: Python<'_>) -> PyResult<()> {
        match self.follower.table().and_then(|table| table.graph().cloned()) {
            Some(graph) => wait_delivered(py, &self.queue, &graph),
            None => Ok(()),
        }
    }
}

impl Drop for PySubscription {
    fn drop(&mut self) {
        if let Some(held) = lock(&self.held).take() {
            drop_without_gil(held);
        }
    }
}

/// Waits until the listeners of a graph were called for everything so far. If nobody serves them a new thread is started; if
/// that cannot be, nobody waits for them.
pub fn wait_delivered(py: Python<'_>, queue: &Arc<DeliveryQueue>, graph: &UpdateGraph) -> PyResult<()> {
    loop {
        let mut interrupted = None;
        let mut poll = || match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(raised) => {
                interrupted = Some(raised);
                false
            }
        };
        let waited = match queue.is_delivered() {
            true => Some(Waited::Delivered),
            false => py.detach(|| queue.wait_delivered(POLL, &mut poll)),
        };
        match waited {
            Some(Waited::Delivered) => return Ok(()),
            None => return Err(interrupted.expect("a wait ends early where it was interrupted")),
            Some(Waited::Unserved) => {}
        }
        let door = Bound::new(py, PyInbox(queue.clone(), graph.clone()))?;
        let serves = py.import("tickframe.listener")?.call_method1("served", (door,))?;
        if !serves.extract::<bool>()? {
            return Ok(());
        }
    }
}
