"""What others hold may be written to, be broken or be boundless: a table never changes, crashes or grows by it."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import weakref
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tickframe as tf
from tickframe.errors import DataError, ResourceError, TypeMismatchError
from tickframe.interchange import Unshared

ROWS = 5


class Stream:
    """A producer that nobody knows, by stream."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Batch:
    """A producer that nobody knows, by array."""

    def __init__(self, table: pa.Table) -> None:
        self.batch = table.to_batches()[0]

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.batch.__arrow_c_array__(requested_schema)


class Posing(Stream):
    """One that says that it is somebody else."""


Posing.__module__ = "polars.dataframe.frame"
Posing.__qualname__ = Posing.__name__ = "DataFrame"


def over(array: np.ndarray[Any, Any]) -> pa.Table:
    return pa.table({"x": pa.array(array)})


def frame(array: np.ndarray[Any, Any]) -> pd.DataFrame:
    made = pd.DataFrame({"x": array}, copy=False)
    assert np.shares_memory(made["x"].to_numpy(), array)
    return made


WHOLE = {
    "pandas": frame,
    "pyarrow": over,
    "sliced": lambda array: over(array).slice(0),
    "reader": lambda array: over(array).to_reader(),
    "stream": lambda array: Stream(over(array)),
    "array": lambda array: Batch(over(array)),
    "posing": lambda array: Posing(over(array)),
}
COLUMN = {
    "numpy": lambda array: {"x": array},
    "strided": lambda array: {"x": np.broadcast_to(array, (1, ROWS))[0]},
    "series": lambda array: {"x": pd.Series(array, copy=False)},
    "pyarrow column": lambda array: {"x": pa.array(array)},
    "chunked": lambda array: {"x": pa.chunked_array([pa.array(array)])},
    "memory": lambda array: {"x": np.asarray(memoryview(array))},
    "buffer": lambda array: {"x": pa.Array.from_buffers(pa.int64(), ROWS, [None, pa.py_buffer(array)])},
}


def static(make: Any) -> Any:
    def door(data: object, keys: object) -> Any:
        del keys
        t = make(data)
        return lambda: t.to_dict()["x"]

    return door


def fed(make: Any, push: Any) -> Any:
    def door(data: object, keys: object) -> Any:
        t = make(tf.Graph())
        push(t, data, keys)

        def read() -> list[int]:
            t.graph.step()
            return t.to_dict()["x"]

        return read

    return door


def filled(graph: tf.Graph) -> tf.InputTable:
    t = tf.input_table({"x": int}, graph=graph)
    t.apply(added=(range(ROWS), {"x": [0] * ROWS}))
    graph.step()
    return t


