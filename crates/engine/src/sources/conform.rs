//! Data against a schema: by name, all columns and no others, safe widening only. A mismatch names
//! the column and both types, and nothing of the call is applied.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use column::Chunk;
use column::types::{canonical, cast, fits, to_canonical, widens};

use crate::error::Error;
use crate::table::categories::stranger;

/// The batch's columns in the order of the schema, in canonical types.
pub fn conform(operation: &str, schema: &Schema, batch: &RecordBatch) -> Result<Vec<Chunk>, Error> {
    let places = places(operation, schema, names(&batch.schema()))?;
    let cells = |(field, place): (&Arc<Field>, &usize)| fit(operation, field, batch.column(*place));
    schema.fields().iter().zip(&places).map(cells).collect()
}

/// Some columns of the schema, by name: their positions and cells. For modified rows and keys.
pub fn conform_some(operation: &str, schema: &Schema, batch: &RecordBatch) -> Result<Vec<(usize, Chunk)>, Error> {
    let given = batch.schema();
    given
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, cells)| {
            let index =
                schema.index_of(field.name()).map_err(|_| Error::no_column(operation, field.name(), names(schema)))?;
            Ok((index, fit(operation, schema.field(index), cells)?))
        })
        .collect()
}

/// Batches with the columns `found` as batches with those of `wanted`, in their declared types.
///
/// # Errors
/// A column is missing, extra or there twice; its type may hold what the declared one cannot; a cell is none of the
/// categories that its column names.
pub fn in_schema(
    operation: &str,
    found: &Schema,
    batches: &[RecordBatch],
    wanted: &SchemaRef,
) -> Result<Vec<RecordBatch>, Error> {
    let places = places(operation, wanted, names(found))?;
    let in_schema = |batch: &RecordBatch| {
        let cells = |(field, place): (&Arc<Field>, &usize)| declared(operation, field, batch.column(*place));
        let columns = wanted.fields().iter().zip(&places).map(cells).collect::<Result<_, Error>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(wanted.clone(), columns, &options)?)
    };
    batches.iter().map(in_schema).collect()
}

/// Refuses names that are not those of the schema, each once.
pub fn check_names<'a>(operation: &str, schema: &Schema, found: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    places(operation, schema, found).map(drop)
}

fn names(schema: &Schema) -> impl Iterator<Item = &str> {
    schema.fields().iter().map(|field| field.name().as_str())
}

/// Where each column of `wanted` is among these names, which are no others.
fn places<'a>(operation: &str, wanted: &Schema, found: impl Iterator<Item = &'a str>) -> Result<Vec<usize>, Error> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut extra = Vec::new();
    for (place, name) in found.enumerate() {
        if known.insert(name, place).is_some() {
            return Err(Error::Duplicate { operation: operation.into(), name: name.to_owned() });
        }
        if wanted.index_of(name).is_err() {
            extra.push(name);
        }
    }
    let missing: Vec<&str> = names(wanted).filter(|name| !known.contains_key(name)).collect();
    if missing.is_empty() && extra.is_empty() {
        return Ok(names(wanted).map(|name| known[name]).collect());
    }
    let listed = |what: &str, names: &[&str]| {
        let plural = if names.len() == 1 { "column" } else { "columns" };
        let quoted = names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("{what} {plural} {quoted}"))
    };
    let wrong = [listed("missing", &missing), listed("extra", &extra)].into_iter().flatten().collect::<Vec<_>>();
    let columns: Vec<&str> = names(wanted).collect();
    Err(Error::schema(operation, format!("{}; the columns are {columns:?}", wrong.join(" and "))))
}

/// One column's cells in the declared type, in its canonical form.
fn fit(operation: &str, field: &Field, cells: &Chunk) -> Result<Chunk, Error> {
    // Types of one canonical form are stored alike.
    let same = canonical(cells.data_type()) == canonical(field.data_type());
    let cells = if same { cells.clone() } else { declared(operation, field, cells)? };
    let name = field.name();
    let wrong = |error: column::Error| Error::data(operation, format!("column {name:?}: {error}"));
    let cells = to_canonical(&cells).map_err(wrong)?;
    fits(&cells).map_err(|error| Error::Resource {
        operation: operation.into(),
        message: format!(
            "column {name:?}: {error}; cut it, or keep it elsewhere and its name here (nothing was applied)"
        ),
    })?;
    Ok(cells)
}

/// One column's cells in the declared type, if every possible value of their own type has one there.
fn declared(operation: &str, field: &Field, cells: &ArrayRef) -> Result<ArrayRef, Error> {
    let (name, given, wanted) = (field.name(), cells.data_type(), field.data_type());
    let (is, holds) = (formula::type_name(wanted), formula::type_name(given));
    let made = match given {
        _ if given == wanted => cells.clone(),
        DataType::Null => new_null_array(wanted, cells.len()),
        _ if !widens(given, wanted) => {
            let message = format!("column {name:?} is {is}, but the data holds {holds}; cast the data to {is} first");
            return Err(Error::types(operation, message));
        }
        _ if shown_bytes(cells) > i32::MAX as u64 => {
            let message = format!(
                "column {name:?} has {} bytes of text in one piece, more than the 2 GiB that one may have; give it in \
                 several calls",
                shown_bytes(cells)
            );
            return Err(Error::Resource { operation: operation.into(), message });
        }
        _ => cast(cells, wanted).map_err(|why| Error::data(operation, format!("column {name:?} is {is}: {why}")))?,
    };
    match stranger(field, &made) {
        Some(why) => Err(Error::data(operation, format!("{why} (nothing was applied)"))),
        None => Ok(made),
    }
}

/// The bytes that views show: more, perhaps, than they have, since several may show the same.
fn shown_bytes(array: &ArrayRef) -> u64 {
    let all = |lengths: &mut dyn Iterator<Item = u32>| lengths.map(u64::from).sum();
    match array.data_type() {
        DataType::Utf8View => all(&mut array.as_string_view().lengths()),
        DataType::BinaryView => all(&mut array.as_binary_view().lengths()),
        _ => 0,
    }
}
