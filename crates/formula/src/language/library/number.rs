//! Functions of numbers, of null and NaN, and of conditions.

use super::Make::{Call, Write};
use super::{Entry, MANY, call, choice, entry, one, same, take, two, with};
use crate::tree::expr::Expr;
use crate::tree::function::{Closed, Function};

/// In which the value stands where a test holds, else the replacement.
fn unless(test: Function, args: Vec<Expr>) -> Result<Expr, String> {
    let [value, replacement] = take(args);
    Ok(choice(one(test, value.clone()), value, replacement))
}

pub(super) const ENTRIES: &[Entry] = &[
    // Numbers.
    same("abs", 1, Function::Abs),
    same("signum", 1, Function::Sign),
    same("sign", 1, Function::Sign),
    same("sqrt", 1, Function::Sqrt),
    same("cbrt", 1, Function::Cbrt),
    same("exp", 1, Function::Exp),
    entry("log", 1, 2, Call(Function::Log)),
    same("log10", 1, Function::Log10),
    same("log1p", 1, Function::Log1p),
    same("pow", 2, Function::Power),
    entry("round", 1, 2, Call(Function::Round)),
    same("rint", 1, Function::Round),
    same("floor", 1, Function::Floor),
    same("ceil", 1, Function::Ceil),
    same("clamp", 3, Function::Clip),
    same("sin", 1, Function::Sin),
    same("cos", 1, Function::Cos),
    same("tan", 1, Function::Tan),
    same("asin", 1, Function::Arcsin),
    same("acos", 1, Function::Arccos),
    same("atan", 1, Function::Arctan),
    same("atan2", 2, Function::Arctan2),
    same("sinh", 1, Function::Sinh),
    same("cosh", 1, Function::Cosh),
    same("tanh", 1, Function::Tanh),
    same("toDegrees", 1, Function::Degrees),
    same("toRadians", 1, Function::Radians),
    entry("min", 2, MANY, Call(Function::MinHorizontal)),
    entry("max", 2, MANY, Call(Function::MaxHorizontal)),
    entry("lowerBin", 2, 3, Call(Function::Bin { upper: false })),
    entry("upperBin", 2, 3, Call(Function::Bin { upper: true })),
    // Logic, nulls, NaN.
    same("not", 1, Function::Not),
    entry("ifelse", 3, 3, Write(|args| with(args, |[c, a, b]| choice(c, a, b)))),
    same("inRange", 3, Function::IsBetween { closed: Closed::Both }),
    same("isNull", 1, Function::IsNull),
    same("isNaN", 1, Function::IsNan),
    same("isInf", 1, Function::IsInfinite),
    same("isFinite", 1, Function::IsFinite),
    entry(
        "isNormal",
        1,
        1,
        Write(|mut args| {
            args = vec![call(Function::IsFinite, args), Expr::literal(false)];
            Ok(call(Function::FillNull, args))
        }),
    ),
    same("replaceIfNull", 2, Function::FillNull),
    same("replaceIfNaN", 2, Function::FillNan),
    entry(
        "replaceIfNullNaN",
        2,
        2,
        Write(|args| {
            with(args, |[value, other]| two(Function::FillNull, two(Function::FillNan, value, other.clone()), other))
        }),
    ),
    entry("replaceIfNonFinite", 2, 2, Write(|args| unless(Function::IsFinite, args))),
    entry("coalesce", 1, MANY, Call(Function::Coalesce)),
    same("fill_null", 2, Function::FillNull),
    same("fill_nan", 2, Function::FillNan),
];
