//! Lists, lists of one width and structs, whose cells are built as columns of their own.

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, ListArray, StructArray, new_empty_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use limits::bounds::NESTED_CELLS;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::{Place, Values, build};
use crate::error;

fn elements<'py>(
    value: &Bound<'py, PyAny>,
    row: usize,
    wanted: &DataType,
    place: Place<'_>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return super::collected(value);
    }
    if value.hasattr("tolist")? && !value.is_instance_of::<PyString>() {
        let list = value.call_method0("tolist")?;
        if list.is_instance_of::<PyList>() {
            return super::collected(&list);
        }
    }
    Err(place.mismatch(row, value, wanted))
}

/// Lists that hold the same lists again and again are small in Python, and without end here.
fn extend<'py>(
    flat: &mut Vec<Bound<'py, PyAny>>,
    cells: Vec<Bound<'py, PyAny>>,
    row: usize,
    place: Place<'_>,
) -> PyResult<()> {
    if flat.len() + cells.len() > NESTED_CELLS || flat.try_reserve(cells.len()).is_err() {
        return Err(error::ResourceError::new_err(format!(
            "{}: the lists of column {:?} hold more than {NESTED_CELLS} values up to row {row}; give it as Arrow data",
            place.operation, place.column
        )));
    }
    flat.extend(cells);
    Ok(())
}

pub(super) fn lists(
    values: Values<'_, '_>,
    item: &Arc<Field>,
    wanted: &DataType,
    place: Place<'_>,
) -> PyResult<ArrayRef> {
    let mut flat = Vec::new();
    let mut lengths = Vec::with_capacity(values.len());
    let mut valid = Vec::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        let cells = if value.is_none() { Vec::new() } else { elements(value, row, wanted, place)? };
        lengths.push(cells.len());
        valid.push(!value.is_none());
        extend(&mut flat, cells, row, place)?;
    }
    let child = build(&flat, item.data_type(), place)?;
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    let list = ListArray::try_new(item.clone(), OffsetBuffer::from_lengths(lengths), child, nulls);
    Ok(Arc::new(list.map_err(error::arrow)?))
}

pub(super) fn fixed_lists(
    values: Values<'_, '_>,
    item: &Arc<Field>,
    width: i32,
    wanted: &DataType,
    place: Place<'_>,
) -> PyResult<ArrayRef> {
    let Some(first) = values.first() else { return Ok(new_empty_array(wanted)) };
    let none = first.py().None().into_bound(first.py());
    let mut flat = Vec::new();
    let mut valid = Vec::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        valid.push(!value.is_none());
        let cells = match value.is_none() {
            true => vec![none.clone(); width as usize],
            false => elements(value, row, wanted, place)?,
        };
        if cells.len() != width as usize {
            return Err(place.unfit(row, value, wanted, "has another length"));
        }
        extend(&mut flat, cells, row, place)?;
    }
    let child = build(&flat, item.data_type(), place)?;
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    let list = FixedSizeListArray::try_new(item.clone(), width, child, nulls);
    Ok(Arc::new(list.map_err(error::arrow)?))
}

pub(super) fn structs(
    values: Values<'_, '_>,
    fields: &Fields,
    wanted: &DataType,
    place: Place<'_>,
) -> PyResult<ArrayRef> {
    let mut valid = Vec::with_capacity(values.len());
    let mut cells: Vec<Vec<Bound<'_, PyAny>>> = vec![Vec::with_capacity(values.len()); fields.len()];
    for (row, value) in values.iter().enumerate() {
        valid.push(!value.is_none());
        let none = value.py().None().into_bound(value.py());
        let dict = if value.is_none() { None } else { Some(value.cast::<PyDict>()) };
        let dict = dict.transpose().map_err(|_| place.mismatch(row, value, wanted))?;
        for (field, column) in fields.iter().zip(&mut cells) {
            let cell = dict.map(|dict| dict.get_item(field.name())).transpose()?.flatten();
            column.push(cell.unwrap_or_else(|| none.clone()));
        }
    }
    let children = fields
        .iter()
        .zip(cells)
        .map(|(field, column)| build(&super::some(column), field.data_type(), place))
        .collect::<PyResult<Vec<_>>>()?;
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    if fields.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(values.len(), nulls)));
    }
    Ok(Arc::new(StructArray::try_new(fields.clone(), children, nulls).map_err(error::arrow)?))
}
