"""Random functions of a row beside polars: nested in each other, in conditions, over static tables and live ones that change."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

import tickframe as tf
from beside_polars import Changing, beside, numbers

NAN, INF = float("nan"), float("inf")
MOST = 2**63 - 1
TEXTS = [
    "", "a", "Ab c", "  pad\t", "Straße", "ΑΣ", "naïve é", "1", "-12", "3.5", "x,y,,z", "日本語", "\U0001f600!", "aXbXc", "0012",
]  # fmt: skip
INSTANTS = [
    dt.datetime(1700, 2, 28, 23, 59, 59, 999999), dt.datetime(1900, 3, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1970, 1, 1), dt.datetime(2000, 2, 29, 12),
    dt.datetime(2024, 2, 29, 1, 2, 3, 456789), dt.datetime(2024, 3, 31, 2, 30), dt.datetime(2024, 10, 27, 2, 30),
    dt.datetime(2024, 12, 30), dt.datetime(2027, 1, 1, 0, 0, 0, 1), dt.datetime(2200, 6, 15, 18, 45),
]  # fmt: skip
SCHEMA = {
    "x": pl.Int64, "i": pl.Int32, "s": pl.Int8, "u": pl.UInt8, "w": pl.UInt64, "y": pl.Float64, "z": pl.Float32, "b": pl.Boolean,
    "t": pl.String, "p": pl.Datetime("ns"), "m": pl.Datetime("ms"), "q": pl.Datetime("us", "Europe/Berlin"), "d": pl.Date,
    "r": pl.Duration("us"), "v": pl.List(pl.Int64), "l": pl.List(pl.Float64), "k": pl.List(pl.String), "n": pl.Int64,
    "c": pl.Decimal(9, 2), "e": pl.Decimal(12, 4),
}  # fmt: skip
UTC = dt.UTC
MAKERS = {
    "x": lambda draw: draw.choice([None, *range(-3, 8), *([MOST, -MOST - 1] if draw.random() < 0.3 else [])]),
    "i": lambda draw: draw.choice([None, 2**31 - 1, -(2**31), *range(-3, 4)]),
    "s": lambda draw: draw.choice([None, -128, 127, *range(-3, 4)]),
    "u": lambda draw: draw.choice([None, 255, 0, 1, 7]),
    "w": lambda draw: draw.choice([None, 2**64 - 1, 0, 1, 7]),
    "y": lambda draw: draw.choice([None, NAN, INF, -INF, 0.0, -0.0, -1.5, 0.5, 2.5, 1e300, 1e-300, 123456.789, -7.25]),
    "z": lambda draw: draw.choice([None, NAN, INF, 0.0, -1.5, 0.5, 2.5, 3e38]),
    "b": lambda draw: draw.choice([None, True, False]),
    "t": lambda draw: draw.choice([None, *TEXTS]),
    "p": lambda draw: draw.choice([None, *INSTANTS]),
    "m": lambda draw: draw.choice([None, *(each.replace(microsecond=each.microsecond // 1000 * 1000) for each in INSTANTS)]),
    "q": lambda draw: draw.choice([None, *(each.replace(tzinfo=UTC) for each in INSTANTS[2:-1])]),
    "d": lambda draw: draw.choice([None, *(each.date() for each in INSTANTS)]),
    "r": lambda draw: draw.choice([None, *(dt.timedelta(microseconds=at) for at in (0, 1, -1, 86_400_000_000, -90_061_000_001, 3_723_004_005))]),
    "v": lambda draw: draw.choice([None, [], [None], [1], [3, 1, 2], [1, None, -5, 1], [0, 0, 7, 2, 9]]),
    "l": lambda draw: draw.choice([None, [], [None], [1.5], [3.5, NAN, 2.0], [1.0, None, -5.25], [0.5, INF, 0.25]]),
    "k": lambda draw: draw.choice([None, [], [None], ["a"], ["b", "a", None], ["", "é", "zz"]]),
    "n": lambda draw: draw.randrange(-3, 6),
    "c": lambda draw: draw.choice([None, Decimal("0.00"), Decimal("1.25"), Decimal("-99.99"), Decimal("9999999.99")]),
    "e": lambda draw: draw.choice([None, Decimal("0.0001"), Decimal("-1.5"), Decimal("12345.6789")]),
}  # fmt: skip

Pair = tuple[tf.Expr, pl.Expr]


def call(pair: Pair, name: str, *args: Any, **named: Any) -> Pair:
    """The method ``name`` of both; in the place of a pair among the arguments stands each one's own."""

    def of(side: int) -> Any:
        made: Any = pair[side]
        for part in name.split("."):
            made = getattr(made, part)
        mine = [each[side] if isinstance(each, tuple) else each for each in args]
        return made(*mine, **{key: each[side] if isinstance(each, tuple) else each for key, each in named.items()})

    return of(0), of(1)