KEYED = {"x": int}
DOORS = {
    "table": static(tf.table),
    "table with a schema": static(lambda data: tf.table(data, schema={"x": int})),
    "copy=True": static(lambda data: tf.table(data, copy=True)),
    "append": fed(lambda g: tf.append_table({"x": int}, graph=g), lambda t, data, _: t.append(data)),
    "upsert": fed(lambda g: tf.keyed_table(KEYED, key="x", graph=g), lambda t, data, _: t.upsert(data)),
    "replace": fed(lambda g: tf.keyed_table(KEYED, key="x", graph=g), lambda t, data, _: t.replace(data)),
    "apply(added)": fed(
        lambda g: tf.input_table({"x": int}, graph=g), lambda t, data, keys: t.apply(added=(keys, data))
    ),
    "apply(modified)": fed(filled, lambda t, data, keys: t.apply(modified=(keys, data))),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("producer", [*WHOLE, *COLUMN])
def test_writing_to_what_was_given_changes_no_table(producer: str, door: str) -> None:
    array, keys = np.arange(ROWS), np.arange(ROWS)
    data = (WHOLE | COLUMN)[producer](array)
    read = DOORS[door](data, keys)
    array[:] = 7
    keys[:] = 9
    assert read() == list(range(ROWS))
    array[:] = 8
    assert read() == list(range(ROWS))


@pytest.mark.parametrize(
    "give", [lambda keys: keys, lambda keys: {"k": keys}, over, lambda keys: {"k": pa.array(keys)}]
)
def test_keys_that_are_to_go_are_those_of_the_call(give: Any) -> None:
    t = tf.keyed_table({"k": int}, key="k", graph=tf.Graph())
    t.upsert({"k": [1, 2, 3]})
    t.graph.step()
    keys = np.array([1, 3])
    given = give(keys)
    t.delete(given.rename_columns(["k"]) if isinstance(given, pa.Table) else given)
    keys[:] = 2
    t.graph.step()
    assert t.to_dict() == {"k": [2]}


def test_sets_of_rows_and_literals_are_those_of_the_call() -> None:
    keys = np.array([1, 3])
    sets = [tf.RowSet(keys), tf.RowSet(pa.array(keys)), tf.RowSet([keys]), tf.RowSet(pa.chunked_array([keys]))]
    found = tf.table({"x": [1, 2, 3]}).filter(tf.col("x").is_in(keys))
    keys[:] = 2
    assert [list(each) for each in sets] == [[1, 3]] * 4
    assert found.to_dict() == {"x": [1, 3]}


@pytest.mark.parametrize("door", [tf.table, lambda data: tf.table({"s": data["s"]}), tf.from_arrow])
def test_text_that_turns_into_nonsense_was_copied_before(door: Any) -> None:
    offsets = np.arange(0, 4 * ROWS + 1, 4, dtype=np.int32)
    data = np.frombuffer(b"abcd" * ROWS, dtype=np.uint8).copy()
    texts = pa.Array.from_buffers(pa.utf8(), ROWS, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    t = door(pa.table({"s": texts}))
    data[:] = 0xFF
    offsets[1] = 2**30
    assert t.to_dict() == {"s": ["abcd"] * ROWS}


def test_all_of_an_array_is_copied() -> None:
    inner, offsets, flags = np.arange(4), np.array([0, 2, 4], dtype=np.int32), np.array([0b11], dtype=np.uint8)
    bitmap = pa.py_buffer(flags)
    lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(inner))
    struct = pa.StructArray.from_buffers(pa.struct([("n", pa.int64())]), 2, [bitmap], children=[pa.array(inner)[:2]])
    words = np.frombuffer(b"ab", dtype=np.uint8).copy()
    ends = pa.py_buffer(np.array([0, 1, 2], dtype=np.int32))
    values = pa.Array.from_buffers(pa.utf8(), 2, [None, ends, pa.py_buffer(words)])
    codes = np.array([1, 0], dtype=np.int32)
    t = tf.table(
        {"l": lists, "s": struct, "d": pa.DictionaryArray.from_arrays(pa.array(codes), values)},
    )
    before = t.to_dict()
    for each in (inner, offsets, flags, words, codes):
        each[:] = 0
    assert before == {"l": [[0, 1], [2, 3]], "s": [{"n": 0}, {"n": 1}], "d": ["b", "a"]}
    assert t.to_dict() == before


def doubled(keep: list[Any], how: str) -> Any:
    scratch = np.empty(ROWS * 2, dtype=np.int64)

    def arrow(x: pa.Array) -> pa.Array:
        out = scratch[: len(x)]
        np.multiply(x.to_numpy(zero_copy_only=False), 2, out=out)
        keep.append(out)
        return pa.array(out)

    def numpy(x: Any) -> Any:
        out = scratch[: len(x)]
        np.multiply(x, 2, out=out)
        keep.append(out)
        return out

    def watched(x: Any) -> Any:
        out = x * 2
        keep.append(weakref.ref(out))
        return out

    def viewed(x: Any) -> Any:
        out = x * 2
        keep.append(memoryview(out))
        return out

    def kept(x: Any) -> Any:
        out = x * 2
        keep.append(out)
        return out

    def stream(x: pa.Array) -> Any:
        keep.append(x.to_numpy(zero_copy_only=False) * 2)
        return Batch(over(keep[-1])).batch.column(0)

    made = {"arrow": arrow, "numpy": numpy, "watched": watched, "viewed": viewed, "kept": kept, "stream": stream}[how]
    on: Any = "arrow" if how in {"arrow", "stream"} else "numpy"
    return tf.udf(returns=tf.Int64, on=on, stateful=True)(made)


@pytest.mark.parametrize("how", ["arrow", "numpy", "watched", "viewed", "kept", "stream"])
def test_what_a_function_returned_is_ours(how: str) -> None:
    keep: list[Any] = []
    function = doubled(keep, how)
    static = tf.table({"x": np.arange(ROWS)}).with_columns(y=function("x"))
    source = tf.append_table({"x": int}, graph=tf.Graph())
    live = source.with_columns(y=function("x"))
    for first in (0, ROWS):
        source.append({"x": np.arange(first, first + ROWS)})
        source.graph.step()
    for each in keep:
        array = each() if isinstance(each, weakref.ref) else each
        if array is not None:
            np.asarray(array)[:] = 777
    assert static.to_dict()["y"] == [2 * x for x in range(ROWS)]
    assert live.to_dict()["y"] == [2 * x for x in range(2 * ROWS)]


def place(column: Any) -> int:
    return pa.chunked_array(column).chunk(0).buffers()[1].address


def test_a_large_polars_frame_stays_where_it_is() -> None:
    rows = 10_000_000
    kinds = [pl.Int8, pl.Int16, pl.UInt32, pl.Float32, pl.Int64, pl.Float64]
    given = pl.DataFrame({f"c{at}": pl.repeat(at, rows, dtype=kind, eager=True) for at, kind in enumerate(kinds)})
    for t in (tf.table(given), tf.from_polars(given), tf.table({name: given[name] for name in given.columns})):
        for name in given.columns:
            assert place(t[name]) == place(given[name])


def pandas_columns(rows: int) -> dict[str, Any]:
    """A column of every kind that pandas holds, with and without holes."""
    numbers = np.arange(rows, dtype="float64")
    holes = np.where(numbers % 3 == 1, np.nan, numbers)
    plain = {str(kind): numbers.astype(kind) for kind in ("i1", "u2", "i4", "u8", "i8", "f4", "f8", "f2", "bool")}
    return plain | {
        "nan4": holes.astype("f4"),
        "nan8": holes,
        "nan2": holes.astype("f2"),
        "apart": np.repeat(numbers, 2)[::2],
        "text": [f"t{at}" for at in range(rows)],
        "object": [None if at % 2 else at for at in range(rows)],
        "Int64": pd.array([None if at % 2 else at for at in range(rows)], dtype="Int64"),
        "stamp": pd.date_range("2026-01-01", periods=rows),
        "zone": pd.date_range("2026-01-01", periods=rows, tz="Europe/Berlin"),
        "span": pd.to_timedelta(np.arange(rows), unit="s"),
        "codes": pd.Categorical(["a" if at % 2 else "b" for at in range(rows)]),
        "arrow": pd.array(range(rows), dtype="int64[pyarrow]"),
    }


@pytest.mark.parametrize("rows", [0, 1, 5, 3000])
def test_a_pandas_frame_comes_in_as_pyarrow_has_it(rows: int) -> None:
    columns = pandas_columns(rows)
    draw = np.random.default_rng(rows)
    frames = [{name: cells} for name, cells in columns.items()]
    frames += [
        {name: columns[name] for name in draw.permutation(list(columns))[: draw.integers(2, 9)]} for _ in range(40)
    ]
    for given in [*frames, columns]:
        made = pd.DataFrame(given)
        wanted = tf.table(pa.Table.from_pandas(made, preserve_index=False))
        for door in (tf.table, tf.from_pandas):
            assert door(made).schema == wanted.schema
            assert door(made).to_arrow().equals(wanted.to_arrow()), list(given)
    swapped = pd.DataFrame({"x": np.arange(rows, dtype=">i8"), "y": np.arange(rows, dtype=">f4")})
    assert tf.table(swapped).to_dict() == {"x": list(range(rows)), "y": [float(at) for at in range(rows)]}
    # One block of two dimensions, whose columns lie apart.
    block = pd.DataFrame(draw.random((rows, 3)), columns=list("xyz"))
    assert tf.table(block).to_dict() == {name: list(block[name]) for name in "xyz"}


def test_what_is_never_written_to_is_shared() -> None:
    ours = tf.table({"x": np.arange(1000)})
    live = tf.append_table({"x": int}, graph=tf.Graph())
    live.append(ours)
    live.graph.step()
    for t in (tf.table(ours), tf.table({"x": ours["x"]}), tf.from_arrow(ours), tf.table(ours, schema={"x": int})):
        assert place(t["x"]) == place(ours["x"])
    assert tf.table(live.snapshot()).to_dict() == ours.to_dict()
    given = over(np.arange(1000))
    assert place(tf.table(Unshared(given))["x"]) == place(given["x"])
    assert tf.table(duckdb.sql("select 1 as x")).to_dict() == {"x": [1]}


def test_copy_says_what_becomes_of_the_memory() -> None:
    array = np.arange(1000)
    given, frame, polars = over(array), pd.DataFrame({"x": array}, copy=False), pl.DataFrame({"x": array})
    here = array.ctypes.data
    for door in (tf.table, tf.from_arrow):
        assert place(door(given)["x"]) != here
        assert place(door(given, copy=True)["x"]) != here
        assert place(door(given, copy=False)["x"]) == here
    for door in (tf.table, tf.from_pandas):
        assert place(door(frame)["x"]) != here
        assert place(door(frame, copy=False)["x"]) == here
    assert place(tf.table({"x": array}, copy=False)["x"]) == here
    assert place(tf.table({"x": array})["x"]) != here
    assert place(tf.table(polars, copy=True)["x"]) != place(polars["x"])
    ours = tf.table({"x": array})
    assert place(tf.table(ours, copy=True)["x"]) != place(ours["x"])


def broken(kind: pa.DataType, length: int, *buffers: bytes | None, children: Any = ()) -> pa.Array:
    """An array over memory that is put in after pyarrow has looked at it."""
    spaces = [None if each is None else bytearray(len(each)) for each in buffers]
    views = [None if each is None else pa.py_buffer(each) for each in spaces]
    made = pa.Array.from_buffers(kind, length, views, children=list(children))
    for space, content in zip(spaces, buffers, strict=True):
        if space is not None and content is not None:
            space[:] = content
    return made


def number(value: int, width: int = 4) -> bytes:
    return value.to_bytes(width, "little", signed=True)


WIDE = broken(pa.decimal128(2, 0), 1, None, number(10**36, 16))
BROKEN = {
    "decimal": WIDE,
    "decimal in a struct": pa.StructArray.from_arrays([WIDE], names=["d"]),
    "decimal in a list": pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), WIDE),
    "decimal256": broken(pa.decimal256(3, 1), 1, None, number(-1000, 32)),
    "time32": broken(pa.time32("s"), 1, None, number(86_400)),
    "time64": broken(pa.time64("ns"), 1, None, number(2**62, 8)),
    "time64 below": broken(pa.time64("us"), 1, None, number(-1, 8)),
    "dictionary": pa.DictionaryArray.from_arrays(broken(pa.int32(), 1, None, number(9)), pa.array(["a"]), safe=False),
    "utf8": broken(pa.utf8(), 1, None, number(0) + number(1), b"\xff"),
    "utf8 past its end": broken(pa.utf8(), 1, None, number(0) + number(1 << 28), b"hello"),
    "large utf8 past its end": broken(pa.large_utf8(), 1, None, number(0, 8) + number(1 << 40, 8), b"hello"),
    "list": broken(pa.list_(pa.int64()), 1, None, number(0) + number(1 << 24), children=[pa.array([1, 2])]),
    "list view": broken(pa.list_view(pa.int64()), 1, None, number(0), number(1 << 24), children=[pa.array([1])]),
    "view": broken(pa.string_view(), 1, None, number(100) + b"aaaa" + number(7) + number(0), b"a" * 100),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_arrays_are_refused_at_every_door(case: str) -> None:
    array = BROKEN[case]
    source = tf.append_table(pa.schema([("x", array.type)]), graph=tf.Graph())
    for door in (
        tf.table,
        source.append,
        lambda data: tf.table(data, copy=True),
        lambda data: tf.table(data, copy=False),
    ):
        for data in ({"x": array}, {"x": pa.chunked_array([array])}):
            with pytest.raises(DataError, match="not sound Arrow data"):
                door(data)
    source.graph.step()
    assert len(source) == 0


