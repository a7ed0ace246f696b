//! Making row sets piece by piece, in order.

use crate::kernels::Op;
use crate::key::{MAX_KEY, Span};
use crate::repr::blocks::{Block, low_of, number_of};
use crate::repr::container::ops::combine;
use crate::repr::container::{Container, Run, TOP};
use crate::repr::spans::{CHUNK, Chunk};
use crate::repr::tree::{Entry, Tree};
use crate::repr::{ALWAYS_SPANS, BLOCKS_FROM, BLOCKS_FROM_WHOLE, Repr, SPANS_BELOW};
use crate::rowset::RowSet;

/// Takes ascending pieces, which may touch, and makes a row set of them, in the form they deserve.
pub(crate) struct Builder {
    /// Maximal ranges that are in no entry yet; the last may still grow.
    pieces: Vec<Span>,
    form: Form,
}

enum Form {
    Spans(AsSpans),
    Blocks(AsBlocks),
}

#[derive(Default)]
struct AsSpans {
    chunks: Vec<Chunk>,
    heft: u64,
    /// Blocks that pieces lie in; long spans count as their two ends.
    blocks: u64,
    last_block: Option<u64>,
}

#[derive(Default)]
struct AsBlocks {
    entries: Vec<Block>,
    number: u64,
    runs: Vec<Run>,
    heft: u64,
    /// Entries when it was last asked whether blocks are worth it.
    asked_at: usize,
}

const ASK_EVERY: usize = 1024;
/// Fewer keys than this are taken one by one.
const BULK: usize = 256;

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder { pieces: Vec::new(), form: Form::Spans(AsSpans::default()) }
    }

    /// For many pieces to a block, as far as can be foreseen.
    pub(crate) fn of_blocks() -> Builder {
        Builder { pieces: Vec::new(), form: Form::Blocks(AsBlocks::default()) }
    }

    /// Whether a piece that starts here may come next.
    pub(crate) fn accepts(&self, first: u64) -> bool {
        match (self.pieces.last(), &self.form) {
            (Some(open), _) => open.last < first,
            (None, Form::Spans(form)) => form.chunks.last().is_none_or(|chunk| chunk.last_key() < first),
            (None, Form::Blocks(form)) => form.entries.last().is_none_or(|block| block.last_key() < first),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, first: u64, last: u64) {
        debug_assert!(first <= last && last <= MAX_KEY && self.accepts(first));
        match self.pieces.last_mut() {
            Some(open) if open.last + 1 == first => open.last = last,
            _ => {
                self.pieces.push(Span { first, last });
                if self.pieces.len() > CHUNK {
                    self.commit();
                }
            }
        }
    }

    #[inline]
    pub(crate) fn push_all(&mut self, spans: impl Iterator<Item = Span>) {
        spans.for_each(|span| self.push(span.first, span.last));
    }

    /// Keys that are strictly ascending, behind everything so far.
    pub(crate) fn push_keys(&mut self, keys: &[u64]) {
        if keys.len() < BULK {
            keys.iter().for_each(|&key| self.push(key, key));
            return;
        }
        self.close();
        match &mut self.form {
            Form::Spans(form) => form.add_keys(keys),
            Form::Blocks(form) => form.add_keys(keys),
        }
        self.reconsider();
    }

    /// Appends the keys `base + offset`; the offsets ascend.
    pub(crate) fn push_offsets(&mut self, base: u64, keys: &[u32]) {
        if keys.len() >= BULK
            && let Form::Spans(_) = &self.form
        {
            self.close();
            if let Form::Spans(form) = &mut self.form {
                form.add_offsets(base, keys);
            }
            self.reconsider();
            return;
        }
        keys.iter().map(|&key| base + key as u64).for_each(|key| self.push(key, key));
    }

    /// A whole block, or a run of full ones, behind everything so far except its own block.
    pub(crate) fn push_block(&mut self, block: Block) {
        self.close();
        if let Form::Spans(form) = &mut self.form {
            self.form = Form::Blocks(form.turned());
        }
        if let Form::Blocks(form) = &mut self.form {
            form.seal();
            form.add(block);
        }
        self.reconsider();
    }

    /// A whole chunk behind everything so far.
    pub(crate) fn push_chunk(&mut self, chunk: &Chunk) {
        if matches!(self.form, Form::Blocks(_)) || chunk.heft() < SHARED_FROM {
            self.push_all(chunk.walk());
            return;
        }
        self.close();
        if let Form::Spans(form) = &mut self.form {
            form.add_chunk(chunk.clone());
        }
        self.reconsider();
    }

    /// Puts all pieces but the last, which may grow, into entries.
    #[cold]
    fn commit(&mut self) {
        let open = self.pieces.pop();
        self.close();
        self.pieces.extend(open);
        self.reconsider();
    }

    fn close(&mut self) {
        if self.pieces.is_empty() {
            return;
        }
        match &mut self.form {
            Form::Spans(form) => form.add_pieces(&self.pieces),
            Form::Blocks(form) => self.pieces.iter().for_each(|&span| form.add_span(span)),
        }
        self.pieces.clear();
    }

    /// Turns to the other form when it is clearly the better one.
    fn reconsider(&mut self) {
        match &mut self.form {
            Form::Spans(form) if !form.chunks.is_empty() && form.heft >= BLOCKS_FROM * form.blocks => {
                self.form = Form::Blocks(form.turned());
            }
            Form::Blocks(form) if form.entries.len() >= form.asked_at + ASK_EVERY => {
                form.asked_at = form.entries.len();
                if form.heft < SPANS_BELOW * form.entries.len() as u64 {
                    self.form = Form::Spans(form.turned());
                }
            }
            _ => {}
        }
    }

    pub(crate) fn finish(mut self) -> RowSet {
        if let (Form::Spans(form), [span]) = (&self.form, &self.pieces[..])
            && form.chunks.is_empty()
        {
            return RowSet(Repr::Span(*span));
        }
        self.close();
        RowSet(match self.form {
            Form::Spans(mut form) => {
                if form.heft >= ALWAYS_SPANS && form.heft >= BLOCKS_FROM_WHOLE * form.blocks {
                    Repr::of_blocks(Tree::build(form.turned().sealed()))
                } else {
                    Repr::of_spans(Tree::build(form.chunks))
                }
            }
            Form::Blocks(mut form) => {
                form.seal();
                if form.heft < ALWAYS_SPANS || form.heft < SPANS_BELOW * form.entries.len() as u64 {
                    Repr::of_spans(Tree::build(form.turned().chunks))
                } else {
                    Repr::of_blocks(Tree::build(form.entries))
                }
            }
        })
    }
}

