//! A server elsewhere as Python sees it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flight::{Part, Remote, RemoteError, RemoteOptions, Trust, Viewport};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::ending;
use crate::error::{AuthError, DataError, NotFoundError, PermissionDeniedError, TimeoutError, TransportError, raise};
use crate::gil::drop_without_gil;
use crate::graph::PyGraph;
use crate::table::PyTable;
use graph::lock;

fn raised(error: RemoteError) -> PyErr {
    let text = format!("connect: {error}");
    match error {
        RemoteError::Lost { .. } | RemoteError::Failed { .. } | RemoteError::Closed { .. } => {
            TransportError::new_err(text)
        }
        RemoteError::Refused { .. } => AuthError::new_err(text),
        RemoteError::Denied { .. } => PermissionDeniedError::new_err(text),
        RemoteError::Missing { .. } => NotFoundError::new_err(text),
        RemoteError::Unfit { .. } => DataError::new_err(text),
        RemoteError::Late { .. } => TimeoutError::new_err(text),
        RemoteError::Engine(error) => raise(error),
    }
}

/// A connection to a server; closed when it is dropped.
#[pyclass(frozen, name = "Remote", module = "tickframe._native")]
pub struct PyRemote(Mutex<Option<Arc<Remote>>>);

impl Drop for PyRemote {
    fn drop(&mut self) {
        drop_without_gil(lock(&self.0).take());
    }
}

impl PyRemote {
    fn held(&self) -> PyResult<Arc<Remote>> {
        let held = lock(&self.0).clone();
        held.ok_or_else(|| TransportError::new_err("connect: the connection was closed"))
    }
}

fn part(columns: Option<Vec<String>>, viewport: Option<(u64, u64, bool)>) -> PyResult<Part> {
    let viewport = viewport.map(|(first, last, from_end)| {
        Viewport::new(first, last, from_end)
            .ok_or_else(|| PyValueError::new_err(format!("connect: a viewport from {first} to {last} has no rows")))
    });
    Ok(Part { columns, viewport: viewport.transpose()? })
}

#[pymethods]
impl PyRemote {
    /// `trust` says whether it is encrypted, and whose certificates are believed: bytes in PEM form, or the system's.
    #[new]
    #[pyo3(signature = (host, port, token, encrypted, trust, graph))]
    fn new(
        py: Python<'_>,
        host: String,
        port: u16,
        token: Option<String>,
        encrypted: bool,
        trust: Option<Vec<u8>>,
        graph: &Bound<'_, PyGraph>,
    ) -> PyResult<PyRemote> {
        let trust = encrypted.then(|| Trust::of(trust.as_deref())).transpose();
        let trust = trust.map_err(|error| PyValueError::new_err(format!("connect: tls: {error}")))?;
        let options = RemoteOptions { host, port, token, trust, graph: graph.get().0.graph.clone() };
        let remote = ending::detached(py, || Remote::connect(options)).map_err(raised)?;
        Ok(PyRemote(Mutex::new(Some(Arc::new(remote)))))
    }

    /// The names of its tables.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let remote = self.held()?;
        ending::detached(py, || {
            let names = remote.names();
            drop(remote);
            names
        })
        .map_err(raised)
    }

    /// A live table with the rows of one there. `viewport`: the first place, the last one, and whether from the end.
    #[pyo3(signature = (name, columns, viewport, seconds))]
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        columns: Option<Vec<String>>,
        viewport: Option<(u64, u64, bool)>,
        seconds: f64,
    ) -> PyResult<PyTable> {
        let remote = self.held()?;
        let part = part(columns, viewport)?;
        let timeout = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let found = ending::detached(py, || {
            let table = remote.table(name, part, timeout);
            drop(remote);
            table
        });
        found.map(PyTable::new).map_err(raised)
    }

    /// The rows of one there as they are now, as a static table. As `table`.
    #[pyo3(signature = (name, columns, viewport, seconds))]
    fn snapshot(
        &self,
        py: Python<'_>,
        name: &str,
        columns: Option<Vec<String>>,
        viewport: Option<(u64, u64, bool)>,
        seconds: f64,
    ) -> PyResult<PyTable> {
        let remote = self.held()?;
        let part = part(columns, viewport)?;
        let timeout = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let found = ending::detached(py, || {
            let table = remote.snapshot(name, &part, timeout);
            drop(remote);
            table
        });
        found.map(PyTable::new).map_err(raised)
    }

    /// How it goes with each table: whether it is connected, the step there, how often it began anew, and what is wrong.
    fn states(&self) -> BTreeMap<String, (bool, Option<i64>, u64, Option<String>)> {
        let held = lock(&self.0).clone();
        let states = held.map(|remote| remote.states()).unwrap_or_default();
        let told = |state: flight::RemoteState| (state.connected, state.step, state.snapshots, state.trouble);
        states.into_iter().map(|(name, state)| (name, told(state))).collect()
    }

    #[getter]
    fn is_closed(&self) -> bool {
        lock(&self.0).is_none()
    }

    /// Ends all; tables stay as they are.
    fn close(&self, py: Python<'_>) {
        let remote = lock(&self.0).take();
        ending::detached(py, || {
            if let Some(remote) = &remote {
                remote.close();
            }
            drop(remote);
        });
    }
}
