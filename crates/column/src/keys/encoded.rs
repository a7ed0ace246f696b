//! Keys of anything else that has an order: lists, structs, dictionaries, as encoded bytes of normalised cells.

use arrow_array::{Array, ArrayRef};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;

use super::arena::view_of;
use super::texts::{Long, Texts};
use super::{can_be_key, unkeyable};
use crate::Error;
use crate::kernels::words::normalised;

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
        let fields = types.iter().map(|data_type| SortField::new(data_type.clone())).collect();
        let converter = RowConverter::new(fields).ok().filter(|_| types.iter().all(can_be_key));
        Codec { types: types.to_vec(), converter }
    }

    fn converter(&self) -> Result<&RowConverter, Error> {
        self.converter.as_ref().ok_or_else(|| unkeyable(&self.types[0]))
    }

    pub(super) fn encode(&self, keys: &[ArrayRef]) -> Result<Encoded, Error> {
        let normal = keys.iter().map(normalised).collect::<Result<Vec<_>, Error>>()?;
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

impl Encoded {
    pub(super) fn texts(&self) -> Texts<'_> {
        Texts { views: &self.views, nulls: None, long: Long::Rows(&self.rows) }
    }
}
