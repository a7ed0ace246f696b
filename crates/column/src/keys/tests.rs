//! The key table against a map of tuples, cell by cell.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    BinaryViewArray, BooleanArray, Decimal128Array, Decimal256Array, DictionaryArray, FixedSizeBinaryArray,
    FixedSizeListArray, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, IntervalMonthDayNanoArray,
    ListArray, StringViewArray, StructArray, TimestampNanosecondArray, UInt16Array,
};
use arrow_buffer::{IntervalMonthDayNano, OffsetBuffer, i256};
use arrow_schema::{Field, IntervalUnit, TimeUnit};

use super::*;
use crate::kernels::words::normalised;

/// Random cells, few enough values that keys come back.
struct Draw {
    state: u64,
    values: u64,
}

impl Draw {
    fn next(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % below
    }

    fn column(&mut self, data_type: &DataType, rows: usize) -> ArrayRef {
        let cells: Vec<Option<u64>> =
            (0..rows).map(|_| Some(self.next(self.values)).filter(|cell| *cell != 7)).collect();
        let long = |cell: u64| match cell % 4 {
            0 if cell == 0 => String::new(),
            0 => format!("a key too long for its view, {cell}"),
            1 => format!("{cell} has a head of its own, and the same tail"),
            _ => format!("{cell}"),
        };
        let float = |cell: u64| match cell {
            0 => f64::NAN,
            1 => -f64::NAN,
            2 => 0.0,
            3 => -0.0,
            other => other as f64 - 20.0,
        };
        match data_type {
            DataType::Int64 => Arc::new(cells.iter().map(|c| c.map(|c| c as i64 - 20)).collect::<Int64Array>()),
            DataType::Int32 => Arc::new(cells.iter().map(|c| c.map(|c| c as i32 - 20)).collect::<Int32Array>()),
            DataType::Int8 => Arc::new(cells.iter().map(|c| c.map(|c| (c % 100) as i8 - 20)).collect::<Int8Array>()),
            DataType::UInt16 => Arc::new(cells.iter().map(|c| c.map(|c| c as u16)).collect::<UInt16Array>()),
            DataType::Boolean => Arc::new(cells.iter().map(|c| c.map(|c| c > 20)).collect::<BooleanArray>()),
            DataType::Float64 => Arc::new(cells.iter().map(|c| c.map(float)).collect::<Float64Array>()),
            DataType::Utf8View => Arc::new(cells.iter().map(|c| c.map(long)).collect::<StringViewArray>()),
            DataType::BinaryView => {
                Arc::new(cells.iter().map(|c| c.map(|c| long(c).into_bytes())).collect::<BinaryViewArray>())
            }
            DataType::Decimal128(..) => {
                let values = cells.iter().map(|c| c.map(|c| i128::from(c) << 70)).collect::<Decimal128Array>();
                Arc::new(values.with_data_type(data_type.clone()))
            }
            DataType::Float32 => Arc::new(cells.iter().map(|c| c.map(|c| float(c) as f32)).collect::<Float32Array>()),
            DataType::Timestamp(..) => {
                Arc::new(cells.iter().map(|c| c.map(|c| (c as i64) << 40)).collect::<TimestampNanosecondArray>())
            }
            DataType::Decimal256(..) => {
                let value = |c: u64| i256::from_parts(u128::from(c) << 100, -i128::from(c % 5));
                let values = cells.iter().map(|c| c.map(value)).collect::<Decimal256Array>();
                Arc::new(values.with_data_type(data_type.clone()))
            }
            DataType::Interval(_) => {
                let period = |c: u64| IntervalMonthDayNano::new((c % 3) as i32, (c / 3) as i32, -(c as i64));
                Arc::new(cells.iter().map(|c| c.map(period)).collect::<IntervalMonthDayNanoArray>())
            }
            DataType::FixedSizeBinary(size) => {
                let bytes = |c: u64| (0..*size).map(|at| (c >> (at % 3 * 4)) as u8).collect::<Vec<u8>>();
                let values = cells.iter().map(|c| c.map(bytes));
                Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *size).unwrap())
            }
            DataType::Dictionary(..) => {
                let values = cells.iter().map(|c| c.map(long)).collect::<Vec<_>>();
                Arc::new(values.iter().map(Option::as_deref).collect::<DictionaryArray<Int32Type>>())
            }
            DataType::List(_) => Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(
                cells.iter().map(|c| c.map(|c| vec![Some(float(c)); (c % 3) as usize])),
            )),
            other => panic!("no cells of {other}"),
        }
    }
}

