//! Products: of integers they wrap and a removal restores them, of floats they are made anew from the values present.
//!
//! Modulo 2^64 every odd number has an inverse: zeros, factors of two and the odd rest are counted apart, and what is
//! multiplied in can be divided out. Floats have none: the values are kept in order with their counts, and the product
//! goes over them in that order, in two doubles and an exponent of its own, so that it depends neither on the order of
//! rows nor on what was there before, and is beyond the range of doubles only where the product is.

use super::exact::two_product;
use super::multiset::{Multiset, float_word, from_float_word};
use super::{Accumulator, Removable};

/// A product modulo 2^64 that can be divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors {
    count: i64,
    zeros: i64,
    twos: i64,
    odd: u64,
}

const ONE: Factors = Factors { count: 0, zeros: 0, twos: 0, odd: 1 };

impl Factors {
    fn of(value: i64) -> Factors {
        match value as u64 {
            0 => Factors { count: 1, zeros: 1, ..ONE },
            word => {
                Factors { count: 1, twos: i64::from(word.trailing_zeros()), odd: word >> word.trailing_zeros(), ..ONE }
            }
        }
    }

    fn times(self, other: Factors) -> Factors {
        Factors {
            count: self.count + other.count,
            zeros: self.zeros + other.zeros,
            twos: self.twos + other.twos,
            odd: self.odd.wrapping_mul(other.odd),
        }
    }

    fn inverse(self) -> Factors {
        // Each turn doubles the bits that are right, of which an odd number is born with three.
        let mut inverse = self.odd;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(self.odd.wrapping_mul(inverse)));
        }
        Factors { count: -self.count, zeros: -self.zeros, twos: -self.twos, odd: inverse }
    }
}

impl Default for Factors {
    fn default() -> Factors {
        ONE
    }
}

impl Accumulator for Factors {
    type In = i64;
    type How = ();
    /// None of no value.
    type Out = Option<i64>;

    fn add(&mut self, value: i64) {
        *self = self.times(Factors::of(value));
    }

    fn merge(&mut self, other: &Factors) {
        *self = self.times(*other);
    }

    fn value(&self, (): &()) -> Option<i64> {
        (self.count > 0).then(|| if self.zeros > 0 || self.twos > 63 { 0 } else { (self.odd << self.twos) as i64 })
    }
}

impl Removable for Factors {
    fn remove(&mut self, value: i64) {
        *self = self.times(Factors::of(value).inverse());
    }

    fn unmerge(&mut self, other: &Factors) {
        *self = self.times(other.inverse());
    }
}

/// The product of floats: the values present, by their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Product(Multiset<u64>);

impl Accumulator for Product {
    type In = f64;
    type How = ();
    /// None of no value.
    type Out = Option<f64>;
    const PIECE: usize = Multiset::<u64>::PIECE;

    fn add(&mut self, value: f64) {
        self.0.add(float_word(value, false));
    }

    fn merge(&mut self, other: &Product) {
        self.0.merge(&other.0);
    }

    fn absorb(&mut self, other: Product) {
        self.0.absorb(other.0);
    }

    fn value(&self, (): &()) -> Option<f64> {
        product(self.0.counts())
    }

    fn pieces(&self) -> usize {
        self.0.pieces()
    }
}

impl Removable for Product {
    fn remove(&mut self, value: f64) {
        self.0.remove(float_word(value, false));
    }

    fn unmerge(&mut self, other: &Product) {
        self.0.unmerge(&other.0);
    }
}

/// The product of all values; none of none.
fn product<'a>(values: impl Iterator<Item = (&'a u64, &'a u64)>) -> Option<f64> {
    let (mut all, mut zero, mut infinite, mut negative) = (Wide::new(1.0), false, false, false);
    let mut none = true;
    for (word, count) in values {
        none = false;
        let value = from_float_word(*word);
        if value.is_nan() {
            return Some(f64::NAN);
        }
        negative ^= value < 0.0 && count % 2 == 1;
        zero |= value == 0.0;
        infinite |= value.is_infinite();
        if value != 0.0 && value.is_finite() {
            all = all.times(Wide::new(value.abs()).power(*count));
        }
    }
    if none {
        return None;
    }
    let size = match (zero, infinite) {
        (true, true) => f64::NAN,
        (true, false) => 0.0,
        (false, true) => f64::INFINITY,
        (false, false) => all.value(),
    };
    Some(if negative && size != 0.0 { -size } else { size })
}

