//! Types of expressions: families, promotion, and the names users know.

use std::sync::Arc;

use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

use crate::error::Error;

/// The type in which an expression holds values declared as `data_type`.
pub(crate) fn canonical(data_type: &DataType) -> DataType {
    use DataType::*;
    match data_type {
        Utf8 | LargeUtf8 | Utf8View => Utf8View,
        Binary | LargeBinary | BinaryView => BinaryView,
        Date64 => Date32,
        Time32(_) | Time64(_) => Time64(TimeUnit::Nanosecond),
        Timestamp(_, zone) => Timestamp(TimeUnit::Nanosecond, zone.clone()),
        Duration(_) => Duration(TimeUnit::Nanosecond),
        Interval(_) => Interval(IntervalUnit::MonthDayNano),
        Decimal32(precision, scale) | Decimal64(precision, scale) => Decimal128(*precision, *scale),
        other => other.clone(),
    }
}

pub(crate) const DURATION: DataType = DataType::Duration(TimeUnit::Nanosecond);
pub(crate) const TIME: DataType = DataType::Time64(TimeUnit::Nanosecond);

pub(crate) fn is_integer(data_type: &DataType) -> bool {
    data_type.is_integer()
}

pub(crate) fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64)
}

pub(crate) fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(_, _) | DataType::Decimal256(_, _))
}

pub(crate) fn is_numeric(data_type: &DataType) -> bool {
    is_integer(data_type) || is_float(data_type) || is_decimal(data_type)
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(data_type, DataType::BinaryView | DataType::FixedSizeBinary(_))
}

pub(crate) fn is_text(data_type: &DataType) -> bool {
    *data_type == DataType::Utf8View
}

/// Whether values of the type have an order.
pub(crate) fn is_ordered(data_type: &DataType) -> bool {
    use DataType::*;
    is_numeric(data_type)
        || matches!(
            data_type,
            Null | Boolean
                | Utf8View
                | BinaryView
                | FixedSizeBinary(_)
                | Date32
                | Time64(_)
                | Timestamp(_, _)
                | Duration(_)
        )
}

/// The type of the values of lists of this type, of whatever layout; none of what is no list.
pub fn element_of(lists: &DataType) -> Option<DataType> {
    match lists {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => Some(field.data_type().clone()),
        _ => None,
    }
}

/// Lists of computed values: their strings leave as other computed strings do.
pub(crate) fn list_of(element: &DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(stored(element), true)))
}

/// The type of computed values within lists and structs, where strings are no views.
pub(crate) fn stored(element: &DataType) -> DataType {
    match element {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    }
}

/// The one type in which values of both types meet: in arithmetic, in branches, in `coalesce`.
pub fn promote(a: &DataType, b: &DataType) -> Result<DataType, Error> {
    let (a, b) = (&canonical(a), &canonical(b));
    if a == b {
        return Ok(a.clone());
    }
    let met = match (a, b) {
        (DataType::Null, other) | (other, DataType::Null) => Some(other.clone()),
        (a, b) if is_integer(a) && is_integer(b) => return promote_integers(a, b),
        (a, b) if is_decimal(a) && is_float(b) || is_float(a) && is_decimal(b) => Some(DataType::Float64),
        (a, b) if is_decimal(a) || is_decimal(b) => promote_decimals(a, b),
        (a, b) if is_float(a) && is_float(b) => Some(if float_bits(a) > float_bits(b) { a.clone() } else { b.clone() }),
        (a, b) if is_integer(a) && is_float(b) => Some(promote_integer_float(a, b)),
        (a, b) if is_float(a) && is_integer(b) => Some(promote_integer_float(b, a)),
        (a, b) if is_bytes(a) && is_bytes(b) => Some(DataType::BinaryView),
        _ => None,
    };
    met.ok_or_else(|| Error::Type {
        function: "one value".to_owned(),
        types: vec![type_name(a), type_name(b)],
        advice: format!("cast one side, e.g. .cast({})", type_name(a)),
    })
}

