//! Bloom filters: of a value they tell that a row group does not have it, whatever lies between its least and its most.

use std::fmt;
use std::sync::Arc;

use ::column::{Chunk, Members};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::DataType;
use parquet::basic::Type as Physical;
use parquet::bloom_filter::Sbbf;
use rowset::RowSet;

use super::ParquetFile;
use super::reader::guarded;
use super::zones::leaves;

/// The filters of a column, one a row group. They are read as they are asked, and not kept.
pub(super) struct Blooms {
    files: Arc<[ParquetFile]>,
    /// Of each file, the place of the column.
    number: usize,
    /// How the file keeps the cells, and so what of them is hashed.
    kept: Physical,
    /// Of each zone, its file and its row group.
    groups: Vec<(usize, usize)>,
}

impl fmt::Debug for Blooms {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Blooms of {} zones", self.groups.len())
    }
}

impl Blooms {
    /// Of a column whose zones lie in these files and row groups: if there is a filter, and cells are equal only if what is
    /// hashed of them is.
    pub(super) fn of(
        files: &Arc<[ParquetFile]>,
        number: usize,
        canonical: &DataType,
        groups: Vec<(usize, usize)>,
    ) -> Option<Arc<dyn Members>> {
        let kept = match canonical {
            DataType::Utf8View | DataType::BinaryView => Physical::BYTE_ARRAY,
            DataType::Int64 | DataType::UInt64 => Physical::INT64,
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Date32 => Physical::INT32,
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => Physical::INT32,
            _ => return None,
        };
        let blooms = Blooms { files: files.clone(), number, kept, groups };
        let has = |(file, group): &(usize, usize)| {
            let leaf = blooms.leaf(*file)?;
            blooms.files[*file].groups()[*group].column(leaf).bloom_filter_offset()
        };
        blooms.groups.iter().any(|at| has(at).is_some()).then(|| Arc::new(blooms) as Arc<dyn Members>)
    }

    fn leaf(&self, file: usize) -> Option<usize> {
        let file = &self.files[file];
        match leaves(file, file.places[self.number])[..] {
            [leaf] => Some(leaf),
            _ => None,
        }
    }

    /// Whether a row group may have one of the values; true where its filter is missing, or cannot be read.
    fn may_have(&self, (file, group): (usize, usize), values: &Chunk) -> bool {
        let Some(leaf) = self.leaf(file) else { return true };
        let file = &self.files[file];
        let chunk = file.groups()[group].column(leaf);
        if chunk.column_type() != self.kept {
            return true;
        }
        let known = guarded(&file.path, || {
            let filter = Sbbf::read_from_column_chunk(chunk, &file.placed)?;
            Ok(filter.is_none_or(|filter| (0..values.len()).any(|at| checked(&filter, values, at))))
        });
        known.unwrap_or(true)
    }
}

impl Members for Blooms {
    fn may_hold(&self, zones: &RowSet, values: &Chunk) -> RowSet {
        let mut kept = Vec::new();
        // Zones of a row group are neighbours, and share its filter.
        let mut last = None;
        for zone in zones.iter() {
            let Some(group) = self.groups.get(zone as usize).copied() else { continue };
            let may = match last {
                Some((same, may)) if same == group => may,
                _ => self.may_have(group, values),
            };
            last = Some((group, may));
            if may {
                kept.push(zone);
            }
        }
        RowSet::from_sorted_keys(&kept)
    }
}

/// Whether a value may be in a filter. Small numbers are kept, and hashed, as 32 bits.
fn checked(filter: &Sbbf, values: &Chunk, at: usize) -> bool {
    fn of<T: ArrowPrimitiveType>(values: &Chunk, at: usize) -> T::Native {
        values.as_primitive::<T>().value(at)
    }
    match values.data_type() {
        DataType::Utf8View => filter.check(values.as_string_view().value(at)),
        DataType::BinaryView => filter.check(values.as_binary_view().value(at)),
        DataType::Int8 => filter.check(&i32::from(of::<Int8Type>(values, at))),
        DataType::Int16 => filter.check(&i32::from(of::<Int16Type>(values, at))),
        DataType::Int32 => filter.check(&of::<Int32Type>(values, at)),
        DataType::Date32 => filter.check(&of::<Date32Type>(values, at)),
        DataType::Int64 => filter.check(&of::<Int64Type>(values, at)),
        DataType::UInt8 => filter.check(&i32::from(of::<UInt8Type>(values, at))),
        DataType::UInt16 => filter.check(&i32::from(of::<UInt16Type>(values, at))),
        DataType::UInt32 => filter.check(&of::<UInt32Type>(values, at).cast_signed()),
        DataType::UInt64 => filter.check(&of::<UInt64Type>(values, at).cast_signed()),
        _ => true,
    }
}
