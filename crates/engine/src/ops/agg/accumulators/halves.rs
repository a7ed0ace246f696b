//! The values present in two ordered halves, split at the place of a quantile.
//!
//!   low 1 2 2 | 5 high      median 2.0      + 9      low 1 2 2 | 5 9 high      median 2.0
//!
//! A value that comes or goes moves the split by one place at most: cost of a change, a search in its half.

use formula::aggregates::Interpolation;

use super::multiset::Multiset;
use super::{Accumulator, Removable};

/// The values below a place and those above it.
#[derive(Clone, Debug)]
pub(crate) struct Halves<K> {
    /// The place, as a part of the way from the least to the greatest.
    part: f64,
    low: Multiset<K>,
    high: Multiset<K>,
    low_len: u64,
    len: u64,
}

impl<K: Ord + Clone + Send + Sync + 'static> Halves<K> {
    /// Of no value, split at this part of the way.
    pub(crate) fn new(part: f64) -> Halves<K> {
        Halves { part, low: Multiset::default(), high: Multiset::default(), low_len: 0, len: 0 }
    }

    /// How far from the least the place is.
    fn at(&self) -> f64 {
        place(self.len, self.part)
    }

    fn enter(&mut self, value: K, times: u64) {
        self.len += times;
        if self.high.first().is_some_and(|(first, _)| value >= *first) {
            self.high.put(value, times);
        } else {
            self.low.put(value, times);
            self.low_len += times;
        }
        self.split();
    }

    fn leave(&mut self, value: &K, times: u64) {
        // A value may stand on both sides of the split.
        for _ in 0..times {
            if self.low.take(value, 1) {
                self.low_len -= 1;
            } else if !self.high.take(value, 1) {
                return;
            }
            self.len -= 1;
        }
        self.split();
    }

    /// Moves values from one half to the other until as many are low as lie up to the place.
    fn split(&mut self) {
        let wanted = if self.len == 0 { 0 } else { (self.at().floor() as u64 + 1).min(self.len) };
        while self.low_len > wanted
            && let Some((last, count)) = self.low.last()
        {
            let (value, times) = (last.clone(), count.min(self.low_len - wanted));
            self.low.take(&value, times);
            self.high.put(value, times);
            self.low_len -= times;
        }
        while self.low_len < wanted
            && let Some((first, count)) = self.high.first()
        {
            let (value, times) = (first.clone(), count.min(wanted - self.low_len));
            self.high.take(&value, times);
            self.low.put(value, times);
            self.low_len += times;
        }
    }
}

/// How far from the least of so many values the place is.
fn place(len: u64, part: f64) -> f64 {
    (len - 1) as f64 * part
}

/// How much of the way from the value below the place to the one above it.
fn toward(at: f64, between: Interpolation) -> f64 {
    let rest = at - at.floor();
    match between {
        Interpolation::Nearest => (at + 0.5).floor() - at.floor(),
        Interpolation::Lower => 0.0,
        Interpolation::Higher => rest.ceil(),
        Interpolation::Midpoint if rest > 0.0 => 0.5,
        Interpolation::Midpoint => 0.0,
        Interpolation::Linear => rest,
    }
}

/// What [`Halves`] of these values give, which are in order.
pub(crate) fn around<K: Clone>(values: &[K], part: f64, between: Interpolation) -> Option<(K, K, f64)> {
    let last = values.len().checked_sub(1)?;
    let at = place(values.len() as u64, part);
    let below = (at.floor() as usize).min(last);
    Some((values[below].clone(), values[(below + 1).min(last)].clone(), toward(at, between)))
}

impl<K: Ord + Clone + Send + Sync + 'static> Accumulator for Halves<K> {
    type In = K;
    type How = Interpolation;
    /// The value at the place or below it, the next one, and how far the place lies between them; none of no value.
    type Out = Option<(K, K, f64)>;
    const PIECE: usize = Multiset::<K>::PIECE;

    fn add(&mut self, value: K) {
        self.enter(value, 1);
    }

    fn merge(&mut self, other: &Halves<K>) {
        other.low.counts().chain(other.high.counts()).for_each(|(value, count)| self.enter(value.clone(), *count));
    }

    fn absorb(&mut self, other: Halves<K>) {
        other.low.into_counts().chain(other.high.into_counts()).for_each(|(value, count)| self.enter(value, count));
    }

    fn value(&self, between: &Interpolation) -> Option<(K, K, f64)> {
        let (below, _) = self.low.last()?;
        let above = self.high.first().map_or(below, |(above, _)| above);
        Some((below.clone(), above.clone(), toward(self.at(), *between)))
    }

    fn pieces(&self) -> usize {
        self.low.pieces() + self.high.pieces()
    }
}

impl<K: Ord + Clone + Send + Sync + 'static> Removable for Halves<K> {
    fn remove(&mut self, value: K) {
        self.leave(&value, 1);
    }

    fn unmerge(&mut self, other: &Halves<K>) {
        other.low.counts().chain(other.high.counts()).for_each(|(value, count)| self.leave(value, *count));
    }
}
