//! Functions of numbers, of null and NaN, and of conditions.

use super::Make::Write;
use super::{Entry, call, choice, entry, one, take, two, with};
use crate::tree::expr::Expr;
use crate::tree::function::Function;

/// In which the value stands where a test holds, else the replacement.
fn unless(test: Function, args: Vec<Expr>) -> Result<Expr, String> {
    let [value, replacement] = take(args);
    Ok(choice(one(test, value.clone()), value, replacement))
}

pub(super) const ENTRIES: &[Entry] = &[
    entry(
        "ifelse",
        3,
        3,
        Write(|args| with(args, |[c, a, b]| choice(c, a, b))),
        "ifelse(n > 5, `big`, `small`)",
        "one of two values; `n > 5 ? a : b` is the same",
    ),
    entry(
        "isNormal",
        1,
        1,
        Write(|mut args| {
            args = vec![call(Function::IsFinite, args), Expr::literal(false)];
            Ok(call(Function::FillNull, args))
        }),
        "isNormal(nothing)",
        "no NaN, no infinity and not null",
    ),
    entry(
        "replaceIfNullNaN",
        2,
        2,
        Write(|args| {
            with(args, |[value, other]| two(Function::FillNull, two(Function::FillNan, value, other.clone()), other))
        }),
        "replaceIfNullNaN(nothing, 0.0)",
        "another value for null and NaN",
    ),
    entry(
        "replaceIfNonFinite",
        2,
        2,
        Write(|args| unless(Function::IsFinite, args)),
        "replaceIfNonFinite(1 / 0, 0.0)",
        "another value for NaN, infinities and null",
    ),
];
