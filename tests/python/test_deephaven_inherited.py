"""What classes of `pydeephaven` inherit, and what a session has in public for its own parts: each is called."""

import inspect

import pyarrow as pa
import pydeephaven as dh
import pytest
from deephaven_core.proto import (
    config_pb2,
    config_pb2_grpc,
    object_pb2,
    object_pb2_grpc,
    session_pb2,
    session_pb2_grpc,
)
from pydeephaven import agg, updateby
from pydeephaven._table_ops import HeadOp
from pydeephaven.experimental.plugin_client import PluginClient
from pydeephaven.table import InputTable

import tickframe as tf
from deephaven_clients import collected_between_calls, connect, deephaven_calls

__all__ = ["collected_between_calls"]

ROWS = pa.table({"k": ["a", "b", "c", "d"], "g": ["x", "y", "x", "y"], "v": [1.0, 2.0, 3.0, None]})
#: Each method that an input table has of tables, with how it is called; the other table has the same rows.
CALLS = {
    "drop_columns": lambda t, _: t.drop_columns(["g"]),
    "update": lambda t, _: t.update(["w = v * 2"]),
    "lazy_update": lambda t, _: t.lazy_update(["w = v * 2"]),
    "view": lambda t, _: t.view(["w = v * 2"]),
    "update_view": lambda t, _: t.update_view(["w = v * 2"]),
    "select": lambda t, _: t.select(["g", "w = v * 2"]),
    "select_distinct": lambda t, _: t.select_distinct(["g"]),
    "sort": lambda t, _: t.sort("v", dh.SortDirection.DESCENDING),
    "sort_descending": lambda t, _: t.sort_descending(["g", "v"]),
    "where": lambda t, _: t.where("v > 1"),
    "head": lambda t, _: t.head(2),
    "tail": lambda t, _: t.tail(3),
    "slice": lambda t, _: t.slice(1, 3),
    "natural_join": lambda t, other: t.natural_join(other, "k", "w = v"),
    "exact_join": lambda t, other: t.exact_join(other, "k", "w = v"),
    "join": lambda t, other: t.join(other, "g", ["o = k", "w = v"]),
    "aj": lambda t, other: t.where("isNull(v) == false").aj(other.where("v > 1"), "v", "o = k"),
    "raj": lambda t, other: t.where("isNull(v) == false").raj(other.where("v > 1"), "v", "o = k"),
    "head_by": lambda t, _: t.head_by(1, "g"),
    "tail_by": lambda t, _: t.tail_by(1, "g"),
    "group_by": lambda t, _: t.group_by("g"),
    "ungroup": lambda t, _: t.group_by("g").ungroup(["k", "v"]),
    "first_by": lambda t, _: t.first_by("g"),
    "last_by": lambda t, _: t.last_by("g"),
    "sum_by": lambda t, _: t.drop_columns("k").sum_by("g"),
    "avg_by": lambda t, _: t.drop_columns("k").avg_by("g"),
    "std_by": lambda t, _: t.drop_columns("k").std_by("g"),
    "var_by": lambda t, _: t.drop_columns("k").var_by("g"),
    "median_by": lambda t, _: t.drop_columns("k").median_by("g"),
    "min_by": lambda t, _: t.min_by("g"),
    "max_by": lambda t, _: t.max_by("g"),
    "count_by": lambda t, _: t.count_by("n", "g"),
    "agg_by": lambda t, _: t.agg_by([agg.sum_("v"), agg.count_("n")], "g"),
    "agg_all_by": lambda t, _: t.agg_all_by(agg.last(), "g"),
    "update_by": lambda t, _: t.update_by(updateby.cum_sum("s = v"), "g"),
    "snapshot": lambda t, _: t.snapshot(),
    "snapshot_when": lambda t, other: t.snapshot_when(other.view("stamp = k"), initial=True),
    "where_in": lambda t, other: t.where_in(other.where("v > 1"), "k"),
    "where_not_in": lambda t, other: t.where_not_in(other.where("v > 1"), "k"),
    "table_op_handler": lambda t, _: t.table_op_handler(HeadOp(2)),
}
#: What gives no table.
PLAIN = {
    "to_arrow": lambda t: t.to_arrow().to_pylist(),
    "meta_table": lambda t: t.meta_table.to_arrow()["Name"].to_pylist(),
    "is_refreshing": lambda t: isinstance(t.is_refreshing, bool),
    "is_closed": lambda t: t.is_closed,
    "pb_ticket": lambda t: t.pb_ticket.ticket[:1],
    "pb_typed_ticket": lambda t: t.pb_typed_ticket.type,
    "close": lambda t: (t.close(), t.is_closed),
}


@pytest.fixture(scope="module")
def srv(graph):
    trades = tf.append_table({"sym": str, "px": float}, graph=graph)
    trades.append({"sym": ["A", "B"], "px": [1.0, 2.0]}).wait(10)
    with tf.serve({"trades": trades, "by_sym": trades.partition_by("sym")}, graph=graph) as server:
        yield server


@pytest.fixture
def session(srv):
    session = connect(srv)
    yield session
    session.close()


def public(owner):
    """The public names of a class of the client's, with those that it inherits."""
    return {name for name in dir(owner) if not name.startswith("_")}


