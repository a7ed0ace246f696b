//! One value for every key.

use std::any::Any;
use std::sync::Arc;

use arrow_array::{Array, UInt64Array, new_null_array};
use arrow_schema::DataType;
use arrow_select::take::take;
use graph::{Moment, Moved};
use rowset::RowSet;

use crate::column::{Chunk, Column, ColumnSource, NO_ROW};
use crate::error::Error;
use crate::types::kind;

/// The same value whatever the key and the moment.
#[derive(Clone)]
pub struct ConstantColumn {
    value: Chunk,
}

impl ConstantColumn {
    /// The one cell of `value`.
    pub fn new(value: &Chunk) -> Result<ConstantColumn, Error> {
        match value.len() {
            1 => Ok(ConstantColumn { value: kind::to_canonical(value)? }),
            cells => Err(Error::Length { rows: 1, cells: cells as u64 }),
        }
    }

    fn repeated(&self, len: usize) -> Result<Chunk, Error> {
        limits::ask_rows(len as u64, kind::width(self.value.data_type()))?;
        if self.value.is_null(0) {
            return Ok(new_null_array(self.value.data_type(), len));
        }
        Ok(take(&self.value, &UInt64Array::from_value(0, len), None)?)
    }
}

impl ColumnSource for ConstantColumn {
    fn data_type(&self) -> &DataType {
        self.value.data_type()
    }

    fn at(&self, _moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        Ok(Arc::new(self.clone()))
    }

    fn bytes(&self) -> u64 {
        self.value.get_array_memory_size() as u64
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Column for ConstantColumn {
    fn data_type(&self) -> &DataType {
        self.value.data_type()
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, Error> {
        self.repeated(rows.len() as usize)
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, Error> {
        if !keys.contains(&NO_ROW) {
            return self.repeated(keys.len());
        }
        let places: UInt64Array = keys.iter().map(|&key| (key != NO_ROW).then_some(0)).collect();
        Ok(take(&self.value, &places, None)?)
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        if rows.is_empty() { Ok(Vec::new()) } else { Ok(vec![self.read(rows)?]) }
    }
}
