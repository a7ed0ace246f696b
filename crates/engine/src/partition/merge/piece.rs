//! A constituent that is stacked: of a table of its own, or of a slot of the lifted rows.

use std::sync::Arc;

use graph::Step;
use rowset::RowSet;

use crate::driver::when::When;
use crate::error::Error;
use crate::ops::stacked::{Ends, Sources, ends_of};
use crate::partition::Members;
use crate::partition::lifted::LiftedRows;
use crate::table::handle::Table;
use crate::table::update::TableUpdate;

/// A constituent that is stacked.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) id: u64,
    pub(super) of: Rows,
}

/// Where the rows of a constituent are.
#[derive(Clone)]
pub(super) enum Rows {
    /// In a table of its own.
    Table(Table),
    /// In a slot of the lifted rows.
    Slot(u32),
}

impl Rows {
    pub(super) fn table(&self) -> Option<&Table> {
        match self {
            Rows::Table(table) => Some(table),
            Rows::Slot(_) => None,
        }
    }

    pub(super) fn slot(&self) -> Option<u32> {
        match self {
            Rows::Table(_) => None,
            Rows::Slot(slot) => Some(*slot),
        }
    }
}

impl Piece {
    pub(super) fn table(members: &Arc<dyn Members>, id: u64, when: When) -> Result<Piece, Error> {
        let table = members.clone().member(id, when)?.table(None)?;
        Ok(Piece { id, of: Rows::Table(table) })
    }

    pub(super) fn rows_at(&self, lifted: Option<&LiftedRows>, when: When) -> Result<RowSet, Error> {
        let gone = || Error::internal("merge", "a constituent was read after its moment was gone");
        match (&self.of, lifted) {
            (Rows::Table(table), _) => {
                table.alive()?;
                table.rows_at(when.moment()).map_err(|_| gone())
            }
            (Rows::Slot(slot), Some(lifted)) => Ok(lifted.rows(*slot)),
            (Rows::Slot(_), None) => Err(gone()),
        }
    }

    /// Its first and its last row.
    pub(super) fn ends_at(&self, lifted: Option<&LiftedRows>, when: When) -> Result<Ends, Error> {
        match (&self.of, lifted) {
            (Rows::Slot(slot), Some(lifted)) => Ok(lifted.ends(*slot)),
            _ => Ok(ends_of(&self.rows_at(lifted, when)?)),
        }
    }

    pub(super) fn sources(&self, lifted: Option<&LiftedRows>) -> Sources {
        match (&self.of, lifted) {
            (Rows::Table(table), _) => table.parts().columns.clone().into(),
            (Rows::Slot(_), lifted) => lifted.map(LiftedRows::sources).unwrap_or_default(),
        }
    }

    /// The update of its table, if it has one and that changed in this step.
    pub(super) fn update_in(&self, step: Step) -> Result<Option<Arc<TableUpdate>>, Error> {
        let Some(table) = self.of.table() else { return Ok(None) };
        table.alive()?;
        if table.last_step() != step.number() {
            return Ok(None);
        }
        Ok(table.node().and_then(|node| node.update_in(step)))
    }
}

/// The slots of pieces, with their places.
pub(super) fn shown(pieces: &[Piece]) -> impl Iterator<Item = (u32, usize)> + '_ {
    pieces.iter().enumerate().filter_map(|(place, piece)| Some((piece.of.slot()?, place)))
}
