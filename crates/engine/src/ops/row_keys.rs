//! A table with a column of its row keys: for operations that come back to them from another order of its rows, and for
//! aggregates of row keys.
//!
//!   in   + 0 A    + 4 B          out   + 0 A 0    + 4 B 4
//!   in   > [4..4]-3              out   > [4..4]-3                  the cell is 1 now, which nobody is told
//!                               told  > [4..4]-3  ~ 1 . 1         unless the reader is to be told
//!
//! Rows and columns shared; nothing is stored. Between two tables of an operation's own: where shifts are not told they change
//! cells without a word, and the reader knows that. Cost of an update: none, or the rows that shift.

use std::any::Any;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, UInt64Array};
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
    /// Whether rows that shift are told as modified; keys are Int64 then, as users know them.
    told: bool,
}

impl RowKeys {
    /// Under this name, which is hidden.
    pub fn new(operation: &str, name: &ColumnName) -> RowKeys {
        RowKeys { request: Request::new(operation, &Asked::RowKeys { name }), name: name.clone(), told: false }
    }

    /// As a value like any other, which changes as its row shifts.
    pub fn told(operation: &str, name: &ColumnName) -> RowKeys {
        let request = Request::new(operation, &Asked::ToldRowKeys { name });
        RowKeys { request, name: name.clone(), told: true }
    }

    fn data_type(&self) -> DataType {
        if self.told { DataType::Int64 } else { DataType::UInt64 }
    }

    fn parts(&self, table: &Table) -> Parts {
        let of_table = table.parts();
        let fields = table.schema().fields().iter().map(|field| field.as_ref().clone());
        let fields: Vec<_> = fields.chain([self.name.field(self.data_type())]).collect();
        let keys = [Arc::new(KeyColumn(self.data_type())) as Arc<dyn ColumnSource>];
        let columns = of_table.columns.iter().cloned().chain(keys).collect();
        Parts { columns, schema: Arc::new(Schema::new(fields)), ..of_table.clone() }
    }
}

impl Operation for RowKeys {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], _: Moment) -> Result<Start, Error> {
        Ok(Start {
            parts: self.parts(&inputs[0].table),
            live: Box::new(RowKeysLive { told: self.told.then(|| inputs[0].table.width()) }),
            owned: Vec::new(),
        })
    }
}

struct RowKeysLive {
    /// The place of the column, if its changes are told.
    told: Option<usize>,
}

impl Live for RowKeysLive {
    fn update(&mut self, inputs: &[Change], _: Step) -> Result<TableUpdate, Error> {
        let update = inputs[0].update();
        let mut made = update.clone();
        let Some(column) = self.told else { return Ok(made) };
        let moved = update.shifts.forward(&inputs[0].rekeyed_rows(&update.removed));
        if !moved.is_empty() {
            made.modified = &made.modified | &moved;
            made.columns.insert(column);
        }
        Ok(made)
    }
}

/// The key of each row, at any moment.
#[derive(Clone)]
struct KeyColumn(DataType);

impl KeyColumn {
    fn typed(&self, keys: UInt64Array) -> ArrayRef {
        match self.0 {
            DataType::Int64 => Arc::new(keys.unary::<_, Int64Type>(|key| key as i64)),
            _ => Arc::new(keys),
        }
    }
}

impl ColumnSource for KeyColumn {
    fn data_type(&self) -> &DataType {
        &self.0
    }

    fn at(&self, _: Moment) -> Result<Arc<dyn Column>, Moved> {
        Ok(Arc::new(self.clone()))
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
        &self.0
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, column::Error> {
        limits::ask_rows(rows.len(), size_of::<u64>() as u64)?;
        Ok(self.typed(UInt64Array::from(rows.to_vec())))
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, column::Error> {
        let key = |key: &u64| if *key == NO_ROW { None } else { Some(*key) };
        Ok(self.typed(keys.iter().map(key).collect::<UInt64Array>()))
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
