//! Keys to positions and back.

mod extract;

use crate::build::Builder;
use crate::key::{MAX_KEY, Span};
use crate::repr::Repr;
use crate::repr::span::meet;
use crate::repr::tree::{Entries, Entry, Tree};
use crate::rowset::RowSet;
use crate::space::Positions;

impl RowSet {
    /// The position of a key, if it is in the set.
    pub fn position_of(&self, key: u64) -> Option<u64> {
        match &self.0 {
            Repr::Empty => None,
            Repr::Span(span) => span.contains(key).then(|| key - span.first),
            Repr::Spans(tree) => position_in(tree, key),
            Repr::Blocks(tree) => position_in(tree, key),
        }
    }

    /// How many keys lie below `key`.
    pub fn rank(&self, key: u64) -> u64 {
        match &self.0 {
            Repr::Empty => 0,
            Repr::Span(span) => key.saturating_sub(span.first).min(span.len()),
            Repr::Spans(tree) => tree.rank(key),
            Repr::Blocks(tree) => tree.rank(key),
        }
    }

    /// How many keys lie below each of these, which ascend: one pass.
    pub fn ranks(&self, keys: &[u64]) -> Vec<u64> {
        debug_assert!(keys.is_sorted(), "keys to rank ascend");
        let mut ranks = Vec::with_capacity(keys.len());
        match &self.0 {
            Repr::Empty | Repr::Span(_) => ranks.extend(keys.iter().map(|key| self.rank(*key))),
            Repr::Spans(tree) => Cursor::new(tree).ranks(keys, &mut ranks),
            Repr::Blocks(tree) => Cursor::new(tree).ranks(keys, &mut ranks),
        }
        ranks
    }

    /// The key at a position.
    pub fn key_at(&self, pos: u64) -> Option<u64> {
        match &self.0 {
            Repr::Empty => None,
            Repr::Span(span) => (pos < span.len()).then(|| span.first + pos),
            Repr::Spans(tree) => tree.key_at(pos),
            Repr::Blocks(tree) => tree.key_at(pos),
        }
    }

    /// The positions of keys that are all in this set, in one pass.
    pub fn positions_of(&self, keys: &RowSet) -> Positions {
        debug_assert!(keys.is_subset(self), "positions of keys that are in the set");
        if keys.len() == self.len() {
            return Positions(RowSet::flat(self.len()));
        }
        Positions(match &self.0 {
            Repr::Empty => RowSet::new(),
            Repr::Span(span) => keys.moved(-(span.first as i64)),
            Repr::Spans(tree) => positions_in(tree, keys),
            Repr::Blocks(tree) => extract::positions_in(tree, keys).unwrap_or_else(|| positions_in(tree, keys)),
        })
    }

    /// The keys at these positions, in one pass; positions beyond the end are passed over.
    pub fn at(&self, positions: &Positions) -> RowSet {
        let positions = positions.0.slice(0, positions.0.rank(self.len()));
        if let Some(span) = positions.as_span() {
            return self.slice(span.first, span.len());
        }
        match &self.0 {
            Repr::Empty => RowSet::new(),
            Repr::Span(span) => positions.moved(span.first as i64),
            Repr::Spans(tree) => at_in(tree, &positions),
            Repr::Blocks(tree) => at_in(tree, &positions),
        }
    }

    /// The keys at `len` positions from `from_pos` on, or as many as there are.
    pub fn slice(&self, from_pos: u64, len: u64) -> RowSet {
        let end = from_pos.saturating_add(len).min(self.len());
        if from_pos >= end {
            return RowSet::new();
        }
        match (self.key_at(from_pos), self.key_at(end - 1)) {
            (Some(first), Some(last)) => self.between(first, last),
            _ => RowSet::new(),
        }
    }

    /// The keys in `first ..= last`.
    pub fn between(&self, first: u64, last: u64) -> RowSet {
        let last = last.min(MAX_KEY);
        let Some(hull) = self.hull().filter(|hull| first <= last && first <= hull.last && hull.first <= last) else {
            return RowSet::new();
        };
        if first <= hull.first && hull.last <= last {
            return self.clone();
        }
        RowSet(match &self.0 {
            Repr::Empty => Repr::Empty,
            Repr::Span(span) => meet(*span, Span { first, last }).map_or(Repr::Empty, Repr::Span),
            Repr::Spans(tree) => Repr::of_spans(tree.between(first, last)),
            Repr::Blocks(tree) => Repr::of_blocks(tree.between(first, last)),
        })
    }
}

fn position_in<E: Entry>(tree: &Tree<E>, key: u64) -> Option<u64> {
    let (entry, before) = tree.find(key)?;
    entry.position(key).map(|rank| before + rank)
}

/// Whether the ranges hold so few keys that these are better taken one by one.
fn is_scattered(rows: &RowSet) -> bool {
    rows.len() <= 8 * rows.0.heft()
}

/// Keys looked up at a time.
const BATCH: usize = 256;

