"""Files in and out, beside pyarrow and polars."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import random
import threading
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import tickframe as tf

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = {
    "flag": pa.array([True, None, False], pa.bool_()),
    "small": pa.array([-128, None, 127], pa.int8()),
    "int": pa.array([2**63 - 1, None, -(2**63)], pa.int64()),
    "unsigned": pa.array([2**64 - 1, None, 0], pa.uint64()),
    "float": pa.array([1.5, None, float("nan")], pa.float64()),
    "single": pa.array([1.5, None, float("-inf")], pa.float32()),
    "text": pa.array(['a,"b"\nc', None, ""], pa.string()),
    "bytes": pa.array([b"\x00\xff", None, b""], pa.binary()),
    "date": pa.array([dt.date(2024, 2, 29), None, dt.date(1969, 12, 31)], pa.date32()),
    "time": pa.array([1000, None, 86_399_999_999_000], pa.time64("ns")),
    "instant": pa.array([1000, None, -1000], pa.timestamp("ns")),
    "zoned": pa.array([1_700_000_000_123, None, 0], pa.timestamp("ms", "Europe/Berlin")),
    "span": pa.array([1, None, -1], pa.duration("us")),
    "decimal": pa.array([Decimal("1.25"), None, Decimal("-99999.99")], pa.decimal128(7, 2)),
    "list": pa.array([["a", None], None, []], pa.list_(pa.string())),
    "struct": pa.array(
        [{"x": 1, "y": "a"}, None, {"x": None, "y": None}], pa.struct({"x": pa.int64(), "y": pa.string()})
    ),
    "word": pa.array(["u", None, "u"], pa.string()).dictionary_encode(),
}


def everything() -> pa.Table:
    return pa.table(EVERYTHING)


def same(found: tf.Table, wanted: pa.Table) -> None:
    """The same names and values, however texts are laid out."""
    assert found.columns == wanted.column_names
    theirs = tf.table(wanted)
    assert found.schema == theirs.schema
    assert repr(found.to_dict()) == repr(theirs.to_dict())


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "brotli", "lz4", "none"])
def test_parquet_of_others(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(everything(), path, compression=codec, row_group_size=2)
    same(tf.read_parquet(path), everything())
    same(tf.scan_parquet(path), everything())


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "brotli", "lz4", "uncompressed"])
def test_parquet_for_others(tmp_path: Path, codec: Any) -> None:
    path = tmp_path / "a.parquet"
    tf.table(everything()).write_parquet(path, compression=codec, row_group_size=2)
    assert pq.ParquetFile(path).num_row_groups == 2
    same(tf.table(pq.read_table(path)), everything())
    same(tf.read_parquet(path), everything())
    assert [one.name for one in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("codec", ["zstd", "lz4", "uncompressed"])
def test_ipc_both_ways(tmp_path: Path, codec: Any, stream: bool) -> None:
    path = tmp_path / "a.arrow"
    tf.table(everything()).write_ipc(path, compression=codec, stream=stream)
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_stream(file) if stream else pa.ipc.open_file(file)
        same(tf.table(reader.read_all()), everything())
    same(tf.read_ipc(path), everything())
    if not stream:
        pa.feather.write_feather(everything(), path, compression=codec)
        same(tf.read_ipc(path), everything())


def test_parquet_and_ipc_of_polars_and_duckdb_both_ways(tmp_path: Path) -> None:
    table, frame = everything(), pl.from_arrow(everything())
    assert isinstance(frame, pl.DataFrame)
    wanted = {name: repr(tf.table(table)[name].to_list()) for name in table.column_names}
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for write, read, back in [
        (frame.write_parquet, tf.read_parquet, pl.read_parquet),
        (frame.write_parquet, tf.scan_parquet, pl.read_parquet),
        (frame.write_ipc, tf.read_ipc, pl.read_ipc),
    ]:
        write(theirs)
        found = read(theirs)
        assert {name: repr(found[name].to_list()) for name in found.columns} == wanted
        source = tf.table(table)
        source.write_ipc(ours) if back is pl.read_ipc else source.write_parquet(ours)
        made = back(ours)
        assert {name: repr(made[name].to_list()) for name in made.columns} == {
            name: repr(frame[name].to_list()) for name in frame.columns
        }
    # DuckDB has no spans of microseconds and no words of their own in Parquet; an instant of it is one of UTC.
    sql = duckdb.connect()
    sql.execute("set timezone = 'UTC'")
    plain = table.drop(["span", "word"])
    sql.register("given", plain)
    sql.execute(f"copy (from given) to '{theirs}' (format parquet)")
    found = tf.read_parquet(theirs)
    for name in plain.column_names:
        if name == "zoned":
            assert [one and one.timestamp() for one in found[name].to_list()] == [1_700_000_000.123, None, 0.0]
        else:
            assert repr(found[name].to_list()) == wanted[name], name
    tf.table(plain).write_parquet(ours)
    rows = sql.sql(f"from read_parquet('{ours}')").to_arrow_table()
    for name in plain.column_names:
        if name == "zoned":
            assert [one and one.timestamp() for one in rows[name].to_pylist()] == [1_700_000_000.123, None, 0.0]
        else:
            assert repr(rows[name].to_pylist()) == repr(plain[name].to_pylist()), name


def test_csv_comes_back(tmp_path: Path) -> None:
    table = tf.table(everything()).drop("list", "struct", "bytes", "span", "word")
    table.write_csv(tmp_path / "a.csv")
    back = tf.read_csv(tmp_path / "a.csv", schema=table.schema)
    assert repr(back.to_dict()) == repr(table.to_dict())
    theirs = pa.csv.read_csv(tmp_path / "a.csv", parse_options=pa.csv.ParseOptions(newlines_in_values=True))
    assert theirs["text"].to_pylist()[0] == 'a,"b"\nc'
    with pytest.raises(tf.errors.SchemaError, match='column "list" holds List'):
        tf.table(everything()).write_csv(tmp_path / "b.csv")
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


def test_json_comes_back() -> None:
    table = tf.table(everything()).drop("bytes", "span", "word", "float", "single")
    out = io.BytesIO()
    table.write_ndjson(out)
    assert len(out.getvalue().splitlines()) == 3
    back = tf.read_json(out.getvalue(), schema=table.schema)
    assert repr(back.to_dict()) == repr(table.to_dict())
    out = io.BytesIO()
    table.write_json(out)
    assert [row["unsigned"] for row in json.loads(out.getvalue())] == [2**64 - 1, None, 0]
    assert repr(tf.read_json(out.getvalue(), schema=table.schema).to_dict()) == repr(table.to_dict())


def test_empty_tables(tmp_path: Path) -> None:
    table = tf.table({"a": [1], "b": ["x"]}).head(0)
    for write, read in [
        (table.write_parquet, tf.read_parquet),
        (table.write_parquet, tf.scan_parquet),
        (table.write_ipc, tf.read_ipc),
        (table.write_csv, lambda path: tf.read_csv(path, schema=table.schema)),
        (table.write_ndjson, lambda path: tf.read_json(path, schema=table.schema)),
        (table.write_json, lambda path: tf.read_json(path, schema=table.schema)),
    ]:
        write(tmp_path / "a")  # type: ignore[operator]
        back = read(tmp_path / "a")  # type: ignore[operator]
        assert back.schema == table.schema
        assert len(back) == 0


CSVS = [
    "a,b\n1,x\n2,y\n",
    "a,b\r\n1,x\r\n2,y\r\n",
    "a,b\n1,x\n2,y",
    "\ufeffa,b\n1,x\n",
    'a,b\n1,"x\ny"\n2,"z"\n',
    'a,b\n1,"x""y"\n2,""""\n',
    "a,b\n1.5,x\n2,y\n",
    "a,b\n,\n,\n",
    "a\n1\n\n3\n",
    "a,b\n1,  x \n2,y\n",
    "a;b\n1;2\n",
    "a,b\n9223372036854775807,x\n",
    "a,b\ntrue,1e3\nfalse,-0.5\n",
]


