//! Several small columns as one word: a bit for "there", then the cell's word, column after column.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;

use super::words_of;
use crate::Error;
use crate::kernels::words::{from_words, word_bits};

/// How many bits each column takes, and its type.
pub(super) struct Packing(Vec<(u32, DataType)>);

impl Packing {
    /// The packing of these columns, if a word holds them all.
    pub(super) fn of(types: &[DataType]) -> Option<Packing> {
        let columns: Option<Vec<(u32, DataType)>> =
            types.iter().map(|data_type| Some((word_bits(data_type)?, data_type.clone()))).collect();
        let columns = columns?;
        let total: u32 = columns.iter().map(|(bits, _)| bits + 1).sum();
        (total <= 64).then_some(Packing(columns))
    }

    pub(super) fn pack(&self, columns: &[ArrayRef]) -> Result<Vec<u64>, Error> {
        let mut packed = vec![0; columns.first().map_or(0, |column| column.len())];
        for (column, (bits, _)) in columns.iter().zip(&self.0) {
            let words = words_of(column)?;
            let rows = packed.iter_mut().zip(&words);
            match column.nulls().filter(|nulls| nulls.null_count() > 0) {
                None => rows.for_each(|(packed, word)| *packed = (*packed << (bits + 1)) | (word << 1) | 1),
                Some(nulls) => rows.zip(nulls.iter()).for_each(|((packed, word), valid)| {
                    let cell = if valid { (word << 1) | 1 } else { 0 };
                    *packed = (*packed << (bits + 1)) | cell;
                }),
            }
        }
        Ok(packed)
    }

    pub(super) fn unpack(&self, packed: &[u64]) -> Result<Vec<ArrayRef>, Error> {
        let mut low = 0;
        let mut columns = Vec::with_capacity(self.0.len());
        for (bits, data_type) in self.0.iter().rev() {
            let valid = BooleanBuffer::collect_bool(packed.len(), |row| (packed[row] >> low) & 1 == 1);
            let nulls = Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0);
            let words: Vec<u64> = packed.iter().map(|word| (word >> (low + 1)) & (u64::MAX >> (64 - bits))).collect();
            columns.push(from_words(&words, nulls, data_type)?);
            low += bits + 1;
        }
        columns.reverse();
        Ok(columns)
    }
}
