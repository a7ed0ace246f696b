//! Keys of several columns whose cells could fill more than a word, while they do not: identifiers and times have a range,
//! and a range has few bits.
//!
//!   least 1000, most 1900: ten bits      least 7, most 7: one bit      a key: eleven bits of a word
//!
//! A cell is its distance from the least one plus one; zero stands for null. A key out of range asks for wider columns: a
//! column at least doubles then, so that it happens rarely; what needs more than a word is kept in another shape.

use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;

use super::{live_nulls, words_of};
use crate::error::Error;
use crate::kernels::words::{from_words, have_words};

pub(super) struct Narrow {
    types: Vec<DataType>,
    columns: Vec<Column>,
}

/// The bits of a word in which the cells of a column stand.
#[derive(Clone, Copy, Default)]
struct Column {
    least: u64,
    /// How many cells there may be, from the least on.
    span: u64,
    bits: u32,
    low: u32,
}

/// Rows as words, and where a row has one.
pub(super) type Packed = (Vec<u64>, Option<NullBuffer>);

impl Narrow {
    /// For keys of these types, if each has words: no key has a word yet but that of nulls alone.
    pub(super) fn of(types: &[DataType]) -> Option<Narrow> {
        let fits = types.len() > 1 && types.iter().all(have_words);
        fits.then(|| Narrow { types: types.to_vec(), columns: vec![Column::default(); types.len()] })
    }

    /// One that holds these rows too, if they fit into a word; later rows find room in the bits that are left.
    pub(super) fn wider(&self, keys: &[ArrayRef]) -> Result<Option<Narrow>, Error> {
        let mut columns = Vec::with_capacity(keys.len());
        for (column, cells) in self.columns.iter().zip(keys) {
            let words = words_of(cells)?;
            let nulls = live_nulls(cells);
            let valid = words.iter().enumerate().filter(|(row, _)| nulls.is_none_or(|nulls| nulls.is_valid(*row)));
            let own = (column.span > 0).then(|| (column.least, column.least + (column.span - 1)));
            let join = |range: Option<(u64, u64)>, (_, word): (usize, &u64)| match range {
                Some((least, most)) => Some((least.min(*word), most.max(*word))),
                None => Some((*word, *word)),
            };
            let range = valid.fold(own, join);
            // A cell more than the range has, for null.
            let bits = match range {
                Some((least, most)) => match (most - least).checked_add(1) {
                    Some(greatest) => u64::BITS - greatest.leading_zeros(),
                    None => return Ok(None),
                },
                None => 0,
            };
            let (least, most) = range.unwrap_or_default();
            let down = own.is_some_and(|own| least < own.0);
            columns.push((if down { Err(most) } else { Ok(least) }, bits));
        }
        let used: u32 = columns.iter().map(|(_, bits)| bits).sum();
        if used > u64::BITS {
            return Ok(None);
        }
        let spare = (u64::BITS - used) / columns.len() as u32;
        let mut low = 0;
        let placed = columns.into_iter().map(|(end, bits)| {
            let bits = if bits == 0 { 0 } else { bits + spare.min(1) };
            let span = 1_u64.checked_shl(bits).map_or(u64::MAX, |codes| codes - 1);
            // What is spare lies where the column grew.
            let least = match end {
                Ok(least) => least.min(u64::MAX - span.saturating_sub(1)),
                Err(most) => most.saturating_sub(span.saturating_sub(1)),
            };
            let column = Column { least, span, bits, low };
            low += bits;
            column
        });
        Ok(Some(Narrow { types: self.types.clone(), columns: placed.collect() }))
    }

    /// The words of rows.
    pub(super) fn pack(&self, keys: &[ArrayRef]) -> Result<Packed, Error> {
        let rows = keys.first().map_or(0, |column| column.len());
        let mut packed = vec![0_u64; rows];
        let mut outside = vec![false; rows];
        for (column, cells) in self.columns.iter().zip(keys) {
            let words = words_of(cells)?;
            let rows = packed.iter_mut().zip(&mut outside);
            match live_nulls(cells) {
                None => rows.zip(words).for_each(|((packed, outside), word)| {
                    let code = word.wrapping_sub(column.least);
                    *outside |= code >= column.span;
                    *packed |= code.wrapping_add(1).wrapping_shl(column.low);
                }),
                Some(nulls) => rows.zip(words).zip(nulls).for_each(|(((packed, outside), word), valid)| {
                    let code = word.wrapping_sub(column.least);
                    *outside |= valid & (code >= column.span);
                    *packed |= if valid { code.wrapping_add(1).wrapping_shl(column.low) } else { 0 };
                }),
            }
        }
        let inside = outside.contains(&true).then(|| BooleanBuffer::collect_bool(rows, |row| !outside[row]));
        Ok((packed, inside.map(NullBuffer::new)))
    }

    /// The cells of one column in rows of these words.
    pub(super) fn cells(&self, at: usize, words: &[u64]) -> Result<ArrayRef, Error> {
        let Column { least, bits, low, .. } = self.columns[at];
        let mask = 1_u64.checked_shl(bits).map_or(u64::MAX, |codes| codes - 1);
        let code = |word: &u64| word.checked_shr(low).unwrap_or(0) & mask;
        let valid = BooleanBuffer::collect_bool(words.len(), |row| code(&words[row]) != 0);
        let cells: Vec<u64> = words.iter().map(|word| least.wrapping_add(code(word).saturating_sub(1))).collect();
        let nulls = Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0);
        from_words(&cells, nulls, &self.types[at])
    }
}