@pytest.mark.parametrize("text", CSVS)
def test_csv_as_polars_reads_it(text: str) -> None:
    separator = ";" if ";" in text else ","
    ours = tf.read_csv(text.encode(), separator=separator)
    theirs = pl.read_csv(text.encode(), separator=separator)
    assert ours.columns == theirs.columns
    assert ours.to_dicts() == theirs.to_dicts()


def test_quoted_fields_that_span_the_cuts_of_threads() -> None:
    rows = [(n, f'line one {n}\nline "two", {n}\n' * (n % 50), n * 0.5) for n in range(60_000)]
    frame = pl.DataFrame(rows, schema=["n", "text", "x"], orient="row")
    data = frame.write_csv().encode()
    assert len(data) > 24 << 20
    assert tf.read_csv(data).to_dict() == frame.to_dict(as_series=False)


def test_a_csv_of_many_blocks(tmp_path: Path) -> None:
    frame = pl.DataFrame({"n": range(1_500_000), "x": [n / 7 for n in range(1_500_000)]})
    frame.write_csv(tmp_path / "a.csv")
    ours = tf.read_csv(tmp_path / "a.csv")
    assert ours.to_polars().equals(frame)
    calls: list[tuple[int, int]] = []
    tf.read_csv(tmp_path / "a.csv", progress=lambda done, total: calls.append((done, total)), columns=["x"])
    size = (tmp_path / "a.csv").stat().st_size
    assert calls[-1] == (size, size)
    assert calls == sorted(calls)
    assert tf.read_csv(tmp_path / "a.csv", n_rows=1_000_001).to_polars().equals(frame.head(1_000_001))


