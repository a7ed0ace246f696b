"""Arithmetic, functions of numbers, comparison, logic, nulls and casts."""

from __future__ import annotations

import math

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import tickframe as tf
from functions.rows import BITS, NAN, But, Rows, p, q, wrapped, x, y

rows = Rows()
add = rows.add

# Numbers -------------------------------------------------------------------------------------------------------

for kind in BITS:
    both = f"{kind}*{kind}"
    add("__add__", both, x + y, polars=p + q, pyarrow=pc.add)
    add("__sub__", both, x - y, polars=p - q, pyarrow=pc.subtract)
    add("__mul__", both, x * y, polars=p * q, pyarrow=pc.multiply)
    add("__floordiv__", both, x // y, polars=p // q)
    add("__mod__", both, x % y, polars=p % q)
    add("__truediv__", both, (x / y), polars=p.cast(pl.Float64) / q.cast(pl.Float64))
    add("__eq__", both, x == y, polars=p == q, pyarrow=pc.equal, duckdb="x = y")
    add("__lt__", both, x < y, polars=p < q, pyarrow=pc.less, duckdb="x < y")
    add("__and__", both, x & y, polars=p & q, pyarrow=pc.bit_wise_and)
    add("__or__", both, x | y, polars=p | q, pyarrow=pc.bit_wise_or)
    add("__xor__", both, x ^ y, polars=p ^ q, pyarrow=pc.bit_wise_xor)
    add("__invert__", kind, ~x, polars=~p, pyarrow=pc.bit_wise_not)
    add("sign", kind, x.sign(), polars=p.sign(), pyarrow=pc.sign)
    add("clip", kind, x.clip(1, 3), polars=p.clip(1, 3))
    add("min_horizontal", both, tf.min_horizontal(x, y), polars=pl.min_horizontal(p, q), duckdb="least(x, y)")
    add("max_horizontal", both, tf.max_horizontal(x, y), polars=pl.max_horizontal(p, q), duckdb="greatest(x, y)")
    add("round", kind, x.round(), polars=p.round())
    add("__round__", kind, round(x), polars=p.round())
    add("floor", kind, x.floor(), polars=p.floor())
    add("ceil", kind, x.ceil(), polars=p.ceil())
    if kind[0] == "i":
        add("__neg__", kind, -x, polars=p.neg(), pyarrow=pc.negate)
        add("__abs__", kind, abs(x), pyarrow=pc.abs)

for flipped, ours, theirs in [
    ("__radd__", 5 + x, 5 + p),
    ("__rsub__", 5 - x, 5 - p),
    ("__rmul__", 5 * x, 5 * p),
    ("__rtruediv__", 5 / x, 5 / p),
    ("__rfloordiv__", 5 // x, 5 // p),
    ("__rmod__", 5 % x, 5 % p),
    ("__rand__", 5 & x, 5 & p),
    ("__ror__", 5 | x, 5 | p),
    ("__rxor__", 5 ^ x, 5 ^ p),
]:
    add(flipped, "i64", ours, polars=theirs)
add("__rpow__", "f64", 2.0**x, polars=2.0**p, near=1e-15)
add("__pos__", "f64", +x, polars=p)
for exponent in (0, 1, 2, 3, 62):
    add("__pow__", "i64", x**exponent, pyarrow=lambda a, exponent=exponent: pc.power(a, exponent))
# A column of exponents may hold negative ones: the result is Float64.
add("__pow__", "i64*power", x**y, polars=p.cast(pl.Float64) ** q, near=4e-16)
LAST = But(lambda _, by: by == 63, lambda a, by: wrapped(64)(a << by), "a shift count is taken modulo the width")
add("__lshift__", "i64*shift", x << y, LAST, pyarrow=pc.shift_left)
LAST = But(lambda _, by: by == 63, lambda a, by: a >> by, "a shift count is taken modulo the width")
add("__rshift__", "i64*shift", x >> y, LAST, pyarrow=pc.shift_right)
add("__lshift__", "i64", x << 65, polars=p * 2)
add("__rshift__", "i64", x >> -63, polars=p // 2)

#: The sign of a zero quotient, and of a zero remainder, is no one's rule.
for kind in ("f64", "f32"):
    both = f"{kind}*{kind}"
    add("__add__", both, x + y, polars=p + q, pyarrow=pc.add, duckdb="x + y")
    add("__sub__", both, x - y, polars=p - q, pyarrow=pc.subtract, duckdb="x - y")
    add("__mul__", both, x * y, polars=p * q, pyarrow=pc.multiply, duckdb="x * y")
    add("__truediv__", both, x / y, polars=p / q, pyarrow=pc.divide)
    add("__floordiv__", both, x // y, polars=p // q, zeros=False)
    add(
        "__mod__",
        both,
        x % y,
        But(
            lambda a, b: math.isinf(b) and math.isfinite(a),
            lambda a, b: a if a == 0 or (a < 0) == (b < 0) else b,
            "the remainder takes the divisor's sign, as Python's: polars computes a - b * floor(a / b)",
        ),
        But(
            lambda a, b: math.isfinite(a) and math.isfinite(b) and b != 0,
            lambda a, b: a % b,
            "exact, as Python's: polars rounds a / b first",
        ),
        polars=p % q,
        zeros=False,
    )
    add("__eq__", both, x == y, polars=p == q, duckdb="x = y")
    add("__ne__", both, x != y, polars=p != q, duckdb="x <> y")
    add("__lt__", both, x < y, polars=p < q, duckdb="x < y")
    add("__le__", both, x <= y, polars=p <= q, duckdb="x <= y")
    add("__gt__", both, x > y, polars=p > q, duckdb="x > y")
    add("__ge__", both, x >= y, polars=p >= q, duckdb="x >= y")
    add("__neg__", kind, -x, polars=-p, pyarrow=pc.negate)
    add("__abs__", kind, abs(x), polars=p.abs(), pyarrow=pc.abs, duckdb="abs(x)")
    add("abs", kind, x.abs(), polars=p.abs(), pyarrow=pc.abs, duckdb="abs(x)")
    add("sign", kind, x.sign(), polars=p.sign(), pyarrow=pc.sign, zeros=False)
    add("floor", kind, x.floor(), polars=p.floor(), pyarrow=pc.floor, duckdb="floor(x)")
    add("ceil", kind, x.ceil(), polars=p.ceil(), pyarrow=pc.ceil, duckdb="ceil(x)")
    add("round", kind, x.round(), polars=p.round(), pyarrow=pc.round, duckdb="round_even(x, 0)", zeros=False)
    add("sqrt", kind, x.sqrt(), polars=p.sqrt(), pyarrow=pc.sqrt)
    add("is_nan", kind, x.is_nan(), polars=p.is_nan(), pyarrow=pc.is_nan, duckdb="isnan(x)")
    add("is_not_nan", kind, x.is_not_nan(), polars=p.is_not_nan())
    add("is_finite", kind, x.is_finite(), polars=p.is_finite(), pyarrow=pc.is_finite, duckdb="isfinite(x)")
    add("is_infinite", kind, x.is_infinite(), polars=p.is_infinite(), pyarrow=pc.is_inf, duckdb="isinf(x)")
    add("fill_nan", kind, x.fill_nan(1.0), polars=p.fill_nan(1.0))
    add("clip", kind, x.clip(-1.0, 2.0), polars=p.clip(-1.0, 2.0))
    add("min_horizontal", both, tf.min_horizontal(x, y), polars=pl.min_horizontal(p, q), zeros=False)
    add("max_horizontal", both, tf.max_horizontal(x, y), polars=pl.max_horizontal(p, q), zeros=False)

add("round", "f64", x.round(1), polars=p.round(1), duckdb="round_even(x, 1)", zeros=False, near=1e-15)
for name, arrow in {
    "sin": pc.sin,
    "cos": pc.cos,
    "tan": pc.tan,
    "exp": pc.exp,
    "log10": pc.log10,
    "log1p": pc.log1p,
    "log": pc.ln,
    "sinh": pc.sinh,
    "cosh": pc.cosh,
    "tanh": pc.tanh,
    "arctan": pc.atan,
    "arcsinh": pc.asinh,
    "arccosh": pc.acosh,
    "arctanh": pc.atanh,
    "arcsin": pc.asin,
    "arccos": pc.acos,
}.items():
    # Arrow says NaN of the sine of infinity, as we do.
    add(name, "f64", getattr(x, name)(), polars=getattr(p, name)(), pyarrow=arrow, near=4e-16)
    add(name, "f32", getattr(x, name)(), pyarrow=arrow, near=3e-7)
add("log", "f64", x.log(10), polars=p.log(10), near=4e-16)
add("cbrt", "f64", x.cbrt(), polars=p.cbrt(), near=4e-16)
add("degrees", "f64", x.degrees(), polars=p.degrees(), near=4e-16)
add("radians", "f64", x.radians(), polars=p.radians(), near=4e-16)
add("arctan2", "f64*f64", tf.arctan2(x, y), polars=pl.arctan2(p, q), pyarrow=pc.atan2, near=4e-16)
add("__pow__", "f64*f64", x**y, polars=p**q, near=4e-16)
add("pow", "f64*f64", x.pow(y), polars=p**q, near=4e-16)
add("abs", "i64", x.abs(), pyarrow=pc.abs)
add("lower_bin", "i64", x.lower_bin(5), polars=p // 5 * 5)
add("upper_bin", "i64", x.upper_bin(5), polars=-(-p // 5) * 5)
add("lower_bin", "f64", x.lower_bin(2.0), polars=(p / 2.0).floor() * 2.0, zeros=False)

# Logic, nulls --------------------------------------------------------------------------------------------------

add("__and__", "bool*bool", x & y, polars=p & q, pyarrow=pc.and_kleene, duckdb="x AND y")
add("__or__", "bool*bool", x | y, polars=p | q, pyarrow=pc.or_kleene, duckdb="x OR y")
add("__xor__", "bool*bool", x ^ y, polars=p ^ q, pyarrow=pc.xor)
add("__invert__", "bool", ~x, polars=~p, pyarrow=pc.invert, duckdb="NOT x")
for kind in ("bool", "text", "i64"):
    both = f"{kind}*{kind}"
    add("__eq__", both, x == y, polars=p == q, pyarrow=pc.equal, duckdb="x = y")
    add("__ne__", both, x != y, polars=p != q, pyarrow=pc.not_equal, duckdb="x <> y")
    add("__lt__", both, x < y, polars=p < q, pyarrow=pc.less, duckdb="x < y")
    add("__le__", both, x <= y, polars=p <= q, pyarrow=pc.less_equal, duckdb="x <= y")
    add("__gt__", both, x > y, polars=p > q, pyarrow=pc.greater, duckdb="x > y")
    add("__ge__", both, x >= y, polars=p >= q, pyarrow=pc.greater_equal, duckdb="x >= y")
for kind in ("bool", "text", "i64", "f64", "u64"):
    both = f"{kind}*{kind}"
    add("eq_missing", both, x.eq_missing(y), polars=p.eq_missing(q), duckdb="x IS NOT DISTINCT FROM y")
    add("ne_missing", both, x.ne_missing(y), polars=p.ne_missing(q), duckdb="x IS DISTINCT FROM y")
    add("is_null", kind, x.is_null(), polars=p.is_null(), duckdb="x IS NULL")
    add("is_not_null", kind, x.is_not_null(), polars=p.is_not_null(), pyarrow=pc.is_valid)
    add("coalesce", both, tf.coalesce(x, y), polars=pl.coalesce(p, q), pyarrow=pc.coalesce)
    add("fill_null", both, x.fill_null(y), polars=p.fill_null(q), duckdb="coalesce(x, y)")
    add("is_between", both, x.is_between(y, y), polars=p.is_between(q, q), duckdb="x BETWEEN y AND y")
    add("when", both, tf.when(x == y).then(x).otherwise(y), polars=pl.when(p == q).then(p).otherwise(q))
add("is_between", "f64", x.is_between(-1.0, 1.5, "left"), polars=p.is_between(-1.0, 1.5, "left"))
add("is_between", "f64", x.is_between(-1.0, NAN, "right"), polars=p.is_between(-1.0, NAN, "right"))
add(
    "is_between",
    "text",
    x.is_between(tf.lit("a"), tf.lit("b"), "none"),
    polars=p.is_between(pl.lit("a"), pl.lit("b"), "none"),
)
add("is_in", "i64", x.is_in([0, -(2**63), 3]), polars=p.is_in([0, -(2**63), 3]))
add("is_in", "f64", x.is_in([NAN, 0.0, 1.5]), polars=p.is_in([NAN, 0.0, 1.5]))
add("is_in", "text", x.is_in(["", "\U00010348", "abcabcabcabca"]), polars=p.is_in(["", "\U00010348", "abcabcabcabca"]))
add("is_in", "text", x.is_in(["a", None], nulls_equal=True), polars=p.is_in(["a", None], nulls_equal=True))

# Casts ---------------------------------------------------------------------------------------------------------

TYPES = {
    "i8": (tf.Int8, pl.Int8), "i16": (tf.Int16, pl.Int16), "i32": (tf.Int32, pl.Int32), "i64": (tf.Int64, pl.Int64),
    "u8": (tf.UInt8, pl.UInt8), "u16": (tf.UInt16, pl.UInt16), "u32": (tf.UInt32, pl.UInt32),
    "u64": (tf.UInt64, pl.UInt64), "f32": (tf.Float32, pl.Float32), "f64": (tf.Float64, pl.Float64),
}  # fmt: skip
for kind in TYPES:
    for our_type, their_type in TYPES.values():
        add("cast", kind, x.cast(our_type, strict=False), polars=p.cast(their_type, strict=False))
    add("cast", kind, x.cast(tf.Boolean), polars=p.cast(pl.Boolean))
    add("cast", "bool", x.cast(TYPES[kind][0]), polars=p.cast(TYPES[kind][1]))
    if kind[0] in "iu":
        add("cast", kind, x.cast(tf.String), polars=p.cast(pl.String), pyarrow=lambda a: a.cast(pa.string()))
        nought = But(lambda text: text == "-0", lambda _: 0, "a value that fits is cast: minus nought is nought")
        add(
            "cast", "numerals", x.cast(TYPES[kind][0], strict=False), *([nought] if kind[0] == "u" else []),
            polars=p.cast(TYPES[kind][1], strict=False),
        )  # fmt: skip
add("cast", "numerals", x.cast(tf.Float64), polars=p.cast(pl.Float64), pyarrow=lambda a: a.cast(pa.float64()))
add("cast", "bool", x.cast(tf.String), polars=p.cast(pl.String), duckdb="x::VARCHAR")
add("cast", "dates", x.cast(tf.Int32), polars=p.cast(pl.Int32))
add("cast", "instants", x.cast(tf.Int64), polars=p.cast(pl.Int64))
add("cast", "durations", x.cast(tf.Int64), polars=p.cast(pl.Int64))
add("cast", "i64", x.cast(tf.Datetime("ns")), polars=p.cast(pl.Datetime("ns")))
add("cast", "instants", x.cast(tf.Date), polars=p.cast(pl.Date))
add("cast", "text", x.cast(tf.Binary), polars=p.cast(pl.Binary))
