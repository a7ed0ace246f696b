//! Cells of a table in the types of the wire, and the values that stand for nulls there.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal256Type, DurationNanosecondType, IntervalDayTimeType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal256Array, DurationNanosecondArray, FixedSizeBinaryArray, IntervalDayTimeArray,
    ListArray, UInt64Array, make_array, new_null_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, IntervalDayTime, MutableBuffer, NullBuffer, i256};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, IntervalUnit};

/// The value that stands for a null of this type; none for types whose nulls are bits.
pub(crate) fn sentinel(data_type: &DataType) -> Option<Vec<u8>> {
    match data_type {
        DataType::Int8 => Some(i8::MIN.to_le_bytes().to_vec()),
        DataType::Int16 => Some(i16::MIN.to_le_bytes().to_vec()),
        DataType::UInt16 => Some(u16::MAX.to_le_bytes().to_vec()),
        DataType::Int32 | DataType::Interval(IntervalUnit::YearMonth) => Some(i32::MIN.to_le_bytes().to_vec()),
        DataType::Int64 | DataType::Timestamp(..) | DataType::Date64 | DataType::Time64(_) | DataType::Duration(_) => {
            Some(i64::MIN.to_le_bytes().to_vec())
        }
        DataType::Float32 => Some(f32::MIN.to_le_bytes().to_vec()),
        DataType::Float64 => Some(f64::MIN.to_le_bytes().to_vec()),
        _ => None,
    }
}

/// The bytes of cells of one width, with the sentinel where a null is.
pub(crate) fn with_sentinels(array: &dyn Array, width: usize) -> Buffer {
    let data = array.to_data();
    let from = data.offset() * width;
    let values = data.buffers()[0].slice_with_length(from, data.len() * width);
    let (Some(nulls), Some(sentinel)) =
        (data.nulls().filter(|nulls| nulls.null_count() > 0), sentinel(data.data_type()))
    else {
        return values;
    };
    let mut filled = MutableBuffer::from_len_zeroed(0);
    filled.extend_from_slice(values.as_slice());
    for at in (!nulls.inner()).set_indices() {
        filled[at * width..(at + 1) * width].copy_from_slice(&sentinel);
    }
    filled.into()
}

/// Cells that came without validity, whose nulls are values in their place. What has another kind of null stays.
pub(crate) fn nulls_of_sentinels(array: ArrayRef) -> Result<ArrayRef, ArrowError> {
    if let DataType::List(item) = array.data_type() {
        let list = array.as_list::<i32>();
        let inner = nulls_of_sentinels(list.values().clone())?;
        return Ok(Arc::new(ListArray::try_new(item.clone(), list.offsets().clone(), inner, list.nulls().cloned())?));
    }
    let Some(sentinel) = sentinel(array.data_type()) else { return Ok(array) };
    let data = array.to_data();
    let width = sentinel.len();
    let cells = data.buffers()[0].as_slice()[data.offset() * width..].chunks_exact(width).take(data.len());
    if !cells.clone().any(|cell| cell == sentinel) {
        return Ok(array);
    }
    let valid = BooleanBuffer::from_iter(cells.map(|cell| cell != sentinel));
    let nulls = NullBuffer::union(Some(&NullBuffer::new(valid)), data.nulls());
    Ok(make_array(data.into_builder().nulls(nulls).build()?))
}

/// Cells in a type of the wire. What does not fit is an error, never another value.
pub(crate) fn to_wire(array: &ArrayRef, wire: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == wire {
        return Ok(array.clone());
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let cast = |array: &ArrayRef, to: &DataType| cast_with_options(array, to, &strict);
    match (array.data_type(), wire) {
        (DataType::Null, wire) => Ok(new_null_array(wire, array.len())),
        (DataType::Dictionary(_, values), wire) => to_wire(&cast(array, values)?, wire),
        (DataType::RunEndEncoded(_, values), wire) => to_wire(&cast(array, values.data_type())?, wire),
        (DataType::UInt64, DataType::Binary) => {
            let mut numbers = BinaryBuilder::new();
            for number in array.as_primitive::<UInt64Type>() {
                // One byte more keeps the sign.
                numbers.append_option(number.map(|number| shortest(&i128::from(number).to_be_bytes()).to_vec()));
            }
            Ok(Arc::new(numbers.finish()))
        }
        (
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale),
            DataType::Binary,
        ) => {
            let wide = cast(array, &DataType::Decimal256(76, *scale))?;
            let mut numbers = BinaryBuilder::new();
            for number in wide.as_primitive::<Decimal256Type>() {
                numbers.append_option(number.map(|number| {
                    let mut bytes = i32::from(*scale).to_le_bytes().to_vec();
                    bytes.extend_from_slice(shortest(&number.to_be_bytes()));
                    bytes
                }));
            }
            Ok(Arc::new(numbers.finish()))
        }
        (DataType::FixedSizeBinary(_), DataType::Binary) => {
            let fixed = array.as_fixed_size_binary();
            let mut bytes = BinaryBuilder::new();
            (0..fixed.len()).for_each(|at| bytes.append_option(fixed.is_valid(at).then(|| fixed.value(at))));
            Ok(Arc::new(bytes.finish()))
        }
        (DataType::Interval(IntervalUnit::DayTime), DataType::Duration(_)) => {
            let nanos = array.as_primitive::<IntervalDayTimeType>().iter().map(|interval| {
                interval.map(|interval| {
                    i64::from(interval.days) * 86_400_000_000_000 + i64::from(interval.milliseconds) * 1_000_000
                })
            });
            Ok(Arc::new(nanos.collect::<DurationNanosecondArray>()))
        }
        (DataType::List(_), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let inner = to_wire(list.values(), item.data_type())?;
            Ok(Arc::new(ListArray::try_new(item.clone(), list.offsets().clone(), inner, list.nulls().cloned())?))
        }
        (
            DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::FixedSizeList(item, _),
            DataType::List(_),
        ) => to_wire(&cast(array, &DataType::List(item.clone()))?, wire),
        _ => cast(array, wire),
    }
}

