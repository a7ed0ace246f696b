//! Literal values of expressions.
//!
//! An integer or float literal has no width of its own: it takes the type of the operand beside it
//! if its value fits (see [`crate::tree::types::promote`]). A literal of fixed width is a cast of one.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_schema::DataType;
use limits::Size;
use serde::{Deserialize, Serialize};

use crate::tree::types::type_text;
use crate::tree::values::Values;

/// A value written in an expression.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Literal {
    /// No value, of the type that its first use wants.
    Null,
    /// No value, of this type.
    TypedNull(#[serde(with = "type_text")] DataType),
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number above the largest Int64.
    UInt(u64),
    /// A number with a fraction.
    Float(#[serde(with = "float_bits")] f64),
    /// Text.
    Str(Arc<str>),
    /// Bytes.
    Binary(Arc<[u8]>),
    /// An instant.
    Timestamp {
        /// Nanoseconds since 1970-01-01T00:00:00Z.
        ns: i64,
        /// The zone it is shown in; none for wall-clock time.
        zone: Option<Arc<str>>,
    },
    /// Days since 1970-01-01.
    Date(i32),
    /// Nanoseconds since midnight.
    Time(i64),
    /// Nanoseconds.
    Duration(i64),
    /// `value / 10^scale`.
    Decimal {
        /// The digits.
        value: i128,
        /// How many digits the type holds.
        precision: u8,
        /// How many of them follow the point.
        scale: i8,
    },
    /// Several values, as `is_in` takes them.
    List(Vec<Literal>),
    /// Many values of one type.
    Values(Values),
}

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        use Literal::*;
        match (self, other) {
            (Null, Null) => true,
            (TypedNull(a), TypedNull(b)) => a == b,
            (Bool(a), Bool(b)) => a == b,
            (Int(a), Int(b)) => a == b,
            (UInt(a), UInt(b)) => a == b,
            (Float(a), Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Str(a), Str(b)) => a == b,
            (Binary(a), Binary(b)) => a == b,
            (Timestamp { ns: a, zone: az }, Timestamp { ns: b, zone: bz }) => a == b && az == bz,
            (Date(a), Date(b)) => a == b,
            (Time(a), Time(b)) | (Duration(a), Duration(b)) => a == b,
            (Decimal { value: a, precision: ap, scale: az }, Decimal { value: b, precision: bp, scale: bz }) => {
                a == b && ap == bp && az == bz
            }
            (List(a), List(b)) => a == b,
            (Literal::Values(a), Literal::Values(b)) => a == b,
            _ => false,
        }
    }
}

/// A list of so many values of one type is held as one array.
pub static MANY: Size = Size::new("formula.MANY_VALUES", 64);

impl Literal {
    /// Several values: those of one type, where they are many, as one array.
    pub fn list(items: Vec<Literal>) -> Literal {
        let one = if items.len() >= MANY.get() { Values::of(&items) } else { None };
        one.map_or(Literal::List(items), Literal::Values)
    }

    /// The values of a list, each by itself; none of anything else.
    pub(crate) fn items(&self) -> Option<Cow<'_, [Literal]>> {
        match self {
            Literal::List(items) => Some(Cow::Borrowed(items)),
            Literal::Values(values) => Some(Cow::Owned(values.literals(usize::MAX))),
            _ => None,
        }
    }
}

impl From<bool> for Literal {
    fn from(value: bool) -> Literal {
        Literal::Bool(value)
    }
}

impl From<i64> for Literal {
    fn from(value: i64) -> Literal {
        Literal::Int(value)
    }
}

impl From<f64> for Literal {
    fn from(value: f64) -> Literal {
        Literal::Float(value)
    }
}

impl From<&str> for Literal {
    fn from(value: &str) -> Literal {
        Literal::Str(value.into())
    }
}

/// Floats travel as their bits: JSON has no NaN and no infinity.
mod float_bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(value.to_bits())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(f64::from_bits(u64::deserialize(deserializer)?))
    }
}
