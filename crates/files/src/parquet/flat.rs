//! Pages of numbers, instants and dictionaries of texts, decoded straight into the arrays that they become.
//!
//!   page     | 5 bytes of levels | 3 | 0 1 0 0 2 … |        levels say which cells are null, three bits are a code
//!   array    7.0 9.5 7.0 7.0 1.0 …                          each code is looked up as it is unpacked
//!
//! The crate `parquet` reads and unpacks pages; its decoder serves every encoding and type, and fills its buffers twice. Here is what
//! nearly all columns of nearly all files are: at most one level, cells that are plain or codes of a dictionary. A page that is
//! otherwise, or unsound, is none of ours: the crate's decoder takes it, or says what is wrong with it.

use std::sync::Arc;

use ::column::types::to_canonical;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, GenericBinaryArray, StringArray, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use bytes::Bytes;
use parquet::basic::{ConvertedType, Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::errors::Result as ParquetResult;

use super::ParquetFile;
use super::hybrid::{Run, Runs, unpack};

/// Cells of a page that are codes.
pub(super) type Codes = DictionaryArray<Int32Type>;

/// Decodes pages of one column of one row group.
pub(super) struct Flat {
    data_type: DataType,
    is_optional: bool,
    /// No page has more, whatever it says.
    most: usize,
    cells: Cells,
}

/// What a cell takes, and the dictionary as it was read.
enum Cells {
    Four(Vec<u32>),
    Eight(Vec<u64>),
    /// Texts or bytes, all of which are codes.
    Codes(Option<ArrayRef>),
}

impl Flat {
    /// None for a column of which the cells are stored otherwise.
    pub(super) fn of(file: &ParquetFile, place: usize, group: usize, leaf: usize) -> Option<Flat> {
        let stored = file.metadata.parquet_schema().column(leaf);
        let data_type = file.metadata.schema().field(place).data_type();
        let told = file.metadata.metadata().row_group(group).column(leaf);
        let encodings = told.page_encoding_stats_mask();
        let coded = [Encoding::RLE_DICTIONARY, Encoding::PLAIN_DICTIONARY];
        let is_coded = encodings.is_some_and(|mask| coded.iter().any(|encoding| mask.is_only(*encoding)));
        let is_text = stored.converted_type() == ConvertedType::UTF8;
        use DataType as D;
        let cells = match (stored.physical_type(), data_type) {
            (Type::INT32, D::Int32 | D::UInt32 | D::Date32 | D::Time32(_)) | (Type::FLOAT, D::Float32) => {
                Cells::Four(Vec::new())
            }
            (Type::INT64, D::Int64 | D::UInt64 | D::Timestamp(..) | D::Time64(_) | D::Duration(_))
            | (Type::DOUBLE, D::Float64) => Cells::Eight(Vec::new()),
            (Type::BYTE_ARRAY, D::Utf8View) if is_coded && is_text => Cells::Codes(None),
            (Type::BYTE_ARRAY, D::BinaryView) if is_coded && !is_text => Cells::Codes(None),
            _ => return None,
        };
        let (most, is_optional) = (usize::try_from(told.num_values()).ok()?, stored.max_def_level() == 1);
        let is_flat = stored.max_rep_level() == 0 && stored.max_def_level() <= 1;
        is_flat.then(|| Flat { data_type: data_type.clone(), is_optional, most, cells })
    }

    /// The cells of the next page; None where there is none, or one that is not understood.
    pub(super) fn next(&mut self, pages: &mut dyn PageReader) -> ParquetResult<Option<ArrayRef>> {
        loop {
            let Some(page) = pages.get_next_page()? else { return Ok(None) };
            if page.is_dictionary_page() {
                if self.cells.keep(&page, &self.data_type).is_none() {
                    return Ok(None);
                }
                continue;
            }
            if is_coded(page.encoding())
                && let Some(dictionary) = pages.take_deferred_dictionary()?
                && self.cells.keep(&dictionary, &self.data_type).is_none()
            {
                return Ok(None);
            }
            return Ok(self.cells(&page));
        }
    }

    fn cells(&self, page: &Page) -> Option<ArrayRef> {
        let rows = page.num_values() as usize;
        if rows > self.most || limits::ask_rows(rows as u64, 8).is_err() {
            return None;
        }
        let (levels, values) = parts(page, self.is_optional)?;
        let nulls = match levels {
            Some(levels) => validity(&levels, rows)?,
            None => None,
        };
        let many = rows - nulls.as_ref().map_or(0, NullBuffer::null_count);
        let encoding = page.encoding();
        let values = match &self.cells {
            Cells::Four(dictionary) => spread(numbers(dictionary, encoding, &values, many)?, nulls.as_ref()),
            Cells::Eight(dictionary) => spread(numbers(dictionary, encoding, &values, many)?, nulls.as_ref()),
            Cells::Codes(dictionary) => {
                let dictionary = dictionary.as_ref().filter(|_| is_coded(encoding))?;
                let codes = looked_up(dictionary.len(), |code| code as i32, &values, many)?;
                let codes = ScalarBuffer::<i32>::from(spread(codes, nulls.as_ref()));
                // Each code was compared with the number of values.
                let codes = arrow_array::Int32Array::new(codes, nulls);
                return Some(Arc::new(Codes::try_new(codes, dictionary.clone()).ok()?));
            }
        };
        let data = ArrayData::builder(self.data_type.clone()).len(rows).add_buffer(values).nulls(nulls);
        data.build().ok().map(make_array)
    }
}

impl Cells {
    /// Keeps a dictionary; None where it is not as long as it says.
    fn keep(&mut self, page: &Page, data_type: &DataType) -> Option<()> {
        let (bytes, many) = (page.buffer(), page.num_values() as usize);
        match self {
            Cells::Four(dictionary) => *dictionary = plain(bytes, many)?,
            Cells::Eight(dictionary) => *dictionary = plain(bytes, many)?,
            Cells::Codes(dictionary) => *dictionary = Some(texts(bytes, many, data_type)?),
        }
        Some(())
    }
}

fn is_coded(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

/// The levels of a page, where cells may be null, and its values.
fn parts(page: &Page, is_optional: bool) -> Option<(Option<Bytes>, Bytes)> {
    let buffer = page.buffer();
    let from = match page {
        Page::DataPage { .. } if !is_optional => return Some((None, buffer.clone())),
        Page::DataPage { def_level_encoding: Encoding::RLE, .. } => {
            let length = u32::from_le_bytes(buffer.get(..4)?.try_into().ok()?) as usize;
            4..length.checked_add(4)?
        }
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len: 0, .. } => 0..*def_levels_byte_len as usize,
        _ => return None,
    };
    (from.end <= buffer.len()).then(|| (is_optional.then(|| buffer.slice(from.clone())), buffer.slice(from.end..)))
}

/// Which cells are there, of levels of 0 and 1; None for levels that are not so many, and no bits where all are there.
fn validity(levels: &Bytes, rows: usize) -> Option<Option<NullBuffer>> {
    let mut valid: Option<BooleanBufferBuilder> = None;
    let mut so_far = 0;
    for run in Runs::new(levels, 1, rows) {
        let run = run?;
        let (Run::Same(_, many) | Run::Packed(_, many)) = run;
        if valid.is_none() && !matches!(run, Run::Same(1, _)) {
            let mut bits = BooleanBufferBuilder::new(rows);
            bits.append_n(so_far, true);
            valid = Some(bits);
        }
        match (run, &mut valid) {
            (Run::Same(2.., _), _) => return None,
            (_, None) => {}
            (Run::Same(level, many), Some(bits)) => bits.append_n(many, level == 1),
            (Run::Packed(packed, many), Some(bits)) => bits.append_packed_range(0..many, packed),
        }
        so_far += many;
    }
    (so_far == rows).then(|| {
        let nulls = valid.map(|mut bits| NullBuffer::new(bits.finish()));
        nulls.filter(|nulls| nulls.null_count() > 0)
    })
}

/// A number as it is stored.
trait Word: ArrowNativeType {
    fn of(bytes: &[u8]) -> Self;
}

impl Word for u32 {
    fn of(bytes: &[u8]) -> u32 {
        bytes.try_into().map(u32::from_le_bytes).unwrap_or_default()
    }
}

impl Word for u64 {
    fn of(bytes: &[u8]) -> u64 {
        bytes.try_into().map(u64::from_le_bytes).unwrap_or_default()
    }
}

fn numbers<T: Word>(dictionary: &[T], encoding: Encoding, values: &[u8], many: usize) -> Option<Vec<T>> {
    match encoding {
        Encoding::PLAIN => plain(values, many),
        encoding if is_coded(encoding) => looked_up(dictionary.len(), |code| dictionary[code as usize], values, many),
        _ => None,
    }
}

/// So many numbers, one after the other.
fn plain<T: Word>(bytes: &[u8], many: usize) -> Option<Vec<T>> {
    let bytes = bytes.get(..many.checked_mul(size_of::<T>())?)?;
    Some(bytes.chunks_exact(size_of::<T>()).map(T::of).collect())
}

/// What so many codes stand for, all of which are below `end`.
fn looked_up<T: Copy>(end: usize, of: impl Fn(u32) -> T, bytes: &[u8], many: usize) -> Option<Vec<T>> {
    if many == 0 {
        return Some(Vec::new());
    }
    let (width, bytes) = bytes.split_first()?;
    // A code of so few bits is greater than the last one where the difference is negative.
    let last = u32::try_from(end.checked_sub(1)?).ok()?;
    if *width > 30 || last >= 1 << 30 {
        return None;
    }
    // A run that repeats a code may be longer than its bytes let think, and no longer than the page says.
    let mut made = Vec::with_capacity(many);
    for run in Runs::new(bytes, *width, many) {
        match run? {
            Run::Same(code, many) => {
                if code as usize >= end {
                    return None;
                }
                made.extend(std::iter::repeat_n(of(code), many));
            }
            Run::Packed(packed, many) => unpack(packed, *width, many, |codes| {
                let is_known = codes.iter().fold(0, |over, code| over | last.wrapping_sub(*code)) < 1 << 31;
                if is_known {
                    made.extend(codes.iter().map(|code| of(*code)));
                }
                is_known
            })?,
        }
    }
    (made.len() == many).then_some(made)
}

/// Values at the places of those cells that are there.
fn spread<T: ArrowNativeType>(values: Vec<T>, nulls: Option<&NullBuffer>) -> Buffer {
    let Some(nulls) = nulls else { return Buffer::from_vec(values) };
    let mut cells = vec![T::default(); nulls.len()];
    for (place, value) in nulls.inner().set_indices().zip(values) {
        cells[place] = value;
    }
    Buffer::from_vec(cells)
}

/// So many texts or bytes of a dictionary, in canonical type.
fn texts(bytes: &Bytes, many: usize, data_type: &DataType) -> Option<ArrayRef> {
    // Each has a length of four bytes before it.
    let mut offsets = Vec::with_capacity(many.min(bytes.len() / 4) + 1);
    let mut cells = Vec::with_capacity(bytes.len());
    let mut rest: &[u8] = bytes;
    offsets.push(0_i32);
    for _ in 0..many {
        let (length, after) = rest.split_first_chunk()?;
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        cells.extend_from_slice(text);
        offsets.push(i32::try_from(cells.len()).ok()?);
        rest = after;
    }
    let (offsets, cells) = (OffsetBuffer::new(offsets.into()), Buffer::from_vec(cells));
    let array: ArrayRef = match data_type {
        DataType::Utf8View => Arc::new(StringArray::try_new(offsets, cells, None).ok()?),
        _ => Arc::new(GenericBinaryArray::<i32>::try_new(offsets, cells, None).ok()?),
    };
    to_canonical(&array).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_which_cells_are_there() {
        let validity = |bytes: &'static [u8], rows| super::validity(&Bytes::from_static(bytes), rows);
        // Ten ones; two ones and eight bits; too few; a level of two.
        assert_eq!(validity(&[20, 1], 10), Some(None));
        let nulls: NullBuffer = [true, true, true, false, true, false, false].into_iter().collect();
        assert_eq!(validity(&[4, 1, 3, 0b0000_0101], 7), Some(Some(nulls)));
        assert_eq!(validity(&[20, 1], 11), None);
        assert_eq!(validity(&[20, 2], 10), None);
        assert_eq!(validity(&[], 0), Some(None));
    }

    #[test]
    fn codes_beyond_the_dictionary_and_pages_that_are_cut_are_not_understood() {
        let page = [2, 6, 1, 3, 0b11_10_01_00, 0b00_00_00_00];
        assert_eq!(looked_up(4, |code| code, &page, 9), Some(vec![1, 1, 1, 0, 1, 2, 3, 0, 0]));
        assert_eq!(looked_up(3, |code| code, &page, 9), None);
        assert_eq!(looked_up(4, |code| code, &page, 12), None);
        assert_eq!(looked_up(4, |code| code, &page[..4], 9), None);
        assert_eq!(looked_up(4, |code| code, &[], 1), None);
        assert_eq!(looked_up(4, |code| code, &[33, 2, 0, 0, 0, 0, 0], 1), None);
        assert_eq!(plain::<u32>(&[1, 0, 0, 0, 2, 0, 0], 2), None);
        assert!(texts(&Bytes::from_static(&[1, 0, 0, 0, 0xff]), 1, &DataType::Utf8View).is_none());
        assert!(texts(&Bytes::from_static(&[1, 0, 0, 0, 0xff]), 1, &DataType::BinaryView).is_some());
        assert!(texts(&Bytes::from_static(&[2, 0, 0, 0, 0xff]), 1, &DataType::BinaryView).is_none());
    }
}
