//! Files as Python reads and writes them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, SchemaRef};
use files::csv::{CsvFormat, CsvOptions};
use files::ipc::{IpcFormat, IpcOptions};
use files::json::{JsonForm, JsonOptions};
use files::parquet::{ParquetFormat, ParquetOptions};
use files::{Input, OnError, Partitions, Reading, Rejected, Source, Whole};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{self, DataError, MissingFileError, ResourceError, SchemaError, StorageError};
use crate::gil::without_gil;
use crate::schema::PySchema;
use crate::table::PyTable;
use graph::lock;

fn raise(py: Python<'_>, operation: &str, error: files::Error) -> PyErr {
    use files::Error as E;
    let text = format!("{operation}: {error}");
    let raised = match &error {
        E::Missing { .. } => MissingFileError::new_err(text),
        E::Io { .. } => StorageError::new_err(text),
        E::Broken { .. } | E::Record { .. } => DataError::new_err(text),
        E::NoColumn { missing, .. } => return error::column_not_found(text, missing),
        E::Schema { .. } => SchemaError::new_err(text),
        E::Options(_) | E::Ended => PyValueError::new_err(text),
        E::Exhausted { .. } => ResourceError::new_err(text),
    };
    let value = raised.value(py);
    let told = match &error {
        E::Missing { path } => value.setattr("errno", libc_enoent()).and_then(|()| value.setattr("filename", path)),
        E::Io { path, source, .. } => {
            value.setattr("errno", source.raw_os_error()).and_then(|()| value.setattr("filename", path))
        }
        E::Record { path, line, name, .. } => value
            .setattr("filename", path)
            .and_then(|()| value.setattr("line", *line))
            .and_then(|()| value.setattr("column", name)),
        _ => Ok(()),
    };
    told.map_or_else(|failed| failed, |()| raised)
}

/// The number by which systems say that there is no such file.
fn libc_enoent() -> i32 {
    2
}

/// A function of the user's that follows the work, and what it raised.
struct Follower<'a> {
    function: Option<&'a Py<PyAny>>,
    raised: Mutex<Option<PyErr>>,
}

impl<'a> Follower<'a> {
    fn new(function: Option<&'a Py<PyAny>>) -> Follower<'a> {
        Follower { function, raised: Mutex::default() }
    }

    /// Told of so many bytes; false if it, or a signal, ends the work.
    fn told(&self, done: u64, total: u64) -> bool {
        let said = Python::try_attach(|py| {
            py.check_signals()?;
            self.function.map_or(Ok(()), |function| function.call1(py, (done, total)).map(drop))
        });
        match said {
            // The program ends, and so does the work.
            None => false,
            Some(Ok(())) => true,
            Some(Err(raised)) => {
                *lock(&self.raised) = Some(raised);
                false
            }
        }
    }

    fn done<R>(self, py: Python<'_>, operation: &str, done: Result<R, files::Error>) -> PyResult<R> {
        let raised = lock(&self.raised).take();
        match (raised, done) {
            (Some(raised), _) => Err(raised),
            (None, done) => done.map_err(|error| raise(py, operation, error)),
        }
    }
}

/// The files that a path, a pattern or a directory stands for: each with the names and values of its directories.
#[pyfunction]
pub fn find_files(
    py: Python<'_>,
    operation: &str,
    path: &str,
    endings: Vec<String>,
) -> PyResult<Vec<(PathBuf, Vec<(String, Option<String>)>)>> {
    let found = without_gil(py, || {
        let endings: Vec<&str> = endings.iter().map(String::as_str).collect();
        files::find(path, &endings)
    })?;
    let found = found.map_err(|error| raise(py, operation, error))?;
    Ok(found.into_iter().map(|found| (found.path, found.partitions)).collect())
}

/// One of the inputs: a path, or a name and bytes; and what its directories name.
type Given = (Option<PathBuf>, String, Option<Py<PyBytes>>, Vec<(String, Option<String>)>);

fn sources(py: Python<'_>, given: Vec<Given>) -> Vec<Source> {
    let source = |(path, name, bytes, partitions): Given| {
        let held = bytes.map(|bytes| Arc::from(bytes.as_bytes(py))).unwrap_or_default();
        let input = path.map_or_else(|| Input::Bytes(name, held), Input::Path);
        Source { input, partitions }
    };
    given.into_iter().map(source).collect()
}

/// How files are read; the names are those of the methods' arguments.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wanted {
    columns: Option<Vec<String>>,
    n_rows: Option<u64>,
    schema: Option<Py<PySchema>>,
    schema_overrides: Option<Py<PySchema>>,
    infer_schema_length: Option<usize>,
    on_error: String,
    null_values: Vec<String>,
    separator: char,
    quote_char: Option<char>,
    comment_prefix: Option<char>,
    has_header: bool,
    skip_rows: usize,
    try_parse_dates: bool,
    strict: bool,
}

