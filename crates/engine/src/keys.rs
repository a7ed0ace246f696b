//! The rows of a key: what joins and aggregations keep for each slot of their key table.

use arrow_array::{Array, BooleanArray};
use arrow_buffer::NullBuffer;
use column::Chunk;
use rowset::{Before, RowSet, Shifts};

use crate::error::Error;

/// Beyond this many rows a key's rows are a row set.
const FEW: usize = 64;

/// The rows of one key.
#[derive(Clone, Default)]
pub enum KeyRows {
    /// No row.
    #[default]
    None,
    /// One row.
    One(u64),
    /// First and last, of a key whose rows never leave and of which only the ends are asked for.
    Ends(u64, u64),
    /// Some rows, ascending.
    Few(Vec<u64>),
    /// Many rows.
    Many(RowSet),
}

impl KeyRows {
    /// A row comes. `all`: whether every row is kept, or the ends only.
    pub fn enter(&mut self, key: u64, all: bool) {
        match self {
            KeyRows::None if all => *self = KeyRows::One(key),
            KeyRows::None => *self = KeyRows::Ends(key, key),
            KeyRows::Ends(first, last) => (*first, *last) = ((*first).min(key), (*last).max(key)),
            KeyRows::One(only) => *self = KeyRows::Few(if *only < key { vec![*only, key] } else { vec![key, *only] }),
            KeyRows::Few(keys) if keys.len() == FEW => {
                let mut rows = RowSet::from_sorted_keys(keys);
                rows.insert(key);
                *self = KeyRows::Many(rows);
            }
            KeyRows::Few(keys) if keys.last().is_some_and(|last| *last < key) => keys.push(key),
            KeyRows::Few(keys) => {
                let at = keys.partition_point(|known| *known < key);
                keys.insert(at, key);
            }
            KeyRows::Many(rows) => {
                rows.insert(key);
            }
        }
    }

    /// All rows of another key's come.
    pub fn enter_all(&mut self, other: KeyRows, all: bool) {
        match other {
            KeyRows::None => {}
            KeyRows::One(key) => self.enter(key, all),
            KeyRows::Ends(first, last) => {
                self.enter(first, all);
                self.enter(last, all);
            }
            KeyRows::Few(keys) => keys.into_iter().for_each(|key| self.enter(key, all)),
            KeyRows::Many(rows) => *self = KeyRows::Many(&self.to_rows() | &rows),
        }
    }

    /// A row goes.
    pub fn leave(&mut self, key: u64) {
        match self {
            KeyRows::One(only) if *only == key => *self = KeyRows::None,
            KeyRows::None | KeyRows::One(_) | KeyRows::Ends(..) => {}
            KeyRows::Few(keys) => {
                if let Ok(at) = keys.binary_search(&key) {
                    keys.remove(at);
                }
                match keys.as_slice() {
                    [] => *self = KeyRows::None,
                    [only] => *self = KeyRows::One(*only),
                    _ => {}
                }
            }
            KeyRows::Many(rows) => {
                rows.remove(key);
                if rows.len() as usize <= FEW / 2 {
                    *self = KeyRows::Few(rows.to_vec());
                }
            }
        }
    }

    /// The rows move.
    pub fn shift(&mut self, shifts: &Shifts) {
        match self {
            KeyRows::None => {}
            KeyRows::One(key) => *key = shifts.forward_key(*key),
            KeyRows::Ends(first, last) => (*first, *last) = (shifts.forward_key(*first), shifts.forward_key(*last)),
            KeyRows::Few(keys) => keys.iter_mut().for_each(|key| *key = shifts.forward_key(*key)),
            KeyRows::Many(rows) => *rows = shifts.forward(&Before(std::mem::take(rows))),
        }
    }

    /// The first row.
    pub fn first(&self) -> Option<u64> {
        match self {
            KeyRows::None => None,
            KeyRows::One(key) | KeyRows::Ends(key, _) => Some(*key),
            KeyRows::Few(keys) => keys.first().copied(),
            KeyRows::Many(rows) => rows.first(),
        }
    }

    /// The last row.
    pub fn last(&self) -> Option<u64> {
        match self {
            KeyRows::None => None,
            KeyRows::One(key) | KeyRows::Ends(_, key) => Some(*key),
            KeyRows::Few(keys) => keys.last().copied(),
            KeyRows::Many(rows) => rows.last(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        matches!(self, KeyRows::None)
    }

    /// Whether there is more than one row.
    pub fn is_several(&self) -> bool {
        matches!(self, KeyRows::Few(_) | KeyRows::Many(_))
            || matches!(self, KeyRows::Ends(first, last) if first != last)
    }

    /// Calls `each` for each row, ascending.
    pub fn for_each(&self, mut each: impl FnMut(u64)) {
        match self {
            KeyRows::None => {}
            KeyRows::One(key) => each(*key),
            KeyRows::Ends(first, last) => {
                each(*first);
                each(*last);
            }
            KeyRows::Few(keys) => keys.iter().copied().for_each(each),
            KeyRows::Many(rows) => rows.iter().for_each(each),
        }
    }

    /// As a row set.
    pub fn to_rows(&self) -> RowSet {
        match self {
            KeyRows::Few(keys) => RowSet::from_sorted_keys(keys),
            KeyRows::Many(rows) => rows.clone(),
            other => {
                let mut rows = RowSet::new();
                other.for_each(|key| {
                    rows.insert(key);
                });
                rows
            }
        }
    }
}

/// The slots that a step touches, each once, in order of first touch.
#[derive(Default)]
pub struct Touched {
    slots: Vec<u32>,
    marks: Vec<bool>,
}

impl Touched {
    /// Notes these slots, all below `capacity`.
    pub fn add(&mut self, slots: &[u32], capacity: usize) {
        if self.marks.len() < capacity {
            self.marks.resize(capacity, false);
        }
        for slot in slots {
            if !std::mem::replace(&mut self.marks[*slot as usize], true) {
                self.slots.push(*slot);
            }
        }
    }

    /// The slots noted; none is any more.
    pub fn take(&mut self) -> Vec<u32> {
        let slots = std::mem::take(&mut self.slots);
        slots.iter().for_each(|slot| self.marks[*slot as usize] = false);
        slots
    }
}

/// The rows whose keys may match something: with `nulls_equal` all of them, else those without a
/// null in any key column.
pub fn joinable(keys: Vec<Chunk>, rows: &RowSet, nulls_equal: bool) -> Result<(Vec<Chunk>, RowSet), Error> {
    let nulls = keys.iter().fold(None, |nulls: Option<NullBuffer>, cells| {
        NullBuffer::union(nulls.as_ref(), cells.logical_nulls().as_ref())
    });
    let Some(nulls) = nulls.filter(|nulls| !nulls_equal && nulls.null_count() > 0) else {
        return Ok((keys, rows.clone()));
    };
    let valid = BooleanArray::new(nulls.inner().clone(), None);
    let kept = rows.select_mask(valid.values().values(), valid.values().offset());
    let keys = keys.iter().map(|cells| arrow_select::filter::filter(cells, &valid)).collect::<Result<_, _>>()?;
    Ok((keys, kept))
}
