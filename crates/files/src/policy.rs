//! What becomes of a record that cannot be taken as it is, and what a reader gives.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

/// What becomes of a record that cannot be taken as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The call fails and names the first.
    #[default]
    Fail,
    /// The cells that cannot be read are null.
    Null,
    /// The record is left out.
    Drop,
}

/// A record that was not taken as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The file.
    pub source: String,
    /// The line of the file in which the record begins, from 1.
    pub position: u64,
    /// Its bytes; what is no UTF-8 in them is replaced.
    pub record: String,
    /// Why.
    pub reason: String,
}

/// What a reader gives.
#[derive(Debug)]
pub struct Reading {
    /// Names and declared types.
    pub schema: SchemaRef,
    /// The rows in order; texts may be views of a column that is declared as text.
    pub batches: Vec<RecordBatch>,
    /// What was not taken as it is, in order.
    pub rejected: Vec<Rejected>,
}

impl Reading {
    pub(crate) fn new(schema: SchemaRef) -> Reading {
        Reading { schema, batches: Vec::new(), rejected: Vec::new() }
    }

    /// The rows so far.
    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// Adds rows; no batch is empty.
    pub(crate) fn push(&mut self, batch: RecordBatch) {
        if batch.num_rows() > 0 {
            self.batches.push(batch);
        }
    }

    /// Keeps the first rows.
    pub(crate) fn shorten(&mut self, most: u64) {
        let mut left = usize::try_from(most).unwrap_or(usize::MAX);
        for batch in &mut self.batches {
            let own = batch.num_rows().min(left);
            *batch = batch.slice(0, own);
            left -= own;
        }
        self.batches.retain(|batch| batch.num_rows() > 0);
    }
}

/// Columns under the names of a schema, each in the type it came in.
pub(crate) fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, ArrowError> {
    let own = schema.fields().iter().zip(&columns);
    let fields: Vec<Field> =
        own.map(|(field, column)| Field::new(field.name(), column.data_type().clone(), true)).collect();
    let count = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &count)
}

/// The longest part of a record that is kept of one that was rejected.
pub(crate) const LONGEST_RECORD: usize = 64 << 10;

/// A cell, or a whole record, that is not what it should be.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    /// The row, counted from the first of its block.
    pub(crate) row: usize,
    /// The column, unless the record as a whole is wrong.
    pub(crate) column: Option<String>,
    pub(crate) message: String,
}
