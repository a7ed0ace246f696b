//! Arithmetic on one pair of numbers: integers wrap, division floors, remainders take the divisor's sign.

use std::f64::consts::LN_2;

use super::Native;

/// Arithmetic with one result for every pair of values. Where integers have none (division by
/// zero) the value is arbitrary and [`Number::divides`] says so.
pub(crate) trait Number: Native {
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn floor_divide(self, other: Self) -> Self;
    fn modulo(self, other: Self) -> Self;
    fn power(self, other: Self) -> Self;
    /// Whether dividing by `self` gives a value.
    fn divides(self) -> bool;
    fn negate(self) -> Self;
    fn magnitude(self) -> Self;
    fn sign(self) -> Self;
    /// The total order: NaN equals itself and is greatest, -0.0 equals 0.0.
    fn less(self, other: Self) -> bool;
    fn same(self, other: Self) -> bool;
    fn is_not_a_number(self) -> bool;
}

macro_rules! common_integer {
    ($native:ty) => {
        #[inline]
        fn add(self, other: Self) -> Self {
            self.wrapping_add(other)
        }
        #[inline]
        fn subtract(self, other: Self) -> Self {
            self.wrapping_sub(other)
        }
        #[inline]
        fn multiply(self, other: Self) -> Self {
            self.wrapping_mul(other)
        }
        #[inline]
        fn power(self, mut exponent: Self) -> Self {
            let (mut base, mut result): (Self, Self) = (self, 1);
            while exponent > 0 {
                if exponent & 1 == 1 {
                    result = result.wrapping_mul(base);
                }
                base = base.wrapping_mul(base);
                exponent >>= 1;
            }
            result
        }
        #[inline]
        fn divides(self) -> bool {
            self != 0
        }
        #[inline]
        fn negate(self) -> Self {
            self.wrapping_neg()
        }
        #[inline]
        fn less(self, other: Self) -> bool {
            self < other
        }
        #[inline]
        fn same(self, other: Self) -> bool {
            self == other
        }
        #[inline]
        fn is_not_a_number(self) -> bool {
            false
        }
    };
}

macro_rules! signed {
    ($($native:ty)*) => {$(impl Number for $native {
        common_integer!($native);
        #[inline]
        fn floor_divide(self, other: Self) -> Self {
            if other == 0 { return 0 }
            let quotient = self.wrapping_div(other);
            let inexact = self.wrapping_rem(other) != 0;
            quotient - Self::from(inexact && (self < 0) != (other < 0))
        }
        #[inline]
        fn modulo(self, other: Self) -> Self {
            if other == 0 { return 0 }
            let rest = self.wrapping_rem(other);
            if rest != 0 && (rest < 0) != (other < 0) { rest + other } else { rest }
        }
        #[inline]
        fn magnitude(self) -> Self { self.wrapping_abs() }
        #[inline]
        fn sign(self) -> Self { self.signum() }
    })*};
}

macro_rules! unsigned {
    ($($native:ty)*) => {$(impl Number for $native {
        common_integer!($native);
        #[inline]
        fn floor_divide(self, other: Self) -> Self { self.checked_div(other).unwrap_or(0) }
        #[inline]
        fn modulo(self, other: Self) -> Self { self.checked_rem(other).unwrap_or(0) }
        #[inline]
        fn magnitude(self) -> Self { self }
        #[inline]
        fn sign(self) -> Self { Self::from(self != 0) }
    })*};
}

macro_rules! float {
    ($($native:ty)*) => {$(impl Number for $native {
        #[inline]
        fn add(self, other: Self) -> Self { self + other }
        #[inline]
        fn subtract(self, other: Self) -> Self { self - other }
        #[inline]
        fn multiply(self, other: Self) -> Self { self * other }
        #[inline]
        fn floor_divide(self, other: Self) -> Self { (self / other).floor() }
        #[inline]
        fn modulo(self, other: Self) -> Self {
            let rest = self % other;
            if rest != 0.0 && (rest < 0.0) != (other < 0.0) { rest + other } else { rest }
        }
        #[inline]
        fn power(self, other: Self) -> Self { self.powf(other) }
        #[inline]
        fn divides(self) -> bool { true }
        #[inline]
        fn negate(self) -> Self { -self }
        #[inline]
        fn magnitude(self) -> Self { self.abs() }
        #[inline]
        fn sign(self) -> Self { if self == 0.0 || self.is_nan() { self } else { self.signum() } }
        #[inline]
        fn less(self, other: Self) -> bool { (self < other) | ((self == self) & (other != other)) }
        #[inline]
        #[allow(clippy::eq_op, reason = "a NaN differs from itself, and this form has no branch")]
        fn same(self, other: Self) -> bool { (self == other) | ((self != self) & (other != other)) }
        #[inline]
        fn is_not_a_number(self) -> bool { self.is_nan() }
    })*};
}

