//! The rows of each key slot, kept by joins and aggregations beside their hash table of keys.  A slot is one cache
//! line: it holds the first and the last row, which is all that most reads need, and the last few rows that were added
//! (the tail). More rows are kept in a sorted list, in a pool of lists of equal size; many rows in a row set. Rows are
//! added and removed in batches, and the memory that a batch will touch is prefetched, so that the cache misses of
//! different slots overlap.

mod lists;
mod order;

use column::NO_ROW;
use rowset::{Before, RowSet, Shifts};
use simd::{prefetch, prefetch_slice};

use crate::keys::search::{interpolate, lower_bound};
use crate::sizes::LISTED_ROWS;
use lists::{Lists, SIZES, capacity};

/// The capacity of a tail: so many rows are kept in the slot, and then moved to the list together.
const TAIL: usize = 4;

/// Slots that are prefetched together.
const BATCH: usize = 64;

/// The rows of every slot.
pub struct KeyRows {
    heads: Vec<Head>,
    lists: [Lists; SIZES],
    many: Vec<RowSet>,
    unused: Vec<u32>,
    /// Whether all rows are kept. False keeps only the first and the last row, which suffices if rows never leave.
    all: bool,
}

/// A cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Head {
    first: u64,
    last: u64,
    /// The last rows, not in the list yet. A row that is added at the end touches only the slot.
    tail: [u64; TAIL],
    /// The index of the list or row set.
    place: u32,
    /// Rows in the list.
    len: u16,
    tail_len: u8,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    None,
    /// Only the first and the last row are kept.
    Ends,
    /// All rows are in the tail; there is no list.
    Tail,
    /// The rows are in a list of this size class, ascending, followed by the tail.
    List(u8),
    /// All rows are in a row set; there is no tail.
    Many,
}

const NOBODY: Head =
    Head { first: NO_ROW, last: NO_ROW, tail: [NO_ROW; TAIL], place: 0, len: 0, tail_len: 0, form: Form::None };

impl Head {
    fn tail(&self) -> &[u64] {
        &self.tail[..self.tail_len as usize]
    }
}

impl KeyRows {
    /// Makes an empty set of slots. `all` keeps all rows; otherwise only the first and the last, which requires that
    /// rows never leave.
    pub fn new(all: bool) -> KeyRows {
        KeyRows { heads: Vec::new(), lists: Default::default(), many: Vec::new(), unused: Vec::new(), all }
    }

    /// Grows to at least this many slots.
    pub fn grow(&mut self, slots: usize) {
        if slots > self.heads.len() {
            self.heads.resize(slots, NOBODY);
        }
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.heads.len()
    }

    /// Adds rows, each to its slot.
    pub fn enter(&mut self, slots: &[u32], rows: &RowSet) {
        let mut rows = rows.iter();
        let mut batches = slots.chunks(BATCH);
        let mut next = self.prefetch_heads(batches.next());
        while let Some(batch) = next {
            next = self.prefetch_heads(batches.next());
            self.prefetch_lists(batch);
            batch.iter().zip(&mut rows).for_each(|(slot, row)| self.enter_one(*slot, row));
        }
    }

    /// Removes rows, each from its slot.
    pub fn leave(&mut self, slots: &[u32], rows: &RowSet) {
        let mut rows = rows.iter();
        let mut batches = slots.chunks(BATCH);
        let mut next = self.prefetch_heads(batches.next());
        while let Some(batch) = next {
            next = self.prefetch_heads(batches.next());
            let leaving: Vec<u64> = rows.by_ref().take(batch.len()).collect();
            self.prefetch_rows(batch, &leaving);
            batch.iter().zip(leaving).for_each(|(slot, row)| self.leave_one(*slot, row));
        }
    }

    /// Adds all rows of the slot `of` of another `KeyRows`.
    pub fn enter_all(&mut self, slot: u32, other: &KeyRows, of: u32) {
        match other.heads[of as usize] {
            Head { form: Form::Many, place, .. } => {
                let rows = &self.to_rows(slot) | &other.many[place as usize];
                self.reset(slot);
                self.keep_many(slot, rows);
            }
            _ => other.for_each(of, |row| self.enter_one(slot, row)),
        }
    }

