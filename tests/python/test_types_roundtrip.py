"""Every Arrow type comes in, goes through tables, filters, views and neighbours, and leaves as it came."""

from __future__ import annotations

import decimal

import numpy as np
import pyarrow as pa
import pytest

import tickframe as tf

_ONE = decimal.Decimal("1.25")
COLUMNS = {
    "int8": pa.array([-128, None], pa.int8()),
    "uint64": pa.array([2**64 - 1, None], pa.uint64()),
    "float16": pa.array(np.array([1.5, np.nan], dtype=np.float16)),
    "decimal32": pa.array([_ONE, None], pa.decimal32(5, 2)),
    "decimal64": pa.array([_ONE, None], pa.decimal64(12, 2)),
    "decimal256": pa.array([_ONE, None], pa.decimal256(50, 2)),
    "time32s": pa.array([1, None], pa.time32("s")),
    "time32ms": pa.array([1, None], pa.time32("ms")),
    "time64us": pa.array([1, None], pa.time64("us")),
    "time64ns": pa.array([1, None], pa.time64("ns")),
    "date64": pa.array([86_400_000, None], pa.date64()),
    "duration": pa.array([1, None], pa.duration("ms")),
    "stamp": pa.array([1, None], pa.timestamp("s", "Europe/Paris")),
    "interval": pa.array([pa.MonthDayNano([1, 2, 3]), None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([7])),
    "union": pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["x"])]
    ),
    "sparse": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["x", "y"])]),
    "fixed": pa.array([b"ab", None], pa.binary(2)),
    "large_binary": pa.array([b"ab", None], pa.large_binary()),
    "binary_view": pa.array([b"ab", None], pa.binary_view()),
    "string_view": pa.array(["ab", None], pa.string_view()),
    "large_string": pa.array(["ab", None], pa.large_string()),
    "list_view": pa.array([[1], None], pa.list_view(pa.int64())),
    "fixed_list": pa.array([[1, 2], None], pa.list_(pa.int64(), 2)),
    "large_list": pa.array([[1, 2], None], pa.large_list(pa.int64())),
    "struct": pa.array([{"a": 1}, None]),
    "dictionary": pa.array(["a", None]).dictionary_encode(),
    "nothing": pa.nulls(2),
}
NO_PYTHON_VALUE = {"union", "sparse"}
#: A column by itself does not give them as Python values, a table does.
ONLY_BY_TABLE = {"decimal32", "decimal64", "runs"}


def cells(table: tf.Table, name: str, like: pa.DataType | None = None) -> list[object]:
    column = pa.table(table).column(name)
    if like is not None and pa.types.is_temporal(like) and not pa.types.is_interval(like):
        # What is computed is in nanoseconds.
        column = column.cast(like)
    return [repr(cell) for cell in column.to_pylist()]


@pytest.mark.parametrize("name", COLUMNS)
def test_what_comes_leaves_as_it_came(name: str) -> None:
    column = COLUMNS[name]
    given = pa.table({"k": [1, 2], name: column})
    told = [repr(cell) for cell in column.to_pylist()]
    still = tf.from_arrow(given)
    assert pa.table(still).schema.field(name).type == column.type
    assert cells(still, name) == told
    g = tf.Graph()
    source = tf.append_table(given.schema, graph=g)
    late = source.filter(tf.col("k") > 1)
    before = source.update(f"Z = {name}_[i-1]")
    seen = source.update_view(f"Z = k > 1 ? {name} : null")
    for _ in range(2):
        source.append(given)
        g.step()
    assert pa.table(late).schema.field(name).type == column.type
    assert cells(late, name) == told[1:] * 2
    assert cells(before, "Z", column.type) == ["None", *told, told[0]]
    assert cells(seen, "Z", column.type) == ["None", told[1]] * 2
    assert source.select(tf.col(name).is_null().alias("n"))["n"].to_list() == [cell == "None" for cell in told] * 2


def is_missing(cell: object) -> bool:
    """Null, or not a number, or no time."""
    odd = float | np.floating | np.datetime64 | np.timedelta64
    return cell is None or (isinstance(cell, odd) and bool(np.isnan(cell)))


@pytest.mark.parametrize("name", COLUMNS)
def test_nulls_are_nulls_whichever_way_they_leave(name: str) -> None:
    column = COLUMNS[name]
    # Columns come in pieces: the first has no null, one has no cell.
    pieces = pa.chunked_array([column[:1], column[:0], column[1:], column])
    table = tf.from_arrow(pa.table({name: pieces}))
    wanted = [is_missing(cell) for cell in pieces.to_pylist()]
    assert [is_missing(cell) for cell in pa.table(table).column(name).to_pylist()] == wanted
    column_ways = (lambda: table[name].to_list("truncate"), lambda: list(table[name].to_numpy()))
    table_ways = (lambda: [row[name] for row in table.to_dicts("truncate")], lambda: table.to_dict("truncate")[name])
    if name in NO_PYTHON_VALUE:
        for way in column_ways + table_ways:
            with pytest.raises(tf.errors.TypeMismatchError, match="no Python value; take it out as Arrow"):
                way()
        return
    for way in table_ways if name in ONLY_BY_TABLE else column_ways + table_ways:
        assert [is_missing(cell) for cell in way()] == wanted
