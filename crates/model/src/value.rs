//! A cell, and the one total order over cells.

use std::cmp::Ordering;
use std::fmt;

/// One cell. `Near` is a float that the model knows only up to an absolute error: it is what a
/// float aggregate answers, and `compare` accepts anything within.
#[derive(Clone, Debug)]
pub enum Value {
    /// No value.
    Null,
    /// true or false
    Bool(bool),
    /// Any signed integer.
    Int(i64),
    /// Any unsigned integer.
    UInt(u64),
    /// A Float64.
    Float(f64),
    /// A Float32, kept apart because its sum is rounded to Float32.
    Float32(f32),
    /// A float and the absolute error it may have.
    Near(f64, f64),
    /// Text.
    Str(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Nanoseconds since the epoch, UTC.
    Timestamp(i64),
    /// Days since the epoch.
    Date(i32),
    /// Nanoseconds of the day.
    Time(i64),
    /// Nanoseconds.
    Duration(i64),
    /// An unscaled decimal and its scale.
    Decimal(i128, i8),
    /// Several values.
    List(Vec<Value>),
    /// A value of a type that has no order; equal by its text.
    Opaque(String),
}

impl Value {
    /// Whether the cell holds no value.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The float of a float cell.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(x) | Value::Near(x, _) => Some(*x),
            Value::Float32(x) => Some(f64::from(*x)),
            _ => None,
        }
    }

    /// The integer of an integer cell, wide enough for both signs.
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Value::Int(x) => Some(i128::from(*x)),
            Value::UInt(x) => Some(i128::from(*x)),
            _ => None,
        }
    }

    /// The number of a numeric cell as a Float64.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Int(x) => Some(*x as f64),
            Value::UInt(x) => Some(*x as f64),
            Value::Decimal(x, scale) => Some(*x as f64 / 10f64.powi(i32::from(*scale))),
            other => other.as_float(),
        }
    }

    /// Whether the cell is a NaN.
    pub fn is_nan(&self) -> bool {
        self.as_float().is_some_and(f64::is_nan)
    }

    fn family(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Int(_)
            | Value::UInt(_)
            | Value::Float(_)
            | Value::Float32(_)
            | Value::Near(..)
            | Value::Decimal(..) => 2,
            Value::Str(_) => 3,
            Value::Bytes(_) => 4,
            Value::Timestamp(_) => 5,
            Value::Date(_) => 6,
            Value::Time(_) => 7,
            Value::Duration(_) => 8,
            Value::Opaque(_) => 9,
            Value::List(_) => 10,
        }
    }
}

impl From<i64> for Value {
    fn from(x: i64) -> Value {
        Value::Int(x)
    }
}
impl From<f64> for Value {
    fn from(x: f64) -> Value {
        Value::Float(x)
    }
}
impl From<bool> for Value {
    fn from(x: bool) -> Value {
        Value::Bool(x)
    }
}
impl From<&str> for Value {
    fn from(x: &str) -> Value {
        Value::Str(x.to_owned())
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(x: Option<T>) -> Value {
        x.map_or(Value::Null, Into::into)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => write!(out, "null"),
            Value::Bool(x) => write!(out, "{x}"),
            Value::Int(x) => write!(out, "{x}"),
            Value::UInt(x) => write!(out, "{x}u"),
            Value::Float(x) => write!(out, "{x:?}"),
            Value::Float32(x) => write!(out, "{x:?}f"),
            Value::Near(x, within) => write!(out, "{x:?}±{within:e}"),
            Value::Str(x) => write!(out, "{x:?}"),
            Value::Bytes(x) => write!(out, "0x{}", x.iter().map(|b| format!("{b:02x}")).collect::<String>()),
            Value::Timestamp(x) => write!(out, "@{x}"),
            Value::Date(x) => write!(out, "day {x}"),
            Value::Time(x) => write!(out, "time {x}"),
            Value::Duration(x) => write!(out, "{x}ns"),
            Value::Decimal(x, scale) => write!(out, "{x}e-{scale}"),
            Value::List(x) => write!(out, "[{}]", x.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")),
            Value::Opaque(x) => write!(out, "{x}"),
        }
    }
}

/// The one total order: null first, −∞ < … < −0.0 = 0.0 < … < +∞ < NaN, NaN = NaN, text and bytes
/// by bytes. Numbers of different kinds compare by value; other kinds never meet in a column.
pub fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Str(a), Value::Str(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b))
        | (Value::Time(a), Value::Time(b))
        | (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Opaque(a), Value::Opaque(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => {
            let elements = a.iter().zip(b).map(|(a, b)| order(a, b));
            elements.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        }
        _ if left.family() != right.family() => left.family().cmp(&right.family()),
        (Value::Null, Value::Null) => Ordering::Equal,
        _ => order_numbers(left, right),
    }
}

/// Equal by the total order: NaN equals NaN, −0.0 equals 0.0, null equals null.
pub fn same(left: &Value, right: &Value) -> bool {
    order(left, right) == Ordering::Equal
}