class Pair:
    """A pair of capsules that was made before."""

    def __init__(self, pair: object) -> None:
        self.pair = pair

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.pair


class Once:
    """A stream that was made before."""

    def __init__(self, stream: object) -> None:
        self.stream = stream

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.stream


@pytest.mark.parametrize(
    "source",
    [Pair(over(np.arange(3)).to_batches()[0].__arrow_c_array__()), Once(over(np.arange(3)).__arrow_c_stream__())],
)
def test_a_capsule_is_read_once(source: object) -> None:
    assert tf.table(source).to_dict() == {"x": [0, 1, 2]}
    for data in (source, {"x": source}):
        with pytest.raises(DataError, match="already read"):
            tf.table(data)


def test_a_pair_of_capsules_that_does_not_fit_is_refused() -> None:
    schema, array = over(np.arange(3)).to_batches()[0].__arrow_c_array__()
    other = pa.record_batch({"x": ["a"], "y": [1]}).__arrow_c_array__()
    with pytest.raises(DataError, match="child arrays, but its type has"):
        tf.table(Pair((schema, other[1])))
    text = pa.array(["a"]).__arrow_c_array__()
    with pytest.raises(DataError, match="buffers, but its type has"):
        tf.table({"x": Pair((text[0], pa.array([1]).__arrow_c_array__()[1]))})
    with pytest.raises(DataError, match="already read"):
        tf.table(Pair((schema, other[1])))
    assert tf.table(Pair((schema, array))).to_dict() == {"x": [0, 1, 2]}


