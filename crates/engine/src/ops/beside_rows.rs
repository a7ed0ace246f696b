//! A table's own rows and columns with new columns beside them, which look at other rows of a group.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use column::ColumnSource;
use formula::ColumnName;

use super::select::{Output, declared_type};
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};

/// What the table is with these columns. `ahead`: whether one of them looks at later rows.
pub(super) fn widened<'a>(
    table: &Table,
    made: impl Iterator<Item = (&'a ColumnName, &'a DataType)>,
    ahead: bool,
    sources: Vec<Arc<dyn ColumnSource>>,
) -> Parts {
    let mut fields: Vec<Field> = table.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
    fields.extend(made.map(|(name, data_type)| name.field(declared_type(data_type))));
    let kept = table.attributes();
    let append_only = kept.append_only && !ahead;
    // A row that comes between others is a neighbour of one that is there.
    let attributes = Attributes { append_only, add_only: kept.add_only && append_only, ..kept.clone() };
    let attributes = Attributes { key: Vec::new(), sorted_by: Vec::new(), ..attributes };
    let columns = table.parts().columns.iter().cloned().chain(sources).collect();
    Parts { rows: table.parts().rows.clone(), columns, schema: Arc::new(Schema::new(fields)), attributes }
}

/// The columns of that table, of which so many are new.
pub(super) fn outputs(table: &Table, made: usize) -> Vec<Output> {
    let shared = |index: usize| Output::Shared(index, table.schema().field(index).name().clone());
    (0..table.width()).map(shared).chain((0..made).map(Output::Computed)).collect()
}
