//! Cells as words: one `u64` a cell that orders, equals and hashes as the cell does.
//!
//! Every integer, time, date, Boolean and float has such a word, so that sorting, hashing and finding
//! keys need one loop each and not one a type. Negative zero and zero share a word, all NaNs share one.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use crate::error::Error;
use crate::types::kind::{Kind, canonical};

const SIGN: u64 = 1 << 63;

/// A float format inside the low bits of a word.
struct Float {
    sign: u64,
    infinity: u64,
    nan: u64,
}

const HALF: Float = Float { sign: 1 << 15, infinity: 0x7c00, nan: 0x7e00 };
const SINGLE: Float = Float { sign: 1 << 31, infinity: 0x7f80_0000, nan: 0x7fc0_0000 };
const DOUBLE: Float = Float { sign: SIGN, infinity: 0x7ff0 << 48, nan: 0x7ff8 << 48 };

impl Float {
    #[inline(always)]
    fn word(&self, bits: u64) -> u64 {
        let magnitude = bits & !self.sign;
        let negative = (bits & self.sign != 0) & (magnitude != 0) & (magnitude <= self.infinity);
        let magnitude = if magnitude > self.infinity { self.nan } else { magnitude };
        if negative { (self.sign - 1) ^ magnitude } else { self.sign | magnitude }
    }

    #[inline(always)]
    fn bits(&self, word: u64) -> u64 {
        if word & self.sign != 0 { word ^ self.sign } else { self.sign | (word ^ (self.sign - 1)) }
    }
}

/// Whether cells of this type have words.
pub(crate) fn have_words(data_type: &DataType) -> bool {
    word_bits(data_type).is_some()
}

/// How many low bits of a word can differ between cells of this type.
pub(crate) fn word_bits(data_type: &DataType) -> Option<u32> {
    if canonical(data_type) != *data_type {
        return None;
    }
    match Kind::of(data_type) {
        Kind::Bool => Some(1),
        Kind::I8 | Kind::U8 => Some(8),
        Kind::I16 | Kind::U16 | Kind::F16 => Some(16),
        Kind::I32 | Kind::U32 | Kind::F32 => Some(32),
        Kind::I64 | Kind::U64 | Kind::F64 => Some(64),
        Kind::I128 | Kind::I256 | Kind::Fixed(_) | Kind::Str | Kind::Bytes | Kind::MonthDayNano | Kind::Opaque => None,
    }
}

/// The words of all cells; none for types without words. The word of a null is any.
pub(crate) fn words(array: &dyn Array) -> Option<Vec<u64>> {
    let mut words = Vec::new();
    append_words(array, &mut words).then_some(words)
}

/// As [`words`], after what is already in `out`; false for types without words.
pub(crate) fn append_words(array: &dyn Array, out: &mut Vec<u64>) -> bool {
    if !have_words(array.data_type()) {
        return false;
    }
    match Kind::of(array.data_type()) {
        Kind::Bool => out.extend(array.as_boolean().values().iter().map(u64::from)),
        Kind::I8 => extend(out, &cells::<i8>(array), |cell| signed(i64::from(cell), 8)),
        Kind::I16 => extend(out, &cells::<i16>(array), |cell| signed(i64::from(cell), 16)),
        Kind::I32 => extend(out, &cells::<i32>(array), |cell| signed(i64::from(cell), 32)),
        Kind::I64 => extend(out, &cells::<i64>(array), |cell| signed(cell, 64)),
        Kind::U8 => extend(out, &cells::<u8>(array), u64::from),
        Kind::U16 => extend(out, &cells::<u16>(array), u64::from),
        Kind::U32 => extend(out, &cells::<u32>(array), u64::from),
        Kind::U64 => extend(out, &cells::<u64>(array), |cell| cell),
        Kind::F16 => extend(out, &cells::<u16>(array), |bits| HALF.word(u64::from(bits))),
        Kind::F32 => extend(out, &cells::<u32>(array), |bits| SINGLE.word(u64::from(bits))),
        Kind::F64 => extend(out, &cells::<u64>(array), |bits| DOUBLE.word(bits)),
        Kind::I128 | Kind::I256 | Kind::Fixed(_) | Kind::Str | Kind::Bytes | Kind::MonthDayNano | Kind::Opaque => {
            return false;
        }
    }
    true
}

