//! Sorted keys or ranges in shared chunks: for few pieces, however far apart.

mod ranges;
mod walk;

use std::sync::Arc;

use self::ranges::{at_or_after, insert_into_spans, length, remove_from_spans};
pub(crate) use self::walk::ChunkWalk;

use super::part::Part;
use super::tree::Entry;
use crate::kernels::lists::{gallop, guess};
use crate::key::Span;

/// Pieces of a new chunk.
pub(crate) const CHUNK: usize = 1024;
/// A chunk of fewer pieces looks for a neighbour to become one with.
const SMALL: usize = 128;

/// Up to about a thousand pieces. All is relative to `base`, so that moving a chunk copies nothing.
#[derive(Clone)]
pub(crate) struct Chunk {
    base: u64,
    pieces: Arc<Pieces>,
}

#[derive(Clone)]
enum Pieces {
    /// Single keys, which may touch: four bytes each.
    Keys(Vec<u32>),
    /// Ranges with a gap between each two, and the keys up to the end of each.
    Spans { firsts: Vec<u64>, ends: Vec<u64> },
}

impl Chunk {
    /// Ascending spans, which may touch: as many chunks as they need.
    pub(crate) fn from_spans(spans: &[Span]) -> Vec<Chunk> {
        let touching = spans.windows(2).any(|pair| pair[0].last + 1 == pair[1].first);
        if !touching {
            return Chunk::from_maximal(spans);
        }
        let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
        for &span in spans {
            match joined.last_mut() {
                Some(last) if last.last + 1 == span.first => last.last = span.last,
                _ => joined.push(span),
            }
        }
        Chunk::from_maximal(&joined)
    }

    /// One chunk's worth of ascending keys; how many ranges they are.
    pub(crate) fn from_keys(keys: &[u64], into: &mut Vec<Chunk>) -> u64 {
        let (Some(&base), Some(&last)) = (keys.first(), keys.last()) else { return 0 };
        let pieces = 1 + keys.windows(2).map(|pair| u64::from(pair[1] - pair[0] != 1)).sum::<u64>();
        if last - base <= u32::MAX as u64 && keys.len() as u64 <= 4 * pieces && pieces > 1 {
            let list = keys.iter().map(|&key| (key - base) as u32).collect();
            into.push(Chunk { base, pieces: Arc::new(Pieces::Keys(list)) });
        } else {
            let spans: Vec<Span> = keys.iter().map(|&key| Span { first: key, last: key }).collect();
            into.extend(Chunk::from_spans(&spans));
        }
        pieces
    }

    fn from_maximal(spans: &[Span]) -> Vec<Chunk> {
        if spans.is_empty() {
            return Vec::new();
        }
        // Shares of one size, rather than one full and one of a few pieces.
        let shares = spans.len().div_ceil(CHUNK);
        spans.chunks(spans.len().div_ceil(shares)).map(Chunk::one).collect()
    }

    fn one(spans: &[Span]) -> Chunk {
        let (base, last) = (spans[0].first, spans[spans.len() - 1].last);
        let keys: u64 = spans.iter().map(Span::len).fold(0, u64::saturating_add);
        let pieces = if last - base <= u32::MAX as u64 && keys <= 4 * spans.len() as u64 && spans.len() > 1 {
            let mut list = Vec::with_capacity(keys as usize);
            for span in spans {
                list.extend((span.first - base) as u32..=(span.last - base) as u32);
            }
            Pieces::Keys(list)
        } else {
            let mut total = 0;
            let ends = spans
                .iter()
                .map(|span| {
                    total += span.len();
                    total
                })
                .collect();
            Pieces::Spans { firsts: spans.iter().map(|span| span.first - base).collect(), ends }
        };
        Chunk { base, pieces: Arc::new(pieces) }
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.walk().collect()
    }

    pub(crate) fn moved(&self, delta: i64) -> Chunk {
        // The base alone may lie below every key, even below 0 once moved: it wraps, and so do the sums.
        Chunk { base: self.base.wrapping_add_signed(delta), pieces: self.pieces.clone() }
    }

