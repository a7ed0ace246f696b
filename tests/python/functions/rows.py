"""Odd values of each type, and what a row of a table says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable

x, y, z = tf.col("x"), tf.col("y"), tf.col("z")
p, q, r = pl.col("x"), pl.col("y"), pl.col("z")

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
DATA["near_dates"] = {"x": pa.array([day for day in DATES if day is None or -99_999 < day < 99_999], pa.date32())}
for kind in ("inner", "near_dates"):
    DATA[f"{kind}*times"] = pairs(DATA[kind]["x"], DATA["times"]["x"])
DATA["good_times"] = {"x": pa.array([None, "00:00:00", "23:59:59.999999999", "12:30", "01:02:03.5"])}
DATA["days"] = {"x": pa.array([None, 0, -1, 19_782, -719_162], pa.int32())}
DATA["lists*index"] = pairs(DATA["lists"]["x"], pa.array([None, 0, 1, -1, 19, 20, -20, -21]))
DATA["lists*item"] = pairs(DATA["lists"]["x"], pa.array([1, 2, -(2**63), 2**63 - 1]))


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


class Rows(list[Row]):
    """The rows of one family."""

    def add(self, name: str, data: str, ours: tf.Expr, *but: But, **more: Any) -> None:
        self.append(Row(name, data, ours, but=but, **more))
