//! Doubles as whole numbers of one unit, a power of two: sums of them are sums of integers, exact and cheap. Prices, counts and
//! what random generators give are such; numbers of sizes that lie far apart are not.
//!
//!   0.5 0.25 3    units of 0.25    2 1 12

use super::moments::Spread;
use super::quick::Quick;

/// Numbers, and what each is a multiple of.
pub(crate) struct InUnits {
    pub(crate) values: Vec<i64>,
    pub(crate) unit: f64,
}

impl InUnits {
    /// None unless sums of so many of these numbers, and of their squares, are integers of 64 and of 128 bits.
    pub(crate) fn of(values: &[f64], most: usize) -> Option<InUnits> {
        /// Units whose squares are doubles, and the exponent of a number that is a whole mantissa.
        const LEAST: i32 = -480;
        const GREATEST: i32 = 470;
        const WHOLE: i32 = 1075;
        let (mut lowest, mut highest) = (i32::MAX, i32::MIN);
        for value in values {
            let bits = value.to_bits();
            let exponent = (bits >> 52 & 0x7ff) as i32;
            let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
            let is_zero = bits << 1 == 0;
            lowest = lowest.min(if is_zero { i32::MAX } else { exponent + mantissa.trailing_zeros() as i32 });
            highest = highest.max(if is_zero { i32::MIN } else { exponent + 53 });
        }
        if lowest > highest {
            return Some(InUnits { values: vec![0; values.len()], unit: 1.0 });
        }
        let of_most = usize::BITS - most.leading_zeros();
        let (unit, greatest) = (lowest - WHOLE, highest - WHOLE);
        if unit < LEAST || greatest > GREATEST || highest - lowest + of_most as i32 > 63 {
            return None;
        }
        let power = |exponent: i32| f64::from_bits(((1023 + exponent) as u64) << 52);
        let units = power(-unit);
        Some(InUnits { values: values.iter().map(|value| (value * units) as i64).collect(), unit: power(unit) })
    }
}

/// [`Moments`](super::Moments) of numbers in units.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnitMoments {
    sum: i64,
    squares: i128,
}

impl UnitMoments {
    /// What [`Moments`](super::Moments) of so many values give.
    #[inline]
    pub(crate) fn value(&self, count: i64, unit: f64, how: &Spread) -> Option<f64> {
        let centred = self.squares * i128::from(count) - i128::from(self.sum) * i128::from(self.sum);
        how.of(centred as f64 * (unit * unit), count)
    }
}

impl Quick for UnitMoments {
    type In = i64;

    #[inline(always)]
    fn enter(&mut self, value: i64) -> bool {
        self.sum += value;
        self.squares += i128::from(value) * i128::from(value);
        true
    }

    #[inline(always)]
    fn leave(&mut self, value: i64) -> bool {
        self.sum -= value;
        self.squares -= i128::from(value) * i128::from(value);
        true
    }
}
