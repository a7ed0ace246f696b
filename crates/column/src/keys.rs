//! The one table of keys: tuples of cells to dense slots, for joins, groups, distinct and keyed tables.
//!
//! Whole chunks are looked up at once: a block of rows is hashed, then all its places are loaded, then
//! compared, so that cache misses overlap. One column of words (integers, times, Booleans, floats), or
//! several that fit into 64 bits together, is kept as a word; one column of text or bytes as its bytes;
//! anything else as encoded bytes of normalised cells. Cells are equal as in the total order: null is
//! a key like any other, NaN equals NaN, −0.0 equals 0.0.

mod bytes;
mod index;
mod packed;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, DataType};

use crate::Error;
use crate::kernels::hash::mix;
use crate::kernels::words::{from_words, have_words, normalised, words};
use bytes::{ByteKeys, Chunk, Long, view_of};
use index::{Admit, Index, Probe};
use packed::Packing;

/// What [`KeyTable::find`] answers for a key that is not there.
pub const NO_SLOT: u32 = u32::MAX;

/// Tuples of cells to slots. Slots are dense: every one is below [`KeyTable::capacity_slots`], and the
/// slot of a freed key is given to a later one.
pub struct KeyTable {
    types: Vec<DataType>,
    shape: Shape,
    index: Index,
    slots: Slots,
    /// The slot of the null key, where null is not part of the words or bytes.
    null_slot: u32,
}

/// How keys of these types are kept.
enum Shape {
    Word { words: Vec<u64> },
    Packed { packing: Packing, words: Vec<u64> },
    Bytes(ByteKeys),
    Encoded { converter: Option<RowConverter>, keys: ByteKeys },
}

/// Which slots are taken.
#[derive(Default)]
struct Slots {
    next: u32,
    free: Vec<u32>,
}

impl Slots {
    fn len(&self) -> usize {
        self.next as usize - self.free.len()
    }

    #[inline(always)]
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

impl KeyTable {
    /// An empty table for keys of these types.
    pub fn new(types: &[DataType]) -> KeyTable {
        let shape = match types {
            [one] if have_words(one) => Shape::Word { words: Vec::new() },
            [DataType::Utf8View | DataType::BinaryView] => Shape::Bytes(ByteKeys::default()),
            several => match Packing::of(several) {
                Some(packing) => Shape::Packed { packing, words: Vec::new() },
                None => {
                    let fields = several.iter().map(|data_type| SortField::new(data_type.clone())).collect();
                    let converter = RowConverter::new(fields).ok().filter(|_| several.iter().all(can_be_key));
                    Shape::Encoded { converter, keys: ByteKeys::default() }
                }
            },
        };
        let (index, slots) = (Index::default(), Slots::default());
        KeyTable { types: types.to_vec(), shape, index, slots, null_slot: NO_SLOT }
    }

    /// The slot of every row's key, into `slots`; a key that was not there gets one. `created` holds the
    /// rows, by position in this call, that brought a new key, in ascending order. Both are overwritten.
    ///
    /// # Errors
    /// For cells of another type, types that have no key form (maps, unions), and more than 2³² − 2 keys.
    pub fn insert(&mut self, keys: &[ArrayRef], slots: &mut Vec<u32>, created: &mut Vec<u32>) -> Result<(), Error> {
        self.check(keys)?;
        slots.clear();
        created.clear();
        let KeyTable { shape, index, slots: taken, null_slot, .. } = self;
        match shape {
            Shape::Word { words: stored } => {
                let probes = words_of(&keys[0])?;
                let mut admission = WordAdmission { probes: &probes, stored, taken, null_slot, created };
                index.insert(probes.len(), &mut admission, live_nulls(&keys[0]), slots);
            }
            Shape::Packed { packing, words: stored } => {
                let probes = packing.pack(keys)?;
                let mut admission = WordAdmission { probes: &probes, stored, taken, null_slot, created };
                index.insert(probes.len(), &mut admission, None, slots);
            }
            Shape::Bytes(stored) => {
                stored.insert(index, taken, &byte_chunk(&keys[0]), null_slot, slots, created);
            }
            Shape::Encoded { converter, keys: stored } => {
                let rows = encode(converter.as_ref(), keys)?;
                let chunk = Chunk { views: &views_of(&rows), nulls: None, long: Long::Rows(&rows) };
                stored.insert(index, taken, &chunk, null_slot, slots, created);
            }
        }
        Ok(())
    }

    /// The slot of every row's key, or [`NO_SLOT`], into `slots`, which is overwritten.
    pub fn find(&self, keys: &[ArrayRef], slots: &mut Vec<u32>) {
        slots.clear();
        if self.check(keys).is_ok() && self.find_in_shape(keys, slots).is_ok() {
            return;
        }
        // A key that cannot be kept is a key that is not there.
        slots.clear();
        slots.resize(keys.first().map_or(0, |column| column.len()), NO_SLOT);
    }