impl Wanted {
    fn on_error(&self) -> OnError {
        match self.on_error.as_str() {
            "null" => OnError::Null,
            "drop" => OnError::Drop,
            _ => OnError::Fail,
        }
    }

    fn overrides(&self) -> Vec<(String, DataType)> {
        let given = self.schema_overrides.as_ref().map(|schema| schema.get().0.clone());
        let fields = given.iter().flat_map(|schema| schema.fields().iter());
        fields.map(|field| (field.name().clone(), field.data_type().clone())).collect()
    }

    fn schema(&self) -> Option<SchemaRef> {
        self.schema.as_ref().map(|schema| schema.get().0.clone())
    }

    /// The schema of the files, without what directories name.
    fn own(&self, partitions: &Partitions) -> Option<SchemaRef> {
        self.schema().map(|schema| partitions.without(&schema))
    }

    fn own_overrides(&self, partitions: &Partitions) -> Vec<(String, DataType)> {
        self.overrides().into_iter().filter(|(name, _)| !partitions.has(name)).collect()
    }

    fn csv(&self, partitions: &Partitions, columns: Option<Vec<String>>, rows: Option<u64>) -> CsvOptions {
        // What is no ASCII was refused before.
        let byte = |one: char| u8::try_from(one).unwrap_or(b',');
        CsvOptions {
            schema: self.own(partitions),
            schema_overrides: self.own_overrides(partitions),
            columns,
            null_values: self.null_values.clone(),
            separator: byte(self.separator),
            quote: self.quote_char.map(byte),
            has_header: self.has_header,
            comment: self.comment_prefix.map(byte),
            skip_lines: self.skip_rows,
            infer_rows: self.infer_schema_length,
            dates: self.try_parse_dates,
            rows,
            on_error: self.on_error(),
        }
    }

    fn json(&self, partitions: &Partitions, columns: Option<Vec<String>>, rows: Option<u64>) -> JsonOptions {
        JsonOptions {
            schema: self.own(partitions),
            schema_overrides: self.own_overrides(partitions),
            columns,
            infer_rows: self.infer_schema_length,
            strict: self.strict,
            rows,
            on_error: self.on_error(),
        }
    }

    /// The columns that directories name, and those that are read of the files.
    fn partitions(&self, sources: &[Source]) -> Result<(Partitions, Option<Vec<String>>), files::Error> {
        let (schema, overrides) = (self.schema(), self.overrides());
        let types = |name: &str| {
            let of_schema = schema.as_ref().and_then(|schema| schema.field_with_name(name).ok());
            let overridden = overrides.iter().find(|(own, _)| own == name).map(|(_, of)| of.clone());
            overridden.or_else(|| of_schema.map(|field| field.data_type().clone()))
        };
        let partitions = Partitions::new(sources, &types)?;
        let own = self
            .columns
            .as_ref()
            .map(|columns| columns.iter().filter(|name| !partitions.has(name)).cloned().collect::<Vec<_>>());
        Ok((partitions, own))
    }
}

type Refused = (String, u64, String, String);

fn refused(rejected: Vec<Rejected>) -> Vec<Refused> {
    rejected.into_iter().map(|one| (one.source, one.position, one.record, one.reason)).collect()
}

/// Reads files as one static table, and what was not taken as it is.
#[pyfunction]
pub fn read_files(
    py: Python<'_>,
    operation: &str,
    format: &str,
    given: Vec<Given>,
    wanted: Wanted,
    progress: Option<Py<PyAny>>,
    known: Option<&Bound<'_, PySchema>>,
) -> PyResult<(PyTable, Vec<Refused>)> {
    let known = known.map(|schema| schema.get().0.clone());
    let sources = sources(py, given);
    let follower = Follower::new(progress.as_ref());
    let read = without_gil(py, || -> Result<Reading, files::Error> {
        let (partitions, columns) = wanted.partitions(&sources)?;
        let mut one = |input: &Input, schema: Option<&SchemaRef>, rows: Option<u64>, told: files::Progress<'_>| {
            let columns = columns.clone();
            match format {
                "csv" => files::csv::read(input, &wanted.csv(&partitions, columns, rows), schema, told),
                "json" => files::json::read(input, &wanted.json(&partitions, columns, rows), schema, told),
                "parquet" => files::parquet::read(input, &ParquetOptions { columns, rows }, schema, told),
                _ => files::ipc::read(input, &IpcOptions { columns, rows }, schema, told),
            }
        };
        let mut told = |done, total| follower.told(done, total);
        let asked = files::Asked { columns: wanted.columns.as_deref(), rows: wanted.n_rows, known: known.as_ref() };
        files::read_all(&sources, &partitions, &asked, &mut one, &mut told)
    })?;
    let Reading { schema, batches, rejected, .. } = follower.done(py, operation, read)?;
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let made = without_gil(py, || match schema.fields().is_empty() {
        true => engine::sources::empty(rows),
        false => {
            let column = |at: usize| batches.iter().map(|batch| batch.column(at).clone()).collect::<Vec<ArrayRef>>();
            let columns = (0..schema.fields().len()).map(column).collect();
            engine::sources::from_chunks(schema.clone(), columns, rows)
        }
    })?;
    Ok((PyTable::new(made.map_err(error::raise)?), refused(rejected)))
}