def test_csv_choices(tmp_path: Path) -> None:
    data = b"# made today\nx\ta\tb\n1\tNA\t2024-05-01\n# note\n2\t'q\tr'\t2024-05-02T10:00:00Z\n"
    table = tf.read_csv(
        data,
        separator="\t",
        quote_char="'",
        comment_prefix="#",
        null_values="NA",
        try_parse_dates=True,
        columns=["b", "a"],
    )
    assert table.columns == ["b", "a"]
    assert table["a"].to_list() == [None, "q\tr"]
    assert str(table.schema["b"]) == "Datetime('ns', 'UTC')"
    assert tf.read_csv(b"1,2\n3,4\n", has_header=False).columns == ["column_1", "column_2"]
    assert tf.read_csv(b"1,2\n3,4\n", has_header=False, schema={"p": int, "q": float}).to_dicts()[1] == {
        "p": 3,
        "q": 4.0,
    }
    many = b"junk\n" * 400_000 + b"a,b\n1,2\n"
    assert tf.read_csv(many, skip_rows=400_000).to_dicts() == [{"a": 1, "b": 2}]
    assert tf.read_csv(b"junk\nmore\na,b\n1,2\n", skip_rows=2).to_dicts() == [{"a": 1, "b": 2}]
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    assert tf.read_csv(tmp_path / "a.csv.gz").to_dicts() == [{"a": 1}]
    with (tmp_path / "a.csv.gz").open("rb") as file, gzip.open(file) as plain:
        assert tf.read_csv(plain).to_dicts() == [{"a": 1}]
    assert tf.read_csv(io.StringIO("a\nä\n")).to_dicts() == [{"a": "ä"}]


BAD_CSV = [
    (b"a,b\n1,2\n3\n", "bytes, line 3: 1 field where there are 2 columns"),
    (b"a,b\n1,2\n3,4,5\n", "bytes, line 3: 3 fields where there are 2 columns"),
    (b'a,b\n1,"x\n', "bytes, line 2: a quote that is not closed"),
    (b'a,b\n1,"x"y\n', 'bytes, line 2: "y" after a quote that was closed'),
    (b'a,b\n1,"x\ny"\n2,\xff\n', 'bytes, line 4, column "b": no UTF-8 at byte 0'),
    (b"a,a\n1,2\n", 'column "a" stands twice'),
    (b"", "it is empty"),
    (b"\xff\xfea\x00", "UTF-16"),
]


@pytest.mark.parametrize(("data", "said"), BAD_CSV)
def test_bad_csv(data: bytes, said: str) -> None:
    with pytest.raises((tf.errors.DataError, tf.errors.SchemaError), match=said.replace("(", r"\(")):
        tf.read_csv(data)


def test_what_becomes_of_bad_records(caplog: pytest.LogCaptureFixture) -> None:
    graph = tf.Graph()
    data = b"a,b\n1,x\ntwo,y\n3\n4,z\n5,w,v\n"
    kinds = {"a": int}
    with pytest.raises(tf.errors.DataError, match='line 3, column "a": "two" is no Int64') as caught:
        tf.read_csv(data, schema_overrides=kinds)
    assert (caught.value.line, caught.value.column, caught.value.filename) == (3, "a", "bytes")  # type: ignore[attr-defined]
    dead = tf.append_table(tf.DEAD_LETTERS, graph=graph)
    kept = tf.read_csv(data, schema_overrides=kinds, on_error="drop", dead_letter=dead)
    assert kept.to_dicts() == [{"a": 1, "b": "x"}, {"a": 4, "b": "z"}]
    graph.step()
    assert dead.to_dicts() == [
        {"source": "bytes", "position": 3, "record": "two,y", "reason": 'column "a": "two" is no Int64'},
        {"source": "bytes", "position": 4, "record": "3", "reason": "1 field where there are 2 columns"},
        {"source": "bytes", "position": 6, "record": "5,w,v", "reason": "3 fields where there are 2 columns"},
    ]
    nulls = tf.read_csv(data, schema_overrides=kinds, on_error="null")
    assert nulls["a"].to_list() == [1, None, 3, 4, 5]
    assert nulls["b"].to_list() == ["x", "y", None, "z", "w"]
    assert "3 records were taken with nulls; the first: bytes, line 3" in caplog.text


BAD_JSON = [
    (b'{"a": 1}\n{"a": \n{"a": 2}\n', "line 2: EOF while parsing"),
    (b'{"a": 1}\n[1]\n', "line 2: invalid type: sequence, expected an object"),
    (b'{"a": 1}\n{"a": 1.5}\n', 'line 2, column "a": 1.5 is no Int64'),
    (b'{"a": 1}\n{"a": "x"}\n', 'line 2, column "a": "x" is no Int64'),
    (b'{"a": 1}\n{"a": 1} x\n', "line 2: trailing characters"),
    (b'[{"a": 1}, {"a": 2}', "the array ends within this element"),
    (b'{"a": {"b": 1}}\n{"a": {"b": "x"}}\n', 'line 2, column "a.b": "x" is no Int64'),
    (b'{"a": 1, "a": 2}\n', "stands twice"),
    (b'{"a": "\xff"}\n', "line 1"),
    (b"[" * 100_000, "line 1"),
    (b'{"a":' * 100_000, "line 1"),
    (b"", "it is empty"),
]


