//! Data against a schema: by name, all columns and no others, safe widening only. A mismatch names
//! the column and both types, and nothing of the call is applied.

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use column::Chunk;

use crate::error::Error;

/// The batch's columns in the order of the schema, in canonical types.
pub fn conform(operation: &str, schema: &Schema, batch: &RecordBatch) -> Result<Vec<Chunk>, Error> {
    let given = batch.schema();
    let extra = given.fields().iter().find(|field| schema.field_with_name(field.name()).is_err());
    if let Some(extra) = extra {
        return Err(Error::schema(
            operation,
            format!("column {:?} is not in the table; its columns are {}", extra.name(), names(schema)),
        ));
    }
    let mut seen = std::collections::HashSet::new();
    if let Some(twice) = given.fields().iter().find(|field| !seen.insert(field.name())) {
        return Err(Error::Duplicate { operation: operation.into(), name: twice.name().clone() });
    }
    schema
        .fields()
        .iter()
        .map(|field| {
            let index = given.index_of(field.name()).map_err(|_| {
                Error::schema(
                    operation,
                    format!("column {:?} is missing; the columns needed are {}", field.name(), names(schema)),
                )
            })?;
            fit(operation, field.name(), batch.column(index), field.data_type())
        })
        .collect()
}

/// Some columns of the schema, by name: their positions and cells. For modified rows and keys.
pub fn conform_some(operation: &str, schema: &Schema, batch: &RecordBatch) -> Result<Vec<(usize, Chunk)>, Error> {
    let given = batch.schema();
    given
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, cells)| {
            let index = schema.index_of(field.name()).map_err(|_| {
                Error::no_column(operation, field.name(), schema.fields().iter().map(|field| field.name().as_str()))
            })?;
            Ok((index, fit(operation, field.name(), cells, schema.field(index).data_type())?))
        })
        .collect()
}

/// One column's cells as the declared type, in its canonical form.
fn fit(operation: &str, name: &str, cells: &Chunk, wanted: &DataType) -> Result<Chunk, Error> {
    let given = cells.data_type();
    let canonical = column::types::canonical(wanted);
    if given != wanted && column::types::canonical(given) != canonical && !column::types::widens(given, &canonical) {
        let (wanted, given) = (formula::type_name(wanted), formula::type_name(given));
        return Err(Error::types(
            operation,
            format!("column {name:?} is {wanted}, the data given is {given}; cast it first (nothing was applied)"),
        ));
    }
    let wrong = |error: column::Error| Error::data(operation, format!("column {name:?}: {error}"));
    let mut cells = column::types::to_canonical(cells).map_err(wrong)?;
    if cells.data_type() != &canonical {
        cells = column::types::cast(&cells, &canonical).map_err(wrong)?;
    }
    column::types::fits(&cells).map_err(|error| Error::Resource {
        operation: operation.into(),
        message: format!(
            "column {name:?}: {error}; cut it, or keep it elsewhere and its name here (nothing was applied)"
        ),
    })?;
    Ok(cells)
}

fn names(schema: &Schema) -> String {
    schema.fields().iter().map(|field| format!("{:?}", field.name())).collect::<Vec<_>>().join(", ")
}