def col(name: str) -> Pair:
    return tf.col(name), pl.col(name)


def long(pair: Pair) -> Pair:
    """Lengths and parts of dates: Int64 here, narrow in polars."""
    return pair[0].cast(tf.Int64), pair[1].cast(pl.Int64)


def integer(draw: random.Random, depth: int) -> Pair:
    way = draw.random()
    if depth == 0 or way < 0.15:
        return long(col(draw.choice("xxnisu")))
    inner = integer(draw, depth - 1)
    if way < 0.22:
        return cast(draw, depth)
    if way < 0.4:
        return call(
            inner,
            draw.choice(["__add__", "__sub__", "__mul__", "__floordiv__", "__mod__", "__and__", "__or__", "__xor__"]),
            integer(draw, depth - 1) if draw.random() < 0.6 else draw.choice([0, 1, -1, 3, -7, MOST]),
        )
    if way < 0.5:
        return call(inner, draw.choice(["abs", "sign", "__neg__", "__invert__"]))
    if way < 0.6:
        text_of = text(draw, depth - 1)
        return long(
            draw.choice(
                [
                    lambda: call(text_of, "str.len_chars"),
                    lambda: call(text_of, "str.len_bytes"),
                    lambda: call(text_of, "str.count_matches", draw.choice(["a", "[a-z]+", "é", "."])),
                    lambda: call(text_of, "str.find", draw.choice(["a", "X", "é", "[0-9]"])),
                ]
            )()
        )
    if way < 0.75:
        when = moment(draw, depth - 1)
        return long(
            call(
                when,
                f"dt.{draw.choice(['year', 'quarter', 'month', 'week', 'weekday', 'ordinal_day', 'day', 'iso_year', 'days_in_month', 'century', 'millennium'])}",
            )
        )
    if way < 0.8:
        when = instant(draw, depth - 1)
        return long(
            call(when, f"dt.{draw.choice(['hour', 'minute', 'second', 'millisecond', 'microsecond', 'nanosecond'])}")
        )
    if way < 0.85:
        return long(
            call(
                col("r"),
                f"dt.total_{draw.choice(['days', 'hours', 'minutes', 'seconds', 'milliseconds', 'microseconds', 'nanoseconds'])}",
            )
        )
    if way < 0.95:
        of = listed(draw, depth - 1)
        name = draw.choice(["len", "sum", "min", "max", "first", "last", "n_unique", "arg_min", "arg_max", "get"])
        if name == "get":
            return of[0].list.get(tf.col("n")), of[1].list.get(pl.col("n"), null_on_oob=True)
        return long(call(of, f"list.{name}"))
    return both_when(draw, inner, integer(draw, depth - 1), depth)


WHOLE = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]


def cast(draw: random.Random, depth: int) -> Pair:
    """Whole numbers of something else: what does not fit is null."""
    kind = draw.choice(WHOLE)
    of = draw.choice([real, integer, text, truth])(draw, depth - 1)
    narrow = of[0].cast(getattr(tf, kind), strict=False), of[1].cast(getattr(pl, kind), strict=False)
    if draw.random() < 0.3:
        narrow = call(narrow, draw.choice(["__add__", "__sub__", "__mul__", "__floordiv__", "__mod__"]), narrow)
    return narrow[0].cast(tf.Int64, strict=False), narrow[1].cast(pl.Int64, strict=False)


def both_when(draw: random.Random, one: Pair, other: Pair, depth: int) -> Pair:
    test = truth(draw, max(depth - 1, 0))
    if draw.random() < 0.5:
        return tf.when(test[0]).then(one[0]).otherwise(other[0]), pl.when(test[1]).then(one[1]).otherwise(other[1])
    if draw.random() < 0.5:
        return tf.coalesce(one[0], other[0]), pl.coalesce(one[1], other[1])
    again = truth(draw, max(depth - 1, 0))
    return (
        tf.when(test[0]).then(one[0]).when(again[0]).then(other[0]).otherwise(None),
        pl.when(test[1]).then(one[1]).when(again[1]).then(other[1]).otherwise(None),
    )


