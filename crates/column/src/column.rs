//! The column interface: a source changes from step to step, a column is its immutable value at one moment.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array};
use arrow_schema::DataType;
use arrow_select::take::take;
use graph::{Moment, Moved};
use rowset::RowSet;

use crate::error::Error;
use crate::types::kind;

/// Cells as an Arrow array of canonical type.
pub type Chunk = ArrayRef;

/// Cells as codes: the place of each in an array of values, or null.
#[derive(Clone, Debug)]
pub struct Coded {
    /// One a cell.
    pub codes: Int32Array,
    /// Values of canonical type, used or not. Cells of one column over the same values share the array.
    pub values: Chunk,
}

impl Coded {
    /// The cells themselves.
    ///
    /// # Panics
    /// If a code is no place among the values.
    pub fn cells(&self) -> Result<Chunk, Error> {
        Ok(take(&self.values, &self.codes as &dyn Array, None)?)
    }
}

/// The row key that means "no row": [`Column::take`] returns null for it.
pub const NO_ROW: u64 = u64::MAX;

/// A column of cells by row key that changes from step to step.
pub trait ColumnSource: Send + Sync {
    /// The canonical type of every chunk this source gives.
    fn data_type(&self) -> &DataType;
    /// The column at `moment`, an immutable value that no later step changes; `Moved` if that moment is gone.
    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved>;
    /// Bytes of memory this source keeps for its cells.
    fn bytes(&self) -> u64;
    /// The concrete source, for a downcast.
    fn as_any(&self) -> &dyn Any;
}

/// The cells of a source at one moment.
///
/// Only rows of the table at that moment have defined cells. Any other key reads as null or as an old cell, and is
/// never a fault.
pub trait Column: Send + Sync {
    /// The canonical type of every chunk.
    fn data_type(&self) -> &DataType;
    /// One cell per key, in key order. Contiguous keys over contiguous memory give a slice without a copy.
    fn read(&self, rows: &RowSet) -> Result<Chunk, Error>;
    /// One cell per key in the order given; keys may repeat, [`NO_ROW`] gives null.
    fn take(&self, keys: &[u64]) -> Result<Chunk, Error>;
    /// As [`Column::read`], as codes of values of canonical type, where the cells are stored so and all of these rows have one array
    /// of values.
    fn read_coded(&self, _rows: &RowSet) -> Result<Option<Coded>, Error> {
        Ok(None)
    }
    /// What is known of its cells without reading them, if it is kept.
    fn zones(&self) -> Option<Arc<Zones>> {
        None
    }
    /// The first key of each array in which its cells lie, ascending; none where they lie otherwise. Rows within one are read without
    /// a copy.
    fn starts(&self) -> &[u64] {
        &[]
    }
    /// The cells of `rows` in key order, in as few pieces without a copy as memory allows.
    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, Error>;
    /// As [`Column::pieces`], in the declared type. Cells stored in that type are not copied. Texts that take more
    /// bytes than one array of that type can hold become several arrays.
    fn export(&self, rows: &RowSet, declared: &DataType) -> Result<Vec<Chunk>, Error> {
        kind::to_declared_pieces(self.pieces(rows)?, declared)
    }
}

/// What is known of the cells of neighbouring rows: the statistics that a file has of its parts.
#[derive(Debug)]
pub struct Zones {
    /// The first key of each zone, ascending; a zone ends where the next one begins.
    pub starts: Vec<u64>,
    /// After the last key of the last zone.
    pub end: u64,
    /// No cell of the zone is less; null where that is not known. Of canonical type.
    pub least: Chunk,
    /// No cell of the zone that is not NaN is greater; null where that is not known. Of canonical type.
    pub most: Chunk,
    /// What is known of the nulls of each zone.
    pub nulls: Vec<Nulls>,
    /// What tells of single values, where something does.
    pub members: Option<Arc<dyn Members>>,
}

/// What tells of values whether a zone may have them.
pub trait Members: Debug + Send + Sync {
    /// Of some zones, by their numbers, those in which a cell may be one of these values; they are of the column's canonical type,
    /// and none is null.
    fn may_hold(&self, zones: &RowSet, values: &Chunk) -> RowSet;
}

/// What is known of the nulls among the cells of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// Nothing.
    Unknown,
    /// No cell is null.
    None,
    /// Every cell is null.
    All,
}
