//! The one total order, and the one idea of "the same cell".
//!
//! −∞ < … < −0.0 = 0.0 < … < ∞ < NaN, NaN equals NaN, null equals null; nulls stand first or last
//! whatever the direction.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Field, SortOptions};

use super::words::{cells, normalised, words};
use crate::error::Error;
use crate::types::kind::{Kind, canonical};

/// Compares a cell of one array, by position, with a cell of another.
pub(crate) type Comparator = Box<dyn Fn(usize, usize) -> Ordering + Send + Sync>;

/// Bytes of a string that its view holds by itself.
const INLINE: u32 = 12;

/// The comparator of two arrays of one type; made once for a pair of chunks.
///
/// Nulls stand first, or last if `nulls_last`, in both directions.
pub(crate) fn comparator(a: &ArrayRef, b: &ArrayRef, descending: bool, nulls_last: bool) -> Result<Comparator, Error> {
    if let (Some(left), Some(right)) = (words(a), words(b)) {
        return Ok(word_comparator(left, a.nulls().cloned(), right, b.nulls().cloned(), descending, nulls_last));
    }
    let options = SortOptions { descending, nulls_first: !nulls_last };
    Ok(make_comparator(&normalised(a)?, &normalised(b)?, options)?)
}

fn word_comparator(
    left: Vec<u64>,
    left_nulls: Option<NullBuffer>,
    right: Vec<u64>,
    right_nulls: Option<NullBuffer>,
    descending: bool,
    nulls_last: bool,
) -> Comparator {
    let direct = move |i: usize, j: usize| {
        let order = left[i].cmp(&right[j]);
        if descending { order.reverse() } else { order }
    };
    if left_nulls.is_none() && right_nulls.is_none() {
        return Box::new(direct);
    }
    let null_order = if nulls_last { Ordering::Greater } else { Ordering::Less };
    Box::new(move |i, j| match (is_null(&left_nulls, i), is_null(&right_nulls, j)) {
        (true, true) => Ordering::Equal,
        (true, false) => null_order,
        (false, true) => null_order.reverse(),
        (false, false) => direct(i, j),
    })
}

