"""Nothing that a user gives ends the process: too much is a ResourceError, and what means nothing is told in words.

The cases run in children with little memory, many in one child, which writes a line before and after each: so the one
at which a child died is known, and the children also show that what was refused leaves a process that works.
"""

from __future__ import annotations

import inspect
import itertools
import json
import pathlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

c = tf.col
HUGE = 2**40


def huge() -> tf.Table:
    """More rows than there is memory for, in a column that is computed when it is read."""
    return tf.empty_table(HUGE).update_view("x = ii")


def pairs() -> tf.Table:
    """A million rows of one key: joined with itself, 2^40 rows."""
    return tf.empty_table(2**20).update("x = 1")


def doubled() -> tf.Table:
    t = tf.table({"s": ["a" * 1000]})
    for _ in range(24):
        t = t.with_columns(s=c("s") + c("s"))
    return t


def appended() -> None:
    graph = tf.Graph(threads=1)
    live = tf.append_table({"x": int}, graph=graph)
    million = tf.empty_table(2**20).update("x = ii")
    for _ in range(512):
        live.append(million)
        graph.step()
        len(live)


def zeros(dtype: str = "float64") -> np.ndarray:
    """An array that fits into 3 GB of addresses once, not twice; the system gives it no memory before it is written."""
    return np.zeros((3 << 29) // np.dtype(dtype).itemsize, dtype)


TOO_MUCH: dict[str, Callable[[], object]] = {
    # First: what Python itself has once taken leaves holes in the addresses.
    "a copy of an array": lambda: tf.table({"x": zeros()}),
    "a copy of a frame": lambda: tf.table(pd.DataFrame({"x": zeros()}, copy=False)),
    "a copy of a frame's flags": lambda: tf.table(pd.DataFrame({"x": zeros("int8")}, copy=False)),
    "a copy of an Arrow table": lambda: tf.table(pa.table({"x": pa.array(zeros())})),
    "a copy of an Arrow column": lambda: tf.table({"x": pa.chunked_array([pa.array(zeros())])}),
    "a set of an array": lambda: c("x").is_in(zeros()),
    "keys of an array": lambda: tf.RowSet(zeros("int64")),
    "a constant for each of 2^62 rows": lambda: tf.empty_table(2**62).with_columns(x=tf.lit(1)),
    "row numbers": lambda: tf.empty_table(HUGE).update("x = ii"),
    "random numbers": lambda: tf.empty_table(HUGE).with_columns(x=tf.random_float()),
    "a text for each row": lambda: tf.empty_table(HUGE).with_columns(x=tf.lit("text")),
    "a column as Arrow": lambda: huge().__arrow_c_stream__(),
    "a column as Python": lambda: huge().to_dict(),
    "rows as Python": lambda: huge().to_dicts(),
    "one column": lambda: huge()["x"].to_list(),  # noqa: PLW0108  # it is refused where the column is taken
    "a constant as Arrow": lambda: tf.empty_table(HUGE).update_view("x = 1").__arrow_c_stream__(),
    "a filter": lambda: huge().where("x > 3"),
    "a sort": lambda: huge().sort("x"),
    "groups": lambda: huge().group_by("x").agg(n=tf.len()),
    "distinct rows": lambda: huge().unique(),
    "a natural join": lambda: huge().natural_join(tf.table({"x": [1], "y": [2]}), on="x"),
    "a natural join to the right": lambda: tf.table({"x": [1]}).natural_join(huge().update_view("y = x"), on="x"),
    "a join": lambda: huge().join(tf.table({"x": [1], "y": [2]}), on="x"),
    "all pairs of many rows": lambda: pairs().join(pairs(), on="x"),
    "rows in the opposite order": lambda: huge().reverse().to_dict(),
    "a row for each of many nulls": lambda: tf.table(
        {"x": pa.FixedSizeListArray.from_arrays(pa.nulls(2**30), 2**30)}
    ).explode("x"),
    "rows at their positions": lambda: huge().where("x >= 0").flatten().to_dict(),
    "a full join": lambda: pairs().join(pairs(), on="x", how="full"),
    "a cross join": lambda: huge().join(huge(), how="cross"),
    "an as-of join": lambda: huge().join_asof(tf.table({"x": [1], "y": [2]}), on="x"),
    "membership": lambda: huge().where_in(tf.table({"x": [1]}), "x"),
    "membership in it": lambda: tf.table({"x": [1]}).where_in(huge(), "x"),
    "neighbours": lambda: huge().with_columns(y=c("x").shift()),
    "every other key": lambda: tf.RowSet(range(0, 2**44, 2)),
    "every hundred thousandth key": lambda: tf.RowSet(range(0, 2**62, 100_000)),
    "keys as an array": lambda: tf.RowSet(range(2**50)).to_numpy(),
    "padded": lambda: tf.table({"s": ["a"]}).select(c("s").str.pad_start(HUGE)),
    "padded at the end": lambda: tf.table({"s": ["a"]}).select(c("s").str.pad_end(2**62, "é")),
    "a padded constant": lambda: tf.table({"s": ["a"]}).select(tf.lit("a").str.pad_start(HUGE)),
    "zeros": lambda: tf.table({"s": ["a"]}).select(c("s").str.zfill(HUGE)),
    "replacements": lambda: tf.table({"s": ["a" * 100_000]}).select(c("s").str.replace_all("a", "b" * 100_000)),
    "replaced text": lambda: tf.table({"s": ["a" * 100_000]}).select(
        c("s").str.replace_all("a", "b" * 100_000, literal=True)
    ),
    "doubled text": doubled,
    "a list of all rows": lambda: huge().group_by().agg(c("x").implode()),
    "the place of the greatest": lambda: huge().group_by().agg(c("x").arg_max()),
    "a range in a list": lambda: c("x").is_in(range(HUGE)),
    "a list without end": lambda: c("x").is_in(itertools.count()),
}
TOO_MUCH_FOR_LITTLE: dict[str, Callable[[], object]] = {
    "appended rows": appended,
    "a list of a table": lambda: tf.empty_table(2**24).update_view("x = ii").to_dict(),
    "a stored column": lambda: tf.empty_table(2**26).update("x = ii"),
    "the middle of all rows": lambda: tf.empty_table(2**26).update_view("x = ii").group_by().agg(c("x").median()),
    "a part of all rows": lambda: (
        tf.empty_table(2**26).update_view("x = ii * 0.5").group_by().agg(c("x").quantile(0.1))
    ),
    "different values": lambda: tf.empty_table(2**26).update_view("x = ii").group_by().agg(c("x").n_unique()),
    "a list of many rows": lambda: tf.empty_table(2**25).update_view("x = ii").group_by().agg(c("x").implode()),
    "characters": lambda: tf.table({"s": ["a" * 30_000_000]}).select(c("s").str.split("")),
    "parts": lambda: tf.table({"s": ["," * 60_000_000]}).select(c("s").str.split(",")),
    "matches": lambda: tf.table({"s": ["a" * 30_000_000]}).select(c("s").str.extract_all("a")),
}


class Odd(Exception):
    """What hostile classes raise."""


class Raises:
    def __getattr__(self, name: str) -> Any:
        raise Odd(name)


class RaisesEverywhere:
    def _raise(self, *_: object) -> Any:
        raise Odd

    __len__ = __iter__ = __bool__ = __float__ = __index__ = __str__ = __repr__ = __hash__ = __eq__ = _raise  # type: ignore[assignment]


class ListsItself:
    def to_list(self) -> object:
        return self

    tolist = to_pylist = to_list
    __arrow_c_stream__ = __arrow_c_array__ = to_list


class Endless:
    """Says that it is short and never ends."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[int]:
        return itertools.repeat(1)


class Long:
    def __len__(self) -> int:
        return 2**62

    def __iter__(self) -> Iterator[int]:
        return iter([1])


class OddTuple:
    def as_tuple(self) -> object:
        return self

    exponent = 2**70


def odd_values() -> dict[str, object]:
    """Values of which most mean nothing in an expression."""
    import datetime
    import decimal

    import numpy as np
    import polars as pl
    import pyarrow as pa

    itself: list[object] = []
    itself.append(itself)
    deep: list[object] = [1]
    for _ in range(100_000):
        deep = [deep]
    return {
        "dict": {"a": 1},
        "list of dicts": [{"a": 1}],
        "list in itself": itself,
        "deep list": deep,
        "Series of structs": pl.Series([{"a": 1}]),
        "Series of lists": pl.Series([[1]]),
        "struct array": pa.array([{"a": 1}]),
        "frame": pl.DataFrame({"a": [1]}),
        "foreign expression": pl.col("a"),
        "function": len,
        "class": int,
        "module": sys,
        "object": object(),
        "unfinished": tf.when(c("i") > 1),
        "table": tf.table({"q": [1], "r": [2]}),
        "raises": Raises(),
        "raises everywhere": RaisesEverywhere(),
        "lists itself": ListsItself(),
        "long": Long(),
        "odd tuple": OddTuple(),
        "digits": 10 ** (10**6),
        "negative": -(2**63),
        "beyond": 2**64,
        "complex": 1j,
        "nan": float("nan"),
        "infinite": float("inf"),
        "decimal": decimal.Decimal("1e999999999"),
        "decimal nan": decimal.Decimal("NaN"),
        "surrogate": "\ud800",
        "text": "a" * 100_000,
        "empty text": "",
        "bytes": bytearray(b"abc"),
        "memory": memoryview(b"abc"),
        "date": datetime.date.max,
        "datetime": datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC),
        "timedelta": datetime.timedelta.max,
        "range": range(2**62),
        "empty list": [],
        "mixed list": [1, "a", None, 2.5],
        "array": np.arange(3),
        "array of arrays": np.zeros((2, 2)),
        "array of objects": np.array([object()]),
        "not a time": np.datetime64("NaT"),
        "structured": np.zeros(1, dtype=[("a", int)])[0],
        "None": None,
        "true": True,
    }


def a_table() -> tf.Table:
    import datetime

    return tf.table(
        {
            "i": [1, None, 3],
            "f": [1.5, float("nan"), None],
            "s": ["a", "2024-01-01", None],
            "b": [True, False, None],
            "t": [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None, None],
            "l": [[1, 2], [], None],
            "y": [b"a", None, b""],
            "r": [{"a": 1}, {"a": None}, None],
        }
    )


def doors() -> Iterator[tuple[str, Callable[[object], object]]]:
    """Every argument of an expression's methods, found by their signatures, and of what makes expressions."""
    whole = c("i")
    spaces: list[tuple[str, Any]] = [
        ("col", whole), ("str", c("s").str), ("dt", c("t").dt), ("list", c("l").list), ("struct", c("r").struct),
        ("bin", c("y").bin),
    ]  # fmt: skip
    for space, owner in spaces:
        for name in dir(type(owner)):
            method = getattr(type(owner), name)
            operator = name.startswith("__") and name[2:-2] in OPERATORS
            if (not operator and name.startswith("_")) or not inspect.isfunction(method) or name in NO_ARGUMENTS:
                continue
            yield from arguments(f"{space}.{name}", getattr(owner, name))
    for name in FUNCTIONS:
        yield from arguments(f"tf.{name}", getattr(tf, name))
    t = a_table()
    yield "filter", t.filter
    yield "select", t.select
    yield "with_columns", lambda value: t.with_columns(q=value)
    yield "where", t.where
    yield "update", t.update
    yield "agg", lambda value: t.group_by("i").agg(value)
    yield "agg named", lambda value: t.group_by("i").agg(q=value)
    yield "agg_by", lambda value: t.agg_by(value, by="i")
    yield "then", lambda value: tf.when(c("b")).then(value).otherwise(1)
    yield "otherwise", lambda value: tf.when(c("b")).then(1).otherwise(value)
    yield "a variable", lambda odd: t.where("i == odd")
    yield "a set of a formula", lambda odd: t.where("i in odd")
    yield "a row set", tf.RowSet
    yield "a typed literal", lambda value: tf.lit(value, tf.Int64)
    yield "a period", lambda value: tf.time_table(value, graph=tf.Graph())


OPERATORS = {
    "add", "radd", "sub", "rsub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge", "and",
    "or", "xor", "lshift", "rshift",
}  # fmt: skip
NO_ARGUMENTS = {"meta_eq"}
FUNCTIONS = [
    "lit", "when", "coalesce", "min_horizontal", "max_horizontal", "random_float", "random_int", "random_gaussian",
    "format", "from_epoch", "arctan2", "formula",
]  # fmt: skip


def arguments(name: str, call: Any) -> Iterator[tuple[str, Callable[[object], object]]]:
    """For each parameter, the call with a value there and something plain at those that have no default."""
    parameters = inspect.signature(call).parameters
    for odd, parameter in parameters.items():
        needed = [
            other
            for other, each in parameters.items()
            if each.default is each.empty and each.kind is not each.VAR_KEYWORD
        ]

        def given(value: object, odd: str = odd, needed: list[str] = needed) -> object:
            plain = [value if other == odd else c("i") for other in needed]
            if odd in needed:
                return call(*plain)
            return call(*plain, **{odd: value})

        yield f"{name}({parameter.name})", given


UNREADABLE = (AttributeError, AssertionError, RecursionError, SystemError, KeyError, IndexError, NameError)


def judge(outcome: BaseException | None) -> str | None:
    """What is wrong with what a call did; None if it is right, or a typed error that reads well."""
    if outcome is None or isinstance(outcome, Odd):
        return None
    kind, text = type(outcome).__name__, str(outcome)
    typed = isinstance(outcome, (TypeError, ValueError, tf.errors.TickframeError, UnicodeError, OverflowError))
    if isinstance(outcome, tf.errors.InternalError) or not typed:
        return f"{kind}: {text[:300]}"
    if isinstance(outcome, UNREADABLE) and not isinstance(outcome, tf.errors.TickframeError):
        return f"{kind}: {text[:300]}"
    if not text.strip():
        return f"{kind} without a word"
    if len(text) > 10_000:
        return f"{kind} of {len(text)} characters"
    return None


def outcome_of(call: Callable[[], object]) -> BaseException | None:
    try:
        made = call()
        if isinstance(made, tf.Expr):
            a_table().select(made.alias("made")).to_dict(on_precision_loss="truncate")
    except BaseException as why:  # noqa: BLE001  # whatever it is, it is told
        return why
    return None


def cases(name: str) -> Iterator[tuple[str, Callable[[], str | None]]]:
    """The cases of a child: each gives what is wrong, or None."""

    def refused(call: Callable[[], object]) -> str | None:
        why = outcome_of(call)
        try:
            if isinstance(why, tf.errors.TableFailedError):
                why = why.__cause__
            if not isinstance(why, tf.errors.ResourceError):
                return f"{type(why).__name__}: {str(why)[:300]}, not ResourceError"
            told = any(word in str(why) for word in ("at most", "limit", "no room"))
            return None if told else f"without limit: {why}"
        finally:
            # Its traceback holds this frame: what the call held would stay until a collection.
            del why

    if name.startswith("too much"):
        calls = TOO_MUCH if name == "too much for addresses" else TOO_MUCH | TOO_MUCH_FOR_LITTLE
        for told, call in calls.items():
            yield told, lambda call=call: refused(call)  # type: ignore[misc]
        return
    values, part = odd_values(), int(name.rpartition(" ")[2])
    for told, door in itertools.islice(doors(), part, None, PARTS):
        for value_name, value in values.items():
            yield f"{told} of {value_name}", lambda door=door, value=value: judge(outcome_of(lambda: door(value)))  # type: ignore[misc]


PARTS = 3
CHILDREN = ["too much for addresses", "too much for little", *(f"odd values {part}" for part in range(PARTS))]


def child(name: str) -> None:
    """Runs the cases of one name, with a line for each."""
    import resource

    # From what is held now: a sanitizer's shadow is larger than any limit.
    held = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    addresses = held + (5 << 29)
    resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
    little = tf.Config(memory="256MB") if name == "too much for little" else tf.Config()
    with little:
        for told, case in cases(name):
            tell({"starts": told})
            wrong = case()
            works = tf.table({"x": [1, 2]}).filter(c("x") > 1).to_dict() == {"x": [2]}
            tell({"wrong": wrong if works else "the process works no more"})


def tell(line: dict[str, str | None]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


@pytest.fixture(scope="module")
def children() -> Iterator[dict[str, subprocess.Popen[str]]]:
    """All children, side by side."""
    command = [sys.executable, "-W", "ignore", __file__]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = {name: subprocess.Popen([*command, name], **pipes) for name in CHILDREN}  # type: ignore[call-overload]
    yield started
    for process in started.values():
        process.kill()


@pytest.mark.parametrize("name", CHILDREN)
def test_nothing_ends_the_process(name: str, children: dict[str, subprocess.Popen[str]]) -> None:
    out, err = children[name].communicate(timeout=600)
    last, count, wrong = "the start", 0, []
    for line in map(json.loads, out.splitlines()):
        if "starts" in line:
            last, count = line["starts"], count + 1
        elif line["wrong"] is not None:
            wrong.append(f"{last}: {line['wrong']}")
    assert children[name].returncode == 0, f"{last}: {children[name].returncode}: {err[-2000:]}"
    assert not wrong, "\n".join(wrong)
    assert count >= (len(TOO_MUCH) if name.startswith("too much") else 1000), f"only {count} cases ran"


SHARED = """
import resource, sys
import tickframe as tf
resource.setrlimit(resource.RLIMIT_CPU, (15, 15))
def deep(of, times):
    value = of
    for _ in range(times):
        value = [value, value]
    return value
lists, tuples = deep([1, 2], 40), deep((1, 2), 40)
structs = deep({"a": [1], "b": None}, 40)
empty = deep([], 40)
wide = [[[0] * 4096] * 4096] * 4096
graph = tf.Graph()
typed = tf.Int64
for _ in range(41):
    typed = tf.List(typed)
live = tf.append_table({"x": typed}, graph=graph)
keyed = tf.keyed_table({"k": int, "x": typed}, key="k", graph=graph)
for name, door in {
    "a dict": lambda: tf.table({"x": [lists]}),
    "a row": lambda: tf.table([{"x": lists}]),
    "tuples": lambda: tf.table({"x": [tuples]}),
    "structs": lambda: tf.table({"x": [structs]}),
    "nothing": lambda: tf.table({"x": [empty]}),
    "a wide list": lambda: tf.table({"x": wide}),
    "append": lambda: live.append({"x": [lists]}),
    "a row appended": lambda: live.append([{"x": lists}]),
    "upsert": lambda: keyed.upsert({"k": [1], "x": [lists]}),
    "a literal": lambda: tf.lit(lists),
    "a list of values": lambda: tf.col("x").is_in(lists),
    "a variable": lambda: tf.table({"x": [1]}).where("x in lists"),
}.items():
    try:
        door()
    except (tf.errors.ResourceError, TypeError, tf.errors.FormulaError) as why:
        print(name, type(why).__name__, flush=True)
    else:
        print(name, "was taken", flush=True)
graph.step()
assert len(live) == len(keyed) == 0
small = deep([1, 2], 10)
assert tf.table({"x": [small]}).to_dict() == {"x": [small]}
assert tf.table({"x": [[[7] * 300] * 300] * 3}).to_dict() == {"x": [[[7] * 300] * 300] * 3}
"""


def test_lists_that_hold_the_same_list_without_end_are_refused_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", SHARED], capture_output=True, text=True, timeout=300, check=False)
    told = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert done.returncode == 0, (done.returncode, told, done.stderr)
    values = {"a literal": "TypeMismatchError", "a list of values": "TypeMismatchError", "a variable": "FormulaError"}
    assert len(told) == 12
    assert told == {name: values.get(name, "ResourceError") for name in told}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda t: t.group_by("k").agg({"x": "sum"}), r"agg: .* write tf\.col\('x'\)\.sum\(\)"),
        (lambda t: t.group_by("k").agg({"x": "total"}), r"agg: .* write tf\.col\('x'\)\.sum\(\)"),
        (lambda t: t.filter({"x": 1}), r"filter: .* write tf\.col\('x'\) == 1"),
        (lambda t: t.select({"x": "y"}), r"select: .* write tf\.col\('x'\)\.alias\('y'\)"),
        (lambda t: c("x") == {"a": 1}, r"==: a dict is no expression"),
        (lambda t: tf.lit({"a": 1}), r"lit: a dict is no expression"),
        (lambda t: c("x").is_in([{"a": 1}]), r"is_in: \{'a': 1\} \(dict\) is no value"),
        (lambda t: c("x").is_in([[1]]), r"is_in: a list of lists"),
        (
            lambda t: c("x").fill_null(len),
            r"fill_null: a builtin_function_or_method is no expression; make it one by tf.udf",
        ),
        (
            lambda t: tf.time_table(bytearray(b"abc"), graph=tf.Graph()),
            "time_table: period: a span of time is a number of seconds, a timedelta",
        ),
    ],
)
def test_what_is_no_value_is_refused_with_what_to_write(call: Callable[[tf.Table], object], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        call(tf.table({"k": ["a"], "x": [1]}))


def test_a_variable_that_is_no_value_is_named_in_the_formula() -> None:
    d = {"a": 1}
    with pytest.raises(tf.errors.FormulaError, match=r"where: d: \{'a': 1\} \(dict\) is no value") as told:
        tf.table({"x": [1]}).where("x > d")
    assert told.value.text == "x > d"
    assert d == {"a": 1}


@pytest.mark.parametrize(
    "values", [lambda n: list(range(n)), range, lambda n: (i for i in range(n)), lambda n: set(range(n))]
)
@pytest.mark.parametrize("n", [3, 63, 64, 1000])
@pytest.mark.parametrize("dtype", [tf.Int8, tf.UInt64, tf.Int64, tf.Float32, tf.Decimal(10, 2), tf.Float64])
def test_long_lists_hold_what_short_ones_hold(values: Callable[[int], Any], n: int, dtype: Any) -> None:
    held = [0, 2, 63, 100, None]
    t = tf.table({"x": held}, schema={"x": dtype})
    found = t.select(c("x").is_in(values(n))).to_dict()["x"]
    assert found == [None if one is None else one < n for one in held]
    known = list(values(n))
    assert t.filter(c("x").is_in(values(n))).to_dict() == t.where("x in known").to_dict()
    assert t.where("not (x in known)").to_dict()["x"] == [one for one in held if one is not None and one not in known]
    nothing = t.select(c("x").is_in([*values(n), None], nulls_equal=True)).to_dict()["x"]
    assert nothing == [one is None or one < n for one in held]


def test_lists_of_each_type_hold_what_they_hold() -> None:
    import datetime
    import decimal

    import numpy as np

    t = a_table()
    many = 100
    lists: dict[str, list[Any]] = {
        "s": ["a", *map(str, range(many))],
        "f": [1.5, float("nan"), *map(float, range(many))],
        "b": [True] * many,
        "t": [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)] * many,
        "i": [decimal.Decimal(1)] * many,
        "y": [b"a"] * many,
    }
    for column, values in lists.items():
        short = t.select(c(column).is_in(values[:2])).to_dict()
        assert t.select(c(column).is_in(values)).to_dict() == short, column
    stamps = np.array(["2024-01-01"] * many, dtype="datetime64[ns]")
    with pytest.raises(tf.errors.TypeMismatchError, match="time zone"):
        t.select(c("t").is_in(stamps))
    assert t.select(c("t").dt.replace_time_zone(None).is_in(stamps)).to_dict() == {"t": [True, None, None]}


