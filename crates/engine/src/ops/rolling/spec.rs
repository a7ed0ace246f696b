//! What a rolling aggregation computes, and over which rows.

use column::types::can_be_key;
use formula::hidden::shown;
use formula::{Expr, Frame as Asked};

use super::window::between;
use crate::error::Error;
use crate::keys::frame::Frame;
use crate::ops::agg::Listed;
use crate::plan::spec::RollingOptions;
use crate::table::handle::Table;

/// Windows and what is aggregated in them.
pub(super) struct RollingSpec {
    pub(super) operation: String,
    /// The columns that make groups.
    pub(super) keys: Vec<usize>,
    pub(super) frame: Frame,
    /// The column of stamps, of a window between stamps.
    pub(super) stamps: Option<Stamps>,
    pub(super) aggregates: Listed,
    /// Of fewer values the result is null.
    pub(super) least: u64,
}

/// Of which column the stamps are.
pub(super) struct Stamps {
    pub(super) column: usize,
    pub(super) name: String,
    /// Whether a stamp that goes back, within a group in the order of rows, is an error.
    pub(super) ordered: bool,
}

impl RollingSpec {
    /// Checks names, types and windows.
    pub(super) fn new(
        operation: &str,
        table: &Table,
        options: &RollingOptions,
        aggregates: &[Expr],
    ) -> Result<RollingSpec, Error> {
        let keys = options.by.iter().map(|key| table.column_index(operation, key)).collect::<Result<Vec<_>, _>>()?;
        if let Some((key, column)) = options.by.iter().zip(&keys).find(|(_, at)| !can_be_key(table.column_type(**at))) {
            return Err(Error::unkeyable(operation, shown(table.schema(), key), table.column_type(*column)));
        }
        let (frame, stamps) = match (options.window.frame, &options.on) {
            (Asked::Rows { back, ahead }, None) => (by_count(operation, back, ahead, options.window.least)?, None),
            (Asked::Range { back, ahead, closed, ordered }, Some(on)) => {
                let column = table.column_index(operation, on)?;
                let name = shown(table.schema(), on).to_owned();
                let frame = between(operation, (&name, table.column_type(column)), [back, ahead], closed)?;
                (frame, Some(Stamps { column, name, ordered }))
            }
            (Asked::Rows { .. }, Some(_)) => {
                return Err(Error::schema(operation, "a window of so many rows has no column of stamps"));
            }
            (Asked::Range { .. }, None) => {
                return Err(Error::schema(operation, "a window between stamps names their column"));
            }
        };
        let (operation, least) = (operation.to_owned(), options.window.least);
        let aggregates = Listed::new(&operation, table, aggregates)?;
        Ok(RollingSpec { operation, keys, frame, stamps, aggregates, least })
    }

    /// Whether a row that comes at the end of the table may be in the window of one that is there.
    pub(super) fn looks_ahead(&self) -> bool {
        match self.frame {
            Frame::Rows { ahead, .. } => ahead > 0,
            // A later row may have an equal stamp, and unless they are in order an earlier one.
            Frame::Range { ahead, .. } => ahead >= 0 || self.stamps.as_ref().is_none_or(|stamps| !stamps.ordered),
        }
    }
}

/// The window of so many rows before the row and after it.
fn by_count(operation: &str, back: i64, ahead: i64, least: u64) -> Result<Frame, Error> {
    let rows = i128::from(back) + i128::from(ahead) + 1;
    if rows < 1 {
        let message = format!("a window from {back} rows before the row to {ahead} after it has no row in it");
        return Err(Error::invalid(operation, message));
    }
    if i128::from(least) > rows {
        let message = format!("min_samples is {least}, and the window has {rows} rows at most: no value would be left");
        return Err(Error::invalid(operation, message));
    }
    Ok(Frame::Rows { back, ahead })
}
