//! Accumulators of a few words, so that a window that moves keeps them in registers. Each is exact, or says that a value is
//! beyond it: then the accumulators that hold everything take the window.

use std::ops::Range;

use super::exact::{HUGE, two_sum};
use super::{Accumulator, Count, LongSum, Removable, WrappingSum};

/// What is known of the values of a window, in a few words.
pub(crate) trait Quick: Copy {
    /// One value.
    type In: Copy;

    /// A value enters. False if the words cannot hold what is known then.
    fn enter(&mut self, value: Self::In) -> bool;

    /// A value leaves. False as for one that enters.
    fn leave(&mut self, value: Self::In) -> bool;
}

/// Calls `each` for each frame. Frames move on only. Returns how many frames there were until a value could not be held.
#[inline]
pub(crate) fn slide_quickly<Q: Quick>(
    empty: Q,
    values: &[Q::In],
    frames: &[Range<usize>],
    mut each: impl FnMut(&Q, &Range<usize>),
) -> usize {
    let (mut inside, mut present) = (empty, 0..0);
    for (at, frame) in frames.iter().enumerate() {
        if frame.start >= present.end {
            (inside, present) = (empty, frame.start..frame.start);
        }
        let mut held = true;
        for value in &values[present.end..frame.end] {
            held &= inside.enter(*value);
        }
        for value in &values[present.start..frame.start] {
            held &= inside.leave(*value);
        }
        if !held {
            return at;
        }
        present = frame.clone();
        each(&inside, frame);
    }
    frames.len()
}

/// Sums of whole numbers are a word or two by themselves.
macro_rules! quick {
    ($($sum:ty),*) => {$(
        impl Quick for $sum {
            type In = <$sum as Accumulator>::In;

            #[inline(always)]
            fn enter(&mut self, value: Self::In) -> bool {
                self.add(value);
                true
            }

            #[inline(always)]
            fn leave(&mut self, value: Self::In) -> bool {
                self.remove(value);
                true
            }
        }
    )*};
}

quick!(WrappingSum, LongSum, Count);

/// A sum of doubles as two, whose exact total it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TwoDoubles {
    high: f64,
    low: f64,
}

impl TwoDoubles {
    /// The sum, rounded once.
    #[inline(always)]
    pub(crate) fn value(&self) -> f64 {
        self.high + self.low
    }

    /// The sum rounded, and what is lost by that.
    #[inline(always)]
    pub(super) fn pair(&self) -> (f64, f64) {
        two_sum(self.high, self.low)
    }
}

impl Quick for TwoDoubles {
    type In = f64;

    #[inline(always)]
    fn enter(&mut self, value: f64) -> bool {
        let (high, error) = two_sum(self.high, value);
        let (low, lost) = two_sum(self.low, error);
        (self.high, self.low) = (high, low);
        (lost == 0.0) & (value.abs() < HUGE)
    }

    #[inline(always)]
    fn leave(&mut self, value: f64) -> bool {
        self.enter(-value)
    }
}

/// A sum of products of doubles as three, whose exact total it is: products have twice the bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThreeDoubles {
    high: f64,
    middle: f64,
    low: f64,
}

impl ThreeDoubles {
    /// A product and its rounding error enter.
    #[inline(always)]
    pub(super) fn enter(&mut self, (product, error): (f64, f64)) -> bool {
        let (high, first) = two_sum(self.high, product);
        let (middle, second) = two_sum(self.middle, first);
        let (middle, third) = two_sum(middle, error);
        let (low, lost) = two_sum(self.low, second);
        let (low, also) = two_sum(low, third);
        (self.high, self.middle, self.low) = (high, middle, low);
        (lost == 0.0) & (also == 0.0)
    }

    /// Doubles whose exact total is the sum.
    pub(super) fn parts(&self) -> [f64; 3] {
        [self.low, self.middle, self.high]
    }

    /// Two doubles that are the sum but for less than 2^-100 of it, the first of which is the sum rounded or next to that;
    /// none if that is not certain.
    #[inline(always)]
    pub(super) fn pair(&self) -> Option<(f64, f64)> {
        /// The second is at most this part of the first.
        const SMALL: f64 = f64::from_bits((1023 - 50) << 52);
        let (high, middle) = two_sum(self.high, self.middle);
        let (middle, low) = two_sum(middle, self.low);
        let (high, middle) = two_sum(high, middle);
        let rest = middle + low;
        (rest.abs() <= high.abs() * SMALL).then_some((high, rest))
    }
}
