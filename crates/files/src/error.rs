//! Errors of files, each with the file, and the place in it.

use std::io;

use formula::NoColumn;

/// An error of a file that is read or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message beside each variant says what its fields are")]
pub enum Error {
    #[error("{path}: no such file or directory")]
    Missing { path: String },
    #[error("{path}: cannot {action}: {source}")]
    Io { path: String, action: &'static str, source: io::Error },
    #[error("{path}: {message}")]
    Broken { path: String, message: String },
    #[error("{path}, line {line}{}: {message}", column(.name))]
    Record { path: String, line: u64, name: Option<String>, message: String },
    #[error("{path}: {message}")]
    Schema { path: String, message: String },
    #[error("{path}: {missing}")]
    NoColumn { path: String, missing: NoColumn },
    #[error("{0}")]
    Options(String),
    #[error("{path}: {exhausted}")]
    Exhausted { path: String, exhausted: limits::Exhausted },
    /// Whoever asked to be told of the progress ended it.
    #[error("ended by whoever follows its progress")]
    Ended,
}

fn column(name: &Option<String>) -> String {
    name.as_ref().map(|name| format!(", column {name:?}")).unwrap_or_default()
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &str) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Error::Missing { path },
            // What a decompressor says of its bytes.
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
                Error::Broken { path, message: format!("cannot {action}: {source}") }
            }
            _ => Error::Io { path, action, source },
        }
    }

    pub(crate) fn broken(path: &str, message: impl std::fmt::Display) -> Error {
        Error::Broken { path: path.to_owned(), message: message.to_string() }
    }

    pub(crate) fn schema(path: &str, message: impl Into<String>) -> Error {
        Error::Schema { path: path.to_owned(), message: message.into() }
    }

    /// A column that is asked for and that the file does not have.
    pub(crate) fn no_column<'a>(path: &str, name: &str, valid: impl IntoIterator<Item = &'a str>) -> Error {
        Error::NoColumn { path: path.to_owned(), missing: NoColumn::new(name, valid) }
    }

    /// A column that the first of several files has, and this one does not.
    pub(crate) fn not_as_first<'a>(path: &str, name: &str, own: impl IntoIterator<Item = &'a str>) -> Error {
        let own: Vec<&str> = own.into_iter().collect();
        Error::schema(path, format!("column {name:?} is missing, which the first file has; its columns are {own:?}"))
    }

    pub(crate) fn exhausted(path: &str) -> impl FnOnce(limits::Exhausted) -> Error {
        let path = path.to_owned();
        move |exhausted| Error::Exhausted { path, exhausted }
    }
}
