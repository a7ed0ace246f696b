//! Edits in place: what nobody else holds is changed, what is held is copied first.

use crate::build::Builder;
use crate::key::{MAX_KEY, Span};
use crate::repr::blocks::{Block, low_of, number_of};
use crate::repr::container::Container;
use crate::repr::spans::Chunk;
use crate::repr::tree::{Edit, Entry, Tree};
use crate::repr::{BLOCKS_FROM, Repr, SPANS_BELOW, blocks_of, pieces_of};
use crate::rowset::RowSet;
use crate::shift::Shifts;
use crate::shift::relocate;
use crate::sizes::SHIFT_FEW;

impl RowSet {
    /// Adds a key; whether it was absent.
    pub fn insert(&mut self, key: u64) -> bool {
        assert!(key <= MAX_KEY, "a row key");
        if self.contains(key) {
            return false;
        }
        let divided = match &mut self.0 {
            Repr::Spans(tree) => insert_in_pieces(tree, key),
            Repr::Blocks(tree) => {
                insert_in_blocks(tree, key);
                false
            }
            _ => {
                self.insert_span(Span { first: key, last: key });
                return true;
            }
        };
        self.reshape(divided);
        true
    }

    /// Takes a key out; whether it was there.
    pub fn remove(&mut self, key: u64) -> bool {
        if !self.contains(key) {
            return false;
        }
        let shrunk = match &mut self.0 {
            Repr::Spans(tree) => {
                tree.edit(key, |chunk| ((), chunk.remove(key).map_or(Edit::Kept, Edit::Replaced)));
                false
            }
            Repr::Blocks(tree) => tree.edit(key, |block| remove_from_block(block, key)).unwrap_or(false),
            _ => {
                self.remove_span(Span { first: key, last: key });
                return true;
            }
        };
        self.reshape(shrunk);
        true
    }

    /// Adds the keys of a span.
    pub fn insert_span(&mut self, span: Span) {
        assert!(span.first <= span.last && span.last <= MAX_KEY, "a range of row keys");
        if span.first == span.last && matches!(self.0, Repr::Spans(_) | Repr::Blocks(_)) {
            self.insert(span.first);
            return;
        }
        let Some(hull) = self.hull() else {
            *self = RowSet::range(span.first, span.last);
            return;
        };
        let (low, high) = (span.first.saturating_sub(1), span.last + 1);
        if let Some(own) = self.as_span().filter(|own| own.first <= high && low <= own.last) {
            *self = RowSet::range(own.first.min(span.first), own.last.max(span.last));
            return;
        }
        let below = if hull.first < span.first { self.between(hull.first, span.first - 1) } else { RowSet::new() };
        let above = if span.last < hull.last { self.between(high, hull.last) } else { RowSet::new() };
        *self = below.followed_by(RowSet::range(span.first, span.last)).followed_by(above);
    }

    /// Takes the keys of a span out.
    pub fn remove_span(&mut self, span: Span) {
        let Some(hull) = self.hull().filter(|hull| span.first <= hull.last && hull.first <= span.last) else { return };
        if span.first == span.last && matches!(self.0, Repr::Spans(_) | Repr::Blocks(_)) {
            self.remove(span.first);
            return;
        }
        let below = if hull.first < span.first { self.between(hull.first, span.first - 1) } else { RowSet::new() };
        let above = if span.last < hull.last { self.between(span.last + 1, hull.last) } else { RowSet::new() };
        *self = below.followed_by(above);
    }

