//! The gate: copies equal their originals and share nothing; what breaks a rule is refused in words.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use limits::bounds::{COLUMNS, NAME_BYTES, NESTING};

use super::{Memory, array, one_type, schema};
use fastrand::Rng;

const LONG: &str = "a text that no view holds by itself";

/// One array of each layout, of 20 cells.
fn layouts() -> Vec<ArrayRef> {
    let numbers = || Int32Array::from_iter((0..20).map(|n| (n % 3 > 0).then_some(n)));
    let texts: Vec<Option<String>> = (0..20).map(|n| (n % 4 > 0).then(|| LONG[..n].repeat(2))).collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..20).map(|n| (n % 5 > 0).then(|| vec![Some(n); n as usize % 3])),
    );
    let mut words = StringDictionaryBuilder::<Int8Type>::new();
    (0..20)
        .for_each(|n| if n % 6 == 0 { words.append_null() } else { words.append_value(format!("{LONG} {}", n % 3)) });
    let fields: Fields = vec![Field::new("n", DataType::Int32, true), Field::new("s", DataType::Utf8, true)].into();
    let children: Vec<ArrayRef> = vec![Arc::new(numbers()), Arc::new(StringArray::from(texts.clone()))];
    let valid = NullBuffer::from_iter((0..20).map(|n| n % 7 > 0));
    let item = Arc::new(Field::new_list_field(DataType::Int32, true));
    let fixed = FixedSizeListArray::new(item.clone(), 2, Arc::new(Int32Array::from_iter(0..40)), Some(valid.clone()));
    let views = ListViewArray::new(
        item,
        (0..20).rev().collect::<ScalarBuffer<i32>>(),
        ScalarBuffer::from(vec![1; 20]),
        Arc::new(numbers()),
        None,
    );
    let runs =
        RunArray::<Int32Type>::try_new(&Int32Array::from(vec![7, 13, 20]), &StringArray::from(vec!["a", LONG, "c"]));
    let entries =
        MapArray::new_from_strings((0..20).map(|_| "k"), &numbers(), &(0..=20).collect::<Vec<u32>>()).unwrap();
    vec![
        Arc::new(NullArray::new(20)),
        Arc::new(BooleanArray::from_iter((0..20).map(|n| (n % 3 > 0).then_some(n % 2 == 0)))),
        Arc::new(numbers()),
        Arc::new(Decimal256Array::from_iter_values((0..20).map(i256::from))),
        Arc::new(StringArray::from(texts.clone())),
        Arc::new(LargeStringArray::from(texts.clone())),
        Arc::new(StringViewArray::from_iter(texts)),
        Arc::new(FixedSizeBinaryArray::try_from_iter((0..20).map(|n| [n as u8; 3])).unwrap()),
        Arc::new(lists),
        Arc::new(views),
        Arc::new(fixed),
        Arc::new(StructArray::new(fields, children, Some(valid))),
        Arc::new(words.finish()),
        Arc::new(runs.unwrap()),
        Arc::new(entries),
    ]
}

fn places(data: &ArrayData, found: &mut Vec<*const u8>) {
    found.extend(data.buffers().iter().filter(|buffer| !buffer.is_empty()).map(Buffer::as_ptr));
    found.extend(data.nulls().map(|nulls| nulls.inner().values().as_ptr()));
    data.child_data().iter().for_each(|child| places(child, found));
}

fn held(data: &ArrayData) -> usize {
    let own: usize = data.buffers().iter().map(Buffer::len).sum();
    own + data.child_data().iter().map(held).sum::<usize>()
}

#[test]
fn a_copy_of_any_slice_equals_it_and_shares_no_memory() {
    for original in layouts() {
        for (start, len) in [(0, 20), (0, 0), (1, 7), (8, 12), (13, 1), (20, 0)] {
            let slice = original.slice(start, len);
            let copy = array(slice.to_data(), Memory::Copied).unwrap();
            assert_eq!(&copy, &slice, "{} {start} {len}", original.data_type());
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            places(&copy.to_data(), &mut ours);
            places(&original.to_data(), &mut theirs);
            assert!(ours.iter().all(|place| !theirs.contains(place)), "{}", original.data_type());
            let shared = array(slice.to_data(), Memory::Shared).unwrap();
            assert_eq!(&shared, &slice, "{}", original.data_type());
        }
    }
}

