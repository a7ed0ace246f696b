//! Literals: the type each has by itself, the types it fits, and its value as an array of one row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::*;
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, TimeUnit};

use super::{Binder, Term};
use crate::error::Error;
use crate::tree::literal::Literal;
use crate::tree::types::{DURATION, TIME, canonical, integer_width, type_name};
use crate::tree::values::Values;

impl Binder<'_> {
    /// Numbers and null wait for an operand that gives them a type; the rest have one.
    pub(super) fn literal(&mut self, literal: &Literal) -> Result<Term, Error> {
        match literal {
            Literal::Null
            | Literal::Int(_)
            | Literal::UInt(_)
            | Literal::Float(_)
            | Literal::List(_)
            | Literal::Values(_) => Ok(Term::Literal(literal.clone())),
            Literal::TypedNull(data_type) => self.constant_of(literal, &canonical(data_type)).map(Term::Node),
            other => self.constant_of(other, &own_type(other)).map(Term::Node),
        }
    }
}

/// The type of a literal that stands alone.
pub(super) fn own_type(literal: &Literal) -> DataType {
    match literal {
        Literal::Null => DataType::Null,
        Literal::TypedNull(data_type) => canonical(data_type),
        Literal::Bool(_) => DataType::Boolean,
        Literal::Int(_) => DataType::Int64,
        Literal::UInt(_) => DataType::UInt64,
        Literal::Float(_) => DataType::Float64,
        Literal::Str(_) => DataType::Utf8View,
        Literal::Binary(_) => DataType::BinaryView,
        Literal::Timestamp { zone, .. } => DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()),
        Literal::Date(_) => DataType::Date32,
        Literal::Time(_) => TIME,
        Literal::Duration(_) => DURATION,
        Literal::Decimal { precision, scale, .. } => DataType::Decimal128(*precision, *scale),
        Literal::List(_) | Literal::Values(_) => DataType::Null,
    }
}

/// Whether the literal's value is one of `data_type`'s, so that it may take that type.
pub(super) fn fits(literal: &Literal, data_type: &DataType) -> bool {
    match literal {
        Literal::Null => true,
        Literal::Int(value) => integer_fits(i128::from(*value), data_type),
        Literal::UInt(value) => integer_fits(i128::from(*value), data_type),
        Literal::Float(value) => match data_type {
            DataType::Float64 => true,
            DataType::Float32 => !value.is_finite() || (*value as f32).is_finite(),
            DataType::Float16 => !value.is_finite() || value.abs() < 65_520.0,
            _ => false,
        },
        other => own_type(other) == *data_type,
    }
}

/// Whether all these values are some of `data_type`'s.
pub(super) fn all_fit(values: &Values, data_type: &DataType) -> bool {
    use types::{Float64Type, Int64Type, UInt64Type};
    let array = values.array();
    match array.data_type() {
        DataType::Int64 => {
            let cells = array.as_primitive::<Int64Type>();
            let ends = [arrow_arith::aggregate::min(cells), arrow_arith::aggregate::max(cells)];
            ends.into_iter().flatten().all(|end| integer_fits(i128::from(end), data_type))
        }
        DataType::UInt64 => {
            let most = arrow_arith::aggregate::max(array.as_primitive::<UInt64Type>());
            most.is_none_or(|most| integer_fits(i128::from(most), data_type))
        }
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().iter().flatten().all(|cell| fits(&Literal::Float(cell), data_type))
        }
        other => other == data_type,
    }
}

fn integer_fits(value: i128, data_type: &DataType) -> bool {
    if data_type.is_integer() {
        let (bits, signed) = integer_width(data_type);
        let bits = if signed { bits - 1 } else { bits };
        let least = if signed { -(1_i128 << bits) } else { 0 };
        return value >= least && value < 1_i128 << bits;
    }
    match data_type {
        DataType::Float64 => value.abs() <= 1 << 53,
        DataType::Float32 => value.abs() <= 1 << 24,
        DataType::Float16 => value.abs() <= 1 << 11,
        DataType::Decimal128(precision, scale) => {
            let whole = i32::from(*precision) - i32::from(*scale);
            (0..=38).contains(&whole) && 10_i128.checked_pow(whole as u32).is_none_or(|limit| value.abs() < limit)
        }
        _ => false,
    }
}

