//! Live sources: the doors through which rows come in.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{Field, Schema, SchemaRef};
use engine::Table;
use engine::sources::{
    AppendTable, Apply, BlinkTable, FedKind, Feeding, InputTable, KeyedTable, Publisher, QueueCounts, QueueLimit,
    TimeTable, Token, WhenFull,
};
use graph::UpdateGraph;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use rowset::{MAX_KEY, RowSet, Shift};

use crate::data::{self, Data};
use crate::error::{self, DataError, Raised, SchemaError};
use crate::gil::{call_engine, drop_without_gil};
use crate::graph::PyGraph;
use crate::publisher::PythonPublisher;
use crate::rowset::to_rowset;
use crate::schema::PySchema;
use crate::table::PyTable;
use crate::transaction;
use crate::wait;

/// A promise: the step in which data becomes visible.
#[pyclass(frozen, name = "Token", module = "tickframe._native")]
pub struct PyToken {
    tokens: Vec<Token>,
    graph: UpdateGraph,
}

impl PyToken {
    fn new(token: Token, graph: &UpdateGraph) -> PyToken {
        PyToken { tokens: vec![token], graph: graph.clone() }
    }
}

#[pymethods]
impl PyToken {
    /// Waits until the data is visible; the step in which it became so.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<u64> {
        let timeout = wait::timeout(timeout)?;
        wait::detached(py, &self.graph, |poll| {
            let mut last = 0;
            for token in &self.tokens {
                last = token.wait(timeout, poll)?;
            }
            Ok(last)
        })
    }

    /// The step, or None while it has not come.
    #[getter]
    fn step(&self) -> PyResult<Option<u64>> {
        let landed = self.tokens.last().and_then(Token::landed);
        landed.transpose().map_err(error::raise)
    }
}

enum SourceKind {
    Append(AppendTable),
    Blink(BlinkTable),
    Keyed(KeyedTable),
    Input(InputTable),
}

/// The feeding side of a live table.
#[pyclass(frozen, name = "Source", module = "tickframe._native")]
pub struct PySource {
    kind: Mutex<Option<Arc<SourceKind>>>,
    schema: SchemaRef,
    graph: UpdateGraph,
    key: Option<Vec<String>>,
}

impl Drop for PySource {
    fn drop(&mut self) {
        drop_without_gil((graph::lock(&self.kind).take(), self.graph.clone()));
    }
}

impl PySource {
    fn new(kind: SourceKind, graph: &PyGraph, schema: &PySchema, key: Option<Vec<String>>) -> PySource {
        PySource { kind: Mutex::new(Some(Arc::new(kind))), schema: schema.0.clone(), graph: graph.0.graph.clone(), key }
    }

    fn kind(&self) -> PyResult<Arc<SourceKind>> {
        self.graph.check_process().map_err(|refused| error::graph(&refused))?;
        graph::lock(&self.kind).clone().ok_or_else(|| error::InternalError::new_err("the source was let go"))
    }

    /// Queues without the GIL: the queue's lock is taken, and large strings may be copied.
    fn push(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&SourceKind) -> Result<Token, engine::Error> + Send,
    ) -> PyResult<PyToken> {
        let kind = self.kind()?;
        let current = transaction::current(py, &self.graph)?;
        let token = call_engine(py, || transaction::within(current.as_deref(), || call(&kind)))?;
        Ok(PyToken::new(token, &self.graph))
    }

    fn wrong_kind(operation: &str) -> engine::Error {
        engine::Error::InvalidOperation { operation: operation.into(), message: "this table has no such method".into() }
    }
}

#[pymethods]
impl PySource {
    #[staticmethod]
    fn append_table(
        py: Python<'_>,
        graph: &Bound<'_, PyGraph>,
        schema: &Bound<'_, PySchema>,
        fed: Fed,
    ) -> PyResult<PySource> {
        let (graph, schema) = (graph.get(), schema.get());
        let made = made_in(py, graph, "append_table", &FedKind::Append, schema, fed, |feeding| {
            let made = AppendTable::fed(&graph.0.graph, schema.0.clone(), feeding)?;
            Ok((made.table().clone(), SourceKind::Append(made)))
        })?;
        Ok(PySource::new(made, graph, schema, None))
    }