/// A chunk of fewer pieces is taken apart rather than shared.
const SHARED_FROM: u64 = 128;

impl AsSpans {
    fn add_pieces(&mut self, pieces: &[Span]) {
        for span in pieces {
            let (low, high) = (number_of(span.first), number_of(span.last));
            self.blocks += u64::from(self.last_block != Some(low)) + u64::from(low != high);
            self.last_block = Some(high);
        }
        self.heft += pieces.len() as u64;
        self.chunks.extend(Chunk::from_spans(pieces));
    }

    fn add_keys(&mut self, keys: &[u64]) {
        self.blocks += u64::from(self.last_block != keys.first().map(|&key| number_of(key)));
        self.last_block = keys.last().map(|&key| number_of(key));
        self.blocks += keys.windows(2).map(|pair| u64::from((pair[0] ^ pair[1]) >> 16 != 0)).sum::<u64>();
        let shares = keys.len().div_ceil(CHUNK).max(1);
        for keys in keys.chunks(keys.len().div_ceil(shares).max(1)) {
            self.heft += Chunk::from_keys(keys, &mut self.chunks);
        }
    }

    fn add_offsets(&mut self, base: u64, keys: &[u32]) {
        for keys in keys.chunks(keys.len().div_ceil(keys.len().div_ceil(CHUNK))) {
            let (low, high) = (number_of(base + keys[0] as u64), number_of(base + keys[keys.len() - 1] as u64));
            self.blocks += (high - low).min(keys.len() as u64 - 1) + u64::from(self.last_block != Some(low));
            self.last_block = Some(high);
            self.heft += Chunk::from_offsets(base, keys, &mut self.chunks);
        }
    }

