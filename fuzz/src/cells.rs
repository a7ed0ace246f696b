//! Columns of every type that Arrow has, from bytes.

use std::sync::Arc;

use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, RunEndIndexType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray,
    GenericListArray, GenericListViewArray, LargeBinaryArray, LargeStringArray, MapArray, OffsetSizeTrait,
    PrimitiveArray, RunArray, StringArray, StringViewArray, StructArray, UnionArray, make_array, new_null_array,
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};

use super::reader::Reader;

/// Types that hold no others.
const PLAIN: [DataType; 38] = [
    DataType::Null,
    DataType::Boolean,
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
    DataType::Float16,
    DataType::Float32,
    DataType::Float64,
    DataType::Utf8,
    DataType::LargeUtf8,
    DataType::Utf8View,
    DataType::Binary,
    DataType::LargeBinary,
    DataType::BinaryView,
    DataType::FixedSizeBinary(3),
    DataType::Date32,
    DataType::Date64,
    DataType::Time32(TimeUnit::Second),
    DataType::Time32(TimeUnit::Millisecond),
    DataType::Time64(TimeUnit::Microsecond),
    DataType::Time64(TimeUnit::Nanosecond),
    DataType::Timestamp(TimeUnit::Second, None),
    DataType::Timestamp(TimeUnit::Millisecond, None),
    DataType::Timestamp(TimeUnit::Microsecond, None),
    DataType::Timestamp(TimeUnit::Nanosecond, None),
    DataType::Duration(TimeUnit::Second),
    DataType::Duration(TimeUnit::Nanosecond),
    DataType::Interval(IntervalUnit::YearMonth),
    DataType::Interval(IntervalUnit::DayTime),
    DataType::Interval(IntervalUnit::MonthDayNano),
    DataType::Decimal32(9, 2),
    DataType::Decimal64(18, -2),
    DataType::Decimal128(38, 10),
];
const KEYS: [DataType; 8] = [
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
];

/// A type; of so many levels at most.
pub fn data_type(reader: &mut Reader<'_>, deep: usize) -> DataType {
    let plain = |reader: &mut Reader<'_>| match reader.below(PLAIN.len() + 2) {
        0 => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        1 => DataType::Decimal256(76, 3),
        at => PLAIN[at - 2].clone(),
    };
    if deep == 0 || reader.below(2) == 0 {
        return plain(reader);
    }
    let inner = |reader: &mut Reader<'_>| data_type(reader, deep - 1);
    let field = |reader: &mut Reader<'_>| Arc::new(Field::new("item", inner(reader), true));
    match reader.below(11) {
        0 => DataType::List(field(reader)),
        1 => DataType::LargeList(field(reader)),
        2 => DataType::ListView(field(reader)),
        3 => DataType::LargeListView(field(reader)),
        4 => DataType::FixedSizeList(field(reader), 1 + reader.below(3) as i32),
        5 | 6 => {
            let count = reader.below(3);
            DataType::Struct((0..count).map(|at| Field::new(format!("f{at}"), inner(reader), true)).collect())
        }
        7 => {
            let key = if reader.below(2) == 0 { DataType::Utf8 } else { DataType::Int32 };
            let fields = vec![Field::new("keys", key, false), Field::new("values", inner(reader), true)];
            DataType::Map(Arc::new(Field::new("entries", DataType::Struct(fields.into()), false)), false)
        }
        8 => DataType::Dictionary(Box::new(reader.choice(&KEYS).clone()), Box::new(inner(reader))),
        9 => {
            let ends = [DataType::Int16, DataType::Int32, DataType::Int64];
            let ends = Field::new("run_ends", reader.choice(&ends).clone(), false);
            DataType::RunEndEncoded(Arc::new(ends), Arc::new(Field::new("values", inner(reader), true)))
        }
        _ => {
            let fields = (0..1 + reader.below(2)).map(|at| Arc::new(Field::new(format!("u{at}"), inner(reader), true)));
            let fields: Vec<FieldRef> = fields.collect();
            let mode = if reader.below(2) == 0 { UnionMode::Sparse } else { UnionMode::Dense };
            DataType::Union(UnionFields::from_fields(fields), mode)
        }
    }
}

fn nulls(reader: &mut Reader<'_>, len: usize) -> Option<NullBuffer> {
    (reader.below(3) > 0).then(|| (0..len).map(|_| reader.below(4) > 0).collect())
}

