//! Comparisons, conditions, and what looks for null and NaN. Lanes compute most of them.

use super::declared::{ANY, FunctionSpec, Takes, free, infix, method, named};
use crate::eval::lanes::Class;
use crate::tree::family::Gives;
use crate::tree::function::{Closed, Function, Written};

const TWO_OPERANDS: Takes = (2, 2, "two operands");
const CHAIN: Takes = (2, ANY, "two operands");
const ONE: Takes = (1, 1, "one value");

pub(crate) const FUNCTIONS: &[FunctionSpec] =
    &[
        infix(Function::Equal, "==", TWO_OPERANDS, |b, c| b.comparison(c)),
        infix(Function::NotEqual, "!=", TWO_OPERANDS, |b, c| b.comparison(c)),
        infix(Function::Less, "<", TWO_OPERANDS, |b, c| b.comparison(c)).compares(),
        infix(Function::LessEqual, "<=", TWO_OPERANDS, |b, c| b.comparison(c)).compares(),
        infix(Function::Greater, ">", TWO_OPERANDS, |b, c| b.comparison(c)).compares(),
        infix(Function::GreaterEqual, ">=", TWO_OPERANDS, |b, c| b.comparison(c)).compares(),
        method(Function::EqualMissing, "eq_missing", TWO_OPERANDS, |b, c| b.comparison(c))
            .shown_by(r#"col("x").eq_missing(None)"#),
        method(Function::NotEqualMissing, "ne_missing", TWO_OPERANDS, |b, c| b.comparison(c))
            .shown_by(r#"col("x").ne_missing(None)"#),
        infix(Function::And, "&", CHAIN, |b, c| b.logic(c)),
        infix(Function::Or, "|", CHAIN, |b, c| b.logic(c)),
        infix(Function::Xor, "^", CHAIN, |b, c| b.logic(c)),
        FunctionSpec::new(Function::Not, Written::Prefix("~", "~"), (1, 1, "one operand"), |b, c| b.logic(c))
            .in_formulas(&[named("not", "not(n > 5)", "the opposite; `!` and `~` are the same")]),
        method(Function::IsBetween { closed: Closed::Both }, "is_between", (3, 3, "a value and two bounds"), |b, c| {
            b.is_between(c)
        })
        .compares()
        .shown_by(r#"col("n").is_between(2, 7)"#)
        .in_formulas(&[named("inRange", "inRange(n, 5, 7)", "between two bounds, both included")]),
        method(Function::IsIn { nulls_equal: false }, "is_in", (2, 2, "a value and a list"), |b, c| b.is_in(c))
            .shown_by(r#"col("n").is_in([2, 9])"#),
        method(Function::IsNull, "is_null", ONE, |b, c| b.null_test(c, false)).in_formulas(&[named(
            "isNull",
            "isNull(nothing)",
            "whether it is null",
        )]),
        method(Function::IsNotNull, "is_not_null", ONE, |b, c| b.null_test(c, true)),
        method(Function::IsNan, "is_nan", ONE, |b, c| b.class_test(c, Class::Nan)).in_formulas(&[named(
            "isNaN",
            "isNaN(x)",
            "whether it is NaN",
        )]),
        method(Function::IsNotNan, "is_not_nan", ONE, |b, c| b.class_test(c, Class::NotNan)),
        method(Function::IsFinite, "is_finite", ONE, |b, c| b.class_test(c, Class::Finite)).in_formulas(&[named(
            "isFinite",
            "isFinite(x)",
            "neither NaN nor an infinity",
        )]),
        method(Function::IsInfinite, "is_infinite", ONE, |b, c| b.class_test(c, Class::Infinite))
            .in_formulas(&[named("isInf", "isInf(x)", "whether it is an infinity")]),
        method(Function::FillNull, "fill_null", (2, 2, "a value and what replaces null"), |b, c| b.coalesce(c))
            .gives(Gives::Combined)
            .shown_by(r#"col("x").fill_null(0.0)"#)
            .in_formulas(&[
                named("replaceIfNull", "replaceIfNull(nothing, 0.0)", "another value for null"),
                named("fill_null", "fill_null(nothing, 0.0)", "as `replaceIfNull`"),
            ]),
        method(Function::FillNan, "fill_nan", (2, 2, "a value and what replaces NaN"), |b, c| b.fill_nan(c))
            .shown_by(r#"col("x").fill_nan(0.0)"#)
            .in_formulas(&[
                named("replaceIfNaN", "replaceIfNaN(x, 0.0)", "another value for NaN"),
                named("fill_nan", "fill_nan(x, 0.0)", "as `replaceIfNaN`"),
            ]),
        free(Function::Coalesce, "coalesce", (1, ANY, "at least one value"), |b, c| b.coalesce(c))
            .gives(Gives::Combined)
            .shown_by(r#"tf.coalesce(col("x"), col("n"))"#)
            .in_formulas(&[named("coalesce", "coalesce(nothing, x)", "the first that is not null")]),
    ];
