//! Counts, and sums of whole numbers: each restores exactly what was there before a value came.

use arrow_buffer::i256;

use super::{Accumulator, Removable};

/// How many values there are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count(pub(crate) i64);

impl Accumulator for Count {
    type In = ();
    type How = ();
    type Out = i64;

    fn add(&mut self, (): ()) {
        self.0 += 1;
    }

    fn merge(&mut self, other: &Count) {
        self.0 += other.0;
    }

    fn value(&self, (): &()) -> i64 {
        self.0
    }
}

impl Removable for Count {
    fn remove(&mut self, (): ()) {
        self.0 -= 1;
    }

    fn unmerge(&mut self, other: &Count) {
        self.0 -= other.0;
    }
}

/// An accumulator and how many values it is of; of fewer than `how` says it gives nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted<A> {
    pub(crate) count: i64,
    pub(crate) of: A,
}

impl<A: Accumulator<How = ()>> Accumulator for Counted<A> {
    type In = A::In;
    /// How many values make a result.
    type How = u64;
    type Out = Option<A::Out>;

    #[inline]
    fn add(&mut self, value: A::In) {
        self.of.add(value);
        self.count += 1;
    }

    fn merge(&mut self, other: &Counted<A>) {
        self.of.merge(&other.of);
        self.count += other.count;
    }

    fn value(&self, least: &u64) -> Option<A::Out> {
        (self.count as u64 >= *least).then(|| self.of.value(&()))
    }
}

impl<A: Removable<How = ()>> Removable for Counted<A> {
    #[inline]
    fn remove(&mut self, value: A::In) {
        self.of.remove(value);
        self.count -= 1;
    }

    fn unmerge(&mut self, other: &Counted<A>) {
        self.of.unmerge(&other.of);
        self.count -= other.count;
    }
}

/// A sum modulo 2^64.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WrappingSum(pub(crate) i64);

impl Accumulator for WrappingSum {
    type In = i64;
    type How = ();
    type Out = i64;

    #[inline]
    fn add(&mut self, value: i64) {
        self.0 = self.0.wrapping_add(value);
    }

    fn merge(&mut self, other: &WrappingSum) {
        self.add(other.0);
    }

    fn value(&self, (): &()) -> i64 {
        self.0
    }
}

impl Removable for WrappingSum {
    #[inline]
    fn remove(&mut self, value: i64) {
        self.0 = self.0.wrapping_sub(value);
    }

    fn unmerge(&mut self, other: &WrappingSum) {
        self.remove(other.0);
    }
}

/// A sum of 64-bit numbers, which no number of rows takes out of its range.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LongSum(pub(crate) i128);

impl Accumulator for LongSum {
    type In = i128;
    type How = ();
    type Out = i128;

    #[inline]
    fn add(&mut self, value: i128) {
        self.0 += value;
    }

    fn merge(&mut self, other: &LongSum) {
        self.0 += other.0;
    }

    fn value(&self, (): &()) -> i128 {
        self.0
    }
}

impl Removable for LongSum {
    #[inline]
    fn remove(&mut self, value: i128) {
        self.0 -= value;
    }

    fn unmerge(&mut self, other: &LongSum) {
        self.0 -= other.0;
    }
}

/// A sum of 256-bit numbers: its lowest 256 bits, which wrap, and how often they did.
#[derive(Clone, Debug, Default)]
pub(crate) struct WideSum {
    low: i256,
    wraps: i64,
}

impl WideSum {
    fn enter(&mut self, value: i256) {
        match self.low.checked_add(value) {
            Some(sum) => self.low = sum,
            None => {
                self.low = self.low.wrapping_add(value);
                self.wraps += if value > i256::ZERO { 1 } else { -1 };
            }
        }
    }

    fn leave(&mut self, value: i256) {
        match self.low.checked_sub(value) {
            Some(sum) => self.low = sum,
            None => {
                self.low = self.low.wrapping_sub(value);
                self.wraps -= if value > i256::ZERO { 1 } else { -1 };
            }
        }
    }
}

impl Accumulator for WideSum {
    type In = i256;
    type How = ();
    /// None where the sum has more than 256 bits.
    type Out = Option<i256>;

    fn add(&mut self, value: i256) {
        self.enter(value);
    }

    fn merge(&mut self, other: &WideSum) {
        self.enter(other.low);
        self.wraps += other.wraps;
    }

    fn value(&self, (): &()) -> Option<i256> {
        (self.wraps == 0).then_some(self.low)
    }
}

impl Removable for WideSum {
    fn remove(&mut self, value: i256) {
        self.leave(value);
    }

    fn unmerge(&mut self, other: &WideSum) {
        self.leave(other.low);
        self.wraps -= other.wraps;
    }
}