#[test]
fn a_copy_of_a_slice_copies_its_part() {
    let wide = |text: &str| (0..10_000).map(|n| Some(format!("{text} {n}"))).collect::<Vec<_>>();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_000));
    let all: Vec<ArrayRef> = vec![
        numbers.clone(),
        Arc::new(StringArray::from(wide(LONG))),
        Arc::new(StringViewArray::from_iter(wide(LONG))),
        Arc::new(ListArray::new(
            Arc::new(Field::new_list_field(DataType::Int64, true)),
            OffsetBuffer::from_lengths(std::iter::repeat_n(100, 100)),
            numbers.clone(),
            None,
        )),
        Arc::new(StructArray::new(vec![Field::new("n", DataType::Int64, true)].into(), vec![numbers], None)),
    ];
    for original in all {
        let copy = array(original.slice(50, 2).to_data(), Memory::Copied).unwrap();
        assert!(held(&copy.to_data()) <= 2000, "{} holds {}", original.data_type(), held(&copy.to_data()));
    }
}

fn raw(kind: DataType, len: usize, buffers: Vec<Buffer>, children: Vec<ArrayData>) -> ArrayData {
    let builder = ArrayData::builder(kind).len(len).buffers(buffers).child_data(children);
    // SAFETY: the test hands it to the gate and to nobody else.
    #[allow(unsafe_code, reason = "broken arrays are what is tested")]
    unsafe { builder.skip_validation(true) }.build().unwrap()
}

#[test]
fn what_breaks_a_rule_is_refused_shared_or_copied() {
    let ends = |all: &[i32]| Buffer::from_slice_ref(all);
    let text = || Buffer::from_slice_ref(b"hello");
    let numbers = || Int64Array::from(vec![1, 2]).to_data();
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let view = |buffer: i32, at: i32| {
        let mut view = [100_i32.to_le_bytes(), *b"aaaa", buffer.to_le_bytes(), at.to_le_bytes()].concat();
        view.truncate(16);
        vec![
            Buffer::from_slice_ref(u128::from_le_bytes(view.try_into().unwrap()).to_ne_bytes()),
            Buffer::from_slice_ref([b'a'; 100]),
        ]
    };
    let wide = Buffer::from_slice_ref([1_i128, 10_i128.pow(36)]);
    let decimal = DataType::Decimal128(2, 0);
    let cases = [
        raw(DataType::Utf8, 2, vec![ends(&[0, 5, 2]), text()], vec![]),
        raw(DataType::Utf8, 1, vec![ends(&[0, 500]), text()], vec![]),
        raw(DataType::Utf8, 1, vec![ends(&[-3, 2]), text()], vec![]),
        raw(DataType::Utf8, 1, vec![ends(&[0, 1]), Buffer::from_slice_ref([0xff_u8])], vec![]),
        raw(DataType::Utf8View, 1, view(0, 1 << 20), vec![]),
        raw(DataType::Utf8View, 1, view(7, 0), vec![]),
        raw(DataType::Utf8View, 1, view(-1, 0), vec![]),
        raw(DataType::List(item.clone()), 1, vec![ends(&[0, 99])], vec![numbers()]),
        raw(DataType::ListView(item.clone()), 1, vec![ends(&[1]), ends(&[99])], vec![numbers()]),
        raw(DataType::FixedSizeList(item, 3), 2, vec![], vec![numbers()]),
        raw(DataType::Struct(vec![Field::new("a", DataType::Int64, true)].into()), 5, vec![], vec![numbers()]),
        raw(DataType::Int64, 100, vec![ends(&[1, 2])], vec![]),
        raw(DataType::FixedSizeBinary(16), 100, vec![ends(&[1, 2])], vec![]),
        raw(DataType::Dictionary(DataType::Int32.into(), DataType::Int64.into()), 1, vec![ends(&[7])], vec![numbers()]),
        raw(
            DataType::Dictionary(DataType::Int32.into(), DataType::Int64.into()),
            1,
            vec![ends(&[-5])],
            vec![numbers()],
        ),
        raw(decimal.clone(), 2, vec![wide.clone()], vec![]),
        raw(
            DataType::Struct(vec![Field::new("d", decimal.clone(), true)].into()),
            2,
            vec![],
            vec![raw(decimal, 2, vec![wide], vec![])],
        ),
        raw(DataType::Decimal256(3, 1), 1, vec![Buffer::from_slice_ref([i256::from(1000)])], vec![]),
        raw(DataType::Time32(TimeUnit::Second), 1, vec![ends(&[86_400])], vec![]),
        raw(DataType::Time32(TimeUnit::Millisecond), 1, vec![ends(&[-1])], vec![]),
        raw(DataType::Time64(TimeUnit::Microsecond), 1, vec![Buffer::from_slice_ref([86_400_000_000_i64])], vec![]),
        raw(DataType::Time64(TimeUnit::Nanosecond), 1, vec![Buffer::from_slice_ref([1_i64 << 62])], vec![]),
    ];
    for (number, case) in cases.into_iter().enumerate() {
        for memory in [Memory::Shared, Memory::Copied] {
            assert!(array(case.clone(), memory).is_err(), "case {number}, {} {memory:?}", case.data_type());
        }
    }
}