/// Cells of the wire in the type that they had before [`to_wire`]. What does not fit is an error, never another value.
pub fn from_wire(array: &ArrayRef, own: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == own {
        return Ok(array.clone());
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let cast = |array: &ArrayRef, to: &DataType| cast_with_options(array, to, &strict);
    match (array.data_type(), own) {
        (_, DataType::Null) => Ok(new_null_array(own, array.len())),
        (_, DataType::Dictionary(_, values)) => cast(&from_wire(array, values)?, own),
        (_, DataType::RunEndEncoded(_, values)) => cast(&from_wire(array, values.data_type())?, own),
        (DataType::Binary, DataType::UInt64) => {
            let numbers = array.as_binary::<i32>().iter().map(|bytes| bytes.map(unsigned).transpose());
            Ok(Arc::new(numbers.collect::<Result<UInt64Array, ArrowError>>()?))
        }
        (
            DataType::Binary,
            DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..),
        ) => decimals(array.as_binary::<i32>(), own),
        (DataType::Binary, DataType::FixedSizeBinary(width)) => {
            let bytes = array.as_binary::<i32>().iter();
            Ok(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, *width)?))
        }
        (DataType::Duration(_), DataType::Interval(IntervalUnit::DayTime)) => {
            const DAY: i64 = 86_400_000_000_000;
            let interval = |nanos: i64| {
                let (days, rest) = (nanos.div_euclid(DAY), nanos.rem_euclid(DAY));
                let days = i32::try_from(days).map_err(|error| ArrowError::CastError(error.to_string()))?;
                Ok(IntervalDayTime::new(days, (rest / 1_000_000) as i32))
            };
            let nanos = array.as_primitive::<DurationNanosecondType>().iter();
            let intervals = nanos.map(|nanos| nanos.map(interval).transpose());
            Ok(Arc::new(intervals.collect::<Result<IntervalDayTimeArray, ArrowError>>()?))
        }
        (DataType::List(_), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let inner = from_wire(list.values(), item.data_type())?;
            Ok(Arc::new(ListArray::try_new(item.clone(), list.offsets().clone(), inner, list.nulls().cloned())?))
        }
        (
            DataType::List(_),
            DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::FixedSizeList(item, _),
        ) => cast(&from_wire(array, &DataType::List(item.clone()))?, own),
        _ => cast(array, own),
    }
}

/// A whole number of most significant bytes first.
fn unsigned(bytes: &[u8]) -> Result<u64, ArrowError> {
    let wrong = || ArrowError::CastError(format!("{bytes:?} is no number of 64 bits without a sign"));
    if bytes.first().is_none_or(|first| first & 0x80 != 0) {
        return Err(wrong());
    }
    let skip = bytes.iter().take_while(|byte| **byte == 0).count();
    let mut whole = [0; 8];
    let digits = &bytes[skip..];
    whole.get_mut(8_usize.saturating_sub(digits.len())..).filter(|_| digits.len() <= 8).ok_or_else(wrong)?;
    whole[8 - digits.len()..].copy_from_slice(digits);
    Ok(u64::from_be_bytes(whole))
}