@pytest.mark.parametrize(("data", "said"), BAD_JSON)
def test_bad_json(data: bytes, said: str) -> None:
    with pytest.raises(tf.errors.DataError, match=said):
        tf.read_json(data, infer_schema_length=1)


def test_json_of_many_fields_and_depths() -> None:
    many = b"\n".join(json.dumps({f"k{n * 50 + k}": k for k in range(50)}).encode() for n in range(1000))
    assert len(tf.read_json(many, infer_schema_length=None).columns) == 50_000
    with pytest.raises(tf.errors.DataError, match="nest"):
        tf.read_json(b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}")


def test_json_shapes() -> None:
    table = tf.read_json(
        b'{"n": 1, "o": {"x": 1, "y": ["a"]}, "m": 1, "f": 1}\n{"o": {"y": null}, "m": "t", "f": 2.5, "u": 18446744073709551615}\n'
        b'{"o": null, "m": {"k": [1]}, "n": 9223372036854775807}'
    )
    assert table.to_dicts() == [
        {"n": 1, "o": {"x": 1, "y": ["a"]}, "m": "1", "f": 1.0, "u": None},
        {"n": None, "o": {"x": None, "y": None}, "m": "t", "f": 2.5, "u": 2**64 - 1},
        {"n": 2**63 - 1, "o": None, "m": '{"k": [1]}', "f": None, "u": None},
    ]
    kept = tf.read_json(
        b'{"a": 1, "b": [{"c": 1}, {"c": "x"}]}\n{"a": "y", "b": [{"c": 2}, {\n{"b": [{"c": 3}]}',
        on_error="null",
        infer_schema_length=1,
        schema={"a": int, "b": tf.List(tf.Struct({"c": tf.Int64}))},
    )
    assert kept["a"].to_list() == [1, None, None]
    assert kept["b"].to_list()[0] == [{"c": 1}, {"c": None}]
    assert kept["b"].to_list()[2] == [{"c": 3}]
    assert tf.read_json(b'{"a": 1, "z": 2}', schema={"a": int}).columns == ["a"]
    with pytest.raises(tf.errors.DataError, match='column "z": there is no such column'):
        tf.read_json(b'{"a": 1, "z": 2}', schema={"a": int}, extra_fields="error")


def test_directories_are_columns(tmp_path: Path) -> None:
    table = tf.table({"day": [2, 1, 2, None], "venue": ["a/b", "c", "a/b", "c"], "px": [1.0, 2.0, 3.0, 4.0]})
    for write, ending, read in [
        (table.write_parquet, "pq", tf.read_parquet),
        (table.write_parquet, "pq", tf.scan_parquet),
        (table.write_csv, "csv", tf.read_csv),
        (table.write_ndjson, "json", tf.read_json),
        (table.write_ipc, "ipc", tf.read_ipc),
    ]:
        folder = tmp_path / f"{ending}-{read.__name__}"
        write(folder, partition_by=["day", "venue"])  # type: ignore[operator]
        back = read(folder)
        assert back.columns == ["px", "day", "venue"]
        wanted = [(3.0, 2, "a/b"), (1.0, 2, "a/b"), (2.0, 1, "c"), (4.0, None, "c")]
        assert sorted(map(repr, [tuple(row.values()) for row in back.to_dicts()])) == sorted(map(repr, wanted))
        assert read(folder, columns=["venue", "px"]).columns == ["venue", "px"]
        assert read(f"{folder}/day=2/**/part-0.*").columns in (["px", "venue"], ["px", "day", "venue"])


def counted(path: Path, **chosen: Any) -> tuple[tf.Table, Any]:
    from tickframe import _native
    from tickframe.files import found, wanted

    table, read = _native.scan_parquet("scan", found("scan", "parquet", path), wanted("scan", **chosen), 1 << 28)
    return tf.Table(table), read


def test_only_what_is_touched_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = 400_000
    columns = {f"c{n}": pl.Series([(i * (n + 1)) % 1_000_003 for i in range(rows)]) for n in range(20)}
    pl.DataFrame(columns).write_parquet(path, row_group_size=50_000, statistics=True)
    size = path.stat().st_size
    table, read = counted(path)
    opened = read.get()
    assert opened < size / 20
    assert table["c3"].to_list()[-1] == columns["c3"][-1]
    one = read.get() - opened
    assert one < size / 10
    # c0 ascends: a filter looks at one row group of eight.
    table, read = counted(path)
    assert table.filter(tf.col("c0") < 1000).select(tf.col("c1").sum()).item() == sum(columns["c1"][:1000])
    assert read.get() - opened < 2.5 * one / 8 * 1.5
    # Of a set of values the row groups that hold none are left out.
    table, read = counted(path)
    some = table.filter(tf.col("c0").is_in([7, 399_999]))
    assert some["c0"].to_list() == [7, 399_999]
    assert read.get() - opened < 2.5 * one / 8 * 2.5


