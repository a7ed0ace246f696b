//! The log of batches as Python sees it.

use std::path::PathBuf;
use std::sync::Mutex;

use log::{Error, Kind, Log, Record, Records};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{CheckpointError, InvalidOperationError, StorageError};
use crate::gil::without_gil;
use graph::lock;

fn raise(py: Python<'_>, error: Error) -> PyErr {
    let text = format!("log: {error}");
    let raised = match &error {
        Error::Io { .. } | Error::Broken { .. } => StorageError::new_err(text),
        _ => return CheckpointError::new_err(text),
    };
    let code = if let Error::Io { source, .. } = &error { source.raw_os_error() } else { None };
    let value = raised.value(py);
    let told = value.setattr("errno", code).and_then(|()| value.setattr("filename", error.path()));
    told.map_or_else(|failed| failed, |()| raised)
}

/// An append-only log of batches in a folder that belongs to it until it is closed.
#[pyclass(frozen, name = "Log", module = "tickframe._native")]
pub struct PyLog(Mutex<Option<Log>>);

impl PyLog {
    /// Runs without the GIL: the disk is waited for.
    fn with<R: Send>(&self, py: Python<'_>, run: impl FnOnce(&mut Log) -> Result<R, Error> + Send) -> PyResult<R> {
        let answer = without_gil(py, || lock(&self.0).as_mut().map(run))?;
        let answer = answer.ok_or_else(|| InvalidOperationError::new_err("log: it was closed"))?;
        answer.map_err(|error| raise(py, error))
    }
}

#[pymethods]
impl PyLog {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<PyLog> {
        let opened = without_gil(py, || Log::open(&path))?;
        Ok(PyLog(Mutex::new(Some(opened.map_err(|error| raise(py, error))?))))
    }

    /// The number of the last record, None for none.
    #[getter]
    fn last(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |log| Ok(log.last()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |log| Ok(log.len() as usize))
    }

    /// Whether writing everything anew costs no more than what was written since the last time.
    fn wants_whole(&self, py: Python<'_>, records: u64) -> PyResult<bool> {
        self.with(py, |log| Ok(log.wants_whole(records)))
    }

    /// Makes a record durable. `kind` is "change", "after_gap" or "whole".
    fn append(&self, py: Python<'_>, number: u64, kind: &str, note: &str, body: &[u8]) -> PyResult<()> {
        let kind = match kind {
            "change" => Kind::Change,
            "after_gap" => Kind::AfterGap,
            "whole" => Kind::Whole,
            other => return Err(PyValueError::new_err(format!("log: no record is of kind {other:?}"))),
        };
        self.with(py, |log| log.append(number, kind, note, body))
    }

    /// Puts a small file beside the records, in the place of the one before.
    fn put_note(&self, py: Python<'_>, name: &str, content: &[u8]) -> PyResult<()> {
        self.with(py, |log| log.put_note(name, content))
    }

    /// Such a file, None if it was never written.
    fn get_note<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let content = self.with(py, |log| log.get_note(name))?;
        Ok(content.map(|content| PyBytes::new(py, &content)))
    }

    /// The records in order: number, kind, note, body.
    fn read(&self, py: Python<'_>) -> PyResult<PyRecords> {
        Ok(PyRecords(Mutex::new(self.with(py, |log| Ok(log.read()))?)))
    }

    /// Lets the folder go. Closing twice does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        without_gil(py, || drop(lock(&self.0).take()))
    }
}

/// The records of a log, one by one.
#[pyclass(frozen, name = "Records", module = "tickframe._native")]
pub struct PyRecords(Mutex<Records>);

#[pymethods]
impl PyRecords {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(u64, &'static str, String, Bound<'py, PyBytes>)>> {
        let Some(record) = without_gil(py, || lock(&self.0).next())? else { return Ok(None) };
        let Record { number, kind, note, body } = record.map_err(|error| raise(py, error))?;
        let kind = match kind {
            Kind::Change => "change",
            Kind::AfterGap => "after_gap",
            Kind::Whole => "whole",
        };
        Ok(Some((number, kind, note, PyBytes::new(py, &body))))
    }
}