/// A row as text.
fn shown(keys: &[ArrayRef], row: usize) -> String {
    let cell = |column: &ArrayRef| match column.data_type() {
        DataType::Dictionary(_, values) => format!("{:?}", arrow_cast::cast(&column.slice(row, 1), values).unwrap()),
        _ => format!("{:?}", column.slice(row, 1)),
    };
    keys.iter().map(cell).collect()
}

/// A row as text that is equal where the cells are.
fn text(keys: &[ArrayRef], row: usize) -> String {
    let normal: Vec<ArrayRef> = keys.iter().map(|column| normalised(&column.slice(row, 1)).unwrap()).collect();
    shown(&normal, 0)
}

fn against_a_map(types: &[DataType]) {
    for seed in 0..3 {
        let scope = limits::Scope::drawn(seed);
        scope.enter(|| against_a_map_of(types, &mut Draw { state: types.len() as u64 + seed, values: 40 }, 60));
    }
}

fn against_a_map_of(types: &[DataType], draw: &mut Draw, rounds: u32) {
    let mut table = KeyTable::new(types);
    let mut model: HashMap<String, u32> = HashMap::new();
    let (mut slots, mut created) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let rows = draw.next(150) as usize;
        let keys: Vec<ArrayRef> = types.iter().map(|data_type| draw.column(data_type, rows)).collect();
        if draw.next(2) == 0 {
            table.settle([0, 10, 1 << 20][draw.next(3) as usize]);
        }
        table.find(&keys, &mut slots);
        let expected: Vec<u32> =
            (0..rows).map(|row| model.get(&text(&keys, row)).copied().unwrap_or(NO_SLOT)).collect();
        assert_eq!(slots, expected);
        table.insert(&keys, &mut slots, &mut created).unwrap();
        let mut new_rows = Vec::new();
        for (row, given) in slots.iter().enumerate() {
            let taken = model.len();
            let slot = *model.entry(text(&keys, row)).or_insert(*given);
            assert_eq!(slot, *given, "{types:?} {}", text(&keys, row));
            if model.len() > taken {
                new_rows.push(row as u32);
            }
        }
        assert_eq!(created, new_rows);
        assert_eq!(table.len(), model.len());
        let mut all: Vec<u32> = model.values().copied().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), model.len(), "a slot a key");
        assert!(all.iter().all(|&slot| (slot as usize) < table.capacity_slots()));
        let back = table.keys_of(&all);
        for (row, slot) in all.iter().enumerate() {
            assert_eq!(model.get(&text(&back, row)), Some(slot));
            assert_eq!(shown(&back, row), text(&back, row), "in normal form");
            assert_eq!(back.iter().map(|column| column.data_type().clone()).collect::<Vec<_>>(), types);
        }
        let share = if round % 20 == 19 { 1 } else { 3 };
        for slot in all.into_iter().filter(|_| draw.next(share) == 0) {
            table.free(slot);
            model.retain(|_, kept| *kept != slot);
            assert_eq!(table.len(), model.len());
        }
    }
}

#[test]
fn one_column_of_each_family() {
    let list = DataType::new_list(DataType::Float64, true);
    for data_type in [
        DataType::Int64,
        DataType::Int32,
        DataType::Boolean,
        DataType::Float64,
        DataType::Utf8View,
        DataType::BinaryView,
        DataType::Decimal128(38, 2),
        list,
    ] {
        against_a_map(&[data_type]);
    }
}

