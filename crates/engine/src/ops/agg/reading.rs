//! Reading the cells that an update of an aggregation needs, in parallel on the graph's threads.

use std::vec::IntoIter;

use column::Chunk;
use rowset::RowSet;

use super::groups::{Cells, Maker};
use crate::error::Error;
use crate::table::view::View;

/// A read request: cells of some rows.
pub(super) enum Wanted<'a> {
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
pub(super) struct Readings(IntoIter<Reading>);

impl Readings {
    /// Reads everything; in parallel, unless there is little to read or an input calls a user function.
    pub(super) fn of(maker: &Maker, wanted: &[Wanted<'_>]) -> Result<Readings, Error> {
        let rows: u64 = wanted.iter().map(Wanted::rows).sum();
        let most = wanted.iter().map(Wanted::rows).max().unwrap_or_default();
        let worth_it = most < rows && maker.is_split(rows);
        Ok(Readings(crate::threads::parallel::try_map(worth_it, wanted, |_, wanted| wanted.read(maker))?.into_iter()))
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

impl Wanted<'_> {
    fn rows(&self) -> u64 {
        match self {
            Wanted::Cells(_, rows) | Wanted::Keys(_, rows) | Wanted::Input(_, _, rows) => rows.len(),
        }
    }

    fn read(&self, maker: &Maker) -> Result<Reading, Error> {
        Ok(match self {
            // A user function is not called for zero rows.
            Wanted::Cells(_, rows) if rows.is_empty() => Reading::Cells(Cells::default()),
            Wanted::Cells(view, rows) => Reading::Cells(maker.cells(view, rows)?),
            Wanted::Keys(view, rows) => Reading::Keys(maker.keys(view, rows)?),
            Wanted::Input(input, view, rows) => Reading::Input(maker.input(*input).evaluate(view, rows)?),
        })
    }
}
