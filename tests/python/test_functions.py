"""Every function of rows against polars, pyarrow and DuckDB, cell by cell, on the odd values of each type.

A row of the tables below is one use of a function: the data it sees, our expression, and the same for one or more
peers. Where we differ by decision the row says for which cells, what ours is, and which rule it follows; a peer that
comes to agree fails the test, so that no excuse outlives its reason. What no peer has is written out. A method of
expressions, or a function of formulas, that stands in no row fails too.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tickframe as tf
from tickframe import _native
from tickframe.errors import TickframeError

if TYPE_CHECKING:
    from collections.abc import Callable

x, y, z = tf.col("x"), tf.col("y"), tf.col("z")
p, q, r = pl.col("x"), pl.col("y"), pl.col("z")

# Data -----------------------------------------------------------------------------------------------------------

DAY, HOUR = 86_400_000_000_000, 3_600_000_000_000
INF, NAN = math.inf, math.nan
LEAST, GREATEST = 1 - 2**63, 2**63 - 1  # of instants: what polars takes, which is all but MIN
BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
ARROW = {
    **{name: getattr(pa, ("int" if name[0] == "i" else "uint") + name[1:])() for name in BITS},
    "f32": pa.float32(),
    "f64": pa.float64(),
}


def integers(kind: str) -> list[int | None]:
    """The edges of a type of integers, and what lies around nought."""
    bits = BITS[kind]
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind[0] == "i" else (0, 2**bits - 1)
    middle = [-7, -2, -1, 0, 1, 2, 3, 7] if kind[0] == "i" else [0, 1, 2, 3, 7]
    return [None, least, least + 1, *middle, most - 1, most]


FLOATS = [
    *(None, NAN, 0.0, -0.0, INF, -INF, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.1, 7.0, -7.0, 123456.789),
    *(5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 9007199254740993.0, 1e16),
]
FLOATS32 = [None, NAN, 0.0, -0.0, INF, -INF, 1.0, -1.5, 0.5, 2.5, 7.0, -7.0, 1e-45, 3.4028234663852886e38, 16777216.0]
TEXT = [
    *(
        None,
        "",
        "a",
        "A b",
        "abc",
        "Stra\u00dfe",
        "\u00c0\u00c9\u00ee",
        "e\u0301x",
        "\U00010348",
        "a\U00010348b\U00010348",
    ),
    *("\U0001f469\u200d\U0001f469\u200d\U0001f467", "\u0130stanbul", " \t x\u00a0 ", "abcabcabcabc", "abcabcabcabca"),
    *(
        "a text longer than a view holds",
        "\u00e9" * 40,
        "nul\0byte",
        "a,b,,c",
        ",",
        "aXbXc",
        "prefix-body-suffix",
        "...",
    ),
    *("\u03a3\u03bf\u03c6\u03cc\u03c2", "hello WORLD of\u00a0text", "x" * 300),
]
NUMERALS = [
    None,
    "0",
    "-0",
    "42",
    "-7",
    "007",
    "127",
    "128",
    "-128",
    "-129",
    "12345678",
    "123456789012",
    "-99999999999",
]
NUMERALS += ["9223372036854775807", "-9223372036854775808", "2147483648", "1000000000000"]
DATES = [None, -719_162, -141_427, -25_509, -1, 0, 59, 11_016, 11_017, 19_782, 19_783, 20_088, 20_087, 2_932_896, -3653]
INSTANTS = [
    *(None, LEAST, GREATEST, -1, 0, 1, -DAY, -DAY - 1, DAY - 1, DAY, -HOUR, HOUR - 1, 951_782_400_000_000_000),
    *(1_709_251_199_999_999_999, 1_709_164_800_000_000_000, -2_203_891_200_000_000_000, 1_735_516_800_123_456_789),
    *(1_703_980_800_000_000_000, -86_399_999_999_999, 4_107_542_399_999_999_999, 1_362_898_800_000_000_000),
]
#: Instants that can be moved and rounded without leaving the range.
INNER = [ns for ns in INSTANTS if ns not in {LEAST, GREATEST}]
TIMES = [None, 0, 1, 999, DAY - 1, HOUR, 45_296_789_012_345, 12 * HOUR]
DURATIONS = [None, 0, 1, -1, DAY, -DAY, DAY - 1, 1 - DAY, -DAY - 1, HOUR, 999, -1_000, 1_001, LEAST, GREATEST]
BINARIES = [None, b"", b"\0", b"\xff\xfe", "\u00e9".encode(), b"ab\0cd", b"abcdefghijkl", b"abcdefghijklm", b"ab" * 40]
LISTS = [None, [], [None], [1], [3, 1, 2], [None, 2, None, 2], [2**63 - 1, 1], [-(2**63)], list(range(20))]
FLOAT_LISTS = [
    None,
    [],
    [None],
    [NAN],
    [NAN, 1.0],
    [1.0, None, NAN],
    [-0.0, 0.0],
    [INF, -INF],
    [0.1, 0.2, 0.3],
    [5e-324],
]
TEXT_LISTS = [None, [], ["a"], ["b", "a"], ["\U00010348", "\u00e9", ""], [None], ["a", None, "a"], ["x" * 20, "x" * 20]]
STRUCTS = [None, {"a": 1, "b": "s"}, {"a": None, "b": "\U00010348"}, {"a": -(2**63), "b": None}, {"a": None, "b": None}]

NS = pa.timestamp("ns")
DATA: dict[str, dict[str, pa.Array]] = {
    **{kind: {"x": pa.array(integers(kind), ARROW[kind])} for kind in BITS},
    "f64": {"x": pa.array(FLOATS)},
    "f32": {"x": pa.array(FLOATS32, pa.float32())},
    "bool": {"x": pa.array([None, True, False])},
    "text": {"x": pa.array(TEXT)},
    "numerals": {"x": pa.array(NUMERALS)},
    "dates": {"x": pa.array(DATES, pa.int32()).cast(pa.date32())},
    "instants": {"x": pa.array(INSTANTS, NS)},
    "inner": {"x": pa.array(INNER, NS)},
    "zoned": {"x": pa.array(INNER, pa.timestamp("ns", "America/New_York"))},
    "times": {"x": pa.array(TIMES, pa.time64("ns"))},
    "durations": {"x": pa.array(DURATIONS, pa.duration("ns"))},
    "binary": {"x": pa.array(BINARIES)},
    "lists": {"x": pa.array(LISTS, pa.list_(pa.int64()))},
    "float_lists": {"x": pa.array(FLOAT_LISTS, pa.list_(pa.float64()))},
    "text_lists": {"x": pa.array(TEXT_LISTS, pa.list_(pa.string()))},
    "structs": {"x": pa.array(STRUCTS)},
}


def pairs(first: pa.Array, second: pa.Array) -> dict[str, pa.Array]:
    """Every cell of one beside every cell of the other."""
    left = [at for at in range(len(first)) for _ in range(len(second))]
    right = list(range(len(second))) * len(first)
    return {"x": first.take(pa.array(left)), "y": second.take(pa.array(right))}


for kind in [*BITS, "f64", "f32", "bool", "text"]:
    DATA[f"{kind}*{kind}"] = pairs(DATA[kind]["x"], DATA[kind]["x"])
DATA["i64*shift"] = pairs(DATA["i64"]["x"], pa.array([None, 0, 1, 5, 63]))
DATA["i64*power"] = pairs(DATA["i64"]["x"], pa.array([None, 0, 1, 2, 3, 62]))
DATA["text*count"] = pairs(DATA["text"]["x"], pa.array([None, 0, 1, 2, -1, -2, 13, 1000, -1000]))
DATA["instants*durations"] = pairs(
    pa.array([None, 0, -1, DAY, -DAY - 1], NS), pa.array([None, 0, 1, -1, DAY], pa.duration("ns"))
)
DATA["instants*instants"] = pairs(DATA["inner"]["x"], DATA["inner"]["x"])
DATA["good_times"] = {"x": pa.array([None, "00:00:00", "23:59:59.999999999", "12:30", "01:02:03.5"])}
DATA["days"] = {"x": pa.array([None, 0, -1, 19_782, -719_162], pa.int32())}
DATA["lists*index"] = pairs(DATA["lists"]["x"], pa.array([None, 0, 1, -1, 19, 20, -20, -21]))
DATA["lists*item"] = pairs(DATA["lists"]["x"], pa.array([1, 2, -(2**63), 2**63 - 1]))

# Rows -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class But:
    """Cells in which a peer differs: when, what ours is, and by which rule."""

    when: Callable[..., bool]
    ours: Callable[..., Any]
    rule: str
    peers: tuple[str, ...] = ("polars", "pyarrow", "duckdb")


@dataclass(frozen=True)
class Row:
    """A use of a function, and what the peers write for it."""

    name: str
    data: str
    ours: tf.Expr
    polars: pl.Expr | None = None
    pyarrow: Callable[..., Any] | None = None
    duckdb: str | None = None
    wanted: list[Any] | None = None
    but: tuple[But, ...] = ()
    #: Relative error, where the last bit is not defined.
    near: float = 0.0
    #: Whether the sign of a zero is compared.
    zeros: bool = True


def wrapped(bits: int) -> Callable[[int], int]:
    """A whole number as it wraps in a type of so many bits, signed."""
    return lambda value: (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


ROWS: list[Row] = []


def add(name: str, data: str, ours: tf.Expr, *but: But, **more: Any) -> None:
    ROWS.append(Row(name, data, ours, but=but, **more))


# Numbers --------------------------------------------------------------------------------------------------------

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
    add(
        "round",
        kind,
        x.round(),
        polars=p.round(),
        pyarrow=pc.round,
        duckdb="round_even(x, 0)",
        zeros=False,
    )
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

# Logic, nulls ---------------------------------------------------------------------------------------------------

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

# Casts ----------------------------------------------------------------------------------------------------------

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

# Strings --------------------------------------------------------------------------------------------------------

S, T = x.str, p.str
add(
    "str.len_chars",
    "text",
    S.len_chars(),
    polars=T.len_chars(),
    pyarrow=pc.utf8_length,
    duckdb="length(x)",
)
add(
    "str.len_bytes",
    "text",
    S.len_bytes(),
    polars=T.len_bytes(),
    pyarrow=pc.binary_length,
    duckdb="strlen(x)",
)
add("str.to_lowercase", "text", S.to_lowercase(), polars=T.to_lowercase())
add("str.to_uppercase", "text", S.to_uppercase(), polars=T.to_uppercase())
add("str.to_titlecase", "text", S.to_titlecase(), polars=T.to_titlecase())
add("str.reverse", "text", S.reverse(), pyarrow=pc.utf8_reverse)
for part in ["", "a", "ab", "abc", "\u00e9", "\u0301", "\U00010348", "body", "longer than a view", "\0", "x" * 13, ","]:
    add(
        "str.contains", "text", S.contains(part, literal=True), polars=T.contains(part, literal=True),
        pyarrow=lambda a, part=part: pc.match_substring(a, part),
    )  # fmt: skip
    add(
        "str.starts_with", "text", S.starts_with(part), polars=T.starts_with(part),
        pyarrow=lambda a, part=part: pc.starts_with(a, part),
    )  # fmt: skip
    add(
        "str.ends_with", "text", S.ends_with(part), polars=T.ends_with(part),
        pyarrow=lambda a, part=part: pc.ends_with(a, part),
    )  # fmt: skip
    add("str.strip_prefix", "text", S.strip_prefix(part), polars=T.strip_prefix(part))
    add("str.strip_suffix", "text", S.strip_suffix(part), polars=T.strip_suffix(part))
    add("str.find", "text", S.find(part, literal=True), polars=T.find(part, literal=True))
    add("str.count_matches", "text", S.count_matches(part, literal=True), polars=T.count_matches(part, literal=True))
    add("str.replace", "text", S.replace(part, "<$0>", literal=True), polars=T.replace(part, "<$0>", literal=True))
    add(
        "str.replace_all",
        "text",
        S.replace_all(part, "<$0>", literal=True),
        polars=T.replace_all(part, "<$0>", literal=True),
    )
    if part:
        add(
            "str.split",
            "text",
            S.split(part),
            polars=T.split(part),
            pyarrow=lambda a, part=part: pc.split_pattern(a, part),
        )
add("str.contains", "text*text", S.contains(y, literal=True), polars=T.contains(q, literal=True))
add("str.starts_with", "text*text", S.starts_with(y), polars=T.starts_with(q), duckdb="starts_with(x, y)")
add("str.ends_with", "text*text", S.ends_with(y), polars=T.ends_with(q), duckdb="ends_with(x, y)")
add("str.index_of", "text*text", S.index_of(y), duckdb="instr(x, y) - 1")
for pattern in ["[a-c]+", "^.", "\\s", "(?i)TEXT", "b|d", "\\p{L}", "$", "X(.)"]:
    add("str.contains", "text", S.contains(pattern), polars=T.contains(pattern))
    add("str.find", "text", S.find(pattern), polars=T.find(pattern))
    add("str.count_matches", "text", S.count_matches(pattern), polars=T.count_matches(pattern))
    add("str.extract_all", "text", S.extract_all(pattern), polars=T.extract_all(pattern))
    add("str.extract", "text", S.extract(f"({pattern})"), polars=T.extract(f"({pattern})"))
    add("str.replace", "text", S.replace(pattern, "<$0>"), polars=T.replace(pattern, "<$0>"))
    add("str.replace_all", "text", S.replace_all(pattern, "<$0>"), polars=T.replace_all(pattern, "<$0>"))
add("str.slice", "text*count", S.slice(y), polars=T.slice(q))
add("str.slice", "text*count", S.slice(y, 2), polars=T.slice(q, 2))
add("str.slice", "text", S.slice(-3, 2), polars=T.slice(-3, 2))
add("str.head", "text*count", S.head(y), polars=T.head(q))
add("str.tail", "text*count", S.tail(y), polars=T.tail(q))
for ends, arrow, space in [
    ("strip_chars", pc.utf8_trim, pc.utf8_trim_whitespace),
    ("strip_chars_start", pc.utf8_ltrim, pc.utf8_ltrim_whitespace),
    ("strip_chars_end", pc.utf8_rtrim, pc.utf8_rtrim_whitespace),
]:
    add(f"str.{ends}", "text", getattr(S, ends)(), polars=getattr(T, ends)(), pyarrow=space)
    for set_ in ["a", "ab ", "\u00e9\u00c0", "\U00010348.", "x"]:
        add(
            f"str.{ends}", "text", getattr(S, ends)(set_), polars=getattr(T, ends)(set_),
            pyarrow=lambda a, arrow=arrow, set_=set_: arrow(a, set_),
        )  # fmt: skip
for width in (0, 3, 14):
    add("str.zfill", "numerals", S.zfill(width), polars=T.zfill(width))
    add("str.pad_start", "text", S.pad_start(width, "*"), polars=T.pad_start(width, "*"))
    add(
        "str.pad_end",
        "text",
        S.pad_end(width, "*"),
        polars=T.pad_end(width, "*"),
        pyarrow=lambda a, width=width: pc.utf8_rpad(a, width, "*"),
    )
add("str.to_integer", "numerals", S.to_integer(), polars=T.to_integer())
add("__add__", "text*text", x + y, polars=p + q, duckdb="x || y")

READ_DATES = [None, "2024-02-29", "1969-12-31", "0001-01-01", "9999-12-31", "2023-02-29", "", "x"]
READ_INSTANTS = [
    None,
    "2024-02-29T23:59:59",
    "1969-12-31T23:59:59.999999999",
    "2024-02-29 00:00:00",
    "2023-02-29T00:00:00",
    "",
]
DATA["read_dates"] = {"x": pa.array(READ_DATES)}
DATA["read_instants"] = {"x": pa.array(READ_INSTANTS)}
add("str.to_date", "read_dates", S.to_date(strict=False), polars=T.to_date("%Y-%m-%d", strict=False))
add("str.to_date", "read_dates", S.to_date("%Y-%m-%d", strict=False), polars=T.to_date("%Y-%m-%d", strict=False))
add(
    "str.to_datetime", "read_instants", S.to_datetime(strict=False),
    wanted=[None, 1_709_251_199_000_000_000, -1, 1_709_164_800_000_000_000, None, None],
)  # fmt: skip
add(
    "str.to_datetime", "read_instants", S.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False),
    polars=T.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="ns"),
)  # fmt: skip

B, C = x.bin, p.bin
add("bin.size", "binary", B.size(), polars=C.size(), pyarrow=pc.binary_length, duckdb="octet_length(x)")
for bytes_ in [b"", b"\0", b"\xff", b"ab", b"abcdefghijklm"]:
    add(
        "bin.contains",
        "binary",
        B.contains(bytes_),
        polars=C.contains(bytes_),
        pyarrow=lambda a, b=bytes_: pc.match_substring(a, b),
    )
    add(
        "bin.starts_with",
        "binary",
        B.starts_with(bytes_),
        polars=C.starts_with(bytes_),
        pyarrow=lambda a, b=bytes_: pc.starts_with(a, b),
    )
    add(
        "bin.ends_with",
        "binary",
        B.ends_with(bytes_),
        polars=C.ends_with(bytes_),
        pyarrow=lambda a, b=bytes_: pc.ends_with(a, b),
    )

# Time -----------------------------------------------------------------------------------------------------------

D, E = x.dt, p.dt
DATE_PARTS = {
    "year": pc.year, "quarter": pc.quarter, "month": pc.month, "week": pc.iso_week, "ordinal_day": pc.day_of_year,
    "day": pc.day, "weekday": lambda a: pc.day_of_week(a, count_from_zero=False, week_start=1),
}  # fmt: skip
TIME_PARTS = {
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
    "millisecond": None,
    "microsecond": None,
    "nanosecond": None,
}
for part, arrow in {**DATE_PARTS, **TIME_PARTS}.items():
    for data in ("instants", "zoned"):
        add(f"dt.{part}", data, getattr(D, part)(), polars=getattr(E, part)(), pyarrow=arrow)
    add(
        f"dt.{part}",
        "dates" if part in DATE_PARTS else "times",
        getattr(D, part)(),
        polars=getattr(E, part)(),
        pyarrow=arrow,
    )
for data in ("instants", "zoned"):
    add("dt.date", data, D.date(), polars=E.date())
    add("dt.time", data, D.time(), polars=E.time())
# Polars has its weeks in pairs begin at another Monday; DuckDB's are ours.
add("dt.truncate", "dates", D.truncate("2w"), duckdb="time_bucket(INTERVAL 14 DAY, x)::DATE")
for every in ("1ns", "7us", "1ms", "1s", "15m", "1h", "7h", "1d", "3d", "1w", "1mo", "5mo", "1q", "1y"):
    add("dt.truncate", "inner", D.truncate(every), polars=E.truncate(every))
    if every[-1] not in "ns" and every[-1] != "h" and every[-1] != "m":
        add("dt.truncate", "dates", D.truncate(every), polars=E.truncate(every))
for every in ("1s", "1h", "1d", "1w", "1mo"):
    add("dt.round", "inner", D.round(every), polars=E.round(every))
    add("dt.truncate", "zoned", D.truncate(every), polars=E.truncate(every))
for by in ("1ns", "-1h", "1d", "-1d", "1w", "1mo", "-1mo", "13mo", "1q", "1y", "-4y", "1y1mo1d1h1ns"):
    add("dt.offset_by", "inner", D.offset_by(by), polars=E.offset_by(by))
    if "h" not in by and by != "1ns":
        add("dt.offset_by", "dates", D.offset_by(by), polars=E.offset_by(by))
for name in ("month_start", "month_end"):
    add(f"dt.{name}", "inner", getattr(D, name)(), polars=getattr(E, name)())
    add(f"dt.{name}", "dates", getattr(D, name)(), polars=getattr(E, name)())
for text in ("%Y-%m-%d", "%H:%M:%S", "%j %U %a %b", "%y/%m/%d %I:%M %p"):
    add("dt.strftime", "inner", D.strftime(text), polars=E.strftime(text))
add("dt.strftime", "dates", D.strftime("%Y-%m-%d"), polars=E.strftime("%Y-%m-%d"))
for total in ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"):
    add(f"dt.total_{total}", "durations", getattr(D, f"total_{total}")(), polars=getattr(E, f"total_{total}")())
for unit in ("ns", "us", "ms", "s", "d"):
    add("dt.epoch", "instants", D.epoch(unit), polars=E.epoch(unit))
add("dt.convert_time_zone", "zoned", D.convert_time_zone("Asia/Kolkata"), polars=E.convert_time_zone("Asia/Kolkata"))
add("dt.replace_time_zone", "inner", D.replace_time_zone("UTC"), polars=E.replace_time_zone("UTC"))
add("dt.replace_time_zone", "zoned", D.replace_time_zone(None), polars=E.replace_time_zone(None))
add("dt.bin", "inner", D.bin("1h"), polars=E.truncate("1h"))
add("lower_bin", "inner", x.lower_bin("15m"), polars=E.truncate("15m"))
add("__add__", "instants*durations", x + y, polars=p + q)
add("__sub__", "instants*durations", x - y, polars=p - q)
add("__lt__", "instants*instants", x < y, polars=p < q, duckdb="x < y")

# Lists, structs -------------------------------------------------------------------------------------------------

L, M = x.list, p.list
for data in ("lists", "float_lists", "text_lists"):
    add("list.len", data, L.len(), polars=M.len(), pyarrow=pc.list_value_length, duckdb="len(x)")
    add("list.first", data, L.first(), polars=M.first())
    add("list.last", data, L.last(), polars=M.last())
    add("list.reverse", data, L.reverse(), polars=M.reverse())
    add("list.min", data, L.min(), polars=M.min(), zeros=False)
    add("list.max", data, L.max(), polars=M.max(), zeros=False)
    add("list.sort", data, L.sort(), polars=M.sort(), zeros=False)
    add(
        "list.sort",
        data,
        L.sort(descending=True, nulls_last=True),
        polars=M.sort(descending=True, nulls_last=True),
        zeros=False,
    )
    add("list.unique", data, L.unique(), polars=M.unique(maintain_order=True), zeros=False)
    for n in (0, 1, 2, 30):
        add("list.head", data, L.head(n), polars=M.head(n))
        add("list.tail", data, L.tail(n), polars=M.tail(n))
        add("list.slice", data, L.slice(n, 2), polars=M.slice(n, 2))
    add("list.slice", data, L.slice(1), polars=M.slice(1))
    add("list.drop_nulls", data, L.drop_nulls(), polars=M.drop_nulls())
    add("list.n_unique", data, L.n_unique(), polars=M.n_unique())
    add("list.count", data, L.count(), polars=M.drop_nulls().list.len())
    add("list.count_distinct", data, L.count_distinct(), polars=M.drop_nulls().list.n_unique())
SMALL_LISTS = [None, [], [None], [1], [3, 1, 2], [None, 2, None, 2], [-7, 0, 7, 7], list(range(20))]
DATA["small_lists"] = {"x": pa.array(SMALL_LISTS, pa.list_(pa.int64()))}
NO_FACTOR = But(
    lambda cells: not [cell for cell in cells if cell is not None],
    lambda _: None,
    "an aggregate of no value is null, but for sum and count",
)
add("list.arg_min", "small_lists", L.arg_min(), polars=M.arg_min())
add("list.arg_max", "small_lists", L.arg_max(), polars=M.arg_max())
add("list.median", "small_lists", L.median(), polars=M.median())
add("list.std", "small_lists", L.std(), polars=M.std(), near=1e-15)
add("list.var", "small_lists", L.var(), polars=M.var(), near=1e-15)
add(
    "list.quantile",
    "small_lists",
    L.quantile(0.25),
    polars=M.eval(pl.element().quantile(0.25, "nearest")).list.first(),
)
add("list.product", "small_lists", L.product(), NO_FACTOR, polars=M.eval(pl.element().product()).list.first())
add("list.abs_mean", "small_lists", L.abs_mean(), polars=M.eval(pl.element().abs().mean()).list.first())
add("list.get", "lists*index", L.get(y), polars=M.get(q, null_on_oob=True))
add("list.sum", "lists", L.sum(), polars=M.sum())
add("list.sum", "float_lists", L.sum(), polars=M.sum(), near=1e-15, zeros=False)
add("list.mean", "float_lists", L.mean(), polars=M.mean(), near=1e-15, zeros=False)
add("list.contains", "lists*item", L.contains(y), polars=M.contains(q))
add("list.contains", "float_lists", L.contains(NAN), polars=M.contains(NAN))
add("list.contains", "text_lists", L.contains("a"), polars=M.contains("a"))
add("list.join", "text_lists", L.join("-"), polars=M.join("-", ignore_nulls=True))


def order_of(cells: list[Any]) -> list[tuple[Any, ...]]:
    """What puts a list in its order: null is the least of all, NaN the greatest."""
    is_nan = [isinstance(cell, float) and math.isnan(cell) for cell in cells]
    bare = [cell.encode() if isinstance(cell, str) else cell for cell in cells]
    return [(0,) if cell is None else (2,) if nan else (1, cell) for cell, nan in zip(bare, is_nan, strict=True)]


HOLDS_NULL, LEAST_OF_ALL = (lambda a, b: None in a + b), "null is the least of all, in DuckDB the greatest"
for data in ("lists", "float_lists", "text_lists"):
    both = f"{data}*{data}"
    DATA[both] = pairs(DATA[data]["x"], DATA[data]["x"])
    add("__eq__", both, x == y, polars=p == q, duckdb="x = y")
    add("__ne__", both, x != y, polars=p != q, duckdb="x <> y")
    add("eq_missing", both, x.eq_missing(y), polars=p.eq_missing(q))
    add("ne_missing", both, x.ne_missing(y), polars=p.ne_missing(q))
    less = But(HOLDS_NULL, lambda a, b: order_of(a) < order_of(b), LEAST_OF_ALL)
    add("__lt__", both, x < y, less, duckdb="x < y")
    at_least = But(HOLDS_NULL, lambda a, b: order_of(a) >= order_of(b), LEAST_OF_ALL)
    add("__ge__", both, x >= y, at_least, duckdb="x >= y")
add("struct.field", "structs", x.struct.field("a"), polars=p.struct.field("a"))
add("struct.field", "structs", x.struct.field("b"), polars=p.struct.field("b"))
add("struct.rename_fields", "structs", x.struct.rename_fields(["c", "d"]), polars=p.struct.rename_fields(["c", "d"]))

# The test -------------------------------------------------------------------------------------------------------


def cells(array: Any) -> list[Any]:
    """What stands in an array: instants, dates and durations as whole numbers, of nanoseconds or of days."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind = array.type
    if pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        to = {"ti": pa.time64("ns"), "du": pa.duration("ns")}.get(str(kind)[:2], NS)
        if pa.types.is_timestamp(kind):
            to = pa.timestamp("ns", kind.tz)
        array = array.cast(to).cast(pa.int64())
    return array.to_pylist()


