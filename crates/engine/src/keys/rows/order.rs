//! Positions within the rows of a slot.

use std::ops::Range;

use super::{Form, KeyRows};
use crate::keys::group_order::{GroupOrder, moved_within};
use crate::keys::search::lower_bound;

/// Row order. All rows must be kept, not the ends alone.
impl GroupOrder for KeyRows {
    type Key = u64;
    type Place = u64;

    #[inline]
    fn start(&self, _: u32) -> u64 {
        0
    }

    #[inline]
    fn end(&self, slot: u32) -> u64 {
        let head = &self.heads[slot as usize];
        match head.form {
            Form::Many => self.many[head.place as usize].len(),
            _ => u64::from(head.len) + u64::from(head.tail_len),
        }
    }

    fn lower(&self, slot: u32, row: u64) -> u64 {
        let head = &self.heads[slot as usize];
        let list: &[u64] = match head.form {
            Form::Many => return self.many[head.place as usize].rank(row),
            Form::List(size) => self.lists[size as usize].list(size as usize, head),
            _ => &[],
        };
        if list.last().is_some_and(|last| row <= *last) {
            return lower_bound(list, head.first, head.last, row) as u64;
        }
        (list.len() + head.tail().partition_point(|known| *known < row)) as u64
    }

    #[inline]
    fn get(&self, slot: u32, position: u64) -> Option<u64> {
        let head = &self.heads[slot as usize];
        let list: &[u64] = match head.form {
            Form::Many => return self.many[head.place as usize].key_at(position),
            Form::List(size) => self.lists[size as usize].list(size as usize, head),
            _ => &[],
        };
        let position = usize::try_from(position).ok()?;
        list.get(position).or_else(|| head.tail().get(position - list.len())).copied()
    }

    #[inline]
    fn moved(&self, slot: u32, position: u64, by: i64) -> u64 {
        moved_within(self.end(slot), position, by)
    }
}

impl KeyRows {
    /// Adds the rows of a slot at these places, which it has, to a list.
    pub(crate) fn keys(&self, slot: u32, places: Range<u64>, into: &mut Vec<u64>) {
        let head = &self.heads[slot as usize];
        let list: &[u64] = match head.form {
            Form::Many => {
                let len = places.end.saturating_sub(places.start);
                return self.many[head.place as usize].slice(places.start, len).write_keys(into);
            }
            Form::List(size) => self.lists[size as usize].list(size as usize, head),
            _ => &[],
        };
        let (from, to) = (places.start as usize, places.end.max(places.start) as usize);
        into.extend_from_slice(&list[from.min(list.len())..to.min(list.len())]);
        let behind = |at: usize| at.saturating_sub(list.len()).min(head.tail().len());
        into.extend_from_slice(&head.tail()[behind(from)..behind(to)]);
    }
}
