//! Durable graphs, checkpoints and the way back, as Python sees them.

use std::path::PathBuf;
use std::sync::Arc;

use ::durable::{Asked, Durable, Error, Kept, Report, SavedTable};
use engine::plan::Input;
use engine::sources::{FedKind, Initial, fed_tables, from_chunks};
use engine::{Table, plan::Plan};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{self, CheckpointError, InvalidOperationError, StorageError};
use crate::gil::call_engine;
use crate::graph::PyGraph;
use crate::schema::PySchema;
use crate::table::PyTable;

/// Raises what goes wrong with a folder; `operation` is the call of the user.
pub fn raise(py: Python<'_>, operation: &str, wrong: Error) -> PyErr {
    let (place, of_disk) = (wrong.place().map(|(path, errno)| (path.to_path_buf(), errno)), wrong.is_of_disk());
    let text = format!("{operation}: {wrong}");
    let raised = match wrong {
        Error::Engine(error) => return error::raise(error),
        _ if of_disk => StorageError::new_err(text),
        _ => CheckpointError::new_err(text),
    };
    let Some((path, errno)) = place else { return raised };
    let value = raised.value(py);
    let told = value.setattr("filename", path).and_then(|()| value.setattr("errno", errno));
    told.map_or_else(|failed| failed, |()| raised)
}

/// Runs without the GIL; the disk is waited for.
fn at_disk<R: Send>(py: Python<'_>, operation: &str, run: impl FnOnce() -> Result<R, Error> + Send) -> PyResult<R> {
    let done = call_engine(py, || Ok(run()))?;
    done.map_err(|wrong| raise(py, operation, wrong))
}