def test_a_stream_that_fails_says_why() -> None:
    def batches() -> Any:
        yield over(np.arange(3)).to_batches()[0]
        raise RuntimeError("the line is dead")

    reader = pa.RecordBatchReader.from_batches(over(np.arange(3)).schema, batches())
    with pytest.raises(DataError, match="the line is dead"):
        tf.table(reader)


def deep_list(depth: int) -> list[Any]:
    value: list[Any] = [1]
    for _ in range(depth - 1):
        value = [value]
    return value


def deep_dict(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"a": 1}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def deep_array(depth: int) -> pa.Array:
    array: pa.Array = pa.array([1])
    for _ in range(depth):
        array = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), array)
    return array


def test_types_nest_64_deep_and_no_deeper() -> None:
    for make in (deep_list, deep_dict):
        assert len(tf.table({"x": [make(64)]})) == 1
        for depth in (65, 1000, 100_000):
            with pytest.raises(DataError, match="nested more than 64 deep"):
                tf.table({"x": [make(depth)]})
    assert len(tf.table({"x": deep_array(64)})) == 1
    for depth in (65, 1000):
        with pytest.raises(DataError, match=r"table: column \"x\": types are nested more than 64 deep"):
            tf.table(pa.table({"x": deep_array(depth)}))
        with pytest.raises(DataError, match="nested more than 64 deep"):
            tf.Schema(pa.schema([("x", deep_array(depth).type)]))
    kind: Any = tf.Int64
    for _ in range(64):
        kind = tf.List(kind)
    tf.append_table({"x": kind}, graph=tf.Graph())
    for more in (tf.List, lambda inner: tf.Array(inner, 2), lambda inner: tf.Struct({"a": inner})):
        with pytest.raises(DataError, match="nested more than 64 deep"):
            more(kind)