@pytest.mark.parametrize("pages", [True, False])
def test_what_has_no_nulls_or_only_nulls_is_passed_over(tmp_path: Path, pages: bool) -> None:
    path = tmp_path / "a.parquet"
    rows, group = 400_000, 50_000
    # Nulls are in one row group of eight, which has no other cell; the last has none but one.
    cells = [None if 2 <= n // group < 3 else n * 7 % 1_000_003 for n in range(rows)]
    rare = [n if n == 5 else None for n in range(rows)]
    drawn = random.Random(1)
    more = {f"c{n}": pa.array([drawn.randrange(2**40) for _ in range(rows)]) for n in range(3)}
    table = pa.table({"a": pa.array(cells, pa.int64()), "rare": pa.array(rare, pa.int64()), **more})
    pq.write_table(table, path, row_group_size=group, write_page_index=pages, use_dictionary=False)
    whole, read = counted(path)
    opened = read.get()
    assert whole.select(tf.col("c0").sum()).item() == sum(more["c0"].to_pylist())
    one = read.get() - opened
    for condition, wanted in [
        (tf.col("a").is_null(), range(2 * group, 3 * group)),
        (~tf.col("a").is_not_null(), range(2 * group, 3 * group)),
        (tf.col("rare").is_not_null(), [5]),
        (~tf.col("rare").is_null(), [5]),
        (tf.col("rare") >= 0, [5]),
    ]:
        placed, read = counted(path)
        before = read.get()
        got = placed.filter(condition).select(tf.col("c0").sum()).item()
        assert got == sum(more["c0"][n].as_py() for n in wanted), condition
        # A group of the two columns that are touched, and some more for the pages at its edges.
        assert read.get() - before < 0.3 * one, (condition, (read.get() - before) / one)


def test_what_a_bloom_filter_knows_to_be_elsewhere_is_passed_over(tmp_path: Path) -> None:
    rows, group = 80_000, 10_000
    # Of every row group the bounds are almost those of the column.
    ids = [f"{n * 2_654_435_761 % 2**32:08x}" for n in range(rows)]
    numbers = [n * 1_640_531_527 % 2**31 for n in range(rows)]
    dates = [n * 7919 % 100_003 for n in range(rows)]
    columns = {
        "id": pa.array(ids),
        "bytes": pa.array([one.encode() for one in ids]),
        "i64": pa.array([n * 2**20 for n in numbers], pa.int64()),
        "u32": pa.array([n * 2 + 1 for n in numbers], pa.uint32()),
        "i32": pa.array([n - 2**30 for n in numbers], pa.int32()),
        "day": pa.array(dates, pa.int32()).cast(pa.date32()),
        "fill": pa.array([float(n) for n in range(rows)]),
    }
    table = pa.table(columns)
    path, without = tmp_path / "a.parquet", tmp_path / "b.parquet"
    known = {name: {"ndv": group, "fpp": 0.02} for name in columns if name != "fill"}
    common = {"row_group_size": group, "use_dictionary": False, "compression": "none"}
    pq.write_table(table, path, bloom_filter_options=known, **common)
    pq.write_table(table, without, **common)

    def bytes_of(path: Path, condition: Any) -> tuple[list[Any], int]:
        placed, read = counted(path)
        before = read.get()
        return placed.filter(condition).select("fill").to_dict()["fill"], read.get() - before

    for name in known:
        cell = table[name][43_210].as_py()
        far = [table[name][at].as_py() for at in (5, 7000)]
        for condition, of, wanted in [
            (tf.col(name) == cell, table[name].to_pylist(), {cell}),
            (tf.col(name).is_in(far), table[name].to_pylist(), set(far)),
        ]:
            got, few = bytes_of(path, condition)
            assert got == [float(n) for n, one in enumerate(of) if one in wanted], name
            again, many = bytes_of(without, condition)
            assert again == got
            assert few < many * 0.6, (name, few, many)
    nowhere, few = bytes_of(path, tf.col("id") == "7fffffff")
    assert nowhere == []
    assert few < 8 * 20_000

    # Filters that lie in ruins tell nothing, and leave nothing out.
    offsets = [pq.ParquetFile(path).metadata.row_group(at).column(0).bloom_filter_offset for at in range(8)]
    whole = bytearray(path.read_bytes())
    for byte in (0x00, 0xFF):
        for offset in offsets:
            whole[offset : offset + 16] = bytes([byte]) * 16
        path.write_bytes(whole)
        assert bytes_of(path, tf.col("id") == ids[43_210])[0] == [43_210.0]


POOL: list[Any] = [
    0,
    1,
    -1,
    5,
    2**31,
    -(2**63),
    2**63 - 1,
    0.0,
    -0.0,
    0.5,
    1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
    "",
    "a",
    "m",
    "zz",
    "\U0010ffff",
    None,
]


@pytest.mark.parametrize("bloom", [True, False])
@pytest.mark.parametrize("statistics", [True, False])
def test_pushed_filters_equal_filters_on_a_copy(tmp_path: Path, statistics: bool, bloom: bool) -> None:
    path = tmp_path / "a.parquet"
    n = 3000
    table = pa.table(
        {
            "i": pa.array([None if k % 97 == 0 else k - 1500 for k in range(n)], pa.int64()),
            "f": pa.array([float("nan") if k % 500 == 499 else (k // 100) / 2 for k in range(n)], pa.float64()),
            "s": pa.array([chr(97 + k // 120) * (1 + k % 80) for k in range(n)], pa.string()),
            "z": pa.array([None] * n, pa.int64()),
            "t": pa.array([k * 10**9 for k in range(n)], pa.timestamp("ns")),
            "small": pa.array([k % 256 - 128 for k in range(n)], pa.int8()),
            "large": pa.array([k * 2**51 + 2**63 for k in range(n)], pa.uint64()),
        }
    )
    blooms = dict.fromkeys(table.column_names, True) if bloom else None
    pages = {"data_page_size": 512, "write_statistics": statistics, "write_page_index": statistics}
    pq.write_table(table, path, row_group_size=700, bloom_filter_options=blooms, **pages)
    copy, placed = tf.read_parquet(path), tf.scan_parquet(path)
    numbers = [one for one in POOL if not isinstance(one, str)]
    texts = [one for one in POOL if isinstance(one, str)]
    moments = [
        dt.datetime(1970, 1, 1),
        dt.datetime(1970, 1, 1, 0, 20),
        dt.datetime(1960, 1, 1),
        dt.datetime(2100, 1, 1),
    ]
    for column, literals in [
        ("i", numbers),
        ("f", numbers),
        ("s", texts),
        ("z", numbers),
        ("t", moments),
        ("small", numbers),
        ("large", numbers),
    ]:
        for literal in literals:
            for of in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
                condition = getattr(tf.col(column), of)(literal)
                wanted = copy.filter(condition).to_dict()
                assert repr(placed.filter(condition).to_dict()) == repr(wanted), (column, of, literal)
                others = tf.col(column).is_in([literal, literals[1]])
                assert repr(placed.filter(others).to_dict()) == repr(copy.filter(others).to_dict()), (column, literal)
                both = condition & (tf.col("i") > 3)
                counts = [
                    one.filter(both).select(tf.col("i").sum().alias("s"), tf.len().alias("n")).to_dicts()
                    for one in (copy, placed)
                ]
                assert counts[0] == counts[1], (column, of, literal)
        cell = tf.col(column)
        for number, test in enumerate([cell.is_null(), cell.is_not_null(), ~cell.is_null(), ~cell.is_not_null()]):
            assert repr(placed.filter(test).to_dict()) == repr(copy.filter(test).to_dict()), (column, number)


@pytest.mark.parametrize("pages", [True, False])
def test_texts_that_are_codes_equal_texts_of_a_copy(tmp_path: Path, pages: bool) -> None:
    path = tmp_path / "a.parquet"
    dice = random.Random(3)
    n = 150_000
    modes = ["AIR", "MAIL", "SHIP", "", "REG AIR and a text of more than twelve bytes", "Öl"]
    table = pa.table(
        {
            "few": pa.array(dice.choices(modes, k=n), pa.string()),
            "gaps": pa.array([None if k % 3 == 0 else modes[k % 5] for k in range(n)], pa.large_string()),
            "many": pa.array([f"{dice.randrange(9000):04} of nine thousand" for _ in range(n)], pa.string()),
            # Codes at first, and texts from where the dictionary is full.
            "mixed": pa.array([f"{k if k % 50_000 > 9_000 else k % 9}" for k in range(n)], pa.string()),
            "none": pa.array([None] * n, pa.string()),
            "bytes": pa.array([None if k % 11 == 0 else b"\xff" * (k % 4) for k in range(n)], pa.binary()),
            "v": pa.array(range(n), pa.int64()),
        }
    )
    pq.write_table(table, path, row_group_size=50_000, write_page_index=pages, dictionary_pagesize_limit=1 << 18)
    copy = tf.read_parquet(path)
    tests = [
        tf.col("few") == "AIR",
        tf.col("few") != "REG AIR and a text of more than twelve bytes",
        tf.col("few").is_in(["SHIP", "", "nowhere"]),
        tf.col("few").str.contains("I"),
        tf.col("few").str.len_chars() < 4,
        tf.col("gaps").is_null(),
        tf.col("gaps") < "MAIL",
        tf.col("gaps").is_null() | (tf.col("gaps") == "AIR"),
        tf.col("gaps").fill_null("MAIL") == "MAIL",
        tf.col("many").str.starts_with("00"),
        tf.col("many") > "8990",
        tf.col("mixed") == "7",
        tf.col("mixed").str.ends_with("77"),
        tf.col("none").is_null(),
        tf.col("none") == "AIR",
        tf.col("bytes") == b"\xff",
        tf.col("bytes").is_not_null(),
    ]
    asked = [(one,) for one in tests] + [
        (dice.choice(tests), tf.col("v") % 7 < 3, dice.choice(tests)) for _ in range(25)
    ]
    for conditions in asked:
        placed = tf.scan_parquet(path)
        kept, wanted = placed.filter(*conditions), copy.filter(*conditions)
        assert kept.to_arrow().equals(wanted.to_arrow()), conditions
        groups = [
            one.group_by("few", "gaps").agg(
                tf.len().alias("n"), tf.col("v").sum().alias("v"), tf.col("many").max().alias("m")
            )
            for one in (kept, wanted)
        ]
        assert groups[0].to_dicts() == groups[1].to_dicts(), conditions
        plan = lambda t, of=conditions: t.filter(*of).group_by("gaps").agg(tf.col("mixed").last().alias("x"))  # noqa: E731
        assert plan(tf.scan_parquet(path)).to_dicts() == plan(copy).to_dicts(), conditions
        ran = plan(copy).plan.collect(**dict.fromkeys(plan(copy).plan.inputs, tf.scan_parquet(path)))
        assert ran.to_dicts() == plan(copy).to_dicts(), conditions
    placed = tf.scan_parquet(path)
    for make in [
        lambda t: t.sort("many", "v").head(999),
        lambda t: t.reverse().filter(tf.col("few") == "Öl").tail(99),
        lambda t: t.filter(tf.col("v") % 1000 == 1).join(t.select("v", tf.col("gaps").alias("g")), on="v", how="left"),
        lambda t: t.slice(49_990, 20),
    ]:
        assert make(placed).to_arrow().equals(make(copy).to_arrow())


def test_operations_over_files_that_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    frame = pl.DataFrame(
        {
            "k": [n % 7 for n in range(100_000)],
            "v": [n * 0.5 for n in range(100_000)],
            "s": [f"t{n % 11}" for n in range(100_000)],
        }
    )
    frame.write_parquet(path, row_group_size=9_999)
    placed, copy = tf.scan_parquet(path), tf.table(frame)
    for make in [
        lambda t: t.group_by("k").agg(tf.col("v").sum().alias("v"), tf.col("s").n_unique().alias("n")),
        lambda t: t.sort("v", descending=True).head(10),
        lambda t: t.with_columns((tf.col("v") * 2).alias("w")).filter(tf.col("s") == "t3").tail(5),
        lambda t: t.join(t.head(3).select("v", tf.col("k").alias("q")), on="v", how="inner"),
        lambda t: t.slice(5, 777),
        lambda t: t.unique("s"),
        lambda t: t.update_by(tf.update_by.cum_sum("w=v"), by="k").tail(3),
    ]:
        assert make(placed).to_dicts() == make(copy).to_dicts()
    assert placed.to_polars().equals(frame)


def test_broken_files(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(everything(), path)
    whole = path.read_bytes()
    for cut in (0, 3, 8, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        for read in (tf.read_parquet, tf.scan_parquet):
            with pytest.raises(tf.errors.DataError, match=r"a\.parquet"):
                read(path)
    path = tmp_path / "a.arrow"
    tf.table(everything()).write_ipc(path)
    whole = path.read_bytes()
    for cut in (0, 3, 8, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(tf.errors.DataError, match=r"a\.arrow"):
            tf.read_ipc(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_flipped_bytes_never_crash(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    table = tf.table(everything())
    table.write_parquet(path) if kind == "parquet" else table.write_ipc(path)
    whole = path.read_bytes()
    dice = random.Random(7)
    for _ in range(400):
        bent = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            bent[dice.randrange(len(bent))] = dice.randrange(256)
        path.write_bytes(bent)
        try:
            if kind == "parquet":
                scanned = tf.scan_parquet(path)
                scanned.filter(tf.col("int") > 0).to_dict()
                scanned.to_dict()
            made = tf.read_parquet(path) if kind == "parquet" else tf.read_ipc(path)
            made.to_dict()
        except tf.errors.TickframeError:
            pass


def test_files_of_different_columns(tmp_path: Path) -> None:
    for kind, write, read in [
        ("csv", "write_csv", tf.read_csv),
        ("parquet", "write_parquet", tf.read_parquet),
        ("arrow", "write_ipc", tf.read_ipc),
    ]:
        folder = tmp_path / kind
        getattr(tf.table({"a": [1], "b": [2.5]}), write)(folder / f"1.{kind}")
        for other, said in [
            ({"a": [1]}, 'column "b"'),
            ({"a": [1], "b": [2.5], "c": [3]}, 'column "c" is not in the first file'),
        ]:
            getattr(tf.table(other), write)(folder / f"2.{kind}")
            with pytest.raises(tf.errors.SchemaError, match=said) as caught:
                read(folder)
            assert f"2.{kind}" in str(caught.value)
        getattr(tf.table({"a": [1], "b": ["x"]}), write)(folder / f"2.{kind}")
        with pytest.raises((tf.errors.SchemaError, tf.errors.DataError), match='column "b"'):
            read(folder)
        assert read(folder, columns=["a"]).to_dict() == {"a": [1, 1]}


def test_names_that_lead_nowhere(tmp_path: Path) -> None:
    for read in (tf.read_csv, tf.read_json, tf.read_parquet, tf.read_ipc, tf.scan_parquet):
        with pytest.raises(FileNotFoundError, match="no such file or directory") as caught:
            read(tmp_path / "no.file")
        assert isinstance(caught.value, tf.errors.MissingFileError)
        with pytest.raises(tf.errors.MissingFileError, match="no file in it ends with"):
            read(tmp_path)
        with pytest.raises(tf.errors.MissingFileError, match="no file is called so"):
            read(tmp_path / "*.x")
        with pytest.raises(TypeError, match="give a path"):
            read(7)
    with pytest.raises(tf.errors.StorageError, match="is a directory"):
        tf.table({"a": [1]}).write_csv(tmp_path)
    with pytest.raises(ValueError, match="separator is one ASCII character"):
        tf.read_csv(b"a", separator="::")
    with pytest.raises(tf.errors.ColumnNotFoundError, match='no column "z"'):
        tf.read_csv(b"a,b\n1,2\n", columns=["z"])


def test_progress_may_end_it(tmp_path: Path) -> None:
    def enough(_done: int, _total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tf.read_csv(b"a\n1\n", progress=enough)
    with pytest.raises(RuntimeError, match="enough"):
        tf.table({"a": [1]}).write_parquet(tmp_path / "a.parquet", progress=enough)
    assert [one.name for one in tmp_path.iterdir()] == []


def test_a_directory_that_grows(tmp_path: Path) -> None:
    graph = tf.Graph()
    (tmp_path / "1.csv").write_text("k,v\na,1\n")
    table = tf.scan_csv(tmp_path, refresh="manual", settle=0.05, graph=graph)
    assert table.attributes["append_only"]
    total = table.group_by("k").agg(tf.col("v").sum())
    graph.step()
    (tmp_path / "2.csv").write_text("k,v\nb,2\na,3\n")
    assert table.refresh() == 1
    assert table.refresh() == 0
    graph.step()
    assert total.to_dicts() == [{"k": "a", "v": 4}, {"k": "b", "v": 2}]
    # A file that has not ended yet is waited for, and those after it.
    (tmp_path / "3.csv").write_text("k,v\nb,")
    (tmp_path / "4.csv").write_text("k,v\nz,9\n")
    waiting = tf.scan_csv(tmp_path, refresh="manual", settle=60, graph=graph)
    assert waiting.refresh() == 0
    (tmp_path / "3.csv").write_text("k,v\nb,5\n")
    assert waiting.refresh() == 2
    graph.step()
    assert waiting["k"].to_list() == ["a", "b", "a", "b", "z"]
    waiting.close()
    assert waiting.refresh() == 0


def test_files_that_change_fail_their_table(tmp_path: Path) -> None:
    for change in ("rewritten", "removed", "broken"):
        graph = tf.Graph()
        folder = tmp_path / change
        tf.table({"a": [1]}).write_parquet(folder / "1.parquet")
        table = tf.scan_parquet(folder, refresh="manual", settle=0, graph=graph)
        derived = table.with_columns((tf.col("a") + 1).alias("b"))
        graph.step()
        if change == "removed":
            (folder / "1.parquet").unlink()
        elif change == "rewritten":
            tf.table({"a": [1, 2]}).write_parquet(folder / "1.parquet")
        else:
            (folder / "2.parquet").write_bytes(b"PAR1 no")
        with pytest.raises((tf.errors.StorageError, tf.errors.DataError), match=r"\.parquet"):
            table.refresh()
        graph.step()
        with pytest.raises(tf.errors.TableFailedError, match=r"\.parquet"):
            derived.to_dict()


def test_followed_by_itself(tmp_path: Path) -> None:
    graph = tf.Graph()
    graph.start()
    table = tf.scan_ndjson(tmp_path, refresh="auto", every=0.02, schema={"a": int}, graph=graph)
    assert len(table) == 0
    threading.Timer(0.05, lambda: (tmp_path / "1.json").write_text('{"a": 1}\n{"a": 2}\n')).start()
    table.wait(10)
    assert table.to_dict() == {"a": [1, 2]}
    graph.stop()


def test_what_follows_no_files_is_not_refreshed(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.InvalidOperationError, match="follows no files"):
        tf.table({"a": [1]}).refresh()
    with pytest.raises(tf.errors.MissingFileError, match="no such file"):
        tf.scan_parquet(tmp_path / "no", refresh="manual", schema={"a": int}, graph=tf.Graph())
    with pytest.raises(ValueError, match="no whole file is there yet"):
        tf.scan_csv(tmp_path, refresh="manual", graph=tf.Graph())


def test_orc(tmp_path: Path) -> None:
    orc = pytest.importorskip("pyarrow.orc")
    orc.write_table(pa.table({"a": [1, None], "b": ["x", "y"]}), tmp_path / "a.orc")
    assert tf.read_orc(tmp_path).to_dicts() == [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]
    (tmp_path / "b.orc").write_bytes(b"no")
    with pytest.raises(tf.errors.DataError, match=r"b\.orc"):
        tf.read_orc(tmp_path / "b.orc")