#[test]
fn several_columns_packed_and_encoded() {
    against_a_map(&[DataType::Int32, DataType::UInt16, DataType::Int8]);
    against_a_map(&[DataType::Boolean, DataType::Int8]);
    against_a_map(&[DataType::Int64, DataType::Int64]);
    against_a_map(&[DataType::Utf8View, DataType::Int8]);
    against_a_map(&[DataType::Float64, DataType::BinaryView, DataType::Boolean]);
}

#[test]
fn random_columns_of_all_types() {
    let types = [
        DataType::Int64,
        DataType::Int32,
        DataType::Int8,
        DataType::UInt16,
        DataType::Boolean,
        DataType::Float64,
        DataType::Float32,
        DataType::Timestamp(TimeUnit::Nanosecond, None),
        DataType::Utf8View,
        DataType::BinaryView,
        DataType::Decimal128(38, 2),
        DataType::Decimal256(76, 2),
        DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::FixedSizeBinary(5),
        DataType::FixedSizeBinary(20),
        DataType::FixedSizeBinary(33),
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
    ];
    let mut draw = Draw { state: 1, values: 1 };
    for round in 0..80 {
        let texts = round % 4; // many have one, and one that is not of words or text is rare
        let chosen: Vec<DataType> =
            (0..1 + draw.next(4))
                .map(|at| {
                    if at < texts { DataType::Utf8View } else { types[draw.next(types.len() as u64) as usize].clone() }
                })
                .collect();
        draw.values = [3, 12, 40, 1000][draw.next(4) as usize];
        let scope = limits::Scope::drawn(round);
        scope.enter(|| against_a_map_of(&chosen, &mut draw, 20));
    }
}

#[test]
fn nulls_are_one_key_whatever_lies_under_them_and_no_other() {
    let there = NullBuffer::from(vec![false, false, false, true, true]);
    let under = StringViewArray::from_iter_values(["", "x", "a text that a view does not hold itself", "", "x"]);
    let (views, buffers, _) = under.into_parts();
    let text: ArrayRef = Arc::new(StringViewArray::new(views, buffers, Some(there.clone())));
    let zero: ArrayRef = Arc::new(Int64Array::new(vec![0, 1, 2, 0, 1].into(), Some(there)));
    for keys in [vec![text.clone()], vec![zero.clone()], vec![text.clone(), zero.clone()], vec![zero, text]] {
        let types: Vec<DataType> = keys.iter().map(|column| column.data_type().clone()).collect();
        let mut table = KeyTable::new(&types);
        let (mut slots, mut created) = (Vec::new(), Vec::new());
        table.insert(&keys, &mut slots, &mut created).unwrap();
        assert_eq!(slots, [0, 0, 0, 1, 2], "{types:?}");
        table.find(&keys, &mut slots);
        assert_eq!(slots, [0, 0, 0, 1, 2], "{types:?}");
        let back = table.keys_of(&[2, 0, 1]);
        for (back, column) in back.iter().zip(&keys) {
            let wanted = arrow_select::take::take(column, &Int32Array::from(vec![4, 0, 3]), None).unwrap();
            assert_eq!(back, &wanted);
        }
        table.free(0);
        table.find(&keys, &mut slots);
        assert_eq!(slots, [NO_SLOT, NO_SLOT, NO_SLOT, 1, 2], "{types:?}");
    }
}

