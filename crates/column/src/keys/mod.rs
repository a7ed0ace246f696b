//! The one table of keys: tuples of cells to dense slots, for joins, groups, distinct and keyed tables.
//!
//! Whole chunks are looked up at once: a block of rows is hashed, then all its places are loaded, then
//! compared, so that cache misses overlap. One column of words (integers, times, Booleans, floats), or
//! several whose cells so far fit into 64 bits together, is kept as a word, without hashes while words lie close together; one column of text or bytes as its views;
//! several columns of either, and wide cells, as rows of words and views; anything else as encoded bytes
//! of normalised cells. Cells are equal as in the total order: null is a key like any other, NaN equals
//! NaN, −0.0 equals 0.0.

mod arena;
mod dense;
mod encoded;
mod few;
mod index;
mod narrow;
mod packing;
mod places;
mod seen;
mod store;
mod texts;
mod tuples;
mod word;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType};

use crate::error::Error;
use crate::kernels::words::{from_words, have_words, words};
use crate::sizes::KEYS_FEW;
use encoded::Codec;
use few::Few;
use narrow::Narrow;
use packing::Packing;
use places::Places;
use store::{Rows, Store};
use texts::{TextKeys, Texts, plain_views, views};
use tuples::Tuples;
use word::Words;

/// What [`KeyTable::find`] answers for a key that is not there.
pub const NO_SLOT: u32 = u32::MAX;

/// Tuples of cells to slots. Slots are dense: every one is below [`KeyTable::capacity_slots`], and the
/// slot of a freed key is given to a later one.
pub struct KeyTable {
    types: Vec<DataType>,
    shape: Shape,
    places: Places,
    /// The keys, as long as they are few texts.
    few: Option<Few>,
}

/// How keys of these types are kept.
enum Shape {
    Word(Words),
    Packed(Packing, Words),
    Narrow(Narrow, Words),
    Text(TextKeys),
    Tuples(Tuples),
    Encoded(Codec, TextKeys),
}

/// What is stored, and the rows of a chunk in the form to be looked up in it.
macro_rules! with_rows {
    ($shape:expr, $keys:expr, ($stored:ident, $rows:ident) => $act:expr) => {
        match $shape {
            Shape::Word($stored) => {
                let words = words_of(&$keys[0])?;
                let $rows = Rows { cells: &*words, count: words.len(), nulls: live_nulls(&$keys[0]) };
                $act
            }
            Shape::Packed(packing, $stored) => {
                let words = packing.pack($keys)?;
                let $rows = Rows { cells: &*words, count: words.len(), nulls: None };
                $act
            }
            Shape::Narrow(narrow, $stored) => {
                let (words, there) = narrow.pack($keys)?;
                // What has no word is no key; null has one.
                let $rows = Rows { cells: &*words, count: words.len(), nulls: there.as_ref() };
                $act
            }
            Shape::Text($stored) => {
                let views = plain_views(&$keys[0]);
                let texts = Texts::of(&$keys[0], &views);
                let $rows = texts.rows();
                $act
            }
            Shape::Tuples($stored) => {
                let views = $stored.views($keys);
                let cells = $stored.cells($keys, &views)?;
                let $rows = cells.rows();
                $act
            }
            Shape::Encoded(codec, $stored) => {
                let encoded = codec.encode($keys)?;
                let texts = encoded.texts();
                let $rows = texts.rows();
                $act
            }
        }
    };
}

impl KeyTable {
    /// An empty table for keys of these types.
    pub fn new(types: &[DataType]) -> KeyTable {
        let shape = match types {
            [one] if have_words(one) => Shape::Word(Words::default()),
            [DataType::Utf8View | DataType::BinaryView] => Shape::Text(TextKeys::default()),
            several => match Packing::of(several) {
                Some(packing) if packing.is_a_word() => Shape::Packed(packing, Words::default()),
                Some(packing) => match Narrow::of(several) {
                    Some(narrow) => Shape::Narrow(narrow, Words::default()),
                    None => Shape::Tuples(Tuples::new(several, packing)),
                },
                None => Shape::Encoded(Codec::new(several), TextKeys::default()),
            },
        };
        KeyTable { types: types.to_vec(), shape, places: Places::default(), few: Few::of(types) }
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
        let known = self.known(keys, slots);
        if known == 0 {
            self.insert_in_shape(keys, slots, created)?;
        } else if known < keys[0].len() {
            let mut others = Vec::new();
            self.insert_in_shape(&later(keys, known), &mut others, created)?;
            created.iter_mut().for_each(|row| *row += known as u32);
            slots.append(&mut others);
        }
        if known < slots.len() {
            self.learn(&later(keys, known), &slots[known..]);
        }
        Ok(())
    }