#[test]
fn cells_that_are_null_may_hold_anything() {
    let far = Time64NanosecondArray::new(vec![1 << 62, 5].into(), Some(NullBuffer::from(vec![false, true])));
    assert_eq!(array(far.to_data(), Memory::Copied).unwrap().null_count(), 1);
}

fn nested(depth: usize) -> DataType {
    (0..depth).fold(DataType::Int64, |inner, _| DataType::List(Arc::new(Field::new_list_field(inner, true))))
}

#[test]
fn a_schema_is_bounded_in_every_way() {
    assert!(one_type(&nested(NESTING)).is_ok());
    let deep = one_type(&nested(NESTING + 1)).unwrap_err();
    assert_eq!(deep.to_string(), "types are nested more than 64 deep");
    let of = |name: &str, kind: DataType| Schema::new(vec![Field::new(name, kind, true)]);
    assert!(schema(&of(&"n".repeat(NAME_BYTES), DataType::Int64)).is_ok());
    let long = schema(&of(&"n".repeat(NAME_BYTES + 1), DataType::Int64)).unwrap_err().to_string();
    assert!(long.len() < 300 && long.contains("65537 bytes"), "{long}");
    let field = Arc::new(Field::new("x", DataType::Int64, true));
    let wide = |columns: usize| schema(&Schema::new(vec![field.clone(); columns]));
    assert!(wide(COLUMNS).is_ok());
    assert_eq!(wide(COLUMNS + 1).unwrap_err().to_string(), "100001 columns, but a table has at most 100000");
    let crowded: Fields = vec![field; 400].into();
    let crowded = DataType::Struct(vec![Field::new("s", DataType::Struct(crowded), true); 4000].into());
    assert!(schema(&of("c", crowded)).unwrap_err().to_string().contains("more than 1000000 fields"));
    for none in [
        DataType::Decimal128(39, 0),
        DataType::Decimal128(0, 0),
        DataType::Decimal128(5, 6),
        DataType::Decimal256(77, 0),
        DataType::FixedSizeBinary(-1),
        DataType::FixedSizeList(Arc::new(Field::new_list_field(DataType::Int64, true)), -2),
        DataType::Dictionary(DataType::Utf8.into(), DataType::Utf8.into()),
        DataType::Map(Arc::new(Field::new("entries", DataType::Int64, false)), false),
    ] {
        assert!(schema(&of("c", none.clone())).unwrap_err().to_string().starts_with("column \"c\""), "{none}");
    }
}

/// Texts are taken as sound without a look at each of them only where Arrow, which looks at each, takes them too.
#[test]
fn texts_of_ascii_are_judged_as_arrow_judges_them() {
    let mut dice = Rng::with_seed(3);
    let (mut quick, mut refused) = (0, 0);
    for _ in 0..4_000 {
        let rows = dice.u64(..6) as usize;
        let mut bytes: Vec<u8> = (0..dice.u64(..24)).map(|at| b'a' + at as u8).collect();
        let mut offsets: Vec<i32> = (0..=rows).map(|_| dice.u64(..bytes.len() as u64 + 1) as i32).collect();
        offsets.sort_unstable();
        match dice.u64(..4) {
            0 => offsets[dice.u64(..rows as u64 + 1) as usize] = dice.u64(..40) as i32 - 8,
            1 if !bytes.is_empty() => {
                let at = dice.u64(..bytes.len() as u64) as usize;
                bytes[at] = 0xc3;
            }
            2 if bytes.len() > 2 => bytes[1..3].copy_from_slice("ä".as_bytes()),
            _ => {}
        }
        let from = dice.u64(..rows as u64 + 1) as usize;
        let whole = raw(DataType::Utf8, rows, vec![Buffer::from_vec(offsets), Buffer::from_vec(bytes)], Vec::new());
        let data = whole.slice(from, rows - from);
        quick += u32::from(super::is_sound_ascii(&data));
        refused += u32::from(data.validate_full().is_err());
        assert!(!super::is_sound_ascii(&data) || data.validate_full().is_ok(), "{data:?}");
        assert_eq!(array(data.clone(), Memory::Shared).is_ok(), data.validate_full().is_ok(), "{data:?}");
    }
    assert!(quick > 1_000 && refused > 500, "{quick} {refused}");
}
