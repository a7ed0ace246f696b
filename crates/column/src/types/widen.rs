//! Lossless widening: the types whose data is accepted for a declared column without a cast.

use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};

/// Whether every value of one type is a value of the other.
pub fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256, Dictionary, Duration,
        FixedSizeList, Float16, Float32, Float64, Int8, Int16, Int32, Int64, LargeBinary, LargeList, LargeUtf8, List,
        ListView, Null, Struct, Time32, Time64, Timestamp, UInt8, UInt16, UInt32, UInt64, Utf8, Utf8View,
    };
    match (from, to) {
        (a, b) if a == b => true,
        (Null, _) => true,
        (Int8, Int16 | Int32 | Int64 | Float16 | Float32 | Float64) => true,
        (Int16, Int32 | Int64 | Float32 | Float64) => true,
        (Int32, Int64 | Float64) => true,
        (UInt8, Int16 | Int32 | Int64 | UInt16 | UInt32 | UInt64 | Float16 | Float32 | Float64) => true,
        (UInt16, Int32 | Int64 | UInt32 | UInt64 | Float32 | Float64) => true,
        (UInt32, Int64 | UInt64 | Float64) => true,
        (Float16, Float32 | Float64) | (Float32, Float64) => true,
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => true,
        (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => true,
        (Date32, Date64) | (Date64, Date32) => true,
        (Time32(a), Time32(b) | Time64(b)) | (Time64(a), Time64(b)) => finer(*a, *b),
        (Duration(a), Duration(b)) => finer(*a, *b),
        (Timestamp(a, from), Timestamp(b, to)) => finer(*a, *b) && from.is_some() == to.is_some(),
        (
            Decimal32(p, s) | Decimal64(p, s) | Decimal128(p, s) | Decimal256(p, s),
            Decimal128(q, t) | Decimal256(q, t),
        ) => t >= s && i16::from(*q) - i16::from(*t) >= i16::from(*p) - i16::from(*s),
        (Dictionary(_, value), Dictionary(_, wanted)) => widens(value, wanted),
        (Dictionary(_, value), wanted) => widens(value, wanted),
        (value, Dictionary(_, wanted)) => widens(value, wanted),
        (List(a) | LargeList(a) | FixedSizeList(a, _) | ListView(a), List(b) | LargeList(b)) => {
            widens(a.data_type(), b.data_type())
        }
        (Struct(a), Struct(b)) => {
            let fits =
                |(a, b): (&Arc<Field>, &Arc<Field>)| a.name() == b.name() && widens(a.data_type(), b.data_type());
            a.len() == b.len() && a.iter().zip(b).all(fits)
        }
        _ => false,
    }
}

fn finer(from: TimeUnit, to: TimeUnit) -> bool {
    let rank = |unit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    rank(from) <= rank(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lossless_widening() {
        assert!(widens(&DataType::Int32, &DataType::Int64));
        assert!(!widens(&DataType::Int64, &DataType::Float64), "2^53 + 1 would be lost");
        assert!(!widens(&DataType::Int64, &DataType::Int32));
        assert!(widens(&DataType::UInt32, &DataType::Int64));
        assert!(!widens(&DataType::UInt64, &DataType::Int64));
        assert!(widens(&DataType::Utf8View, &DataType::Utf8));
        let (ns, ms) = (TimeUnit::Nanosecond, TimeUnit::Millisecond);
        let utc: Option<Arc<str>> = Some("UTC".into());
        assert!(widens(&DataType::Timestamp(ms, None), &DataType::Timestamp(ns, None)));
        assert!(!widens(&DataType::Timestamp(ns, None), &DataType::Timestamp(ms, None)));
        assert!(!widens(&DataType::Timestamp(ns, None), &DataType::Timestamp(ns, utc)));
        assert!(widens(&DataType::Decimal64(12, 2), &DataType::Decimal128(14, 4)));
        assert!(!widens(&DataType::Decimal64(12, 2), &DataType::Decimal128(13, 4)), "a digit would be lost");
        let coded = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        assert!(widens(&coded, &DataType::Utf8View));
    }
}
