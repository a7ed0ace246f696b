//! Errors of a log, each with the file and the offset in it.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a log.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message beside each variant says what its fields are")]
pub enum Error {
    #[error("{path}: {what} at byte {offset}; the log cannot be read beyond it. Restore the file from a copy")]
    Damaged { path: PathBuf, offset: u64, what: String },
    #[error("{path} is missing: the log has {later} after it. Restore the file from a copy")]
    Missing { path: PathBuf, later: PathBuf },
    #[error("{path} is in use by another process, or another log of this one; close that first")]
    Locked { path: PathBuf },
    #[error("{path} is of format {found}, this version reads format {known}; read it with the version that wrote it")]
    Format { path: PathBuf, found: String, known: u32 },
    #[error("{path} holds {found} but no MANIFEST.json: it is no log, or one of an older version; give another folder")]
    Foreign { path: PathBuf, found: String },
    #[error("{path}: record {number} cannot follow {last}: {missing} would be missing")]
    Gap { path: PathBuf, number: u64, last: String, missing: u64 },
    #[error("{path}: record {number} cannot follow {last}: numbers ascend")]
    Order { path: PathBuf, number: u64, last: u64 },
    #[error(
        "{path}: an earlier write failed ({cause}), so what is on disk is not known; open the log anew, or mend it"
    )]
    Broken { path: PathBuf, cause: String },
    #[error("{path}: no base {what}")]
    Base { path: PathBuf, what: String },
    #[error("{path}: cannot {action}: {source}")]
    Io { path: PathBuf, action: &'static str, source: io::Error },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Io { path, action, source }
    }

    pub(crate) fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), offset, what: what.into() }
    }

    /// The file or folder that it is about.
    pub fn path(&self) -> &Path {
        match self {
            Error::Damaged { path, .. }
            | Error::Missing { path, .. }
            | Error::Locked { path }
            | Error::Format { path, .. }
            | Error::Foreign { path, .. }
            | Error::Gap { path, .. }
            | Error::Order { path, .. }
            | Error::Broken { path, .. }
            | Error::Base { path, .. }
            | Error::Io { path, .. } => path,
        }
    }
}
