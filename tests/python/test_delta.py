"""Tables of Delta Lake and Iceberg, read and followed: what deltalake and pyiceberg write, and deletion vectors by hand."""

from __future__ import annotations

import json
import random
import re
import struct
import time
import tomllib
import uuid
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

import tickframe as tf
from tickframe.errors import ColumnNotFoundError, DataError, MissingFileError, SchemaError, TableFailedError

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def z85(data: bytes) -> str:
    """Bytes as the 85 letters of ZeroMQ write them, four as five."""
    data += b"\0" * (-len(data) % 4)
    words = [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
    return "".join(LETTERS[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))


class Written:
    """A Delta table whose log a test writes itself, with files of the numbers from 0 on."""

    SCHEMA = json.dumps({"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}]})
    FEATURES = ("deletionVectors",)

    def __init__(self, folder: Path, configuration: dict[str, str] | None = None) -> None:
        self.folder, self.versions = folder, 0
        (folder / "_delta_log").mkdir(parents=True)
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
        metadata = {"id": "t", "format": {"provider": "parquet", "options": {}}, "schemaString": self.SCHEMA}
        metadata |= {"partitionColumns": [], "configuration": configuration or {}, "createdTime": 0}
        features = {"readerFeatures": self.FEATURES, "writerFeatures": self.FEATURES}
        self.commit({"protocol": protocol | features}, {"metaData": metadata})

    def commit(self, *actions: dict[str, Any]) -> None:
        """A version more."""
        log = self.folder / "_delta_log" / f"{self.versions:020}.json"
        log.write_text("\n".join(map(json.dumps, actions)))
        self.versions += 1

    def file(self, name: str, rows: int, vector: dict[str, Any] | None = None) -> dict[str, Any]:
        """A file of so many rows, and what is out of it."""
        path = self.folder / name
        if not path.exists():
            pq.write_table(pa.table({"x": range(rows)}), path)
        add = {
            "path": name,
            "partitionValues": {},
            "size": path.stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
        }
        add |= {"stats": json.dumps({"numRecords": rows})} | ({} if vector is None else {"deletionVector": vector})
        return {"add": add}

    @staticmethod
    def removed(name: str, vector: dict[str, Any]) -> dict[str, Any]:
        """A file that goes as it was with this vector."""
        return {"remove": {"path": name, "dataChange": True, "deletionTimestamp": 1, "deletionVector": vector}}

    @staticmethod
    def bitmap(rows: list[int]) -> bytes:
        return struct.pack("<I", 1681511377) + tf.RowSet(rows).to_roaring()

    def inline(self, rows: list[int]) -> dict[str, Any]:
        """A deletion vector in the log."""
        data = self.bitmap(rows)
        return {"storageType": "i", "pathOrInlineDv": z85(data), "sizeInBytes": len(data), "cardinality": len(rows)}

    def beside(self, rows: list[int], checksum: int = 0) -> dict[str, Any]:
        """A deletion vector in a file of its own; `checksum`: what is added to that which is right."""
        data, name = self.bitmap(rows), uuid.uuid4()
        whole = b"\x01" + struct.pack(">I", len(data)) + data + struct.pack(">I", (zlib.crc32(data) + checksum) % 2**32)
        (self.folder / f"deletion_vector_{name}.bin").write_bytes(whole)
        told = {"storageType": "u", "pathOrInlineDv": z85(name.bytes), "offset": 1}
        return told | {"sizeInBytes": len(data), "cardinality": len(rows)}


def followed(folder: Path, **options: Any) -> tuple[tf.Graph, Any]:
    """A Delta table that is looked at when it is asked, after its first step."""
    graph = tf.Graph()
    table = tf.scan_delta(folder, refresh="manual", graph=graph, **options)
    graph.step()
    return graph, table


def looked(graph: tf.Graph, table: Any) -> list[tuple[Any, ...]]:
    """The rows after a look and a step, in order of their values."""
    table.refresh()
    graph.step()
    return sorted(table.rows(), key=repr)


@pytest.mark.parametrize("kind", ["inline", "beside"])
def test_rows_that_a_deletion_vector_takes_out_are_left_out(tmp_path: Path, kind: str) -> None:
    written = Written(tmp_path / "t")
    vector = getattr(written, kind)
    out = vector([0, 3, 4])
    written.commit(written.file("a.parquet", 6, out), written.file("b.parquet", 2))
    assert tf.read_delta(tmp_path / "t").to_dict() == {"x": [1, 2, 5, 0, 1]}
    assert tf.read_delta(tmp_path / "t", version=0).to_dict() == {"x": []}
    graph, live = followed(tmp_path / "t")
    assert live.to_dict() == {"x": [1, 2, 5, 0, 1]}
    updates: list[Any] = []
    live.subscribe(updates.append)
    # More rows are out, then fewer as in a version that was restored, then all.
    for rows, changed in (([0, 2, 3, 4], (1, 0)), ([0], (0, 3)), ([0, 1, 2, 3, 4, 5], (5, 0))):
        before, out = out, vector(rows)
        written.commit(written.removed("a.parquet", before), written.file("a.parquet", 6, out))
        assert looked(graph, live) == sorted([(0,), (1,), *((at,) for at in range(6) if at not in rows)])
        assert (len(updates[-1].removed), len(updates[-1].added)) == changed


def test_a_file_and_its_vector_come_in_one_update(tmp_path: Path) -> None:
    written = Written(tmp_path / "t")
    graph, live = followed(tmp_path / "t")
    assert live.to_dict() == {"x": []}
    written.commit(written.file("a.parquet", 100_000, written.inline(list(range(0, 100_000, 7)))))
    live.refresh()
    graph.step()
    assert live["x"].to_list() == [at for at in range(100_000) if at % 7]


@pytest.mark.parametrize("what", ["checksum", "bitmap", "no file"])
def test_a_vector_that_cannot_be_read_is_told(tmp_path: Path, what: str) -> None:
    written = Written(tmp_path / "t")
    vector = written.beside([1], checksum=int(what == "checksum"))
    if what == "bitmap":
        vector = written.inline([1]) | {"pathOrInlineDv": z85(b"not a bitmap....")}
    if what == "no file":
        for path in (tmp_path / "t").glob("deletion_vector_*"):
            path.unlink()
    written.commit(written.file("a.parquet", 6, vector))
    with pytest.raises(DataError, match=r"read_delta: .*t: .*"):
        tf.read_delta(tmp_path / "t")


def test_versions_are_updates(tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    write_deltalake(place, pa.table({"k": ["a", "b", "a"], "x": [1, 2, 3]}), partition_by=["k"])
    graph, live = followed(tmp_path / "t", columns=["k", "x"])
    sums = live.group_by("k").agg(tf.col("x").sum())
    assert sorted(live.rows()) == [("a", 1), ("a", 3), ("b", 2)]
    write_deltalake(place, pa.table({"k": ["c", "b"], "x": [4, 5]}), mode="append")
    assert looked(graph, live) == [("a", 1), ("a", 3), ("b", 2), ("b", 5), ("c", 4)]
    DeltaTable(place).delete("x = 2")
    DeltaTable(place).update(predicate="x = 5", updates={"x": "50"})
    assert looked(graph, live) == [("a", 1), ("a", 3), ("b", 50), ("c", 4)]
    assert sorted(sums.rows()) == [("a", 4), ("b", 50), ("c", 4)]
    DeltaTable(place).optimize.compact()
    assert looked(graph, live) == [("a", 1), ("a", 3), ("b", 50), ("c", 4)]
    DeltaTable(place).restore(0)
    assert looked(graph, live) == [("a", 1), ("a", 3), ("b", 2)]
    assert live.refresh() == 0
    assert sorted(tf.read_delta(place, version=1, columns=["x"])["x"].to_list()) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("seed", range(4))
def test_a_followed_table_is_what_is_read_anew(tmp_path: Path, seed: int) -> None:
    draw, place = random.Random(seed), str(tmp_path / "t")

    def some() -> pa.Table:
        rows = draw.randrange(1, 20)
        return pa.table({"k": draw.choices("abc", k=rows), "x": draw.choices(range(50), k=rows)})

    write_deltalake(place, some(), partition_by=draw.choice([None, ["k"]]))
    graph, live = followed(tmp_path / "t")
    for _ in range(12):
        for _ in range(draw.randrange(1, 3)):
            kind = draw.choice(["append", "append", "delete", "update", "compact", "overwrite", "restore"])
            held = DeltaTable(place)
            if kind in {"append", "overwrite"}:
                write_deltalake(place, some(), mode=kind)
            elif kind == "delete":
                held.delete(f"x % 5 = {draw.randrange(5)}")
            elif kind == "update":
                held.update(predicate=f"x = {draw.randrange(50)}", updates={"x": "x + 1"})
            elif kind == "compact":
                held.optimize.compact()
            elif held.version() > 0:
                held.restore(draw.randrange(held.version()))
        assert looked(graph, live) == sorted(tf.read_delta(place).rows(), key=repr)


def test_it_looks_by_itself(tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    write_deltalake(place, pa.table({"x": [1]}))
    graph = tf.Graph(period=0.01)
    graph.start()
    live = tf.scan_delta(place, every=0.02, graph=graph)
    write_deltalake(place, pa.table({"x": [2]}), mode="append")
    until = time.monotonic() + 30
    while live.height < 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert sorted(live.rows()) == [(1,), (2,)]
    live.close()
    graph.stop()


def test_columns_that_came_later_are_null_before_and_fail_what_follows(tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    write_deltalake(place, pa.table({"x": [1]}))
    graph, live = followed(tmp_path / "t")
    chosen_graph, chosen = followed(tmp_path / "t", columns=["x"])
    write_deltalake(place, pa.table({"x": [2], "y": ["b"]}), mode="append", schema_mode="merge")
    assert sorted(tf.read_delta(place).rows()) == [(1, None), (2, "b")]
    assert looked(chosen_graph, chosen) == [(1,), (2,)]
    with pytest.raises(SchemaError, match=r"scan_delta: version 1 has other columns: .*'y': String.*scan it anew"):
        live.refresh()
    graph.step()
    with pytest.raises(TableFailedError, match="scan it anew"):
        live.to_dict()


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    write_deltalake(place, pa.table({"x": [1]}))
    graph, live = followed(tmp_path / "t")
    write_deltalake(place, pa.table({"x": [2]}), mode="append")
    newest = max((tmp_path / "t").glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    newest.unlink()
    with pytest.raises(DataError, match=f"scan_delta: .*{newest.name}"):
        live.refresh()
    graph.step()
    with pytest.raises(TableFailedError, match=newest.name):
        live.to_dict()


DELTA_MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "no table": (
        lambda at: tf.read_delta(at / "none"),
        MissingFileError,
        "read_delta: .*none: there is no Delta table",
    ),
    "no column": (
        lambda at: tf.read_delta(at / "t", columns=["px"]),
        ColumnNotFoundError,
        "no column 'px'; the columns are",
    ),
    "no version": (lambda at: tf.read_delta(at / "t", version=7), DataError, "read_delta: .*7"),
    "no path": (lambda at: tf.scan_delta(7), TypeError, "scan_delta: source is a path or an address, not 7"),
    "no such look": (lambda at: tf.scan_delta(at / "t", refresh="often"), ValueError, "scan_delta: refresh is"),
    "no pause": (lambda at: tf.scan_delta(at / "t", every=0), ValueError, "scan_delta: every must be longer than 0"),
}


@pytest.mark.parametrize("which", DELTA_MISTAKES)
def test_mistakes_are_told(tmp_path: Path, which: str) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"x": [1]}))
    call, kind, told = DELTA_MISTAKES[which]
    with pytest.raises(kind, match=told):
        call(tmp_path)


def test_columns_by_other_names_are_refused(tmp_path: Path) -> None:
    written = Written(tmp_path / "t", {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"})
    written.commit(written.file("a.parquet", 1))
    with pytest.raises(DataError, match="columnMapping"):
        tf.read_delta(tmp_path / "t")


# Iceberg ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def iceberg(tmp_path: Path) -> Any:
    """A table of two snapshots, from the second of which a row is out."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    rows = pa.table({"k": ["a", "b", "a"], "x": [1, 2, 3]})
    table = catalog.create_table("n.t", schema=rows.schema)
    table.append(rows)
    table.delete("x = 2")
    return table


@pytest.mark.filterwarnings("ignore")
def test_snapshots_are_read(iceberg: Any) -> None:
    assert tf.read_iceberg(iceberg).to_dict() == {"k": ["a", "a"], "x": [1, 3]}
    assert tf.read_iceberg(iceberg.metadata_location).to_dict() == {"k": ["a", "a"], "x": [1, 3]}
    first = iceberg.snapshots()[0].snapshot_id
    assert tf.read_iceberg(iceberg, snapshot_id=first, columns=["x", "k"]).to_dict() == {
        "x": [1, 2, 3],
        "k": ["a", "b", "a"],
    }


ICEBERG_MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "no file": (
        lambda t: tf.read_iceberg("none/v1.metadata.json"),
        MissingFileError,
        "read_iceberg: none/v1.*: there is no",
    ),
    "no column": (lambda t: tf.read_iceberg(t, columns=["px"]), ColumnNotFoundError, "no column 'px'; the columns are"),
    "no snapshot": (
        lambda t: tf.read_iceberg(t, snapshot_id=7),
        DataError,
        "read_iceberg: there is no snapshot 7; there are",
    ),
    "no table": (lambda t: tf.read_iceberg(7), TypeError, "read_iceberg: source is a table of pyiceberg or the path"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("which", ICEBERG_MISTAKES)
def test_mistakes_with_iceberg_are_told(iceberg: Any, which: str) -> None:
    call, kind, told = ICEBERG_MISTAKES[which]
    with pytest.raises(kind, match=told):
        call(iceberg)


# Packages -----------------------------------------------------------------------------------------------------------


def test_every_extra_that_an_error_names_is_there() -> None:
    root = Path(__file__).parents[2]
    package = root / "python" / "tickframe"
    named = {
        extra
        for path in package.rglob("*.py")
        for extra in re.findall(r'optional\([^()]*(?:\([^()]*\)[^()]*)*"(\w+)"\)', path.read_text(encoding="utf-8"))
    }
    there = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {"arrow", "delta", "iceberg", "remote"} <= named <= set(there)