    fn insert_in_shape(
        &mut self,
        keys: &[ArrayRef],
        slots: &mut Vec<u32>,
        created: &mut Vec<u32>,
    ) -> Result<(), Error> {
        if let Shape::Narrow(narrow, stored) = &mut self.shape {
            let (words, there) = narrow.pack(keys)?;
            if there.is_none() {
                let rows = Rows { cells: &*words, count: words.len(), nulls: None };
                self.places.insert(stored, &rows, slots, created);
                return Ok(());
            }
            self.widen(keys)?;
        }
        let KeyTable { shape, places, .. } = self;
        with_rows!(shape, keys, (stored, rows) => places.insert(stored, &rows, slots, created));
        Ok(())
    }

    /// Keeps the keys of columns in a form that these rows fit too; slots stay as they are.
    fn widen(&mut self, keys: &[ArrayRef]) -> Result<(), Error> {
        let Shape::Narrow(narrow, stored) = &mut self.shape else { return Ok(()) };
        let all: Vec<u32> = (0..self.places.end() as u32).collect();
        let words = stored.of(&all);
        let known = (0..self.types.len()).map(|at| narrow.cells(at, &words)).collect::<Result<Vec<_>, Error>>()?;
        let present = self.places.drain(stored);
        if let Some(wider) = narrow.wider(keys)? {
            let (words, _) = wider.pack(&known)?;
            let stored = Words::kept(words);
            self.places.refill(present, |slot| stored.hash_of(slot));
            self.shape = Shape::Narrow(wider, stored);
            return Ok(());
        }
        let Some(packing) = Packing::of(&self.types) else { return Ok(()) };
        let mut tuples = Tuples::new(&self.types, packing);
        let views = tuples.views(&known);
        let cells = tuples.cells(&known, &views)?;
        all.iter().for_each(|slot| tuples.keep(*slot, &cells, *slot as usize));
        self.places.refill(present, |slot| tuples.hash_of(slot));
        self.shape = Shape::Tuples(tuples);
        Ok(())
    }

    /// The slot of every row's key, into `slots`, which is empty, if all are among few keys of short texts.
    pub fn find_among_few(&self, keys: &[ArrayRef], slots: &mut Vec<u32>) -> bool {
        self.check(keys).is_ok() && self.known(keys, slots) == keys[0].len()
    }

    /// The slots of rows from the first on whose keys are among few; how many they are.
    fn known(&self, keys: &[ArrayRef], slots: &mut Vec<u32>) -> usize {
        let few = self.few.as_ref().filter(|_| keys.iter().all(|column| live_nulls(column).is_none()));
        few.map_or(0, |few| few.find(&keys.iter().map(views).collect::<Vec<_>>(), slots))
    }

    /// Keeps the keys of these rows among the few, unless they are many by now.
    fn learn(&mut self, keys: &[ArrayRef], slots: &[u32]) {
        if self.len() > KEYS_FEW.get() {
            self.few = None;
        }
        let whole = slots.len() >= few::BLOCK && keys.iter().all(|column| live_nulls(column).is_none());
        if let Some(few) = self.few.as_mut().filter(|_| whole) {
            few.learn(&keys.iter().map(views).collect::<Vec<_>>(), slots);
        }
    }

    /// The slot of every row's key, or [`NO_SLOT`], into `slots`, which is overwritten.
    pub fn find(&self, keys: &[ArrayRef], slots: &mut Vec<u32>) {
        slots.clear();
        if self.check(keys).is_ok() {
            if self.known(keys, slots) == keys[0].len() {
                return;
            }
            slots.clear();
            if self.find_in_shape(keys, slots).is_ok() {
                return;
            }
        }
        // A key that cannot be kept is a key that is not there.
        slots.clear();
        slots.resize(keys.first().map_or(0, |column| column.len()), NO_SLOT);
    }

    /// Makes ready for so many rows that are looked for while no key comes and none goes: most of those whose keys are not there are
    /// told at a glance.
    pub fn settle(&mut self, rows: u64) {
        self.places.settle(rows);
    }

