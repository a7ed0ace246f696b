//! The update graph as Python sees it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use graph::env::{ManualTime, TimeSource};
use graph::{Drawing, Settings, SharedLock, UpdateGraph, lock};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::delivery::{self, POLL, PyInbox};
use crate::ending::detached;
use crate::error::{self, InvalidOperationError};
use crate::gil::{call_engine, run_step};
use crate::shared::{self, Shared};
use crate::table::PyTable;
use crate::transaction::{self, PyTransaction};
use crate::wait;

/// Stops every graph, and waits so many seconds at most until their threads have ended; listeners' threads end. For the end
/// of the process.
#[pyfunction]
pub fn stop_all(py: Python<'_>, seconds: f64) {
    let all = shared::all();
    crate::ending::stop(py, seconds);
    py.detach(move || {
        all.iter().for_each(|shared| shared.queue.close());
        durable::close_all().iter().for_each(|wrong| eprintln!("tickframe: {wrong}"));
    });
}

/// Waits for what the log should tell: (level of Python's logging, text), all there is; None at the end.
#[pyfunction]
pub fn take_events(py: Python<'_>) -> Option<Vec<(u32, String)>> {
    use engine::observe::events::{Level, take};
    let level = |level: Level| match level {
        Level::Warning => 30,
        Level::Error => 40,
    };
    let events = py.detach(take)?;
    Some(events.into_iter().map(|event| (level(event.level), event.text)).collect())
}

/// Whoever waits for events gets none any more; `false` takes that back.
#[pyfunction]
pub fn end_events(py: Python<'_>, ended: bool) {
    py.detach(|| engine::observe::events::end(ended));
}

/// Nodes, their order, and one integer of time.
#[pyclass(frozen, name = "Graph", module = "tickframe._native")]
pub struct PyGraph(pub Arc<Shared>);

#[pymethods]
impl PyGraph {
    #[new]
    #[pyo3(signature = (period, threads, init_threads, memory = None, clock = None))]
    fn new(
        py: Python<'_>,
        period: f64,
        threads: i64,
        init_threads: i64,
        memory: Option<u64>,
        clock: Option<&PyClock>,
    ) -> PyResult<PyGraph> {
        let settings = Settings {
            period: Duration::try_from_secs_f64(period)
                .map_err(|_| PyValueError::new_err(format!("period must be 0 or more seconds, not {period}")))?,
            threads: thread_count("threads", threads)?,
            init_threads: thread_count("init_threads", init_threads)?,
        };
        let time = clock.map_or(TimeSource::Wall, |clock| TimeSource::Manual(clock.0.clone()));
        let shared = detached(py, || Shared::of(&UpdateGraph::with_time(settings, time)));
        shared.budget.limit(memory);
        Ok(PyGraph(shared))
    }

    #[getter]
    fn id(&self) -> u64 {
        self.0.graph.id()
    }

    #[getter]
    fn period(&self) -> f64 {
        self.0.graph.period().as_secs_f64()
    }

    fn step(&self, py: Python<'_>) -> PyResult<u64> {
        let shared = self.0.clone();
        let current = transaction::current(py, &shared.graph)?;
        let step = || {
            (transaction::within(current.as_deref(), || shared.graph.step()), engine::interrupt::take(&shared.graph))
        };
        let (stepped, interrupt) = run_step(py, step)?;
        let step = stepped.map_err(|refused| error::graph(&refused))?.number();
        delivery::wait_delivered(py, &self.0.queue, &self.0.graph)?;
        match interrupt {
            Some(interrupt) => Err(error::raise(interrupt)),
            None => Ok(step),
        }
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        self.0.graph.check_process().map_err(|refused| error::graph(&refused))?;
        detached(py, || self.0.graph.try_start()).map_err(|refused| error::graph(&refused))
    }

    fn stop(&self, py: Python<'_>) {
        detached(py, || self.0.graph.stop());
    }

    #[getter]
    fn is_started(&self) -> bool {
        self.0.graph.is_started()
    }

