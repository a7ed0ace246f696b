"""Calls of the Core API that `pydeephaven` has no method for, made with the stubs that it brings."""

import contextlib
import pathlib

import grpc
import pandas as pd
import pyarrow as pa
import pyarrow.flight as fl
import pydeephaven as dh
import pytest
from deephaven_core.proto import (
    application_pb2,
    config_pb2,
    console_pb2,
    inputtable_pb2,
    inputtable_pb2_grpc,
    object_pb2,
    object_pb2_grpc,
    partitionedtable_pb2,
    partitionedtable_pb2_grpc,
    session_pb2,
    storage_pb2,
    table_pb2,
    table_pb2_grpc,
    ticket_pb2,
)
from pydeephaven.ticket import ExportTicket

import tickframe as tf
from deephaven_clients import collected_between_calls, connect, port_of

__all__ = ["collected_between_calls"]


@pytest.fixture(scope="module")
def trades(graph):
    trades = tf.append_table({"sym": str, "px": float, "n": int}, graph=graph)
    trades.append({"sym": ["A", "B", "A", None], "px": [1.0, -2.0, 3.0, None], "n": [10, 20, 30, 40]}).wait(10)
    return trades


@pytest.fixture(scope="module")
def srv(graph, trades):
    with tf.serve({"trades": trades, "by_sym": trades.partition_by("sym")}, graph=graph) as server:
        yield server


@pytest.fixture
def session(srv):
    session = connect(srv)
    yield session
    session.close()


class Wire:
    """A login of its own, with numbers for what it makes."""

    def __init__(self, srv, session):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port_of(srv)}")
        self.flight = fl.connect(srv.url)
        self.metadata = session.grpc_metadata
        self.session = session

    def call(self, stub, method, request):
        return getattr(stub(self.channel), method)(request, metadata=self.metadata, timeout=20)

    def number(self):
        return self.session.make_export_ticket().pb_ticket

    def rows(self, response):
        options = fl.FlightCallOptions(headers=self.metadata)
        ticket = fl.Ticket(response.result_id.ticket.ticket)
        return self.flight.do_get(ticket, options).read_all().to_pylist()

    def close(self):
        self.channel.close()
        self.flight.close()


@pytest.fixture
def wire(srv, session):
    wire = Wire(srv, session)
    yield wire
    wire.close()


TABLES = table_pb2_grpc.TableServiceStub
PARTITIONS = partitionedtable_pb2_grpc.PartitionedTableServiceStub
OBJECTS = object_pb2_grpc.ObjectServiceStub


def scope(name):
    return ticket_pb2.Ticket(ticket=b"s/" + name.encode())


def reference(ticket):
    return table_pb2.TableReference(ticket=ticket)


@contextlib.contextmanager
def refused(code, words):
    with pytest.raises(grpc.RpcError) as caught:
        yield
    assert caught.value.code() == code
    assert words in caught.value.details()


def partitioned(wire, *keys, drop=False):
    made = wire.number()
    wire.call(
        PARTITIONS,
        "PartitionBy",
        partitionedtable_pb2.PartitionByRequest(
            table_id=scope("trades"), result_id=made, key_column_names=keys, drop_keys=drop
        ),
    )
    return made


def constituent(wire, of, keys, behavior=0):
    return wire.call(
        PARTITIONS,
        "GetTable",
        partitionedtable_pb2.GetTableRequest(
            partitioned_table=of, key_table_ticket=keys, result_id=wire.number(), unique_behavior=behavior
        ),
    )