    fn find_in_shape(&self, keys: &[ArrayRef], slots: &mut Vec<u32>) -> Result<(), Error> {
        let KeyTable { shape, places, .. } = self;
        with_rows!(shape, keys, (stored, rows) => places.find(stored, &rows, slots));
        Ok(())
    }

    /// Forgets the key of a slot; the slot is given to a later key. A slot without a key is left alone.
    pub fn free(&mut self, slot: u32) {
        let shape = &mut self.shape;
        let freed = self.places.free(slot, |index, left| match shape {
            Shape::Word(stored) | Shape::Packed(_, stored) | Shape::Narrow(_, stored) => {
                stored.remove(index, slot, left)
            }
            Shape::Text(stored) | Shape::Encoded(_, stored) => index.remove(stored.hash_of(slot), slot),
            Shape::Tuples(stored) => index.remove(stored.hash_of(slot), slot),
        });
        if !freed {
            return;
        }
        self.few = self.few.take().map(|_| Few::default());
        match shape {
            Shape::Word(_) | Shape::Packed(..) | Shape::Narrow(..) => (),
            Shape::Text(stored) | Shape::Encoded(_, stored) => stored.release(slot),
            Shape::Tuples(stored) => stored.release(slot),
        }
        if self.is_empty() {
            *self = KeyTable::new(&self.types);
        }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every slot of a key is below this.
    pub fn capacity_slots(&self) -> usize {
        self.places.end()
    }

    /// The types of the key columns.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }

    /// The keys of these slots, a column each, in normal form (zero for both zeros). Every slot must
    /// have a key.
    pub fn keys_of(&self, slots: &[u32]) -> Vec<ArrayRef> {
        let one = |column: Result<ArrayRef, Error>| column.map(|column| vec![column]);
        let columns = match &self.shape {
            Shape::Word(stored) => one(from_words(&stored.of(slots), self.places.nulls(slots), &self.types[0])),
            Shape::Packed(packing, stored) => {
                let words = stored.of(slots);
                (0..self.types.len()).map(|at| packing.cells(at, words.len(), |row, _| words[row])).collect()
            }
            Shape::Narrow(narrow, stored) => {
                let words = stored.of(slots);
                (0..self.types.len()).map(|at| narrow.cells(at, &words)).collect()
            }
            Shape::Text(stored) => one(stored.column(slots, self.places.nulls(slots).as_ref(), &self.types[0])),
            Shape::Tuples(stored) => stored.columns(slots),
            Shape::Encoded(codec, stored) => codec.decode(&stored.bytes_of(slots)),
        };
        columns.expect("keys were cells of these types when they came in")
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> u64 {
        let keys = match &self.shape {
            Shape::Word(stored) | Shape::Packed(_, stored) | Shape::Narrow(_, stored) => stored.allocated(),
            Shape::Text(stored) | Shape::Encoded(_, stored) => stored.allocated(),
            Shape::Tuples(stored) => stored.allocated(),
        };
        (self.places.allocated() + keys) as u64
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
        if self.places.end() + rows >= NO_SLOT as usize {
            return Err(Error::TooMany("more than 2³² − 2 keys"));
        }
        Ok(())
    }
}

/// Where every key cell of a row is there; none if no key column has a null.
pub fn any_null(keys: &[ArrayRef]) -> Option<NullBuffer> {
    let nulls: Vec<Option<NullBuffer>> = keys.iter().map(|column| column.logical_nulls()).collect();
    NullBuffer::union_many(nulls.iter().map(Option::as_ref)).filter(|nulls| nulls.null_count() > 0)
}

/// The rows from one on.
fn later(keys: &[ArrayRef], from: usize) -> Vec<ArrayRef> {
    keys.iter().map(|column| column.slice(from, column.len() - from)).collect()
}

fn words_of(column: &ArrayRef) -> Result<Vec<u64>, Error> {
    words(column).ok_or_else(|| unkeyable(column.data_type()))
}

fn unkeyable(data_type: &DataType) -> Error {
    ArrowError::NotYetImplemented(format!("cells of {data_type} cannot be keys")).into()
}

fn live_nulls(column: &ArrayRef) -> Option<&NullBuffer> {
    column.nulls().filter(|nulls| nulls.null_count() > 0)
}

#[cfg(test)]
mod tests;