/// A static table whose cells stay in their files, and a counter of the bytes that were read of them.
#[pyfunction]
pub fn scan_parquet(
    py: Python<'_>,
    operation: &str,
    given: Vec<Given>,
    wanted: Wanted,
    room: usize,
) -> PyResult<(PyTable, PyBytesRead)> {
    let sources = sources(py, given);
    let read = Arc::new(AtomicU64::new(0));
    let made = without_gil(py, || {
        let (partitions, columns) = wanted.partitions(&sources)?;
        let inputs: Vec<Input> = sources.iter().map(|source| source.input.clone()).collect();
        let (own, rows) = files::parquet::scan(&inputs, &ParquetOptions { columns, rows: None }, room, &read)?;
        let path = inputs.first().map(Input::name).unwrap_or_default();
        let placed = files::placed(&path, own, &partitions, &rows, wanted.columns.as_deref())?;
        Ok::<_, files::Error>((placed, rows.iter().sum::<u64>()))
    })?;
    let ((schema, columns), rows) = made.map_err(|error| raise(py, operation, error))?;
    let table = engine::sources::of_columns(schema, columns, rows).map_err(error::raise)?;
    Ok((PyTable::new(table), PyBytesRead(read)))
}

/// How many bytes were read of the files of a table.
#[pyclass(frozen, name = "BytesRead", module = "tickframe._native")]
pub struct PyBytesRead(Arc<AtomicU64>);

#[pymethods]
impl PyBytesRead {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How files are written; the names are those of the methods' arguments.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Form {
    separator: char,
    quote_char: char,
    include_header: bool,
    null_value: String,
    escape_formulas: bool,
    compression: String,
    compression_level: Option<i32>,
    row_group_size: usize,
    sorted_by: Vec<(String, bool)>,
}

impl Form {
    fn write<W: Write + Send>(
        &self,
        format: &str,
        path: &str,
        mut into: W,
        (schema, batches): (&SchemaRef, &[RecordBatch]),
        told: files::Progress<'_>,
    ) -> Result<(), files::Error> {
        let byte = |one: char| u8::try_from(one).unwrap_or(b',');
        let csv = || CsvFormat {
            separator: byte(self.separator),
            quote: byte(self.quote_char),
            header: self.include_header,
            null: self.null_value.clone(),
            escape_formulas: self.escape_formulas,
        };
        let parquet = || ParquetFormat {
            compression: self.compression.clone(),
            level: self.compression_level,
            group_rows: self.row_group_size,
            sorted_by: self.sorted_by.clone(),
        };
        match format {
            "csv" => files::csv::write(path, &mut into, schema, batches, &csv(), told),
            "ndjson" => files::json::write(path, &mut into, batches, JsonForm::Lines, told),
            "json" => files::json::write(path, &mut into, batches, JsonForm::Array, told),
            "parquet" => files::parquet::write(path, into, schema, batches, &parquet(), told),
            stream => {
                let form = IpcFormat { compression: self.compression.clone(), stream: stream == "ipc_stream" };
                files::ipc::write(path, &mut into, schema, batches, &form, told)
            }
        }
    }
}

/// Text formats are written of cells as they are stored, the others in their declared types.
fn taken(py: Python<'_>, format: &str, table: &PyTable) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    table.batches(py, matches!(format, "csv" | "json" | "ndjson"))
}

/// Writes a table as one file, which is there as a whole or not at all.
#[pyfunction]
pub fn write_file(
    py: Python<'_>,
    operation: &str,
    format: &str,
    table: &Bound<'_, PyTable>,
    path: PathBuf,
    form: Form,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let (schema, batches) = taken(py, format, table.get())?;
    let follower = Follower::new(progress.as_ref());
    let written = without_gil(py, || {
        whole(&path, &form, format, (&schema, &batches), &mut |done, total| follower.told(done, total))
    })?;
    follower.done(py, operation, written)
}