def test_partitions_are_made_looked_into_and_merged(wire, session, trades):
    made = partitioned(wire, "sym")
    key = session.import_table(pa.table({"sym": ["A"]}))
    of_a = constituent(wire, made, key.pb_ticket)
    assert [row["n"] for row in wire.rows(of_a)] == [10, 30]
    assert not of_a.is_static
    null = session.import_table(pa.table({"sym": pa.array([None], pa.string())}))
    assert [row["n"] for row in wire.rows(constituent(wire, made, null.pb_ticket))] == [40]
    merged = wire.call(
        PARTITIONS, "Merge", partitionedtable_pb2.MergeRequest(partitioned_table=made, result_id=wire.number())
    )
    assert [row["n"] for row in wire.rows(merged)] == [10, 30, 20, 40]
    both = session.import_table(pa.table({"sym": ["B", "A"]}))
    permitted = partitionedtable_pb2.GetTableRequest.UniqueBehavior.PERMIT_MULTIPLE_KEYS
    assert sorted(row["n"] for row in wire.rows(constituent(wire, made, both.pb_ticket, permitted))) == [10, 20, 30]
    trades.append({"sym": "A", "px": 5.0, "n": 50}).wait(10)
    assert [row["n"] for row in wire.rows(of_a)] == [10, 30, 50]


def test_keys_that_name_nothing_or_too_much_are_refused(wire, session):
    made = partitioned(wire, "sym", drop=True)
    given = [pa.table({"sym": ["Z"]}), pa.table({"sym": pa.array([], pa.string())}), pa.table({"sym": ["A", "B"]})]
    unknown, none, two, other = [session.import_table(keys) for keys in [*given, pa.table({"other": ["A"]})]]
    with refused(grpc.StatusCode.NOT_FOUND, "no constituent has this key"):
        constituent(wire, made, unknown.pb_ticket)
    with refused(grpc.StatusCode.NOT_FOUND, "no constituent has this key"):
        constituent(wire, made, none.pb_ticket)
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "one key was wanted, not 2"):
        constituent(wire, made, two.pb_ticket)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, 'no column "sym"'):
        constituent(wire, made, other.pb_ticket)
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "is a Table, not a PartitionedTable"):
        constituent(wire, scope("trades"), scope("trades"))
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "is a PartitionedTable, not a Table"):
        wire.call(
            TABLES,
            "Head",
            table_pb2.HeadOrTailRequest(result_id=wire.number(), source_id=reference(made), num_rows=1),
        )
    with refused(grpc.StatusCode.INVALID_ARGUMENT, "there are no keys"):
        partitioned(wire)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, "nothing"):
        partitioned(wire, "nothing")


def test_a_partitioned_table_that_is_served_is_an_object(srv, wire, session):
    assert {"by_sym", "trades"} <= session.exportable_objects.keys()
    assert session.tables == ["trades"]
    client = session.plugin_client(session.exportable_objects["by_sym"])
    payload, references = next(client.resp_stream)
    assert payload.startswith(b"\n\x03sym\x10\x01")
    keys = references[0].fetch().to_arrow()
    assert keys["sym"].to_pylist() == ["A", "B", None]
    client.close()
    ticket = ticket_pb2.TypedTicket(ticket=scope("by_sym"), type="PartitionedTable")
    fetched = wire.call(OBJECTS, "FetchObject", object_pb2.FetchObjectRequest(source_id=ticket))
    assert (fetched.type, fetched.data) == ("PartitionedTable", payload)
    assert [each.type for each in fetched.typed_export_ids] == ["Table"]
    assert fetched.typed_export_ids[0].ticket.ticket[1:] > b"\x00\x00\x00\x7f"
    plain = ticket_pb2.TypedTicket(ticket=scope("trades"), type="Table")
    with refused(grpc.StatusCode.NOT_FOUND, "No ObjectType found, expected type 'Table'"):
        wire.call(OBJECTS, "FetchObject", object_pb2.FetchObjectRequest(source_id=plain))
    wrong = ticket_pb2.TypedTicket(ticket=scope("by_sym"), type="Figure")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "is a PartitionedTable, not a Figure"):
        wire.call(OBJECTS, "FetchObject", object_pb2.FetchObjectRequest(source_id=wrong))
    assert srv.tables["by_sym"].get("B").to_dict()["n"] == [20]