fn texts(reader: &mut Reader<'_>, len: usize) -> Vec<Option<String>> {
    let text = |reader: &mut Reader<'_>| match reader.below(4) {
        0 => None,
        1 => Some(format!("a text that no view holds by itself, {}", reader.text(4))),
        _ => Some(reader.text(13)),
    };
    (0..len).map(|_| text(reader)).collect()
}

/// Cells of fixed width, whatever they mean.
fn fixed(reader: &mut Reader<'_>, of: &DataType, len: usize, width: usize) -> ArrayRef {
    let bytes: Vec<u8> =
        (0..len).flat_map(|_| reader.integer().to_le_bytes().into_iter().cycle().take(width)).collect();
    let nulls = nulls(reader, len);
    let data =
        ArrayData::builder(of.clone()).len(len).add_buffer(Buffer::from_vec(bytes)).nulls(nulls).align_buffers(true);
    make_array(data.build().expect("cells of this width"))
}

/// Lengths of lists, and their sum.
fn lengths(reader: &mut Reader<'_>, len: usize) -> (Vec<usize>, usize) {
    let lengths: Vec<usize> = (0..len).map(|_| reader.below(4)).collect();
    let sum = lengths.iter().sum();
    (lengths, sum)
}

fn list<O: OffsetSizeTrait>(reader: &mut Reader<'_>, item: &FieldRef, len: usize) -> ArrayRef {
    let (lengths, sum) = lengths(reader, len);
    let (cells, nulls) = (array(reader, item.data_type(), sum), nulls(reader, len));
    Arc::new(GenericListArray::<O>::new(item.clone(), OffsetBuffer::from_lengths(lengths), cells, nulls))
}

fn list_view<O: OffsetSizeTrait>(reader: &mut Reader<'_>, item: &FieldRef, len: usize) -> ArrayRef {
    let (sizes, most) = (lengths(reader, len).0, 4);
    let cells = array(reader, item.data_type(), 2 * most);
    let offsets: ScalarBuffer<O> = sizes.iter().map(|_| O::usize_as(reader.below(most + 1))).collect();
    let sizes: ScalarBuffer<O> = sizes.into_iter().map(O::usize_as).collect();
    Arc::new(GenericListViewArray::<O>::new(item.clone(), offsets, sizes, cells, nulls(reader, len)))
}

fn dictionary<K: ArrowDictionaryKeyType>(reader: &mut Reader<'_>, values: &DataType, len: usize) -> ArrayRef {
    let held = 1 + reader.below(4);
    let key = |reader: &mut Reader<'_>| (reader.below(4) > 0).then(|| K::Native::usize_as(reader.below(held)));
    let keys: PrimitiveArray<K> = (0..len).map(|_| key(reader)).collect();
    Arc::new(DictionaryArray::<K>::new(keys, array(reader, values, held)))
}

fn runs<R: RunEndIndexType>(reader: &mut Reader<'_>, values: &DataType, len: usize) -> ArrayRef {
    let mut ends: Vec<usize> = (1..len).filter(|_| reader.below(2) > 0).collect();
    ends.extend((len > 0).then_some(len));
    let values = array(reader, values, ends.len());
    let ends = PrimitiveArray::<R>::from_iter_values(ends.into_iter().map(R::Native::usize_as));
    Arc::new(RunArray::<R>::try_new(&ends, &values).expect("ends that ascend"))
}

fn fields_of(reader: &mut Reader<'_>, fields: &Fields, len: usize) -> Vec<ArrayRef> {
    fields.iter().map(|field| array(reader, field.data_type(), len)).collect()
}

fn map(reader: &mut Reader<'_>, of: &FieldRef, len: usize) -> ArrayRef {
    let DataType::Struct(fields) = of.data_type() else { unreachable!("entries are a struct") };
    let (lengths, sum) = lengths(reader, len);
    let keys: ArrayRef = match fields[0].data_type() {
        DataType::Utf8 => Arc::new(StringArray::from_iter_values((0..sum).map(|_| reader.text(3)))),
        _ => Arc::new(PrimitiveArray::<Int32Type>::from_iter_values((0..sum).map(|_| i32::from(reader.byte())))),
    };
    let entries = StructArray::new(fields.clone(), vec![keys, array(reader, fields[1].data_type(), sum)], None);
    Arc::new(MapArray::new(of.clone(), OffsetBuffer::from_lengths(lengths), entries, nulls(reader, len), false))
}