    /// One whose blocks are not looked at: as many as can be.
    fn add_chunk(&mut self, chunk: Chunk) {
        let (low, high) = (number_of(chunk.first_key()), number_of(chunk.last_key()));
        self.blocks += (high - low).min(chunk.heft() * 2) + u64::from(self.last_block != Some(low));
        self.last_block = Some(high);
        self.heft += chunk.heft();
        self.chunks.push(chunk);
    }

    fn turned(&mut self) -> AsBlocks {
        let mut form = AsBlocks::default();
        let mut pieces = [Span { first: 0, last: 0 }; 64];
        for chunk in &self.chunks {
            let mut part = chunk.part();
            loop {
                let taken = part.fill_spans(&mut pieces, 0);
                pieces[..taken].iter().for_each(|&span| form.add_span(span));
                if taken < pieces.len() {
                    break;
                }
            }
        }
        form.asked_at = form.entries.len();
        form
    }
}

impl AsBlocks {
    #[inline]
    fn add_span(&mut self, span: Span) {
        let (low, high) = (number_of(span.first), number_of(span.last));
        if low != self.number || self.runs.is_empty() {
            self.seal();
            self.number = low;
        }
        if low == high {
            self.add_run(Run::new(low_of(span.first), low_of(span.last)));
        } else {
            self.add_long(span, low, high);
        }
    }

    fn add_long(&mut self, span: Span, low: u64, high: u64) {
        self.add_run(Run::new(low_of(span.first), TOP));
        self.seal();
        let full = if low_of(span.last) == TOP { high + 1 } else { high };
        if low + 1 < full {
            self.add(Block::full(low + 1, full - low - 1));
        }
        if full == high {
            self.number = high;
            self.add_run(Run::new(0, low_of(span.last)));
        }
    }

    fn add_keys(&mut self, keys: &[u64]) {
        self.seal();
        let mut keys = keys;
        let mut lows = Vec::new();
        while let Some(&first) = keys.first() {
            // No more than a block's worth can lie in one block.
            let near = &keys[..keys.len().min(1 << 16)];
            let (block, rest) = keys.split_at(near.partition_point(|&key| number_of(key) == number_of(first)));
            lows.clear();
            lows.extend(block.iter().map(|&key| low_of(key)));
            if let Some(keys) = Container::from_keys(&lows) {
                self.add(Block::one(number_of(first), keys));
            }
            keys = rest;
        }
    }

    #[inline]
    fn add_run(&mut self, run: Run) {
        match self.runs.last_mut() {
            Some(last) if last.last as u32 + 1 == run.first as u32 => last.last = run.last,
            _ => self.runs.push(run),
        }
    }

    fn seal(&mut self) {
        if let Some(keys) = Container::from_runs(&self.runs) {
            self.runs.clear();
            self.add(Block::one(self.number, keys));
        }
    }

    fn sealed(mut self) -> Vec<Block> {
        self.seal();
        self.entries
    }

    fn add(&mut self, block: Block) {
        self.heft += block.heft();
        if let Some(last) = self.entries.last_mut() {
            let same = last.number == block.number;
            debug_assert!(same || last.end() <= block.number);
            if same && let Some(keys) = combine(Op::Union, &last.keys, &block.keys) {
                last.keys = keys;
                // It may have become full just now.
                if let Some(last) = self.entries.pop() {
                    self.heft = self.heft.saturating_sub(last.heft());
                    self.add(last);
                }
                return;
            }
            if let Some(merged) = last.merged(&block) {
                *last = merged;
                return;
            }
        }
        self.entries.push(block);
    }

    fn turned(&mut self) -> AsSpans {
        let mut form = AsSpans::default();
        self.seal();
        let tree = Tree::build(std::mem::take(&mut self.entries));
        let mut spans = crate::iter::Spans::of_blocks(&tree);
        loop {
            let pieces: Vec<Span> = spans.by_ref().take(CHUNK).collect();
            if pieces.is_empty() {
                return form;
            }
            form.add_pieces(&pieces);
        }
    }
}
