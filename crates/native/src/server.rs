//! The server as Python sees it. Its threads take the GIL only for a resolver of the user's.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use engine::Table;
use flight::limits::Limits;
use flight::{
    Access, Attribute, Catalog, CodeError, Identity, Interpreter, Object, Options, Resolve, Served, Server, StartError,
};
use graph::{UpdateGraph, lock};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};

use crate::console::PythonConsole;
use crate::ending::{self, Inside};
use crate::error::{InternalError, InvalidOperationError, MissingFileError, ResourceError, StorageError};
use crate::gil::drop_without_gil;
use crate::graph::PyGraph;
use crate::partitioned::PyPartitioned;
use crate::table::PyTable;

/// A Python function that gives tables by name.
struct PythonResolver {
    prefix: String,
    function: Py<PyAny>,
}

impl Resolve for PythonResolver {
    fn table(&self, rest: &str) -> Result<Option<Table>, String> {
        let _inside = Inside::enter();
        let found = Python::try_attach(|py| -> Result<Option<Table>, String> {
            let told = |error: PyErr| format!("the resolver of {:?} raised {}", self.prefix, error.value(py));
            let given = self.function.bind(py).call1((rest,)).map_err(told)?;
            if given.is_none() {
                return Ok(None);
            }
            let table = PyTable::behind(&given).map_err(told)?;
            let table = table.ok_or_else(|| format!("the resolver of {:?} gave no table", self.prefix))?;
            Ok(Some(table.get().engine().clone()))
        });
        found.unwrap_or_else(|| Err("the program ends".to_owned()))
    }
}

/// A data frame, as the server has it: a table of its rows.
#[pyclass(frozen, name = "Frame", module = "tickframe._native")]
pub struct PyFrame {
    rows: Table,
}

#[pymethods]
impl PyFrame {
    #[new]
    fn new(rows: &Bound<'_, PyTable>) -> PyResult<PyFrame> {
        Ok(PyFrame { rows: rows.get().checked()?.clone() })
    }

    /// The rows.
    #[getter]
    fn rows(&self) -> PyTable {
        PyTable::new(self.rows.clone())
    }
}

/// What a native table, a partitioned one or a frame is to the server.
pub fn object(table: &Bound<'_, PyAny>) -> PyResult<Object> {
    if let Ok(frame) = table.cast::<PyFrame>() {
        return Ok(Object::Frame(frame.get().rows.clone().into()));
    }
    Ok(match table.cast::<PyPartitioned>() {
        Ok(partitioned) => partitioned.get().engine().clone().into(),
        Err(_) => table.cast::<PyTable>()?.get().checked()?.clone().into(),
    })
}

/// What Python says of a table.
fn attribute(of: &Bound<'_, PyAny>) -> PyResult<Attribute> {
    if let Ok(truth) = of.cast::<PyBool>() {
        return Ok(Attribute::Truth(truth.is_true()));
    }
    if of.is_instance_of::<PyInt>() {
        return Ok(of.extract().map_or(Attribute::Text(of.to_string()), Attribute::Whole));
    }
    if of.is_instance_of::<PyFloat>() {
        return of.extract().map(Attribute::Number);
    }
    Ok(Attribute::Text(of.str()?.to_string()))
}

