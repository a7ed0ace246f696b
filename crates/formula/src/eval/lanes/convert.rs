//! Numbers from one kind to another.

use super::arithmetic::Number;
use super::{Operand, bits, map, test};

/// A number as another type's, and whether it fits there. Fractions are cut toward zero.
pub(crate) trait Convert<B>: Number {
    fn convert(self) -> B;
    fn fits(self) -> bool;
}

macro_rules! from_integer {
    ($($from:ty)*) => {$(
        to_integers!($from; i8 i16 i32 i64 u8 u16 u32 u64);
        always!($from; f32);
    )*};
}

impl Convert<f64> for i64 {
    /// The halves of the number are put behind the exponents that make them whole numbers, and added with one
    /// rounding: several at once, where the processor's own conversion takes one after the other.
    #[inline]
    fn convert(self) -> f64 {
        const TWO_TO_52: u64 = 0x4330_0000_0000_0000;
        const TWO_TO_84_AND_63: u64 = 0x4530_0000_8000_0000;
        const ALL_THREE: f64 = f64::from_bits(0x4530_0000_8010_0000);
        let low = f64::from_bits((self as u64 & 0xffff_ffff) | TWO_TO_52);
        let high = f64::from_bits(((self as u64) >> 32) ^ TWO_TO_84_AND_63);
        (high - ALL_THREE) + low
    }
    #[inline]
    fn fits(self) -> bool {
        true
    }
}

macro_rules! to_integers {
    ($from:ty; $($to:ty)*) => {$(impl Convert<$to> for $from {
        #[inline]
        fn convert(self) -> $to { self as $to }
        #[inline]
        #[allow(unused_comparisons, reason = "one of the types may be unsigned")]
        fn fits(self) -> bool {
            let there = self as $to;
            (there as $from == self) & ((there < 0 as $to) == (self < 0 as $from))
        }
    })*};
}

macro_rules! always {
    ($from:ty; $($to:ty)*) => {$(impl Convert<$to> for $from {
        #[inline]
        fn convert(self) -> $to { self as $to }
        #[inline]
        fn fits(self) -> bool { true }
    })*};
}

macro_rules! from_float {
    ($from:ident; $($to:ident)*) => {
        $(impl Convert<$to> for $from {
            #[inline]
            fn convert(self) -> $to { self as $to }
            #[inline]
            fn fits(self) -> bool {
                // Cut toward zero it lies above MIN - 1, which large floats round to MIN itself. 2^bits is exact
                // in every float that reaches it; MAX is not.
                const LEAST: $from = $to::MIN as $from;
                ((self >= LEAST) | (self > LEAST - 1.0)) & (self < ($to::MAX / 2 + 1) as $from * 2.0)
            }
        })*
        always!($from; f32 f64);
    };
}

from_integer!(i8 i16 i32 i64 u8 u16 u32 u64);
always!(i8; f64);
always!(i16; f64);
always!(i32; f64);
always!(u8; f64);
always!(u16; f64);
always!(u32; f64);
always!(u64; f64);
from_float!(f32; i8 i16 i32 i64 u8 u16 u32 u64);
from_float!(f64; i8 i16 i32 i64 u8 u16 u32 u64);

/// Converts the values of a block; `fits` gets a bit for each that does.
pub(crate) fn convert<A: Convert<B>, B: Number>(a: &Operand<'_>, out: &mut [B], fits: Option<&mut [u64]>) {
    map(a.values::<A>(), out, A::convert);
    if let Some(fits) = fits {
        test(a.values::<A>(), fits, A::fits);
    }
}

/// True is 1, false is 0.
pub(crate) fn from_bits<B: Number>(a: &Operand<'_>, out: &mut [B])
where
    u8: Convert<B>,
{
    let words = bits(a.lane);
    for (index, out) in out.iter_mut().enumerate() {
        let bit = if a.one { words[0] } else { words[index / 64] >> (index % 64) };
        *out = ((bit & 1) as u8).convert();
    }
}

/// Anything but 0 is true.
pub(crate) fn to_bits<A: Number>(a: &Operand<'_>, out: &mut [u64]) {
    test(a.values::<A>(), out, |a| !a.same(A::default()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_rounded_as_the_processor_rounds_them() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state as i64
        };
        let edges = (0..64).flat_map(|bit| [-2, -1, 0, 1, 2].map(|by| (1_i64 << bit).wrapping_add(by)));
        let halves = (53..63).flat_map(|bit| [-1, 0, 1].map(|by| (1_i64 << bit) + (1 << (bit - 53)) + by));
        let drawn: Vec<i64> = (0..100_000).map(|at| random() >> (at % 64)).collect();
        for value in edges.chain(halves).chain(drawn).flat_map(|value| [value, value.wrapping_neg()]) {
            let found: f64 = value.convert();
            assert_eq!(found.to_bits(), (value as f64).to_bits(), "{value}");
        }
    }
}
