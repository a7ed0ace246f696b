//! Keys of anything else that has an order: lists, structs, dictionaries, as encoded bytes of normalised cells.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeListArray, make_array};
use arrow_buffer::OffsetBuffer;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, Field, FieldRef};

use super::arena::view_of;
use super::texts::{Long, Texts};
use super::unkeyable;
use crate::error::Error;
use crate::kernels::words::normalised;
use crate::types::can_be_key;

/// How cells of some types become bytes, and come back.
pub(super) struct Codec {
    types: Vec<DataType>,
    /// None for types that cannot be keys.
    converter: Option<RowConverter>,
}

/// Encoded rows of a chunk.
pub(super) struct Encoded {
    rows: Rows,
    views: Vec<u128>,
}

impl Codec {
    pub(super) fn new(types: &[DataType]) -> Codec {
        let fields = types.iter().map(|data_type| SortField::new(listed_type(data_type))).collect();
        let converter = RowConverter::new(fields).ok().filter(|_| types.iter().all(can_be_key));
        Codec { types: types.to_vec(), converter }
    }

    fn converter(&self) -> Result<&RowConverter, Error> {
        self.converter.as_ref().ok_or_else(|| unkeyable(&self.types[0]))
    }

    pub(super) fn encode(&self, keys: &[ArrayRef]) -> Result<Encoded, Error> {
        let normal = keys.iter().map(|key| listed(&normalised(key)?)).collect::<Result<Vec<_>, Error>>()?;
        let rows = self.converter()?.convert_columns(&normal)?;
        let views = rows.iter().map(|row| view_of(row.data(), 0)).collect();
        Ok(Encoded { rows, views })
    }

    /// The columns of encoded rows.
    pub(super) fn decode(&self, encoded: &[Vec<u8>]) -> Result<Vec<ArrayRef>, Error> {
        let parser = self.converter()?.parser();
        let columns = self.converter()?.convert_rows(encoded.iter().map(|bytes| parser.parse(bytes)))?;
        let declared = columns.iter().zip(&self.types).map(|(column, wanted)| {
            if column.data_type() == wanted { Ok(column.clone()) } else { Ok(arrow_cast::cast(column, wanted)?) }
        });
        declared.collect()
    }
}

/// A type with lists of any size for those of a fixed one. Both have the same order, but Arrow decodes the cells of the
/// latter in a time that doubles with each level of nesting.
fn listed_type(data_type: &DataType) -> DataType {
    let of = |field: &FieldRef| Arc::new(Field::clone(field).with_data_type(listed_type(field.data_type())));
    match data_type {
        DataType::FixedSizeList(field, _) => DataType::LargeList(of(field)),
        DataType::List(field) => DataType::List(of(field)),
        DataType::LargeList(field) => DataType::LargeList(of(field)),
        DataType::ListView(field) => DataType::ListView(of(field)),
        DataType::LargeListView(field) => DataType::LargeListView(of(field)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect()),
        other => other.clone(),
    }
}

fn listed(array: &ArrayRef) -> Result<ArrayRef, Error> {
    let wanted = listed_type(array.data_type());
    if array.data_type() == &wanted {
        return Ok(array.clone());
    }
    if let (DataType::FixedSizeList(_, size), DataType::LargeList(field)) = (array.data_type(), &wanted) {
        let lists = array.as_fixed_size_list();
        let size = usize::try_from(*size).unwrap_or(0);
        let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(size, lists.len()));
        let values = listed(lists.values())?;
        return Ok(Arc::new(LargeListArray::try_new(field.clone(), offsets, values, lists.nulls().cloned())?));
    }
    let data = array.to_data();
    let children = data.child_data().iter().map(|child| Ok(listed(&make_array(child.clone()))?.to_data()));
    let children = children.collect::<Result<Vec<_>, Error>>()?;
    Ok(make_array(data.into_builder().data_type(wanted).child_data(children).build()?))
}

impl Encoded {
    pub(super) fn texts(&self) -> Texts<'_> {
        Texts { views: &self.views, nulls: None, long: Long::Rows(&self.rows) }
    }
}