def test_an_expression_with_a_long_list_is_shown_short_and_pickles() -> None:
    import pickle

    expr = c("x").is_in(range(100_000))
    assert len(repr(expr)) < 1000
    assert "100000 in all" in repr(expr)
    assert pickle.loads(pickle.dumps(expr)).meta_eq(expr)
    t = tf.table({"x": [7]})
    assert t.filter(expr).plan == t.filter(c("x").is_in(range(100_000))).plan
    assert t.filter(expr).plan != t.filter(c("x").is_in(range(100_001))).plan


def test_numbers_of_arguments_are_judged_in_words() -> None:
    for call in (lambda: c("x").std(ddof=-5), lambda: c("x").var(256)):
        with pytest.raises(ValueError, match="ddof is a whole number from 0 to 255, not"):
            call()
    with pytest.raises(ValueError, match="-1 is out of the range of this argument"):
        c("x").sum(min_count=-1)
    for wrong in ("a", None, 1.5):
        with pytest.raises(TypeError, match=r"std: ddof must be an int, not .*; give a whole number"):
            c("x").std(ddof=wrong)  # type: ignore[arg-type]


def test_messages_are_cut() -> None:
    name = "a" * 1_000_000
    # Almost as long as a name may be: it stands among those that the message offers.
    t = tf.table({"x": [1], "b" * 60_000: [1]})
    with pytest.raises(tf.errors.ColumnNotFoundError) as told:
        t.select(name)
    assert len(str(told.value)) < 10_000
    assert told.value.column == name
    source = tf.input_table({"x": int}, graph=tf.Graph())
    with pytest.raises(tf.errors.DataError) as told_rows:
        source.apply(removed=tf.RowSet(range(0, 400_000, 2)))
    assert len(str(told_rows.value)) < 2000
    assert "200000 keys in all" in str(told_rows.value)