def real(draw: random.Random, depth: int) -> Pair:
    way = draw.random()
    if depth == 0 or way < 0.15:
        name = draw.choice("yyyzxc")
        if name == "c" and draw.random() < 0.5:
            of = call(col("c"), draw.choice(["__add__", "__sub__"]), col(draw.choice("ce")))
            return of[0].cast(tf.Float64), of[1].cast(pl.Float64)
        return col(name) if name == "y" else (tf.col(name).cast(tf.Float64), pl.col(name).cast(pl.Float64))
    inner = real(draw, depth - 1)
    if way < 0.45:
        return call(
            inner,
            draw.choice(["__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__"]),
            real(draw, depth - 1) if draw.random() < 0.7 else draw.choice([0.0, 1.0, -1.5]),
        )
    if way < 0.65:
        name = draw.choice(
            [
                "abs",
                "sign",
                "sqrt",
                "exp",
                "log",
                "log10",
                "log1p",
                "floor",
                "ceil",
                "sin",
                "cos",
                "tanh",
                "cbrt",
                "arctan",
            ]
        )
        # Of great numbers a sine turns a last digit into another value.
        return call(call(inner, "clip", -99.0, 99.0) if name in ("sin", "cos") else inner, name)
    if way < 0.72:
        return call(inner, "round", draw.choice([0, 1, 2, 5]))
    if way < 0.75:
        of = text(draw, depth - 1)
        return of[0].cast(tf.Float64, strict=False), of[1].cast(pl.Float64, strict=False)
    if way < 0.78:
        return call(inner, "clip", -2.5, 3.5)
    if way < 0.84:
        return call(inner, "fill_nan", 0.0)
    if way < 0.9:
        return call(
            listed(draw, depth - 1, "l"),
            f"list.{draw.choice(['sum', 'mean', 'min', 'max', 'median', 'std', 'var', 'first', 'last'])}",
        )
    name = draw.choice(["sum_horizontal", "mean_horizontal", "min_horizontal", "max_horizontal", "when"])
    other = real(draw, depth - 1)
    if name == "when":
        return both_when(draw, inner, other, depth)
    third = col("y")
    if name.startswith(("sum", "mean")):
        # In which order great numbers are added up is no one's rule.
        inner, other, third = (call(each, "clip", -99.0, 99.0) for each in (inner, other, third))
    of = (inner, other, third)
    return getattr(tf, name)(*(each[0] for each in of)), getattr(pl, name)(*(each[1] for each in of))