def fed(session, keys):
    table = session.input_table(ROWS.schema, key_cols=keys)
    table.add(session.import_table(ROWS))
    return table


def test_every_method_that_an_input_table_inherits_is_here():
    own = {name for name in vars(InputTable) if not name.startswith("_")}
    assert own == {"add", "delete"}
    assert public(InputTable) - own == CALLS.keys() | PLAIN.keys()


@pytest.mark.parametrize("keys", [None, "k"], ids=["append", "keyed"])
@pytest.mark.parametrize("name", CALLS)
def test_an_input_table_is_a_table(session, name, keys):
    given, other, table = session.import_table(ROWS), session.import_table(ROWS), fed(session, keys)
    wanted, made = CALLS[name](given, other), CALLS[name](table, other)
    assert isinstance(made, dh.Table)
    assert made.to_arrow().to_pylist() == wanted.to_arrow().to_pylist()
    # It goes on: what is added later is there, but in what stands still.
    table.add(session.import_table(pa.table({"k": ["e"], "g": ["x"], "v": [5.0]})))
    if name not in {"snapshot", "snapshot_when", "exact_join"}:
        assert made.to_arrow().num_rows >= wanted.to_arrow().num_rows


@pytest.mark.parametrize("keys", [None, "k"], ids=["append", "keyed"])
@pytest.mark.parametrize("name", PLAIN)
def test_an_input_table_tells_what_a_table_tells(session, name, keys):
    assert PLAIN[name](fed(session, keys)) == PLAIN[name](session.import_table(ROWS))


def test_a_client_of_an_object_has_its_tickets(session):
    assert public(PluginClient) == {"close", "pb_ticket", "pb_typed_ticket"}
    client = session.plugin_client(session.exportable_objects["by_sym"])
    assert client.pb_typed_ticket.type == "PartitionedTable"
    fetched = session.wrap_rpc(
        object_pb2_grpc.ObjectServiceStub(session.grpc_channel).FetchObject,
        object_pb2.FetchObjectRequest(source_id=client.pb_typed_ticket),
    )
    assert fetched.type == "PartitionedTable"
    assert client.pb_ticket == client.pb_typed_ticket.ticket
    client.close()


def services(session):
    return {name for name in public(type(session)) if name.endswith("_service")}


def test_the_parts_of_a_session_are_called_as_applications_may(session):
    assert deephaven_calls.INNER - {"table_op_handler", "make_grpc_message"} == services(session) | {
        "grpc_metadata", "update_metadata", "make_export_ticket", "next_export_ticket_number", "wrap_rpc",
        "wrap_bidi_rpc",
    }  # fmt: skip
    assert all(getattr(session, name) is not None for name in services(session))
    number = session.next_export_ticket_number()
    assert session.next_export_ticket_number() == number + 1
    assert session.make_export_ticket(number + 7).bytes == b"e" + (number + 7).to_bytes(4, "little")
    assert session.make_export_ticket().bytes == b"e" + (number + 2).to_bytes(4, "little")
    header = dict(session.grpc_metadata)[b"authorization"]
    assert header.startswith(b"Bearer ")
    session.update_metadata([("x-of-mine", "1")])
    assert dict(session.grpc_metadata)[b"authorization"] == header
    stub = config_pb2_grpc.ConfigServiceStub(session.grpc_channel)
    told = session.wrap_rpc(stub.GetConfigurationConstants, config_pb2.ConfigurationConstantsRequest())
    assert told.config_values["http.session.durationMs"].string_value == "300000"
    refused = session_pb2.ReleaseRequest(id=session.make_export_ticket(number + 1000).pb_ticket)
    with pytest.raises(Exception, match="Export not yet defined"):
        session.wrap_rpc(session_pb2_grpc.SessionServiceStub(session.grpc_channel).Release, refused)


def test_a_stream_of_both_ways_is_wrapped(session):
    source = session.exportable_objects["by_sym"].pb_typed_ticket
    stub = object_pb2_grpc.ObjectServiceStub(session.grpc_channel)
    first = object_pb2.StreamRequest(connect=object_pb2.ConnectRequest(source_id=source))
    answers = session.wrap_bidi_rpc(stub.MessageStream, iter([first]))
    assert len(next(iter(answers)).data.exported_references) == 1


def test_the_calls_that_are_watched_are_all_there_are():
    """Each public call of the classes is watched, is a part of a session, or is inherited."""
    for owner in [dh.Session, dh.Table, dh.Query, InputTable, PluginClient]:
        bases = {each.__name__ for each in owner.__mro__}
        known = {name.partition(".")[2] for name in deephaven_calls.KNOWN if name.partition(".")[0] in bases}
        assert public(owner) - known <= deephaven_calls.INNER, owner
    for module in deephaven_calls.MODULES:
        functions = {name for name, of in inspect.getmembers(module, inspect.isfunction) if not name.startswith("_")}
        own = {name for name in functions if inspect.unwrap(getattr(module, name)).__module__ == module.__name__}
        short = module.__name__.rsplit(".", 1)[-1]
        assert own == {name.split(".")[1] for name in deephaven_calls.KNOWN if name.startswith(f"{short}.")}