fn order_numbers(left: &Value, right: &Value) -> Ordering {
    match (left.as_integer(), right.as_integer(), left.as_float(), right.as_float()) {
        (Some(a), Some(b), ..) => a.cmp(&b),
        (.., Some(a), Some(b)) => order_floats(a, b),
        (Some(a), None, None, Some(b)) => order_integer_with_float(a, b),
        (None, Some(b), Some(a), None) => order_integer_with_float(b, a).reverse(),
        _ => order_decimals(left, right),
    }
}

fn order_floats(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        // `partial_cmp` takes −0.0 and 0.0 for equal, which is what the order wants.
        (false, false) => a.partial_cmp(&b).expect("neither is NaN"),
    }
}

fn order_integer_with_float(a: i128, b: f64) -> Ordering {
    if b.is_nan() || b >= 2f64.powi(100) {
        return Ordering::Less;
    }
    if b <= -2f64.powi(100) {
        return Ordering::Greater;
    }
    let floor = b.floor();
    a.cmp(&(floor as i128)).then(if b > floor { Ordering::Less } else { Ordering::Equal })
}

fn order_decimals(left: &Value, right: &Value) -> Ordering {
    let parts = |value: &Value| match value {
        Value::Decimal(x, scale) => Some((*x, *scale)),
        other => other.as_integer().map(|x| (x, 0)),
    };
    let (Some((a, p)), Some((b, q))) = (parts(left), parts(right)) else {
        let number = |value: &Value| value.as_number().expect("both are numbers");
        return order_floats(number(left), number(right));
    };
    let scale = p.max(q);
    let raised = |x: i128, from: i8| 10i128.checked_pow((scale - from) as u32).and_then(|by| x.checked_mul(by));
    match (raised(a, p), raised(b, q)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => order_floats(
            left.as_number().expect("a decimal is a number"),
            right.as_number().expect("a decimal is a number"),
        ),
    }
}

/// A tuple of cells, ordered and equal by the total order, so that it can key a map.
#[derive(Clone, Debug)]
pub struct Key(pub Vec<Value>);

impl Key {
    /// Whether any part is null: such a key never meets another in a join.
    pub fn has_null(&self) -> bool {
        self.0.iter().any(Value::is_null)
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        let parts = self.0.iter().zip(&other.0).map(|(a, b)| order(a, b));
        parts.fold(Ordering::Equal, Ordering::then).then(self.0.len().cmp(&other.0.len()))
    }
}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Key {}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(Value::to_string).collect();
        write!(out, "({})", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_stand_in_one_line_with_nan_at_the_end() {
        let line = [f64::NEG_INFINITY, f64::MIN, -1.0, -f64::MIN_POSITIVE, 0.0, 1.0, f64::MAX, f64::INFINITY, f64::NAN];
        for (i, a) in line.iter().enumerate() {
            for (j, b) in line.iter().enumerate() {
                assert_eq!(order(&Value::Float(*a), &Value::Float(*b)), i.cmp(&j), "{a} {b}");
            }
        }
        assert!(same(&Value::Float(-0.0), &Value::Float(0.0)));
        assert!(same(&Value::Float(-f64::NAN), &Value::Float32(f32::NAN)));
    }

    #[test]
    fn null_comes_before_everything() {
        for value in
            [Value::Bool(false), Value::Int(i64::MIN), Value::Float(f64::NEG_INFINITY), Value::Str(String::new())]
        {
            assert_eq!(order(&Value::Null, &value), Ordering::Less);
        }
        assert!(same(&Value::Null, &Value::Null));
    }

    #[test]
    fn integers_and_floats_compare_exactly() {
        assert_eq!(order(&Value::Int((1 << 53) + 1), &Value::Float(2f64.powi(53))), Ordering::Greater);
        assert_eq!(order(&Value::Int(-1), &Value::UInt(u64::MAX)), Ordering::Less);
        assert_eq!(order(&Value::Int(1), &Value::Float(1.5)), Ordering::Less);
        assert_eq!(order(&Value::Int(-1), &Value::Float(-1.5)), Ordering::Greater);
        assert_eq!(order(&Value::Int(i64::MAX), &Value::Float(f64::NAN)), Ordering::Less);
    }

    #[test]
    fn decimals_compare_over_their_scales() {
        assert!(same(&Value::Decimal(150, 2), &Value::Decimal(15, 1)));
        assert_eq!(order(&Value::Decimal(-1, 0), &Value::Decimal(-9, 1)), Ordering::Less);
    }

    #[test]
    fn text_goes_by_bytes() {
        assert_eq!(order(&"Z".into(), &"a".into()), Ordering::Less);
        assert_eq!(order(&"".into(), &"a".into()), Ordering::Less);
        assert_eq!(order(&"é".into(), &"z".into()), Ordering::Greater);
    }

    #[test]
    fn a_key_is_equal_by_the_order_of_its_parts() {
        assert_eq!(Key(vec![Value::Null, Value::Float(f64::NAN)]), Key(vec![Value::Null, Value::Float(-f64::NAN)]));
        assert!(Key(vec![1i64.into(), Value::Null]) < Key(vec![1i64.into(), 0i64.into()]));
    }
}
