//! The engine's errors, each with the data that a caller needs to mend the cause.

use std::sync::Arc;

use formula::NoColumn;

/// An error of a call, or the reason a table failed.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message beside each variant says what its fields are")]
pub enum Error {
    #[error("{operation}: {missing}")]
    ColumnNotFound { operation: String, missing: NoColumn },
    #[error("{operation}: {message}")]
    Schema { operation: String, message: String },
    #[error("{operation}: column {name:?} would appear twice; rename one of them (alias, suffix, \"New = Old\")")]
    Duplicate { operation: String, name: String },
    #[error("{operation}: {message}")]
    TypeMismatch { operation: String, message: String },
    #[error("{operation}: {message}")]
    InvalidOperation { operation: String, message: String },
    #[error("{operation}: {message}")]
    Data { operation: String, message: String },
    #[error("{operation}: {message}")]
    Match { operation: String, message: String },
    #[error("{operation}: {message}")]
    Resource { operation: String, message: String },
    /// A disk that fails; `errno` is what the system said.
    #[error("{operation}: {message}")]
    Storage { operation: String, message: String, path: String, errno: Option<i32> },
    #[error("{0}")]
    TableFailed(Arc<Failure>),
    #[error("{operation}: {error}")]
    Formula { operation: String, error: formula::Error },
    #[error("{operation}: {error}")]
    Column { operation: String, error: Arc<column::Error> },
    #[error(transparent)]
    Graph(#[from] graph::GraphError),
    #[error("{0}")]
    Cancelled(String),
    #[error("{operation}: {message}")]
    Timeout { operation: String, message: String },
    /// An error from outside the engine (a feeder, a user's function) that a source was failed with.
    #[error("{message}")]
    External { message: String, payload: Option<External> },
    #[error("internal error in {operation}: {message}; please report it")]
    Internal { operation: String, message: String },
}

/// Something the embedding language wants back unchanged: its own exception object.
pub type External = Arc<dyn std::any::Any + Send + Sync>;

/// Why and when a table failed: the root error in every descendant.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The step in which the culprit failed.
    pub step: u64,
    /// The operation that failed first, as its user called it.
    pub culprit: String,
    /// The user's own expression or formula text, if the operation had one.
    pub formula: Option<String>,
    /// Where the operation was created.
    pub location: Option<Location>,
    /// The root error.
    pub cause: Error,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the table failed in step {}: {}", self.step, self.culprit)?;
        if let Some(formula) = self.formula.as_ref().filter(|formula| !self.culprit.contains(formula.as_str())) {
            write!(f, " [{formula}]")?;
        }
        if let Some(location) = &self.location {
            write!(f, ", created at {}", location.line())?;
        }
        write!(f, ": {}", self.cause)
    }
}

/// A place in the user's code: the calls that led to it, which it shares with other places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    innermost: Arc<Frame>,
    callers: Vec<Arc<Frame>>,
}

/// A call on the way to a place.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    /// File and line.
    pub line: String,
    /// As the embedding language prints it in a stack trace.
    pub shown: String,
}

impl Location {
    /// The place in the innermost frame; the frames of its callers follow from the inside out.
    pub fn new(innermost: Arc<Frame>, callers: Vec<Arc<Frame>>) -> Location {
        Location { innermost, callers }
    }

    /// File and line.
    pub fn line(&self) -> &str {
        &self.innermost.line
    }

    /// The stack trace, as the embedding language prints it, outermost call first.
    pub fn trace(&self) -> String {
        let frames = self.callers.iter().rev().chain([&self.innermost]);
        frames.map(|frame| frame.shown.as_str()).collect::<Vec<_>>().join("\n")
    }
}

impl Error {
    /// A column that is not in the schema, with the nearest name there is.
    pub fn no_column<'a>(operation: &str, name: &str, valid: impl IntoIterator<Item = &'a str>) -> Error {
        Error::ColumnNotFound { operation: operation.into(), missing: NoColumn::new(name, valid) }
    }

    /// Names the operation the user called, where the error came from a lower floor.
    pub fn in_operation(self, name: &str) -> Error {
        match self {
            Error::ColumnNotFound { missing, .. } => Error::ColumnNotFound { operation: name.into(), missing },
            Error::Formula { error, .. } => Error::Formula { operation: name.into(), error },
            Error::Column { error, .. } => Error::Column { operation: name.into(), error },
            Error::Resource { message, .. } => Error::Resource { operation: name.into(), message },
            other => other,
        }
    }

    pub(crate) fn schema(operation: &str, message: impl Into<String>) -> Error {
        Error::Schema { operation: operation.into(), message: message.into() }
    }

    pub(crate) fn types(operation: &str, message: impl Into<String>) -> Error {
        Error::TypeMismatch { operation: operation.into(), message: message.into() }
    }

    pub(crate) fn invalid(operation: &str, message: impl Into<String>) -> Error {
        Error::InvalidOperation { operation: operation.into(), message: message.into() }
    }

    pub(crate) fn data(operation: &str, message: impl Into<String>) -> Error {
        Error::Data { operation: operation.into(), message: message.into() }
    }

    /// A column whose cells cannot be told apart, or be put in order: maps and unions.
    pub(crate) fn unkeyable(operation: &str, name: &str, data_type: &arrow_schema::DataType) -> Error {
        let holds = formula::type_name(data_type);
        Error::types(operation, format!("the column {name:?} holds {holds}, of which there is no key and no order"))
    }

    /// A column whose cells cannot be put in order: maps, unions, and calendar time, whose months have no one length.
    pub(crate) fn unordered(operation: &str, name: &str, data_type: &arrow_schema::DataType) -> Error {
        if !matches!(data_type, arrow_schema::DataType::Interval(_)) {
            return Error::unkeyable(operation, name, data_type);
        }
        let message = format!(
            "the column {name:?} holds calendar time, which has no order: a month may be longer than 30 days, or \
             shorter; add it to an instant and use that"
        );
        Error::types(operation, message)
    }

    pub(crate) fn internal(operation: &str, message: impl Into<String>) -> Error {
        Error::Internal { operation: operation.into(), message: message.into() }
    }
}

impl From<column::Error> for Error {
    fn from(error: column::Error) -> Error {
        if let column::Error::Computed(inner) = &error
            && let Some(inner) = inner.downcast_ref::<Error>()
        {
            return inner.clone();
        }
        Error::Column { operation: "column".into(), error: Arc::new(error) }
    }
}

impl From<limits::Exhausted> for Error {
    fn from(exhausted: limits::Exhausted) -> Error {
        Error::Resource { operation: "memory".into(), message: exhausted.to_string() }
    }
}

impl From<formula::Error> for Error {
    fn from(error: formula::Error) -> Error {
        Error::Formula { operation: "expression".into(), error }
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Error {
        use arrow_schema::ArrowError as Arrow;
        let (operation, message) = ("arrow".into(), error.to_string());
        match error {
            // There is more in the user's rows than one array holds.
            Arrow::OffsetOverflowError(_) | Arrow::DictionaryKeyOverflowError | Arrow::MemoryError(_) => {
                Error::Resource { operation, message }
            }
            _ => Error::Internal { operation, message },
        }
    }
}
