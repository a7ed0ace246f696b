//! The exceptions of `tickframe.errors`, and the ways from the errors below to them.

use formula::NoColumn;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

macro_rules! exceptions {
    ($($name:ident),* $(,)?) => {
        $(pyo3::import_exception!(tickframe.errors, $name);)*
    };
}

exceptions!(
    AuthError,
    CancelledError,
    CheckpointError,
    ColumnNotFoundError,
    DataError,
    DuplicateError,
    FormulaError,
    InternalError,
    InvalidOperationError,
    MatchError,
    MissingFileError,
    NotFoundError,
    PermissionDeniedError,
    ResourceError,
    SchemaError,
    StorageError,
    TableFailedError,
    TimeoutError,
    TransportError,
    TypeMismatchError,
    UdfError,
);

/// What Arrow refused of the data at hand.
pub fn arrow(error: arrow_schema::ArrowError) -> PyErr {
    DataError::new_err(error.to_string())
}

/// A name that stands twice.
pub fn duplicate(operation: &str, name: &str) -> PyErr {
    DuplicateError::new_err(format!("{operation}: column {name:?} would appear twice"))
}

/// An optional package that is not there.
pub fn missing(_py: Python<'_>, what: &str, package: &str, extra: &str) -> PyErr {
    PyImportError::new_err(format!("{what} needs {package}: pip install {extra:?}"))
}

/// A Python exception that a source was failed with, kept to be raised again as the cause.
pub struct Raised(pub Py<PyAny>);

/// Raises what the engine says, as the class a Python caller expects.
pub fn raise(error: engine::Error) -> PyErr {
    use engine::Error as E;
    let text = error.to_string();
    match error {
        E::ColumnNotFound { missing, .. } => column_not_found(text, &missing),
        E::Schema { .. } => SchemaError::new_err(text),
        E::Duplicate { .. } => DuplicateError::new_err(text),
        E::TypeMismatch { .. } => TypeMismatchError::new_err(text),
        E::InvalidOperation { .. } => InvalidOperationError::new_err(text),
        E::Data { .. } => DataError::new_err(text),
        E::Match { .. } => MatchError::new_err(text),
        E::Resource { .. } => ResourceError::new_err(text),
        E::TableFailed(failure) => table_failed(&failure),
        E::Formula { operation, error } => formula(&operation, &error, None),
        E::Column { error, .. } => column(text, &error),
        E::Graph(error) => graph(&error),
        E::Cancelled(message) => CancelledError::new_err(message),
        E::Timeout { .. } => TimeoutError::new_err(text),
        E::Storage { path, errno, .. } => with_facts(StorageError::new_err(text), |value| {
            value.setattr("filename", path)?;
            value.setattr("errno", errno)
        }),
        E::External { message, payload } => external(message, payload),
        E::Internal { .. } => InternalError::new_err(text),
    }
}

/// The error of a name that is no column, with the name and the columns there are.
pub fn column_not_found(mut text: String, missing: &NoColumn) -> PyErr {
    let NoColumn { name, valid, nearest } = missing;
    // In these a bare string is a column, also where a text was meant: `.then("big")`.
    const TAKE_NAMES: [&str; 4] = ["select: ", "with_columns: ", "filter: ", "group_by: "];
    if nearest.is_none() && name.len() <= 40 && TAKE_NAMES.iter().any(|operation| text.starts_with(operation)) {
        text.push_str(&format!(" (if it is a text: tf.lit({name:?}))"));
    }
    let mut columns = valid.to_vec();
    if let Some(nearest) = nearest {
        columns.sort_by_key(|column| column != nearest);
    }
    with_facts(ColumnNotFoundError::new_err(text), |value| {
        value.setattr("column", name)?;
        value.setattr("columns", columns)
    })
}

/// An error of an expression; `operation` is the method the user called.
pub fn formula(operation: &str, error: &formula::Error, text: Option<&str>) -> PyErr {
    use formula::Error as F;
    let message = match text {
        Some(text) => format!("{operation}: {error}, in {text}"),
        None => format!("{operation}: {error}"),
    };
    match error {
        F::UnknownColumn(missing) => column_not_found(message, missing),
        F::Exhausted { .. } => ResourceError::new_err(message),
        F::Type { .. } | F::OwnOrder { .. } => TypeMismatchError::new_err(message),
        F::Unsupported { .. } | F::UnexpectedAggregate { .. } => InvalidOperationError::new_err(message),
        F::Formula { .. }
        | F::Arguments { .. }
        | F::Parameter { .. }
        | F::Constant { .. }
        | F::NoBranch
        | F::TooDeep { .. }
        | F::TooLarge { .. } => FormulaError::new_err(message),
    }
}