/// The other way round; None for what Python has no word for.
pub fn handle(py: Python<'_>, object: Object) -> PyResult<Option<Bound<'_, PyAny>>> {
    match object {
        Object::Partitioned(partitioned) => PyPartitioned::new(&partitioned).into_bound_py_any(py).map(Some),
        Object::Frame(served) => PyFrame { rows: served.table().clone() }.into_bound_py_any(py).map(Some),
        object => object.table().map(|table| PyTable::new(table).into_bound_py_any(py)).transpose(),
    }
}

/// The graph that a function of Python's gives.
fn graph_of(function: &Py<PyAny>) -> Result<UpdateGraph, String> {
    let _inside = Inside::enter();
    let found = Python::try_attach(|py| {
        let told = |error: PyErr| error.value(py).to_string();
        let given = function.bind(py).call0().map_err(told)?;
        let graph = given.cast::<PyGraph>().map_err(|_| "there is no graph for live tables".to_owned())?;
        Ok(graph.get().0.graph.clone())
    });
    found.unwrap_or_else(|| Err("the program ends".to_owned()))
}

fn not_started(error: &StartError) -> PyErr {
    let text = format!("serve: {error}");
    match error {
        StartError::Storage(_, why) if why.kind() == ErrorKind::NotFound => MissingFileError::new_err(text),
        StartError::Storage(..) => StorageError::new_err(text),
        _ => PyOSError::new_err(text),
    }
}

/// A server; stopped when it is dropped.
#[pyclass(frozen, name = "FlightServer", module = "tickframe._native")]
pub struct PyFlightServer {
    server: Mutex<Option<Server>>,
    catalog: Arc<Catalog>,
    address: SocketAddr,
    limits: Limits,
}

impl Drop for PyFlightServer {
    fn drop(&mut self) {
        drop_without_gil(lock(&self.server).take());
    }
}

impl PyFlightServer {
    fn held(&self) -> MutexGuard<'_, Option<Server>> {
        lock(&self.server)
    }
}

#[pymethods]
impl PyFlightServer {
    /// `graph` gives the graph in which clients make live tables, `console` runs scripts of clients. `address` is an IP address and `tokens`, by the names of those who have them, None for a server that asks nobody. `tls` are certificates and key in PEM form.
    #[new]
    fn new(
        py: Python<'_>,
        address: &str,
        port: u16,
        tokens: Option<Vec<(String, String)>>,
        tls: Option<(Vec<u8>, Vec<u8>)>,
        origins: Vec<String>,
        resolvers: Vec<(String, Py<PyAny>)>,
        graph: Py<PyAny>,
        console: Option<Py<PyAny>>,
        storage: Option<PathBuf>,
    ) -> PyResult<PyFlightServer> {
        let address = address
            .parse()
            .map_err(|_| PyValueError::new_err(format!("serve: host={address:?} is no address of the internet")))?;
        if let Some((prefix, _)) = resolvers.iter().find(|(prefix, _)| !Catalog::is_free(prefix)) {
            return Err(InvalidOperationError::new_err(format!(
                "serve: resolvers: {prefix:?} cannot begin a ticket; what begins with e, h, q, s/ or a/ is taken"
            )));
        }
        let resolver = |(prefix, function): (String, Py<PyAny>)| {
            let resolve: Arc<dyn Resolve> = Arc::new(PythonResolver { prefix: prefix.clone(), function });
            (prefix, resolve)
        };
        let catalog = Catalog::new(resolvers.into_iter().map(resolver).collect());
        let catalog = Arc::new(catalog.with_graph(Arc::new(move || graph_of(&graph))));
        let identity = |(chain, key): (Vec<u8>, Vec<u8>)| {
            Identity::of(&chain, &key).map_err(|error| PyValueError::new_err(format!("serve: tls: {error}")))
        };
        let tls = tls.map(identity).transpose()?;
        let limits = Limits::default();
        let options = Options {
            address: SocketAddr::new(address, port),
            access: tokens.map_or(Access::Anybody, Access::Tokens),
            tls,
            limits,
            origins,
            console: console.map(|console| Arc::new(PythonConsole::new(console)) as Arc<dyn Interpreter>),
            storage,
        };
        let shared = catalog.clone();
        let server = ending::detached(py, || Server::start(options, shared)).map_err(|error| not_started(&error))?;
        let (address, limits) = (server.address(), server.limits().clone());
        Ok(PyFlightServer { server: Mutex::new(Some(server)), catalog, address, limits })
    }

    #[getter]
    fn host(&self) -> String {
        self.address.ip().to_string()
    }

    #[getter]
    fn port(&self) -> u16 {
        self.address.port()
    }