signed!(i8 i16 i32 i64);
unsigned!(u8 u16 u32 u64);
float!(f32 f64);

/// Integers as bits.
pub(crate) trait Integer: Number {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn not(self) -> Self;
    /// The count is taken modulo the width.
    fn shift_left(self, count: i64) -> Self;
    fn shift_right(self, count: i64) -> Self;
}

macro_rules! integer {
    ($($native:ty)*) => {$(impl Integer for $native {
        #[inline]
        fn and(self, other: Self) -> Self { self & other }
        #[inline]
        fn or(self, other: Self) -> Self { self | other }
        #[inline]
        fn xor(self, other: Self) -> Self { self ^ other }
        #[inline]
        fn not(self) -> Self { !self }
        #[inline]
        fn shift_left(self, count: i64) -> Self { self.wrapping_shl(count as u32) }
        #[inline]
        fn shift_right(self, count: i64) -> Self { self.wrapping_shr(count as u32) }
    })*};
}

integer!(i8 i16 i32 i64 u8 u16 u32 u64);

/// Functions of one float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Math {
    Sqrt,
    Cbrt,
    Exp,
    Ln,
    Log10,
    Log1p,
    Floor,
    Ceil,
    RoundEven,
    Sin,
    Cos,
    Tan,
    Arcsin,
    Arccos,
    Arctan,
    Sinh,
    Cosh,
    Tanh,
    Arcsinh,
    Arccosh,
    Arctanh,
    Degrees,
    Radians,
}

/// From here on the root of a square and one more is the number itself.
const ROOT_IS_ITSELF: f64 = (1_u64 << 32) as f64;

/// Floats with the functions of [`Math`].
pub(crate) trait Float: Number {
    fn divide(self, other: Self) -> Self;
    fn logarithm(self, base: Self) -> Self;
    fn arctan2(self, other: Self) -> Self;
    /// Rounds to `decimals` places; beyond the digits of the type nothing changes.
    fn round_to(self, decimals: i32) -> Self;
    fn function(math: Math) -> fn(Self) -> Self;
}

macro_rules! floats {
    ($($native:ident)*) => {$(impl Float for $native {
        #[inline]
        fn divide(self, other: Self) -> Self { self / other }
        #[inline]
        fn logarithm(self, base: Self) -> Self {
            if base == 2.0 { self.log2() } else if base == 10.0 { self.log10() } else { self.ln() / base.ln() }
        }
        #[inline]
        fn arctan2(self, other: Self) -> Self { self.atan2(other) }
        #[inline]
        fn round_to(self, decimals: i32) -> Self {
            let factor = (10.0 as $native).powi(decimals.abs());
            let scaled = if decimals < 0 { self / factor } else { self * factor };
            if !scaled.is_finite() || !factor.is_finite() {
                return if decimals < 0 && self.is_finite() { 0.0 } else { self };
            }
            let rounded = scaled.round_ties_even();
            if decimals < 0 { rounded * factor } else { rounded / factor }
        }
        fn function(math: Math) -> fn(Self) -> Self {
            match math {
                Math::Sqrt => $native::sqrt,
                Math::Cbrt => $native::cbrt,
                Math::Exp => $native::exp,
                Math::Ln => $native::ln,
                Math::Log10 => $native::log10,
                Math::Log1p => $native::ln_1p,
                Math::Floor => $native::floor,
                Math::Ceil => $native::ceil,
                Math::RoundEven => $native::round_ties_even,
                Math::Sin => $native::sin,
                Math::Cos => $native::cos,
                Math::Tan => $native::tan,
                Math::Arcsin => $native::asin,
                Math::Arccos => $native::acos,
                Math::Arctan => $native::atan,
                Math::Sinh => $native::sinh,
                Math::Cosh => $native::cosh,
                Math::Tanh => $native::tanh,
                // Twice a number is no float where the number is among the greatest.
                Math::Arcsinh => |a: $native| {
                    if a.is_finite() && a.abs() > ROOT_IS_ITSELF as $native { (a.abs().ln() + LN_2 as $native).copysign(a) } else { a.asinh() }
                },
                Math::Arccosh => |a: $native| {
                    if a.is_finite() && a > ROOT_IS_ITSELF as $native { a.ln() + LN_2 as $native } else { a.acosh() }
                },
                Math::Arctanh => $native::atanh,
                Math::Degrees => $native::to_degrees,
                Math::Radians => $native::to_radians,
            }
        }
    })*};
}

floats!(f32 f64);
