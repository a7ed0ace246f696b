//! Membership in a list of literals, by the total order's equality.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{Array, ArrayRef, BinaryViewArray, BooleanArray, Scalar};
use arrow_buffer::{BooleanBuffer, i256};
use arrow_data::MAX_INLINE_VIEW_LEN;
use arrow_schema::DataType;

use crate::eval::lanes::{Kind, Values};
use crate::eval::node::failure;
use crate::eval::node::{Failure, Whole};

/// A list this short is compared value by value.
const SCANNED_VALUES: usize = 8;

/// Whether each value is one of `items`, which are of `data_type` and none is null.
///
/// `null_is_member`: None leaves null at null, otherwise the answer for null.
pub(crate) fn is_in(items: &ArrayRef, data_type: &DataType, null_is_member: Option<bool>) -> Whole {
    let finish = move |found: BooleanBuffer, values: &ArrayRef| -> Result<ArrayRef, Failure> {
        let nulls = values.logical_nulls();
        let array = match (null_is_member, nulls) {
            (None, nulls) => BooleanArray::new(found, nulls),
            (Some(_), None) => BooleanArray::new(found, None),
            (Some(true), Some(nulls)) => BooleanArray::new(&found | &!nulls.inner(), None),
            (Some(false), Some(nulls)) => BooleanArray::new(&found & nulls.inner(), None),
        };
        Ok(Arc::new(array))
    };
    match (Kind::of(data_type), data_type) {
        (Some(kind), _) if kind != Kind::Bits => {
            let set = Set::new(keys(items));
            Arc::new(move |args, _| {
                let values = args[0].array();
                finish(members(values, &set), values)
            })
        }
        (_, DataType::Utf8View | DataType::BinaryView) => {
            let set = Texts::new(&bytes(items));
            Arc::new(move |args, _| finish(set.found(&bytes(args[0].array())), args[0].array()))
        }
        (_, DataType::Decimal128(_, _)) => {
            let set: HashSet<i128> = items.as_primitive::<Decimal128Type>().iter().flatten().collect();
            Arc::new(move |args, _| {
                let cells = args[0].array().as_primitive::<Decimal128Type>();
                let found = BooleanBuffer::collect_bool(cells.len(), |row| set.contains(&cells.value(row)));
                finish(found, args[0].array())
            })
        }
        (_, DataType::Decimal256(_, _)) => {
            let set: HashSet<i256> = items.as_primitive::<Decimal256Type>().iter().flatten().collect();
            Arc::new(move |args, _| {
                let cells = args[0].array().as_primitive::<Decimal256Type>();
                let found = BooleanBuffer::collect_bool(cells.len(), |row| set.contains(&cells.value(row)));
                finish(found, args[0].array())
            })
        }
        (_, DataType::Boolean) => {
            let items = items.as_boolean();
            let (some, all) = (items.true_count() > 0, items.true_count() == items.len());
            Arc::new(move |args, _| {
                let cells = args[0].array().as_boolean();
                let found = BooleanBuffer::collect_bool(cells.len(), |row| if cells.value(row) { some } else { !all });
                finish(found, args[0].array())
            })
        }
        _ => {
            let items: Vec<Scalar<ArrayRef>> = (0..items.len()).map(|item| Scalar::new(items.slice(item, 1))).collect();
            Arc::new(move |args, _| {
                let values = args[0].array();
                let mut found = BooleanBuffer::new_unset(values.len());
                for item in &items {
                    let equal = arrow_ord::cmp::eq(values, item).map_err(failure)?;
                    found = &found | equal.values();
                }
                finish(found, values)
            })
        }
    }
}

fn bytes(array: &ArrayRef) -> BinaryViewArray {
    match array.as_string_view_opt() {
        Some(text) => text.clone().to_binary_view(),
        None => array.as_binary_view().clone(),
    }
}

/// Values as bits in which equal means the same: one NaN, one zero.
trait Key: Copy {
    fn key(self) -> u64;
}

