//! Walking by key, and by chunks of keys.

use crate::key::Span;
use crate::repr::walk::{AT_FIRST, Front, Spans};
use crate::rowset::RowSet;

/// Keys taken at a time.
const KEYS: usize = 64;

/// The keys of a row set, ascending.
#[derive(Clone)]
pub struct Keys<'a> {
    rows: &'a RowSet,
    way: Front<'a>,
    /// What is left of the run that was begun.
    open: Option<Span>,
    buffer: [u64; KEYS],
    at: usize,
    filled: usize,
    room: usize,
    /// Positions that have not come.
    next: u64,
    end: u64,
    back: Option<Box<KeysBack<'a>>>,
}

#[derive(Clone)]
struct KeysBack<'a> {
    spans: Spans<'a>,
    open: Option<Span>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(rows: &'a RowSet) -> Keys<'a> {
        Keys {
            rows,
            way: Front::new(&rows.0),
            open: None,
            buffer: [0; KEYS],
            at: 0,
            filled: 0,
            room: AT_FIRST,
            next: 0,
            end: rows.len(),
            back: None,
        }
    }

    /// Drops the keys below `key`.
    pub fn advance_to(&mut self, key: u64) {
        let buffered = &self.buffer[self.at..self.filled];
        if buffered.last().is_some_and(|&last| last >= key) {
            let dropped = buffered.partition_point(|&own| own < key);
            self.at += dropped;
            self.next = (self.next + dropped as u64).min(self.end);
            return;
        }
        let rank = self.rows.rank(key);
        if rank <= self.next {
            return;
        }
        (self.at, self.filled, self.open) = (0, 0, None);
        self.next = rank.min(self.end);
        self.way = Front::from(&self.rows.0, key);
        self.way.part.cut(key, &mut self.open);
    }

    /// Takes the next keys into a buffer; how many: fewer than fit only when they are the last, and
    /// then the rest of the buffer means nothing.
    pub fn next_many(&mut self, out: &mut [u64]) -> usize {
        let wanted = usize::try_from(self.end - self.next).map_or(out.len(), |left| left.min(out.len()));
        let out = &mut out[..wanted];
        let buffered = (self.filled - self.at).min(wanted);
        out[..buffered].copy_from_slice(&self.buffer[self.at..self.at + buffered]);
        self.at += buffered;
        let taken = buffered + fill(&mut self.way, &mut self.open, &mut out[buffered..]);
        self.next += taken as u64;
        taken
    }

    #[cold]
    fn refill(&mut self) -> bool {
        let room = std::mem::replace(&mut self.room, KEYS);
        self.at = 0;
        self.filled = fill(&mut self.way, &mut self.open, &mut self.buffer[..room]);
        self.filled > 0
    }
}

/// Takes keys until the buffer is full or there are no more.
fn fill(way: &mut Front<'_>, open: &mut Option<Span>, out: &mut [u64]) -> usize {
    let mut len = 0;
    loop {
        len += way.part.fill_keys(open, &mut out[len..]);
        if len == out.len() || !way.step() {
            return len;
        }
    }
}

impl Iterator for Keys<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.next == self.end || (self.at == self.filled && !self.refill()) {
            return None;
        }
        let key = self.buffer[self.at];
        self.at += 1;
        self.next += 1;
        Some(key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end - self.next);
        (left.unwrap_or(usize::MAX), left.ok())
    }

    fn fold<B, F: FnMut(B, u64) -> B>(mut self, init: B, mut take: F) -> B {
        let mut folded = init;
        let mut left = self.end - self.next;
        loop {
            let batch = &self.buffer[self.at..self.filled];
            let batch = &batch[..batch.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            for &key in batch {
                folded = take(folded, key);
            }
            left -= batch.len() as u64;
            if left == 0 || !self.refill() {
                return folded;
            }
        }
    }
}

impl DoubleEndedIterator for Keys<'_> {
    fn next_back(&mut self) -> Option<u64> {
        if self.next == self.end {
            return None;
        }
        let rows = self.rows;
        let back = self.back.get_or_insert_with(|| Box::new(KeysBack { spans: rows.spans(), open: None }));
        let span = back.open.take().or_else(|| back.spans.next_back())?;
        if span.first < span.last {
            back.open = Some(Span { first: span.first, last: span.last - 1 });
        }
        self.end -= 1;
        Some(span.last)
    }
}

impl<'a> IntoIterator for &'a RowSet {
    type Item = u64;
    type IntoIter = Keys<'a>;
    fn into_iter(self) -> Keys<'a> {
        self.iter()
    }
}
