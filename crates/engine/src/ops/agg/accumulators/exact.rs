//! Sums of floats without error: what is kept is the exact sum of the values present.
//!
//! A sum is a pair of doubles whose exact total is the sum (error-free additions); the rare bits
//! that do not fit go to a list of further doubles. Adding and taking away are exact, so removing
//! a value restores the sum to the bit, the order of additions does not matter, and the result is
//! the correctly rounded sum of the rows now present. NaN and infinities are counted apart.
//!
//! Source: J. R. Shewchuk, Adaptive Precision Floating-Point Arithmetic (1997).

use super::{Accumulator, Removable};

/// Values at least this large are summed in their own scale, so that no partial sum overflows.
pub(crate) const HUGE: f64 = f64::from_bits((1023 + 960) << 52);
/// 2^-200 and back.
const DOWN: f64 = f64::from_bits((1023 - 200) << 52);
pub(crate) const UP: f64 = f64::from_bits((1023 + 200) << 52);

/// One exact sum.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExactSum {
    high: f64,
    low: f64,
    rare: Option<Box<Rare>>,
}

/// What two doubles cannot hold.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// Bits below those of the pair.
    rest: Vec<f64>,
    /// The sum of what is huge, divided by [`UP`].
    huge: Vec<f64>,
    special: Special,
}

/// Values that no sum holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Special {
    nan: i64,
    plus: i64,
    minus: i64,
}

impl Special {
    fn note(&mut self, value: f64, times: i64) {
        match value {
            value if value.is_nan() => self.nan += times,
            value if value > 0.0 => self.plus += times,
            _ => self.minus += times,
        }
    }

    fn join(&mut self, other: Special, times: i64) {
        self.nan += other.nan * times;
        self.plus += other.plus * times;
        self.minus += other.minus * times;
    }

    fn value(self) -> Option<f64> {
        match (self.nan, self.plus, self.minus) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(f64::INFINITY),
            (0, 0, _) => Some(f64::NEG_INFINITY),
            _ => Some(f64::NAN),
        }
    }
}

impl ExactSum {
    /// Whether both are one sum; false where that is not seen at once.
    pub(crate) fn is(&self, other: &ExactSum) -> bool {
        let pair = |sum: &ExactSum| (sum.high.to_bits(), sum.low.to_bits());
        self.rare.is_none() && other.rare.is_none() && pair(self) == pair(other)
    }

    /// Adds a value that is less than [`HUGE`], or a part of a sum of such.
    #[inline]
    pub(crate) fn add_finite(&mut self, value: f64) {
        let (high, error) = two_sum(self.high, value);
        let (low, lost) = two_sum(self.low, error);
        if lost == 0.0 {
            self.high = high;
            self.low = low;
        } else {
            self.spill(value);
        }
    }

    #[cold]
    fn spill(&mut self, value: f64) {
        let rare = self.rare.get_or_insert_default();
        let mut parts = std::mem::take(&mut rare.rest);
        for part in [self.low, self.high, value] {
            grow_expansion(&mut parts, part);
        }
        self.high = parts.pop().unwrap_or(0.0);
        self.low = parts.pop().unwrap_or(0.0);
        rare.rest = parts;
        self.tidy();
    }

    #[cold]
    fn add_rare(&mut self, value: f64, times: i64) {
        let rare = self.rare.get_or_insert_default();
        if value.is_finite() {
            grow_expansion(&mut rare.huge, value * times as f64 * DOWN);
        } else {
            rare.special.note(value, times);
        }
        self.tidy();
    }

    /// Frees what holds nothing any more.
    fn tidy(&mut self) {
        let empty = |rare: &Rare| rare.rest.is_empty() && rare.huge.is_empty() && rare.special == Special::default();
        if self.rare.as_deref().is_some_and(empty) {
            self.rare = None;
        }
    }

    /// Takes in, or gives back, the values of another sum.
    fn join(&mut self, other: &ExactSum, times: i64) {
        let sign = times as f64;
        self.add_finite(other.high * sign);
        if other.low != 0.0 {
            self.add_finite(other.low * sign);
        }
        let Some(rare) = &other.rare else { return };
        rare.rest.iter().for_each(|part| self.add_finite(part * sign));
        let own = self.rare.get_or_insert_default();
        rare.huge.iter().for_each(|part| grow_expansion(&mut own.huge, part * sign));
        own.special.join(rare.special, times);
        self.tidy();
    }

    /// The sum of what is finite divided by [`UP`]: within the range of doubles where the sum is not.
    pub(crate) fn scaled_value(&self) -> f64 {
        rounded(&self.scaled(DOWN))
    }

    /// NaN or an infinity, if such values are present.
    pub(crate) fn special(&self) -> Option<f64> {
        self.rare.as_ref()?.special.value()
    }

    /// Two doubles whose exact total is the sum, the first of which is the sum rounded; none if two do not hold it.
    #[inline]
    pub(super) fn pair(&self) -> Option<(f64, f64)> {
        self.rare.is_none().then(|| two_sum(self.high, self.low))
    }

    /// Doubles whose exact total is the sum of what is not huge, ascending in size.
    pub(crate) fn parts(&self) -> Vec<f64> {
        let mut parts = self.rare.as_ref().map(|rare| rare.rest.clone()).unwrap_or_default();
        grow_expansion(&mut parts, self.low);
        grow_expansion(&mut parts, self.high);
        parts
    }

