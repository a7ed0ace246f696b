//! Arithmetic and functions of numbers. Lanes compute them.

use super::declared::{ANY, FunctionSpec, Takes, free, in_text, infix, method, named};
use crate::eval::lanes::{Math, Math2, Unary};
use crate::tree::family::Gives;
use crate::tree::function::{Function, Written};

const CHAIN: Takes = (2, ANY, "two operands");
const TWO_OPERANDS: Takes = (2, 2, "two operands");
const ONE_OPERAND: Takes = (1, 1, "one operand");
const ONE: Takes = (1, 1, "one value");
const ONE_OR_TWO: Takes = (1, 2, "a value and at most one argument more");
const SOME: Takes = (1, ANY, "at least one value");
const BOUNDED: Takes = (3, 3, "a value and two bounds");
const BIN: Takes = (2, 3, "a value, a width and an offset");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    infix(Function::Add, "+", CHAIN, |b, c| b.arithmetic(c)).gives(Gives::Combined),
    infix(Function::Subtract, "-", CHAIN, |b, c| b.arithmetic(c)).gives(Gives::Combined),
    infix(Function::Multiply, "*", CHAIN, |b, c| b.arithmetic(c)).gives(Gives::Combined),
    infix(Function::Divide, "/", CHAIN, |b, c| b.arithmetic(c)).gives(Gives::ListOfLists),
    infix(Function::FloorDivide, "//", CHAIN, |b, c| b.arithmetic(c)).gives(Gives::Combined),
    infix(Function::Modulo, "%", CHAIN, |b, c| b.arithmetic(c)).gives(Gives::Combined),
    infix(Function::Power, "**", CHAIN, |b, c| b.arithmetic(c)).gives(Gives::ListOfLists).in_formulas(&[named(
        "pow",
        "pow(n, 2)",
        "power; `n ** 2` is the same",
    )
    .taking(2, 2)]),
    FunctionSpec::new(Function::Negate, Written::Prefix("-", "neg"), ONE_OPERAND, |b, c| b.negate(c))
        .gives(Gives::Combined),
    in_text(Function::Difference, "difference", TWO_OPERANDS, |b, c| b.difference(c, false))
        .gives(Gives::Combined)
        .shown_by(r#"col("n").diff()"#),
    in_text(Function::RelativeChange, "relative_change", TWO_OPERANDS, |b, c| b.difference(c, true))
        .gives(Gives::ListOfLists)
        .shown_by(r#"col("n").pct_change()"#),
    infix(Function::ShiftLeft, "<<", TWO_OPERANDS, |b, c| b.shift(c, true)),
    infix(Function::ShiftRight, ">>", TWO_OPERANDS, |b, c| b.shift(c, false)),
    method(Function::Abs, "abs", ONE, |b, c| b.sign(c, Unary::Abs)).gives(Gives::Combined).in_formulas(&[named(
        "abs",
        "abs(x)",
        "the value without its sign",
    )]),
    method(Function::Sign, "sign", ONE, |b, c| b.sign(c, Unary::Sign))
        .in_formulas(&[named("signum", "signum(x)", "-1, 0 or 1"), named("sign", "sign(n)", "the same")]),
    method(Function::Sqrt, "sqrt", ONE, |b, c| b.math(c, Math::Sqrt))
        .shown_by(r#"col("n").sqrt()"#)
        .in_formulas(&[named("sqrt", "sqrt(16)", "square root")]),
    method(Function::Cbrt, "cbrt", ONE, |b, c| b.math(c, Math::Cbrt))
        .shown_by(r#"col("n").cbrt()"#)
        .in_formulas(&[named("cbrt", "cbrt(27)", "cube root")]),
    method(Function::Exp, "exp", ONE, |b, c| b.math(c, Math::Exp)).in_formulas(&[named(
        "exp",
        "exp(0)",
        "e to the power",
    )]),
    method(Function::Log, "log", ONE_OR_TWO, |b, c| match c.args.len() {
        1 => b.math(c, Math::Ln),
        _ => b.math_of_two(c, Math2::Logarithm),
    })
    .shown_by(r#"col("n").log(10)"#)
    .in_formulas(&[named("log", "log(8, 2)", "logarithm, natural without a base")]),
    method(Function::Log10, "log10", ONE, |b, c| b.math(c, Math::Log10))
        .shown_by(r#"col("n").log10()"#)
        .in_formulas(&[named("log10", "log10(1000)", "logarithm to base 10")]),
    method(Function::Log1p, "log1p", ONE, |b, c| b.math(c, Math::Log1p))
        .shown_by(r#"col("n").log1p()"#)
        .in_formulas(&[named("log1p", "log1p(0)", "natural logarithm of one more")]),
    method(Function::Round, "round", ONE_OR_TWO, |b, c| b.rounding(c, Math::RoundEven))
        .shown_by(r#"col("x").round(0)"#)
        .in_formulas(&[
            named("round", "round(2.25, 1)", "to so many decimals; halves go to the even digit"),
            named("rint", "rint(x)", "to a whole number; halves go to the even one").taking(1, 1),
        ]),
    method(Function::Floor, "floor", ONE, |b, c| b.rounding(c, Math::Floor))
        .in_formulas(&[named("floor", "floor(x)", "down")]),
    method(Function::Ceil, "ceil", ONE, |b, c| b.rounding(c, Math::Ceil))
        .in_formulas(&[named("ceil", "ceil(x)", "up")]),
    method(Function::Clip, "clip", BOUNDED, |b, c| b.clip(c))
        .gives(Gives::Combined)
        .compares()
        .shown_by(r#"col("n").clip(3, 8)"#)
        .in_formulas(&[named("clamp", "clamp(n, 0, 5)", "within two bounds")]),
    method(Function::Sin, "sin", ONE, |b, c| b.math(c, Math::Sin)).in_formulas(&[named("sin", "sin(0)", "sine")]),
    method(Function::Cos, "cos", ONE, |b, c| b.math(c, Math::Cos)).in_formulas(&[named("cos", "cos(0)", "cosine")]),
    method(Function::Tan, "tan", ONE, |b, c| b.math(c, Math::Tan)).in_formulas(&[named("tan", "tan(0)", "tangent")]),
    method(Function::Arcsin, "arcsin", ONE, |b, c| b.math(c, Math::Arcsin))
        .shown_by(r#"(col("n") / 10).arcsin()"#)
        .in_formulas(&[named("asin", "asin(0)", "arc sine")]),
    method(Function::Arccos, "arccos", ONE, |b, c| b.math(c, Math::Arccos))
        .shown_by(r#"(col("n") / 10).arccos()"#)
        .in_formulas(&[named("acos", "acos(1)", "arc cosine")]),
    method(Function::Arctan, "arctan", ONE, |b, c| b.math(c, Math::Arctan)).in_formulas(&[named(
        "atan",
        "atan(0)",
        "arc tangent",
    )]),
    free(Function::Arctan2, "arctan2", (2, 2, "a value and at most one argument more"), |b, c| {
        b.math_of_two(c, Math2::Arctan2)
    })
    .shown_by(r#"tf.arctan2(col("n"), col("n"))"#)
    .in_formulas(&[named("atan2", "atan2(0, 1)", "angle of the point (second, first)")]),
    method(Function::Sinh, "sinh", ONE, |b, c| b.math(c, Math::Sinh)).in_formulas(&[named(
        "sinh",
        "sinh(0)",
        "hyperbolic sine",
    )]),
    method(Function::Cosh, "cosh", ONE, |b, c| b.math(c, Math::Cosh)).in_formulas(&[named(
        "cosh",
        "cosh(0)",
        "hyperbolic cosine",
    )]),
    method(Function::Tanh, "tanh", ONE, |b, c| b.math(c, Math::Tanh)).in_formulas(&[named(
        "tanh",
        "tanh(0)",
        "hyperbolic tangent",
    )]),
    method(Function::Arcsinh, "arcsinh", ONE, |b, c| b.math(c, Math::Arcsinh)),
    method(Function::Arccosh, "arccosh", ONE, |b, c| b.math(c, Math::Arccosh)),
    method(Function::Arctanh, "arctanh", ONE, |b, c| b.math(c, Math::Arctanh)).shown_by(r#"(col("n") / 10).arctanh()"#),
    method(Function::Degrees, "degrees", ONE, |b, c| b.math(c, Math::Degrees)).in_formulas(&[named(
        "toDegrees",
        "toDegrees(0)",
        "radians to degrees",
    )]),
    method(Function::Radians, "radians", ONE, |b, c| b.math(c, Math::Radians)).in_formulas(&[named(
        "toRadians",
        "toRadians(180)",
        "degrees to radians",
    )]),
    free(Function::MinHorizontal, "min_horizontal", SOME, |b, c| b.extreme(c, false))
        .gives(Gives::Combined)
        .compares()
        .shown_by(r#"tf.min_horizontal(col("x"), col("n"))"#)
        .in_formulas(&[
            named("min", "min(x, n, 4)", "least of several values; of a list its least element").taking(2, ANY)
        ]),
    free(Function::MaxHorizontal, "max_horizontal", SOME, |b, c| b.extreme(c, true))
        .gives(Gives::Combined)
        .compares()
        .shown_by(r#"tf.max_horizontal(col("x"), col("n"))"#)
        .in_formulas(&[
            named("max", "max(x, n, 4)", "greatest of several values; of a list its greatest element").taking(2, ANY)
        ]),
    method(Function::Bin { upper: false }, "lower_bin", BIN, |b, c| b.bin(c, false))
        .shown_by(r#"col("n").lower_bin(5)"#)
        .in_formulas(&[named(
            "lowerBin",
            "lowerBin(n, 5)",
            "start of the interval of this width; a third argument moves the intervals",
        )]),
    method(Function::Bin { upper: true }, "upper_bin", BIN, |b, c| b.bin(c, true))
        .shown_by(r#"col("n").upper_bin(5)"#)
        .in_formulas(&[named("upperBin", "upperBin(n, 5)", "end of the interval of this width")]),
];
