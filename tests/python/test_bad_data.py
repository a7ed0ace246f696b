"""Data that is wrong: the class of the error, and that it names the column, the row and the user's own text."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pytest

import tickframe as tf
from tickframe import col
from tickframe.errors import DataError, SchemaError, TypeMismatchError

MAP = tf.from_arrow(pa.table({"m": pa.array([[("a", 1)]], type=pa.map_(pa.string(), pa.int64())), "x": [1]}))
TEXTS = tf.table({"s": ["1", "x"]})
PARSED = r'row 1: the value is no Int64.*\(value "x", in col\("s"\).cast\(Int64\)'


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: TEXTS.with_columns(n=col("s").cast(tf.Int64)), DataError, "with_columns: " + PARSED),
        (lambda: TEXTS.select(n=col("s").cast(tf.Int64)), DataError, "select: " + PARSED),
        (lambda: TEXTS.filter(col("s").cast(tf.Int64) > 0), DataError, "filter: " + PARSED),
        (lambda: TEXTS.agg_by(col("s").cast(tf.Int64).sum()), DataError, "agg_by: " + PARSED),
        (lambda: TEXTS.group_by(col("s").cast(tf.Int64)).len(), DataError, "group_by: " + PARSED),
        (lambda: TEXTS.view("N = (long)s").to_dict(), DataError, "view: " + PARSED),
        (lambda: TEXTS.lazy_update("N = (long)s").to_dict(), DataError, "lazy_update: " + PARSED),
        (
            lambda: tf.table({"x": [1, 1000]}).with_columns(n=col("x").cast(tf.Int8)),
            DataError,
            r"row 1: the value does not fit Int8.*value 1000.*alias\(\"n\"\)",
        ),
        (
            lambda: tf.table({"l": [["1"], ["2"], ["x"]]}).with_columns(n=col("l").cast(tf.List(tf.Int64))),
            DataError,
            r"with_columns: row 2: the value is no List\(Int64\).*value \[x\]",
        ),
        (
            lambda: tf.from_arrow(pa.table({"t": pa.array([0, 2**62], pa.timestamp("s"))})),
            DataError,
            r'column "t": row 1: 4611686018427387904 s does not fit',
        ),
        (
            lambda: tf.from_arrow(pa.table({"t": pa.array([0, 86_400_001], pa.date64())})),
            DataError,
            r'column "t": row 1: .* does not fit Date32 without losing precision',
        ),
        (
            lambda: pa.RecordBatchReader.from_stream(TEXTS, schema=pa.schema([("s", pa.int64())])),
            DataError,
            r'requested_schema: column "s": row 1: x does not fit Int64',
        ),
        (
            lambda: MAP.sort("m"),
            TypeMismatchError,
            r'sort: the column "m" holds Map\(String, Int64\), of which there is no key',
        ),
        (lambda: MAP.group_by("m").len(), TypeMismatchError, r'group_by: the column "m" holds Map'),
        (MAP.unique, TypeMismatchError, r'unique: the column "m" holds Map'),
        (
            lambda: MAP.natural_join(MAP, on="m", suffix="2"),
            TypeMismatchError,
            r'natural_join: the column "m" holds Map',
        ),
        (lambda: MAP.lazy_update("Y = isNull(m)"), TypeMismatchError, r'lazy_update: the column "m" holds Map'),
        (
            lambda: tf.keyed_table(MAP.schema, key="m", graph=tf.Graph()),
            TypeMismatchError,
            r'keyed_table: the column "m" holds Map',
        ),
        (
            lambda: TEXTS.natural_join(tf.table({"s": [1]}), on="s"),
            TypeMismatchError,
            r'natural_join: the keys "s" \(String\) and "s" \(Int64\) do not compare',
        ),
        (
            lambda: TEXTS.join_asof(TEXTS, on="s"),
            TypeMismatchError,
            r'join_asof: the stamps "s" \(String\) and "s" \(String\) do not compare as times or numbers',
        ),
        (
            lambda: tf.concat([TEXTS, tf.table({"s": [[1]]})]),
            SchemaError,
            r'concat: column "s" is String in table 0, List\(Int64\) in table 1',
        ),
    ],
)
def test_the_error_names_what_is_wrong(make, kind, text):
    with pytest.raises(kind, match=text) as raised:
        make()
    assert type(raised.value) is kind


def test_appended_data_is_told_by_column_and_row():
    g = tf.Graph()
    t = tf.append_table({"t": tf.Datetime("ns")}, graph=g)
    with pytest.raises(DataError, match=r'append: column "t".*: row 1: '):
        t.append(pa.table({"t": pa.array([0, 2**62], pa.timestamp("s"))}))
    assert g.step() == 1
    assert len(t) == 0


def test_a_live_table_that_meets_such_a_value_fails_with_that_cause():
    g = tf.Graph()
    t = tf.append_table({"s": str}, graph=g)
    number = col("s").cast(tf.Int64)
    made = [
        t.with_columns(n=number),
        t.filter(number > 0),
        t.group_by("s").agg(n=number.sum()),
        t.group_by(number).len(),
    ]
    t.append({"s": ["1", "x"]})
    g.step()
    for table in made:
        with pytest.raises(tf.errors.TableFailedError) as raised:
            len(table)
        assert type(raised.value.__cause__) is DataError
        assert 'value "x"' in str(raised.value.__cause__)


def test_text_that_is_no_utf8_is_refused_as_it_comes():
    offsets = pa.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00")
    broken = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    for data in (pa.table({"s": broken}), {"s": broken}, {"s": pa.chunked_array([broken])}):
        with pytest.raises(DataError, match="not sound Arrow data"):
            tf.table(data)


def test_sums_of_wide_decimals_are_exact():
    cells = [decimal.Decimal("9" * 60 + ".25"), None, decimal.Decimal("-1.50")]
    t = tf.from_arrow(pa.table({"d": pa.array(cells, pa.decimal256(76, 2))}))
    total = decimal.localcontext(decimal.Context(prec=80))
    with total:
        assert t.agg_by(col("d").sum()).to_dict() == {"d": [cells[0] + cells[2]]}


def test_times_beyond_the_range_are_errors_of_the_row():
    t = tf.table({"t": [dt.datetime(2262, 1, 1)]})
    with pytest.raises(DataError, match=r"row 0: the result is outside the range"):
        t.with_columns(u=col("t") + dt.timedelta(days=3650))
