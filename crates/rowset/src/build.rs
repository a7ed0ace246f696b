//! Making row sets: from keys, from spans, piece by piece in order.

use crate::kernels::Op;
use crate::repr::blocks::{Block, BlockStream, low_of, number_of};
use crate::repr::container::{Container, Run, TOP};
use crate::repr::container_ops::combine;
use crate::repr::spans::{CHUNK, Chunk};
use crate::repr::tree::{Entry, Tree};
use crate::repr::{ALWAYS_SPANS, BLOCKS_FROM, BLOCKS_FROM_WHOLE, Repr, SPANS_BELOW};
use crate::{MAX_KEY, RowSet, Span};

/// Takes ascending pieces, which may touch, and makes a row set of them, in the form they deserve.
pub(crate) struct Builder {
    open: Option<Span>,
    form: Form,
}

enum Form {
    Spans(AsSpans),
    Blocks(AsBlocks),
}

#[derive(Default)]
struct AsSpans {
    pieces: Vec<Span>,
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

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder { open: None, form: Form::Spans(AsSpans::default()) }
    }

    /// For many pieces to a block, as far as can be foreseen.
    pub(crate) fn of_blocks() -> Builder {
        Builder { open: None, form: Form::Blocks(AsBlocks::default()) }
    }

    /// Whether a piece that starts here may come next.
    pub(crate) fn accepts(&self, first: u64) -> bool {
        match (&self.open, &self.form) {
            (Some(open), _) => open.last < first,
            (None, Form::Spans(form)) => {
                let last = form.pieces.last().map(|piece| piece.last).or(form.chunks.last().map(Entry::last_key));
                last.is_none_or(|last| last < first)
            }
            (None, Form::Blocks(form)) => form.entries.last().is_none_or(|block| block.last_key() < first),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, first: u64, last: u64) {
        debug_assert!(first <= last && last <= MAX_KEY && self.accepts(first));
        match &mut self.open {
            Some(open) if open.last + 1 == first => open.last = last,
            open => {
                if let Some(span) = open.replace(Span { first, last }) {
                    self.commit(span);
                }
            }
        }
    }

    pub(crate) fn push_all(&mut self, spans: impl Iterator<Item = Span>) {
        spans.for_each(|span| self.push(span.first, span.last));
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
            self.ask();
        }
    }

    fn close(&mut self) {
        if let Some(span) = self.open.take() {
            self.commit(span);
        }
    }

    #[inline]
    fn commit(&mut self, span: Span) {
        match &mut self.form {
            Form::Spans(form) => {
                form.add(span);
                if form.pieces.len() >= CHUNK {
                    form.seal();
                    if form.heft >= BLOCKS_FROM * form.blocks {
                        self.form = Form::Blocks(form.turned());
                    }
                }
            }
            Form::Blocks(form) => {
                form.add_span(span);
                if form.entries.len() >= form.asked_at + ASK_EVERY {
                    self.ask();
                }
            }
        }
    }

    /// Turns back to pieces when there are too few to a block.
    fn ask(&mut self) {
        if let Form::Blocks(form) = &mut self.form
            && form.entries.len() >= form.asked_at + ASK_EVERY
        {
            form.asked_at = form.entries.len();
            if form.heft < SPANS_BELOW * form.entries.len() as u64 {
                self.form = Form::Spans(form.turned());
            }
        }
    }

    pub(crate) fn finish(mut self) -> RowSet {
        self.close();
        RowSet(match self.form {
            Form::Spans(mut form) => {
                form.seal();
                if form.heft >= ALWAYS_SPANS && form.heft >= BLOCKS_FROM_WHOLE * form.blocks {
                    Repr::of_blocks(Tree::build(form.turned().sealed()))
                } else {
                    Repr::of_spans(Tree::build(form.chunks))
                }
            }
            Form::Blocks(mut form) => {
                form.seal();
                if form.heft < ALWAYS_SPANS || form.heft < SPANS_BELOW * form.entries.len() as u64 {
                    let mut form = form.turned();
                    form.seal();
                    Repr::of_spans(Tree::build(form.chunks))
                } else {
                    Repr::of_blocks(Tree::build(form.entries))
                }
            }
        })
    }
}