macro_rules! integer_keys {
    ($($native:ty)*) => {$(impl Key for $native {
        #[inline]
        fn key(self) -> u64 { self as u64 }
    })*};
}

integer_keys!(i8 i16 i32 i64 u8 u16 u32 u64);

impl Key for f32 {
    #[inline]
    fn key(self) -> u64 {
        f64::from(self).key()
    }
}

impl Key for f64 {
    #[inline]
    fn key(self) -> u64 {
        if self.is_nan() { f64::NAN.to_bits() } else { (self + 0.0).to_bits() }
    }
}

macro_rules! each {
    ($array:expr, $values:ident => $body:expr) => {
        match Values::of($array) {
            Values::I8($values) => $body,
            Values::I16($values) => $body,
            Values::I32($values) => $body,
            Values::I64($values) => $body,
            Values::U8($values) => $body,
            Values::U16($values) => $body,
            Values::U32($values) => $body,
            Values::U64($values) => $body,
            Values::F32($values) => $body,
            Values::F64($values) => $body,
            Values::Bits(_) | Values::Opaque => unreachable!("only numbers come here"),
        }
    };
}

fn keys(array: &ArrayRef) -> Vec<u64> {
    each!(array, values => values.iter().map(|value| value.key()).collect())
}

fn members(array: &ArrayRef, set: &Set) -> BooleanBuffer {
    each!(array, values => found(&values, set))
}

fn found<K: Key>(values: &[K], set: &Set) -> BooleanBuffer {
    match set {
        Set::Few(keys) => BooleanBuffer::collect_bool(values.len(), |row| {
            let key = values[row].key();
            keys.iter().fold(false, |found, other| found | (*other == key))
        }),
        Set::Many(keys) => BooleanBuffer::collect_bool(values.len(), |row| keys.contains(&values[row].key())),
    }
}

enum Set {
    Few(Vec<u64>),
    Many(HashSet<u64, Hash>),
}

impl Set {
    fn new(keys: Vec<u64>) -> Set {
        if keys.len() <= SCANNED_VALUES { Set::Few(keys) } else { Set::Many(keys.into_iter().collect()) }
    }
}

/// Texts or bytes: short ones by their views, which hold all of them.
struct Texts {
    short: Short,
    long: HashSet<Box<[u8]>, Hash>,
}

enum Short {
    Few(Vec<u128>),
    Many(HashSet<u128, Hash>),
}

/// The length of the text of a view.
fn length(view: u128) -> u32 {
    view as u32
}

impl Texts {
    fn new(items: &BinaryViewArray) -> Texts {
        let valid = || (0..items.len()).filter(|item| items.is_valid(*item));
        let is_short = |item: &usize| length(items.views()[*item]) <= MAX_INLINE_VIEW_LEN;
        let short: Vec<u128> = valid().filter(is_short).map(|item| items.views()[item]).collect();
        let long = valid().filter(|item| !is_short(item)).map(|item| items.value(item).into()).collect();
        let short =
            if short.len() <= SCANNED_VALUES { Short::Few(short) } else { Short::Many(short.into_iter().collect()) };
        Texts { short, long }
    }

    fn found(&self, values: &BinaryViewArray) -> BooleanBuffer {
        let views = values.views();
        let rows = views.len();
        // A long text's view is that of no short one.
        let short = match &self.short {
            Short::Few(items) => BooleanBuffer::collect_bool(rows, |row| {
                items.iter().fold(false, |found, item| found | (*item == views[row]))
            }),
            Short::Many(items) => BooleanBuffer::collect_bool(rows, |row| items.contains(&views[row])),
        };
        if self.long.is_empty() {
            return short;
        }
        let is_long = |row: usize| length(views[row]) > MAX_INLINE_VIEW_LEN && values.is_valid(row);
        &short | &BooleanBuffer::collect_bool(rows, |row| is_long(row) && self.long.contains(values.value(row)))
    }
}

type Hash = BuildHasherDefault<Mixer>;

/// A short hash: the lists are the user's own, and the table is read a million times.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for eight in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
