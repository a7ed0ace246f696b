"""Rows in and out: Python values, NumPy, and everything that speaks Arrow."""

import datetime as dt
import decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tickframe as tf

UTC = dt.UTC
ROWS = {
    "i": [1, None, -(2**63)],
    "f": [1.5, float("inf"), None],
    "s": ["a", "é☃", None],
    "b": [True, None, False],
    "y": [b"\x00", b"", None],
    "t": [dt.datetime(2024, 2, 29, 12, 0, 0, 5), None, dt.datetime(1700, 1, 1)],
    "z": [dt.datetime(2024, 2, 29, 12, tzinfo=UTC), None, dt.datetime(1969, 12, 31, tzinfo=UTC)],
    "d": [dt.date(2024, 2, 29), None, dt.date(1, 1, 1)],
    "c": [dt.time(23, 59, 59, 999999), None, dt.time(0)],
    "u": [dt.timedelta(days=-1, microseconds=1), None, dt.timedelta(0)],
    "m": [decimal.Decimal("1.25"), None, decimal.Decimal("-0.01")],
    "l": [[1, None], [], None],
    "n": [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}],
}


def test_python_values_come_back_as_they_went():
    t = tf.table(ROWS)
    assert t.to_dict() == ROWS
    assert t.to_dicts() == [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    assert tf.from_dicts(t.to_dicts()).to_dict() == ROWS
    assert t.schema["z"] == tf.Datetime("ns", "UTC")
    assert t.schema["t"] == tf.Datetime("ns")
    assert t.schema["u"] == tf.Duration("ns")


def test_missing_keys_of_dicts_are_null():
    assert tf.from_dicts([{"a": 1}, {"b": "x"}]).to_dict() == {"a": [1, None], "b": [None, "x"]}


def test_zones_survive():
    from zoneinfo import ZoneInfo

    moment = dt.datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Paris"))
    t = tf.table({"t": [moment]})
    assert t.schema["t"] == tf.Datetime("ns", "Europe/Paris")
    (back,) = t.to_dict()["t"]
    assert back == moment
    assert back.tzinfo.key == "Europe/Paris"


def test_a_value_finer_than_a_microsecond_is_never_cut_silently():
    t = tf.table({"t": np.array([1001], dtype="datetime64[ns]")})
    with pytest.raises(tf.errors.DataError, match="on_precision_loss"):
        t.to_dicts()
    assert t.to_dicts(on_precision_loss="truncate") == [{"t": dt.datetime(1970, 1, 1, 0, 0, 0, 1)}]


@pytest.mark.parametrize(
    "kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool"]
)
def test_numpy_arrays_keep_their_type(kind):
    array = np.arange(5).astype(kind)
    t = tf.table({"x": array})
    assert t.schema["x"] == tf.dtype(kind)
    assert t.to_dict()["x"] == array.tolist()
    np.testing.assert_array_equal(t["x"].to_numpy(), array)


def test_numpy_memory_may_change_afterwards_and_strides_do_not_matter():
    array = np.arange(10)
    t = tf.table({"x": array, "y": array[::-1], "z": array.astype(">i8")})
    array[:] = 0
    assert t.to_dict() == {"x": list(range(10)), "y": list(range(9, -1, -1)), "z": list(range(10))}


def test_numpy_times_and_nan_and_text():
    t = tf.table(
        {
            "t": np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
            "u": np.array([1, 2], dtype="timedelta64[ms]"),
            "f": np.array([np.nan, 1.0]),
            "s": np.array(["a", "bc"]),
        }
    )
    cells = t.to_dict()
    assert cells["t"] == [dt.datetime(2024, 1, 1), None]
    assert cells["u"] == [dt.timedelta(milliseconds=1), dt.timedelta(milliseconds=2)]
    assert np.isnan(cells["f"][0])
    assert cells["s"] == ["a", "bc"]


@pytest.fixture
def t():
    return tf.table({"i": [1, 2, None], "s": ["a", None, "c"], "f": [0.5, 1.5, 2.5]})


def test_everyone_takes_a_table_by_capsule(t):
    expected = t.to_dict()
    assert pa.table(t).to_pydict() == expected
    assert pl.DataFrame(t).to_dict(as_series=False) == expected
    assert t.to_polars().to_dict(as_series=False) == expected
    assert t.to_arrow().schema.field("s").type == pa.string()
    assert t.to_pandas()["i"].dtype == pd.ArrowDtype(pa.int64())
    assert duckdb.sql("select sum(i), count(s) from t").fetchall() == [(3, 2)]


def test_a_table_takes_everyone_by_capsule(t):
    expected = t.to_dict()
    for source in [
        t.to_arrow(),
        t.to_arrow().to_batches()[0],
        t.to_polars(),
        t.to_pandas(),
        duckdb.sql("select * from t").arrow(),
        t,
    ]:
        assert tf.table(source).to_dict() == expected
    assert tf.from_polars(t.to_polars()).to_dict() == expected
    assert tf.from_arrow(t.to_arrow()).to_dict() == expected
    assert tf.from_pandas(pd.DataFrame({"x": [1, 2]})).to_dict() == {"x": [1, 2]}
    series = {"a": pl.Series([1, 2]), "b": pa.array([3, 4]), "c": pa.chunked_array([[5], [6]]), "d": pd.Series([7, 8])}
    assert tf.table(series).to_dict() == {"a": [1, 2], "b": [3, 4], "c": [5, 6], "d": [7, 8]}