impl AsSpans {
    #[inline]
    fn add(&mut self, span: Span) {
        let (low, high) = (number_of(span.first), number_of(span.last));
        self.blocks += u64::from(self.last_block != Some(low)) + u64::from(low != high);
        self.last_block = Some(high);
        self.heft += 1;
        self.pieces.push(span);
    }

    fn seal(&mut self) {
        self.chunks.extend(Chunk::from_spans(&self.pieces));
        self.pieces.clear();
    }

    fn turned(&mut self) -> AsBlocks {
        let mut form = AsBlocks::default();
        for span in self.chunks.iter().flat_map(|chunk| chunk.walk()).chain(self.pieces.iter().copied()) {
            form.add_span(span);
        }
        form.asked_at = form.entries.len();
        form
    }
}

impl AsBlocks {
    fn add_span(&mut self, span: Span) {
        let (low, high) = (number_of(span.first), number_of(span.last));
        if low != self.number || self.runs.is_empty() {
            self.seal();
            self.number = low;
        }
        if low == high {
            self.add_run(Run { first: low_of(span.first), last: low_of(span.last) });
            return;
        }
        self.add_run(Run { first: low_of(span.first), last: TOP });
        self.seal();
        let full = if low_of(span.last) == TOP { high + 1 } else { high };
        if low + 1 < full {
            self.add(Block::full(low + 1, full - low - 1));
        }
        if full == high {
            self.number = high;
            self.add_run(Run { first: 0, last: low_of(span.last) });
        }
    }

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
        for span in crate::iter::Spans::of_blocks(&tree) {
            form.add(span);
            if form.pieces.len() >= CHUNK {
                form.seal();
            }
        }
        form
    }
}

impl RowSet {
    /// No keys.
    pub fn new() -> RowSet {
        RowSet::default()
    }

    /// The keys `0 .. len`.
    pub fn flat(len: u64) -> RowSet {
        if len == 0 { RowSet::new() } else { RowSet::range(0, len - 1) }
    }

    /// The keys `first ..= last`.
    pub fn range(first: u64, last: u64) -> RowSet {
        assert!(first <= last && last <= MAX_KEY, "a range of row keys");
        RowSet(Repr::Span(Span { first, last }))
    }

    /// One key.
    pub fn key(key: u64) -> RowSet {
        RowSet::range(key, key)
    }

    /// Keys that are strictly ascending.
    pub fn from_sorted_keys(keys: &[u64]) -> RowSet {
        debug_assert!(keys.is_sorted_by(|left, right| left < right), "keys ascend");
        let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else {
            return RowSet::new();
        };
        assert!(last <= MAX_KEY, "row keys");
        let len = keys.len() as u64;
        if last - first == len - 1 {
            return RowSet::range(first, last);
        }
        let blocks = number_of(last) - number_of(first) + 1;
        if len < ALWAYS_SPANS || len < BLOCKS_FROM.saturating_mul(blocks) {
            let mut builder = Builder::new();
            keys.iter().for_each(|&key| builder.push(key, key));
            return builder.finish();
        }
        let mut builder = Builder::of_blocks();
        for block in keys.chunk_by(|left, right| number_of(*left) == number_of(*right)) {
            let lows = block.iter().map(|&key| low_of(key)).collect();
            if let Some(keys) = Container::from_keys(lows) {
                builder.push_block(Block::one(number_of(block[0]), keys));
            }
        }
        builder.finish()
    }

    /// Keys in any order, duplicates and all.
    pub fn from_keys(mut keys: Vec<u64>) -> RowSet {
        if !keys.is_sorted_by(|left, right| left < right) {
            keys.sort_unstable();
            keys.dedup();
        }
        RowSet::from_sorted_keys(&keys)
    }

    /// Ascending spans; they may touch but not overlap.
    pub fn from_spans(spans: impl IntoIterator<Item = Span>) -> RowSet {
        let mut builder = Builder::new();
        builder.push_all(spans.into_iter());
        builder.finish()
    }

    /// This set as blocks, whatever its form.
    pub(crate) fn blocks(&self) -> BlockStream<'_> {
        match &self.0 {
            Repr::Blocks(tree) => BlockStream::Tree(tree.iter()),
            _ => BlockStream::gathered(self.spans()),
        }
    }
}

impl FromIterator<u64> for RowSet {
    fn from_iter<I: IntoIterator<Item = u64>>(keys: I) -> RowSet {
        RowSet::from_keys(keys.into_iter().collect())
    }
}