def test_more_rows_than_len_can_say() -> None:
    t = tf.concat([tf.empty_table(2**62)] * 2)
    assert t.shape == (2**63, 0)
    with pytest.raises(OverflowError, match=r"9223372036854775808 rows.*\.shape"):
        len(t)


def test_expressions_grow_by_one_step_an_operand_up_to_a_limit() -> None:
    def grown(expr: tf.Expr, step: Callable[[tf.Expr], tf.Expr]) -> tf.Expr:
        for _ in range(100_000):
            expr = step(expr)
        return expr

    with pytest.raises(tf.errors.FormulaError, match="more than 65536 parts"):
        grown(c("x"), lambda expr: expr + 1)
    with pytest.raises(tf.errors.FormulaError, match="nested more than 128 deep"):
        grown(c("x") > 0, lambda expr: ~expr)
    t = tf.table({"x": [1]})
    chain = c("x")
    for _ in range(3000):
        chain = chain + 1
    assert t.select(a=chain, b=chain + 1, c=(chain + c("x")) * 2).to_dict() == {"a": [3001], "b": [3002], "c": [6004]}


def test_a_long_chain_is_explained() -> None:
    t: tf.Table = tf.append_table({"x": int}, graph=tf.Graph())
    for at in range(1500):
        t = t.rename({t.columns[0]: f"x{at}"})
    assert len(t.explain().splitlines()) == 1501