def test_a_data_frame_that_is_served_is_an_object(srv, wire, session):
    frame = pd.DataFrame({"a": [1, 2], "s": ["x", None]})
    srv.tables["frame"] = frame
    try:
        assert session.exportable_objects["frame"].type == "pandas.DataFrame"
        assert "frame" not in session.tables
        client = session.plugin_client(session.exportable_objects["frame"])
        payload, references = next(client.resp_stream)
        assert (payload, [each.type for each in references]) == (b"", ["Table"])
        assert references[0].fetch().to_arrow().to_pydict() == {"a": [1, 2], "s": ["x", None]}
        client.close()
        fetched = wire.call(
            OBJECTS,
            "FetchObject",
            object_pb2.FetchObjectRequest(source_id=ticket_pb2.TypedTicket(ticket=scope("frame"))),
        )
        assert (fetched.type, fetched.data) == ("pandas.DataFrame", b"")
        with refused(grpc.StatusCode.FAILED_PRECONDITION, "is a pandas.DataFrame, not a Table"):
            wire.call(
                TABLES,
                "Head",
                table_pb2.HeadOrTailRequest(
                    result_id=wire.number(),
                    source_id=table_pb2.TableReference(ticket=scope("frame")),
                    num_rows=1,
                ),
            )
        assert srv.tables["frame"].to_dict("list") == {"a": [1, 2], "s": ["x", None]}
    finally:
        del srv.tables["frame"]


KINDS = {b"deephaven:inputtable.isKey", b"deephaven:inputtable.isValue"}


def test_an_input_table_says_which_columns_are_keys(srv, session):
    schema = pa.schema([("G", pa.int64()), ("V", pa.int64())])
    told = {}
    for name, keys in {"keyed": ["G"], "plain": None}.items():
        session.bind_table(name, session.input_table(schema=schema, key_cols=keys))
        with fl.connect(srv.url) as client:
            options = fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {srv.token}".encode())], timeout=20)
            told[name] = client.get_schema(fl.FlightDescriptor.for_path(name), options).schema
        del srv.tables[name]
    assert told["keyed"].metadata[b"deephaven:tableMetadata"] == b"ChIKBwoBRxICCAEKBwoBVhICCAI="
    assert told["keyed"].metadata[b"deephaven:unsent.attribute.InputTable"] == b""
    kinds = {name: [set(field.metadata) & KINDS for field in schema] for name, schema in told.items()}
    key, value = {b"deephaven:inputtable.isKey"}, {b"deephaven:inputtable.isValue"}
    assert kinds == {"keyed": [key, value], "plain": [value, value]}


def test_what_the_server_handed_out_can_be_given_back_once_and_for_all(wire):
    ticket = ticket_pb2.TypedTicket(ticket=scope("by_sym"))
    fetched = wire.call(OBJECTS, "FetchObject", object_pb2.FetchObjectRequest(source_id=ticket))
    keys = fetched.typed_export_ids[0].ticket
    head = table_pb2.HeadOrTailRequest(result_id=wire.number(), source_id=reference(keys), num_rows=1)
    assert wire.call(TABLES, "Head", head).size == 1
    wire.session.release(ExportTicket(keys.ticket))
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "DEPENDENCY_RELEASED"):
        head.result_id.CopyFrom(wire.number())
        wire.call(TABLES, "Head", head)
    unknown = ticket_pb2.Ticket(ticket=b"e" + (-77).to_bytes(4, "little", signed=True))
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "DEPENDENCY_RELEASED"):
        head.result_id.CopyFrom(wire.number())
        head.source_id.CopyFrom(reference(unknown))
        wire.call(TABLES, "Head", head)


def seek(wire, table, column, **how):
    literal = {key: how.pop(key) for key in list(how) if key.endswith("_value")}
    request = table_pb2.SeekRowRequest(
        source_id=table.pb_ticket, column_name=column, seek_value=table_pb2.Literal(**literal), **how
    )
    return wire.call(TABLES, "SeekRow", request).result_row