    /// Shifts the rows of these slots; a slot may be listed more than once.
    pub fn shift(&mut self, mut slots: Vec<u32>, shifts: &Shifts) {
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            let head = &mut self.heads[slot as usize];
            match head.form {
                Form::None => continue,
                Form::Ends | Form::Tail => {}
                Form::List(size) => {
                    let (size, len) = (size as usize, head.len as usize);
                    let list = &mut self.lists[size].room(size, head.place)[..len];
                    list.iter_mut().for_each(|row| *row = shifts.forward_key(*row));
                }
                Form::Many => {
                    let rows = &mut self.many[head.place as usize];
                    *rows = shifts.forward(&Before(std::mem::take(rows)));
                }
            }
            head.tail[..head.tail_len as usize].iter_mut().for_each(|row| *row = shifts.forward_key(*row));
            (head.first, head.last) = (shifts.forward_key(head.first), shifts.forward_key(head.last));
        }
    }

    /// Forgets the rows of a slot.
    pub fn reset(&mut self, slot: u32) {
        let head = std::mem::replace(&mut self.heads[slot as usize], NOBODY);
        self.release(&head);
    }

    /// The first row of a slot, `NO_ROW` if it has none.
    #[inline]
    pub fn first(&self, slot: u32) -> u64 {
        self.heads[slot as usize].first
    }

    /// The last row of a slot, `NO_ROW` if it has none.
    #[inline]
    pub fn last(&self, slot: u32) -> u64 {
        self.heads[slot as usize].last
    }

    /// Whether a slot has no row.
    #[inline]
    pub fn is_empty(&self, slot: u32) -> bool {
        self.heads[slot as usize].form == Form::None
    }

    /// Whether a slot has more than one row.
    #[inline]
    pub fn is_several(&self, slot: u32) -> bool {
        let head = &self.heads[slot as usize];
        head.first != head.last
    }

    /// Calls `each` for the rows of a slot, ascending; only for the first and the last row if no others are kept.
    pub fn for_each(&self, slot: u32, mut each: impl FnMut(u64)) {
        let head = &self.heads[slot as usize];
        match head.form {
            Form::None => {}
            Form::Ends => {
                each(head.first);
                if head.first != head.last {
                    each(head.last);
                }
            }
            Form::Tail => head.tail().iter().copied().for_each(each),
            Form::List(size) => {
                let list = self.lists[size as usize].list(size as usize, head);
                list.iter().chain(head.tail()).copied().for_each(each);
            }
            Form::Many => self.many[head.place as usize].iter().for_each(each),
        }
    }

    /// The rows of a slot, if all are kept.
    pub fn to_rows(&self, slot: u32) -> RowSet {
        match self.heads[slot as usize] {
            Head { form: Form::Many, place, .. } => self.many[place as usize].clone(),
            _ => {
                let mut rows = Vec::new();
                self.for_each(slot, |row| rows.push(row));
                RowSet::from_sorted_keys(&rows)
            }
        }
    }

    /// Prefetches the first and the last row of a slot.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        prefetch(&self.heads[slot as usize]);
    }

    /// Prefetches the slots of a batch, and returns the batch.
    fn prefetch_heads<'a>(&self, slots: Option<&'a [u32]>) -> Option<&'a [u32]> {
        slots.into_iter().flatten().for_each(|slot| self.prefetch(*slot));
        slots
    }

    /// Prefetches the ends of the lists to which full tails will be moved; a list without room is moved as well.
    fn prefetch_lists(&self, slots: &[u32]) {
        for slot in slots {
            let head = &self.heads[*slot as usize];
            if let Form::List(size) = head.form
                && head.tail_len as usize == TAIL
            {
                let (size, len) = (size as usize, head.len as usize);
                let wanted = if len + TAIL > capacity(size) { 0..len } else { len..len + TAIL };
                let start = head.place as usize * capacity(size);
                prefetch_slice(&self.lists[size].cells[start + wanted.start..start + wanted.end]);
            }
        }
    }

    /// Prefetches what the removal of rows will touch: their expected positions in the lists, the rows behind, which
    /// move up, and the start of each list.
    fn prefetch_rows(&self, slots: &[u32], rows: &[u64]) {
        for (slot, row) in slots.iter().zip(rows) {
            let head = &self.heads[*slot as usize];
            if let Form::List(size) = head.form
                && head.len > 0
            {
                let list = self.lists[size as usize].list(size as usize, head);
                let at = interpolate(list.len(), head.first, head.last, *row);
                prefetch_slice(&list[at..]);
                prefetch(&list[0]);
            }
        }
    }

    #[inline]
    fn enter_one(&mut self, slot: u32, row: u64) {
        let head = &mut self.heads[slot as usize];
        match head.form {
            Form::None if self.all => {
                *head = Head { first: row, last: row, tail_len: 1, form: Form::Tail, ..NOBODY };
                head.tail[0] = row;
            }
            Form::None => *head = Head { first: row, last: row, form: Form::Ends, ..NOBODY },
            Form::Ends => (head.first, head.last) = (head.first.min(row), head.last.max(row)),
            Form::Tail | Form::List(_) => {
                if row > head.last && (head.tail_len as usize) < TAIL {
                    head.tail[head.tail_len as usize] = row;
                    (head.tail_len, head.last) = (head.tail_len + 1, row);
                } else {
                    self.enter_list(slot, row);
                }
            }
            Form::Many => {
                self.many[head.place as usize].insert(row);
                (head.first, head.last) = (head.first.min(row), head.last.max(row));
            }
        }
    }

    /// Moves the tail to the list and inserts the row, at the end or in order.
    fn enter_list(&mut self, slot: u32, row: u64) {
        let head = self.heads[slot as usize];
        let (tail, rows) = (head.tail_len as usize, head.len as usize + head.tail_len as usize);
        let wanted = rows + usize::from(row <= head.last);
        match head.form {
            Form::Tail => {
                let place = self.lists[0].take(0);
                self.heads[slot as usize] = Head { place, len: 0, form: Form::List(0), ..head };
            }
            Form::List(size) if wanted <= capacity(size as usize) => {}
            Form::List(size) if capacity(size as usize) < LISTED_ROWS.get() => self.resize(slot, size as usize + 1),
            _ => {
                let mut all = self.to_rows(slot);
                all.insert(row);
                self.release(&head);
                return self.keep_many(slot, all);
            }
        }
        let head = &mut self.heads[slot as usize];
        let Form::List(size) = head.form else { return };
        let list = self.lists[size as usize].room(size as usize, head.place);
        list[head.len as usize..rows].copy_from_slice(&head.tail[..tail]);
        (head.len, head.tail_len) = (rows as u16, 0);
        if row > head.last {
            (head.tail[0], head.tail_len, head.last) = (row, 1, row);
        } else {
            let at = list[..rows].partition_point(|known| *known < row);
            list.copy_within(at..rows, at + 1);
            list[at] = row;
            (head.first, head.last, head.len) = (list[0], list[rows], head.len + 1);
        }
    }

    #[inline]
    fn leave_one(&mut self, slot: u32, row: u64) {
        let head = &mut self.heads[slot as usize];
        match head.form {
            Form::None | Form::Ends => {}
            Form::Tail | Form::List(_) => {
                if let Some(at) = head.tail().iter().position(|known| *known == row) {
                    head.tail.copy_within(at + 1.., at);
                    head.tail_len -= 1;
                } else if let Form::List(size) = head.form {
                    let list = &mut self.lists[size as usize].room(size as usize, head.place)[..head.len as usize];
                    if list.is_empty() {
                        return;
                    }
                    let at = lower_bound(list, head.first, head.last, row);
                    if list.get(at) != Some(&row) {
                        return;
                    }
                    list.copy_within(at + 1.., at);
                    head.len -= 1;
                }
                self.left(slot);
            }
            Form::Many => {
                let rows = &mut self.many[head.place as usize];
                rows.remove(row);
                (head.first, head.last) = (rows.first().unwrap_or(NO_ROW), rows.last().unwrap_or(NO_ROW));
                if rows.len() as usize <= LISTED_ROWS.get() / 2 {
                    let rows = std::mem::take(rows).to_vec();
                    let head = *head;
                    self.release(&head);
                    let place = self.lists[SIZES - 1].take(SIZES - 1);
                    self.lists[SIZES - 1].room(SIZES - 1, place)[..rows.len()].copy_from_slice(&rows);
                    let form = Form::List(SIZES as u8 - 1);
                    self.heads[slot as usize] = Head { place, len: rows.len() as u16, form, ..head };
                }
            }
        }
    }

    /// Updates a slot after a removal: sets the first and last row again, and returns a list that is too large.
    fn left(&mut self, slot: u32) {
        let head = &mut self.heads[slot as usize];
        let list: &[u64] = match head.form {
            Form::List(size) => self.lists[size as usize].list(size as usize, head),
            _ => &[],
        };
        let ends = (list.first().or(head.tail().first()), head.tail().last().or(list.last()));
        let (Some(first), Some(last)) = ends else { return self.reset(slot) };
        (head.first, head.last) = (*first, *last);
        match head.form {
            Form::List(_) if head.len == 0 => {
                let tail = Head { form: Form::Tail, place: 0, ..*head };
                let old = std::mem::replace(head, tail);
                self.release(&old);
            }
            Form::List(size) if size > 0 && head.len as usize <= capacity(size as usize) / 4 => {
                self.resize(slot, size as usize - 1);
            }
            _ => {}
        }
    }

    /// Moves the list of a slot to one of another size class.
    fn resize(&mut self, slot: u32, size: usize) {
        let head = self.heads[slot as usize];
        let Form::List(old) = head.form else { return };
        let (old, len) = (old as usize, head.len as usize);
        let place = self.lists[size].take(size);
        if let Ok([from, to]) = self.lists.get_disjoint_mut([old, size]) {
            to.room(size, place)[..len].copy_from_slice(from.list(old, &head));
        }
        self.release(&head);
        self.heads[slot as usize] = Head { place, form: Form::List(size as u8), ..head };
    }

    fn keep_many(&mut self, slot: u32, rows: RowSet) {
        let (first, last) = (rows.first().unwrap_or(NO_ROW), rows.last().unwrap_or(NO_ROW));
        let place = self.unused.pop().unwrap_or_else(|| {
            self.many.push(RowSet::new());
            self.many.len() as u32 - 1
        });
        self.many[place as usize] = rows;
        self.heads[slot as usize] = Head { first, last, place, form: Form::Many, ..NOBODY };
    }

    fn release(&mut self, head: &Head) {
        match head.form {
            Form::None | Form::Ends | Form::Tail => {}
            Form::List(size) => self.lists[size as usize].unused.push(head.place),
            Form::Many => {
                self.many[head.place as usize] = RowSet::new();
                self.unused.push(head.place);
            }
        }
    }
}

#[cfg(test)]
mod tests;