    pub(crate) fn write_keys(&self, into: &mut Vec<u64>) {
        match &*self.pieces {
            Pieces::Keys(keys) => into.extend(keys.iter().map(|&key| self.base.wrapping_add(key as u64))),
            Pieces::Spans { .. } => self.walk().for_each(|span| into.extend(span.first..=span.last)),
        }
    }

    /// Appends the keys of `first ..= last`, counted from `base`, if they are single keys for the most
    /// part; whether they are. The caller sees to it that they lie near enough.
    pub(crate) fn write_listed(&self, first: u64, last: u64, base: u64, into: &mut Vec<u32>) -> bool {
        if self.len() > 4 * self.pieces() as u64 {
            return false;
        }
        let ChunkWalk { from, to, .. } = self.walk_between(first, last);
        // The difference wraps, and so does the sum: what comes out lies in 32 bits.
        let more = self.base.wrapping_sub(base);
        match &*self.pieces {
            _ if from >= to => {}
            Pieces::Keys(keys) => into.extend(keys[from..to].iter().map(|&key| key.wrapping_add(more as u32))),
            Pieces::Spans { firsts, ends } if ends.len() as u64 == ends[ends.len() - 1] => {
                into.extend(firsts[from..to].iter().map(|&key| key.wrapping_add(more) as u32));
            }
            Pieces::Spans { .. } => {
                let spans = self.walk_between(first, last);
                spans.for_each(|span| into.extend((span.first - base) as u32..=(span.last - base) as u32));
            }
        }
        true
    }

    /// Ascending keys counted from `base`, as one chunk; how many ranges they are.
    pub(crate) fn from_offsets(base: u64, keys: &[u32], into: &mut Vec<Chunk>) -> u64 {
        let pieces = 1 + keys[1..].iter().zip(keys).map(|(next, key)| u32::from(next - key != 1)).sum::<u32>() as u64;
        if keys.len() as u64 <= 4 * pieces && pieces > 1 {
            into.push(Chunk { base, pieces: Arc::new(Pieces::Keys(keys.to_vec())) });
        } else {
            let spans: Vec<Span> =
                keys.iter().map(|&key| Span { first: base + key as u64, last: base + key as u64 }).collect();
            into.extend(Chunk::from_spans(&spans));
        }
        pieces
    }

    fn pieces(&self) -> usize {
        match &*self.pieces {
            Pieces::Keys(keys) => keys.len(),
            Pieces::Spans { firsts, .. } => firsts.len(),
        }
    }

    /// Adds an absent key: one chunk, or more when it grew too large.
    pub(crate) fn insert(&mut self, key: u64) -> Option<Vec<Chunk>> {
        let offset = key.wrapping_sub(self.base);
        if self.pieces() < 2 * CHUNK && offset < 1 << 63 {
            match Arc::make_mut(&mut self.pieces) {
                Pieces::Keys(keys) if offset <= u32::MAX as u64 => {
                    let at = keys.partition_point(|&own| own < offset as u32);
                    keys.insert(at, offset as u32);
                    return None;
                }
                Pieces::Keys(_) => {}
                Pieces::Spans { firsts, ends } => {
                    insert_into_spans(firsts, ends, offset);
                    return None;
                }
            }
        }
        let mut spans = self.spans();
        let at = spans.partition_point(|span| span.last < key);
        spans.insert(at, Span { first: key, last: key });
        Some(Chunk::from_spans(&spans))
    }

    /// Takes a present key out: this chunk, or none when it was the only key.
    pub(crate) fn remove(&mut self, key: u64) -> Option<Vec<Chunk>> {
        if self.len() == 1 {
            return Some(Vec::new());
        }
        let offset = key.wrapping_sub(self.base);
        match Arc::make_mut(&mut self.pieces) {
            Pieces::Keys(keys) => {
                let at = keys.partition_point(|&own| own < offset as u32);
                keys.remove(at);
            }
            Pieces::Spans { firsts, ends } => remove_from_spans(firsts, ends, offset),
        }
        (self.pieces() > 2 * CHUNK).then(|| Chunk::from_spans(&self.spans()))
    }
}