def test_every_other_key_is_made_block_by_block() -> None:
    for step in (2, 3, -7, 65_535, 65_536, 100_000):
        keys = range(5, 5 + 3_000_000, step) if step > 0 else range(3_000_005, 5, step)
        made = tf.RowSet(keys)
        made.validate()
        assert made.size == len(keys)
        assert [made.key_at(0), made.key_at(-1)] == [min(keys[0], keys[-1]), max(keys[0], keys[-1])]


@pytest.mark.parametrize(
    ("given", "bytes_"),
    [(1000, 1000), ("4GB", 4 * 10**9), ("512MiB", 512 * 2**20), (" 1.5 kb ", 1500), ("7", 7), ("2TiB", 2**41)],
)
def test_memory_is_set_by_config_for_as_long_as_its_block_lasts(given: object, bytes_: int) -> None:
    from tickframe import _native

    before = _native.memory_figures()[1]
    with tf.Config(memory=given):
        assert _native.memory_figures()[1] == bytes_
        with tf.Config(memory=5):
            assert _native.memory_figures()[1] == 5
        assert _native.memory_figures()[1] == bytes_
    assert _native.memory_figures()[1] == before


@pytest.mark.parametrize("given", ["", "GB", "-1", -1, 0, "1XB", "1e9", 2**63, "9" * 30])
def test_memory_that_is_no_number_of_bytes_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r'"4GB"'):
        tf.Config(memory=given)