/// The cells that have these words, in normal form: zero for both zeros, one NaN for all.
pub(crate) fn from_words(words: &[u64], nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef, Error> {
    let buffer: Buffer = match Kind::of(data_type) {
        Kind::Bool => {
            let bits = BooleanBuffer::collect_bool(words.len(), |row| words[row] != 0);
            return Ok(std::sync::Arc::new(BooleanArray::new(bits, nulls)));
        }
        Kind::I8 => words.iter().map(|&word| unsigned(word, 8) as i8).collect(),
        Kind::I16 => words.iter().map(|&word| unsigned(word, 16) as i16).collect(),
        Kind::I32 => words.iter().map(|&word| unsigned(word, 32) as i32).collect(),
        Kind::I64 => words.iter().map(|&word| unsigned(word, 64)).collect(),
        Kind::U8 => words.iter().map(|&word| word as u8).collect(),
        Kind::U16 => words.iter().map(|&word| word as u16).collect(),
        Kind::U32 => words.iter().map(|&word| word as u32).collect(),
        Kind::F16 => words.iter().map(|&word| HALF.bits(word) as u16).collect(),
        Kind::F32 => words.iter().map(|&word| SINGLE.bits(word) as u32).collect(),
        Kind::F64 => words.iter().map(|&word| DOUBLE.bits(word)).collect(),
        _ => words.iter().copied().collect(),
    };
    let data = ArrayData::builder(data_type.clone()).len(words.len()).add_buffer(buffer).nulls(nulls).build()?;
    Ok(make_array(data))
}

/// The fixed-width cells of an array, read as `T`.
pub(crate) fn cells<T: ArrowNativeType>(array: &dyn Array) -> ScalarBuffer<T> {
    let data = array.to_data();
    ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len())
}

/// A float column with one zero and one NaN, also inside lists, structs and dictionaries: what byte
/// encodings need before they may stand for the cells.
pub(crate) fn normalised(array: &ArrayRef) -> Result<ArrayRef, Error> {
    if !holds_floats(array.data_type()) {
        return Ok(array.clone());
    }
    if let Some(words) = words(array) {
        return from_words(&words, array.nulls().cloned(), array.data_type());
    }
    let data = array.to_data();
    let mut children = Vec::with_capacity(data.child_data().len());
    for child in data.child_data() {
        children.push(normalised(&make_array(child.clone()))?.to_data());
    }
    Ok(make_array(data.into_builder().child_data(children).build()?))
}

fn holds_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => true,
        DataType::Struct(fields) => fields.iter().any(|field| holds_floats(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => holds_floats(field.data_type()),
        DataType::Dictionary(_, values) => holds_floats(values),
        DataType::RunEndEncoded(_, values) => holds_floats(values.data_type()),
        _ => false,
    }
}

#[inline(always)]
fn extend<T: Copy>(out: &mut Vec<u64>, cells: &[T], word: impl Fn(T) -> u64) {
    out.extend(cells.iter().map(|&cell| word(cell)));
}

#[inline(always)]
fn signed(cell: i64, bits: u32) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    (cell as u64 ^ (1 << (bits - 1))) & mask
}

#[inline(always)]
fn unsigned(word: u64, bits: u32) -> i64 {
    (word ^ (1 << (bits - 1))) as i64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float32Array, Float64Array, Int8Array, Int64Array, UInt16Array};

    use super::*;

    fn ascending(array: ArrayRef) {
        let words = words(&array).expect("has words");
        assert!(words.windows(2).all(|pair| pair[0] < pair[1]), "{words:x?} of {array:?}");
        let back = from_words(&words, None, array.data_type()).unwrap();
        assert_eq!(&back, &array);
    }

    #[test]
    fn words_order_as_cells_do_and_lead_back() {
        ascending(Arc::new(Int8Array::from(vec![i8::MIN, -1, 0, 1, i8::MAX])));
        ascending(Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, 1, i64::MAX])));
        ascending(Arc::new(UInt16Array::from(vec![0, 1, u16::MAX])));
        ascending(Arc::new(BooleanArray::from(vec![false, true])));
        let doubles =
            [f64::NEG_INFINITY, f64::MIN, -1.5, -f64::MIN_POSITIVE, 0.0, 5e-324, 1.5, f64::MAX, f64::INFINITY];
        ascending(Arc::new(Float64Array::from(doubles.to_vec())));
        ascending(Arc::new(Float32Array::from(vec![f32::NEG_INFINITY, -1.0, 0.0, 2.0, f32::INFINITY])));
    }

    #[test]
    fn zeros_share_a_word_and_nans_share_the_greatest() {
        let odd_nan = f64::from_bits(0xfff8_0000_0000_0001);
        let array = Float64Array::from(vec![-0.0, 0.0, f64::INFINITY, f64::NAN, odd_nan]);
        let words = words(&array).unwrap();
        assert_eq!(words[0], words[1]);
        assert_eq!(words[3], words[4]);
        assert!(words[2] < words[3]);
    }
}
