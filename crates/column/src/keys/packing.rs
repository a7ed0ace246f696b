//! Layout of a key of several columns as a row of words: each column takes a validity bit, then its cell, in the first
//! word that has room. A wide cell takes several words. Of a text only the validity bit is stored here.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, MutableBuffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::{live_nulls, words_of};
use crate::error::Error;
use crate::kernels::words::{from_words, have_words, word_bits};
use crate::types::kind::{Kind, canonical};

const WORD: usize = size_of::<u64>();
/// The widest cell that is kept as words, in bytes.
const WIDEST: usize = 4 * WORD;

pub(super) struct Packing {
    columns: Vec<Column>,
    words: usize,
}

struct Column {
    data_type: DataType,
    there: Place,
    /// The lowest word first; none for text.
    cell: Vec<Place>,
}

/// Some bits of a word.
#[derive(Clone, Copy)]
struct Place {
    word: usize,
    low: u32,
    bits: u32,
}

impl Packing {
    /// The packing of these columns, if each is of words or text.
    pub(super) fn of(types: &[DataType]) -> Option<Packing> {
        let mut taken: Vec<u32> = vec![0];
        let mut place = |bits: u32| {
            let word = taken.iter().position(|taken| taken + bits <= u64::BITS).unwrap_or(taken.len());
            taken.resize(taken.len().max(word + 1), 0);
            taken[word] += bits;
            Place { word, low: taken[word] - bits, bits }
        };
        let mut columns = Vec::with_capacity(types.len());
        for data_type in types {
            let cell = bits_of(data_type)?;
            let there = place(1);
            columns.push(Column {
                data_type: data_type.clone(),
                there,
                cell: cell.into_iter().map(&mut place).collect(),
            });
        }
        Some(Packing { columns, words: taken.len() })
    }

    /// Whether a word is all that a row has.
    pub(super) fn is_a_word(&self) -> bool {
        self.words == 1 && self.texts().next().is_none()
    }

    /// How many words a row has.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Which columns are text.
    pub(super) fn texts(&self) -> impl Iterator<Item = usize> {
        (0..self.columns.len()).filter(|at| self.is_text(*at))
    }

    pub(super) fn is_text(&self, at: usize) -> bool {
        self.columns[at].cell.is_empty()
    }

    /// The first words of all rows, then the second ones, and so on.
    pub(super) fn pack(&self, columns: &[ArrayRef]) -> Result<Vec<u64>, Error> {
        let rows = columns.first().map_or(0, |column| column.len());
        let mut packed = Vec::with_capacity(self.words * rows);
        for word in 0..self.words {
            let whole = self.columns.iter().zip(columns).filter(|(_, cells)| live_nulls(cells).is_none());
            let there = whole.filter(|(column, _)| column.there.word == word).map(|(column, _)| 1 << column.there.low);
            packed.resize((word + 1) * rows, there.sum());
        }
        for (column, cells) in self.columns.iter().zip(columns) {
            let nulls = live_nulls(cells);
            if let Some(nulls) = nulls {
                column.there.put(nulls.iter().map(u64::from), rows, &mut packed);
            }
            for (at, place) in column.cell.iter().enumerate() {
                let words = if have_words(&column.data_type) { words_of(cells)? } else { words_at(cells, at) };
                match nulls {
                    None => place.put(words.into_iter(), rows, &mut packed),
                    Some(nulls) => {
                        let there = words.into_iter().zip(nulls).map(|(word, valid)| if valid { word } else { 0 });
                        place.put(there, rows, &mut packed);
                    }
                }
            }
        }
        Ok(packed)
    }

    /// Where a column has nulls in some rows, given by their words.
    pub(super) fn nulls(&self, at: usize, rows: usize, word: impl Fn(usize, usize) -> u64) -> Option<NullBuffer> {
        let there = self.columns[at].there;
        let valid = BooleanBuffer::collect_bool(rows, |row| there.of(word(row, there.word)) == 1);
        Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0)
    }

    /// The cells of a column in some rows, given by their words.
    pub(super) fn cells(&self, at: usize, rows: usize, word: impl Fn(usize, usize) -> u64) -> Result<ArrayRef, Error> {
        let Column { data_type, cell, .. } = &self.columns[at];
        let nulls = self.nulls(at, rows, &word);
        if let ([place], true) = (&**cell, have_words(data_type)) {
            let words: Vec<u64> = (0..rows).map(|row| place.of(word(row, place.word))).collect();
            return from_words(&words, nulls, data_type);
        }
        let width = wide(data_type).unwrap_or_default();
        let mut bytes = MutableBuffer::with_capacity(rows * width);
        for row in 0..rows {
            for (at, place) in cell.iter().enumerate() {
                bytes.extend_from_slice(&place.of(word(row, place.word)).to_le_bytes()[..WORD.min(width - at * WORD)]);
            }
        }
        let data = ArrayData::builder(data_type.clone()).len(rows).add_buffer(bytes.into()).nulls(nulls).build()?;
        Ok(make_array(data))
    }
}

impl Place {
    fn put(self, cells: impl Iterator<Item = u64>, rows: usize, packed: &mut [u64]) {
        packed[self.word * rows..][..rows].iter_mut().zip(cells).for_each(|(word, cell)| *word |= cell << self.low);
    }

    #[inline(always)]
    fn of(self, word: u64) -> u64 {
        (word >> self.low) & (u64::MAX >> (u64::BITS - self.bits))
    }
}

/// The bits of the words of a cell; none for text. Only canonical types have any.
fn bits_of(data_type: &DataType) -> Option<Vec<u32>> {
    if let Some(bits) = word_bits(data_type) {
        return Some(vec![bits]);
    }
    match data_type {
        DataType::Utf8View | DataType::BinaryView => Some(Vec::new()),
        _ => wide(data_type).map(|width| (0..width).step_by(WORD).map(|at| 8 * WORD.min(width - at) as u32).collect()),
    }
}

/// The bytes of a cell that is kept as several words.
fn wide(data_type: &DataType) -> Option<usize> {
    let kind = Kind::of(data_type);
    let is_wide = matches!(kind, Kind::I128 | Kind::I256 | Kind::MonthDayNano | Kind::Fixed(1..));
    kind.width().filter(|width| is_wide && *width <= WIDEST && canonical(data_type) == *data_type)
}

/// One word of each wide cell.
fn words_at(cells: &ArrayRef, at: usize) -> Vec<u64> {
    let data = cells.to_data();
    let width = wide(data.data_type()).unwrap_or_default();
    let bytes = &data.buffers()[0][data.offset() * width..][..data.len() * width];
    let word = |cell: &[u8]| {
        let mut word = [0; WORD];
        let part = &cell[at * WORD..width.min((at + 1) * WORD)];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    };
    bytes.chunks_exact(width).map(word).collect()
}
