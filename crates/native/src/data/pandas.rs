//! A pandas frame: columns of plain numbers straight from the memory that NumPy holds, all others by way of pyarrow.

use std::collections::HashMap;
use std::sync::Arc;

use ::column::sound::Tally;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Data, batch_of, checked, in_schema, of_arrow};
use crate::arrow::Sharing;
use crate::cells::Place;
use crate::error::{TypeMismatchError, exhausted};
use crate::{gil::without_gil, numpy};

/// Whether this is a frame or a series of pandas.
pub(super) fn is_frame(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = data.get_type();
    let module: String = class.getattr("__module__")?.extract()?;
    Ok(module.starts_with("pandas.") && matches!(class.name()?.to_str()?, "DataFrame" | "Series"))
}

/// The rows of a frame, without its index. A float that is NaN is missing, as pandas means it.
pub(super) fn of_frame(
    operation: &str,
    frame: &Bound<'_, PyAny>,
    schema: Option<&SchemaRef>,
    sharing: Sharing,
) -> PyResult<Data> {
    // pyarrow lends the memory of plain columns as it is: nothing is faster where that is promised.
    if sharing == Sharing::Promised {
        return of_arrow(operation, &by_arrow(operation, frame)?, schema, sharing);
    }
    let split = frame.py().import("tickframe.interchange")?.call_method1("plain_columns", (frame,))?;
    let (plain, others) = split.extract::<(Bound<'_, PyDict>, Bound<'_, PyAny>)>()?;
    if plain.is_empty() {
        return of_arrow(operation, &by_arrow(operation, frame)?, schema, sharing);
    }
    let names: Vec<String> = frame.getattr("columns")?.call_method0("tolist")?.extract()?;
    checked(operation, Tally::columns(names.len()))?;
    names.iter().try_for_each(|name| checked(operation, Tally::name(name.len())))?;
    let others = match names.len() == plain.len() {
        true => None,
        false => Some(of_arrow(operation, &by_arrow(operation, &others)?, None, sharing)?),
    };
    let numbers = plain.iter().map(|(name, cells)| {
        let name: String = name.extract()?;
        let array = number(&Place { operation, column: &name }.to_string(), &cells)?;
        Ok((name, array))
    });
    let data = joined(&names, &numbers.collect::<PyResult<_>>()?, others)?;
    match schema {
        None => Ok(data),
        Some(wanted) => in_schema(frame.py(), operation, data.batches, &data.schema, wanted),
    }
}

/// The frame as pyarrow has it.
fn by_arrow<'py>(operation: &str, frame: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    frame.py().import("tickframe.interchange")?.call_method1("arrow_of_pandas", (operation, frame))
}

fn number(of: &str, cells: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let array = numpy::import(of, cells)?
        .ok_or_else(|| TypeMismatchError::new_err(format!("{of}: {} is no column of numbers", cells.get_type())))?;
    limits::ask(array.len() as u64 / 8).map_err(|why| exhausted(of, &why))?;
    without_gil(cells.py(), move || match array.data_type() {
        DataType::Float32 => present::<Float32Type>(&array, f32::is_nan),
        DataType::Float64 => present::<Float64Type>(&array, f64::is_nan),
        _ => array,
    })
}

/// Replaces NaN by null.
fn present<T: ArrowPrimitiveType>(array: &ArrayRef, is_nan: impl Fn(T::Native) -> bool) -> ArrayRef {
    let cells = array.as_primitive::<T>().values();
    // Chunk by chunk without a branch: a frame without NaN, the most of them, is read at the speed of memory.
    let missing = |chunk: &[T::Native]| chunk.iter().fold(false, |any, cell| any | is_nan(*cell));
    if !cells.chunks(1024).any(missing) {
        return array.clone();
    }
    let valid = BooleanBuffer::collect_bool(cells.len(), |row| !is_nan(cells[row]));
    Arc::new(PrimitiveArray::<T>::new(cells.clone(), Some(NullBuffer::new(valid))))
}

/// All columns in the order of the frame, in the batches that the others came in.
fn joined(names: &[String], numbers: &HashMap<String, ArrayRef>, others: Option<Data>) -> PyResult<Data> {
    let field = |name: &String| match (numbers.get(name), &others) {
        (None, Some(others)) => Ok(others.schema.field_with_name(name).map_err(crate::error::arrow)?.clone()),
        (array, _) => Ok(Field::new(name, array.map_or(DataType::Null, |array| array.data_type().clone()), true)),
    };
    let schema = Arc::new(Schema::new(names.iter().map(field).collect::<PyResult<Vec<_>>>()?));
    let rows = numbers.values().next().map_or(0, |array| array.len());
    let batches = match &others {
        None => vec![batch_of(&schema, names.iter().filter_map(|name| numbers.get(name).cloned()).collect(), rows)?],
        Some(others) => {
            let mut start = 0;
            let mut batches = Vec::with_capacity(others.batches.len());
            for batch in &others.batches {
                let column = |name: &String| match numbers.get(name) {
                    Some(array) => Some(array.slice(start, batch.num_rows())),
                    None => batch.column_by_name(name).cloned(),
                };
                batches.push(batch_of(&schema, names.iter().filter_map(column).collect(), batch.num_rows())?);
                start += batch.num_rows();
            }
            batches
        }
    };
    Ok(Data { schema, batches })
}