impl Literal {
    /// An array of one row with this value, if the type can hold it.
    pub fn cell(&self, data_type: &DataType) -> Option<ArrayRef> {
        let cell = fits(self, data_type).then(|| array_of(self, data_type).ok())?;
        cell.filter(|cell| cell.data_type() == data_type && cell.is_valid(0))
    }
}

/// The literal as an array of one row, of a type that it fits.
pub(super) fn array_of(literal: &Literal, data_type: &DataType) -> Result<ArrayRef, Error> {
    Ok(match literal {
        Literal::Null | Literal::TypedNull(_) => new_null_array(data_type, 1),
        Literal::Bool(value) => Arc::new(BooleanArray::from(vec![*value])),
        Literal::Int(value) => number(Arc::new(Int64Array::from(vec![*value])), data_type)?,
        Literal::UInt(value) => number(Arc::new(UInt64Array::from(vec![*value])), data_type)?,
        Literal::Float(value) => number(Arc::new(Float64Array::from(vec![*value])), data_type)?,
        Literal::Str(value) => Arc::new(StringViewArray::from(vec![&**value])),
        Literal::Binary(value) => Arc::new(BinaryViewArray::from(vec![&**value])),
        Literal::Timestamp { ns, zone } => {
            Arc::new(TimestampNanosecondArray::from(vec![*ns]).with_timezone_opt(zone.clone()))
        }
        Literal::Date(days) => Arc::new(Date32Array::from(vec![*days])),
        Literal::Time(ns) => Arc::new(Time64NanosecondArray::from(vec![*ns])),
        Literal::Duration(ns) => Arc::new(DurationNanosecondArray::from(vec![*ns])),
        Literal::Decimal { value, precision, scale } => {
            let array = Decimal128Array::from(vec![*value]).with_precision_and_scale(*precision, *scale);
            let array = array.and_then(|array| array.validate_decimal_precision(*precision).map(|()| array));
            Arc::new(
                array.map_err(|error| Error::Parameter { function: "lit".to_owned(), message: error.to_string() })?,
            )
        }
        Literal::List(_) | Literal::Values(_) => {
            return Err(Error::Parameter {
                function: "lit".to_owned(),
                message: "a list stands only in is_in".to_owned(),
            });
        }
    })
}

fn number(value: ArrayRef, data_type: &DataType) -> Result<ArrayRef, Error> {
    let cast = arrow_cast::cast(&value, data_type);
    cast.map_err(|_| Error::Type {
        function: "lit".to_owned(),
        types: vec![type_name(data_type)],
        advice: "the value does not fit; cast it".to_owned(),
    })
}

/// One list of these cells, an array of one row each, as an array of one row.
pub(super) fn list(cells: &[ArrayRef], element: &DataType) -> Result<ArrayRef, Error> {
    let wrong =
        |error: arrow_schema::ArrowError| Error::Parameter { function: "lit".into(), message: error.to_string() };
    let parts: Vec<&dyn Array> = cells.iter().map(|cell| cell.as_ref()).collect();
    let values = match parts.is_empty() {
        true => new_empty_array(element),
        false => arrow_select::concat::concat(&parts).map_err(wrong)?,
    };
    let field = Arc::new(Field::new_list_field(element.clone(), true));
    let offsets = OffsetBuffer::from_lengths([cells.len()]);
    Ok(Arc::new(ListArray::try_new(field, offsets, values, None).map_err(wrong)?))
}

/// The text of a constant, if that is what it is.
pub(super) fn text(value: &ArrayRef) -> Option<String> {
    let values = value.as_string_view_opt()?;
    values.is_valid(0).then(|| values.value(0).to_owned())
}

/// The whole number of a constant, if that is what it is.
pub(super) fn integer(value: &ArrayRef) -> Option<i64> {
    if !value.data_type().is_integer() || value.is_null(0) {
        return None;
    }
    let cast = arrow_cast::cast(value, &DataType::Int64).ok()?;
    let cast = cast.as_primitive::<types::Int64Type>();
    cast.is_valid(0).then(|| cast.value(0))
}

/// A constant as another type that holds it.
pub(super) fn recast(value: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, Error> {
    number(Arc::clone(value), data_type)
}
