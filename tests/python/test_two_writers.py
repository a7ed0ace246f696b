"""Several clients that write into one input table: each batch is there whole or not at all, and what was acknowledged is there."""

import threading

import pyarrow as pa
import pytest

import tickframe as tf
from deephaven_clients import collected_between_calls, connect, refused

__all__ = ["collected_between_calls"]

KEYS = 12
BATCHES = 40


@pytest.fixture
def graph():
    graph = tf.Graph(period=0.001)
    graph.start()
    yield graph
    graph.stop()


def test_a_batch_is_there_whole_and_what_was_acknowledged_stays(graph):
    with tf.serve({}, graph=graph) as srv, connect(srv) as first:
        schema = pa.schema([("k", pa.int64()), ("writer", pa.int64()), ("at", pa.int64())])
        table = first.input_table(schema=schema, key_cols=["k"])
        first.bind_table("shared", table)
        acknowledged, wrong, over = [0, 0, 0], [], threading.Event()

        def write(writer):
            with connect(srv) as session:
                shared = session.open_table("shared")
                fed = type(table)(session=session, ticket=shared.ticket, schema=shared.schema)
                # The table is let go with the session, not by each of its two handles.
                shared.ticket = None
                for at in range(1, BATCHES + 1):
                    rows = {"k": list(range(KEYS)), "writer": [writer] * KEYS, "at": [at] * KEYS}
                    fed.add(session.import_table(pa.table(rows, schema=schema)))
                    acknowledged[writer] = at

        def read():
            with tf.connect(srv.url, srv.token, graph=tf.Graph()) as con:
                while not over.is_set():
                    before = list(acknowledged)
                    seen = con.snapshot("shared").to_dict()
                    after = list(acknowledged)
                    whole = {(writer, at) for writer, at in zip(seen["writer"], seen["at"], strict=True)}
                    if len(whole) > 1 or len(seen["k"]) not in (0, KEYS):
                        wrong.append(f"not whole: {seen}")
                    for writer, at in whole:
                        # What is seen of a writer is its last batch: none that it wrote over before.
                        if not before[writer] <= at <= after[writer] + 1:
                            wrong.append(f"{writer} wrote {at}, and {before} were acknowledged")

        writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
        reader = threading.Thread(target=read)
        for thread in [reader, *writers]:
            thread.start()
        for thread in writers:
            thread.join(100)
        over.set()
        reader.join(30)
        assert wrong == []
        assert acknowledged == [BATCHES] * 3
        left = srv.tables["shared"].to_dict()
        assert set(left["at"]) == {BATCHES}
        assert len(set(left["writer"])) == 1


def test_a_batch_with_other_columns_or_twice_a_key_changes_nothing_or_is_told(graph):
    with tf.serve({}, graph=graph) as srv, connect(srv) as session:
        schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
        keyed = session.input_table(schema=schema, key_cols=["k"])
        keyed.add(session.import_table(pa.table({"k": [1, 2], "v": ["a", "b"]}, schema=schema)))
        drifts = [
            (pa.table({"k": [1], "v": [5]}), 'column "v"'),
            (pa.table({"k": [1]}), 'no column "v"'),
            (pa.table({"k": [1], "v": ["x"], "more": [1]}), '"more"'),
            (pa.table({"k": pa.array([1], pa.int32()), "v": ["x"]}), 'column "k"'),
        ]
        for rows, words in drifts:
            with refused(words):
                keyed.add(session.import_table(rows))
        assert keyed.to_arrow().to_pydict() == {"k": [1, 2], "v": ["a", "b"]}
        # Of one key the last row stays.
        keyed.add(session.import_table(pa.table({"k": [2, 3, 2], "v": ["x", "y", "z"]}, schema=schema)))
        assert keyed.to_arrow().to_pydict() == {"k": [1, 2, 3], "v": ["a", "z", "y"]}