def truth(draw: random.Random, depth: int) -> Pair:
    way = draw.random()
    if depth == 0 or way < 0.1:
        return col("b")
    if way < 0.45:
        make = draw.choice([integer, real, text, moment])
        if make is moment:
            # Polars compares in the coarser unit of the two.
            return call(
                col("p"),
                draw.choice(["__lt__", "__eq__", "__ge__"]),
                (tf.col("m"), pl.col("m").cast(pl.Datetime("ns"))),
            )
        name = draw.choice(["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "eq_missing", "ne_missing"])
        return call(make(draw, depth - 1), name, make(draw, depth - 1))
    if way < 0.6:
        return call(truth(draw, depth - 1), draw.choice(["__and__", "__or__", "__xor__"]), truth(draw, depth - 1))
    if way < 0.65:
        return call(truth(draw, depth - 1), "__invert__")
    if way < 0.72:
        return call(draw.choice([integer, real, text])(draw, depth - 1), draw.choice(["is_null", "is_not_null"]))
    if way < 0.77:
        return call(real(draw, depth - 1), draw.choice(["is_nan", "is_finite", "is_infinite", "is_not_nan"]))
    if way < 0.85:
        of = text(draw, depth - 1)
        return draw.choice(
            [
                lambda: call(of, "str.contains", draw.choice(["a", "^[A-Z]", r"\d", "ß", "$"])),
                lambda: call(of, "str.starts_with", draw.choice(["", "a", "é", "日"])),
                lambda: call(of, "str.ends_with", draw.choice(["", "c", "é", "語"])),
            ]
        )()
    if way < 0.92:
        equal = draw.random() < 0.3
        if draw.random() < 0.5:
            return call(
                integer(draw, depth - 1), "is_in", draw.choice([[1, 2], [], [0, None], [-3, MOST]]), nulls_equal=equal
            )
        return call(
            real(draw, depth - 1), "is_in", draw.choice([[0.0, 0.5], [NAN, INF], [None, -1.5]]), nulls_equal=equal
        )
    if way < 0.96:
        return call(
            integer(draw, depth - 1), "is_between", -1, 3, closed=draw.choice(["both", "left", "right", "none"])
        )
    return call(listed(draw, depth - 1), "list.contains", draw.choice([1, 0, 7]))


def text(draw: random.Random, depth: int) -> Pair:
    way = draw.random()
    if depth == 0 or way < 0.2:
        return (tf.col("t"), pl.col("t"))
    inner = text(draw, depth - 1)
    if way < 0.4:
        return call(
            inner,
            f"str.{draw.choice(['to_lowercase', 'to_uppercase', 'strip_chars', 'strip_chars_start', 'strip_chars_end', 'reverse'])}",
        )
    if way < 0.5:
        return call(inner, "str.slice", draw.choice([0, 1, -1, -2, 5, -50]), draw.choice([None, 0, 1, 2, 50]))
    if way < 0.56:
        return call(inner, f"str.{draw.choice(['head', 'tail'])}", draw.choice([0, 1, 3, -1, -3, 50]))
    if way < 0.64:
        return call(
            inner,
            f"str.{draw.choice(['replace', 'replace_all'])}",
            draw.choice(["a", "[a-z]", r"(\w)(\w)", "é", "^"]),
            draw.choice(["", "_", "$1", "ÿ"]),
        )
    if way < 0.7:
        return call(
            inner, f"str.{draw.choice(['pad_start', 'pad_end'])}", draw.choice([0, 3, 8]), draw.choice(["*", "é"])
        )
    if way < 0.74:
        return call(inner, "str.zfill", draw.choice([0, 3, 8]))
    if way < 0.8:
        return call(inner, f"str.{draw.choice(['strip_prefix', 'strip_suffix'])}", draw.choice(["a", "", "é", "c"]))
    if way < 0.85:
        return call(inner, "str.extract", draw.choice([r"(\d+)", r"([a-z])([A-Z])?", "(é)"]), 1)
    if way < 0.9:
        return call(listed(draw, depth - 1, "k"), "list.join", draw.choice(["", "-"]))
    if way < 0.94:
        return call(moment(draw, depth - 1), "dt.strftime", draw.choice(["%Y-%m-%d", "%j %U %a %b %y", "%G-W%V-%u"]))
    if way < 0.955:
        of = draw.choice([integer, truth])(draw, depth - 1)
        return of[0].cast(tf.String), of[1].cast(pl.String)
    if way < 0.97:
        return call(inner, "__add__", col("t"))
    return both_when(draw, inner, text(draw, depth - 1), depth)


STEPS = ["1d", "2d", "1w", "1mo", "1q", "1y", "5mo"]


def instant(draw: random.Random, depth: int) -> Pair:
    way = draw.random()
    if depth == 0 or way < 0.25:
        return col(draw.choice("pmq"))
    inner = instant(draw, depth - 1)
    if way < 0.5:
        return call(inner, "dt.truncate", draw.choice([*STEPS, "1h", "15m", "7h", "1s", "250ms"]))
    if way < 0.65:
        return call(inner, "dt.round", draw.choice(["1d", "1h", "15m", "1s", "1w"]))
    if way < 0.9:
        return call(
            inner,
            "dt.offset_by",
            draw.choice(["1mo", "-1mo", "13mo", "-1y", "4y", "1w", "-1d", "3h", "-90m", "1d1h", "-1ms"]),
        )
    return call(inner, f"dt.{draw.choice(['month_start', 'month_end'])}")


def moment(draw: random.Random, depth: int) -> Pair:
    way = draw.random()
    if way < 0.5:
        return instant(draw, depth)
    if depth == 0 or way < 0.65:
        return col("d")
    if way < 0.75:
        return call(instant(draw, depth - 1), "dt.date")
    inner = col("d")
    if way < 0.85:
        return call(inner, "dt.truncate", draw.choice(["1d", "3d", "1w", "1mo", "1q", "1y"]))
    return call(inner, "dt.offset_by", draw.choice(["1mo", "-1mo", "13mo", "-1y", "4y", "1w", "-1d"]))


def listed(draw: random.Random, depth: int, name: str = "v") -> Pair:
    way = draw.random()
    if depth == 0 or way < 0.3:
        return col(name)
    inner = listed(draw, depth - 1, name)
    if way < 0.5:
        return call(inner, "list.slice", draw.choice([0, 1, -1, -2, 5]), draw.choice([None, 0, 1, 2]))
    if way < 0.6:
        return call(inner, f"list.{draw.choice(['head', 'tail'])}", draw.choice([0, 1, 2, 5]))
    if way < 0.75:
        return call(inner, "list.sort", descending=draw.random() < 0.5, nulls_last=draw.random() < 0.5)
    if way < 0.85:
        return call(inner, "list.drop_nulls")
    return call(inner, "list.reverse")


MAKE = [integer, real, truth, text, moment, lambda draw, depth: listed(draw, depth, draw.choice("vlk"))]


@pytest.mark.parametrize("part", range(4))
def test_values_are_those_of_polars(part: int) -> None:
    for number in numbers(part, 130):
        draw = random.Random(number)
        source = Changing(SCHEMA, MAKERS, draw, tf.Graph())
        ours, theirs = draw.choice(MAKE)(draw, 3)
        beside(
            [source],
            lambda t, ours=ours: t.select(v=ours),
            lambda frame, theirs=theirs: frame.select(v=theirs),
            f"seed {number}: {ours!r}",
        )
