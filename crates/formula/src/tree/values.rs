//! Many values of one type, as a long list in an expression holds them: one Arrow array.
//!
//! A list of single literals costs a kilobyte a value by the time it is bound; a column of a million keys that
//! somebody looks for is handed over as the array that it is.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, DurationNanosecondType, Float64Type, Int64Type, Time64NanosecondType,
    TimestampNanosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StringViewArray, new_null_array};
use arrow_cast::CastOptions;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tree::literal::Literal;
use crate::tree::types::{DURATION, TIME, type_text};

/// Values of one type that literals have.
#[derive(Clone, Debug)]
pub struct Values(ArrayRef);

impl PartialEq for Values {
    fn eq(&self, other: &Values) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.as_ref() == other.0.as_ref()
    }
}

impl Values {
    /// The cells of an array as literals hold them: whole numbers as Int64 (UInt64 where one needs it), floats as
    /// Float64, times in nanoseconds. None for a type of which there is no literal.
    pub fn new(array: &ArrayRef) -> Result<Option<Values>, ArrowError> {
        let Some(to) = held_as(array.data_type()) else { return Ok(None) };
        let exact = CastOptions { safe: false, ..CastOptions::default() };
        if to == DataType::Int64 && *array.data_type() == DataType::UInt64 {
            let small = arrow_cast::cast_with_options(array, &to, &exact).unwrap_or_else(|_| Arc::clone(array));
            return Ok(Some(Values(small)));
        }
        arrow_cast::cast_with_options(array, &to, &exact).map(|array| Some(Values(array)))
    }

    /// Whole numbers.
    pub fn integers(values: Vec<i64>) -> Values {
        Values(Arc::new(arrow_array::Int64Array::from(values)))
    }

    /// Numbers with a fraction.
    pub fn floats(values: Vec<f64>) -> Values {
        Values(Arc::new(arrow_array::Float64Array::from(values)))
    }

    /// Texts.
    pub fn texts(values: StringViewArray) -> Values {
        Values(Arc::new(values))
    }

    /// The cells.
    pub fn array(&self) -> &ArrayRef {
        &self.0
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first so many as literals.
    pub fn literals(&self, most: usize) -> Vec<Literal> {
        (0..self.0.len().min(most)).map(|row| literal(&self.0, row)).collect()
    }
}

/// The type in which literals hold values of this one.
fn held_as(data_type: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match data_type {
        Boolean => Boolean,
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => Int64,
        Float16 | Float32 | Float64 => Float64,
        Utf8 | LargeUtf8 | Utf8View => Utf8View,
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => BinaryView,
        Date32 | Date64 => Date32,
        Time32(_) | Time64(_) => TIME,
        Duration(_) => DURATION,
        Timestamp(_, zone) => Timestamp(TimeUnit::Nanosecond, zone.clone()),
        Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) => Decimal128(38, *scale),
        Dictionary(_, values) => return held_as(values),
        RunEndEncoded(_, values) => return held_as(values.data_type()),
        _ => return None,
    })
}

/// One cell of such an array.
fn literal(array: &ArrayRef, row: usize) -> Literal {
    if array.is_null(row) {
        return Literal::Null;
    }
    match array.data_type() {
        DataType::Boolean => Literal::Bool(array.as_boolean().value(row)),
        DataType::Int64 => Literal::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => {
            let value = array.as_primitive::<UInt64Type>().value(row);
            i64::try_from(value).map_or(Literal::UInt(value), Literal::Int)
        }
        DataType::Float64 => Literal::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8View => Literal::Str(array.as_string_view().value(row).into()),
        DataType::BinaryView => Literal::Binary(array.as_binary_view().value(row).into()),
        DataType::Date32 => Literal::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Time64(_) => Literal::Time(array.as_primitive::<Time64NanosecondType>().value(row)),
        DataType::Duration(_) => Literal::Duration(array.as_primitive::<DurationNanosecondType>().value(row)),
        DataType::Timestamp(_, zone) => {
            Literal::Timestamp { ns: array.as_primitive::<TimestampNanosecondType>().value(row), zone: zone.clone() }
        }
        DataType::Decimal128(precision, scale) => Literal::Decimal {
            value: array.as_primitive::<Decimal128Type>().value(row),
            precision: *precision,
            scale: *scale,
        },
        _ => unreachable!("values are held in the types that literals have"),
    }
}