    fn find_in_shape(&self, keys: &[ArrayRef], slots: &mut Vec<u32>) -> Result<(), Error> {
        let KeyTable { shape, index, null_slot, .. } = self;
        match shape {
            Shape::Word { .. } => {
                let probes = words_of(&keys[0])?;
                index.find(probes.len(), &WordProbe(&probes), live_nulls(&keys[0]), *null_slot, slots);
            }
            Shape::Packed { packing, .. } => {
                let probes = packing.pack(keys)?;
                index.find(probes.len(), &WordProbe(&probes), None, NO_SLOT, slots);
            }
            Shape::Bytes(stored) => stored.find(index, &byte_chunk(&keys[0]), *null_slot, slots),
            Shape::Encoded { converter, keys: stored } => {
                let rows = encode(converter.as_ref(), keys)?;
                let chunk = Chunk { views: &views_of(&rows), nulls: None, long: Long::Rows(&rows) };
                stored.find(index, &chunk, NO_SLOT, slots);
            }
        }
        Ok(())
    }

    /// Forgets the key of a slot; the slot is given to a later key. A slot without a key is left alone.
    pub fn free(&mut self, slot: u32) {
        if slot >= self.slots.next {
            return;
        }
        let freed = if slot == self.null_slot {
            self.null_slot = NO_SLOT;
            true
        } else {
            let hash = match &self.shape {
                Shape::Word { words } | Shape::Packed { words, .. } => mix(words[slot as usize]),
                Shape::Bytes(stored) | Shape::Encoded { keys: stored, .. } => stored.hash(slot),
            };
            self.index.remove(hash, slot)
        };
        if !freed {
            return;
        }
        self.slots.free.push(slot);
        if let Shape::Bytes(stored) | Shape::Encoded { keys: stored, .. } = &mut self.shape {
            stored.release(slot);
        }
        if self.slots.len() == 0 {
            self.clear();
        }
    }

