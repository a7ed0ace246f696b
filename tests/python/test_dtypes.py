"""Types and schemas: from Python types and names, equality, through Arrow and back."""

import datetime as dt
import pickle

import pytest

import tickframe as tf

ALL = [
    tf.Null, tf.Boolean, tf.Int8, tf.Int16, tf.Int32, tf.Int64, tf.UInt8, tf.UInt16, tf.UInt32, tf.UInt64,
    tf.Float16, tf.Float32, tf.Float64, tf.String, tf.Binary, tf.Date, tf.Time,
    tf.Datetime("ns", "UTC"), tf.Datetime("ms"), tf.Duration("us"), tf.Decimal(12, 2), tf.FixedBinary(4),
    tf.List(tf.Int64), tf.List(tf.List(str)), tf.Array(tf.Float32, 3), tf.Struct({"a": int, "b": tf.List(str)}),
    tf.Dictionary(str), tf.Map(str, int), tf.Interval(),
]  # fmt: skip


@pytest.mark.parametrize("kind", ALL, ids=repr)
def test_a_type_survives_a_schema_a_pickle_and_its_own_repr(kind):
    assert tf.Schema({"x": kind})["x"] == kind
    assert pickle.loads(pickle.dumps(kind)) == kind
    assert eval(repr(kind), vars(tf).copy()) == kind or repr(kind).startswith(("Interval", "Dictionary"))


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (int, tf.Int64),
        (float, tf.Float64),
        (str, tf.String),
        (bool, tf.Boolean),
        (bytes, tf.Binary),
        (dt.datetime, tf.Datetime("ns")),
        (dt.date, tf.Date),
        (dt.time, tf.Time),
        (dt.timedelta, tf.Duration("ns")),
        ("int64", tf.Int64),
        ("str", tf.String),
        ("datetime[ns, UTC]", tf.Datetime("ns", "UTC")),
        ("list[list[int8]]", tf.List(tf.List(tf.Int8))),
        ("decimal[10, 2]", tf.Decimal(10, 2)),
        (tf.Datetime, tf.Datetime("ns")),
        (tf.Int64(), tf.Int64),
    ],
)
def test_types_by_python_type_and_by_name(given, kind):
    assert tf.dtype(given) == kind


def test_a_class_equals_its_instances_and_others_do_not():
    assert tf.Datetime("ms", "UTC") == tf.Datetime
    assert tf.Datetime == tf.Datetime("ms", "UTC")
    assert tf.Datetime("ms") != tf.Duration
    assert tf.Datetime("ms") != tf.Datetime("us")
    assert tf.Int64 != tf.Int32
    assert tf.List(int) != tf.List(str)
    assert {tf.Int64: 1}[tf.dtype("int64")] == 1


@pytest.mark.parametrize("wrong", ["int65", object, "list[", 3])
def test_what_is_no_type_is_refused(wrong):
    with pytest.raises(TypeError, match="no data type"):
        tf.dtype(wrong)


def test_layouts_of_one_meaning_are_one_type():
    import pyarrow as pa

    schema = tf.Schema(pa.schema({"a": pa.string(), "b": pa.large_string(), "c": pa.string_view()}))
    assert schema.dtypes() == [tf.String] * 3
    assert pa.schema(schema) == pa.schema({"a": pa.string(), "b": pa.large_string(), "c": pa.string_view()})


def test_a_schema_is_an_ordered_mapping():
    schema = tf.Schema({"a": int, "b": str})
    assert dict(schema) == {"a": tf.Int64, "b": tf.String}
    assert schema == {"a": tf.Int64, "b": tf.String}
    assert schema != {"b": tf.String, "a": tf.Int64}
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert tf.table({"a": [1], "b": ["x"]}).schema == schema


def test_a_schema_names_each_column_once():
    import pyarrow as pa

    with pytest.raises(tf.errors.DuplicateError, match='column "a" would appear twice'):
        tf.Schema(pa.schema([("a", pa.int64()), ("a", pa.int64())]))
