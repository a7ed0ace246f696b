//! The way forward through one entry, many keys or runs at a time, the inner loops over plain slices.

use super::container::{Container, Run};
use crate::kernels::{self, Words};
use crate::key::Span;

/// What is left of an entry, as it is kept.
#[derive(Clone)]
pub(crate) enum Part<'a> {
    /// Nothing, or one run.
    One(Option<Span>),
    /// Keys of a block.
    Lows { base: u64, keys: &'a [u16] },
    /// Keys of a chunk.
    Offsets { base: u64, keys: &'a [u32] },
    /// Runs of a block.
    Runs { base: u64, runs: &'a [Run] },
    /// Ones of a word, the first of which is `base`, and of those behind it.
    Words { base: u64, word: u64, rest: &'a [u64] },
    /// Ranges of a chunk, with the keys up to the end of each and in front of the first.
    Ranges { base: u64, firsts: &'a [u64], ends: &'a [u64], before: u64 },
}

impl<'a> Part<'a> {
    pub(crate) const NONE: Part<'static> = Part::One(None);

    /// The keys of a block from `low` on. A run that begins below is not cut.
    pub(crate) fn of_container(keys: &'a Container, base: u64, low: u16) -> Part<'a> {
        let listed = |keys: &'a [u16]| {
            let from = if low == 0 { 0 } else { keys.partition_point(|&key| key < low) };
            Part::Lows { base, keys: &keys[from..] }
        };
        match keys {
            Container::Full => Part::One(Some(Span { first: base, last: base + 0xffff })),
            Container::Range(first, last) => {
                let span = Span { first: base + *first as u64, last: base + *last as u64 };
                Part::One((*last >= low).then_some(span))
            }
            Container::Few(few) => listed(few.keys()),
            Container::Array(keys) => listed(keys),
            Container::Runs(runs) => {
                let from = if low == 0 { 0 } else { runs.partition_point(|run| run.last < low) };
                Part::Runs { base, runs: &runs[from..] }
            }
            Container::Bitmap(bits) => Part::of_words(&bits.words, base, low),
        }
    }

    fn of_words(words: &'a Words, base: u64, low: u16) -> Part<'a> {
        let at = low as usize / 64;
        let word = words[at] & (u64::MAX << (low % 64));
        Part::Words { base: base + at as u64 * 64, word, rest: &words[at + 1..] }
    }

    /// Takes runs into `out` behind the `len` that are there, one with the last where they touch;
    /// how many there are then.
    pub(crate) fn fill_spans(&mut self, out: &mut [Span], mut len: usize) -> usize {
        match self {
            Part::One(one) => match one.take() {
                Some(span) => push(out, len, span).inspect_err(|()| *one = Some(span)).unwrap_or(len),
                None => len,
            },
            Part::Lows { base, keys } => {
                let taken = fill_singles(out, &mut len, keys.iter().map(|&key| *base + key as u64));
                *keys = &keys[taken..];
                len
            }
            Part::Offsets { base, keys } => {
                let taken = fill_singles(out, &mut len, keys.iter().map(|&key| base.wrapping_add(key as u64)));
                *keys = &keys[taken..];
                len
            }
            Part::Runs { base, runs } => {
                while let Some((run, rest)) = runs.split_first() {
                    let span = Span { first: *base + run.first as u64, last: *base + run.last as u64 };
                    let Ok(more) = push(out, len, span) else { break };
                    len = more;
                    *runs = rest;
                }
                len
            }
            Part::Words { base, word, rest } => {
                loop {
                    while *word != 0 {
                        // All below the first run filled up: what is one at the bottom ends where it ends.
                        let filled = *word | (*word - 1);
                        let (first, last) = (word.trailing_zeros() as u64, filled.trailing_ones() as u64 - 1);
                        let Ok(more) = push(out, len, Span { first: *base + first, last: *base + last }) else {
                            return len;
                        };
                        len = more;
                        *word &= filled.wrapping_add(1);
                    }
                    let Some((next, others)) = rest.split_first() else { break };
                    (*word, *rest, *base) = (*next, others, *base + 64);
                }
                *self = Part::NONE;
                len
            }
            Part::Ranges { base, firsts, ends, before } => {
                while let (Some((first, more_firsts)), Some((end, more_ends))) =
                    (firsts.split_first(), ends.split_first())
                {
                    let first = base.wrapping_add(*first);
                    let Ok(more) = push(out, len, Span { first, last: first + (end - *before - 1) }) else { break };
                    len = more;
                    (*firsts, *ends, *before) = (more_firsts, more_ends, *end);
                }
                len
            }
        }
    }

    /// Takes keys into `out`; how many: all that fit, or all there are. A run that was begun is left in `open`.
    pub(crate) fn fill_keys(&mut self, open: &mut Option<Span>, out: &mut [u64]) -> usize {
        let mut len = fill_from_span(open, out);
        match self {
            Part::One(_) if open.is_some() => {}
            Part::One(one) => {
                *open = one.take();
                len += fill_from_span(open, &mut out[len..]);
            }
            Part::Lows { base, keys } => {
                let (now, later) = keys.split_at(keys.len().min(out.len() - len));
                out[len..].iter_mut().zip(now).for_each(|(out, &key)| *out = *base + key as u64);
                *keys = later;
                len += now.len();
            }
            Part::Offsets { base, keys } => {
                let (now, later) = keys.split_at(keys.len().min(out.len() - len));
                out[len..].iter_mut().zip(now).for_each(|(out, &key)| *out = base.wrapping_add(key as u64));
                *keys = later;
                len += now.len();
            }
            Part::Words { base, word, rest } => len += kernels::list(word, rest, base, &mut out[len..]),
            Part::Runs { base, runs } => {
                while len < out.len()
                    && let Some((run, more)) = runs.split_first()
                {
                    *runs = more;
                    *open = Some(Span { first: *base + run.first as u64, last: *base + run.last as u64 });
                    len += fill_from_span(open, &mut out[len..]);
                }
            }
            Part::Ranges { base, firsts, ends, before } => {
                while len < out.len()
                    && let (Some((first, more_firsts)), Some((end, more_ends))) =
                        (firsts.split_first(), ends.split_first())
                {
                    let (first, more) = (base.wrapping_add(*first), end - *before - 1);
                    (*firsts, *ends, *before) = (more_firsts, more_ends, *end);
                    if more == 0 {
                        out[len] = first;
                        len += 1;
                        continue;
                    }
                    *open = Some(Span { first, last: first + more });
                    len += fill_from_span(open, &mut out[len..]);
                }
            }
        }
        len
    }

    /// Drops the keys below `first`. They may only be in the first run of the part.
    pub(crate) fn cut(&mut self, first: u64, open: &mut Option<Span>) {
        if let Part::One(_) | Part::Runs { .. } | Part::Ranges { .. } = self {
            let mut run = [Span { first: 0, last: 0 }];
            if self.fill_spans(&mut run, 0) > 0 {
                *open = Some(Span { first: run[0].first.max(first), last: run[0].last });
            }
        }
    }
}

/// Puts a run behind the others, one with the last if they touch; an error if there is no room.
#[inline(always)]
fn push(out: &mut [Span], len: usize, span: Span) -> Result<usize, ()> {
    if len > 0 && out[len - 1].last + 1 == span.first {
        out[len - 1].last = span.last;
        return Ok(len);
    }
    *out.get_mut(len).ok_or(())? = span;
    Ok(len + 1)
}

/// Puts single keys behind the runs; how many found room.
#[inline(always)]
fn fill_singles(out: &mut [Span], len: &mut usize, keys: impl Iterator<Item = u64>) -> usize {
    let mut taken = 0;
    for key in keys {
        let Ok(more) = push(out, *len, Span { first: key, last: key }) else { break };
        *len = more;
        taken += 1;
    }
    taken
}

/// Takes keys off a span.
#[inline(always)]
fn fill_from_span(span: &mut Option<Span>, out: &mut [u64]) -> usize {
    let Some(open) = span else { return 0 };
    let count = open.len().min(out.len() as u64);
    out.iter_mut().zip(open.first..open.first + count).for_each(|(out, key)| *out = key);
    if count == open.len() {
        *span = None;
    } else {
        open.first += count;
    }
    count as usize
}