#[test]
fn keys_that_come_and_go_leave_nothing_behind() {
    let mut table = KeyTable::new(&[DataType::Utf8View, DataType::Int64, DataType::Utf8View]);
    let (mut slots, mut created) = (Vec::new(), Vec::new());
    let mut most = 0;
    for step in 0..100 {
        let rows = step * 500..(step + 1) * 500;
        let text = |kind: &str| -> ArrayRef {
            Arc::new(StringViewArray::from_iter_values(rows.clone().map(|row| format!("the {kind} of a row, {row}"))))
        };
        let keys = [text("name"), Arc::new(Int64Array::from_iter_values(rows.clone())) as ArrayRef, text("place")];
        table.insert(&keys, &mut slots, &mut created).unwrap();
        slots[1..].iter().for_each(|&slot| table.free(slot));
        most = most.max(table.bytes());
        assert_eq!(table.keys_of(&slots[..1]), keys.map(|column| column.slice(0, 1)), "what stays is as it was");
    }
    assert_eq!(table.len(), 100);
    assert!(table.capacity_slots() < 700, "{}", table.capacity_slots());
    assert!(most < 250_000, "{most}");
}

#[test]
fn slots_are_reused_and_memory_stays_with_what_is_present() {
    let mut table = KeyTable::new(&[DataType::Int64]);
    let (mut slots, mut created) = (Vec::new(), Vec::new());
    let mut most = 0;
    for step in 0..200 {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(step * 1000..(step + 1) * 1000));
        table.insert(&[keys], &mut slots, &mut created).unwrap();
        slots[..999].iter().for_each(|&slot| table.free(slot));
        most = most.max(table.bytes());
    }
    assert_eq!(table.len(), 200);
    assert!(table.capacity_slots() < 1300, "{}", table.capacity_slots());
    assert!(most < 200_000, "{most}");
}

#[test]
fn dead_text_is_given_back() {
    let mut table = KeyTable::new(&[DataType::Utf8View]);
    let (mut slots, mut created) = (Vec::new(), Vec::new());
    let keep: ArrayRef = Arc::new(StringViewArray::from_iter_values(["the key that stays, all along"]));
    table.insert(std::slice::from_ref(&keep), &mut slots, &mut created).unwrap();
    for step in 0..100 {
        let cells = (0..100).map(|at| format!("a key of step {step} that goes, number {at}"));
        let keys: ArrayRef = Arc::new(StringViewArray::from_iter_values(cells));
        table.insert(&[keys], &mut slots, &mut created).unwrap();
        slots.iter().for_each(|&slot| table.free(slot));
        assert!(table.bytes() < 50_000, "{}", table.bytes());
    }
    table.find(std::slice::from_ref(&keep), &mut slots);
    assert_eq!(&table.keys_of(&slots)[0], &keep);
}

#[test]
fn keys_of_other_types_are_refused_by_name() {
    let mut table = KeyTable::new(&[DataType::Int64]);
    let (mut slots, mut created) = (Vec::new(), Vec::new());
    let text: ArrayRef = Arc::new(StringViewArray::from_iter_values(["1"]));
    let error = table.insert(std::slice::from_ref(&text), &mut slots, &mut created).unwrap_err();
    assert_eq!(error.to_string(), "the column holds Int64, the cells are Utf8View");
    table.find(&[text], &mut slots);
    assert_eq!(slots, [NO_SLOT]);
}

#[test]
fn a_map_cannot_be_a_key() {
    let mut builder = arrow_array::builder::MapBuilder::new(
        None,
        arrow_array::builder::StringBuilder::new(),
        arrow_array::builder::PrimitiveBuilder::<Int64Type>::new(),
    );
    builder.append(true).unwrap();
    let map: ArrayRef = Arc::new(builder.finish());
    let mut table = KeyTable::new(&[map.data_type().clone()]);
    let (mut slots, mut created) = (Vec::new(), Vec::new());
    let refused = table.insert(std::slice::from_ref(&map), &mut slots, &mut created);
    assert!(refused.is_err_and(|error| error.to_string().contains("cannot be keys")));
    table.find(&[map], &mut slots);
    assert_eq!(slots, [NO_SLOT]);
}