/// Values of which none says the type.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nulls {
    #[serde(rename = "type", with = "type_text")]
    data_type: DataType,
    nulls: Vec<()>,
}

/// Written as the list of single values that it means: the arrays of another process are its own. The type stands beside them
/// where all are null, or there is none.
impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.null_count() == self.len() {
            return Nulls { data_type: self.0.data_type().clone(), nulls: vec![(); self.len()] }.serialize(serializer);
        }
        serializer.collect_seq((0..self.len()).map(|row| literal(&self.0, row)))
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Values, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list of values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Values, A::Error> {
                let items = Vec::<Literal>::deserialize(SeqAccessDeserializer::new(items))?;
                Values::of(&items).ok_or_else(|| A::Error::custom("the values of a list are not of one type"))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Values, A::Error> {
                let Nulls { data_type, nulls } = Nulls::deserialize(MapAccessDeserializer::new(map))?;
                if held_as(&data_type).as_ref() != Some(&data_type) {
                    return Err(A::Error::custom(format!("values of a list are not held as {data_type}")));
                }
                Ok(Values(new_null_array(&data_type, nulls.len())))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl Values {
    /// A number that other values do not have.
    pub(crate) fn digest(&self) -> u128 {
        let data = self.0.to_data();
        let half = |seed: u8| {
            let mut hasher = std::hash::DefaultHasher::new();
            (seed, data.data_type(), data.len(), data.offset()).hash(&mut hasher);
            data.buffers().iter().for_each(|buffer| buffer.as_slice().hash(&mut hasher));
            if let Some(nulls) = data.nulls() {
                nulls.valid_indices().for_each(|valid| valid.hash(&mut hasher));
            }
            u128::from(hasher.finish())
        };
        half(0) << 64 | half(1)
    }
}

impl Values {
    /// Values that are of one type, nulls among them; none if they are not, or if there is none.
    pub fn of(items: &[Literal]) -> Option<Values> {
        let first = items.iter().find(|item| !matches!(item, Literal::Null))?;
        macro_rules! all {
            ($builder:expr, $($pattern:pat $(if $guard:expr)? => $value:expr),+) => {{
                let mut builder = $builder;
                for item in items {
                    match item {
                        Literal::Null => builder.append_null(),
                        $($pattern $(if $guard)? => builder.append_value($value),)+
                        _ => return None,
                    }
                }
                builder.finish()
            }};
        }
        use arrow_array::builder as make;
        let array: ArrayRef = match first {
            Literal::Bool(_) => Arc::new(all!(make::BooleanBuilder::new(), Literal::Bool(value) => *value)),
            Literal::Int(_) | Literal::UInt(_) if items.iter().any(|item| matches!(item, Literal::UInt(_))) => {
                Arc::new(all!(make::UInt64Builder::new(),
                    Literal::Int(value) => u64::try_from(*value).ok()?, Literal::UInt(value) => *value))
            }
            Literal::Int(_) | Literal::UInt(_) => {
                Arc::new(all!(make::Int64Builder::new(), Literal::Int(value) => *value))
            }
            Literal::Float(_) => Arc::new(all!(make::Float64Builder::new(), Literal::Float(value) => *value)),
            Literal::Str(_) => Arc::new(all!(make::StringViewBuilder::new(), Literal::Str(value) => value)),
            Literal::Binary(_) => Arc::new(all!(make::BinaryViewBuilder::new(), Literal::Binary(value) => value)),
            Literal::Date(_) => Arc::new(all!(make::Date32Builder::new(), Literal::Date(value) => *value)),
            Literal::Time(_) => Arc::new(all!(make::Time64NanosecondBuilder::new(), Literal::Time(value) => *value)),
            Literal::Duration(_) => {
                Arc::new(all!(make::DurationNanosecondBuilder::new(), Literal::Duration(value) => *value))
            }
            Literal::Timestamp { zone: first, .. } => {
                let made = all!(make::TimestampNanosecondBuilder::new(),
                    Literal::Timestamp { ns, zone } if zone == first => *ns);
                Arc::new(made.with_timezone_opt(first.clone()))
            }
            Literal::Decimal { precision: p, scale: s, .. } => {
                let made = all!(make::Decimal128Builder::new(),
                    Literal::Decimal { value, precision, scale } if precision == p && scale == s => *value);
                Arc::new(made.with_precision_and_scale(*p, *s).ok()?)
            }
            Literal::Null | Literal::TypedNull(_) | Literal::List(_) | Literal::Values(_) => return None,
        };
        Some(Values(array))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::expr::Expr;

    #[test]
    fn values_of_one_type_are_one_array_and_come_back_as_they_were() {
        let text = |text: &str| Literal::Str(text.into());
        let stamp = |ns| Literal::Timestamp { ns, zone: Some("Europe/Paris".into()) };
        let decimal = |value| Literal::Decimal { value, precision: 38, scale: 2 };
        let lists = [
            vec![Literal::Bool(true), Literal::Null, Literal::Bool(false)],
            vec![Literal::Int(1), Literal::Int(i64::MIN), Literal::Null],
            vec![Literal::Int(1), Literal::UInt(u64::MAX)],
            vec![Literal::Null, Literal::Float(f64::NAN), Literal::Float(-0.0)],
            vec![text("a"), text("a long text that lies in a buffer of its own"), Literal::Null],
            vec![Literal::Binary([1, 2].as_slice().into())],
            vec![Literal::Date(7), Literal::Date(-7)],
            vec![Literal::Time(7)],
            vec![Literal::Duration(-7)],
            vec![stamp(1), stamp(-1)],
            vec![decimal(1), Literal::Null, decimal(-1)],
        ];
        for list in lists {
            let values = Values::of(&list).expect("one type");
            assert_eq!(values.literals(usize::MAX), list);
            let text = serde_json::to_string(&values).expect("it is written");
            assert_eq!(serde_json::from_str::<Values>(&text).expect("it is read"), values, "{text}");
            for nulls in [0, 1, 3] {
                let nulls = Values::new(&new_null_array(values.array().data_type(), nulls));
                let nulls = nulls.expect("they fit").expect("of literals");
                let text = serde_json::to_string(&nulls).expect("it is written");
                assert_eq!(serde_json::from_str::<Values>(&text).ok(), Some(nulls), "{text}");
            }
        }
        for wrong in
            [r#"{"type": "Int8", "nulls": [null]}"#, r#"{"type": "Int64", "nulls": [1]}"#, r#"{"type": "Int64"}"#]
        {
            assert!(serde_json::from_str::<Values>(wrong).is_err(), "{wrong}");
        }
        for mixed in [vec![Literal::Int(1), text("a")], vec![stamp(1), Literal::Timestamp { ns: 1, zone: None }]] {
            assert!(Values::of(&mixed).is_none());
        }
        let plan =
            |items: &[Literal]| Values::of(items).map(|values| Expr::Literal(Literal::Values(values)).digested());
        let (one, other) = ([Literal::Int(1), Literal::Null], [Literal::Int(2), Literal::Null]);
        assert!(plan(&one) == plan(&one) && plan(&one) != plan(&other) && plan(&one) != plan(&one[..1]));
        assert!(Values::of(&[Literal::Null]).is_none() && Values::of(&[]).is_none());
    }
}