def test_a_value_that_holds_itself_is_too_deep() -> None:
    itself: list[Any] = []
    itself.append(itself)
    both: dict[str, Any] = {}
    both["a"] = both["b"] = both
    for value in (itself, [itself, itself], both, {"a": [both, both]}):
        with pytest.raises(DataError, match="nested more than 64 deep"):
            tf.table({"x": [value]})


def test_a_table_has_at_most_a_hundred_thousand_columns() -> None:
    count = 1_000_000
    names = [str(at) for at in range(count)]
    for data in (pa.table([pa.array([1])] * count, names=names), dict.fromkeys(names, 1), [dict.fromkeys(names, 1)]):
        with pytest.raises(DataError, match="columns, but a table has at most 100000"):
            tf.table(data)
    with pytest.raises(DataError, match="1000000 columns, but a table has at most 100000"):
        tf.Schema(dict.fromkeys(names, int))
    assert tf.table(dict.fromkeys(names[:20_000], 1)).shape == (1, 20_000)


def test_a_name_has_at_most_64_kilobytes() -> None:
    name = "n" * (1 << 20)
    for make in (
        lambda: tf.table({name: [1]}),
        lambda: tf.table([{name: 1}]),
        lambda: tf.table(pa.table({name: [1]})),
        lambda: tf.Schema({name: int}),
        lambda: tf.table({"x": [{name: 1}]}),
        lambda: tf.table({"x": pa.array([{name: 1}])}),
    ):
        with pytest.raises(DataError, match="at most 65536") as raised:
            make()
        assert len(str(raised.value)) < 300


