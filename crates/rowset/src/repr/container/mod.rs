//! The keys of one block of 2^16, in the form that takes the least room.

mod bitmap;
pub(crate) mod ops;
mod runs;

use std::sync::Arc;

pub(crate) use self::bitmap::Bitmap;
use crate::kernels::{self, STRIDES, WORDS, Words};

/// Highest low part of a key.
pub(crate) const TOP: u16 = u16::MAX;
/// Keys held in the entry itself.
const INLINE: usize = 6;
/// More keys than this are no array.
const ARRAY_MAX: usize = 4096;
/// Fewer keys than this are no bitmap. Lower than `ARRAY_MAX`, so that edits at the edge do not
/// turn a block over and over.
const BITMAP_MIN: u32 = 3072;
/// More runs than this are no run list: a bitmap is larger, but put together with another several
/// times faster.
const RUNS_MAX: usize = 340;
/// A run list is made anew at each edit: one of more runs than this becomes bits when a list of keys
/// is put in or taken out, as more such edits are likely to come.
const EDITED_RUNS: usize = 16;

/// Keys in a row that are put into bits one by one.
pub(crate) const FEW_IN_ROW: usize = 64;

/// At least one key of a block.
#[derive(Clone, Debug)]
pub(crate) enum Container {
    Full,
    Range(u16, u16),
    Few(Few),
    Array(Arc<[u16]>),
    /// With a gap between each two.
    Runs(Arc<[Run]>),
    Bitmap(Arc<Bitmap>),
}

/// Up to six keys, without an allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Few {
    len: u8,
    keys: [u16; INLINE],
}

impl Few {
    pub(crate) fn new(keys: &[u16]) -> Few {
        let mut few = Few { len: keys.len() as u8, keys: [0; INLINE] };
        few.keys[..keys.len()].copy_from_slice(keys);
        few
    }

    pub(crate) fn keys(&self) -> &[u16] {
        &self.keys[..self.len as usize]
    }
}

/// A closed run of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub(crate) first: u16,
    pub(crate) last: u16,
    /// Keys in the runs in front of it; told only of the runs of a container.
    before: u16,
}

impl Run {
    #[inline]
    pub(crate) const fn new(first: u16, last: u16) -> Run {
        Run { first, last, before: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        (self.last - self.first) as u32 + 1
    }
}

/// Keys in front of each run are counted; how many keys there are.
fn recount(runs: &mut [Run]) -> u32 {
    let mut len = 0;
    for run in runs {
        run.before = len as u16;
        len += run.len();
    }
    len
}

/// How many keys counted runs hold.
fn counted(runs: &[Run]) -> u32 {
    runs.last().map_or(0, |run| run.before as u32 + run.len())
}

/// Index of the first run that does not end below the key.
fn at_or_after(runs: &[Run], key: u16) -> usize {
    runs.partition_point(|run| run.last < key)
}

impl Container {
    /// Ascending keys without duplicates.
    pub(crate) fn from_keys(keys: &[u16]) -> Option<Container> {
        let (&first, &last) = (keys.first()?, keys.last()?);
        let len = keys.len();
        if (last - first) as usize + 1 == len {
            return Some(Container::range(first, last));
        }
        if len <= INLINE {
            return Some(Container::Few(Few::new(keys)));
        }
        // Less than 2^16 of them: sums of 16 bits, many at a time.
        let gaps = keys[1..].iter().zip(keys).map(|(next, key)| u16::from(next - key != 1)).sum::<u16>() as usize;
        if 3 * (gaps + 1) < len && gaps < RUNS_MAX {
            let mut runs: Vec<Run> = Vec::with_capacity(gaps + 1);
            for &key in keys {
                match runs.last_mut() {
                    Some(run) if run.last + 1 == key => run.last = key,
                    _ => runs.push(Run::new(key, key)),
                }
            }
            return Some(Container::of_runs(&runs));
        }
        if len <= ARRAY_MAX {
            return Some(Container::Array(Arc::from(keys)));
        }
        let mut words = [0; WORDS];
        keys.iter().for_each(|key| words[*key as usize / 64] |= 1 << (key % 64));
        Container::from_words(&words)
    }