/// A positive number in two doubles, the higher of 1 to 2, and an exponent of its own.
#[derive(Clone, Copy)]
struct Wide {
    high: f64,
    low: f64,
    exponent: i64,
}

impl Wide {
    fn new(value: f64) -> Wide {
        Wide { high: value, low: 0.0, exponent: 0 }.settled()
    }

    fn settled(self) -> Wide {
        // A subnormal has no exponent of its own: it is made a normal number first.
        let (high, low, shift) = match self.high < f64::MIN_POSITIVE {
            true => (self.high * 2f64.powi(64), self.low * 2f64.powi(64), -64),
            false => (self.high, self.low, 0),
        };
        let power = (high.to_bits() >> 52) as i64 - 1023;
        let unit = |exponent: i64| f64::from_bits(((1023 + exponent) as u64) << 52);
        // The inverse of the greatest powers is no normal number: taken in two parts.
        let half = power / 2;
        let (one, other) = (unit(-half), unit(-(power - half)));
        Wide { high: high * one * other, low: low * one * other, exponent: self.exponent + power + shift }
    }

    fn times(self, other: Wide) -> Wide {
        let (high, rest) = two_product(self.high, other.high);
        let low = rest + (self.high * other.low + self.low * other.high);
        let sum = high + low;
        Wide { high: sum, low: low - (sum - high), exponent: self.exponent + other.exponent }.settled()
    }

    fn power(self, mut times: u64) -> Wide {
        let (mut base, mut power) = (self, Wide::new(1.0));
        while times > 0 {
            if times % 2 == 1 {
                power = power.times(base);
            }
            times /= 2;
            if times > 0 {
                base = base.times(base);
            }
        }
        power
    }

    fn value(self) -> f64 {
        let exponent = self.exponent.clamp(-2_400, 2_400) as i32;
        let half = exponent / 2;
        (self.high + self.low) * 2f64.powi(half) * 2f64.powi(exponent - half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_multiplied_in_is_divided_out() {
        let numbers = [3, -7, 0, 1 << 40, i64::MIN, i64::MAX, 6, 10, -1];
        let whole = numbers.iter().fold(ONE, |all, number| all.times(Factors::of(*number)));
        assert_eq!(whole.value(&()), Some(0));
        let without = |gone: &[i64]| gone.iter().fold(whole, |all, number| all.times(Factors::of(*number).inverse()));
        assert_eq!(without(&[0, 1 << 40, i64::MIN, i64::MAX]).value(&()), Some(3 * 7 * 60));
        assert_eq!(without(&numbers).value(&()), None);
        assert_eq!(Factors::of(i64::MAX).times(Factors::of(2)).value(&()), Some(i64::MAX.wrapping_mul(2)));
    }

    fn of(values: &[f64]) -> f64 {
        let mut product = Product::default();
        values.iter().for_each(|value| product.add(*value));
        product.value(&()).expect("there are values")
    }

    #[test]
    fn products_of_floats_leave_their_range_only_where_they_must() {
        let far = 2f64.powi(900);
        assert_eq!(of(&[far, far, 1.0 / far, 1.0 / far, -2.0]), -2.0);
        assert_eq!(of(&[0.1, 3.0]), 0.1 * 3.0);
        assert_eq!(of(&[f64::MAX, 2.0]), f64::INFINITY);
        assert_eq!(of(&[f64::MAX, f64::MAX, -1.0]), f64::NEG_INFINITY);
        assert_eq!(of(&[5e-324, 2.0]), 1e-323);
        assert_eq!(of(&[5e-324, 0.25]), 0.0);
        assert_eq!(of(&[0.0, -3.0]), 0.0);
        assert!(of(&[0.0, f64::INFINITY]).is_nan() && of(&[f64::NAN, 0.0]).is_nan());
        assert_eq!(of(&[f64::NEG_INFINITY, -1.5]), f64::INFINITY);
        assert_eq!(of(&[1.5; 3]), 3.375);
    }
}
