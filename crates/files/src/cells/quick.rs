//! Numbers in their plain form from their digits. What is written otherwise is for a parser that knows every form.

use arrow_array::types::*;
use arrow_cast::parse::Parser;

/// Numbers that are read by their digits.
pub(crate) trait Quick: Parser {
    /// None where the parser is to be asked.
    fn quick(text: &[u8]) -> Option<Self::Native>;
}

/// Digits of which a number of 64 bits holds any.
const DIGITS: usize = 18;

/// A whole number of few digits, with a minus or without a sign.
#[inline]
fn whole(text: &[u8]) -> Option<i64> {
    let (digits, minus) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if digits.is_empty() || digits.len() > DIGITS {
        return None;
    }
    let mut value = 0_i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if minus { -value } else { value })
}

const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// A number with a point or without one, of so few digits that it is the quotient of two exact floats, which is rounded once.
#[inline]
fn pointed(text: &[u8]) -> Option<f64> {
    let (digits, minus) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if digits.is_empty() || digits.len() > DIGITS {
        return None;
    }
    let (mut value, mut point) = (0_u64, None);
    for (at, byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + u64::from(digit);
        } else if *byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let after = point.map_or(0, |at| digits.len() - 1 - at);
    // A point needs a digit before it and after it, as the parser sees it.
    if value > 1 << 53 || point.is_some_and(|at| at == 0 || after == 0) {
        return None;
    }
    let value = value as f64 / TENS[after];
    Some(if minus { -value } else { value })
}

macro_rules! whole {
    ($($of:ty),*) => {$(
        impl Quick for $of {
            #[inline]
            fn quick(text: &[u8]) -> Option<Self::Native> {
                whole(text).and_then(|value| value.try_into().ok())
            }
        }
    )*};
}

macro_rules! parsed {
    ($($of:ty),*) => {$(
        impl Quick for $of {
            fn quick(_text: &[u8]) -> Option<Self::Native> {
                None
            }
        }
    )*};
}

whole!(Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type);
parsed!(Float32Type, Date32Type, Time64NanosecondType, TimestampNanosecondType);

impl Quick for Float64Type {
    #[inline]
    fn quick(text: &[u8]) -> Option<f64> {
        pointed(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 4000 }, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_read_by_digits_is_what_the_parser_reads(text in "[-+]?[0-9]{0,20}(\\.[0-9]{0,19})?([eE][0-9])?[ .x-]?") {
            if let Some(quick) = Float64Type::quick(text.as_bytes()) {
                prop_assert_eq!(Some(quick.to_bits()), Float64Type::parse(&text).map(f64::to_bits), "{}", text);
            }
            if let Some(quick) = Int64Type::quick(text.as_bytes()) {
                prop_assert_eq!(Some(quick), Int64Type::parse(&text), "{}", text);
            }
            if let Some(quick) = Int8Type::quick(text.as_bytes()) {
                prop_assert_eq!(Some(quick), Int8Type::parse(&text), "{}", text);
            }
            if let Some(quick) = UInt16Type::quick(text.as_bytes()) {
                prop_assert_eq!(Some(quick), UInt16Type::parse(&text), "{}", text);
            }
        }
    }

    #[test]
    fn plain_numbers_are_read_by_their_digits() {
        assert_eq!(Float64Type::quick(b"-123.25"), Some(-123.25));
        assert_eq!(Float64Type::quick(b"-0").map(f64::to_bits), Some((-0.0_f64).to_bits()));
        assert_eq!(Int64Type::quick(b"-42"), Some(-42));
        assert_eq!(UInt8Type::quick(b"256"), None);
    }
}