#[test]
fn rows_with_a_null_among_their_keys_are_known() {
    let a: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let b: ArrayRef = Arc::new(StringViewArray::from(vec![None, Some("x"), Some("y")]));
    let valid = any_null(&[a.clone(), b]).expect("two rows have a null");
    assert_eq!(valid.iter().collect::<Vec<_>>(), [false, false, true]);
    assert!(any_null(&[a.slice(2, 1)]).is_none());
}

/// Lists in lists, of one or two cells each, of a fixed size or not; some in structs.
fn nested(levels: usize, mut cells: ArrayRef) -> ArrayRef {
    for level in 0..levels {
        let field = Arc::new(Field::new_list_field(cells.data_type().clone(), true));
        let nulls = Some(NullBuffer::from_iter((0..cells.len()).map(|at| at % 5 != 3)));
        cells = match level % 8 {
            3 => {
                let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(1, cells.len()));
                Arc::new(ListArray::new(field, offsets, cells, nulls))
            }
            5 => Arc::new(StructArray::new(vec![field].into(), vec![cells], nulls)),
            _ => Arc::new(FixedSizeListArray::new(field, 1, cells, nulls.filter(|_| level % 8 == 7))),
        };
    }
    cells
}

#[test]
fn deeply_nested_keys_come_back() {
    let cells: ArrayRef =
        Arc::new(Float64Array::from_iter((0..40).map(|at| Some(f64::from(at % 8)).filter(|x| *x != 2.0))));
    for levels in [1, 2, 9, 64] {
        for keys in [nested(levels, cells.clone()), nested(levels, cells.clone()).slice(7, 30)] {
            let mut table = KeyTable::new(&[keys.data_type().clone()]);
            let (mut slots, mut created) = (Vec::new(), Vec::new());
            table.insert(std::slice::from_ref(&keys), &mut slots, &mut created).unwrap();
            let back = table.keys_of(&slots).remove(0);
            back.to_data().validate_full().unwrap();
            assert!(crate::kernels::compare::equal_cells(&back, &keys).count_set_bits() == keys.len(), "{levels}");
            let places: Vec<u32> = created.iter().map(|row| slots[*row as usize]).collect();
            assert_eq!(places, (0..created.len() as u32).collect::<Vec<_>>(), "slots are given in the order of rows");
            assert!(created.len() > 1 && created.len() <= 9 + levels, "{levels}: {created:?}");
        }
    }
}

#[cfg(debug_assertions)]
#[test]
fn slots_do_not_depend_on_the_secret() {
    let all = |types: &[DataType]| {
        let mut draw = Draw { state: 5, values: 300 };
        let mut table = KeyTable::new(types);
        let mut told = Vec::new();
        for round in 0..20 {
            let keys: Vec<ArrayRef> = types.iter().map(|data_type| draw.column(data_type, 100)).collect();
            let (mut slots, mut created) = (Vec::new(), Vec::new());
            table.insert(&keys, &mut slots, &mut created).unwrap();
            for slot in slots.iter().step_by(3) {
                table.free(*slot);
            }
            table.find(&keys, &mut created);
            told.push((round, slots, created, table.len()));
        }
        told
    };
    for types in [
        vec![DataType::Int64],
        vec![DataType::Utf8View],
        vec![DataType::Int64, DataType::Utf8View],
        vec![DataType::Int32, DataType::Int8],
        vec![DataType::Decimal128(38, 2)],
    ] {
        let first = all(&types);
        for seed in 1..30 {
            assert!(limits::Scope::drawn(seed).enter(|| all(&types)) == first, "{types:?}, seed {seed}");
        }
    }
}

