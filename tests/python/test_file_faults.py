"""Files that fail: cut off, gone, forbidden, and disks without room. A clear error, and what was there before untouched."""

from __future__ import annotations

import gzip
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = {"n": list(range(50_000)), "text": [f"row {n} of a table" for n in range(50_000)]}

WRITERS = ["write_parquet", "write_csv", "write_json", "write_ndjson", "write_ipc"]


def in_child(code: str, *args: object) -> str:
    """What a child process prints; its limits and its user are its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


NO_ROOM = """
import resource, sys
import tickframe as tf
table = tf.table({"n": list(range(50_000)), "text": [f"row {n} of a table" for n in range(50_000)]})
path, how = sys.argv[1:]
more = {"compression": "uncompressed"} if how in ("write_parquet", "write_ipc") else {}
# A file may have so many bytes: what comes after fails, as on a disk that is full.
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    getattr(table, how)(path, **more)
except tf.errors.StorageError as error:
    print(type(error).__name__, error.filename == path, error)
"""


@pytest.mark.parametrize("how", WRITERS)
def test_a_disk_without_room_leaves_what_was_there(tmp_path: Path, how: str) -> None:
    path = tmp_path / "a.file"
    path.write_bytes(b"what was there before")
    said = in_child(NO_ROOM, path, how)
    assert said.startswith("StorageError True"), said
    assert "cannot write" in said
    assert str(path) in said
    assert path.read_bytes() == b"what was there before"
    assert [one.name for one in tmp_path.iterdir()] == ["a.file"]


FORBIDDEN = """
import os, sys
import tickframe as tf
if os.getuid() == 0:
    # The superuser may read everything.
    os.setgid(65534)
    os.setuid(65534)
table = tf.table({"a": [1]})
for name, work in {
    "directory": lambda: tf.read_parquet(sys.argv[1]),
    "file": lambda: tf.read_csv(sys.argv[2]),
    "scan": lambda: tf.scan_parquet(sys.argv[2]),
    "write": lambda: table.write_csv(sys.argv[1] + "/b.csv"),
}.items():
    try:
        work()
    except tf.errors.StorageError as error:
        print(name, error.errno, "ermission denied" in str(error), sys.argv[1] in str(error))
