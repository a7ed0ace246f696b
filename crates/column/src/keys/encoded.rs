//! Keys of anything else that has an order: lists, structs, dictionaries, as encoded bytes of normalised cells.

use arrow_array::{Array, ArrayRef};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;

use super::arena::view_of;
use super::places::Places;
use super::texts::{Long, TextKeys, Texts};
use super::{can_be_key, unkeyable};
use crate::Error;
use crate::kernels::words::normalised;

pub(super) struct Encoded {
    types: Vec<DataType>,
    /// None for types that cannot be keys.
    converter: Option<RowConverter>,
    pub(super) keys: TextKeys,
}

impl Encoded {
    pub(super) fn new(types: &[DataType]) -> Encoded {
        let fields = types.iter().map(|data_type| SortField::new(data_type.clone())).collect();
        let converter = RowConverter::new(fields).ok().filter(|_| types.iter().all(can_be_key));
        Encoded { types: types.to_vec(), converter, keys: TextKeys::default() }
    }

    pub(super) fn find(&self, places: &Places, keys: &[ArrayRef], slots: &mut Vec<u32>) -> Result<(), Error> {
        let rows = self.encode(keys)?;
        places.find(&self.keys, &texts(&rows, &views(&rows)).rows(), slots);
        Ok(())
    }

    pub(super) fn insert(
        &mut self,
        places: &mut Places,
        keys: &[ArrayRef],
        slots: &mut Vec<u32>,
        created: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let rows = self.encode(keys)?;
        places.insert(&mut self.keys, &texts(&rows, &views(&rows)).rows(), slots, created);
        Ok(())
    }

    fn converter(&self) -> Result<&RowConverter, Error> {
        self.converter.as_ref().ok_or_else(|| unkeyable(&self.types[0]))
    }

    fn encode(&self, keys: &[ArrayRef]) -> Result<Rows, Error> {
        let normal = keys.iter().map(normalised).collect::<Result<Vec<_>, Error>>()?;
        Ok(self.converter()?.convert_columns(&normal)?)
    }

    pub(super) fn columns(&self, slots: &[u32]) -> Result<Vec<ArrayRef>, Error> {
        let parser = self.converter()?.parser();
        let encoded = self.keys.bytes_of(slots);
        let columns = self.converter()?.convert_rows(encoded.iter().map(|bytes| parser.parse(bytes)))?;
        let declared = columns.iter().zip(&self.types).map(|(column, wanted)| {
            if column.data_type() == wanted { Ok(column.clone()) } else { Ok(arrow_cast::cast(column, wanted)?) }
        });
        declared.collect()
    }
}

fn views(rows: &Rows) -> Vec<u128> {
    rows.iter().map(|row| view_of(row.data(), 0)).collect()
}

fn texts<'a>(rows: &'a Rows, views: &'a [u128]) -> Texts<'a> {
    Texts { views, nulls: None, long: Long::Rows(rows) }
}