/// Decimals: a scale, and the digits as a whole number of most significant bytes first.
fn decimals(array: &BinaryArray, own: &DataType) -> Result<ArrayRef, ArrowError> {
    let scale = match own {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    };
    let number = |bytes: &[u8]| -> Result<i256, ArrowError> {
        let wrong = |why: &str| ArrowError::CastError(format!("a decimal {why}"));
        let (given, digits) = bytes.split_first_chunk::<4>().ok_or_else(|| wrong("without a scale"))?;
        if digits.is_empty() || digits.len() > 32 {
            return Err(wrong("of more than 256 bits, or of none"));
        }
        let sign = if digits[0] & 0x80 != 0 { 0xff } else { 0 };
        let mut whole = [sign; 32];
        whole[32 - digits.len()..].copy_from_slice(digits);
        let mut number = i256::from_be_bytes(whole);
        let ten = i256::from_i128(10);
        let mut shift = i64::from(scale) - i64::from(i32::from_le_bytes(*given));
        while shift != 0 {
            let next = if shift > 0 { number.checked_mul(ten) } else { number.checked_div(ten) };
            let next = next.ok_or_else(|| wrong("that does not fit its column"))?;
            if shift < 0 && next.checked_mul(ten) != Some(number) {
                return Err(wrong("with more digits than its column has"));
            }
            number = next;
            shift -= shift.signum();
            if number == i256::ZERO {
                break;
            }
        }
        Ok(number)
    };
    let numbers = array.iter().map(|bytes| bytes.map(number).transpose());
    let numbers = numbers.collect::<Result<Decimal256Array, ArrowError>>()?.with_precision_and_scale(76, scale)?;
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&numbers, own, &strict)
}

/// The fewest bytes of a number, most significant first, that keep its sign.
fn shortest(bytes: &[u8]) -> &[u8] {
    let needless = |pair: &[u8]| matches!((pair[0], pair[1] & 0x80), (0, 0) | (0xff, 0x80));
    let skip = bytes.windows(2).take_while(|pair| needless(pair)).count();
    &bytes[skip..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{
        BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Int64Array, LargeStringArray,
        Time32SecondArray, TimestampMillisecondArray, UInt8Array, UInt32Array,
    };
    use arrow_schema::{Field, TimeUnit};

    fn cells() -> Vec<ArrayRef> {
        let decimals = |precision, scale, of: Vec<Option<i128>>| {
            Decimal128Array::from(of).with_precision_and_scale(precision, scale).expect("decimals")
        };
        let nested = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
        let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([1, 2]), None].into_iter(), 2);
        vec![
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            Arc::new(UInt8Array::from(vec![Some(0), Some(255), None])),
            Arc::new(UInt32Array::from(vec![Some(0), Some(u32::MAX), None])),
            Arc::new(UInt64Array::from(vec![Some(0), Some(255), Some(1 << 63), Some(u64::MAX), None])),
            Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None])),
            Arc::new(Float32Array::from(vec![Some(f32::MIN), Some(f32::NAN), Some(-0.0), None])),
            Arc::new(LargeStringArray::from(vec![Some(""), Some("ü"), None])),
            Arc::new(Date32Array::from(vec![Some(-1), Some(20_000), None])),
            Arc::new(Time32SecondArray::from(vec![Some(86_399), None])),
            Arc::new(TimestampMillisecondArray::from(vec![Some(-1), None]).with_timezone("Europe/Berlin")),
            Arc::new(decimals(9, 2, vec![Some(-12_345), Some(0), Some(128), Some(-128), None])),
            Arc::new(decimals(38, -3, vec![Some(7), None])),
            Arc::new(DictionaryArray::<Int32Type>::from_iter([Some("a"), None, Some("b"), Some("a")])),
            Arc::new(fixed.expect("two bytes each")),
            Arc::new(IntervalDayTimeArray::from(vec![Some(IntervalDayTime::new(-2, 5)), None])),
            Arc::new(nested),
        ]
    }

    #[test]
    fn what_comes_back_from_the_wire_is_what_went() {
        for cells in cells() {
            let schema = arrow_schema::Schema::new(vec![Field::new("c", cells.data_type().clone(), true)]);
            let wire = crate::WireSchema::of(&schema).expect("a type of the wire");
            let sent = to_wire(&cells, wire.schema().field(0).data_type()).expect("it goes");
            let back = from_wire(&sent, cells.data_type()).expect("it comes back");
            assert_eq!(&back, &cells, "{}", cells.data_type());
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let one = |bytes: &[u8]| -> ArrayRef { Arc::new(BinaryArray::from(vec![bytes])) };
        for (bytes, own) in [
            (&b""[..], DataType::UInt64),
            (&[0xff], DataType::UInt64),
            (&[1; 9], DataType::UInt64),
            (&[0, 0, 0], DataType::Decimal128(9, 2)),
            (&[0, 0, 0, 0], DataType::Decimal128(9, 2)),
            (&[3, 0, 0, 0, 1], DataType::Decimal128(9, 2)),
            (&[0, 0, 0, 0x80, 1], DataType::Decimal128(9, 2)),
            (&[2, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff], DataType::Decimal128(9, 2)),
            (&[1; 3], DataType::FixedSizeBinary(2)),
        ] {
            assert!(from_wire(&one(bytes), &own).is_err(), "{bytes:?} as {own}");
        }
        let nanos: ArrayRef = Arc::new(arrow_array::Time64NanosecondArray::from(vec![1]));
        let seconds = DataType::Time32(TimeUnit::Second);
        assert!(from_wire(&nanos, &seconds).is_ok_and(|cells| cells.len() == 1));
        let wide: ArrayRef = Arc::new(Int64Array::from(vec![-1]));
        assert!(from_wire(&wide, &DataType::UInt32).is_err());
    }
}
