//! Lists, lists of one width and structs, whose cells are built as columns of their own.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, ListArray, StructArray, new_empty_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use limits::bounds::{NESTED_CELLS, NESTING};
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
        return super::collected(place.operation, value);
    }
    if value.hasattr("tolist")? && !value.is_instance_of::<PyString>() {
        let list = value.call_method0("tolist")?;
        if list.is_instance_of::<PyList>() {
            return super::collected(place.operation, &list);
        }
    }
    Err(place.mismatch(row, value, wanted))
}

/// So many lists are worth a look at what they hold before it is written out.
const MANY_LISTS: usize = 1 << 16;

/// Lists that hold the same lists again and again are small in Python, and without end here.
fn endless(row: usize, place: Place<'_>) -> PyErr {
    error::ResourceError::new_err(format!(
        "{}: the lists of column {:?} hold more than {NESTED_CELLS} values up to row {row}; give it as Arrow data",
        place.operation, place.column
    ))
}

fn extend<'py>(
    flat: &mut Vec<Bound<'py, PyAny>>,
    cells: Vec<Bound<'py, PyAny>>,
    row: usize,
    place: Place<'_>,
) -> PyResult<()> {
    if flat.len() + cells.len() > NESTED_CELLS || flat.try_reserve(cells.len()).is_err() {
        return Err(endless(row, place));
    }
    flat.extend(cells);
    Ok(())
}

/// The cells as a column of their own, unless there are too many values in them, however far down.
fn children(flat: Values<'_, '_>, item: &Field, rows: usize, place: Place<'_>) -> PyResult<ArrayRef> {
    if flat.len() > MANY_LISTS && item.data_type().is_nested() {
        let (mut known, mut held) = (HashMap::new(), 0_u64);
        for value in flat {
            held = held.saturating_add(values_in(value, &mut known, 0));
        }
        if held > 2 * NESTED_CELLS as u64 {
            return Err(endless(rows.saturating_sub(1), place));
        }
    }
    build(flat, item.data_type(), place)
}

/// How many values a value is: itself and all that its lists, tuples and dicts hold. Each of these is gone through once
/// and `known` by its place, which its holder keeps.
fn values_in(value: &Bound<'_, PyAny>, known: &mut HashMap<usize, u64>, depth: usize) -> u64 {
    if depth > NESTING {
        return u64::MAX;
    }
    let seat = value.as_ptr() as usize;
    if let Some(values) = known.get(&seat) {
        return *values;
    }
    let mut values = 1_u64;
    let mut add = |inner: Bound<'_, PyAny>| values = values.saturating_add(values_in(&inner, known, depth + 1));
    if let Ok(list) = value.cast::<PyList>() {
        list.iter().for_each(&mut add);
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        tuple.iter().for_each(&mut add);
    } else if let Ok(dict) = value.cast::<PyDict>() {
        dict.iter().for_each(|(_, inner)| add(inner));
    } else {
        return values;
    }
    known.insert(seat, values);
    values
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
    let child = children(&flat, item, values.len(), place)?;
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
    let child = children(&flat, item, values.len(), place)?;
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