@pytest.mark.parametrize("given", [1.5, True, [], b"4GB"])
def test_memory_of_another_type_is_refused(given: object) -> None:
    with pytest.raises(TypeError, match=r'"4GB"'):
        tf.Config(memory=given)


if __name__ == "__main__":
    child(sys.argv[1])


def graph_doors(graph: tf.Graph) -> dict[str, tuple[Any, Callable[[int], object]]]:
    """Every source, and a call that brings so many rows."""

    def cells(rows: int) -> dict[str, object]:
        return {"x": np.arange(rows), "y": np.arange(rows, dtype=float)}

    schema = {"x": int, "y": float}
    append, blink = tf.append_table(schema, graph=graph), tf.blink_table(schema, graph=graph)
    keyed, replaced = tf.keyed_table(schema, "x", graph=graph), tf.keyed_table(schema, "x", graph=graph)
    given = tf.input_table(schema, graph=graph)
    return {
        "append": (append, lambda rows: append.append(cells(rows))),
        "blink": (blink, lambda rows: blink.append(cells(rows))),
        "upsert": (keyed, lambda rows: keyed.upsert(cells(rows))),
        "replace": (replaced, lambda rows: replaced.replace(cells(rows))),
        "apply": (given, lambda rows: given.apply(added=(range(rows), cells(rows)))),
    }