/// One comparator over several pairs of columns, the first that differs decides.
#[cfg(test)]
pub(crate) fn comparator_of_rows(
    a: &[ArrayRef],
    b: &[ArrayRef],
    descending: &[bool],
    nulls_last: &[bool],
) -> Result<Comparator, Error> {
    let mut columns = Vec::with_capacity(a.len());
    for (column, (left, right)) in a.iter().zip(b).enumerate() {
        columns.push(comparator(left, right, descending[column], nulls_last[column])?);
    }
    if columns.len() == 1 {
        return Ok(columns.remove(0));
    }
    Ok(Box::new(move |i, j| {
        columns.iter().map(|compare| compare(i, j)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }))
}

/// For each position, whether both arrays hold the same cell there: null is null, NaN is NaN, −0.0 is 0.0.
pub fn equal_cells(a: &ArrayRef, b: &ArrayRef) -> BooleanBuffer {
    debug_assert_eq!((a.len(), a.data_type()), (b.len(), b.data_type()));
    if canonical(a.data_type()) != *a.data_type() {
        return equal_opaque(a, b);
    }
    let values = match Kind::of(a.data_type()) {
        Kind::Bool => !&(a.as_boolean().values() ^ b.as_boolean().values()),
        Kind::I8 | Kind::U8 => equal_as::<u8>(a, b, |x, y| x == y),
        Kind::I16 | Kind::U16 => equal_as::<u16>(a, b, |x, y| x == y),
        Kind::I32 | Kind::U32 => equal_as::<u32>(a, b, |x, y| x == y),
        Kind::I64 | Kind::U64 => equal_as::<u64>(a, b, |x, y| x == y),
        Kind::I128 | Kind::MonthDayNano => equal_as::<i128>(a, b, |x, y| x == y),
        Kind::I256 => equal_as::<arrow_buffer::i256>(a, b, |x, y| x == y),
        Kind::F32 => equal_as::<f32>(a, b, |x, y| x == y || (x.is_nan() && y.is_nan())),
        Kind::F64 => equal_as::<f64>(a, b, |x, y| x == y || (x.is_nan() && y.is_nan())),
        Kind::Str => {
            let (left, right) = (a.as_string_view(), b.as_string_view());
            let same = |row: usize| left.value(row) == right.value(row);
            equal_views(left.views(), right.views(), a.nulls(), b.nulls(), same)
        }
        Kind::Bytes => {
            let (left, right) = (a.as_binary_view(), b.as_binary_view());
            let same = |row: usize| left.value(row) == right.value(row);
            equal_views(left.views(), right.views(), a.nulls(), b.nulls(), same)
        }
        Kind::Fixed(_) => {
            let (left, right) = (a.as_fixed_size_binary(), b.as_fixed_size_binary());
            BooleanBuffer::collect_bool(a.len(), |row| left.value(row) == right.value(row))
        }
        Kind::F16 | Kind::Opaque => return equal_opaque(a, b),
    };
    with_nulls(values, a.nulls(), b.nulls())
}

#[inline(never)]
fn equal_as<T: ArrowNativeType>(a: &ArrayRef, b: &ArrayRef, same: impl Fn(T, T) -> bool) -> BooleanBuffer {
    let (left, right): (ScalarBuffer<T>, ScalarBuffer<T>) = (cells(a), cells(b));
    let (left, right) = (&left[..], &right[..left.len()]);
    BooleanBuffer::collect_bool(left.len(), |row| same(left[row], right[row]))
}

/// Views are the same when their words are, unless both point at bytes elsewhere: then the bytes decide.
fn equal_views(
    left: &[u128],
    right: &[u128],
    left_nulls: Option<&NullBuffer>,
    right_nulls: Option<&NullBuffer>,
    same_bytes: impl Fn(usize) -> bool,
) -> BooleanBuffer {
    let valid = NullBuffer::union(left_nulls, right_nulls);
    BooleanBuffer::collect_bool(left.len(), |row| {
        // The view of a null is any 16 bytes: it must not be followed.
        if valid.as_ref().is_some_and(|valid| valid.is_null(row)) {
            return false;
        }
        let (x, y) = (left[row], right[row]);
        if x as u64 != y as u64 {
            return false;
        }
        if x as u32 <= INLINE { x == y } else { same_bytes(row) }
    })
}

fn with_nulls(values: BooleanBuffer, a: Option<&NullBuffer>, b: Option<&NullBuffer>) -> BooleanBuffer {
    match (a, b) {
        (None, None) => values,
        (Some(valid), None) | (None, Some(valid)) => &values & valid.inner(),
        (Some(left), Some(right)) => {
            let (left, right) = (left.inner(), right.inner());
            let both = left & right;
            let neither = !&(left | right);
            &(&values & &both) | &neither
        }
    }
}

fn equal_opaque(a: &ArrayRef, b: &ArrayRef) -> BooleanBuffer {
    match comparator(&without_maps(a), &without_maps(b), false, false) {
        Ok(compare) => BooleanBuffer::collect_bool(a.len(), |row| compare(row, row).is_eq()),
        // Unions have no order; their equality is Arrow's own.
        Err(_) => BooleanBuffer::collect_bool(a.len(), |row| a.slice(row, 1).to_data() == b.slice(row, 1).to_data()),
    }
}

/// Maps as lists of their entries, which have an order; in structs and lists, too.
fn without_maps(array: &ArrayRef) -> ArrayRef {
    fn has_map(kind: &DataType) -> bool {
        match kind {
            DataType::Map(..) => true,
            DataType::Struct(fields) => fields.iter().any(|field| has_map(field.data_type())),
            DataType::List(item) => has_map(item.data_type()),
            _ => false,
        }
    }
    let field = |name: &str, values: &ArrayRef| Arc::new(Field::new(name, values.data_type().clone(), true));
    match array.data_type() {
        kind if !has_map(kind) => array.clone(),
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let entries = without_maps(&entries);
            let offsets = map.offsets().clone();
            Arc::new(ListArray::new(field("entries", &entries), offsets, entries, map.nulls().cloned()))
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let values = without_maps(list.values());
            Arc::new(ListArray::new(field("item", &values), list.offsets().clone(), values, list.nulls().cloned()))
        }
        DataType::Struct(fields) => {
            let structs = array.as_struct();
            let columns: Vec<ArrayRef> = structs.columns().iter().map(without_maps).collect();
            let named = fields.iter().zip(&columns).map(|(old, values)| field(old.name(), values));
            Arc::new(StructArray::new(named.collect(), columns, structs.nulls().cloned()))
        }
        _ => array.clone(),
    }
}

