//! Errors of cells: a wrong type, a wrong number of cells, a value that does not fit.

use std::sync::Arc;

use arrow_schema::{ArrowError, DataType};
use graph::Step;

/// Why cells could not be stored, read or converted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Cells of one type met a column of another.
    #[error("the column holds {expected}, the cells are {found}")]
    Type {
        /// The column's type.
        expected: DataType,
        /// The type of the cells that were offered.
        found: DataType,
    },
    /// The number of cells differs from the number of rows they are for.
    #[error("{cells} cells for {rows} rows")]
    Length {
        /// Rows named.
        rows: u64,
        /// Cells given.
        cells: u64,
    },
    /// A value has more precision than the type it must leave in.
    #[error("row {row}: {value} does not fit {to} without losing precision")]
    PrecisionLoss {
        /// Position of the cell in its chunk.
        row: usize,
        /// The value, as text.
        value: String,
        /// The type asked for.
        to: DataType,
    },
    /// A value is none of the type it is wanted in.
    #[error("row {row}: {value} does not fit {to}")]
    Unfit {
        /// Position of the cell in its chunk.
        row: usize,
        /// The value, as text.
        value: String,
        /// The type asked for.
        to: DataType,
    },
    /// There are more of something than can be counted.
    #[error("{0}")]
    TooMany(&'static str),
    /// A column was written a second time in one step, or in a step that is over.
    #[error("the column was already written in step {}", .step.number())]
    AlreadyWritten {
        /// The step of the refused write.
        step: Step,
    },
    /// A text is longer than any that can be stored.
    #[error("a value of {bytes} bytes is longer than the longest that a column stores ({most} bytes)")]
    TooLong {
        /// Bytes of the text.
        bytes: usize,
        /// Bytes of the longest that fits.
        most: usize,
    },
    /// Texts are to leave as one array whose offsets do not reach so far.
    #[error(
        "{bytes} bytes of texts are more than one array of {to} holds (2³¹ − 1): take them in batches, or fewer rows, or declare the column LargeUtf8 or Utf8View (LargeBinary, BinaryView)"
    )]
    OneArray {
        /// Bytes of texts together.
        bytes: usize,
        /// The type asked for.
        to: DataType,
    },
    /// There is no memory left for it.
    #[error(transparent)]
    Exhausted(#[from] limits::Exhausted),
    /// A column that is computed on read has no value in one of the rows.
    #[error("{0}")]
    Computed(Arc<dyn std::error::Error + Send + Sync>),
    /// Arrow refused a conversion or a selection.
    #[error(transparent)]
    Arrow(Arc<ArrowError>),
}

impl Error {
    /// Adds `by` to the error's row number, for an error of a chunk that starts at row `by` of the whole.
    pub fn later(self, by: usize) -> Error {
        match self {
            Error::PrecisionLoss { row, value, to } => Error::PrecisionLoss { row: row + by, value, to },
            Error::Unfit { row, value, to } => Error::Unfit { row: row + by, value, to },
            other => other,
        }
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Error {
        Error::Arrow(Arc::new(error))
    }
}