    /// Sessions that are open; None once it was stopped.
    #[getter]
    fn sessions(&self) -> Option<usize> {
        self.held().as_ref().map(Server::sessions)
    }

    /// What it counts; None once it was stopped.
    #[getter]
    fn counters(&self) -> Option<BTreeMap<&'static str, u64>> {
        self.held().as_ref().map(|server| server.counters().into_iter().collect())
    }

    /// What a client may ask for, by name; times in milliseconds.
    #[getter]
    fn limits(&self) -> BTreeMap<&'static str, u64> {
        let limits = &self.limits;
        BTreeMap::from([
            ("connections", limits.connections as u64),
            ("streams", u64::from(limits.streams)),
            ("header_list", u64::from(limits.header_list)),
            ("pending_resets", limits.pending_resets as u64),
            ("control_message", limits.control_message as u64),
            ("data_message", limits.data_message as u64),
            ("keepalive_interval", limits.keepalive_interval.as_millis() as u64),
            ("keepalive_timeout", limits.keepalive_timeout.as_millis() as u64),
            ("handshake", limits.handshake.as_millis() as u64),
            ("request", limits.request.as_millis() as u64),
            ("unary", limits.unary.as_millis() as u64),
            ("script", limits.script.as_millis() as u64),
            ("sessions", limits.sessions as u64),
            ("session", limits.session.as_millis() as u64),
            ("codes", limits.codes as u64),
            ("code", limits.code.as_millis() as u64),
            ("patience", limits.patience.as_millis() as u64),
            ("hold", limits.hold.as_millis() as u64),
            ("exports", limits.exports as u64),
            ("upload", limits.upload),
            ("storage_file", limits.storage_file),
            ("storage_files", limits.storage_files as u64),
            ("storage", limits.storage),
            ("login_sessions", limits.login_sessions as u64),
            ("login_exports", limits.login_exports as u64),
            ("login_subscriptions", limits.login_subscriptions as u64),
            ("login_memory", limits.login_memory),
        ])
    }

    /// A code that opens one session of a login; None once it was stopped.
    fn code(&self, login: &str) -> PyResult<Option<String>> {
        let drawn = self.held().as_ref().map(|server| server.code(login)).transpose();
        drawn.map_err(|error| {
            let text = format!("code: {error}");
            match error {
                CodeError::Nobody | CodeError::Login(..) => InvalidOperationError::new_err(text),
                CodeError::Many(_) => ResourceError::new_err(text),
                CodeError::Random => InternalError::new_err(text),
            }
        })
    }

    fn names(&self) -> Vec<String> {
        self.catalog.names()
    }

    /// The table of this name; of one who serves constituents, all of them.
    fn table<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.catalog.get(name).map_or(Ok(None), |object| handle(py, object))
    }

    /// Gives what tells the object from others. `given`: what is said of a table.
    #[pyo3(signature = (name, table, given = None))]
    fn put(&self, name: String, table: &Bound<'_, PyAny>, given: Option<&Bound<'_, PyDict>>) -> PyResult<usize> {
        let mut object = object(table)?;
        if let (Object::Table(served), Some(given)) = (&object, given) {
            let each = given.iter().map(|(name, value)| Ok((name.extract()?, attribute(&value)?)));
            object = Object::Table(Served::with(served.table().clone(), each.collect::<PyResult<_>>()?));
        }
        let identity = object.identity();
        drop_without_gil(self.catalog.put(name, object));
        Ok(identity)
    }

    /// Whether there was one.
    fn take(&self, name: &str) -> bool {
        let taken = self.catalog.take(name);
        let was = taken.is_some();
        drop_without_gil(taken);
        was
    }

    /// Ends all calls, sessions and threads, and lets the tables go.
    fn stop(&self, py: Python<'_>) {
        let server = self.held().take();
        ending::detached(py, || drop(server));
        for name in self.catalog.names() {
            drop_without_gil(self.catalog.take(&name));
        }
    }
}