    fn clear(&mut self) {
        *self = KeyTable::new(&self.types);
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every slot of a key is below this.
    pub fn capacity_slots(&self) -> usize {
        self.slots.next as usize
    }

    /// The types of the key columns.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }

    /// The keys of these slots, a column each, in normal form (zero for both zeros). Every slot must
    /// have a key.
    pub fn keys_of(&self, slots: &[u32]) -> Vec<ArrayRef> {
        let stored_words = |words: &[u64]| -> Vec<u64> {
            slots.iter().map(|&slot| words.get(slot as usize).copied().unwrap_or_default()).collect()
        };
        let nulls = || {
            let holds_null = slots.contains(&self.null_slot);
            let valid = |row: usize| slots[row] != self.null_slot;
            holds_null.then(|| NullBuffer::new(BooleanBuffer::collect_bool(slots.len(), valid)))
        };
        let columns = match &self.shape {
            Shape::Word { words } => {
                from_words(&stored_words(words), nulls(), &self.types[0]).map(|column| vec![column])
            }
            Shape::Packed { packing, words } => packing.unpack(&stored_words(words)),
            Shape::Bytes(stored) => stored.column(slots, nulls(), &self.types[0]).map(|column| vec![column]),
            Shape::Encoded { converter, keys } => decode(converter.as_ref(), keys, slots, &self.types),
        };
        columns.expect("keys were cells of these types when they came in")
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> u64 {
        let keys = match &self.shape {
            Shape::Word { words } | Shape::Packed { words, .. } => words.capacity() * size_of::<u64>(),
            Shape::Bytes(stored) | Shape::Encoded { keys: stored, .. } => stored.allocated(),
        };
        (self.index.allocated() + keys + self.slots.free.capacity() * size_of::<u32>()) as u64
    }

    fn check(&self, keys: &[ArrayRef]) -> Result<(), Error> {
        let rows = keys.first().map_or(0, |column| column.len());
        if keys.len() != self.types.len() {
            return Err(Error::Length { rows: self.types.len() as u64, cells: keys.len() as u64 });
        }
        for (column, expected) in keys.iter().zip(&self.types) {
            if column.data_type() != expected {
                return Err(Error::Type { expected: expected.clone(), found: column.data_type().clone() });
            }
            if column.len() != rows {
                return Err(Error::Length { rows: rows as u64, cells: column.len() as u64 });
            }
        }
        if self.slots.next as usize + rows >= NO_SLOT as usize {
            return Err(Error::TooMany("more than 2³² − 2 keys"));
        }
        Ok(())
    }
}

/// Whether cells of this type can be keys: maps and unions have no order and no key form.
pub fn can_be_key(data_type: &DataType) -> bool {
    match data_type {
        DataType::Map(..) | DataType::Union(..) => false,
        DataType::Struct(fields) => fields.iter().all(|field| can_be_key(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => can_be_key(field.data_type()),
        DataType::Dictionary(_, values) => can_be_key(values),
        _ => true,
    }
}

/// Whether cells of a type have an order: keys that compare, which calendar time does not.
pub fn has_order(data_type: &DataType) -> bool {
    match data_type {
        DataType::Interval(_) => false,
        DataType::Struct(fields) => fields.iter().all(|field| has_order(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => has_order(field.data_type()),
        DataType::Dictionary(_, values) => has_order(values),
        other => can_be_key(other),
    }
}

/// Where every key cell of a row is there; none if no key column has a null.
pub fn any_null(keys: &[ArrayRef]) -> Option<NullBuffer> {
    let nulls: Vec<Option<NullBuffer>> = keys.iter().map(|column| column.logical_nulls()).collect();
    NullBuffer::union_many(nulls.iter().map(Option::as_ref)).filter(|nulls| nulls.null_count() > 0)
}

fn words_of(column: &ArrayRef) -> Result<Vec<u64>, Error> {
    words(column).ok_or_else(|| unkeyable(column.data_type()))
}

fn unkeyable(data_type: &DataType) -> Error {
    ArrowError::NotYetImplemented(format!("cells of {data_type} cannot be keys")).into()
}

/// Words to look up in an exact index: their hash is one to one.
struct WordProbe<'a>(&'a [u64]);

impl Probe for WordProbe<'_> {
    #[inline(always)]
    fn hash(&self, row: usize) -> u64 {
        mix(self.0[row])
    }

    #[inline(always)]
    fn same(&self, _: usize, _: u32) -> bool {
        true
    }
}

struct WordAdmission<'a> {
    probes: &'a [u64],
    stored: &'a mut Vec<u64>,
    taken: &'a mut Slots,
    null_slot: &'a mut u32,
    created: &'a mut Vec<u32>,
}

impl Probe for WordAdmission<'_> {
    #[inline(always)]
    fn hash(&self, row: usize) -> u64 {
        mix(self.probes[row])
    }

    #[inline(always)]
    fn same(&self, _: usize, _: u32) -> bool {
        true
    }
}

impl Admit for WordAdmission<'_> {
    fn admit(&mut self, row: usize) -> u32 {
        let slot = self.taken.take();
        self.created.push(row as u32);
        keep(self.stored, slot, self.probes[row]);
        slot
    }

    fn admit_null(&mut self, row: usize) -> u32 {
        if *self.null_slot == NO_SLOT {
            *self.null_slot = self.admit(row);
        }
        *self.null_slot
    }
}

/// Slots are dense, so a slot past the end is the next one.
#[inline(always)]
fn keep<T>(stored: &mut Vec<T>, slot: u32, key: T) {
    match stored.get_mut(slot as usize) {
        Some(place) => *place = key,
        None => stored.push(key),
    }
}

/// The text or bytes of a column as views.
fn byte_chunk(column: &ArrayRef) -> Chunk<'_> {
    let nulls = live_nulls(column);
    match column.data_type() {
        DataType::Utf8View => {
            let text = column.as_string_view();
            Chunk { views: text.views(), nulls, long: Long::Buffers(text.data_buffers()) }
        }
        _ => {
            let binary = column.as_binary_view();
            Chunk { views: binary.views(), nulls, long: Long::Buffers(binary.data_buffers()) }
        }
    }
}

fn live_nulls(column: &ArrayRef) -> Option<&NullBuffer> {
    column.nulls().filter(|nulls| nulls.null_count() > 0)
}

fn encode(converter: Option<&RowConverter>, keys: &[ArrayRef]) -> Result<Rows, Error> {
    let converter = converter.ok_or_else(|| unkeyable(keys[0].data_type()))?;
    let normal = keys.iter().map(normalised).collect::<Result<Vec<_>, Error>>()?;
    Ok(converter.convert_columns(&normal)?)
}

fn views_of(rows: &Rows) -> Vec<u128> {
    rows.iter().map(|row| view_of(row.data(), 0)).collect()
}

fn decode(
    converter: Option<&RowConverter>,
    keys: &ByteKeys,
    slots: &[u32],
    types: &[DataType],
) -> Result<Vec<ArrayRef>, Error> {
    let converter = converter.ok_or_else(|| unkeyable(&types[0]))?;
    let parser = converter.parser();
    let encoded: Vec<Vec<u8>> = slots.iter().map(|&slot| keys.bytes(slot)).collect();
    let columns = converter.convert_rows(encoded.iter().map(|bytes| parser.parse(bytes)))?;
    let declared = columns.iter().zip(types).map(|(column, wanted)| {
        if column.data_type() == wanted { Ok(column.clone()) } else { Ok(arrow_cast::cast(column, wanted)?) }
    });
    declared.collect()
}

#[cfg(test)]
mod tests;
