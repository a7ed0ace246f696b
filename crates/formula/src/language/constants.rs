//! The constants and the types that formulas know by name.

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};

use crate::language::ast::{Ast, Kind};
use crate::tree::literal::Literal;
use crate::tree::types::DURATION;

/// The constant called `name`.
pub(crate) fn constant(name: &str) -> Option<Literal> {
    use DataType::*;
    Some(match name {
        "SECOND" => Literal::Int(1_000_000_000),
        "MINUTE" => Literal::Int(60_000_000_000),
        "HOUR" => Literal::Int(3_600_000_000_000),
        "DAY" => Literal::Int(86_400_000_000_000),
        "WEEK" => Literal::Int(604_800_000_000_000),
        "NULL_BOOLEAN" => Literal::TypedNull(Boolean),
        "NULL_BYTE" => Literal::TypedNull(Int8),
        "NULL_SHORT" => Literal::TypedNull(Int16),
        "NULL_INT" => Literal::TypedNull(Int32),
        "NULL_LONG" => Literal::TypedNull(Int64),
        "NULL_FLOAT" => Literal::TypedNull(Float32),
        "NULL_DOUBLE" => Literal::TypedNull(Float64),
        "NULL_CHAR" | "NULL_STRING" => Literal::TypedNull(Utf8),
        "NULL_INSTANT" => Literal::TypedNull(Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))),
        "NAN_DOUBLE" | "NAN_FLOAT" | "NaN" => Literal::Float(f64::NAN),
        "POS_INFINITY_DOUBLE" | "POS_INFINITY_FLOAT" => Literal::Float(f64::INFINITY),
        "NEG_INFINITY_DOUBLE" | "NEG_INFINITY_FLOAT" => Literal::Float(f64::NEG_INFINITY),
        "MIN_BYTE" => Literal::Int(i8::MIN.into()),
        "MAX_BYTE" => Literal::Int(i8::MAX.into()),
        "MIN_SHORT" => Literal::Int(i16::MIN.into()),
        "MAX_SHORT" => Literal::Int(i16::MAX.into()),
        "MIN_INT" => Literal::Int(i32::MIN.into()),
        "MAX_INT" => Literal::Int(i32::MAX.into()),
        "MIN_LONG" => Literal::Int(i64::MIN),
        "MAX_LONG" => Literal::Int(i64::MAX),
        _ => return None,
    })
}

/// The type that stands in brackets before what is cast.
pub(crate) fn cast_type(name: &str) -> Option<DataType> {
    use DataType::*;
    Some(match name {
        "boolean" => Boolean,
        "byte" | "int8" => Int8,
        "short" | "int16" => Int16,
        "int" | "int32" => Int32,
        "long" | "int64" => Int64,
        "uint8" => UInt8,
        "uint16" => UInt16,
        "uint32" => UInt32,
        "uint64" => UInt64,
        "float16" => Float16,
        "float" | "float32" => Float32,
        "double" | "float64" => Float64,
        "String" | "char" => Utf8,
        "binary" => Binary,
        "LocalDate" => Date32,
        "LocalTime" => crate::tree::types::TIME,
        "Instant" => Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        "Duration" => DURATION,
        _ => return None,
    })
}

/// A type by its name in `cast(x, Int32)`: a name of casts, or a name of Python's types.
fn type_named(name: &str) -> Option<DataType> {
    use DataType::*;
    Some(match name {
        "Boolean" => Boolean,
        "Int8" => Int8,
        "Int16" => Int16,
        "Int32" => Int32,
        "Int64" => Int64,
        "UInt8" => UInt8,
        "UInt16" => UInt16,
        "UInt32" => UInt32,
        "UInt64" => UInt64,
        "Float16" => Float16,
        "Float32" => Float32,
        "Float64" => Float64,
        "Binary" => Binary,
        "Date" => Date32,
        "Time" => crate::tree::types::TIME,
        "Datetime" => Timestamp(TimeUnit::Nanosecond, None),
        other => return cast_type(other),
    })
}

/// A unit of time by its name.
fn unit_named(name: &str) -> Option<TimeUnit> {
    Some(match name {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

/// A decimal type, if there is one of so many digits.
pub(crate) fn decimal_type(precision: i64, scale: i64) -> Option<DataType> {
    let (precision, scale) = (u8::try_from(precision).ok()?, i8::try_from(scale).ok()?);
    match precision {
        1..=38 if i32::from(scale) <= i32::from(precision) => Some(DataType::Decimal128(precision, scale)),
        39..=76 if i32::from(scale) <= i32::from(precision) => Some(DataType::Decimal256(precision, scale)),
        _ => None,
    }
}

/// A type as the second argument of `cast`.
pub(crate) fn type_of(ast: &Ast) -> Result<DataType, &'static str> {
    let found = match &ast.kind {
        Kind::Name(name) => type_named(name),
        Kind::Call { name, args, .. } => {
            let kinds: Vec<&Kind> = args.iter().map(|arg| &arg.kind).collect();
            match (&**name, kinds.as_slice()) {
                (
                    "decimal" | "Decimal",
                    [Kind::Literal(Literal::Int(precision), None), Kind::Literal(Literal::Int(scale), None)],
                ) => decimal_type(*precision, *scale),
                ("Datetime", [Kind::Literal(Literal::Str(unit), None)]) => {
                    unit_named(unit).map(|unit| DataType::Timestamp(unit, None))
                }
                ("Datetime", [Kind::Literal(Literal::Str(unit), None), Kind::Literal(Literal::Str(zone), None)]) => {
                    unit_named(unit).map(|unit| DataType::Timestamp(unit, Some(Arc::clone(zone))))
                }
                ("Duration", [Kind::Literal(Literal::Str(unit), None)]) => unit_named(unit).map(DataType::Duration),
                _ => None,
            }
        }
        _ => None,
    };
    found.ok_or("this is no type; types are Int64, Float64, String, Boolean, int, double, decimal(10, 2), …")
}
