//! The exceptions of `tickframe.errors`, and the ways from the errors below to them.

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

macro_rules! exceptions {
    ($($name:ident),* $(,)?) => {
        $(pyo3::import_exception!(tickframe.errors, $name);)*
    };
}

exceptions!(
    CancelledError,
    ColumnNotFoundError,
    DataError,
    DuplicateError,
    FormulaError,
    InternalError,
    InvalidOperationError,
    MatchError,
    ResourceError,
    SchemaError,
    TableFailedError,
    TimeoutError,
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
