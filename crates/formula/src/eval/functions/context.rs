//! What an expression reads besides its own row, and names that may be variables. The engine has the values.

use super::declared::{FunctionSpec, Takes, free, in_text, method};
use crate::error::Error;
use crate::eval::beside::ContextInput;
use crate::tree::family::{Family, Gives};
use crate::tree::function::Function;

const NOTHING: Takes = (0, 0, "no arguments");

fn outside() -> Error {
    Error::Unsupported {
        what: "tf.element() outside list.eval".to_owned(),
        advice: "it stands for an element within list.eval(...); a column is tf.col(name)",
    }
}

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::Shift { by: 1 }, "shift", (1, 1, "a value"), |b, c| b.neighbour(c))
        .gives(Gives::Combined)
        .shown_by(r#"col("n").shift(1)"#),
    in_text(Function::Position, "row_position", NOTHING, |b, _| b.row_number(&["i", "ii"], ContextInput::Position))
        .always(Family::Integer)
        .shown_by(r#"tf.formula("i")"#),
    in_text(Function::RowKey, "row_key", NOTHING, |b, _| b.row_number(&["k"], ContextInput::RowKey))
        .always(Family::Integer)
        .shown_by(r#"tf.formula("k")"#),
    in_text(Function::Rows, "row_count", (0, 1, "a column"), |b, _| b.rows())
        .always(Family::Integer)
        .shown_by(r#"tf.formula("n_.size()")"#),
    free(Function::Item, "element", NOTHING, |_, _| Err(outside()))
        .always(Family::Unknown)
        .shown_by(r#"col("v").list.eval(tf.element() * 2)"#),
    method(Function::Element, "get", (2, 2, "a column and a position"), |b, c| b.element(c))
        .gives(Gives::AsFirst)
        .shown_by(r#"col("n").get(0)"#),
    in_text(Function::Array, "column_of", (1, 1, "a column"), |b, c| b.array(c))
        .always(Family::List)
        .shown_by(r#"tf.formula("sum(n_)")"#),
    free(Function::Variable, "variable", (2, 2, "a name and a value"), |b, c| b.variable(c))
        .always(Family::Unknown)
        .shown_by(r#"col("n") + tf.variable("limit", 10)"#),
];
