//! Errors of durable tables, each with the file or folder.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a durable graph, a checkpoint or a restore.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message beside each variant says what its fields are")]
pub enum Error {
    #[error(transparent)]
    Log(#[from] log::Error),
    #[error(transparent)]
    Engine(engine::Error),
    #[error("{path}: {what}. Restore the folder from a copy")]
    Damaged { path: PathBuf, what: String },
    #[error(
        "{path} was written by a newer version (format {found}, this one reads {known}); read it with that version"
    )]
    Format { path: PathBuf, found: u64, known: u64 },
    #[error("{path}: {message}")]
    Refused { path: PathBuf, message: String },
}

impl Error {
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), what: what.into() }
    }

    pub(crate) fn refused(path: &Path, message: impl Into<String>) -> Error {
        Error::Refused { path: path.to_path_buf(), message: message.into() }
    }

    pub(crate) fn engine(operation: &'static str) -> impl FnOnce(engine::Error) -> Error {
        move |error| Error::Engine(error.in_operation(operation))
    }

    pub(crate) fn invalid(operation: &str, message: &str) -> Error {
        Error::Engine(engine::Error::InvalidOperation { operation: operation.into(), message: message.into() })
    }

    /// The file or folder that it is about, and what the system said, if the disk failed.
    pub fn place(&self) -> Option<(&Path, Option<i32>)> {
        match self {
            Error::Log(error) => Some((error.path(), os_error(error))),
            Error::Damaged { path, .. } | Error::Format { path, .. } | Error::Refused { path, .. } => {
                Some((path, None))
            }
            Error::Engine(_) => None,
        }
    }

    /// Whether the disk failed, rather than what is on it.
    pub fn is_of_disk(&self) -> bool {
        matches!(self, Error::Log(log::Error::Io { .. } | log::Error::Broken { .. }))
    }
}

/// What the system said, if it was asked.
pub(crate) fn os_error(error: &log::Error) -> Option<i32> {
    match error {
        log::Error::Io { source, .. } => io::Error::raw_os_error(source),
        _ => None,
    }
}