fn is_null(nulls: &Option<NullBuffer>, row: usize) -> bool {
    nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Float64Type, Int64Type};
    use arrow_array::{
        BinaryViewArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float16Array, Float32Array, Float64Array,
        Int32Array, Int64Array, StringViewArray, UInt8Array,
    };

    use super::*;

    fn bits(buffer: &BooleanBuffer) -> Vec<bool> {
        buffer.iter().collect()
    }

    #[test]
    fn floats_have_one_zero_one_nan_and_nan_is_greatest() {
        let odd_nan = f64::from_bits(0xfff8_0000_0000_0001);
        let a: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, f64::NAN, 1.0, f64::INFINITY, -1.0]));
        let b: ArrayRef = Arc::new(Float64Array::from(vec![0.0, odd_nan, 2.0, f64::NAN, odd_nan]));
        assert_eq!(bits(&equal_cells(&a, &b)), [true, true, false, false, false]);
        let compare = comparator(&a, &b, false, false).unwrap();
        let orders: Vec<Ordering> = (0..5).map(|row| compare(row, row)).collect();
        use Ordering::{Equal, Less};
        assert_eq!(orders, [Equal, Equal, Less, Less, Less]);
        let half =
            |value: f32| <arrow_array::types::Float16Type as arrow_array::ArrowPrimitiveType>::Native::from_f32(value);
        let a: ArrayRef = Arc::new(Float16Array::from(vec![half(-0.0), half(f32::NAN), half(1.0)]));
        let b: ArrayRef = Arc::new(Float16Array::from(vec![half(0.0), half(-f32::NAN), half(1.5)]));
        assert_eq!(bits(&equal_cells(&a, &b)), [true, true, false]);
    }

    #[test]
    fn maps_are_equal_where_their_entries_are() {
        use arrow_array::builder::{Float64Builder, MapBuilder, StringBuilder};
        let maps = |cells: [Option<f64>; 4]| -> ArrayRef {
            let mut maps = MapBuilder::new(None, StringBuilder::new(), Float64Builder::new());
            for cell in cells {
                if let Some(cell) = cell {
                    maps.keys().append_value("a");
                    maps.values().append_value(cell);
                }
                maps.append(cell.is_some()).unwrap();
            }
            let maps: ArrayRef = Arc::new(maps.finish());
            let field = Arc::new(Field::new("m", maps.data_type().clone(), true));
            Arc::new(StructArray::new(vec![field].into(), vec![maps], None))
        };
        let a = maps([Some(f64::NAN), Some(-0.0), None, Some(1.0)]);
        let b = maps([Some(f64::NAN), Some(0.0), None, None]);
        for (a, b) in [(&a, &b), (a.as_struct().column(0), b.as_struct().column(0))] {
            assert_eq!(bits(&equal_cells(a, b)), [true, true, true, false]);
        }
    }

    #[test]
    fn nulls_stand_first_or_last_in_both_directions() {
        let a: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(i64::MIN)]));
        for descending in [false, true] {
            let first = comparator(&a, &a, descending, false).unwrap();
            assert_eq!((first(0, 1), first(1, 0), first(0, 0)), (Ordering::Less, Ordering::Greater, Ordering::Equal));
            let last = comparator(&a, &a, descending, true).unwrap();
            assert_eq!((last(0, 1), last(1, 0)), (Ordering::Greater, Ordering::Less));
        }
        let text: ArrayRef = Arc::new(StringViewArray::from(vec![None, Some(""), Some("a")]));
        let down = comparator(&text, &text, true, false).unwrap();
        assert_eq!((down(0, 2), down(2, 1), down(1, 1)), (Ordering::Less, Ordering::Less, Ordering::Equal));
    }

    #[test]
    fn rows_compare_by_the_first_column_that_differs() {
        let group: ArrayRef = Arc::new(UInt8Array::from(vec![1, 1, 2]));
        let value: ArrayRef = Arc::new(Int32Array::from(vec![5, 6, 1]));
        let columns = [group, value];
        let compare = comparator_of_rows(&columns, &columns, &[false, true], &[false, false]).unwrap();
        assert_eq!(compare(0, 1), Ordering::Greater);
        assert_eq!(compare(1, 2), Ordering::Less);
        assert_eq!(compare(1, 1), Ordering::Equal);
    }

    #[test]
    fn cells_of_every_family_know_their_equals() {
        let pairs: Vec<(ArrayRef, ArrayRef, Vec<bool>)> = vec![
            (
                Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, None])),
                Arc::new(BooleanArray::from(vec![Some(true), Some(true), None, Some(false)])),
                vec![true, false, true, false],
            ),
            (
                Arc::new(Float32Array::from(vec![Some(f32::NAN), None, Some(0.0)])),
                Arc::new(Float32Array::from(vec![Some(-f32::NAN), Some(0.0), Some(-0.0)])),
                vec![true, false, true],
            ),
            (
                Arc::new(StringViewArray::from(vec![Some("short"), Some("a string beyond the view"), None, Some("x")])),
                Arc::new(StringViewArray::from(vec![Some("short"), Some("a string beyond the vieW"), None, None])),
                vec![true, false, true, false],
            ),
            (
                Arc::new(BinaryViewArray::from_iter_values([b"some bytes beyond a view".as_slice(), b""])),
                Arc::new(BinaryViewArray::from_iter_values([b"some bytes beyond a view".as_slice(), b"\0"])),
                vec![true, false],
            ),
            (
                Arc::new(Decimal128Array::from(vec![i128::MAX, 1])),
                Arc::new(Decimal128Array::from(vec![i128::MAX, 2])),
                vec![true, false],
            ),
            (
                Arc::new(FixedSizeBinaryArray::try_from_iter([b"abc", b"abd"].iter()).unwrap()),
                Arc::new(FixedSizeBinaryArray::try_from_iter([b"abc", b"abe"].iter()).unwrap()),
                vec![true, false],
            ),
            (
                Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(-0.0)]), None])),
                Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(0.0)]), None])),
                vec![true, true],
            ),
            (
                Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)]), Some(vec![])])),
                Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None])),
                vec![false, false],
            ),
            (
                arrow_array::new_null_array(&DataType::Null, 2),
                arrow_array::new_null_array(&DataType::Null, 2),
                vec![true, true],
            ),
        ];
        for (a, b, expected) in pairs {
            assert_eq!(bits(&equal_cells(&a, &b)), expected, "{a:?} against {b:?}");
            let doubled = arrow_select::concat::concat(&[&a, &a]).unwrap().slice(a.len(), a.len());
            assert_eq!(bits(&equal_cells(&doubled, &b)), expected, "sliced");
        }
    }
}
