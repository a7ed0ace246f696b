//! Keys of several columns, or of wide cells: a row of words a slot, the last ones a view for each text.

use std::borrow::Cow;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use simd::prefetch;

use super::arena::Arena;
use super::index::BLOCK;
use super::packing::Packing;
use super::store::{Rows, Store};
use super::texts::{Texts, plain_views};
use crate::error::Error;
use crate::kernels::hash::Secret;

/// Words of a view.
const VIEW: usize = 2;

pub(super) struct Tuples {
    secret: Secret,
    types: Vec<DataType>,
    packing: Packing,
    /// The bytes of long texts, for each column of texts.
    arenas: Vec<Arena>,
    rows: Vec<u64>,
}

/// The cells of a chunk.
pub(super) struct Cells<'a> {
    count: usize,
    /// The first words of all rows, then the second ones, and so on.
    words: Vec<u64>,
    texts: Vec<Texts<'a>>,
    hashes: Vec<u64>,
}

impl Cells<'_> {
    pub(super) fn rows(&self) -> Rows<'_, Self> {
        Rows { cells: self, count: self.count, nulls: None }
    }
}

impl Tuples {
    pub(super) fn new(types: &[DataType], packing: Packing) -> Tuples {
        let arenas = packing.texts().map(|_| Arena::default()).collect();
        Tuples { secret: Secret::default(), types: types.to_vec(), packing, arenas, rows: Vec::new() }
    }

    /// The views of all texts; a null is an empty one.
    pub(super) fn views<'a>(&self, keys: &'a [ArrayRef]) -> Vec<Cow<'a, [u128]>> {
        self.packing.texts().map(|at| plain_views(&keys[at])).collect()
    }

    /// The cells of a chunk whose views are known.
    pub(super) fn cells<'a>(&self, keys: &'a [ArrayRef], views: &'a [Cow<'a, [u128]>]) -> Result<Cells<'a>, Error> {
        let count = keys[0].len();
        let words = self.packing.pack(keys)?;
        let secret = self.secret;
        let mut hashes = vec![secret.start(); count];
        for words in words.chunks_exact(count.max(1)) {
            hashes.iter_mut().zip(words).for_each(|(hash, word)| *hash = secret.stir(*hash, *word));
        }
        let texts = self.packing.texts().zip(views).map(|(at, views)| Texts::of(&keys[at], views));
        let texts: Vec<Texts<'a>> = texts.collect();
        for texts in &texts {
            let views = hashes.iter_mut().zip(texts.views).enumerate();
            views.for_each(|(row, (hash, view))| *hash = secret.stir_view(*hash, *view, || texts.bytes(row)));
        }
        Ok(Cells { count, words, texts, hashes })
    }

    /// Words of a row.
    #[inline(always)]
    fn width(&self) -> usize {
        self.packing.words() + VIEW * self.arenas.len()
    }

    /// The words of a key, without its texts, and their views.
    #[inline(always)]
    fn kept(&self, slot: u32) -> (&[u64], &[u64]) {
        let width = self.width();
        self.rows[slot as usize * width..][..width].split_at(self.packing.words())
    }

    pub(super) fn hash_of(&self, slot: u32) -> u64 {
        let (words, views) = self.kept(slot);
        let secret = &self.secret;
        let hash = words.iter().fold(secret.start(), |hash, word| secret.stir(hash, *word));
        let views = views.chunks_exact(VIEW).map(view).zip(&self.arenas);
        views.fold(hash, |hash, (view, arena)| secret.stir_view(hash, view, || arena.long(view)))
    }

    /// The key of a slot is no longer needed.
    pub(super) fn release(&mut self, slot: u32) {
        let (width, words) = (self.width(), self.packing.words());
        let Tuples { arenas, rows, .. } = self;
        for (at, arena) in arenas.iter_mut().enumerate() {
            let place = words + VIEW * at;
            let text = &mut rows[slot as usize * width + place..][..VIEW];
            let kept = view(text);
            text.fill(0);
            if arena.release(kept) {
                arena.compact(|moved| {
                    for row in rows.chunks_exact_mut(width) {
                        let text = &mut row[place..place + VIEW];
                        text.copy_from_slice(&halves(moved(view(text))));
                    }
                });
            }
        }
    }

    pub(super) fn columns(&self, slots: &[u32]) -> Result<Vec<ArrayRef>, Error> {
        let word = |row: usize, word: usize| self.kept(slots[row]).0[word];
        let mut texts = 0;
        let column = |(at, data_type): (usize, &DataType)| {
            if !self.packing.is_text(at) {
                return self.packing.cells(at, slots.len(), word);
            }
            let text = texts;
            texts += 1;
            let nulls = self.packing.nulls(at, slots.len(), word);
            let is_there = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let kept = |slot: &u32| view(&self.kept(*slot).1[VIEW * text..][..VIEW]);
            let cells = slots.iter().enumerate().map(|(row, slot)| is_there(row).then(|| kept(slot)));
            self.arenas[text].column(cells, data_type)
        };
        self.types.iter().enumerate().map(column).collect()
    }

    pub(super) fn allocated(&self) -> usize {
        self.rows.capacity() * size_of::<u64>() + self.arenas.iter().map(Arena::allocated).sum::<usize>()
    }
}

