//! Reading the cells that an update of an aggregation needs, in parallel on the graph's threads.

use std::vec::IntoIter;

use column::Chunk;
use rowset::RowSet;

use super::groups::{AggregationSpec, Cells};
use crate::error::Error;
use crate::table::view::View;

/// A read request: cells of some rows.
pub(super) enum ReadRequest<'a> {
    /// Keys, and the inputs that states keep.
    Cells(&'a View, &'a RowSet),
    Keys(&'a View, &'a RowSet),
    /// One input.
    Input(usize, &'a View, &'a RowSet),
}

/// The result of one read request.
enum Reading {
    Cells(Cells),
    Keys(Vec<Chunk>),
    Input(Chunk),
}

/// The results, in the order of the requests.
pub(super) struct ReadResults(IntoIter<Reading>);

impl ReadResults {
    /// Reads everything; in parallel, unless there is little to read or an input calls a user function.
    pub(super) fn of(maker: &AggregationSpec, wanted: &[ReadRequest<'_>]) -> Result<ReadResults, Error> {
        let rows: u64 = wanted.iter().map(ReadRequest::rows).sum();
        let most = wanted.iter().map(ReadRequest::rows).max().unwrap_or_default();
        let worth_it = most < rows && maker.is_split(rows);
        Ok(ReadResults(
            crate::threads::parallel::try_map(worth_it, wanted, |_, wanted| wanted.read(maker))?.into_iter(),
        ))
    }

    pub(super) fn cells(&mut self) -> Result<Cells, Error> {
        match self.0.next() {
            Some(Reading::Cells(cells)) => Ok(cells),
            _ => Err(out_of_order()),
        }
    }

    pub(super) fn keys(&mut self) -> Result<Vec<Chunk>, Error> {
        match self.0.next() {
            Some(Reading::Keys(keys)) => Ok(keys),
            _ => Err(out_of_order()),
        }
    }

    pub(super) fn input(&mut self) -> Result<Chunk, Error> {
        match self.0.next() {
            Some(Reading::Input(cells)) => Ok(cells),
            _ => Err(out_of_order()),
        }
    }
}

fn out_of_order() -> Error {
    Error::internal("group_by", "cells were taken in another order than they were read")
}

impl ReadRequest<'_> {
    fn rows(&self) -> u64 {
        match self {
            ReadRequest::Cells(_, rows) | ReadRequest::Keys(_, rows) | ReadRequest::Input(_, _, rows) => rows.len(),
        }
    }

    fn read(&self, maker: &AggregationSpec) -> Result<Reading, Error> {
        Ok(match self {
            // A user function is not called for zero rows.
            ReadRequest::Cells(_, rows) if rows.is_empty() => Reading::Cells(Cells::default()),
            ReadRequest::Cells(view, rows) => Reading::Cells(maker.cells(view, rows)?),
            ReadRequest::Keys(view, rows) => Reading::Keys(maker.keys(view, rows)?),
            ReadRequest::Input(input, view, rows) => Reading::Input(maker.input(*input).evaluate(view, rows)?),
        })
    }
}