def test_text_that_is_shown_too_often_for_one_column_is_refused() -> None:
    view = number(1 << 20) + b"aaaa" + number(0) + number(0)
    texts = pa.Array.from_buffers(
        pa.string_view(), 3000, [None, pa.py_buffer(view * 3000), pa.py_buffer(b"a" * (1 << 20))]
    )
    source = tf.append_table({"s": str}, graph=tf.Graph())
    with pytest.raises(ResourceError, match=r'append: column "s" has 3145728000 bytes of text'):
        source.append(pa.table({"s": texts}))


@dataclasses.dataclass
class Trade:
    a: int
    b: str


class Named(NamedTuple):
    a: int
    b: str


ONE = {"a": [1], "b": ["x"]}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([Trade(1, "x")], ONE),
        (Trade(1, "x"), ONE),
        ([Named(1, "x")], ONE),
        (Named(1, "x"), ONE),
        (({"a": a, "b": "x"} for a in [1]), ONE),
        (iter([Trade(1, "x")]), ONE),
        ({"a": (a for a in range(3))}, {"a": [0, 1, 2]}),
        ({"a": map(str, [1, 2])}, {"a": ["1", "2"]}),
        ({"a": collections.deque([1, 2])}, {"a": [1, 2]}),
        ({"a": {"k": 1, "l": 2}.values()}, {"a": [1, 2]}),
        (collections.OrderedDict(a=[1]), {"a": [1]}),
        (pd.Series([1, 2], name="a"), {"a": [1, 2]}),
        (pl.Series("a", [1, 2]), {"a": [1, 2]}),
        (pl.DataFrame({"a": [None, None], "b": [1, 2]}), {"a": [None, None], "b": [1, 2]}),
        (pl.DataFrame({"a": [{"n": None}]}), {"a": [{"n": None}]}),
        (pa.array([{"a": 1}, None]), {"a": [1, None]}),
        (pd.DataFrame({"a": [1]}, index=["row"]), {"a": [1]}),
        (pd.DataFrame({"a": [1]}, index=pd.Index([5], name="n")), {"a": [1]}),
        ({"a": [pd.NaT, pd.Timestamp("2024")]}, {"a": [None, pd.Timestamp("2024")]}),
        ({"a": [pd.NaT, pd.Timedelta("1s")]}, {"a": [None, pd.Timedelta("1s")]}),
        ({"a": [np.timedelta64("NaT"), np.timedelta64(1, "s")]}, {"a": [None, pd.Timedelta("1s")]}),
        ({"a": [pd.NA, 1]}, {"a": [None, 1]}),
        ({"a": [[pd.NA, 1], None]}, {"a": [[None, 1], None]}),
        ({"a": [{"n": pd.NaT}]}, {"a": [{"n": None}]}),
        ([{"a": pd.NA}, {"a": "x"}], {"a": [None, "x"]}),
    ],
)
def test_what_a_user_means_comes_in(data: object, expected: dict[str, list[object]]) -> None:
    assert tf.table(data).to_dict() == expected


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tf.table(pd.Series([1])), r"table: a Series without a name is no table; give {'name': series}"),
        (lambda: tf.table(pl.Series([1])), r"table: Series is one column without a name, not a table"),
        (lambda: tf.table(pa.array([1])), r"table: Int64Array is one column without a name, not a table"),
        (lambda: tf.table([(1, "x")]), r"table: row 0 is tuple, not a dict"),
        (lambda: tf.table({"a": {1, 2}}), r'table: column "a" holds {1, 2} in row 0, which is no column value'),
        (
            lambda: tf.table(pd.DataFrame({"p": pd.period_range("2024", periods=2, freq="M")})),
            r"table: column 'p' holds periods; use .dt.to_timestamp\(\) or .astype\(str\) first",
        ),
        (lambda: tf.table(pl.LazyFrame({"a": [1]})), r"table: LazyFrame is no table yet; collect\(\) it first"),
    ],
)
def test_what_is_unclear_is_named_with_the_way(make: Any, text: str) -> None:
    with pytest.raises(TypeMismatchError, match=text):
        make()


@pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128])
def test_wide_integers_of_polars_are_named_with_the_way(kind: Any) -> None:
    with pytest.raises(DataError, match=r'column "x": 128-bit integers of polars.*cast\(pl.Decimal\(38, 0\)\)'):
        tf.table(pl.DataFrame({"x": pl.Series([1], dtype=kind)}))


def test_an_endless_iterator_ends_with_ctrl_c() -> None:
    import signal

    counter = itertools.count()

    def stop() -> Any:
        next(counter)
        signal.raise_signal(signal.SIGINT)
        yield from counter

    with pytest.raises(KeyboardInterrupt):
        tf.table({"a": stop()})


@pytest.mark.parametrize("give", [tf.table, lambda rows: tf.append_table({"a": int}).append(rows)])
@pytest.mark.parametrize("rows", [lambda: {"a": itertools.count()}, lambda: ({"a": at} for at in itertools.count())])
def test_an_endless_iterator_ends_where_memory_does(give: Any, rows: Any) -> None:
    with tf.Config(memory="200MB"), pytest.raises(ResourceError, match=r"values so far, and no end: it needs"):
        give(rows())


TEXTS = pa.array(["b", "a", None, "c"]).dictionary_encode()
NUMBERS = pa.array([3, 1, None, 2]).dictionary_encode()


@pytest.mark.parametrize(("cells", "least", "most", "first"), [(TEXTS, "a", "c", "b"), (NUMBERS, 1, 3, 3)])
def test_codes_have_a_least_and_a_greatest_value(cells: pa.Array, least: object, most: object, first: object) -> None:
    x = tf.col("x")
    t = tf.table({"x": cells, "g": [1, 1, 1, 1]})
    every = {"lo": x.min(), "hi": x.max(), "one": x.first()}
    expected = {"lo": [least], "hi": [most], "one": [first]}
    assert t.agg_by([each.alias(name) for name, each in every.items()]).to_dict() == expected
    assert t.group_by("g").agg(**every).select("lo", "hi", "one").to_dict() == expected
    assert t.select(**every).to_dict() == expected
    assert t.first_by("g").to_dict() == {"x": [first], "g": [1]}
    live = tf.append_table(t.schema, graph=tf.Graph())
    made = live.group_by("g").agg(**every).select("lo", "hi", "one")
    live.append(t)
    live.graph.step()
    assert made.to_dict() == expected