"""


def test_what_is_forbidden_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:3]:
        # Directories of tests are their user's alone.
        if parent.name.startswith("pytest"):
            parent.chmod(0o755)
    folder, file = tmp_path / "closed", tmp_path / "closed.csv"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(b"x")
    file.write_text("a\n1\n")
    try:
        folder.chmod(0)
        file.chmod(0)
        said = in_child(FORBIDDEN, folder, file)
    finally:
        folder.chmod(0o755)
    names = [line.split()[:3] for line in said.splitlines()]
    assert names == [[name, "13", "True"] for name in ("directory", "file", "scan", "write")], said


@pytest.mark.parametrize("ending", ["csv.gz", "ndjson.gz", "csv.zst", "ndjson.zst"])
def test_compressed_files_that_are_cut_off(tmp_path: Path, ending: str) -> None:
    zstd = pytest.importorskip("pyarrow")
    table = tf.table(ROWS)
    plain = tmp_path / ("a." + ending.split(".", maxsplit=1)[0])
    table.write_csv(plain) if ending.startswith("csv") else table.write_ndjson(plain)
    held = plain.read_bytes()
    packed = gzip.compress(held) if ending.endswith("gz") else zstd.compress(held, codec="zstd", asbytes=True)
    path = tmp_path / f"cut.{ending}"
    read = tf.read_csv if ending.startswith("csv") else tf.read_json
    path.write_bytes(packed)
    assert len(read(path)) == 50_000
    for cut in (5, len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:cut])
        with pytest.raises(tf.errors.DataError, match=rf"cut\.{ending}"):
            read(path)


def test_text_that_is_cut_off_is_named_by_its_line(tmp_path: Path) -> None:
    tf.table(ROWS).write_ndjson(tmp_path / "a.ndjson")
    tf.table(ROWS).write_json(tmp_path / "a.json")
    tf.table({"n": ROWS["n"], "text": [f'a "{n}"' for n in ROWS["n"]]}).write_csv(tmp_path / "a.csv")
    for name, read, cut, said in [
        ("a.ndjson", tf.read_json, 2, "line 50000: EOF while parsing"),
        ("a.json", tf.read_json, 2, "line 50001: the array ends within this element"),
        ("a.csv", tf.read_csv, 1, "line 50001: a quote that is not closed"),
    ]:
        path = tmp_path / name
        held = path.read_bytes().rstrip(b"\n]")
        path.write_bytes(held[:-cut])
        with pytest.raises(tf.errors.DataError, match=said) as caught:
            read(path)
        assert str(path) in str(caught.value)


def shortened(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(1000)


def rewritten(path: Path) -> None:
    path.write_bytes(bytes(len(path.read_bytes())))


@pytest.mark.parametrize("change", [shortened, rewritten])
def test_a_scanned_file_that_changes_is_an_error(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = tmp_path / "a.parquet"
    tf.table(ROWS).write_parquet(path, row_group_size=10_000)
    scanned = tf.scan_parquet(path)
    before = scanned["n"].to_list()[:3]
    change(path)
    with pytest.raises(tf.errors.TickframeError, match=r"a\.parquet"):
        scanned["text"].to_list()
    # Pages that were read stay.
    assert before == [0, 1, 2]


def test_a_scanned_file_that_is_removed_or_replaced_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    tf.table(ROWS).write_parquet(path)
    scanned = tf.scan_parquet(path)
    path.unlink()
    tf.table({"n": [1], "text": ["another"]}).write_parquet(path)
    assert scanned["text"].to_list() == ROWS["text"]


def test_many_threads_read_one_page(tmp_path: Path) -> None:
    """A page that several threads want is decoded by one of them, and each of them sees its cells."""
    path = tmp_path / "a.parquet"
    tf.table(ROWS).write_parquet(path, row_group_size=5_000)
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            scanned = tf.scan_parquet(path)
            found = list(threads.map(tf.Column.to_list, [scanned["text"]] * 4, timeout=60))
            assert found == [ROWS["text"]] * 4


BENT = """
import sys
import tickframe as tf
try:
    tf.read_ipc(sys.argv[1])
except tf.errors.TickframeError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_compressed_buffer_that_says_it_becomes_all_there_is(tmp_path: Path, codec: str, stream: bool) -> None:
    path = tmp_path / "a.arrow"
    table, options = pa.table({"n": list(range(1000))}), pa.ipc.IpcWriteOptions(compression=codec)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, table.schema, options=options) as writer:
        writer.write_table(table)
    sound = path.read_bytes()
    assert len(tf.read_ipc(path)) == 1000
    at = sound.rindex((8 * 1000).to_bytes(8, "little"))
    path.write_bytes(sound[:at] + (1 << 56).to_bytes(8, "little") + sound[at + 8 :])
    # In a process of its own: a decoder that believes it ends its process.
    said = in_child(BENT, path)
    assert said.startswith("DataError"), said
    assert str(path) in said
    assert f"bytes become {1 << 56}, as they say" in said


def test_what_stands_after_the_rows_that_are_wanted_is_not_looked_at(tmp_path: Path) -> None:
    types = {"a": int, "b": str}
    (tmp_path / "1.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "2.csv").write_text("a,b\n3,z\nfour,w\n")
    (tmp_path / "3.csv").write_text("a,b\nfive,w\n")
    paths = [tmp_path / f"{at}.csv" for at in (1, 2, 3)]
    for many in range(4):
        assert tf.read_csv(paths, schema=types, n_rows=many).to_dict()["a"] == [1, 2, 3][:many]
    with pytest.raises(tf.errors.DataError, match=r"2\.csv, line 3, column \"a\": \"four\" is no Int64"):
        tf.read_csv(paths, schema=types, n_rows=4)
    path = tmp_path / "a.json"
    path.write_text('[{"a": 1},\n{"a": 2},\n{"a": "x"},\n{"a": 4}')
    assert tf.read_json(path, schema={"a": int}, n_rows=2).to_dict()["a"] == [1, 2]
    with pytest.raises(tf.errors.DataError, match='line 3, column "a"'):
        tf.read_json(path, schema={"a": int})
    with pytest.raises(tf.errors.DataError, match="line 4: the array ends within this element"):
        tf.read_json(path, schema={"a": str}, on_error="null")