def test_a_value_is_looked_for_from_a_row_on(wire, session):
    t = session.import_table(pa.table({"s": ["one", "Two", "three", "two", None], "x": [1.0, 2.0, 3.0, 2.0, 5.0]}))
    assert seek(wire, t, "x", double_value=2.0) == 1
    assert seek(wire, t, "x", double_value=2.0, starting_row=2) == 3
    assert seek(wire, t, "x", double_value=2.0, starting_row=4) == 1
    assert seek(wire, t, "x", double_value=2.0, starting_row=2, is_backward=True) == 1
    assert seek(wire, t, "x", double_value=2.0, starting_row=0, is_backward=True) == 3
    assert seek(wire, t, "x", double_value=7.0) == -1
    assert seek(wire, t, "s", string_value="two") == 3
    assert seek(wire, t, "s", string_value="TWO", insensitive=True) == 1
    assert seek(wire, t, "s", string_value="re", contains=True) == 2
    assert seek(wire, t, "s", string_value="W", contains=True, insensitive=True, starting_row=2) == 3
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "no column"):
        seek(wire, t, "nothing", double_value=2.0)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, "a text alone is contained"):
        seek(wire, t, "x", double_value=2.0, contains=True)


def statistics(wire, column, **how):
    request = table_pb2.ColumnStatisticsRequest(
        result_id=wire.number(), source_id=reference(scope("still")), column_name=column, **how
    )
    (row,) = wire.rows(wire.call(TABLES, "ComputeColumnStatistics", request))
    return row


def test_statistics_of_a_column_are_one_row(srv, wire):
    srv.tables["still"] = tf.table({"s": ["a", "b", "a", None], "x": [1, -3, None, 2], "e": [None, None, None, None]})
    of_x = statistics(wire, "x")
    assert (of_x["SIZE"], of_x["COUNT"], of_x["SUM"], of_x["SUM_ABS"]) == (4, 3, 0, 6)
    assert (of_x["AVG"], of_x["AVG_ABS"], of_x["MIN"], of_x["MIN_ABS"], of_x["MAX"], of_x["MAX_ABS"]) == (
        0.0, 2.0, -3, 1, 2, 3
    )  # fmt: skip
    of_s = statistics(wire, "s")
    assert (of_s["SIZE"], of_s["COUNT"], of_s["UNIQUE_VALUES"]) == (4, 3, 2)
    assert (of_s["UNIQUE_KEYS"][0], of_s["UNIQUE_COUNTS"][0]) == ("a", 2)
    assert len(statistics(wire, "s", unique_value_limit=1)["UNIQUE_KEYS"]) == 1
    assert statistics(wire, "e")["COUNT"] == 0
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "no column"):
        statistics(wire, "nothing")
    del srv.tables["still"]


