//! A table with a column of its row keys, for operations that come back to them from another order of its rows.
//!
//!   in   + 0 A    + 4 B          out   + 0 A 0    + 4 B 4
//!   in   > [4..4]-3              out   > [4..4]-3        the cell is 1 now, which nobody is told
//!
//! Rows and columns shared; nothing is stored. Between two tables of an operation's own: a shift changes cells without a word,
//! and the reader knows that. Cost of an update: none.

use std::any::Any;
use std::sync::Arc;

use arrow_array::UInt64Array;
use arrow_schema::{DataType, Schema};
use column::{Chunk, Column, ColumnSource, NO_ROW};
use formula::ColumnName;
use graph::{Moment, Moved, Step};
use rowset::RowSet;

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::asked::Asked;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::update::TableUpdate;

/// The columns of a table, then its row keys.
pub struct RowKeys {
    request: Request,
    name: ColumnName,
}

impl RowKeys {
    /// Under this name, which is hidden.
    pub fn new(operation: &str, name: &ColumnName) -> RowKeys {
        RowKeys { request: Request::new(operation, &Asked::RowKeys { name }), name: name.clone() }
    }

    fn parts(&self, table: &Table) -> Parts {
        let of_table = table.parts();
        let fields = table.schema().fields().iter().map(|field| field.as_ref().clone());
        let fields: Vec<_> = fields.chain([self.name.field(DataType::UInt64)]).collect();
        let keys = [Arc::new(KeyColumn) as Arc<dyn ColumnSource>];
        let columns = of_table.columns.iter().cloned().chain(keys).collect();
        Parts { columns, schema: Arc::new(Schema::new(fields)), ..of_table.clone() }
    }
}

impl Operation for RowKeys {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], _: Moment) -> Result<Start, Error> {
        Ok(Start { parts: self.parts(&inputs[0].table), live: Box::new(RowKeysLive), owned: Vec::new() })
    }
}

struct RowKeysLive;

impl Live for RowKeysLive {
    fn update(&mut self, inputs: &[Change], _: Step) -> Result<TableUpdate, Error> {
        Ok(inputs[0].update().clone())
    }
}

/// The key of each row, at any moment.
struct KeyColumn;

impl ColumnSource for KeyColumn {
    fn data_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn at(&self, _: Moment) -> Result<Arc<dyn Column>, Moved> {
        Ok(Arc::new(KeyColumn))
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Column for KeyColumn {
    fn data_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, column::Error> {
        limits::ask_rows(rows.len(), size_of::<u64>() as u64)?;
        Ok(Arc::new(UInt64Array::from(rows.to_vec())))
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, column::Error> {
        let key = |key: &u64| if *key == NO_ROW { None } else { Some(*key) };
        Ok(Arc::new(keys.iter().map(key).collect::<UInt64Array>()))
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, column::Error> {
        if rows.is_empty() { Ok(Vec::new()) } else { Ok(vec![self.read(rows)?]) }
    }
}

#[cfg(test)]
mod tests {
    /// By its key each row finds itself.
    #[test]
    fn law() {
        super::super::brought_home::tests::check(200, false);
    }
}