def test_requested_layouts_are_honoured_and_other_columns_refused(t):
    asked = pa.schema({"i": pa.int64(), "s": pa.large_string(), "f": pa.float64()})
    reader = pa.RecordBatchReader._import_from_c_capsule(t.__arrow_c_stream__(asked.__arrow_c_schema__()))
    assert reader.read_all().schema.field("s").type == pa.large_string()
    with pytest.raises(tf.errors.SchemaError, match="same columns in the same order"):
        t.__arrow_c_stream__(pa.schema({"s": pa.string()}).__arrow_c_schema__())


def test_a_declared_layout_leaves_as_declared():
    source = pa.table({"s": pa.array(["a"], pa.large_string()), "v": pa.array(["b"], pa.string_view())})
    assert tf.table(source).to_arrow().schema.types == [pa.large_string(), pa.string_view()]


def test_arrow_memory_leaves_as_it_came():
    source = pa.table({"x": pa.array(range(1000))})
    back = pa.table(tf.table(source, copy=False))
    assert back["x"].chunk(0).buffers()[1].address == source["x"].chunk(0).buffers()[1].address


def test_narrow_decimals_and_codes_fill_wider_columns():
    g = tf.Graph()
    t = tf.append_table({"m": tf.Decimal(14, 4), "s": tf.String}, graph=g)
    narrow = pa.array([decimal.Decimal("1.25"), None], pa.decimal64(12, 2))
    t.append(pa.table({"m": narrow, "s": pa.array(["a", "a"]).dictionary_encode()}))
    g.step()
    assert t.to_dict() == {"m": [decimal.Decimal("1.25"), None], "s": ["a", "a"]}
    small = tf.append_table({"m": tf.Decimal(13, 4)}, graph=g)
    with pytest.raises(
        tf.errors.TypeMismatchError, match=r'"m" is Decimal\(13, 4\), but the data holds Decimal\(12, 2\)'
    ):
        small.append(pa.table({"m": narrow}))


@pytest.mark.parametrize("dtype", ["int64", "float64", "int8", "bool", "datetime64[ns]", "uint32"])
def test_an_empty_numpy_array_is_a_column_of_no_rows(dtype):
    t = tf.table({"a": np.array([], dtype=dtype)})
    assert (t.shape, t["a"].to_list()) == ((0, 1), [])


def test_columns_and_empty_tables():
    t = tf.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
    assert t["b"].to_list() == ["x", None, "z"]
    assert t["a", "b"].columns == ["a", "b"]
    assert pa.array(t["a"]).to_pylist() == [1, 2, 3]
    assert np.asarray(t["a"]).tolist() == [1, 2, 3]
    assert tf.empty_table(3).shape == (3, 0)
    assert pa.table(tf.table({"x": []}, schema={"x": int})).num_rows == 0
    with pytest.raises(tf.errors.ColumnNotFoundError, match='"bb"'):
        t["bb"]


def test_columns_of_unequal_length():
    with pytest.raises(tf.errors.SchemaError, match=r'unequal length: "a" has 2 rows, "b" has 1'):
        tf.table({"a": [1, 2], "b": [1]})


def test_mixed_values_are_refused_with_their_row():
    with pytest.raises(tf.errors.TypeMismatchError, match=r'"a" mixes Int64 and String \(row 1\)'):
        tf.table({"a": [1, "x"]})


def test_what_is_no_table():
    with pytest.raises(tf.errors.TypeMismatchError, match="int is no table"):
        tf.table(5)


def test_schemas_are_held_to():
    assert tf.table({"a": [1]}, schema={"a": tf.Int8}).schema["a"] == tf.Int8
    with pytest.raises(tf.errors.DataError, match=r'"a" is Int8, and 300 in row 0 is out of its range'):
        tf.table({"a": [300]}, schema={"a": tf.Int8})
    with pytest.raises(tf.errors.TypeMismatchError, match="has no zone"):
        tf.table({"a": [dt.datetime(2024, 1, 1)]}, schema={"a": tf.Datetime("ns", "UTC")})


def test_repr_and_html():
    t = tf.table({"name": ["<a>"], "x": [1.0]})
    assert repr(t).splitlines() == [
        "shape: (1, 2)",
        "┌────────┬─────────┐",
        "│ name   ┆ x       │",
        "│ ---    ┆ ---     │",
        "│ String ┆ Float64 │",
        "╞════════╪═════════╡",
        "│ <a>    ┆ 1.0     │",
        "└────────┴─────────┘",
    ]
    assert "<small>shape: (1, 2)</small>" in t._repr_html_()
    assert "&lt;a&gt;" in t._repr_html_()
    long = tf.table({f"c{at}": list(range(100)) for at in range(30)})
    assert len(repr(long).splitlines()) == 1 + 5 + 11 + 1
    assert "…" in repr(long)
