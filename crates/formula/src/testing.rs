//! Short words for tests: columns, expressions, and their evaluation.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringViewArray};
use arrow_schema::{Field, Schema};

use crate::error::{Error, RowError};
use crate::eval::bind::bind;
use crate::eval::bound::Bound;
use crate::tree::expr::Expr;
use crate::tree::function::Function;

pub(crate) fn col(name: &str) -> Expr {
    Expr::column(name)
}

pub(crate) fn lit(value: impl Into<crate::tree::literal::Literal>) -> Expr {
    Expr::literal(value)
}

/// A call of the function that Python calls `name`.
pub(crate) fn call(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    let function = Function::named(name).unwrap_or_else(|| panic!("no function {name}"));
    Expr::call(function, args.into_iter().collect()).unwrap()
}

pub(crate) fn ints(values: impl IntoIterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int64Array>())
}

pub(crate) fn floats(values: impl IntoIterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Float64Array>())
}

pub(crate) fn bools(values: impl IntoIterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<BooleanArray>())
}

pub(crate) fn texts<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringViewArray>())
}

pub(crate) fn bound(expr: &Expr, columns: &[(&str, ArrayRef)]) -> Result<Bound, Error> {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    bind(expr, &Schema::new(fields))
}

pub(crate) fn try_run(expr: &Expr, columns: &[(&str, ArrayRef)]) -> Result<ArrayRef, RowError> {
    let bound = bound(expr, columns).unwrap_or_else(|error| panic!("{}: {error}", expr.to_python()));
    let inputs: Vec<ArrayRef> = bound.inputs().iter().map(|index| Arc::clone(&columns[*index].1)).collect();
    let rows = columns[0].1.len();
    let result = bound.evaluate(&inputs, rows)?;
    assert_eq!(result.len(), rows);
    assert_eq!(result.data_type(), bound.data_type(), "{}", expr.to_python());
    result.to_data().validate_full().unwrap();
    Ok(result)
}

pub(crate) fn run(expr: &Expr, columns: &[(&str, ArrayRef)]) -> ArrayRef {
    try_run(expr, columns).unwrap()
}

/// The result as text, one word a row.
pub(crate) fn shown(array: &ArrayRef) -> Vec<String> {
    let text = |row| {
        if arrow_array::Array::logical_nulls(array).is_some_and(|nulls| nulls.is_null(row)) {
            "null".to_owned()
        } else {
            arrow_cast::display::array_value_to_string(array, row).unwrap()
        }
    };
    (0..array.len()).map(text).collect()
}

/// Evaluates and compares with words separated by spaces.
pub(crate) fn check(expr: &Expr, columns: &[(&str, ArrayRef)], expected: &str) {
    let result = run(expr, columns);
    assert_eq!(shown(&result).join(" "), expected, "{}", expr.to_python());
}