/// Keys that lie close together, then apart, then close together again as the far ones leave, and pairs of such.
#[test]
fn ranges_that_grow_and_shrink() {
    let ints = |cells: &[Option<i64>]| Arc::new(cells.iter().copied().collect::<Int64Array>()) as ArrayRef;
    for (seed, columns) in (0..24_u64).flat_map(|seed| [(seed, 1), (seed, 2), (seed, 3)]) {
        limits::Scope::drawn(seed).enter(|| {
            let mut draw = Draw { state: seed * 7 + columns, values: 1 << 20 };
            let types = vec![DataType::Int64; columns as usize];
            let mut table = KeyTable::new(&types);
            let mut known: HashMap<Vec<Option<i64>>, u32> = HashMap::new();
            let mut base = [0, -1000, i64::MAX - 100, i64::MIN, i64::MIN + 3, 1 << 62][seed as usize % 6];
            for step in 0..60 {
                let span = [3, 50, 50, 4000, 1 << 19][draw.next(5) as usize];
                let far = [0, 1, 40, -700, 1 << 40, -(1 << 41), i64::MAX / 3];
                base = base.saturating_add(far[draw.next(7) as usize % (2 + step / 9)]);
                let rows = draw.next(70) as usize;
                let keys: Vec<Vec<Option<i64>>> = (0..rows)
                    .map(|_| {
                        let cell = |draw: &mut Draw| base.saturating_add(draw.next(span) as i64);
                        (0..columns).map(|_| Some(cell(&mut draw)).filter(|cell| cell % 11 != 5)).collect()
                    })
                    .collect();
                let column = |at: usize| ints(&keys.iter().map(|key| key[at]).collect::<Vec<_>>());
                let cells: Vec<ArrayRef> = (0..columns as usize).map(column).collect();
                let (mut slots, mut created) = (Vec::new(), Vec::new());
                table.find(&cells, &mut slots);
                let wanted: Vec<u32> = keys.iter().map(|key| known.get(key).copied().unwrap_or(NO_SLOT)).collect();
                assert_eq!(slots, wanted);
                table.insert(&cells, &mut slots, &mut created).unwrap();
                for (row, (key, slot)) in keys.iter().zip(&slots).enumerate() {
                    let is_new = !known.contains_key(key);
                    assert_eq!(*known.entry(key.clone()).or_insert(*slot), *slot);
                    assert_eq!(created.contains(&(row as u32)), is_new);
                }
                let mut all: Vec<u32> = known.values().copied().collect();
                all.sort_unstable();
                assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
                assert_eq!(table.len(), all.len());
                let gone = |draw: &mut Draw| draw.next(4) < [0, 1, 3, 4][step % 4];
                let leaving: Vec<Vec<Option<i64>>> = known.keys().filter(|_| gone(&mut draw)).cloned().collect();
                leaving.iter().for_each(|key| table.free(known.remove(key).unwrap()));
                let (kept, slots): (Vec<_>, Vec<u32>) = known.iter().map(|(key, slot)| (key.clone(), *slot)).unzip();
                let back = table.keys_of(&slots);
                for (at, column) in back.iter().enumerate().filter(|_| !slots.is_empty()) {
                    assert_eq!(column, &ints(&kept.iter().map(|key| key[at]).collect::<Vec<_>>()));
                }
            }
        });
    }
}

#[test]
fn keys_at_the_ends_of_their_type() {
    for ends in [[i64::MAX, i64::MIN], [i64::MIN, i64::MAX], [0, i64::MAX], [-1, -1]] {
        let column = |cell: i64| Arc::new(Int64Array::from(vec![cell])) as ArrayRef;
        for keys in [vec![column(ends[0])], ends.map(column).to_vec()] {
            let mut table = KeyTable::new(&vec![DataType::Int64; keys.len()]);
            let mut slots = Vec::new();
            for _ in 0..2 {
                table.insert(&keys, &mut slots, &mut Vec::new()).unwrap();
                assert_eq!((&slots, table.keys_of(&slots)), (&vec![0], keys.clone()));
            }
            table.find(&keys, &mut slots);
            assert_eq!(slots, [0]);
            table.find(&keys.iter().map(|_| column(ends[0] ^ 1)).collect::<Vec<_>>(), &mut slots);
            assert_eq!(slots, [NO_SLOT]);
        }
    }
}