    #[getter]
    fn settled(&self) -> PyResult<u64> {
        self.0.graph.check_process().map_err(|refused| error::graph(&refused))?;
        Ok(self.0.graph.settled().number())
    }

    fn transaction(&self, py: Python<'_>) -> PyResult<PyTransaction> {
        PyTransaction::begin(py, &self.0.graph)
    }

    fn frozen(&self, py: Python<'_>) -> PyResult<PyFrozen> {
        let lock = detached(py, || self.0.graph.shared_lock()).map_err(|refused| error::graph(&refused))?;
        Ok(PyFrozen(Mutex::new(Some(lock))))
    }

    fn snapshot(&self, py: Python<'_>, tables: Vec<Bound<'_, PyTable>>) -> PyResult<Vec<PyTable>> {
        self.0.graph.check_process().map_err(|refused| error::graph(&refused))?;
        let tables: Vec<engine::Table> = tables.iter().map(|table| table.get().engine().clone()).collect();
        if let Some(other) = tables.iter().find(|table| table.graph().is_some_and(|graph| *graph != self.0.graph)) {
            let message = format!("snapshot: table {:?} lives in another graph", other.request().name);
            return Err(InvalidOperationError::new_err(message));
        }
        let taken = call_engine(py, || engine::snapshot(&tables))?;
        Ok(taken.into_iter().map(PyTable::new).collect())
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let graph = &self.0.graph;
        let (counts, storage) = detached(py, || (graph.counters(), engine::observe::storage(graph)));
        let dict = PyDict::new(py);
        dict.set_item("nodes", counts.nodes)?;
        dict.set_item("listeners", self.0.queue.listeners())?;
        dict.set_item("cycles", counts.cycles)?;
        dict.set_item("blocks_copied", storage.blocks_copied())?;
        dict.set_item("bytes_held", storage.bytes_held())?;
        dict.set_item("undo_bytes", storage.undo_bytes())?;
        dict.set_item("queue_bytes", self.0.queue.bytes())?;
        dict.set_item("source_bytes", engine::sources::waiting_bytes(graph))?;
        dict.set_item("updates_merged", self.0.queue.merged())?;
        dict.set_item("failed_nodes", counts.failed_nodes)?;
        dict.set_item("pending", counts.pending)?;
        dict.set_item("timers", counts.timers)?;
        dict.set_item("last_cycle_ns", counts.last_cycle_ns)?;
        dict.set_item("node_runs", counts.node_runs)?;
        dict.set_item("snapshot_restarts", counts.snapshot_restarts)?;
        dict.set_item("troubles", counts.troubles)?;
        dict.set_item("row_errors", engine::observe::error_count(graph))?;
        let formula::planned::Counted { read, planned } = formula::planned::counted();
        dict.set_item("formulas_read", read)?;
        dict.set_item("expressions_planned", planned)?;
        Ok(dict)
    }