    /// Ascending runs, with a gap between each two.
    pub(crate) fn from_runs(runs: &[Run]) -> Option<Container> {
        let [first, .., last] = runs else {
            return runs.first().map(|run| Container::range(run.first, run.last));
        };
        debug_assert!(
            first.last < last.first && runs.windows(2).all(|pair| (pair[0].last as u32) + 1 < pair[1].first as u32)
        );
        let len: u32 = runs.iter().map(Run::len).sum();
        if len as usize <= INLINE {
            let mut keys = [0; INLINE];
            runs.iter().flat_map(|run| run.first..=run.last).zip(&mut keys).for_each(|(key, at)| *at = key);
            return Some(Container::Few(Few { len: len as u8, keys }));
        }
        if 3 * runs.len() < len as usize && runs.len() <= RUNS_MAX {
            return Some(Container::of_runs(runs));
        }
        if len as usize == runs.len() && runs.len() <= ARRAY_MAX {
            return Some(Container::Array(runs.iter().map(|run| run.first).collect()));
        }
        if len as usize <= ARRAY_MAX {
            let mut keys = Vec::with_capacity(len as usize);
            for run in runs {
                keys.push(run.first);
                if run.first < run.last {
                    keys.extend(run.first + 1..=run.last);
                }
            }
            return Some(Container::Array(Arc::from(keys)));
        }
        let mut words = [0; WORDS];
        runs.iter().for_each(|run| kernels::set_bits(&mut words, run.first as u64, run.last as u64));
        Container::from_words(&words)
    }

    /// Two runs or more, counted where they stay.
    pub(super) fn of_runs(runs: &[Run]) -> Container {
        let mut runs: Arc<[Run]> = Arc::from(runs);
        recount(Arc::make_mut(&mut runs));
        Container::Runs(runs)
    }

    /// Runs with a gap between each two, chosen already to be kept as such.
    fn of_edited(runs: &[Run]) -> Container {
        match runs {
            [run] => Container::range(run.first, run.last),
            _ => Container::of_runs(runs),
        }
    }

    pub(crate) fn range(first: u16, last: u16) -> Container {
        if first == 0 && last == TOP { Container::Full } else { Container::Range(first, last) }
    }

    /// The best form for the ones of these words.
    pub(crate) fn from_words(words: &Words) -> Option<Container> {
        Container::from_filled(|room| kernels::fill(room, |at| words.as_chunks().0[at]))
    }

    pub(crate) fn len(&self) -> u32 {
        match self {
            Container::Full => 1 << 16,
            Container::Range(first, last) => Run::new(*first, *last).len(),
            Container::Few(few) => few.len as u32,
            Container::Array(keys) => keys.len() as u32,
            Container::Runs(runs) => counted(runs),
            Container::Bitmap(bitmap) => bitmap.len,
        }
    }

