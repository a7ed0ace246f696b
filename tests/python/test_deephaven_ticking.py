"""Live tables followed by a client that is not ours: `pydeephaven-ticking`, as its package installs it."""

import datetime as dt
import random
import threading
import time

import pyarrow as pa
import pytest
from pydeephaven_ticking.table_listener import TableListener, listen

import tickframe as tf
from deephaven_clients import collected_between_calls, connect

__all__ = ["collected_between_calls"]


@pytest.fixture
def graph():
    graph = tf.Graph(period=0.01)
    graph.start()
    yield graph
    graph.stop()


@pytest.fixture
def srv(graph):
    with tf.serve({}, graph=graph) as server:
        yield server


@pytest.fixture
def session(srv):
    with connect(srv) as session:
        yield session


class Followed(TableListener):
    """The rows by their id, as the updates say."""

    def __init__(self):
        self.rows, self.updates, self.wrong = {}, 0, []
        self.heard = threading.Condition()

    def on_error(self, error):
        with self.heard:
            self.wrong.append(error)
            self.heard.notify_all()

    def on_update(self, update):
        with self.heard:
            for row in listed(update.removed()):
                if self.rows.pop(row["id"], None) is None:
                    self.wrong.append(("removed, and not there", row))
            for row in listed(update.modified_prev()):
                if row["id"] not in self.rows:
                    self.wrong.append(("changed, and not there", row))
            for row in listed(update.modified()):
                self.rows[row["id"]] = row
            for row in listed(update.added()):
                if row["id"] in self.rows:
                    self.wrong.append(("added, and there", row))
                self.rows[row["id"]] = row
            self.updates += 1
            self.heard.notify_all()

    def wait(self, holds, seconds=30):
        with self.heard:
            assert self.heard.wait_for(lambda: self.wrong or holds(self.rows), seconds), self.rows
            assert self.wrong == []


def listed(columns):
    cells = {name: column.to_pylist() for name, column in columns.items()}
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def follow(session, name):
    followed = Followed()
    handle = listen(session.open_table(name), followed)
    handle.start()
    return followed, handle


STAMP = dt.datetime(2024, 3, 31, 12, tzinfo=dt.UTC)
KINDS = {
    "char": (pa.uint16(), [65, None, 0]),
    "byte": (pa.int8(), [1, None, -1]),
    "short": (pa.int16(), [1, None, -1]),
    "int": (pa.int32(), [1, None, -1]),
    "long": (pa.int64(), [1, None, 1 << 60]),
    "float": (pa.float32(), [1.5, None, -0.25]),
    "double": (pa.float64(), [1.5, None, 1e300]),
    "bool": (pa.bool_(), [True, None, False]),
    "string": (pa.string(), ["", None, "a text that is longer than a view holds"]),
    "time": (pa.timestamp("ns", "UTC"), [STAMP, None, STAMP + dt.timedelta(days=1)]),
    "date": (pa.date32(), [dt.date(2024, 3, 31), None, dt.date(1969, 12, 31)]),
    "clock": (pa.time64("ns"), [dt.time(12, 30), None, dt.time(0, 0)]),
    # This client reads no column that has an empty list, or a null in place of one.
    "list": (pa.list_(pa.int64()), [[1, None], [2], [3, 4]]),
    "texts": (pa.list_(pa.string()), [["a", None], ["b"], ["", "d"]]),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_type_of_the_client(srv, session, graph, name):
    kind, cells = KINDS[name]
    given = pa.table({"id": list(range(len(cells))), "c": pa.array(cells, kind)})
    table = tf.append_table(tf.table(given).schema, graph=graph)
    srv.tables["t"] = table
    table.append(given).wait(10)
    followed, handle = follow(session, "t")
    followed.wait(lambda rows: len(rows) == len(cells))
    handle.stop()
    assert [followed.rows[at]["c"] for at in range(len(cells))] == cells


def test_static_tables_are_told_once(srv, session):
    srv.tables["t"] = tf.table({"id": list(range(10_000)), "s": [str(at) for at in range(10_000)]})
    followed, handle = follow(session, "t")
    followed.wait(lambda rows: len(rows) == 10_000)
    handle.stop()
    assert followed.rows[9_999] == {"id": 9_999, "s": "9999"}


def test_rows_that_come_change_move_and_go(srv, session, graph):
    table = tf.keyed_table({"id": int, "x": float, "s": str}, key="id", graph=graph)
    srv.tables["plain"] = table
    srv.tables["sorted"] = table.sort("x").with_columns(twice=tf.col("x") * 2)
    srv.tables["some"] = table.filter(tf.col("x") > 0.5)
    all_of = {name: follow(session, name) for name in srv.tables}
    rng = random.Random(7)
    ends = time.monotonic() + 5
    while time.monotonic() < ends:
        for _ in range(rng.randrange(20)):
            key = rng.randrange(500)
            if rng.random() < 0.2:
                table.delete([key])
            else:
                table.upsert({"id": [key], "x": [rng.random()], "s": [str(rng.random())]})
        time.sleep(0.003)
    table.upsert({"id": [1000], "x": [0.75], "s": ["the end"]}).wait(10)
    for name, (followed, handle) in all_of.items():
        expected = {row["id"]: row for row in srv.tables[name].to_dicts()}
        followed.wait(lambda rows, expected=expected: rows == expected)
        assert followed.updates > 3
        handle.stop()


def test_blink_tables(srv, session, graph):
    table = tf.blink_table({"id": int}, graph=graph)
    srv.tables["t"] = table
    seen, heard = [], threading.Condition()

    def on_update(update):
        with heard:
            seen.extend(row["id"] for row in listed(update.added()))
            heard.notify_all()

    handle = listen(session.open_table("t"), on_update)
    handle.start()
    time.sleep(0.5)
    for at in range(100):
        table.append({"id": [2 * at, 2 * at + 1]})
        time.sleep(0.01)
    with heard:
        assert heard.wait_for(lambda: len(seen) == 200, 20), len(seen)
    assert seen == list(range(200))
    handle.stop()


def test_a_table_that_fails_ends_its_followers(srv, session, graph):
    table = tf.append_table({"id": int}, graph=graph)
    srv.tables["t"] = table.with_columns(y=tf.col("id").cast("int8"))
    followed, handle = follow(session, "t")
    table.append({"id": [1]}).wait(10)
    followed.wait(lambda rows: len(rows) == 1)
    table.append({"id": [1000]})
    with followed.heard:
        assert followed.heard.wait_for(lambda: followed.wrong, 20)
    assert "1000" in str(followed.wrong)
    handle.stop()


def test_many_followers_come_and_go(srv, session, graph):
    table = tf.append_table({"id": int}, graph=graph)
    srv.tables["t"] = table
    for round_ in range(5):
        followers = [follow(session, "t") for _ in range(8)]
        table.append({"id": list(range(round_ * 100, round_ * 100 + 100))}).wait(10)
        for followed, handle in followers:
            followed.wait(lambda rows, of=(round_ + 1) * 100: len(rows) == of)
            handle.stop()
