//! Walking what a set is made of, range by range, from both ends.
//!
//! Forward, keys and ranges come out of a small buffer that is filled from one container at a time.

use super::Repr;
use super::blocks::Block;
use super::part::Part;
use super::span::meet;
use super::spans::Chunk;
use super::tree::{Entries, Entry, Tree};
use crate::key::Span;

/// Ranges taken at a time.
const SPANS: usize = 32;
/// Taken the first time: whoever asks for a few does not pay for many.
pub(crate) const AT_FIRST: usize = 8;

/// The way forward, entry by entry.
#[derive(Clone)]
pub(crate) struct Front<'a> {
    entries: Way<'a>,
    pub(crate) part: Part<'a>,
}

#[derive(Clone)]
enum Way<'a> {
    Done,
    Chunks(Entries<'a, Chunk>),
    Blocks(Entries<'a, Block>),
}

impl<'a> Front<'a> {
    pub(crate) fn new(repr: &'a Repr) -> Front<'a> {
        match repr {
            Repr::Empty => Front { entries: Way::Done, part: Part::NONE },
            Repr::Span(span) => Front { entries: Way::Done, part: Part::One(Some(*span)) },
            Repr::Spans(tree) => Front { entries: Way::Chunks(tree.iter()), part: Part::NONE },
            Repr::Blocks(tree) => Front { entries: Way::Blocks(tree.iter()), part: Part::NONE },
        }
    }

    /// From the run that holds `first`, or the next one, on.
    pub(crate) fn from(repr: &'a Repr, first: u64) -> Front<'a> {
        match repr {
            Repr::Spans(tree) => {
                let mut entries = tree.iter_from(first);
                let part = entries.next().map_or(Part::NONE, |chunk| chunk.part_from(first));
                Front { entries: Way::Chunks(entries), part }
            }
            Repr::Blocks(tree) => {
                let mut entries = tree.iter_from(first);
                let part = entries.next().map_or(Part::NONE, |block| block.part_from(first));
                Front { entries: Way::Blocks(entries), part }
            }
            Repr::Span(span) if span.last < first => Front { entries: Way::Done, part: Part::NONE },
            _ => Front::new(repr),
        }
    }

    /// Goes on to the next entry, if there is one.
    pub(crate) fn step(&mut self) -> bool {
        let next = match &mut self.entries {
            Way::Done => None,
            Way::Chunks(entries) => entries.next().map(Entry::part),
            Way::Blocks(entries) => entries.next().map(Entry::part),
        };
        match next {
            Some(part) => {
                self.part = part;
                true
            }
            None => {
                self.part = Part::NONE;
                false
            }
        }
    }
}

/// The maximal ranges of a row set, ascending.
#[derive(Clone)]
pub struct Spans<'a> {
    way: Front<'a>,
    buffer: [Span; SPANS],
    /// Ranges of the buffer that have come, that may come, and that are there: the last may still grow.
    at: usize,
    ready: usize,
    filled: usize,
    room: usize,
    /// What has not come lies in `start .. end`.
    start: u64,
    end: u64,
    source: Source<'a>,
    back: Option<Box<Back<'a>>>,
}

/// What the way back starts from.
#[derive(Clone, Copy)]
enum Source<'a> {
    One(Option<Span>),
    Chunks(&'a Tree<Chunk>),
    Blocks(&'a Tree<Block>),
}

impl<'a> Source<'a> {
    fn of(repr: &'a Repr) -> Source<'a> {
        match repr {
            Repr::Empty => Source::One(None),
            Repr::Span(span) => Source::One(Some(*span)),
            Repr::Spans(tree) => Source::Chunks(tree),
            Repr::Blocks(tree) => Source::Blocks(tree),
        }
    }
}

impl<'a> Spans<'a> {
    /// All of them.
    pub(crate) fn of(repr: &'a Repr) -> Spans<'a> {
        Spans::over(Front::new(repr), Source::of(repr), 0, u64::MAX)
    }

    /// Those of the keys within `first ..= last`.
    pub(crate) fn between(repr: &'a Repr, first: u64, last: u64) -> Spans<'a> {
        if first > last {
            return Spans::over(Front { entries: Way::Done, part: Part::NONE }, Source::One(None), 0, 0);
        }
        Spans::over(Front::from(repr, first), Source::of(repr), first, last.saturating_add(1))
    }

    fn over(way: Front<'a>, source: Source<'a>, start: u64, end: u64) -> Spans<'a> {
        let buffer = [Span { first: 0, last: 0 }; SPANS];
        Spans { way, buffer, at: 0, ready: 0, filled: 0, room: AT_FIRST, start, end, source, back: None }
    }

    pub(crate) fn of_blocks(tree: &'a Tree<Block>) -> Spans<'a> {
        let way = Front { entries: Way::Blocks(tree.iter()), part: Part::NONE };
        Spans::over(way, Source::Blocks(tree), 0, u64::MAX)
    }

    pub(crate) fn of_pieces(tree: &'a Tree<Chunk>) -> Spans<'a> {
        let way = Front { entries: Way::Chunks(tree.iter()), part: Part::NONE };
        Spans::over(way, Source::Chunks(tree), 0, u64::MAX)
    }

    /// Makes ranges ready; whether there are more. The last one waits for what may touch it.
    #[cold]
    fn refill(&mut self) -> bool {
        let open = self.ready < self.filled;
        if open {
            self.buffer[0] = self.buffer[self.ready];
        }
        (self.at, self.ready) = (0, 0);
        let mut len = usize::from(open);
        let room = std::mem::replace(&mut self.room, SPANS);
        loop {
            len = self.way.part.fill_spans(&mut self.buffer[..room], len);
            if len == room {
                self.ready = len - 1;
                break;
            }
            if (len > 0 && self.buffer[len - 1].last >= self.end) || !self.way.step() {
                self.way = Front { entries: Way::Done, part: Part::NONE };
                self.ready = len;
                break;
            }
        }
        self.filled = len;
        // Only the first range may begin before the start, and only those at the end may pass it.
        if len > 0 && self.buffer[0].first < self.start {
            self.buffer[0].first = self.start;
        }
        for span in self.buffer[..len].iter_mut().rev().take_while(|span| span.last >= self.end) {
            span.last = self.end.saturating_sub(1);
        }
        self.ready > 0
    }
}

impl Iterator for Spans<'_> {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        if self.at == self.ready && !self.refill() {
            return None;
        }
        let span = self.buffer[self.at];
        if span.first >= self.end {
            return None;
        }
        self.at += 1;
        self.start = span.last + 1;
        Some(span)
    }

    fn fold<B, F: FnMut(B, Span) -> B>(mut self, init: B, mut take: F) -> B {
        let mut folded = init;
        loop {
            for &span in &self.buffer[self.at..self.ready] {
                if span.first >= self.end {
                    return folded;
                }
                folded = take(folded, span);
            }
            self.at = self.ready;
            if !self.refill() {
                return folded;
            }
        }
    }
}

impl DoubleEndedIterator for Spans<'_> {
    fn next_back(&mut self) -> Option<Span> {
        let (start, end) = (self.start, self.end);
        let back = self.back.get_or_insert_with(|| Box::new(Back::new(self.source, start, end)));
        let span = back.next().filter(|span| span.last >= start)?;
        self.end = span.first;
        Some(span)
    }
}

/// The way back: run by run, one with the next where they touch.
#[derive(Clone)]
struct Back<'a> {
    runs: BackRuns<'a>,
    open: Option<Span>,
    within: Span,
}

#[derive(Clone)]
enum BackRuns<'a> {
    One(Option<Span>),
    Chunks(Flat<'a, Chunk>),
    Blocks(Flat<'a, Block>),
}

#[derive(Clone)]
struct Flat<'a, E: Entry> {
    entries: Entries<'a, E>,
    walk: Option<E::Walk<'a>>,
}

impl<'a, E: Entry> Flat<'a, E> {
    fn new(tree: &'a Tree<E>, within: Span) -> Flat<'a, E> {
        Flat { entries: tree.iter_between(within.first, within.last), walk: None }
    }

    fn next(&mut self, within: Span) -> Option<Span> {
        loop {
            if let Some(span) = self.walk.as_mut().and_then(DoubleEndedIterator::next_back) {
                return Some(span);
            }
            let entry = self.entries.next_back()?;
            self.walk = Some(entry.walk_between(within.first, within.last));
        }
    }
}

impl<'a> Back<'a> {
    fn new(source: Source<'a>, start: u64, end: u64) -> Back<'a> {
        let empty = Back { runs: BackRuns::One(None), open: None, within: Span { first: 0, last: 0 } };
        let Some(last) = end.checked_sub(1).filter(|&last| start <= last) else { return empty };
        let within = Span { first: start, last };
        let runs = match source {
            Source::One(one) => BackRuns::One(one.and_then(|one| meet(one, within))),
            Source::Chunks(tree) => BackRuns::Chunks(Flat::new(tree, within)),
            Source::Blocks(tree) => BackRuns::Blocks(Flat::new(tree, within)),
        };
        Back { runs, within, ..empty }
    }

    fn next_run(&mut self) -> Option<Span> {
        match &mut self.runs {
            BackRuns::One(one) => one.take(),
            BackRuns::Chunks(flat) => flat.next(self.within),
            BackRuns::Blocks(flat) => flat.next(self.within),
        }
    }

    fn next(&mut self) -> Option<Span> {
        let mut span = self.open.take().or_else(|| self.next_run())?;
        while let Some(next) = self.next_run() {
            if next.last + 1 != span.first {
                self.open = Some(next);
                break;
            }
            span.first = next.first;
        }
        Some(span)
    }
}