    /// About how many runs; exact unless keys of an array touch or it is a bitmap.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Container::Full | Container::Range(..) => 1,
            Container::Few(few) => few.len as u64,
            Container::Array(keys) => keys.len() as u64,
            Container::Runs(runs) => runs.len() as u64,
            Container::Bitmap(_) => 1024,
        }
    }

    pub(crate) fn first(&self) -> u16 {
        match self {
            Container::Full => 0,
            Container::Range(first, _) => *first,
            Container::Few(few) => few.keys[0],
            Container::Array(keys) => keys[0],
            Container::Runs(runs) => runs[0].first,
            // By the counts: there may be a thousand empty words in front.
            Container::Bitmap(bitmap) => bitmap.at(0),
        }
    }

    pub(crate) fn last(&self) -> u16 {
        match self {
            Container::Full => TOP,
            Container::Range(_, last) => *last,
            Container::Few(few) => few.keys[few.len as usize - 1],
            Container::Array(keys) => keys[keys.len() - 1],
            Container::Runs(runs) => runs[runs.len() - 1].last,
            Container::Bitmap(bitmap) => bitmap.at(bitmap.len - 1),
        }
    }

    pub(crate) fn contains(&self, key: u16) -> bool {
        match self {
            Container::Full => true,
            Container::Range(first, last) => *first <= key && key <= *last,
            Container::Few(few) => few.keys().contains(&key),
            Container::Array(keys) => keys.binary_search(&key).is_ok(),
            Container::Runs(runs) => runs.get(at_or_after(runs, key)).is_some_and(|run| run.first <= key),
            Container::Bitmap(bitmap) => bitmap.has(key),
        }
    }

    /// Keys below `key`.
    pub(crate) fn rank(&self, key: u16) -> u32 {
        match self {
            Container::Full => key as u32,
            Container::Range(first, last) => (key as u32).min(*last as u32 + 1).saturating_sub(*first as u32),
            Container::Few(few) => few.keys().iter().filter(|&&own| own < key).count() as u32,
            Container::Array(keys) => keys.partition_point(|&own| own < key) as u32,
            Container::Runs(runs) => {
                let next = runs.get(at_or_after(runs, key));
                next.map_or_else(|| counted(runs), |run| run.before as u32 + key.saturating_sub(run.first) as u32)
            }
            Container::Bitmap(bitmap) => bitmap.rank(key),
        }
    }

    /// The key at a position below `len`.
    pub(crate) fn at(&self, pos: u32) -> u16 {
        match self {
            Container::Full => pos as u16,
            Container::Range(first, _) => first + pos as u16,
            Container::Few(few) => few.keys[pos as usize],
            Container::Array(keys) => keys[pos as usize],
            Container::Runs(runs) => {
                let run = runs[runs.partition_point(|run| run.before as u32 <= pos) - 1];
                run.first + (pos - run.before as u32) as u16
            }
            Container::Bitmap(bitmap) => bitmap.at(pos),
        }
    }

    /// Sets the ones of an empty block of words.
    pub(crate) fn write_words(&self, words: &mut Words) {
        match self {
            Container::Full => words.fill(u64::MAX),
            Container::Range(first, last) => kernels::set_bits(words, *first as u64, *last as u64),
            Container::Few(few) => few.keys().iter().for_each(|key| words[*key as usize / 64] |= 1 << (key % 64)),
            Container::Array(keys) => keys.iter().for_each(|key| words[*key as usize / 64] |= 1 << (key % 64)),
            Container::Runs(runs) => {
                runs.iter().for_each(|run| kernels::set_bits(words, run.first as u64, run.last as u64));
            }
            Container::Bitmap(bitmap) => words.copy_from_slice(&bitmap.words),
        }
    }

    /// The keys, if they are kept as a list.
    pub(crate) fn listed(&self) -> Option<&[u16]> {
        match self {
            Container::Few(few) => Some(few.keys()),
            Container::Array(keys) => Some(keys),
            _ => None,
        }
    }

    /// The keys as a list: their own, or a few in a row that are written into `room`.
    pub(crate) fn listed_in<'a>(&'a self, room: &'a mut [u16; FEW_IN_ROW]) -> Option<&'a [u16]> {
        let Container::Range(first, last) = self else { return self.listed() };
        let keys = room.get_mut(..(last - first) as usize + 1)?;
        keys.iter_mut().zip(*first..=*last).for_each(|(key, own)| *key = own);
        Some(keys)
    }

    /// Adds an absent key. An array asks itself at every power of two whether it should be runs.
    pub(crate) fn insert(&mut self, key: u16) {
        match self {
            Container::Full => {}
            Container::Bitmap(bitmap) => {
                let bitmap = Arc::make_mut(bitmap);
                bitmap.flip(key);
                if bitmap.len == 1 << 16 {
                    *self = Container::Full;
                }
            }
            Container::Array(keys) if keys.len() < ARRAY_MAX && (keys.len() < 64 || !keys.len().is_power_of_two()) => {
                let at = keys.partition_point(|&own| own < key);
                *keys = spliced(keys, at, 0, &[key]);
            }
            Container::Runs(runs) if runs.len() < RUNS_MAX => *self = with_run_key(runs, key),
            Container::Range(_, last) if *last != TOP && *last + 1 == key => {
                *self = Container::range(self.first(), key)
            }
            Container::Range(first, _) if *first != 0 && *first - 1 == key => {
                *self = Container::range(key, self.last())
            }
            _ => self.insert_anew(key),
        }
    }

    /// Adds a key where the form may no longer be the best: chosen anew.
    fn insert_anew(&mut self, key: u16) {
        if let Some(with) = ops::combine(kernels::Op::Union, self, &Container::Range(key, key)) {
            *self = with;
        }
    }

    /// Takes a present key out; whether keys are left.
    pub(crate) fn remove(&mut self, key: u16) -> bool {
        match self {
            Container::Bitmap(bitmap) if bitmap.len > BITMAP_MIN => Arc::make_mut(bitmap).flip(key),
            Container::Array(keys) if keys.len() > INLINE + 1 => {
                let at = keys.partition_point(|&own| own < key);
                *keys = spliced(keys, at, 1, &[]);
            }
            Container::Runs(runs) if runs.len() < RUNS_MAX && counted(runs) as usize > 3 * (runs.len() + 2) => {
                *self = without_run_key(runs, key);
            }
            _ => match ops::combine(kernels::Op::Difference, self, &Container::Range(key, key)) {
                Some(without) => *self = without,
                None => return false,
            },
        }
        true
    }

    /// Asks for what tells whether a key is there, if it is a bit.
    #[inline]
    pub(crate) fn prefetch(&self, key: u16) {
        if let Container::Bitmap(bits) = self {
            kernels::prefetch_word(bits, key);
        }
    }

    /// Asks for what taking these keys in or out will touch.
    pub(crate) fn prefetch_edit(&self, by: &Container) {
        if let (Container::Bitmap(bits), Some(keys)) = (self, by.listed()) {
            kernels::prefetch_edit(bits, keys);
        }
    }

    /// Takes in the keys of another, where they lie if they are bits.
    pub(crate) fn unite(&mut self, with: &Container) {
        let mut room = [0; FEW_IN_ROW];
        let listed = with.listed_in(&mut room);
        self.loosen(listed);
        if !listed.is_some_and(|keys| self.edit_bits(keys, true))
            && let Some(with) = ops::combine(kernels::Op::Union, self, with)
        {
            *self = with;
        }
    }

    /// Takes the keys of another out, where they lie if they are bits; whether keys are left.
    pub(crate) fn subtract(&mut self, keys: &Container) -> bool {
        let mut room = [0; FEW_IN_ROW];
        let listed = keys.listed_in(&mut room);
        self.loosen(listed);
        if listed.is_some_and(|keys| self.edit_bits(keys, false)) {
            return true;
        }
        match ops::combine(kernels::Op::Difference, self, keys) {
            Some(left) => *self = left,
            None => return false,
        }
        true
    }

    /// Puts keys in, or takes them out, where they lie; false, with nothing done, if they are no bits or may
    /// be none afterwards.
    pub(crate) fn edit_bits(&mut self, keys: &[u16], on: bool) -> bool {
        let Container::Bitmap(bits) = self else { return false };
        let stays =
            if on { bits.len + (keys.len() as u32) < 1 << 16 } else { bits.len > BITMAP_MIN + keys.len() as u32 };
        if stays {
            Arc::make_mut(bits).set(keys, on);
        }
        stays
    }

    /// Runs that are about to be edited by a list of keys become bits, unless both are few.
    fn loosen(&mut self, by: Option<&[u16]>) {
        let (Container::Runs(runs), Some(keys)) = (&*self, by) else { return };
        if runs.len() + keys.len() > EDITED_RUNS && counted(runs) > BITMAP_MIN + keys.len() as u32 {
            *self = Container::Bitmap(self.bits());
        }
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Container::Full | Container::Range(..) | Container::Few(_) => 0,
            Container::Array(keys) => 16 + size_of_val(&**keys),
            Container::Runs(runs) => 16 + size_of_val(&**runs),
            Container::Bitmap(_) => 16 + size_of::<Bitmap>(),
        }
    }

    /// Which invariant is broken, if one is.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let broken = match self {
            Container::Full => None,
            Container::Range(first, last) => {
                (first > last || (*first == 0 && *last == TOP)).then_some("a range is empty or full")
            }
            Container::Few(few) => {
                (few.len == 0 || !few.keys().is_sorted_by(|a, b| a < b)).then_some("a short list is empty or unsorted")
            }
            Container::Array(keys) => {
                (keys.len() <= INLINE || keys.len() > ARRAY_MAX || !keys.is_sorted_by(|a, b| a < b))
                    .then_some("an array has the wrong size or is unsorted")
            }
            Container::Runs(runs) => {
                let mut again = runs.to_vec();
                recount(&mut again);
                let apart = runs.windows(2).all(|pair| (pair[0].last as u32) + 1 < pair[1].first as u32);
                let ordered = runs.iter().all(|run| run.first <= run.last);
                (runs.len() < 2 || !apart || !ordered || again != runs[..])
                    .then_some("runs touch, are unsorted, or are miscounted")
            }
            Container::Bitmap(bitmap) => {
                let mut before = [0; STRIDES];
                let tally = kernels::tally(&bitmap.words, &mut before);
                (tally.keys != bitmap.len || before != bitmap.before || tally.keys == 0 || tally.keys == 1 << 16)
                    .then_some("a bitmap is miscounted, empty or full")
            }
        };
        broken.map_or(Ok(()), |what| Err(what.to_string()))
    }
}

/// A list with some of its items replaced, where it stays: one allocation of its own.
fn spliced<T: Copy>(list: &[T], at: usize, gone: usize, with: &[T]) -> Arc<[T]> {
    Arc::from([&list[..at], with, &list[at + gone..]].concat())
}

fn with_run_key(runs: &[Run], key: u16) -> Container {
    let at = at_or_after(runs, key);
    let below = at > 0 && runs[at - 1].last + 1 == key;
    let above = at < runs.len() && key + 1 == runs[at].first;
    let run = Run::new(if below { runs[at - 1].first } else { key }, if above { runs[at].last } else { key });
    let from = at - usize::from(below);
    Container::of_edited(&[&runs[..from], &[run], &runs[at + usize::from(above)..]].concat())
}

fn without_run_key(runs: &[Run], key: u16) -> Container {
    let at = at_or_after(runs, key);
    let run = runs[at];
    let below = (run.first < key).then(|| Run::new(run.first, key - 1));
    let above = (key < run.last).then(|| Run::new(key + 1, run.last));
    Container::of_edited(&[&runs[..at], below.as_slice(), above.as_slice(), &runs[at + 1..]].concat())
}