def test_a_name_that_is_no_column_is_told_with_those_that_are(wire, session):
    t = session.import_table(pa.table({"price": [1.0], "size": [2]}))
    keys = session.import_table(pa.table({"syn": ["A"]}))
    fed = session.input_table(pa.schema({"price": pa.float64()}))
    source, by_sym = reference(t.pb_ticket), partitioned(wire, "sym")
    sort = table_pb2.SortDescriptor(column_name="prise", direction=table_pb2.SortDescriptor.SortDirection.ASCENDING)
    calls = {
        "sort": lambda: wire.call(
            TABLES, "Sort", table_pb2.SortTableRequest(result_id=wire.number(), source_id=source, sorts=[sort])
        ),
        "seek_row": lambda: seek(wire, t, "prise", double_value=1.0),
        "column_statistics": lambda: wire.call(
            TABLES,
            "ComputeColumnStatistics",
            table_pb2.ColumnStatisticsRequest(result_id=wire.number(), source_id=source, column_name="prise"),
        ),
        "get_constituent": lambda: constituent(wire, by_sym, keys.pb_ticket),
        "input_table": lambda: fed.add(session.import_table(pa.table({"prise": [1.0]}))),
    }
    told = {}
    for name, call in calls.items():
        with pytest.raises((grpc.RpcError, dh.DHError)) as caught:
            call()
        said, error = [], caught.value
        while error is not None:
            said.append(str(error))
            error = error.__cause__ or error.__context__
        told[name] = "\n".join(said)
    for name, missing, nearest in [
        ("sort", "prise", "price"),
        ("seek_row", "prise", "price"),
        ("column_statistics", "prise", "price"),
        ("get_constituent", "sym", "syn"),
        ("input_table", "price", "prise"),
    ]:
        text = told[name].replace('\\"', '"')
        assert f'no column "{missing}" (did you mean "{nearest}"?); the columns are "{nearest}"' in text, text
    assert '"price", "size"' in told["sort"].replace('\\"', '"')


def test_a_left_join_gathers_what_matches(wire, session):
    left = session.import_table(pa.table({"k": ["a", "b", None]}))
    right = session.import_table(pa.table({"j": ["a", "a", None, "c"], "v": [1, 2, 3, 4]}))
    request = table_pb2.LeftJoinTablesRequest(
        result_id=wire.number(),
        left_id=reference(left.pb_ticket),
        right_id=reference(right.pb_ticket),
        columns_to_match=["k=j"],
        columns_to_add=["w=v"],
    )
    assert wire.rows(wire.call(TABLES, "LeftJoinTables", request)) == [
        {"k": "a", "w": [1, 2]},
        {"k": "b", "w": None},
        {"k": None, "w": [3]},
    ]


def combo(wire, table, *aggregates, by=("k",)):
    parts = [table_pb2.ComboAggregateRequest.Aggregate(**part) for part in aggregates]
    request = table_pb2.ComboAggregateRequest(
        result_id=wire.number(), source_id=reference(table.pb_ticket), aggregates=parts, group_by_columns=by
    )
    return wire.rows(wire.call(TABLES, "ComboAggregate", request))


def test_aggregations_of_older_clients_are_those_of_newer_ones(wire, session):
    t = session.import_table(pa.table({"k": ["a", "b", "a"], "x": [1.0, 2.0, -4.0], "w": [1.0, 1.0, 3.0]}))
    of = table_pb2.ComboAggregateRequest.AggType
    kinds = {
        "SUM": -3.0, "ABS_SUM": 5.0, "AVG": -1.5, "FIRST": 1.0, "LAST": -4.0, "MIN": -4.0, "MAX": 1.0, "GROUP": [1.0, -4.0]
    }  # fmt: skip
    for kind, value in kinds.items():
        rows = combo(wire, t, {"type": of.Value(kind), "match_pairs": ["v=x"]})
        assert rows[0] == {"k": "a", "v": value}, kind
    several = combo(
        wire,
        t,
        {"type": of.COUNT, "column_name": "n"},
        {"type": of.PERCENTILE, "match_pairs": ["p=x"], "percentile": 0.0},
        {"type": of.MEDIAN, "match_pairs": ["m=x"], "avg_median": True},
        {"type": of.WEIGHTED_AVG, "match_pairs": ["g=x"], "column_name": "w"},
    )
    assert several[0] == {"k": "a", "n": 2, "p": -4.0, "m": -1.5, "g": -2.75}
    assert combo(wire, t, {"type": of.MAX})[1] == {"k": "b", "x": 2.0, "w": 1.0}
    assert combo(wire, t, {"type": of.STD, "match_pairs": ["x"]}, by=())[0]["x"] == pytest.approx(3.2145502536643185)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, "there is no aggregation"):
        combo(wire, t)