    #[staticmethod]
    fn blink_table(
        py: Python<'_>,
        graph: &Bound<'_, PyGraph>,
        schema: &Bound<'_, PySchema>,
        fed: Fed,
    ) -> PyResult<PySource> {
        let (graph, schema) = (graph.get(), schema.get());
        let made = made_in(py, graph, "blink_table", &FedKind::Blink, schema, fed, |feeding| {
            let made = BlinkTable::fed(&graph.0.graph, schema.0.clone(), feeding)?;
            Ok((made.table().clone(), SourceKind::Blink(made)))
        })?;
        Ok(PySource::new(made, graph, schema, None))
    }

    #[staticmethod]
    fn keyed_table(
        py: Python<'_>,
        graph: &Bound<'_, PyGraph>,
        schema: &Bound<'_, PySchema>,
        key: Vec<String>,
        fed: Fed,
    ) -> PyResult<PySource> {
        let (graph, schema) = (graph.get(), schema.get());
        let made = made_in(py, graph, "keyed_table", &FedKind::Keyed(key.clone()), schema, fed, |feeding| {
            let made = KeyedTable::fed(&graph.0.graph, schema.0.clone(), &key, feeding)?;
            Ok((made.table().clone(), SourceKind::Keyed(made)))
        })?;
        Ok(PySource::new(made, graph, schema, Some(key)))
    }

    #[staticmethod]
    fn input_table(
        py: Python<'_>,
        graph: &Bound<'_, PyGraph>,
        schema: &Bound<'_, PySchema>,
        fed: Fed,
    ) -> PyResult<PySource> {
        let (graph, schema) = (graph.get(), schema.get());
        let made = made_in(py, graph, "input_table", &FedKind::Input, schema, fed, |feeding| {
            let made = InputTable::fed(&graph.0.graph, schema.0.clone(), feeding)?;
            Ok((made.table().clone(), SourceKind::Input(made)))
        })?;
        Ok(PySource::new(made, graph, schema, None))
    }

