//! The type of JSON values: the narrowest that holds all of a sample.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use serde_json::Value;

/// What the values of a sample may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Shape {
    /// Nothing was seen but null.
    #[default]
    Nothing,
    Boolean,
    Integer,
    /// Beyond the signed integers.
    Unsigned,
    Float,
    Text,
    List(Box<Shape>),
    Object(BTreeMap<String, Shape>),
    /// Values of several kinds: each as its JSON text.
    Mixed,
}

impl Shape {
    pub(super) fn of(value: &Value) -> Shape {
        match value {
            Value::Null => Shape::Nothing,
            Value::Bool(_) => Shape::Boolean,
            Value::Number(number) if number.is_i64() => Shape::Integer,
            Value::Number(number) if number.is_u64() => Shape::Unsigned,
            Value::Number(_) => Shape::Float,
            Value::String(_) => Shape::Text,
            Value::Array(items) => Shape::List(Box::new(items.iter().map(Shape::of).fold(Shape::Nothing, Shape::or))),
            Value::Object(fields) => {
                Shape::Object(fields.iter().map(|(name, value)| (name.clone(), Shape::of(value))).collect())
            }
        }
    }

    /// Of values of which some are this and some that.
    pub(super) fn or(self, other: Shape) -> Shape {
        match (self, other) {
            (Shape::Nothing, one) | (one, Shape::Nothing) => one,
            (Shape::Integer | Shape::Unsigned | Shape::Float, Shape::Float)
            | (Shape::Float, Shape::Integer | Shape::Unsigned) => Shape::Float,
            (Shape::Integer | Shape::Unsigned, Shape::Unsigned) | (Shape::Unsigned, Shape::Integer) => Shape::Unsigned,
            (Shape::List(one), Shape::List(other)) => Shape::List(Box::new(one.or(*other))),
            (Shape::Object(mut one), Shape::Object(other)) => {
                for (name, shape) in other {
                    let own = one.entry(name).or_default();
                    *own = std::mem::take(own).or(shape);
                }
                Shape::Object(one)
            }
            (one, other) if one == other => one,
            _ => Shape::Mixed,
        }
    }

    pub(super) fn data_type(&self) -> DataType {
        match self {
            Shape::Boolean => DataType::Boolean,
            Shape::Integer => DataType::Int64,
            Shape::Unsigned => DataType::UInt64,
            Shape::Float => DataType::Float64,
            Shape::Nothing | Shape::Text | Shape::Mixed => DataType::Utf8,
            Shape::List(item) => DataType::List(Arc::new(Field::new("item", item.data_type(), true))),
            Shape::Object(fields) if fields.is_empty() => DataType::Utf8,
            Shape::Object(fields) => DataType::Struct(
                fields.iter().map(|(name, shape)| Field::new(name, shape.data_type(), true)).collect::<Fields>(),
            ),
        }
    }
}