/// A saved table: its name, its kind, its key, whether it is durable, its columns.
type Told = (String, &'static str, Vec<String>, bool, PySchema);
/// A kept plan: its name, its text, and the saved table of each input.
type ToldPlan = (String, String, Vec<(String, String)>);

fn told(table: &SavedTable) -> Told {
    let (kind, key) = match table.kind() {
        Some(FedKind::Append) => ("append_table", Vec::new()),
        Some(FedKind::Blink) => ("blink_table", Vec::new()),
        Some(FedKind::Keyed(key)) => ("keyed_table", key),
        Some(FedKind::Input) => ("input_table", Vec::new()),
        None => ("table", Vec::new()),
    };
    (table.name.clone(), kind, key, table.durable, PySchema(table.schema.clone()))
}

fn told_plan(kept: Kept) -> ToldPlan {
    (kept.name, kept.plan, kept.inputs)
}

/// Opens the durable folder of a graph: its saved tables and kept plans.
#[pyfunction]
pub fn open_durable(py: Python<'_>, graph: &PyGraph, path: PathBuf) -> PyResult<(Vec<Told>, Vec<ToldPlan>)> {
    let graph = graph.0.graph.clone();
    let durable = at_disk(py, "Graph(durable=...)", || Durable::open(&path, &graph))?;
    Ok((durable.unclaimed().iter().map(told).collect(), durable.kept().into_iter().map(told_plan).collect()))
}

/// Gives a graph the tables of a folder: whether it goes on in it, the saved tables, and the kept plans.
#[pyfunction]
pub fn restore(py: Python<'_>, graph: &PyGraph, path: PathBuf) -> PyResult<(bool, Vec<Told>, Vec<ToldPlan>)> {
    let graph = graph.0.graph.clone();
    let past = at_disk(py, "restore", || ::durable::restore_into(&path, &graph))?;
    Ok((past.durable, past.tables.iter().map(told).collect(), past.kept.into_iter().map(told_plan).collect()))
}

/// A saved table that never changes.
#[pyfunction]
pub fn fixed_table(py: Python<'_>, graph: &PyGraph, name: &str, schema: &PySchema) -> PyResult<PyTable> {
    let (graph, schema) = (graph.0.graph.clone(), schema.0.clone());
    let Some(initial) = ::durable::fixed(&graph, name) else {
        return Err(CheckpointError::new_err(format!("restore: no rows of the table {name:?} were saved")));
    };
    let made = call_engine(py, move || fixed(schema, &initial))?;
    Ok(PyTable::new(made.named(name.to_owned())))
}

fn fixed(schema: Arc<arrow_schema::Schema>, initial: &Initial) -> Result<Table, engine::Error> {
    let rows = initial.rows.iter().map(|(keys, _)| keys.len()).sum();
    let column = |(at, field): (usize, &Arc<arrow_schema::Field>)| {
        let cells = initial.rows.iter().map(|(_, cells)| {
            let to = field.data_type();
            ::column::types::to_declared(&cells[at], to)
                .map_err(|error| engine::Error::Column { operation: "restore".into(), error: Arc::new(error) })
        });
        cells.collect::<Result<Vec<_>, _>>()
    };
    let columns = schema.fields().iter().enumerate().map(column).collect::<Result<Vec<_>, _>>()?;
    from_chunks(schema, columns, rows)
}

/// A plan whose inputs are saved tables, and those inputs: each its name in the plan, and its table.
#[pyfunction]
pub fn saved_plan(
    operation: &str,
    name: &str,
    table: &Bound<'_, PyTable>,
) -> PyResult<(String, Vec<(String, PyTable)>)> {
    let table = table.get().checked()?.clone();
    let refused = |what: String| InvalidOperationError::new_err(format!("{operation}: {what}"));
    let Some(graph) = table.graph().cloned() else {
        return Err(refused(
            "the table is static, and will be what it is: write it to a file, t.write_parquet(path)".into(),
        ));
    };
    let fed = fed_tables(&graph);
    let (mut found, mut seen, mut waiting) = (Vec::new(), std::collections::HashSet::new(), vec![table.clone()]);
    while let Some(next) = waiting.pop() {
        if !seen.insert(next.identity()) {
            continue;
        }
        match next.inputs() {
            [] => found.push(next.clone()),
            inputs => waiting.extend(inputs.iter().cloned()),
        }
    }
    let mut parts: Vec<(Plan, Input)> = Vec::new();
    let mut inputs = Vec::new();
    let mut fixed = 0;
    for source in found {
        let given = if source.is_live() {
            let known = fed.iter().find(|fed| fed.table.same(&source));
            let kind = &source.request().name;
            let known = known.ok_or_else(|| {
                refused(format!(
                    "the table stands on a {kind}, which no checkpoint saves; feed its rows into an append_table or a \
                     keyed_table with a name, and let the table stand on that"
                ))
            })?;
            known.name.clone().ok_or_else(|| {
                refused(format!(
                    "the table stands on a {kind} without a name; make it with name=, by which a restart finds it"
                ))
            })?
        } else {
            fixed += 1;
            format!("{name}.static_{fixed}")
        };
        let input = Input {
            name: Some(given.clone()),
            source: Some(source.request().fingerprint),
            schema: source.schema().clone(),
        };
        parts.push((source.plan(), input));
        inputs.push((given, source));
    }
    let plan = table.plan().over(&parts);
    let nodes = plan.nodes();
    for (given, _) in nodes.given() {
        if !inputs.iter().any(|(name, _)| name == given) {
            return Err(refused(format!(
                "the table was made of {given:?}, a static table that others were computed of; give what was computed as a \
                 table of its own, tf.table(t), and let the table stand on that"
            )));
        }
    }
    let used: Vec<&str> = nodes.given().map(|(name, _)| name).collect();
    let inputs = inputs.into_iter().filter(|(name, _)| used.contains(&name.as_str()));
    Ok((plan.to_json(), inputs.map(|(name, source)| (name, PyTable::new(source))).collect()))
}

/// Saves the sources of a graph, or those of a few tables, in its own folder or another. Gives what was done, by name.
#[pyfunction]
#[pyo3(signature = (graph, path, only, fixed, kept))]
pub fn checkpoint<'py>(
    py: Python<'py>,
    graph: &PyGraph,
    path: Option<PathBuf>,
    only: Option<Vec<Bound<'py, PyTable>>>,
    fixed: Vec<(String, Bound<'py, PyTable>)>,
    kept: Vec<ToldPlan>,
) -> PyResult<Bound<'py, PyDict>> {
    let checked = |table: &Bound<'_, PyTable>| Ok::<_, PyErr>(table.get().checked()?.clone());
    let asked = Asked {
        only: only.map(|only| only.iter().map(checked).collect()).transpose()?,
        fixed: fixed.iter().map(|(name, table)| Ok((name.clone(), checked(table)?))).collect::<PyResult<_>>()?,
        kept: kept.into_iter().map(|(name, plan, inputs)| Kept { name, plan, inputs }).collect(),
    };
    graph.may_wait(py)?;
    let graph = graph.0.graph.clone();
    let report = at_disk(py, "checkpoint", || match (path, Durable::of(&graph)) {
        (Some(path), Some(durable)) if same_place(&path, durable.path()) => durable.checkpoint(&asked),
        (Some(path), _) => ::durable::checkpoint_to(&path, &graph, &asked),
        (None, Some(durable)) => durable.checkpoint(&asked),
        (None, None) => Err(Error::Engine(engine::Error::InvalidOperation {
            operation: "checkpoint".into(),
            message:
                "the graph has no folder of its own; give one, graph.checkpoint(\"folder\"), or make the graph with \
                      tf.Graph(durable=\"folder\")"
                    .into(),
        })),
    })?;
    let Report { step, tables, bytes, whole } = report;
    let dict = PyDict::new(py);
    dict.set_item("step", step)?;
    dict.set_item("tables", tables)?;
    dict.set_item("bytes", bytes)?;
    dict.set_item("whole", whole)?;
    Ok(dict)
}

fn same_place(one: &std::path::Path, other: &std::path::Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// The durable folder of a graph.
#[pyfunction]
pub fn durable_path(graph: &PyGraph) -> Option<PathBuf> {
    Durable::of(&graph.0.graph).map(|durable| durable.path().to_path_buf())
}

/// Waits until everything that was stored is on disk, and lets the folder go.
#[pyfunction]
pub fn close_durable(py: Python<'_>, graph: &PyGraph) -> PyResult<()> {
    let graph = graph.0.graph.clone();
    at_disk(py, "close", || Durable::of(&graph).map_or(Ok(()), |durable| durable.close()))
}