/// An error of a formula string: the class that its cause has, with the text and the place.
pub fn formula_text(operation: &str, wrong: &formula::FormulaError) -> PyErr {
    let shown = formula("", wrong.error(), None);
    Python::attach(|py| {
        let message = format!("{operation}: {wrong}");
        let value = shown.value(py);
        let span = wrong.span();
        let told = (|| -> PyResult<()> {
            value.setattr("args", (message,))?;
            value.setattr("text", wrong.text())?;
            value.setattr("span", (span.start, span.end))
        })();
        told.err().unwrap_or(shown)
    })
}

/// Data from outside that is not what it says it is, or for a copy of which there is no memory.
pub fn unsound(of: &str, unsound: &::column::sound::Unsound) -> PyErr {
    let text = format!("{of}: {unsound}");
    if unsound.exhausted { ResourceError::new_err(text) } else { DataError::new_err(text) }
}

/// An operation, a column of it perhaps, that finds no memory.
pub fn exhausted(of: &str, why: &limits::Exhausted) -> PyErr {
    ResourceError::new_err(format!("{of}: {why}"))
}

fn column(text: String, error: &::column::Error) -> PyErr {
    use ::column::Error as C;
    match error {
        C::Type { .. } => TypeMismatchError::new_err(text),
        C::Length { .. } => SchemaError::new_err(text),
        C::PrecisionLoss { .. } | C::Unfit { .. } | C::Arrow(_) | C::Computed(_) => DataError::new_err(text),
        C::TooLong { .. } | C::OneArray { .. } | C::TooMany(_) | C::Exhausted(_) => ResourceError::new_err(text),
        C::AlreadyWritten { .. } => InternalError::new_err(text),
    }
}

/// What the graph refuses, or gave up.
pub fn graph(error: &::graph::GraphError) -> PyErr {
    use ::graph::GraphError as G;
    let text = error.to_string();
    match error {
        G::Stopped { .. } | G::Timeout { .. } => TimeoutError::new_err(text),
        G::Broken { .. } | G::Ended { .. } => InternalError::new_err(text),
        G::NoThread { .. } => ResourceError::new_err(text),
        G::Interrupted { .. } => pyo3::exceptions::PyKeyboardInterrupt::new_err(text),
        G::InsideStep
        | G::InsideCallback
        | G::UnderSharedLock
        | G::InsideTransaction
        | G::Forked { .. }
        | G::Loop { .. } => InvalidOperationError::new_err(text),
    }
}

/// The failure of a table, with the root error as its cause.
pub fn table_failed(failure: &engine::Failure) -> PyErr {
    let error = TableFailedError::new_err(failure.to_string());
    let cause = raise(failure.cause.clone());
    let error = with_facts(error, |value| {
        value.setattr("step", failure.step)?;
        value.setattr("culprit", &failure.culprit)?;
        value.setattr("formula", failure.formula.as_deref())?;
        if let Some(location) = &failure.location {
            let trace = location.trace();
            let note = format!("The operation was created here (most recent call last):\n{trace}");
            value.setattr("created", trace)?;
            value.call_method1("add_note", (note,))?;
        }
        Ok(())
    });
    Python::attach(|py| error.set_cause(py, Some(cause)));
    error
}

fn external(message: String, payload: Option<engine::External>) -> PyErr {
    let interrupt = payload.as_ref().and_then(|payload| payload.downcast_ref::<engine::interrupt::Interrupt>());
    if let Some(crate::raised::Fault(raised)) = interrupt.and_then(|interrupt| interrupt.0.downcast_ref()) {
        return Python::attach(|py| PyErr::from_value(raised.bind(py).clone()));
    }
    let fault = payload.as_ref().and_then(|payload| payload.downcast_ref::<crate::raised::Fault>());
    if let Some(crate::raised::Fault(cause)) = fault {
        let error = UdfError::new_err(message);
        Python::attach(|py| error.set_cause(py, Some(PyErr::from_value(cause.bind(py).clone()))));
        return error;
    }
    // A result of the wrong length or type: there is no exception to chain.
    if payload.as_ref().is_some_and(|payload| payload.is::<()>()) {
        return UdfError::new_err(message);
    }
    let raised = payload.as_ref().and_then(|payload| payload.downcast_ref::<Raised>());
    match raised {
        Some(Raised(exception)) => Python::attach(|py| PyErr::from_value(exception.bind(py).clone())),
        None => pyo3::exceptions::PyRuntimeError::new_err(message),
    }
}

fn with_facts(error: PyErr, set: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) -> PyErr {
    Python::attach(|py| match set(error.value(py).as_any()) {
        Ok(()) => error,
        Err(other) => other,
    })
}
