//! What becomes of a record that cannot be taken as it is, and what a reader gives.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

use crate::error::Error;
use crate::input::{Block, Done};

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
    /// So many rows are still wanted.
    left: usize,
}

impl Reading {
    /// Of at most so many rows.
    pub(crate) fn new(schema: SchemaRef, rows: Option<u64>) -> Reading {
        let left = rows.map_or(usize::MAX, |rows| usize::try_from(rows).unwrap_or(usize::MAX));
        Reading { schema, batches: Vec::new(), rejected: Vec::new(), left }
    }

    /// The rows so far.
    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// Whether there are as many rows as are wanted.
    pub(crate) fn is_enough(&self) -> bool {
        self.left == 0
    }

    /// Adds rows, as many as are wanted; no batch is empty.
    pub(crate) fn push(&mut self, batch: RecordBatch) {
        let own = batch.num_rows().min(self.left);
        if own > 0 {
            self.left -= own;
            self.batches.push(batch.slice(0, own));
        }
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
const LONGEST_RECORD: usize = 64 << 10;

/// A cell, or a whole record, that is not what it should be.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    /// The row, counted from the first of its part.
    pub(crate) row: usize,
    /// Where in the text of the block its record stands.
    pub(crate) record: (usize, usize),
    /// The column, unless the record as a whole is wrong.
    pub(crate) column: Option<String>,
    pub(crate) message: String,
}

/// What one thread read of a block: rows, and what is wrong with some of them.
pub(crate) struct Part {
    /// Where in the text of the block it begins.
    pub(crate) from: usize,
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) rows: usize,
    /// In the order of rows.
    pub(crate) wrong: Vec<Wrong>,
    pub(crate) end: usize,
    /// Line breaks in it.
    pub(crate) lines: u64,
}

/// What is asked of wrong records.
pub(crate) struct Judge<'a> {
    pub(crate) path: &'a str,
    pub(crate) on_error: OnError,
    /// What may help where a cell cannot be read.
    pub(crate) hint: &'a str,
}

impl Judge<'_> {
    /// Adds the rows of a part to what was read; `lines` of the file are before it.
    pub(crate) fn take(&self, mut part: Part, text: &[u8], lines: u64, made: &mut Reading) -> Result<(), Error> {
        let (mut counted, mut line) = (part.from, lines + 1);
        let mut dropped: HashSet<usize> = HashSet::new();
        for wrong in part.wrong.drain(..) {
            let (start, end) = wrong.record;
            let is_known = dropped.contains(&wrong.row);
            let before = if self.on_error == OnError::Drop { dropped.len() } else { 0 };
            // What stands after the rows that are wanted was never asked for.
            if !is_known && wrong.row - before >= made.left {
                break;
            }
            line += memchr::memchr_iter(b'\n', &text[counted..start]).count() as u64;
            counted = start;
            if self.on_error == OnError::Fail {
                let hint = wrong.column.as_ref().map_or("", |_| self.hint);
                let message = format!("{}{hint}", wrong.message);
                return Err(Error::Record { path: self.path.to_owned(), line, name: wrong.column, message });
            }
            let reason = match wrong.column {
                Some(name) => format!("column {name:?}: {}", wrong.message),
                None => wrong.message,
            };
            dropped.insert(wrong.row);
            if let Some(last) = made.rejected.last_mut().filter(|_| is_known) {
                last.reason = format!("{}; {reason}", last.reason);
                continue;
            }
            let record = text[start..end].trim_ascii();
            let record = String::from_utf8_lossy(&record[..record.len().min(LONGEST_RECORD)]).into_owned();
            made.rejected.push(Rejected { source: self.path.to_owned(), position: line, record, reason });
        }
        let rows = batch(&made.schema, part.columns, part.rows).and_then(|rows| {
            if self.on_error == OnError::Null || dropped.is_empty() {
                return Ok(rows);
            }
            let kept: BooleanArray = (0..part.rows).map(|row| Some(!dropped.contains(&row))).collect();
            arrow_select::filter::filter_record_batch(&rows, &kept)
        });
        made.push(rows.map_err(|error| Error::broken(self.path, error))?);
        Ok(())
    }

    /// Adds the rows of the neighbouring parts of a block, of which so many bytes are done with them, until there are enough.
    pub(crate) fn all(
        &self,
        block: Block,
        bytes: usize,
        parts: impl IntoIterator<Item = Part>,
        made: &mut Reading,
    ) -> Result<Done, Error> {
        let mut lines = block.lines;
        for part in parts {
            if made.is_enough() {
                break;
            }
            let own = part.lines;
            self.take(part, block.text, lines, made)?;
            lines += own;
        }
        Ok(Done { bytes, lines: lines - block.lines, enough: made.is_enough() })
    }
}