impl Store<Cells<'_>> for Tuples {
    #[inline(always)]
    fn hash(&self, cells: &Cells<'_>, row: usize) -> u64 {
        cells.hashes[row]
    }

    #[inline(always)]
    fn is(&self, slot: u32, cells: &Cells<'_>, row: usize) -> bool {
        let (words, views) = self.kept(slot);
        let same_words = words.iter().enumerate().all(|(at, word)| *word == cells.words[at * cells.count + row]);
        let mut texts = views.chunks_exact(VIEW).map(view).zip(&self.arenas).zip(&cells.texts);
        same_words && texts.all(|((view, arena), texts)| arena.is(view, texts, row))
    }

    #[inline(always)]
    fn confirm(&self, slots: &[u32], cells: &Cells<'_>, start: usize, same: &mut [bool]) {
        let (width, words) = (self.width(), self.packing.words());
        let Some(any) = same.iter().position(|same| *same) else { return };
        let mut places = [0; BLOCK];
        for ((place, slot), same) in places.iter_mut().zip(slots).zip(&*same) {
            *place = if *same { *slot } else { slots[any] } as usize * width;
        }
        for at in 0..words {
            let cells = &cells.words[at * cells.count + start..][..same.len()];
            for ((same, place), word) in same.iter_mut().zip(&places).zip(cells) {
                *same &= self.rows[place + at] == *word;
            }
        }
        for (at, (arena, texts)) in self.arenas.iter().zip(&cells.texts).enumerate() {
            for (row, (same, place)) in same.iter_mut().zip(&places).enumerate() {
                let kept = view(&self.rows[place + words + VIEW * at..][..VIEW]);
                *same &= arena.is(kept, texts, start + row);
            }
        }
    }

    #[inline(always)]
    fn prefetch(&self, slot: u32) {
        self.rows.get(slot as usize * self.width()).into_iter().for_each(prefetch);
    }

    fn keep(&mut self, slot: u32, cells: &Cells<'_>, row: usize) {
        let (width, start) = (self.width(), slot as usize * self.width());
        self.rows.resize(self.rows.len().max(start + width), 0);
        let (words, views) = self.rows[start..start + width].split_at_mut(self.packing.words());
        words.iter_mut().enumerate().for_each(|(at, word)| *word = cells.words[at * cells.count + row]);
        for ((place, arena), texts) in views.chunks_exact_mut(VIEW).zip(&mut self.arenas).zip(&cells.texts) {
            place.copy_from_slice(&halves(arena.keep(texts, row)));
        }
    }

    fn keep_null(&mut self, _: u32) {
        unreachable!("null is part of what is kept");
    }
}

#[inline(always)]
fn view(words: &[u64]) -> u128 {
    u128::from(words[0]) | u128::from(words[1]) << 64
}

fn halves(view: u128) -> [u64; VIEW] {
    [view as u64, (view >> 64) as u64]
}