fn positions_in<E: Entry>(tree: &Tree<E>, keys: &RowSet) -> RowSet {
    let mut cursor = Cursor::new(tree);
    if is_scattered(keys) {
        return by_keys(keys, |keys, ranks| cursor.ranks(keys, ranks));
    }
    let mut builder = Builder::new();
    for span in keys.spans() {
        let first = cursor.rank(span.first);
        builder.push(first, first + (span.len() - 1));
    }
    builder.finish()
}

fn at_in<E: Entry>(tree: &Tree<E>, positions: &RowSet) -> RowSet {
    let mut cursor = Cursor::new(tree);
    if is_scattered(positions) {
        return by_keys(positions, |positions, keys| cursor.keys_at(positions, keys));
    }
    let mut builder = Builder::new();
    for span in positions.spans() {
        let Some(first) = cursor.key_at(span.first) else { break };
        if span.first == span.last {
            builder.push(first, first);
            continue;
        }
        let last = tree.key_at(span.last).unwrap_or(MAX_KEY);
        cursor.spans_between(first, last, |span| builder.push(span.first, span.last));
    }
    builder.finish()
}

/// Ascending numbers out of ascending numbers, a batch at a time.
fn by_keys(keys: &RowSet, mut look_up: impl FnMut(&[u64], &mut Vec<u64>)) -> RowSet {
    let mut found = Vec::with_capacity(usize::try_from(keys.len()).expect("the keys fit in memory"));
    let mut batch = [0; BATCH];
    let mut walk = keys.iter();
    loop {
        let taken = walk.next_many(&mut batch);
        look_up(&batch[..taken], &mut found);
        if taken < BATCH {
            return RowSet::from_sorted_keys(&found);
        }
    }
}

/// Looks things up in ascending order, never going back further than an entry.
pub(crate) struct Cursor<'a, E> {
    tree: &'a Tree<E>,
    entries: Entries<'a, E>,
    entry: Option<&'a E>,
    before: u64,
}

/// Entries passed one by one before the way is taken from the top again.
const STEPS: usize = 8;

impl<'a, E: Entry> Cursor<'a, E> {
    pub(crate) fn new(tree: &'a Tree<E>) -> Cursor<'a, E> {
        let mut entries = tree.iter();
        let entry = entries.next();
        Cursor { tree, entries, entry, before: 0 }
    }

    fn step(&mut self) {
        if let Some(entry) = self.entry {
            self.before += entry.len();
        }
        self.entry = self.entries.next();
    }

    /// Goes to the first entry that does not end below `key`.
    pub(crate) fn seek(&mut self, key: u64) -> Option<&'a E> {
        for _ in 0..STEPS {
            match self.entry {
                Some(entry) if entry.last() < key => self.step(),
                entry => return entry,
            }
        }
        self.entries = self.tree.iter_from(key);
        self.before = self.tree.len() - self.entries.keys_left();
        self.entry = self.entries.next();
        while self.entry.is_some_and(|entry| entry.last() < key) {
            self.step();
        }
        self.entry
    }

    /// How many keys lie below `key`.
    pub(crate) fn rank(&mut self, key: u64) -> u64 {
        let within = self.seek(key).map_or(0, |entry| entry.rank(key));
        self.before + within
    }

    /// How many keys lie below each of these, which ascend.
    fn ranks(&mut self, keys: &[u64], out: &mut Vec<u64>) {
        let mut keys = keys;
        while let Some(&first) = keys.first() {
            let Some(entry) = self.seek(first) else {
                out.extend(keys.iter().map(|_| self.before));
                return;
            };
            let last = entry.last();
            let (now, later) = keys.split_at(keys.partition_point(|&key| key <= last));
            entry.ranks(now, self.before, out);
            keys = later;
        }
    }

    /// The keys at these positions, which ascend; those beyond the end are passed over.
    fn keys_at(&mut self, positions: &[u64], out: &mut Vec<u64>) {
        let mut positions = positions;
        while let Some(&first) = positions.first() {
            if self.key_at(first).is_none() {
                return;
            }
            let Some(entry) = self.entry else { return };
            let end = self.before + entry.len();
            let (now, later) = positions.split_at(positions.partition_point(|&pos| pos < end));
            entry.keys_at(now, self.before, out);
            positions = later;
        }
    }

    fn key_at(&mut self, pos: u64) -> Option<u64> {
        for _ in 0..STEPS {
            match self.entry {
                Some(entry) if self.before + entry.len() <= pos => self.step(),
                Some(entry) => return Some(entry.at(pos - self.before)),
                None => return None,
            }
        }
        let (entry, _) = self.tree.find_position(pos)?;
        self.entries = self.tree.iter_from(entry.first());
        self.before = self.tree.len() - self.entries.keys_left();
        self.entry = self.entries.next();
        self.entry.map(|entry| entry.at(pos - self.before))
    }

    /// The runs within `first ..= last`, which may touch.
    pub(crate) fn spans_between(&mut self, first: u64, last: u64, mut take: impl FnMut(Span)) {
        while let Some(entry) = self.seek(first).filter(|entry| entry.first() <= last) {
            entry.walk_between(first, last).for_each(&mut take);
            if entry.last() >= last {
                return;
            }
            self.step();
        }
    }
}