impl Entry for Chunk {
    type Walk<'a> = ChunkWalk<'a>;

    fn first(&self) -> u64 {
        self.first_key()
    }

    fn last(&self) -> u64 {
        self.last_key()
    }

    fn first_key(&self) -> u64 {
        let offset = match &*self.pieces {
            Pieces::Keys(keys) => keys[0] as u64,
            Pieces::Spans { firsts, .. } => firsts[0],
        };
        self.base.wrapping_add(offset)
    }

    fn last_key(&self) -> u64 {
        let offset = match &*self.pieces {
            Pieces::Keys(keys) => keys[keys.len() - 1] as u64,
            Pieces::Spans { firsts, ends } => firsts[firsts.len() - 1] + (length(ends, ends.len() - 1) - 1),
        };
        self.base.wrapping_add(offset)
    }

    fn len(&self) -> u64 {
        match &*self.pieces {
            Pieces::Keys(keys) => keys.len() as u64,
            Pieces::Spans { ends, .. } => ends[ends.len() - 1],
        }
    }

    fn heft(&self) -> u64 {
        self.pieces() as u64
    }

    fn position(&self, key: u64) -> Option<u64> {
        let Pieces::Keys(keys) = &*self.pieces else { return self.contains(key).then(|| self.rank(key)) };
        // Keys below the first are far above it, or not among them.
        let offset = u32::try_from(key.wrapping_sub(self.base)).ok()?;
        let at = guess(keys, offset);
        (keys.get(at) == Some(&offset)).then_some(at as u64)
    }

    fn contains(&self, key: u64) -> bool {
        if let Pieces::Keys(_) = &*self.pieces {
            return self.position(key).is_some();
        }
        if key < self.first_key() || key > self.last_key() {
            return false;
        }
        let offset = key.wrapping_sub(self.base);
        match &*self.pieces {
            Pieces::Keys(_) => false,
            Pieces::Spans { firsts, ends } => {
                let at = at_or_after(firsts, ends, offset);
                firsts.get(at).is_some_and(|&first| first <= offset)
            }
        }
    }

    fn rank(&self, key: u64) -> u64 {
        if key <= self.first_key() {
            return 0;
        }
        if key > self.last_key() {
            return self.len();
        }
        let offset = key.wrapping_sub(self.base);
        match &*self.pieces {
            Pieces::Keys(keys) => guess(keys, offset as u32) as u64,
            Pieces::Spans { firsts, ends } => {
                let at = at_or_after(firsts, ends, offset);
                let before = if at == 0 { 0 } else { ends[at - 1] };
                before + firsts.get(at).map_or(0, |first| offset.saturating_sub(*first))
            }
        }
    }

    fn at(&self, pos: u64) -> u64 {
        let offset = match &*self.pieces {
            Pieces::Keys(keys) => keys[pos as usize] as u64,
            Pieces::Spans { firsts, ends } => {
                let at = ends.partition_point(|&end| end <= pos);
                firsts[at] + (pos - if at == 0 { 0 } else { ends[at - 1] })
            }
        };
        self.base.wrapping_add(offset)
    }

    fn ranks(&self, keys: &[u64], before: u64, out: &mut Vec<u64>) {
        let Pieces::Keys(own) = &*self.pieces else {
            out.extend(keys.iter().map(|&key| before + self.rank(key)));
            return;
        };
        let (first, last) = (self.first_key(), self.last_key());
        let mut at = 0;
        out.extend(keys.iter().map(|&key| {
            let offset = key.clamp(first, last).wrapping_sub(self.base) as u32;
            at = gallop(own, at, offset);
            before + at as u64 + u64::from(key > last)
        }));
    }

    fn keys_at(&self, positions: &[u64], before: u64, out: &mut Vec<u64>) {
        match &*self.pieces {
            Pieces::Keys(own) => {
                out.extend(positions.iter().map(|&pos| self.base.wrapping_add(own[(pos - before) as usize] as u64)));
            }
            _ => out.extend(positions.iter().map(|&pos| self.at(pos - before))),
        }
    }

