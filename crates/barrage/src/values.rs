//! Cells of a table in the types of the wire, and the values that stand for nulls there.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal256Type, IntervalDayTimeType, UInt64Type};
use arrow_array::{Array, ArrayRef, DurationNanosecondArray, ListArray, make_array, new_null_array};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
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

/// The fewest bytes of a number, most significant first, that keep its sign.
fn shortest(bytes: &[u8]) -> &[u8] {
    let needless = |pair: &[u8]| matches!((pair[0], pair[1] & 0x80), (0, 0) | (0xff, 0x80));
    let skip = bytes.windows(2).take_while(|pair| needless(pair)).count();
    &bytes[skip..]
}