def test_numbers_are_sorted_without_their_signs(wire, session):
    t = session.import_table(pa.table({"abs x": [1, 2, 3], "x": [-3, 2, None]}))
    descending = table_pb2.SortDescriptor(
        column_name="x", is_absolute=True, direction=table_pb2.SortDescriptor.SortDirection.DESCENDING
    )
    request = table_pb2.SortTableRequest(result_id=wire.number(), source_id=reference(t.pb_ticket), sorts=[descending])
    assert wire.rows(wire.call(TABLES, "Sort", request)) == [
        {"abs x": 1, "x": -3},
        {"abs x": 2, "x": 2},
        {"abs x": 3, "x": None},
    ]


def test_sizes_of_exports_are_told_and_told_again(wire, session, trades):
    exported = session.open_table("trades")
    stream = wire.call(TABLES, "ExportedTableUpdates", table_pb2.ExportedTableUpdatesRequest())

    def size_of(table):
        for message in stream:
            if message.export_id.ticket == table.pb_ticket.ticket:
                assert not message.update_failure_message
                return message.size
        raise AssertionError("the stream ended")

    before = size_of(exported)
    assert before == len(trades)
    trades.append({"sym": "C", "px": 1.0, "n": 1}).wait(10)
    assert size_of(exported) == before + 1
    static = session.import_table(pa.table({"x": [1, 2, 3]}))
    assert size_of(static) == 3
    stream.cancel()


@pytest.mark.parametrize("kind", ["in_memory_append_only", "in_memory_key_backed", "blink"])
def test_an_input_table_takes_unions(wire, kind):
    """Of a union there is no key and no order, which is told where one is asked for."""
    kinds, offsets = pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32())
    cells = pa.UnionArray.from_dense(kinds, offsets, [pa.array([7]), pa.array(["x"])])
    rows = pa.table({"n": [1, 2], "u": cells})
    sent = wire.session.make_export_ticket()
    options = fl.FlightCallOptions(headers=wire.metadata)
    descriptor = fl.FlightDescriptor.for_path("export", str(int.from_bytes(sent.bytes[1:], "little")))
    writer, _ = wire.flight.do_put(descriptor, rows.schema, options)
    with writer:
        writer.write_table(rows)
    schema = rows.schema.serialize().to_pybytes()

    def made(keys):
        given = {kind: {"key_columns": keys} if kind == "in_memory_key_backed" else {}}
        request = table_pb2.CreateInputTableRequest(result_id=wire.number(), schema=schema, kind=given)
        return wire.call(TABLES, "CreateInputTable", request)

    table = made(["n"])
    add = inputtable_pb2.AddTableRequest(input_table=table.result_id.ticket, table_to_add=sent.pb_ticket)
    wire.call(inputtable_pb2_grpc.InputTableServiceStub, "AddTableToInputTable", add)
    if kind != "blink":
        assert wire.rows(table) == rows.to_pylist()
    if kind == "in_memory_key_backed":
        with pytest.raises(grpc.RpcError, match='column "u" holds Union'):
            made(["u"])


GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "core.txt"


def test_the_golden_messages_are_those_of_the_stubs():
    """The server's own tests read and write these again; here the other side does."""
    modules = [console_pb2, inputtable_pb2, object_pb2, partitionedtable_pb2, session_pb2, storage_pb2, table_pb2]
    kinds = {
        of.DESCRIPTOR.full_name: of
        for module in [*modules, application_pb2, config_pb2]
        for of in vars(module).values()
        if hasattr(of, "DESCRIPTOR") and hasattr(of, "FromString")
    }
    read = 0
    for line in GOLDEN.read_text().splitlines():
        if line.startswith("#") or " | arrow." in line:
            continue
        _, name, text = line.split(" | ")
        message = kinds[name].FromString(bytes.fromhex(text))
        again = message.SerializeToString(deterministic=True)
        assert sorted(again) == sorted(bytes.fromhex(text)), name
        read += 1
    assert read > 80
