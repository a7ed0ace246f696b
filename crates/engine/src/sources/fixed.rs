//! Static tables: data that never changes, kept in the layout it came in.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema};
use column::{ColumnSource, FlatColumn};
use graph::Moment;
use rowset::{Positions, RowSet};

use crate::error::Error;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::snapshot::StillColumn;

/// A table of these columns, each given as consecutive arrays of its declared type.
pub fn from_chunks(schema: Arc<Schema>, columns: Vec<Vec<ArrayRef>>, rows: u64) -> Result<Table, Error> {
    unique_names("table", &schema)?;
    let mut sources: Vec<Arc<dyn ColumnSource>> = Vec::with_capacity(columns.len());
    for (field, chunks) in schema.fields().iter().zip(columns) {
        let len: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        if len as u64 != rows {
            return Err(Error::schema(
                "table",
                format!("column {:?} has {len} rows, the others have {rows}", field.name()),
            ));
        }
        let chunks = if chunks.is_empty() { vec![no_cells(field)?] } else { chunks };
        let mut start = 0;
        for chunk in &chunks {
            let told = |error: column::Error| format!("column {:?}: {}", field.name(), error.later(start));
            column::types::check_canonical(chunk).map_err(|error| Error::data("table", told(error)))?;
            start += chunk.len();
        }
        sources.push(Arc::new(FlatColumn::new(chunks)?));
    }
    of_columns(schema, sources, rows)
}

/// No cells of a column. A type that came alone, from outside, may be none.
fn no_cells(field: &Field) -> Result<ArrayRef, Error> {
    let told = |why: column::sound::Unsound| Error::schema("table", why.of(field.name()).to_string());
    column::sound::one_type(field.data_type()).map_err(told)?;
    Ok(arrow_array::new_empty_array(field.data_type()))
}

/// A static table of columns that are somewhere else, each with cells for keys 0 to `rows`.
pub fn of_columns(schema: Arc<Schema>, columns: Vec<Arc<dyn ColumnSource>>, rows: u64) -> Result<Table, Error> {
    unique_names("table", &schema)?;
    let parts = Parts {
        rows: Arc::new(LiveRows::new(RowSet::flat(rows), Moment::new(0))),
        columns,
        schema,
        attributes: Attributes { flat: true, ..Attributes::default() },
    };
    Ok(Table::fixed(parts, Request::unique("table")))
}

impl Table {
    /// A static table of the same columns and contracts, without rows. Operations over it check what they would check over
    /// this one.
    pub fn without_rows(&self) -> Result<Table, Error> {
        let empty = from_chunks(self.schema().clone(), vec![Vec::new(); self.width()], 0)?;
        let parts = Parts { attributes: self.attributes().clone(), ..empty.parts().clone() };
        Ok(Table::fixed(parts, Request::unique("table")))
    }
}

/// A table of so many rows and no columns.
pub fn empty(rows: u64) -> Result<Table, Error> {
    from_chunks(Arc::new(Schema::empty()), Vec::new(), rows)
}

/// Fails if two columns have one name.
pub(crate) fn unique_names(operation: &str, schema: &Schema) -> Result<(), Error> {
    let mut seen = std::collections::HashSet::new();
    for field in schema.fields() {
        if !seen.insert(field.name().as_str()) {
            return Err(Error::Duplicate { operation: operation.into(), name: field.name().clone() });
        }
    }
    Ok(())
}

/// The rows of a static table at some positions; shares its blocks.
pub fn selected(operation: &str, table: &Table, positions: RowSet) -> Result<Table, Error> {
    if table.is_live() {
        return Err(Error::invalid(
            operation,
            "a mask says which rows a static table keeps, and the rows of a live one change: give a condition on its \
             columns, or mask t.snapshot()",
        ));
    }
    let view = table.view()?;
    let rows = view.rows().at(&Positions(positions));
    let columns = (0..view.width()).map(|index| -> Result<Arc<dyn ColumnSource>, Error> {
        Ok(Arc::new(StillColumn(view.column(index)?.clone())))
    });
    let parts = Parts {
        rows: Arc::new(LiveRows::new(rows, Moment::new(0))),
        columns: columns.collect::<Result<_, Error>>()?,
        schema: table.schema().clone(),
        attributes: Attributes { flat: false, ..table.attributes().clone() },
    };
    Ok(Table::fixed(parts, Request::unique(operation)))
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, TimeUnit};

    use super::*;

    #[test]
    fn a_column_without_cells_has_a_type_that_there_is() {
        let item = |kind: DataType| Arc::new(Field::new("values", kind, true));
        let runs = DataType::RunEndEncoded(item(DataType::UInt64), item(DataType::Int64));
        for kind in [runs, DataType::Time32(TimeUnit::Nanosecond), DataType::FixedSizeBinary(-1)] {
            let schema = Arc::new(Schema::new(vec![Field::new("x", kind.clone(), true)]));
            let refused = from_chunks(schema, vec![Vec::new()], 0).err().expect("it is no type").to_string();
            assert!(refused.contains("column \"x\"") && refused.contains("is no type"), "{refused}");
        }
    }
}
