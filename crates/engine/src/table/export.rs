//! A table as Arrow record batches, in its declared types; memory that lies together leaves as one
//! batch without a copy.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use column::Chunk;
use rowset::RowSet;

use crate::error::Error;
use crate::table::categories::in_order;
use crate::table::handle::Table;
use crate::table::view::View;

/// The rows of a view as few batches. `declared` restores the declared types; without it strings
/// and times leave as they are inside.
pub fn batches(table: &Table, view: &View, declared: bool) -> Result<Vec<RecordBatch>, Error> {
    batches_of(table, view, view.rows(), &(0..view.width()).collect::<Vec<_>>(), declared)
}

/// Some rows and columns of a view as few batches.
pub fn batches_of(
    table: &Table,
    view: &View,
    rows: &RowSet,
    columns: &[usize],
    declared: bool,
) -> Result<Vec<RecordBatch>, Error> {
    let schema = if declared { table.schema() } else { table.canonical() };
    let schema = Arc::new(schema.project(columns)?);
    let worth_it = rows.len() * columns.len() as u64 > 1 << 20;
    let pieces: Vec<Vec<Chunk>> = crate::threads::parallel::try_map(worth_it, columns, |at, column| {
        let source = view.column(*column)?;
        let field = schema.field(at);
        let pieces = if declared { source.export(rows, field.data_type())? } else { source.pieces(rows)? };
        match field.dict_is_ordered() {
            Some(true) => pieces.into_iter().map(|piece| in_order(field, piece)).collect(),
            _ => Ok::<_, Error>(pieces),
        }
    })?;
    align(&pieces, rows.len() as usize)
        .into_iter()
        .map(|(arrays, rows)| {
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            Ok(RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?)
        })
        .collect()
}

/// Cuts each column's pieces at the borders of all columns.
fn align(columns: &[Vec<Chunk>], rows: usize) -> Vec<(Vec<ArrayRef>, usize)> {
    if columns.is_empty() {
        return if rows == 0 { Vec::new() } else { vec![(Vec::new(), rows)] };
    }
    let mut at: Vec<(usize, usize)> = vec![(0, 0); columns.len()];
    let mut batches = Vec::new();
    let mut left = rows;
    while left > 0 {
        for (pieces, (piece, offset)) in columns.iter().zip(&mut at) {
            while *offset == pieces[*piece].len() {
                (*piece, *offset) = (*piece + 1, 0);
            }
        }
        let rest = columns.iter().zip(&at).map(|(pieces, (piece, offset))| pieces[*piece].len() - offset);
        let len = rest.min().unwrap_or(left);
        let cut = columns.iter().zip(&mut at).map(|(pieces, (piece, offset))| {
            let array = &pieces[*piece];
            let cut = if *offset == 0 && len == array.len() { array.clone() } else { array.slice(*offset, len) };
            *offset += len;
            cut
        });
        batches.push((cut.collect(), len));
        left -= len;
    }
    batches
}

/// The cells of one chunk as the declared type of a column.
pub fn declared(table: &Table, column: usize, chunk: &Chunk) -> Result<ArrayRef, Error> {
    let field = table.schema().field(column);
    in_order(field, column::types::to_declared(chunk, field.data_type())?)
}