fn union(reader: &mut Reader<'_>, fields: &UnionFields, mode: UnionMode, len: usize) -> ArrayRef {
    let known: Vec<i8> = fields.iter().map(|(id, _)| id).collect();
    let ids: ScalarBuffer<i8> = (0..len).map(|_| *reader.choice(&known)).collect();
    let held = if mode == UnionMode::Sparse { len } else { 3 };
    let cells = fields.iter().map(|(_, field)| array(reader, field.data_type(), held)).collect();
    let mut place = || (0..len).map(|_| reader.below(held) as i32).collect::<ScalarBuffer<i32>>();
    let offsets = (mode == UnionMode::Dense).then(&mut place);
    Arc::new(UnionArray::try_new(fields.clone(), ids, offsets, cells).expect("places that there are"))
}

/// So many cells of a type.
pub fn array(reader: &mut Reader<'_>, of: &DataType, len: usize) -> ArrayRef {
    let bytes = |texts: Vec<Option<String>>| texts.into_iter().map(|text| text.map(String::into_bytes));
    match of {
        DataType::Null => new_null_array(of, len),
        DataType::Boolean => {
            Arc::new(BooleanArray::new((0..len).map(|_| reader.below(2) > 0).collect(), nulls(reader, len)))
        }
        DataType::Utf8 => Arc::new(texts(reader, len).into_iter().collect::<StringArray>()),
        DataType::LargeUtf8 => Arc::new(texts(reader, len).into_iter().collect::<LargeStringArray>()),
        DataType::Utf8View => Arc::new(texts(reader, len).into_iter().collect::<StringViewArray>()),
        DataType::Binary => Arc::new(bytes(texts(reader, len)).collect::<BinaryArray>()),
        DataType::LargeBinary => Arc::new(bytes(texts(reader, len)).collect::<LargeBinaryArray>()),
        DataType::BinaryView => Arc::new(bytes(texts(reader, len)).collect::<BinaryViewArray>()),
        DataType::FixedSizeBinary(width) => {
            let cells: Vec<u8> = (0..len * *width as usize).map(|_| reader.byte()).collect();
            Arc::new(FixedSizeBinaryArray::new(*width, cells.into(), nulls(reader, len)))
        }
        DataType::List(item) => list::<i32>(reader, item, len),
        DataType::LargeList(item) => list::<i64>(reader, item, len),
        DataType::ListView(item) => list_view::<i32>(reader, item, len),
        DataType::LargeListView(item) => list_view::<i64>(reader, item, len),
        DataType::FixedSizeList(item, size) => {
            let cells = array(reader, item.data_type(), len * *size as usize);
            Arc::new(FixedSizeListArray::new(item.clone(), *size, cells, nulls(reader, len)))
        }
        DataType::Struct(fields) if fields.is_empty() => {
            Arc::new(StructArray::new_empty_fields(len, nulls(reader, len)))
        }
        DataType::Struct(fields) => {
            let cells = fields_of(reader, fields, len);
            Arc::new(StructArray::new(fields.clone(), cells, nulls(reader, len)))
        }
        DataType::Map(entries, _) => map(reader, entries, len),
        DataType::Dictionary(key, values) => match **key {
            DataType::Int8 => dictionary::<Int8Type>(reader, values, len),
            DataType::Int16 => dictionary::<Int16Type>(reader, values, len),
            DataType::Int32 => dictionary::<Int32Type>(reader, values, len),
            DataType::Int64 => dictionary::<Int64Type>(reader, values, len),
            DataType::UInt8 => dictionary::<UInt8Type>(reader, values, len),
            DataType::UInt16 => dictionary::<UInt16Type>(reader, values, len),
            DataType::UInt32 => dictionary::<UInt32Type>(reader, values, len),
            _ => dictionary::<UInt64Type>(reader, values, len),
        },
        DataType::RunEndEncoded(ends, values) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(reader, values.data_type(), len),
            DataType::Int32 => runs::<Int32Type>(reader, values.data_type(), len),
            _ => runs::<Int64Type>(reader, values.data_type(), len),
        },
        DataType::Union(fields, mode) => union(reader, fields, *mode, len),
        _ => fixed(reader, of, len, of.primitive_width().expect("a type of fixed width")),
    }
}