fn promote_integers(a: &DataType, b: &DataType) -> Result<DataType, Error> {
    use DataType::*;
    let ((a_bits, a_signed), (b_bits, b_signed)) = (integer_width(a), integer_width(b));
    if a_signed == b_signed {
        return Ok(if a_bits > b_bits { a.clone() } else { b.clone() });
    }
    let (signed, unsigned) = if a_signed { (a_bits, b_bits) } else { (b_bits, a_bits) };
    match signed.max(unsigned * 2) {
        16 => Ok(Int16),
        32 => Ok(Int32),
        64 => Ok(Int64),
        _ => Err(Error::Type {
            function: "arithmetic".to_owned(),
            types: vec![type_name(a), type_name(b)],
            advice: "no integer type holds both; cast one side, e.g. .cast(Int64)".to_owned(),
        }),
    }
}

/// Width in bits, and whether it is signed.
pub(crate) fn integer_width(data_type: &DataType) -> (u32, bool) {
    let bits = 8 * data_type.primitive_width().unwrap_or(8) as u32;
    (bits, data_type.is_signed_integer())
}

fn float_bits(data_type: &DataType) -> usize {
    data_type.primitive_width().unwrap_or(0)
}

fn promote_integer_float(integer: &DataType, float: &DataType) -> DataType {
    match (integer_width(integer).0, float) {
        (8, DataType::Float16) => DataType::Float16,
        (8 | 16, DataType::Float16 | DataType::Float32) => DataType::Float32,
        _ => DataType::Float64,
    }
}

/// Digits before and after the point, of a decimal or of the integers a type holds.
fn decimal_shape(data_type: &DataType) -> Option<(i32, i32)> {
    use DataType::*;
    Some(match data_type {
        Decimal128(precision, scale) | Decimal256(precision, scale) => {
            (i32::from(*precision) - i32::from(*scale), i32::from(*scale))
        }
        Int8 | UInt8 => (3, 0),
        Int16 | UInt16 => (5, 0),
        Int32 | UInt32 => (10, 0),
        Int64 => (19, 0),
        UInt64 => (20, 0),
        _ => return None,
    })
}

fn promote_decimals(a: &DataType, b: &DataType) -> Option<DataType> {
    let ((a_whole, a_scale), (b_whole, b_scale)) = (decimal_shape(a)?, decimal_shape(b)?);
    let wide = [a, b].iter().any(|side| matches!(side, DataType::Decimal256(_, _)));
    Some(decimal_of(a_whole.max(b_whole), a_scale.max(b_scale), wide))
}

/// The decimal type with so many digits before and after the point, as far as digits go.
pub(crate) fn decimal_of(whole: i32, scale: i32, wide: bool) -> DataType {
    let precision = (whole + scale).max(1);
    if precision <= 38 && !wide {
        DataType::Decimal128(precision as u8, scale as i8)
    } else {
        DataType::Decimal256(precision.min(76) as u8, scale as i8)
    }
}