    /// Doubles whose total is the sum of what is finite, times a power of two of at most 2^-200; ascending in size.
    pub(crate) fn scaled(&self, down: f64) -> Vec<f64> {
        let mut parts = Vec::new();
        let huge = self.rare.iter().flat_map(|rare| &rare.huge);
        huge.for_each(|part| grow_expansion(&mut parts, part * (down * UP)));
        self.parts().into_iter().for_each(|part| grow_expansion(&mut parts, part * down));
        parts
    }
}

impl Accumulator for ExactSum {
    type In = f64;
    type How = ();
    /// The sum, correctly rounded.
    type Out = f64;

    #[inline]
    fn add(&mut self, value: f64) {
        if value.abs() < HUGE {
            self.add_finite(value);
        } else {
            self.add_rare(value, 1);
        }
    }

    fn merge(&mut self, other: &ExactSum) {
        self.join(other, 1);
    }

    fn value(&self, (): &()) -> f64 {
        let Some(rare) = &self.rare else { return self.high + self.low };
        match rare.special.value() {
            Some(special) => special,
            None if rare.huge.is_empty() => rounded(&self.parts()),
            None => self.scaled_value() * UP,
        }
    }
}

impl Removable for ExactSum {
    #[inline]
    fn remove(&mut self, value: f64) {
        if value.abs() < HUGE {
            self.add_finite(-value);
        } else {
            self.add_rare(value, -1);
        }
    }

    fn unmerge(&mut self, other: &ExactSum) {
        self.join(other, -1);
    }
}

/// The sum and its rounding error, exactly.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// The product and its rounding error, exactly (unless it leaves the range of doubles).
#[inline]
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (split(a), split(b));
    (product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low))
}

/// A double as two halves of 26 bits.
fn split(value: f64) -> (f64, f64) {
    const SPLITTER: f64 = 134_217_729.0; // 2^27 + 1
    let c = SPLITTER * value;
    let high = c - (c - value);
    (high, value - high)
}

/// Adds a double to a list of doubles that do not overlap, ascending in size; zeros are left out.
pub(crate) fn grow_expansion(parts: &mut Vec<f64>, value: f64) {
    let mut carry = value;
    let mut kept = 0;
    for at in 0..parts.len() {
        let (sum, error) = two_sum(carry, parts[at]);
        if error != 0.0 {
            parts[kept] = error;
            kept += 1;
        }
        carry = sum;
    }
    parts.truncate(kept);
    if carry != 0.0 {
        parts.push(carry);
    }
}

/// The total of doubles that do not overlap, ascending in size, rounded once to even.
pub(crate) fn rounded(parts: &[f64]) -> f64 {
    let mut rest = parts.iter().rev();
    let Some(mut high) = rest.next().copied() else { return 0.0 };
    let mut low = 0.0;
    for part in rest.by_ref() {
        let (sum, error) = two_sum(high, *part);
        high = sum;
        if error != 0.0 {
            low = error;
            break;
        }
    }
    // Halfway cases: what lies below decides which way to round.
    if let Some(next) = rest.next()
        && low != 0.0
        && (low < 0.0) == (*next < 0.0)
    {
        let doubled = low * 2.0;
        let moved = high + doubled;
        if doubled == moved - high {
            return moved;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_restores_to_the_bit() {
        let mut sums = ExactSum::default();
        let values = [1e300, 1.0, 1e-20, -3.5e-300, 1e17, f64::MAX, -f64::MAX, f64::MIN_POSITIVE, 0.1];
        values.iter().for_each(|value| sums.add(*value));
        for value in &values[..8] {
            sums.remove(*value);
        }
        assert_eq!(sums.value(&()), 0.1);
    }

    #[test]
    fn order_does_not_matter() {
        let values: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.7).sin() * 10f64.powi(i % 40 - 20)).collect();
        let total = |order: &mut dyn Iterator<Item = &f64>| {
            let mut sums = ExactSum::default();
            order.for_each(|value| sums.add(*value));
            sums.value(&())
        };
        assert_eq!(total(&mut values.iter()).to_bits(), total(&mut values.iter().rev()).to_bits());
    }

    #[test]
    fn specials_leave_with_their_rows() {
        let mut sums = ExactSum::default();
        for value in [1.0, f64::NAN, f64::INFINITY, 2.0] {
            sums.add(value);
        }
        assert!(sums.value(&()).is_nan());
        sums.remove(f64::NAN);
        assert_eq!(sums.value(&()), f64::INFINITY);
        sums.remove(f64::INFINITY);
        assert_eq!(sums.value(&()), 3.0);
    }

    #[test]
    fn sums_beyond_the_range_come_back() {
        let mut sums = ExactSum::default();
        sums.add(f64::MAX);
        sums.add(f64::MAX);
        assert_eq!(sums.value(&()), f64::INFINITY);
        sums.remove(f64::MAX);
        assert_eq!(sums.value(&()), f64::MAX);
    }

    #[test]
    fn halves_round_to_even_over_all_that_lies_below() {
        let mut sums = ExactSum::default();
        for value in [1.0, f64::EPSILON / 2.0, 1e-300] {
            sums.add(value);
        }
        assert_eq!(sums.value(&()), 1.0 + f64::EPSILON);
    }
}