@pytest.mark.parametrize("door", ["append", "blink", "upsert", "replace", "apply"])
def test_a_call_that_a_graph_has_no_room_for_is_refused_whole(door: str) -> None:
    graph = tf.Graph(memory="4MB")
    table, bring = graph_doors(graph)[door]
    bring(1000)
    graph.step()
    before = table.to_dict()
    operation = "append" if door == "blink" else door
    with pytest.raises(
        tf.errors.ResourceError, match=rf"{operation}: it needs .* the graph holds .*, and its limit is 3\.8 MiB"
    ):
        bring(1_000_000)
    with graph.transaction(), pytest.raises(tf.errors.ResourceError, match="its limit is"):
        bring(1_000_000)
    assert graph.counters()["source_bytes"] == 0
    if door != "blink":
        graph.step()
        assert table.to_dict() == before
    # Another graph has a limit of its own, and one without a limit none.
    graph_doors(tf.Graph())[door][1](1_000_000)


def test_calls_that_wait_count_and_what_was_taken_away_makes_room() -> None:
    graph = tf.Graph(memory="4MB")
    keyed = tf.keyed_table({"x": int, "y": float}, "x", graph=graph)
    rows = {"x": np.arange(100_000), "y": np.arange(100_000, dtype=float)}
    keyed.upsert(rows)
    keyed.upsert(rows)
    with pytest.raises(tf.errors.ResourceError, match="upsert: it needs"):
        keyed.upsert(rows)
    graph.step()
    with pytest.raises(tf.errors.ResourceError, match="upsert: it needs"):
        keyed.upsert({"x": np.arange(200_000), "y": np.arange(200_000, dtype=float)})
    keyed.delete(np.arange(100_000))
    graph.step()
    assert len(keyed) == 0
    keyed.upsert(rows)
    graph.step()
    assert len(keyed) == 100_000


def test_an_operation_that_a_graph_has_no_room_for_is_refused() -> None:
    graph = tf.Graph(memory="8MB")
    source = tf.append_table({"x": int}, graph=graph)
    source.append({"x": np.arange(300_000)})
    graph.step()
    nodes = graph.counters()["nodes"]
    with pytest.raises(tf.errors.ResourceError, match=r"with_columns: .*the graph holds .*, and its limit is 7\.6 MiB"):
        source.with_columns(y=tf.col("x") * 2, z=tf.col("x") + 1)
    assert graph.counters()["nodes"] == nodes
    assert len(source.filter(tf.col("x") < 10)) == 10


@pytest.mark.parametrize("given", ["", "GB", -1, 0])
def test_a_graphs_memory_is_a_number_of_bytes(given: object) -> None:
    with pytest.raises(ValueError, match=r'"4GB"'):
        tf.Graph(memory=given)