/// The type as users write it in Python: its name in every message.
pub fn type_name(data_type: &DataType) -> String {
    use DataType::*;
    match data_type {
        Utf8 | LargeUtf8 | Utf8View => "String".to_owned(),
        Binary | LargeBinary | BinaryView => "Binary".to_owned(),
        Date32 | Date64 => "Date".to_owned(),
        Time32(_) | Time64(_) => "Time".to_owned(),
        Timestamp(unit, None) => format!("Datetime(\"{}\")", unit_name(*unit)),
        Timestamp(unit, Some(zone)) => format!("Datetime(\"{}\", \"{zone}\")", unit_name(*unit)),
        Duration(unit) => format!("Duration(\"{}\")", unit_name(*unit)),
        Decimal32(precision, scale)
        | Decimal64(precision, scale)
        | Decimal128(precision, scale)
        | Decimal256(precision, scale) => {
            format!("Decimal({precision}, {scale})")
        }
        List(field) | LargeList(field) | ListView(field) | LargeListView(field) => {
            format!("List({})", type_name(field.data_type()))
        }
        FixedSizeList(field, width) => format!("Array({}, {width})", type_name(field.data_type())),
        Struct(fields) => {
            let fields = fields.iter().map(|field| format!("{:?}: {}", field.name(), type_name(field.data_type())));
            format!("Struct({{{}}})", fields.collect::<Vec<_>>().join(", "))
        }
        Map(entries, _) => match entries.data_type() {
            Struct(pair) if pair.len() == 2 => {
                format!("Map({}, {})", type_name(pair[0].data_type()), type_name(pair[1].data_type()))
            }
            other => format!("Map({})", type_name(other)),
        },
        FixedSizeBinary(width) => format!("FixedBinary({width})"),
        Dictionary(_, values) => format!("Dictionary({})", type_name(values)),
        Boolean | Null | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 | Float16 | Float32
        | Float64 => {
            format!("{data_type:?}")
        }
        other => other.to_string(),
    }
}

/// A unit of time as users write it.
pub fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

/// Types as Arrow's own text for them: for `#[serde(with)]`.
pub mod type_text {
    use arrow_schema::DataType;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes the text.
    pub fn serialize<S: Serializer>(data_type: &DataType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&data_type.to_string())
    }

    /// Reads the text.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DataType, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::*;

    #[test]
    fn promotion_table() {
        let table = [
            (Int8, Int8, Some(Int8)),
            (Int8, Int64, Some(Int64)),
            (UInt8, Int8, Some(Int16)),
            (UInt8, Int64, Some(Int64)),
            (UInt16, Int8, Some(Int32)),
            (UInt32, Int32, Some(Int64)),
            (UInt64, UInt8, Some(UInt64)),
            (UInt64, Int8, None),
            (Int8, Float32, Some(Float32)),
            (UInt16, Float32, Some(Float32)),
            (Int32, Float32, Some(Float64)),
            (Int64, Float64, Some(Float64)),
            (UInt64, Float32, Some(Float64)),
            (Int8, Float16, Some(Float16)),
            (Float16, Float32, Some(Float32)),
            (Float32, Float64, Some(Float64)),
            (Null, Utf8, Some(Utf8View)),
            (Utf8, LargeUtf8, Some(Utf8View)),
            (Utf8, Int64, None),
            (Boolean, Int8, None),
            (Decimal128(5, 2), Int8, Some(Decimal128(5, 2))),
            (Decimal128(5, 2), Int64, Some(Decimal128(21, 2))),
            (Decimal128(5, 2), Decimal128(10, 8), Some(Decimal128(11, 8))),
            (Decimal128(38, 0), Decimal128(38, 10), Some(Decimal256(48, 10))),
            (Decimal128(5, 2), Float32, Some(Float64)),
            (
                Timestamp(TimeUnit::Second, None),
                Timestamp(TimeUnit::Microsecond, None),
                Some(Timestamp(TimeUnit::Nanosecond, None)),
            ),
            (Date32, Timestamp(TimeUnit::Nanosecond, None), None),
        ];
        for (a, b, expected) in table {
            assert_eq!(promote(&a, &b).ok(), expected, "{a} {b}");
            assert_eq!(promote(&b, &a).ok(), expected, "{b} {a}");
        }
    }

    #[test]
    fn types_travel_as_text() {
        #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
        struct Holder(#[serde(with = "type_text")] DataType);
        let zoned = Timestamp(TimeUnit::Nanosecond, Some("America/New_York".into()));
        for data_type in [
            Boolean,
            Int8,
            UInt64,
            Float16,
            Utf8View,
            BinaryView,
            Date32,
            TIME,
            zoned,
            DURATION,
            Decimal128(38, -2),
            Null,
        ] {
            let text = serde_json::to_string(&Holder(data_type.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Holder>(&text).unwrap().0, data_type, "{text}");
        }
    }
}