    fn part(&self) -> Part<'_> {
        match &*self.pieces {
            Pieces::Keys(keys) => Part::Offsets { base: self.base, keys },
            Pieces::Spans { firsts, ends } => Part::Ranges { base: self.base, firsts, ends, before: 0 },
        }
    }

    fn part_from(&self, first: u64) -> Part<'_> {
        if first <= self.first_key() {
            return self.part();
        }
        if first > self.last_key() {
            return Part::NONE;
        }
        let offset = first.wrapping_sub(self.base);
        match &*self.pieces {
            Pieces::Keys(keys) => {
                let from = keys.partition_point(|&own| (own as u64) < offset);
                Part::Offsets { base: self.base, keys: &keys[from..] }
            }
            Pieces::Spans { firsts, ends } => {
                let from = at_or_after(firsts, ends, offset);
                let before = if from == 0 { 0 } else { ends[from - 1] };
                Part::Ranges { base: self.base, firsts: &firsts[from..], ends: &ends[from..], before }
            }
        }
    }

    fn walk(&self) -> ChunkWalk<'_> {
        let clip = Span { first: 0, last: u64::MAX };
        ChunkWalk { base: self.base, pieces: &self.pieces, from: 0, to: self.pieces(), clip }
    }

    fn walk_between(&self, first: u64, last: u64) -> ChunkWalk<'_> {
        let mut walk = self.walk();
        walk.clip = Span { first, last };
        let (low, high) = (first.max(self.first_key()), last.min(self.last_key()));
        if low > high {
            walk.to = 0;
            return walk;
        }
        let (low, high) = (low.wrapping_sub(self.base), high.wrapping_sub(self.base));
        match &*self.pieces {
            Pieces::Keys(keys) => {
                walk.from = keys.partition_point(|&own| (own as u64) < low);
                walk.to = keys.partition_point(|&own| own as u64 <= high);
            }
            Pieces::Spans { firsts, ends } => {
                walk.from = at_or_after(firsts, ends, low);
                walk.to = firsts.partition_point(|&own| own <= high);
            }
        }
        walk
    }

    fn clip(&self, first: u64, last: u64) -> Vec<Chunk> {
        Chunk::from_spans(&self.walk_between(first, last).collect::<Vec<_>>())
    }

    fn heap_bytes(&self) -> usize {
        16 + size_of::<Pieces>()
            + match &*self.pieces {
                Pieces::Keys(keys) => 4 * keys.capacity(),
                Pieces::Spans { firsts, ends } => 8 * (firsts.capacity() + ends.capacity()),
            }
    }

    #[cfg(test)]
    fn heap_at(&self) -> usize {
        &raw const *self.pieces as usize
    }

    fn check(&self) -> Result<(), String> {
        let broken = match &*self.pieces {
            Pieces::Keys(keys) => keys.is_empty() || !keys.is_sorted_by(|a, b| a < b),
            Pieces::Spans { firsts, ends } => {
                firsts.is_empty()
                    || firsts.len() != ends.len()
                    || !ends.is_sorted_by(|a, b| a < b)
                    || ends[0] == 0
                    || (1..firsts.len()).any(|at| firsts[at - 1] + length(ends, at - 1) >= firsts[at])
            }
        };
        if broken || self.pieces() > 8 * CHUNK {
            return Err(format!("a chunk at {} is empty, unsorted, miscounted, or too large", self.base));
        }
        Ok(())
    }

    fn merged(&self, next: &Chunk) -> Option<Chunk> {
        let (own, other) = (self.pieces(), next.pieces());
        if own.min(other) >= SMALL || own + other > CHUNK {
            return None;
        }
        let spans: Vec<Span> = self.walk().chain(next.walk()).collect();
        Chunk::from_spans(&spans).pop()
    }

    fn is_small(&self) -> bool {
        self.pieces() < SMALL
    }
}