    /// What the queue holds, and what became of calls for which it had no room, by name.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let kind = self.kind()?;
        let counts: QueueCounts = crate::ending::detached(py, || match kind.as_ref() {
            SourceKind::Append(source) => source.queue_counts(),
            SourceKind::Blink(source) => source.queue_counts(),
            SourceKind::Keyed(source) => source.queue_counts(),
            SourceKind::Input(source) => source.queue_counts(),
        });
        let dict = PyDict::new(py);
        dict.set_item("queued_calls", counts.queued_calls)?;
        dict.set_item("queued_rows", counts.queued_rows)?;
        dict.set_item("max_queued_rows", counts.max_queued_rows)?;
        dict.set_item("refused_calls", counts.refused_calls)?;
        dict.set_item("waited_calls", counts.waited_calls)?;
        dict.set_item("dropped_calls", counts.dropped_calls)?;
        dict.set_item("dropped_rows", counts.dropped_rows)?;
        Ok(dict)
    }

    fn table(&self) -> PyResult<PyTable> {
        Ok(PyTable::new(match self.kind()?.as_ref() {
            SourceKind::Append(source) => source.table().clone(),
            SourceKind::Blink(source) => source.table().clone(),
            SourceKind::Keyed(source) => source.table().clone(),
            SourceKind::Input(source) => source.table().clone(),
        }))
    }

    fn append(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<PyToken> {
        let batch = data::import("append", data, Some(&self.schema))?.one_batch()?;
        self.push(py, |kind| match kind {
            SourceKind::Append(source) => source.append(&batch),
            SourceKind::Blink(source) => source.append(&batch),
            SourceKind::Keyed(_) | SourceKind::Input(_) => Err(PySource::wrong_kind("append")),
        })
    }

    fn upsert(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<PyToken> {
        let batch = data::import("upsert", data, Some(&self.schema))?.one_batch()?;
        self.push(py, |kind| match kind {
            SourceKind::Keyed(source) => source.upsert(&batch),
            _ => Err(PySource::wrong_kind("upsert")),
        })
    }

    /// All that is present goes, but for these rows: the difference by key.
    fn replace(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<PyToken> {
        let batch = data::import("replace", data, Some(&self.schema))?.one_batch()?;
        self.push(py, |kind| match kind {
            SourceKind::Keyed(source) => source.replace(&batch),
            _ => Err(PySource::wrong_kind("replace")),
        })
    }

    fn delete(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<PyToken> {
        let batch = self.keys(keys)?;
        self.push(py, |kind| match kind {
            SourceKind::Keyed(source) => source.delete(&batch),
            _ => Err(PySource::wrong_kind("delete")),
        })
    }

    #[pyo3(signature = (added, removed, modified, shifted))]
    fn apply(
        &self,
        py: Python<'_>,
        added: Option<&Bound<'_, PyAny>>,
        removed: Option<&Bound<'_, PyAny>>,
        modified: Option<&Bound<'_, PyAny>>,
        shifted: Option<Vec<(u64, u64, i64)>>,
    ) -> PyResult<PyToken> {
        let apply = Apply {
            added: added.map(|rows| self.keyed_rows("added", rows, true)).transpose()?.flatten(),
            removed: removed.map(to_rowset).transpose()?.unwrap_or_default(),
            modified: modified.map(|rows| self.keyed_rows("modified", rows, false)).transpose()?.flatten(),
            shifted: shifted
                .unwrap_or_default()
                .into_iter()
                .map(|(first, last, delta)| Shift { first, last, delta })
                .collect(),
        };
        self.push(py, |kind| match kind {
            SourceKind::Input(source) => source.apply(apply),
            _ => Err(PySource::wrong_kind("apply")),
        })
    }

    /// Takes in no more calls.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let kind = self.kind()?;
        crate::ending::detached(py, || match kind.as_ref() {
            SourceKind::Append(source) => source.close(),
            SourceKind::Blink(source) => source.close(),
            SourceKind::Keyed(source) => source.close(),
            SourceKind::Input(source) => source.close(),
        });
        Ok(())
    }

    #[getter]
    fn is_closed(&self) -> PyResult<bool> {
        Ok(match self.kind()?.as_ref() {
            SourceKind::Append(source) => source.is_closed(),
            SourceKind::Blink(source) => source.is_closed(),
            SourceKind::Keyed(source) => source.is_closed(),
            SourceKind::Input(source) => source.is_closed(),
        })
    }

    /// The table fails in the next step, with this exception as the cause.
    fn fail(&self, py: Python<'_>, exception: &Bound<'_, PyAny>) -> PyResult<()> {
        let kind = exception.get_type().name()?.to_string();
        let message = format!("{kind}: {}", exception.str()?);
        let payload: engine::External = Arc::new(Raised(exception.clone().unbind()));
        let failure = engine::Error::External { message, payload: Some(payload) };
        let kind = self.kind()?;
        crate::ending::detached(py, || match kind.as_ref() {
            SourceKind::Append(source) => source.fail(failure),
            SourceKind::Blink(source) => source.fail(failure),
            SourceKind::Keyed(source) => source.fail(failure),
            SourceKind::Input(source) => source.fail(failure),
        });
        Ok(())
    }
}

impl PySource {
    /// The key columns of `delete`: a list of scalars for one key column, else data with the key columns.
    fn keys(&self, keys: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
        let names = self.key.as_deref().unwrap_or_default();
        let fields: Vec<Field> = names
            .iter()
            .map(|name| self.schema.field_with_name(name).cloned().map_err(error::arrow))
            .collect::<PyResult<_>>()?;
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let tabular = keys.is_instance_of::<PyDict>()
            || keys.hasattr("__arrow_c_stream__")? && !keys.hasattr("dtype")?
            || keys
                .cast::<PyList>()
                .is_ok_and(|list| list.iter().next().is_some_and(|item| item.is_instance_of::<PyDict>()));
        if tabular {
            return data::import("delete", keys, Some(&schema))?.one_batch();
        }
        let [name] = names else {
            let message = format!("delete: the table is keyed by {names:?}; give a dict or a table with these columns");
            return Err(SchemaError::new_err(message));
        };
        let columns = PyDict::new(keys.py());
        let scalar = !keys.hasattr("__len__")?
            || keys.is_instance_of::<pyo3::types::PyString>()
            || keys.is_instance_of::<pyo3::types::PyBytes>();
        if scalar {
            columns.set_item(name, PyList::new(keys.py(), [keys])?)?;
        } else if keys.is_instance_of::<PyList>() || keys.hasattr("dtype")? {
            columns.set_item(name, keys)?;
        } else {
            columns.set_item(name, PyList::new(keys.py(), keys.try_iter()?.collect::<PyResult<Vec<_>>>()?)?)?;
        }
        data::import("delete", columns.as_any(), Some(&schema))?.one_batch()
    }

    /// `(keys, data)` or `{key: {column: value}}`: the rows in key order.
    fn keyed_rows(
        &self,
        part: &str,
        rows: &Bound<'_, PyAny>,
        all_columns: bool,
    ) -> PyResult<Option<(RowSet, RecordBatch)>> {
        let (keys, data) = split(part, rows)?;
        let (set, order) = ordered_keys(part, &keys)?;
        if set.is_empty() && (data.is_none() || data.len().is_ok_and(|len| len == 0)) {
            return Ok(None);
        }
        let operation = format!("apply({part})");
        let batch = if all_columns {
            data::import(&operation, &data, Some(&self.schema))?.one_batch()?
        } else {
            self.some_columns(&operation, &data)?
        };
        if set.is_empty() && batch.num_rows() == 0 {
            return Ok(None);
        }
        if set.len() != batch.num_rows() as u64 {
            let message = format!("{operation}: {} keys, but {} rows of data", set.len(), batch.num_rows());
            return Err(SchemaError::new_err(message));
        }
        let Some(order) = order else { return Ok(Some((set, batch))) };
        let columns = batch
            .columns()
            .iter()
            .map(|column| arrow_select::take::take(column, &order, None))
            .collect::<Result<Vec<_>, _>>()
            .map_err(error::arrow)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(batch.schema(), columns, &options).map_err(error::arrow)?;
        Ok(Some((set, batch)))
    }

    /// The columns that the data has, in their declared types.
    fn some_columns(&self, operation: &str, data: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
        let mut names: Vec<String> = Vec::new();
        if let Ok(columns) = data.cast::<PyDict>() {
            names = columns.keys().extract()?;
        } else if let Ok(rows) = data.cast::<PyList>() {
            for row in rows.iter() {
                let Ok(columns) = row.cast::<PyDict>() else {
                    let given = crate::cells::named(&row);
                    let message = format!("{operation}: a row is a dict of columns, {{\"x\": 1}}, not {given}");
                    return Err(error::TypeMismatchError::new_err(message));
                };
                for name in columns.keys() {
                    let name: String = name.extract()?;
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        } else {
            // A stream can be read once: its names and its rows come together.
            let Data { schema, batches } = data::import(operation, data, None)?;
            let names = schema.fields().iter().map(|field| field.name().clone()).collect();
            let wanted = self.declared(operation, names)?;
            return data::in_schema(data.py(), operation, batches, &schema, &wanted)?.one_batch();
        }
        data::import(operation, data, Some(&self.declared(operation, names)?))?.one_batch()
    }

    /// The declared types of these columns.
    fn declared(&self, operation: &str, names: Vec<String>) -> PyResult<SchemaRef> {
        let fields = names
            .iter()
            .map(|name| {
                self.schema.field_with_name(name).cloned().map_err(|_| {
                    let valid = self.schema.fields().iter().map(|field| field.name().as_str());
                    error::raise(engine::Error::no_column(operation, name, valid))
                })
            })
            .collect::<PyResult<Vec<Field>>>()?;
        Ok(Arc::new(Schema::new(fields)))
    }
}

/// How a table is fed, as Python says it: rows that its queue may hold, what becomes of more, of a table with a publisher
/// the number under which it hears of the end, its name, and its function; the name of the table, and whether it is durable.
type Fed = (u64, String, Option<(u64, String, Option<Py<PyAny>>)>, Option<String>, bool);

/// Makes a source that is fed in this way. Under its name it takes up the rows that were saved.
fn made_in(
    py: Python<'_>,
    graph: &PyGraph,
    operation: &str,
    kind: &FedKind,
    schema: &PySchema,
    (rows, when_full, publisher, name, is_durable): Fed,
    make: impl FnOnce(Feeding) -> Result<(Table, SourceKind), engine::Error> + Send,
) -> PyResult<SourceKind> {
    let when_full = match when_full.as_str() {
        "error" => WhenFull::Error,
        "wait" => WhenFull::Wait,
        "drop_oldest" => WhenFull::DropOldest,
        other => {
            let message =
                format!("{operation}: when_full must be \"error\", \"wait\" or \"drop_oldest\", not {other:?}");
            return Err(pyo3::exceptions::PyValueError::new_err(message));
        }
    };
    let publisher = publisher.map(|(id, name, flush)| -> Arc<dyn Publisher> {
        Arc::new(PythonPublisher::new(name, flush, graph.0.queue.noted(id)))
    });
    let (of, limit) = (&graph.0.graph, QueueLimit { rows, when_full });
    let made = call_engine(py, || {
        let begun = durable::feeding(of, operation, name.as_deref(), is_durable, kind, &schema.0);
        let feeding = match begun {
            Ok(feeding) => Feeding { limit, publisher, ..feeding },
            Err(wrong) => return Ok(Err(wrong)),
        };
        let made = make(feeding);
        if let Some(name) = &name {
            durable::made(of, name, made.as_ref().ok().map(|(table, _)| table));
        }
        made.map(Ok)
    })?;
    let (table, kind) = made.map_err(|wrong| crate::durable::raise(py, operation, wrong))?;
    table.located(crate::place::here(py));
    Ok(kind)
}

fn split<'py>(part: &str, rows: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = rows.py();
    if let Ok(pair) = rows.cast::<PyTuple>()
        && pair.len() == 2
    {
        return Ok((pair.get_item(0)?, pair.get_item(1)?));
    }
    if let Ok(by_key) = rows.cast::<PyDict>() {
        return Ok((by_key.keys().into_any(), by_key.values().into_any()));
    }
    let empty = rows.len().is_ok_and(|len| len == 0);
    if empty {
        return Ok((PyList::empty(py).into_any(), PyDict::new(py).into_any()));
    }
    Err(PyTypeError::new_err(format!("apply: {part} must be (keys, data) or {{key: {{column: value}}}}")))
}

/// The keys as a set, and where the rows of the data have to come from if the keys were out of order.
fn ordered_keys(part: &str, keys: &Bound<'_, PyAny>) -> PyResult<(RowSet, Option<UInt64Array>)> {
    let set = to_rowset(keys)?;
    let in_any_order = keys.is_instance_of::<PyList>() || keys.hasattr("dtype")? || keys.is_instance_of::<PyTuple>();
    if !in_any_order {
        return Ok((set, None));
    }
    let mut listed: Vec<u64> = Vec::with_capacity(set.len() as usize);
    if let Some(keys) = crate::rowset::numpy_keys(keys)? {
        listed = keys;
    } else {
        listed_one_by_one(keys, &mut listed)?;
    }
    if listed.len() as u64 != set.len() {
        return Err(DataError::new_err(format!("apply: {part} names a key twice")));
    }
    if listed.is_sorted() {
        return Ok((set, None));
    }
    let mut order: Vec<u64> = (0..listed.len() as u64).collect();
    order.sort_unstable_by_key(|at| listed[*at as usize]);
    Ok((set, Some(UInt64Array::from(order))))
}

fn listed_one_by_one(keys: &Bound<'_, PyAny>, listed: &mut Vec<u64>) -> PyResult<()> {
    for item in keys.try_iter()? {
        let item = item?;
        match item.extract::<u64>() {
            Ok(key) if key <= MAX_KEY => listed.push(key),
            _ => listed.extend(to_rowset(&PyList::new(keys.py(), [item])?.into_any())?.iter()),
        }
    }
    Ok(())
}

/// A row every period.
#[pyfunction]
#[pyo3(signature = (graph, period_ns, start_ns, blink))]
pub fn time_table(
    py: Python<'_>,
    graph: &Bound<'_, PyGraph>,
    period_ns: u64,
    start_ns: Option<i64>,
    blink: bool,
) -> PyResult<PyTable> {
    let graph = graph.get();
    let made = crate::ending::detached(py, || {
        TimeTable::new(&graph.0.graph, Duration::from_nanos(period_ns), start_ns, blink)
    });
    made.map(|table| PyTable::new(table.located(crate::place::here(py)))).map_err(error::raise)
}
