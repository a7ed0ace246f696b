//! A column read through another: outer key to inner key, then the inner cell.

use std::any::Any;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use graph::{Moment, Moved};
use rowset::RowSet;

use crate::column::{Chunk, Column, ColumnSource, NO_ROW};
use crate::error::Error;

/// An inner column under an index of inner keys; no inner key (null or [`NO_ROW`]) reads as null.
pub struct RedirectColumn {
    inner: Arc<dyn ColumnSource>,
    index: Arc<dyn ColumnSource>,
}

impl RedirectColumn {
    /// Reads `inner` through `index`, a column of UInt64.
    pub fn new(inner: Arc<dyn ColumnSource>, index: Arc<dyn ColumnSource>) -> RedirectColumn {
        debug_assert_eq!(index.data_type(), &DataType::UInt64);
        RedirectColumn { inner, index }
    }

    /// The column that is read.
    pub fn inner(&self) -> &Arc<dyn ColumnSource> {
        &self.inner
    }

    /// The inner key of each outer key.
    pub fn index(&self) -> &Arc<dyn ColumnSource> {
        &self.index
    }
}

impl ColumnSource for RedirectColumn {
    fn data_type(&self) -> &DataType {
        self.inner.data_type()
    }

    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        Ok(Arc::new(Redirected { inner: self.inner.at(moment)?, index: self.index.at(moment)? }))
    }

    /// The index alone: the inner column belongs to another table.
    fn bytes(&self) -> u64 {
        self.index.bytes()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Redirected {
    inner: Arc<dyn Column>,
    index: Arc<dyn Column>,
}

impl Redirected {
    fn through(&self, index: &ArrayRef) -> Result<Chunk, Error> {
        let index = index.as_primitive::<UInt64Type>();
        match index.nulls() {
            None => self.inner.take(index.values()),
            Some(nulls) => {
                let keys = index.values().iter().zip(nulls).map(|(&key, valid)| if valid { key } else { NO_ROW });
                self.inner.take(&keys.collect::<Vec<_>>())
            }
        }
    }
}

impl Column for Redirected {
    fn data_type(&self) -> &DataType {
        self.inner.data_type()
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, Error> {
        self.through(&self.index.read(rows)?)
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, Error> {
        self.through(&self.index.take(keys)?)
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        if rows.is_empty() { Ok(Vec::new()) } else { Ok(vec![self.read(rows)?]) }
    }
}
