//! The values present in their order, with their counts: the least and the greatest of them. Where values never leave,
//! the extreme alone.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use super::{Accumulator, Removable};

/// Values in their order, and how often each is there.
#[derive(Clone, Debug)]
pub(crate) struct Multiset<K>(BTreeMap<K, u64>);

impl<K> Default for Multiset<K> {
    fn default() -> Multiset<K> {
        Multiset(BTreeMap::new())
    }
}

/// Which end of the values is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Least,
    Greatest,
}

impl<K: Ord> Multiset<K> {
    /// A value enters so many times.
    pub(super) fn put(&mut self, value: K, times: u64) {
        *self.0.entry(value).or_insert(0) += times;
    }

    /// So many of a value leave; whether that many were there.
    pub(super) fn take(&mut self, value: &K, times: u64) -> bool {
        let Some(count) = self.0.get_mut(value).filter(|count| **count >= times) else { return false };
        *count -= times;
        if *count == 0 {
            self.0.remove(value);
        }
        true
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = (&K, &u64)> {
        self.0.iter()
    }

    pub(super) fn into_counts(self) -> impl Iterator<Item = (K, u64)> {
        self.0.into_iter()
    }

    pub(super) fn first(&self) -> Option<(&K, u64)> {
        self.0.first_key_value().map(|(value, count)| (value, *count))
    }

    pub(super) fn last(&self) -> Option<(&K, u64)> {
        self.0.last_key_value().map(|(value, count)| (value, *count))
    }
}

impl<K: Ord + Clone + Send + Sync + 'static> Accumulator for Multiset<K> {
    type In = K;
    type How = End;
    /// None of no value.
    type Out = Option<K>;
    /// A node of a tree is two thirds full, in the end.
    const PIECE: usize = size_of::<(K, u64)>() * 3 / 2;

    fn add(&mut self, value: K) {
        self.put(value, 1);
    }

    fn merge(&mut self, other: &Multiset<K>) {
        other.counts().for_each(|(value, count)| self.put(value.clone(), *count));
    }

    fn absorb(&mut self, other: Multiset<K>) {
        other.into_counts().for_each(|(value, count)| self.put(value, count));
    }

    fn value(&self, end: &End) -> Option<K> {
        let found = if *end == End::Greatest { self.last() } else { self.first() };
        found.map(|(value, _)| value.clone())
    }

    fn pieces(&self) -> usize {
        self.0.len()
    }
}

impl<K: Ord + Clone + Send + Sync + 'static> Removable for Multiset<K> {
    fn remove(&mut self, value: K) {
        self.take(&value, 1);
    }

    fn unmerge(&mut self, other: &Multiset<K>) {
        other.counts().for_each(|(value, count)| _ = self.take(value, *count));
    }
}

/// The extreme of values that never leave.
#[derive(Clone, Debug)]
pub(crate) struct Extremum<K> {
    found: Option<K>,
    end: End,
}

impl<K: Ord> Extremum<K> {
    /// Of no value.
    pub(crate) fn new(end: End) -> Extremum<K> {
        Extremum { found: None, end }
    }

    fn beats<B: Ord + ?Sized>(&self, value: &B) -> bool
    where
        K: Borrow<B>,
    {
        match (&self.found, self.end) {
            (None, _) => true,
            (Some(found), End::Least) => value < found.borrow(),
            (Some(found), End::Greatest) => value > found.borrow(),
        }
    }

    /// As [`Accumulator::add`], of a value that is copied only where it is the new extreme; whether it is.
    pub(crate) fn offer<'a, B: Ord + ?Sized>(&mut self, value: &'a B) -> bool
    where
        K: Borrow<B> + From<&'a B>,
    {
        let wins = self.beats(value);
        if wins {
            self.found = Some(value.into());
        }
        wins
    }
}

impl<K: Ord + Clone + Send + Sync + 'static> Accumulator for Extremum<K> {
    type In = K;
    type How = ();
    /// None of no value.
    type Out = Option<K>;

    #[inline]
    fn add(&mut self, value: K) {
        if self.beats::<K>(&value) {
            self.found = Some(value);
        }
    }

    fn merge(&mut self, other: &Extremum<K>) {
        if let Some(found) = other.found.as_ref().filter(|found| self.beats::<K>(found)) {
            self.found = Some(found.clone());
        }
    }

    fn absorb(&mut self, other: Extremum<K>) {
        other.found.into_iter().for_each(|found| self.add(found));
    }

    fn value(&self, (): &()) -> Option<K> {
        self.found.clone()
    }
}

/// A number that orders as the doubles do; both zeros are one. NaN has none.
pub(crate) fn order_key(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

pub(crate) fn from_order_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

/// A number that orders as the doubles do, NaN before or after all others.
#[inline]
pub(crate) fn float_word(value: f64, nan_first: bool) -> u64 {
    match value.is_nan() {
        true if nan_first => 0,
        true => u64::MAX,
        false => order_key(value),
    }
}

pub(crate) fn from_float_word(word: u64) -> f64 {
    let value = from_order_key(word);
    if value.is_nan() { f64::NAN } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_keys_order_as_doubles_do() {
        let ascending =
            [f64::NEG_INFINITY, f64::MIN, -1.0, -f64::MIN_POSITIVE, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY];
        assert!(ascending.windows(2).all(|pair| order_key(pair[0]) < order_key(pair[1])));
        assert!(ascending.iter().all(|value| from_order_key(order_key(*value)) == *value));
        assert_eq!(order_key(-0.0), order_key(0.0));
        assert!(float_word(f64::NAN, true) < order_key(f64::NEG_INFINITY));
        assert!(float_word(-f64::NAN, false) > order_key(f64::INFINITY));
        assert!([true, false].iter().all(|first| from_float_word(float_word(f64::NAN, *first)).is_nan()));
    }
}