    /// Every node, as a dict: id, label, parents, rows, bytes, entries, step, last_ns, total_ns, runs, failed.
    fn timings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let timings = detached(py, || self.0.graph.timings());
        let shown = |node: graph::NodeTiming| {
            let dict = PyDict::new(py);
            dict.set_item("id", node.id.number())?;
            dict.set_item("label", node.label)?;
            dict.set_item("parents", node.parents.iter().map(|parent| parent.number()).collect::<Vec<_>>())?;
            dict.set_item("rows", node.size.items)?;
            dict.set_item("bytes", node.size.bytes)?;
            dict.set_item("entries", node.size.entries)?;
            dict.set_item("step", node.last_step.number())?;
            dict.set_item("last_ns", node.last_nanos)?;
            dict.set_item("total_ns", node.total_nanos)?;
            dict.set_item("runs", node.runs)?;
            dict.set_item("failed", node.failed)?;
            Ok(dict)
        };
        timings.into_iter().map(shown).collect()
    }

    /// The live table of row errors.
    fn errors(&self, py: Python<'_>) -> PyResult<PyTable> {
        self.0.graph.check_process().map_err(|refused| error::graph(&refused))?;
        call_engine(py, || engine::observe::errors(&self.0.graph)).map(PyTable::new)
    }

    /// The live table of what each node did in each cycle.
    fn performance(&self, py: Python<'_>) -> PyResult<PyTable> {
        self.0.graph.check_process().map_err(|refused| error::graph(&refused))?;
        call_engine(py, || engine::observe::performance(&self.0.graph)).map(PyTable::new)
    }

    /// The graph as text for Graphviz, or for Mermaid.
    fn draw(&self, py: Python<'_>, mermaid: bool) -> String {
        let drawing = if mermaid { Drawing::Mermaid } else { Drawing::Dot };
        detached(py, || self.0.graph.draw(drawing))
    }

    /// Raises where a wait for this graph would hang.
    pub(crate) fn may_wait(&self, py: Python<'_>) -> PyResult<()> {
        let current = transaction::current(py, &self.0.graph)?;
        let asked = || transaction::within(current.as_deref(), || self.0.graph.may_wait());
        detached(py, asked).map_err(|refused| error::graph(&refused))
    }

    /// Waits until the listeners were called for everything so far.
    fn wait_heard(&self, py: Python<'_>) -> PyResult<()> {
        delivery::wait_delivered(py, &self.0.queue, &self.0.graph)
    }

    fn inbox(&self) -> PyInbox {
        PyInbox(self.0.queue.clone(), self.0.graph.clone())
    }
}

/// A clock that moves only when told to.
#[pyclass(frozen, name = "ManualClock", module = "tickframe._native")]
pub struct PyClock(Arc<ManualTime>);

#[pymethods]
impl PyClock {
    /// It shows so many nanoseconds since 1970-01-01T00:00:00Z.
    #[new]
    fn new(start_ns: i64) -> PyClock {
        PyClock(ManualTime::starting_at(start_ns))
    }

    #[getter]
    fn now_ns(&self) -> i64 {
        self.0.epoch_nanos()
    }

    /// Moves it on, and wakes the graphs that run by it; false if it cannot show what comes then.
    fn advance(&self, py: Python<'_>, nanos: u64) -> bool {
        let reaches = i64::try_from(nanos).is_ok_and(|nanos| self.0.epoch_nanos().checked_add(nanos).is_some());
        if reaches {
            detached(py, || self.0.advance(Duration::from_nanos(nanos)));
        }
        reaches
    }
}

fn thread_count(name: &str, count: i64) -> PyResult<Option<usize>> {
    match count {
        -1 => Ok(None),
        1.. => Ok(Some(count as usize)),
        _ => Err(PyValueError::new_err(format!("{name} must be 1 or more, or -1 for all cores, not {count}"))),
    }
}

/// No step runs while it is held.
#[pyclass(frozen, module = "tickframe._native")]
pub struct PyFrozen(Mutex<Option<SharedLock>>);

#[pymethods]
impl PyFrozen {
    fn release(&self, py: Python<'_>) {
        let held = lock(&self.0).take();
        detached(py, || drop(held));
    }
}

/// The graph of a table; None of a static one.
#[pyfunction]
pub fn graph_of(table: &PyTable) -> Option<PyGraph> {
    table.shared().cloned().map(PyGraph)
}

/// Waits for the next change of a table; its step.
#[pyfunction]
#[pyo3(signature = (table, seconds))]
pub fn wait_for_change(py: Python<'_>, table: &PyTable, seconds: Option<f64>) -> PyResult<u64> {
    let table = table.checked()?;
    let timeout = wait::timeout(seconds)?;
    let Some(graph) = table.graph().cloned() else {
        return Err(InvalidOperationError::new_err("wait: the table is static; it will never change"));
    };
    let current = transaction::current(py, &graph)?;
    transaction::within(current.as_deref(), || graph.may_wait()).map_err(|refused| error::graph(&refused))?;
    wait::detached(py, &graph, |poll| engine::follow::next_change(table, &graph, timeout, POLL, poll))
}