def same(row: Row, wanted: Any, found: Any) -> bool:
    """Whether two cells are equal, as the row asks."""
    if isinstance(wanted, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(wanted) == len(found) and all(same(row, *both) for both in zip(wanted, found, strict=True))
    if wanted is None or found is None:
        return wanted is found
    if isinstance(wanted, float) and isinstance(found, float):
        if math.isnan(wanted) or math.isnan(found):
            return math.isnan(wanted) and math.isnan(found)
        if wanted == found:
            return not row.zeros or wanted != 0 or math.copysign(1, wanted) == math.copysign(1, found)
        return row.near > 0 and math.isclose(wanted, found, rel_tol=row.near, abs_tol=1e-323)
    return bool(wanted == found)


def of_polars(columns: dict[str, pa.Array], expression: pl.Expr) -> Any:
    frame = pl.from_arrow(pa.table(columns))
    assert isinstance(frame, pl.DataFrame)
    return frame.select(out=expression).to_arrow()["out"]


def of_duckdb(columns: dict[str, pa.Array], sql: str) -> Any:
    data = pa.table(columns)
    return duckdb.sql(f"SELECT {sql} AS out FROM data").to_arrow_table()["out"] if len(data) else data["x"]


def ours(columns: dict[str, pa.Array], expression: tf.Expr) -> Any:
    return pa.table(tf.from_arrow(pa.table(columns)).select(out=expression))["out"]


def peers(row: Row, columns: dict[str, pa.Array]) -> dict[str, list[Any]]:
    """What each peer says, or what was written down."""
    said = {}
    if row.polars is not None:
        said["polars"] = cells(of_polars(columns, row.polars))
    if row.pyarrow is not None:
        said["pyarrow"] = cells(row.pyarrow(*columns.values()))
    if row.duckdb is not None:
        said["duckdb"] = cells(of_duckdb(columns, row.duckdb))
    if row.wanted is not None:
        said["what is written"] = row.wanted
    return said


def label(row: Row) -> str:
    return f"{row.name}-{row.data}"


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_function_equals_its_peers(row: Row):
    columns = DATA[row.data]
    found = cells(ours(columns, row.ours))
    given = list(zip(*(cells(column) for column in columns.values()), strict=True))
    said = peers(row, columns)
    assert said, f"{row.name}: nobody to compare with"
    wrong = []
    for peer, wanted in said.items():
        excused: set[str] = set()
        for at, values in enumerate(given):
            if same(row, wanted[at], found[at]):
                continue
            but = next((but for but in row.but if peer in but.peers and None not in values and but.when(*values)), None)
            if but is None or not same(row, but.ours(*values), found[at]):
                wrong.append(
                    f"{values!r}: {found[at]!r}, {peer}: {wanted[at]!r}" + (f", by rule {but.rule}" if but else "")
                )
            else:
                excused.add(but.rule)
        stale = [but.rule for but in row.but if peer in but.peers and but.rule not in excused]
        wrong.extend(f"{peer} no longer differs: {rule}" for rule in stale)
    assert not wrong, f"{row.ours!r} of {row.data}\n" + "\n".join(wrong[:20])
    # Of nothing comes nothing, of the same type; cells that begin elsewhere in memory are the same cells.
    empty = ours({name: column.slice(0, 0) for name, column in columns.items()}, row.ours)
    assert (len(empty), empty.type) == (0, ours(columns, row.ours).type)
    twice = {name: pa.concat_arrays([column, column]).slice(1) for name, column in columns.items()}
    assert repr(cells(ours(twice, row.ours))) == repr([*found[1:], *found])


# Formulas -------------------------------------------------------------------------------------------------------

#: A formula, and the expression (tested above) that it means.
FORMULAS: list[tuple[str, str, tf.Expr]] = [
    *[
        (f"{name}(x)", "f64", getattr(x, method)())
        for name, method in {
            **{
                name: name for name in ("abs", "sign", "sqrt", "cbrt", "exp", "log", "log10", "log1p", "round", "floor")
            },
            **{name: name for name in ("ceil", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
            "signum": "sign",
            "rint": "round",
            "asin": "arcsin",
            "acos": "arccos",
            "atan": "arctan",
            "toDegrees": "degrees",
            "toRadians": "radians",
            "isNull": "is_null",
            "isNaN": "is_nan",
            "isInf": "is_infinite",
            "isFinite": "is_finite",
        }.items()
    ],
    ("log(x, 10)", "f64", x.log(10)),
    ("round(x, 1)", "f64", x.round(1)),
    ("pow(x, y)", "f64*f64", x**y),
    ("clamp(x, -1.0, 2.0)", "f64", x.clip(-1.0, 2.0)),
    ("atan2(x, y)", "f64*f64", tf.arctan2(x, y)),
    ("min(x, y)", "f64*f64", tf.min_horizontal(x, y)),
    ("max(x, y, 1.0)", "f64*f64", tf.max_horizontal(x, y, tf.lit(1.0))),
    ("lowerBin(x, 5)", "i64", x.lower_bin(5)),
    ("lowerBin(x, 5, 1)", "i64", x.lower_bin(5, 1)),
    ("upperBin(x, 5)", "i64", x.upper_bin(5)),
    ("upperBin(x, 15 * MINUTE)", "inner", x.upper_bin("15m")),
    ("not(x)", "bool", ~x),
    ("ifelse(x == y, x, y)", "text*text", tf.when(x == y).then(x).otherwise(y)),
    ("inRange(x, -1.0, 1.5)", "f64", x.is_between(-1.0, 1.5)),
    ("isNormal(x)", "f64", x.is_finite().fill_null(value=False)),
    ("replaceIfNull(x, 0.0)", "f64", x.fill_null(0.0)),
    ("replaceIfNaN(x, 0.0)", "f64", x.fill_nan(0.0)),
    ("replaceIfNullNaN(x, 0.0)", "f64", x.fill_nan(0.0).fill_null(0.0)),
    ("replaceIfNonFinite(x, 0.0)", "f64", tf.when(x.is_finite()).then(x).otherwise(0.0)),
    ("coalesce(x, y, `z`)", "text*text", tf.coalesce(x, y, tf.lit("z"))),
    ("fill_null(x, y)", "text*text", x.fill_null(y)),
    ("fill_nan(x, 2.0)", "f64", x.fill_nan(2.0)),
    ("cast(x, Int8, strict=false)", "i64", x.cast(tf.Int8, strict=False)),
    ("col(`x`)", "i64", x),
    ("x.length()", "text", S.len_chars()),
    ("len(x)", "text", S.len_chars()),
    ("x.upper()", "text", S.to_uppercase()),
    ("x.toUpperCase()", "text", S.to_uppercase()),
    ("x.lower()", "text", S.to_lowercase()),
    ("x.toLowerCase()", "text", S.to_lowercase()),
    ("x.trim()", "text", S.strip_chars()),
    ("x.trim(`a`)", "text", S.strip_chars("a")),
    ("x.substring(1)", "text", S.slice(1)),
    ("x.substring(1, 3)", "text", S.slice(1, 2)),
    ("x.startsWith(y)", "text*text", S.starts_with(y)),
    ("x.endsWith(y)", "text*text", S.ends_with(y)),
    ("x.contains(y)", "text*text", S.contains(y, literal=True)),
    ("x.matches(`[a-c]+`)", "text", S.contains("^(?:[a-c]+)$")),
    ("x.replace(`a`, `$0`)", "text", S.replace_all("a", "$0", literal=True)),
    ("x.replaceAll(`[ab]`, `<$0>`)", "text", S.replace_all("[ab]", "<$0>")),
    ("x.replaceFirst(`[ab]`, `<$0>`)", "text", S.replace("[ab]", "<$0>")),
    ("concat(x, y, `!`)", "text*text", x + y + "!"),
    ("x.padStart(14, `*`)", "text", S.pad_start(14, "*")),
    ("x.padEnd(14)", "text", S.pad_end(14)),
    ("x.pad(14, `*`)", "text", S.pad_end(14, "*")),
    ("x.indexOf(y)", "text*text", S.index_of(y)),
    ("x.reverse()", "text", S.reverse()),
    ("x.charAt(1)", "text", S.slice(1, 1)),
    ("x.isEmpty()", "text", S.len_bytes() == 0),
    ("x.equals(y)", "text*text", x == y),
    ("x.equalsIgnoreCase(y)", "text*text", S.to_lowercase() == y.str.to_lowercase()),
    ("parseLong(x)", "numerals", x.cast(tf.Int64)),
    ("parseInt(x)", "small_numerals", x.cast(tf.Int32)),
    ("parseDouble(x)", "numerals", x.cast(tf.Float64)),
    ("parseFloat(x)", "numerals", x.cast(tf.Float32)),
    ("parseBoolean(x)", "words", x.cast(tf.Boolean)),
    ("parseInstant(x)", "good_instants", S.to_datetime()),
    ("parseLocalTime(x)", "good_times", x.cast(tf.Time)),
    ("epochDaysToLocalDate(x)", "days", x.cast(tf.Date)),
    ("microsOfMilli(x)", "instants", D.microsecond() % 1_000),
    ("nanosOfMilli(x)", "instants", D.nanosecond() % 1_000_000),
    ("parseLocalDate(x)", "good_dates", S.to_date()),
    *[
        (f"{name}(x)", "instants", getattr(D, part)())
        for name, part in {
            "year": "year",
            "quarter": "quarter",
            "monthOfYear": "month",
            "weekOfYear": "week",
            "dayOfMonth": "day",
            "dayOfWeek": "weekday",
            "dayOfWeekValue": "weekday",
            "dayOfYear": "ordinal_day",
            "hourOfDay": "hour",
            "minuteOfHour": "minute",
            "secondOfMinute": "second",
            "millisOfSecond": "millisecond",
            "microsOfSecond": "microsecond",
            "nanosOfSecond": "nanosecond",
            "toLocalDate": "date",
            "toLocalTime": "time",
        }.items()
    ],
    ("hourOfDay(x, `America/New_York`)", "zoned", D.hour()),
    ("minuteOfDay(x)", "instants", D.hour() * 60 + D.minute()),
    ("secondOfDay(x)", "instants", D.hour() * 3600 + D.minute() * 60 + D.second()),
    ("millisOfDay(x)", "instants", D.time().cast(tf.Int64) // 1_000_000),
    ("nanosOfDay(x)", "instants", D.time().cast(tf.Int64)),
    ("atMidnight(x)", "inner", D.truncate("1d")),
    ("plus(x, HOUR)", "inner", D.offset_by("1h")),
    ("minus(x, HOUR)", "inner", D.offset_by("-1h")),
    *[
        (f"{name}(x, y)", "near_instants", value)
        for name, value in {
            "diffNanos": (y - x).dt.total_nanoseconds(),
            "diffMicros": (y - x).dt.total_microseconds(),
            "diffMillis": (y - x).dt.total_milliseconds(),
            "diffSeconds": (y - x).dt.total_nanoseconds() / 1e9,
            "diffMinutes": (y - x).dt.total_nanoseconds() / 6e10,
            "diffHours": (y - x).dt.total_nanoseconds() / 3.6e12,
            "diffDays": (y - x).dt.total_nanoseconds() / 8.64e13,
            "diffYears365": (y - x).dt.total_nanoseconds() / (365.0 * 8.64e13),
            "diffYearsAvg": (y - x).dt.total_nanoseconds() / (365.2425 * 8.64e13),
            "isBefore": x < y,
            "isBeforeOrEqual": x <= y,
            "isAfter": x > y,
            "isAfterOrEqual": x >= y,
        }.items()
    ],
    *[
        (f"epoch{name}(x)", "instants", D.epoch(unit))
        for name, unit in {"Nanos": "ns", "Micros": "us", "Millis": "ms", "Seconds": "s", "Days": "d"}.items()
    ],
    *[
        (f"epoch{name}ToInstant(x)", "i32", (x.cast(tf.Int64) * factor).cast(tf.Datetime("ns", "UTC")))
        for name, factor in {"Nanos": 1, "Micros": 1_000, "Millis": 1_000_000, "Seconds": 1_000_000_000}.items()
    ],
    ("toInstant(x, `UTC`)", "middle_dates", x.cast(tf.Datetime("ns")).dt.replace_time_zone("UTC")),
    ("toZonedDateTime(x, `Asia/Kolkata`)", "zoned", D.convert_time_zone("Asia/Kolkata")),
    ("formatDateTime(x)", "zoned", D.strftime("%Y-%m-%dT%H:%M:%S%.f %Z")),
    ("formatDate(x)", "inner", D.strftime("%Y-%m-%d")),
    ("strftime(x, `%Y`)", "inner", D.strftime("%Y")),
    ("format(`{:.1f}|{}`, x, x)", "f64", tf.format("{:.1f}|{}", x, x)),
    ("parseDuration(x)", "lengths", x.cast(tf.Duration("ns"))),
    ("epochAuto(x)", "stamps", x.cast(tf.Datetime("s", "UTC"))),
    ("epochAutoToInstant(x)", "stamps", tf.formula("epochAuto(x)")),
    ("hourOfDay(x, timeZone(`ET`))", "zoned", tf.formula("hourOfDay(x, `America/New_York`)")),
    ("nullValueFor(x)", "f64", tf.when(tf.lit(False)).then(x)),
]
DATA["small_numerals"] = {"x": pa.array(NUMERALS[:11])}
DATA["lengths"] = {"x": pa.array([None, "PT0S", "PT5H2M1.2S", "-P1DT0.000000001S", "1h30m"])}
DATA["stamps"] = {"x": pa.array([None, 1, 0, -1, 1_700_000_000], pa.int64())}
DATA["words"] = {"x": pa.array([None, "true", "false"])}
DATA["good_instants"] = {"x": pa.array(READ_INSTANTS[:4])}
DATA["good_dates"] = {"x": pa.array(READ_DATES[:5])}
DATA["middle_dates"] = {"x": pa.array([None, -25_509, -1, 0, 59, 11_016, 20_088], pa.int32()).cast(pa.date32())}
DATA["near_instants"] = pairs(pa.array([None, 0, -1, DAY, -DAY - 1, 951_782_400_000_000_000], NS), DATA["inner"]["x"])


@pytest.mark.parametrize(("text", "data", "meant"), FORMULAS, ids=[text for text, *_ in FORMULAS])
def test_formula_means_its_expression(text: str, data: str, meant: tf.Expr):
    columns = DATA[data]
    wanted, found = (ours(columns, made) for made in (meant, tf.formula(text)))
    assert (found.type, repr(cells(found))) == (wanted.type, repr(cells(wanted)))


# What has no value ----------------------------------------------------------------------------------------------

FAILING = [
    ("i64", x.cast(tf.Int32), "row 1: the value does not fit Int32.*value -9223372036854775808"),
    ("f64", x.cast(tf.Int64), "row 1: the value does not fit Int64.*value NaN"),
    ("i8", x.cast(tf.UInt8), "row 1: the value does not fit UInt8.*value -128"),
    ("text", x.cast(tf.Int64), "row 1.*no Int64"),
    ("text", x.cast(tf.Float64), "row 1.*no Float64"),
    ("read_dates", S.to_date(), "row 5: the text is no date.*2023-02-29"),
    ("read_instants", S.to_datetime(), "row 4: the text is no instant.*2023-02-29"),
    ("instants", x + tf.lit(1, tf.Duration("ns")), "row 2.*outside the range"),
    ("instants", D.truncate("1d"), "row 1.*outside the range of instants"),
    ("instants", D.offset_by("1y"), "row 2.*outside the range of instants"),
    ("instants", D.month_start(), "row 1.*outside the range of instants"),
]


@pytest.mark.parametrize(("data", "expression", "message"), FAILING, ids=[repr(row[1]) for row in FAILING])
def test_what_has_no_value_is_named_with_its_row(data: str, expression: tf.Expr, message: str):
    with pytest.raises(TickframeError, match=message):
        ours(DATA[data], expression)


# All of them ----------------------------------------------------------------------------------------------------

#: Functions whose tests stand elsewhere, and where.
ELSEWHERE = {
    "shift": "test_beside.py", "diff": "test_beside.py", "get": "test_beside.py", "alias": "test_expr.py",
    "meta_eq": "test_expr.py", "meta_output_name": "test_expr.py", "meta_columns": "test_expr.py",
    **dict.fromkeys(("sum", "mean", "min", "max", "std", "var", "count", "len", "n_unique", "first", "last"), "test_model.py"),
    **dict.fromkeys(
        ("absAvg", "avg", "countDistinct", "distinct", "indexOfMax", "indexOfMin", "median", "nth", "percentile", "product",
         "size", "sort", "sortDescending", "split", "subVector", "unique"),
        "test_vectors.py",
    ),
    **dict.fromkeys(
        ("random", "randomBool", "randomDouble", "randomFloat", "randomGaussian", "randomInt", "randomLong"), "test_random.py"
    ),
    "over": "test_over.py",
    **dict.fromkeys(
        ("abs_sum", "arg_max", "arg_min", "count_distinct", "count_where", "implode", "list.arg_sort", "median", "only",
         "product", "quantile", "weighted_mean", "weighted_sum"),
        "test_aggregates.py",
    ),
    **dict.fromkeys(("nan_min", "nan_max"), "test_operations.py"), **dict.fromkeys(("now", "today"), "test_beside.py"),
}  # fmt: skip


def written() -> set[str]:
    """Methods of expressions and of their name spaces, and functions that make expressions."""
    spaces = {"str": x.str, "dt": x.dt, "bin": x.bin, "list": x.list, "struct": x.struct}
    found = {f"{space}.{name}" for space, of in spaces.items() for name in dir(of) if name[0] != "_"}
    for name in dir(tf.Expr):
        member = getattr(tf.Expr, name)
        operator = (
            name.startswith("__") and name.endswith("__") and "Expr" in str(getattr(member, "__annotations__", ""))
        )
        if inspect.isfunction(member) and name != "__init__" and (operator or name[0] != "_"):
            found.add(name)
    return found | {"coalesce", "when", "arctan2", "min_horizontal", "max_horizontal"}


def test_every_method_of_expressions_stands_in_a_row():
    assert written() - {row.name for row in ROWS} - set(ELSEWHERE) == set()


def test_every_function_of_formulas_stands_in_a_row():
    called = {
        name.split(".")[-1] for text, *_ in FORMULAS for name in text.replace("(", " (").split() if name[0] != "("
    }
    assert set(_native.formula_functions()) - called - set(ELSEWHERE) == set()