    /// Keeps the keys for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(u64) -> bool) {
        let mut builder = Builder::new();
        for key in self.iter().filter(|&key| keep(key)) {
            builder.push(key, key);
        }
        *self = builder.finish();
    }

    /// One step: drops `removed` (keys before), moves by `shifts`, takes in `added` (keys after).
    /// What lies below and above everything that moves is not touched.
    pub fn apply(&mut self, removed: &RowSet, shifts: &Shifts, added: &RowSet) {
        if !removed.is_empty() {
            *self -= removed;
        }
        if let (Some(lowest), Some(highest), Some(hull)) =
            (shifts.iter().next(), shifts.iter().next_back(), self.hull())
        {
            let first = lowest.first.min(lowest.destination().first);
            let last = highest.last.max(highest.destination().last);
            let moves = || shifts.iter().map(|shift| (shift.origin(), shift.delta));
            // Few rows that move: they alone are taken out and put in, the others stay where they lie.
            if shifts.iter().map(|shift| shift.last - shift.first + 1).sum::<u64>() < (last - first) / SHIFT_FEW.rows()
            {
                let moving = &*self & &shifts.origins();
                *self -= &moving;
                *self |= &relocate(&moving, moves);
                *self |= added;
                return;
            }
            let below = first.checked_sub(1).map_or(RowSet::new(), |end| self.between(hull.first, end));
            let inside = relocate(&self.between(first, last), moves);
            let above = self.between(last + 1, hull.last);
            *self = below.followed_by(inside).followed_by(above);
        }
        if !added.is_empty() {
            *self |= added;
        }
    }

    /// Every key moved by `delta`: by renumbering, where whole blocks move. Shares what it can with this set.
    ///
    /// # Panics
    /// If a key leaves the key space.
    pub fn moved(&self, delta: i64) -> RowSet {
        let to =
            |key: u64| key.checked_add_signed(delta).filter(|&key| key <= MAX_KEY).expect("keys stay in the key space");
        if delta == 0 || self.is_empty() {
            return self.clone();
        }
        let (first, last) = (to(self.first().unwrap_or(0)), to(self.last().unwrap_or(0)));
        match &self.0 {
            Repr::Empty | Repr::Span(_) => RowSet::range(first, last),
            Repr::Spans(tree) => RowSet(Repr::Spans(tree.map(|chunk| chunk.moved(delta)))),
            Repr::Blocks(tree) if delta % (1 << 16) == 0 => {
                RowSet(Repr::Blocks(tree.map(|block| block.moved(delta >> 16))))
            }
            Repr::Blocks(tree) => {
                let mut builder = Builder::of_blocks();
                for block in tree.iter() {
                    block.shifted(delta).into_iter().for_each(|block| builder.push_block(block));
                }
                builder.finish()
            }
        }
    }

    /// After edits: one range is kept as such, and where entries came or went the form is asked again.
    pub(crate) fn reshape(&mut self, divided: bool) {
        let complete = match &self.0 {
            Repr::Spans(tree) => is_range(tree),
            Repr::Blocks(tree) => is_range(tree),
            _ => false,
        };
        if complete {
            self.normalize();
        } else if divided {
            self.reconsider();
        }
    }

    /// Nothing and one range are kept as such.
    fn normalize(&mut self) {
        *self = RowSet(match std::mem::take(&mut self.0) {
            Repr::Spans(tree) => Repr::of_spans(tree),
            Repr::Blocks(tree) => Repr::of_blocks(tree),
            repr => repr,
        });
    }

    /// Looks at a few entries and, if they all but say so, turns to the other form.
    fn reconsider(&mut self) {
        match &self.0 {
            Repr::Spans(tree) => {
                let (heft, blocks) = sample(tree, |chunk| {
                    (chunk.heft(), number_of(chunk.last_key()) - number_of(chunk.first_key()) + 1)
                });
                if heft >= 2 * BLOCKS_FROM * blocks {
                    let blocks = blocks_of(tree);
                    *self = RowSet(Repr::of_blocks(blocks));
                }
            }
            Repr::Blocks(tree) => {
                let (heft, blocks) = sample(tree, |block| (block.heft(), 1));
                if heft < SPANS_BELOW * blocks / 2 {
                    let pieces = pieces_of(tree);
                    *self = RowSet(Repr::of_spans(pieces));
                }
            }
            _ => {}
        }
    }
}

fn sample<E: Entry>(tree: &Tree<E>, measure: impl Fn(&E) -> (u64, u64)) -> (u64, u64) {
    const SAMPLES: u64 = 16;
    let mut sums = (0, 0);
    for at in 0..SAMPLES {
        if let Some((entry, _)) = tree.find_position((tree.len() as u128 * at as u128 / SAMPLES as u128) as u64) {
            let (heft, blocks) = measure(entry);
            sums = (sums.0 + heft, sums.1 + blocks);
        }
    }
    sums
}

fn is_range<E: Entry>(tree: &Tree<E>) -> bool {
    match (tree.first_entry(), tree.last_entry()) {
        (Some(first), Some(last)) => last.last_key() - first.first_key() == tree.len() - 1,
        _ => true,
    }
}

/// Whether a chunk had to be divided.
fn insert_in_pieces(tree: &mut Tree<Chunk>, key: u64) -> bool {
    let divided = tree.edit(key, |chunk| match chunk.insert(key) {
        None => (false, Edit::Kept),
        Some(chunks) => (true, Edit::Replaced(chunks)),
    });
    divided.unwrap_or(false)
}

fn insert_in_blocks(tree: &mut Tree<Block>, key: u64) {
    tree.edit(key, |block| {
        if number_of(key) >= block.number && number_of(key) < block.end() {
            block.keys.insert(low_of(key));
            return ((), Edit::Kept);
        }
        let new = Block::one(number_of(key), Container::range(low_of(key), low_of(key)));
        let mut both = vec![block.clone(), new];
        both.sort_by_key(|block| block.number);
        ((), Edit::Replaced(both))
    });
}

/// Whether the block is gone.
fn remove_from_block(block: &mut Block, key: u64) -> (bool, Edit<Block>) {
    if block.blocks == 1 {
        let left = block.keys.remove(low_of(key));
        return (!left, if left { Edit::Kept } else { Edit::Replaced(Vec::new()) });
    }
    let number = number_of(key);
    let mut holed = Block::full(number, 1);
    holed.keys.remove(low_of(key));
    (false, Edit::Replaced(parted(block, number, Some(holed))))
}

/// A run of full blocks with one of them, `number`, replaced.
pub(crate) fn parted(full: &Block, number: u64, replaced: Option<Block>) -> Vec<Block> {
    let mut parts = Vec::with_capacity(3);
    if full.number < number {
        parts.push(Block::full(full.number, number - full.number));
    }
    parts.extend(replaced);
    if number + 1 < full.end() {
        parts.push(Block::full(number + 1, full.end() - number - 1));
    }
    parts
}