fn whole(
    path: &Path,
    form: &Form,
    format: &str,
    rows: (&SchemaRef, &[RecordBatch]),
    told: files::Progress<'_>,
) -> Result<(), files::Error> {
    let mut file = Whole::create(path)?;
    let name = file.name();
    form.write(format, &name, file.writer(), rows, told)?;
    file.commit()
}

/// The bytes of a file, for an object that takes them.
#[pyfunction]
pub fn file_bytes<'py>(
    py: Python<'py>,
    operation: &str,
    format: &str,
    table: &Bound<'py, PyTable>,
    form: Form,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (schema, batches) = taken(py, format, table.get())?;
    let follower = Follower::new(progress.as_ref());
    let mut bytes = Vec::new();
    let written = without_gil(py, || {
        form.write(format, "bytes", &mut bytes, (&schema, &batches), &mut |done, total| follower.told(done, total))
    })?;
    follower.done(py, operation, written)?;
    Ok(PyBytes::new(py, &bytes))
}

/// Writes the rows of each combination of key values as a file in a directory of that name. The rows are sorted by the keys,
/// which are the first columns.
#[pyfunction]
pub fn write_partitions(
    py: Python<'_>,
    operation: &str,
    format: &str,
    table: &Bound<'_, PyTable>,
    keys: usize,
    place: (PathBuf, String),
    form: Form,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<PathBuf>> {
    let (schema, batches) = taken(py, format, table.get())?;
    let follower = Follower::new(progress.as_ref());
    let (folder, name) = place;
    let written = without_gil(py, || {
        let path = folder.display().to_string();
        let parts = parts(&path, &schema, &batches, keys)?;
        let rest: Vec<usize> = (keys..schema.fields().len()).collect();
        let own = Arc::new(schema.project(&rest).map_err(|error| broken(&path, error))?);
        let total = parts.len() as u64;
        let mut written = Vec::with_capacity(parts.len());
        for (done, (values, rows)) in parts.into_iter().enumerate() {
            let values: Vec<(&str, Option<&str>)> = values
                .iter()
                .enumerate()
                .map(|(at, value)| (schema.field(at).name().as_str(), value.as_deref()))
                .collect();
            let path = files::partition_folders(&folder, &values).join(&name);
            let rows: Vec<RecordBatch> = rows
                .iter()
                .map(|rows| rows.project(&rest).map_err(|error| broken(&path.display().to_string(), error)))
                .collect::<Result<_, _>>()?;
            whole(&path, &form, format, (&own, &rows), &mut |_, _| true)?;
            written.push(path);
            if !follower.told(done as u64 + 1, total) {
                return Err(files::Error::Ended);
            }
        }
        Ok(written)
    })?;
    follower.done(py, operation, written)
}

fn broken(path: &str, error: impl std::fmt::Display) -> files::Error {
    files::Error::Broken { path: path.to_owned(), message: error.to_string() }
}

/// Key values with their rows.
type Part = (Vec<Option<String>>, Vec<RecordBatch>);

fn parts(path: &str, schema: &SchemaRef, batches: &[RecordBatch], keys: usize) -> Result<Vec<Part>, files::Error> {
    let mut parts: Vec<Part> = Vec::new();
    let options = FormatOptions::default();
    for batch in batches {
        let columns = &batch.columns()[..keys];
        let formatters = columns.iter().map(|column| ArrayFormatter::try_new(column, &options));
        let formatters = formatters.collect::<Result<Vec<_>, _>>().map_err(|error| broken(path, error))?;
        let ranges = arrow_ord::partition::partition(columns).map_err(|error| broken(path, error))?.ranges();
        for range in ranges {
            let value = |(formatter, column): (&ArrayFormatter, &ArrayRef)| {
                column.is_valid(range.start).then(|| formatter.value(range.start).to_string())
            };
            let values: Vec<Option<String>> = formatters.iter().zip(columns).map(value).collect();
            let rows = batch.slice(range.start, range.len());
            match parts.last_mut().filter(|(last, _)| *last == values) {
                Some((_, own)) => own.push(rows),
                None => parts.push((values, vec![rows])),
            }
        }
    }
    let most = 100_000;
    if parts.len() > most {
        let names: Vec<&str> = schema.fields()[..keys].iter().map(|field| field.name().as_str()).collect();
        let message =
            format!("{} combinations of {names:?} would be as many files, at most {most} are written", parts.len());
        return Err(files::Error::Options(message));
    }
    Ok(parts)
}
