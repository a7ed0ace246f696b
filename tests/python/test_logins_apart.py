"""Two logins at one server: what is ann's, bob can neither read, use, release nor guess, whichever call he names it in.

Rows are found by walking the descriptors of all services: each field of each request that holds a ticket is one. What fills
the other fields is a table; a call of the server that has no row, or that its table does not make work, fails a test.
"""

from __future__ import annotations

import base64
import concurrent.futures
import itertools
import re
import struct
import urllib.parse
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from deephaven_core.proto import (
    application_pb2,
    config_pb2,
    console_pb2,
    hierarchicaltable_pb2,
    inputtable_pb2,
    object_pb2,
    partitionedtable_pb2,
    session_pb2,
    storage_pb2,
    table_pb2,
)
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import tickframe as tf
from deephaven_clients import PSK, port_of
from http2_by_hand import asking

CALLS = Path(__file__).parents[2] / "crates" / "flight" / "src" / "calls.rs"

#: Seconds after which a call is one that waits: an export that is not there yet is waited for.
WAITS = 1.5
#: Seconds that a call may take that answers.
ANSWERS = 30
#: Calls at one time.
AT_ONCE = 48
#: What only ann has, in each of her tables.
SECRET = "7f3a-the-word-of-ann"
#: How a request may be refused.
TYPED = {"INVALID_ARGUMENT", "FAILED_PRECONDITION", "NOT_FOUND", "UNAVAILABLE"}
#: Bytes of an error's text as a header has it, which clients take in any case.
HEADER = 6 << 10
NO_CALL = ("UNIMPLEMENTED", "there is no such call")


def flight() -> Any:
    """The service of Arrow Flight: as much of its messages as names tables."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="flight.proto", package="arrow.flight.protocol", syntax="proto3")

    def message(name: str, *fields: tuple[int, str, int, str]) -> None:
        made = file.message_type.add(name=name)
        for number, field, kind, of in fields:
            many = of == "many"
            label = kinds.LABEL_REPEATED if many else kinds.LABEL_OPTIONAL
            type_name = f".arrow.flight.protocol.{of}" if kind == kinds.TYPE_MESSAGE else None
            made.field.add(number=number, name=field, type=kind, label=label, type_name=type_name)

    message(
        "FlightDescriptor",
        (1, "type", kinds.TYPE_INT32, ""),
        (2, "cmd", kinds.TYPE_BYTES, ""),
        (3, "path", kinds.TYPE_STRING, "many"),
    )
    message("Ticket", (1, "ticket", kinds.TYPE_BYTES, ""))
    message(
        "FlightData",
        (1, "flight_descriptor", kinds.TYPE_MESSAGE, "FlightDescriptor"),
        (2, "data_header", kinds.TYPE_BYTES, ""),
        (3, "app_metadata", kinds.TYPE_BYTES, ""),
        (1000, "data_body", kinds.TYPE_BYTES, ""),
    )
    for name in ("HandshakeRequest", "Criteria", "Action", "Empty"):
        message(name)
    service = file.service.add(name="FlightService")
    for name, given, client, server in [
        ("Handshake", "HandshakeRequest", True, True),
        ("ListFlights", "Criteria", False, True),
        ("GetFlightInfo", "FlightDescriptor", False, False),
        ("PollFlightInfo", "FlightDescriptor", False, False),
        ("GetSchema", "FlightDescriptor", False, False),
        ("DoGet", "Ticket", False, True),
        ("DoPut", "FlightData", True, True),
        ("DoExchange", "FlightData", True, True),
        ("DoAction", "Action", False, True),
        ("ListActions", "Empty", False, True),
    ]:
        of = f".arrow.flight.protocol.{given}"
        method = service.method.add(name=name, input_type=of, output_type=".arrow.flight.protocol.Empty")
        method.client_streaming, method.server_streaming = client, server
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool.FindFileByName("flight.proto")


MODULES = [
    application_pb2, config_pb2, console_pb2, hierarchicaltable_pb2, inputtable_pb2, object_pb2, partitionedtable_pb2,
    session_pb2, storage_pb2, table_pb2,
]  # fmt: skip
FILES = [flight(), *(module.DESCRIPTOR for module in MODULES)]
METHODS = [method for file in FILES for service in file.services_by_name.values() for method in service.methods]


class Row(NamedTuple):
    """A field that holds a ticket, of the request of a call."""

    method: Any
    place: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"/{self.method.containing_service.full_name}/{self.method.name}"

    @property
    def door(self) -> str:
        return f"{self.method.containing_service.name}.{self.method.name}"

    @property
    def field(self) -> str:
        """The field that names what the ticket is for."""
        names = [name for name in self.place if name != "ticket"]
        return names[-1] if names else "ticket"

    @property
    def makes(self) -> bool:
        """Whether the ticket is the number that the result gets."""
        own = self.field.startswith("result_") and self.method.name != "PublishFromTicket"
        return own or self.method.name == "DoPut"

    @property
    def short(self) -> str:
        return ".".join([self.method.name, *self.place])

    def __str__(self) -> str:
        return f"{self.method.containing_service.name}.{self.short}"


def places(message: Any, above: tuple[Any, ...] = ()) -> Any:
    """The ways to each ticket in a message."""
    if message.name in {"Ticket", "FlightDescriptor"}:
        yield ()
    elif message not in above:
        for field in message.fields:
            if field.message_type is not None:
                yield from ((field.name, *rest) for rest in places(field.message_type, (*above, message)))


def rows() -> list[Row]:
    found = [Row(method, place) for method in METHODS for place in places(method.input_type)]
    # An exchange has its ticket in its metadata; its descriptor is not looked at.
    (exchange,) = (method for method in METHODS if method.name == "DoExchange")
    found = [row for row in found if row.method != exchange]
    return [*found, Row(exchange, ("subscription",)), Row(exchange, ("snapshot",))]


ROWS = rows()

#: Fields that no call looks at.
UNSEEN = {
    "BindTableToVariable.console_id",
    "CancelCommand.command_id",
    "CancelAutoComplete.console_id",
    *(
        f"AutoCompleteStream.{of}console_id"
        for of in ("", "open_document.", "change_document.", "get_completion_items.", "close_document.")
    ),
}


def is_unseen(row: Row) -> bool:
    return row.short in UNSEEN


#: What stands in the other fields, by message.
FILL: dict[str, dict[str, Any]] = {
    "AggregateAllRequest": {"spec": {"sum": {}}, "group_by_columns": ["sym"]},
    "AggregateRequest": {"aggregations": [{"count": {"column_name": "c"}}], "group_by_columns": ["sym"]},
    "AjRajTablesRequest": {"as_of_column": "n", "columns_to_add": ["w"]},
    "AsOfJoinTablesRequest": {"columns_to_match": ["n"], "columns_to_add": ["w"]},
    "BindTableToVariableRequest": {"variable_name": "bound"},
    "ColumnStatisticsRequest": {"column_name": "n"},
    "ComboAggregateRequest": {"aggregates": [{"type": 4, "column_name": "c"}], "group_by_columns": ["sym"]},
    "CreateInputTableRequest": {"kind": {"in_memory_append_only": {}}},
    "CrossJoinTablesRequest": {"columns_to_match": ["sym"], "columns_to_add": ["w"]},
    "DropColumnsRequest": {"column_names": ["n"]},
    "EmptyTableRequest": {"size": 1},
    "ExactJoinTablesRequest": {"columns_to_match": ["sym"], "columns_to_add": ["w"]},
    "ExecuteCommandRequest": {"code": "1"},
    "HeadOrTailByRequest": {"num_rows": 1, "group_by_column_specs": ["sym"]},
    "HeadOrTailRequest": {"num_rows": 1},
    "GetTableRequest": {"unique_behavior": 2},
    "LeftJoinTablesRequest": {"columns_to_match": ["sym"], "columns_to_add": ["w"]},
    "MultiJoinTablesRequest": {
        "multi_join_inputs": [{"source_id": {"ticket": {"ticket": b"s/keys"}}, "columns_to_match": ["sym"]}]
    },
    "NaturalJoinTablesRequest": {"columns_to_match": ["sym"], "columns_to_add": ["w"]},
    "PartitionByRequest": {"key_column_names": ["sym"]},
    "RangeJoinTablesRequest": {
        "exact_match_columns": ["sym"], "left_start_column": "n", "range_start_rule": 2, "right_range_column": "w",
        "range_end_rule": 2, "left_end_column": "n2",
        "aggregations": [{"columns": {"match_pairs": ["w"], "spec": {"group": {}}}}],
    },
    "RunChartDownsampleRequest": {"pixel_count": 10, "x_column_name": "t", "y_column_names": ["n"]},
    "PublishRequest": {"result_id": {"ticket": b"s/published"}},
    "SeekRowRequest": {"column_name": "n", "seek_value": {"long_value": 1}},
    "SliceRequest": {"first_position_inclusive": 0, "last_position_exclusive": 1},
    "SortTableRequest": {"sorts": [{"column_name": "n", "direction": 1}]},
    "StartConsoleRequest": {"session_type": "python"},
    "TimeTableRequest": {"period_nanos": 10**9},
    "UngroupRequest": {"columns_to_ungroup": ["l"]},
    "UnstructuredFilterTableRequest": {"filters": ["n > 0"]},
    "UpdateByRequest": {
        "operations": [{"column": {"match_pairs": ["n"], "spec": {"sum": {}}}}]
    },
    "WhereInRequest": {"columns_to_match": ["sym"]},
}  # fmt: skip
#: What a ticket names where its field is not the one that is tried.
SOURCES = {
    "partitioned_table": b"s/parts",
    "right_id": b"s/keys",
    "key_table_ticket": b"s/keys",
    "input_table": b"s/feed",
    "table_to_add": b"s/rows",
    "table_to_remove": b"s/names",
    "trigger_id": b"s/still",
    "initial_groups_id": b"s/names",
}
#: Fields that may be left out, and are.
LEFT_OUT = {"initial_groups_id", "command_id"}
#: How calls are refused whose tickets are all right.
REFUSED = {
    "MessageStream.data.references.ticket": ("INVALID_ARGUMENT", "a PartitionedTable takes no messages"),
    "RunChartDownsample.result_id": (NOT_YET := ("UNIMPLEMENTED", "downsample: it is not here yet")),
    "RunChartDownsample.source_id.ticket": NOT_YET,
    "Batch.ops.run_chart_downsample.result_id": NOT_YET,
    "Batch.ops.run_chart_downsample.source_id.ticket": NOT_YET,
}


def source(message: Any, field: str, own: dict[str, bytes]) -> bytes:
    """What a field of this message names if it is not the one that is tried."""
    if message.name in {"FetchObjectRequest", "ConnectRequest"}:
        return b"s/parts"
    return own.get(field) or SOURCES.get(field, b"s/trades")


def filled(message: Any, own: dict[str, bytes], numbers: Any) -> None:
    """Fills what a message needs to be answered well."""
    for name, value in FILL.get(message.DESCRIPTOR.name, {}).items():
        message.MergeFrom(type(message)(**{name: value}))
    for field in message.DESCRIPTOR.fields:
        kind = field.message_type.name if field.message_type else None
        if kind not in {"Ticket", "TableReference", "TypedTicket"} or field.name in LEFT_OUT:
            continue
        if getattr(message, field.name).ByteSize() if not field.is_repeated else False:
            continue
        if field.name.startswith("result_"):
            given = b"e" + struct.pack("<i", next(numbers))
        else:
            given = source(message.DESCRIPTOR, field.name, own)
        held = getattr(message, field.name)
        held = held.add() if field.is_repeated else held
        (held if kind == "Ticket" else held.ticket).ticket = given


def descend(message: Any, place: tuple[str, ...], fill: Any) -> Any:
    """The message at the end of the way; what is on it is made and filled."""
    fill(message)
    for name in place:
        field = message.DESCRIPTOR.fields_by_name[name]
        held = getattr(message, name)
        if field.is_repeated:
            message = held[0] if len(held) else held.add()
        else:
            held.SetInParent()
            message = held
        if message.DESCRIPTOR.name not in {"Ticket", "TableReference", "TypedTicket", "FlightDescriptor"}:
            fill(message)
    return message


def stepped(ticket: bytes) -> list[str] | None:
    """A ticket as the path of a descriptor; None if it has no such form."""
    if ticket[:1] == b"e":
        return ["export", str(struct.unpack("<i", ticket[1:])[0])] if len(ticket) == 5 else None
    if ticket[:2] == b"s/":
        try:
            return ["scope", ticket[2:].decode()]
        except UnicodeDecodeError:
            return None
    return ["shared", ticket[1:].hex()] if ticket[:1] == b"h" else None


def request(row: Row, ticket: bytes | None, own: dict[str, bytes], numbers: Any) -> bytes | None:
    """The request with this ticket in the field; None where the field cannot hold it. Without a ticket all is well."""
    message = message_factory.GetMessageClass(row.method.input_type)()
    if row.method.name == "DoExchange":
        message.app_metadata = asking(row.place[0], b"s/trades" if ticket is None else ticket)
        return message.SerializeToString()
    end = descend(message, row.place, lambda each: filled(each, own, numbers))
    if end.DESCRIPTOR.name == "FlightDescriptor":
        made = b"e" + struct.pack("<i", next(numbers)) if row.makes else b"s/trades"
        steps = stepped(made if ticket is None else ticket)
        if steps is None:
            return None
        end.type = 1
        end.path.extend(steps)
        if row.method.name == "DoPut":
            message.data_header = SCHEMA
    elif ticket is not None:
        end.ticket = ticket
    elif not end.ticket and not is_unseen(row):
        made = b"e" + struct.pack("<i", next(numbers)) if row.makes else SOURCES.get(row.field, b"s/trades")
        end.ticket = made
    return message.SerializeToString()


#: The header of a schema, as an upload begins with.
SCHEMA = pa.schema([("x", pa.int64())]).serialize().to_pybytes()[8:]


class Outcome(NamedTuple):
    """How a call went: what it says apart from numbers, and all bytes of it."""

    code: str
    details: str
    answers: bytes

    @property
    def known(self) -> tuple[str, str]:
        return self.code, re.sub(r"\d+", "N", self.details)


class Login:
    """A session of a login."""

    def __init__(self, srv: tf.Server, name: str) -> None:
        self.channel = grpc.insecure_channel(
            f"127.0.0.1:{port_of(srv)}", options=[("grpc.use_local_subchannel_pool", 1)]
        )
        method = "/io.deephaven.proto.backplane.grpc.ConfigService/GetConfigurationConstants"
        call = self.channel.unary_unary(method).with_call
        _, told = call(b"", metadata=[("authorization", f"{PSK} {srv.tokens[name]}")], timeout=ANSWERS)
        self.metadata = [("authorization", dict(told.initial_metadata())["authorization"])]
        self.url = srv.url
        self.numbers = itertools.count(1_000)
        self.own: dict[str, bytes] = {}
        #: Whether the numbers that ann has are numbers that it let go.
        self.past = False

    def call(self, row: Row, message: bytes, timeout: float = ANSWERS) -> Outcome:
        """One message, and no more; of an exchange, which goes on, the first answer."""
        messages = [message]
        if row.short.startswith("MessageStream.data"):
            connected = {"source_id": {"ticket": {"ticket": b"s/parts"}}}
            messages.insert(0, object_pb2.StreamRequest(connect=connected).SerializeToString())
        stream = self.channel.stream_stream(row.path)(iter(messages), metadata=self.metadata, timeout=timeout)
        answers = b""
        try:
            for answer in stream:
                answers += answer
                if row.method.name == "DoExchange":
                    break
            else:
                return Outcome("OK", "", answers)
        except grpc.RpcError as refused:
            details = refused.details() or ""
            return Outcome(refused.code().name, "" if "Deadline" in details else details, answers)
        stream.cancel()
        return Outcome("OK", "", answers)

    def asks(self, row: Row, ticket: bytes | None, timeout: float = ANSWERS) -> Outcome | None:
        message = request(row, ticket, self.own, self.numbers)
        return None if message is None else self.call(row, message, timeout)

    def one(self, door: str, **fields: Any) -> bytes:
        """Calls by name; the bytes of the answers."""
        (method,) = (method for method in METHODS if f"{method.containing_service.name}.{method.name}" == door)
        made = message_factory.GetMessageClass(method.input_type)(**fields)
        done = self.call(Row(method, ()), made.SerializeToString())
        assert done.code == "OK", (door, done)
        return done.answers

    def makes(self, number: int, name: str) -> None:
        """Gives what the scope has a number."""
        self.one(
            "SessionService.ExportFromTicket", source_id={"ticket": b"s/" + name.encode()}, result_id=export(number)
        )

    def uploads(self, number: int, table: pa.Table) -> None:
        with fl.connect(self.url) as client:
            descriptor = fl.FlightDescriptor.for_path("export", str(number))
            writer, _ = client.do_put(descriptor, table.schema, self.options())
            with writer:
                writer.write_table(table)

    def options(self) -> fl.FlightCallOptions:
        headers = [(name.encode(), value.encode()) for name, value in self.metadata]
        return fl.FlightCallOptions(headers=headers, timeout=ANSWERS)

    def read(self, ticket: bytes) -> list[dict[str, Any]]:
        with fl.connect(self.url) as client:
            return client.do_get(fl.Ticket(ticket), self.options()).read_all().to_pylist()

    def close(self) -> None:
        self.channel.close()


def number(of: int) -> bytes:
    return b"e" + struct.pack("<i", of)


def export(of: int) -> dict[str, bytes]:
    return {"ticket": number(of)}


#: What ann holds, by its number; the one below 0 was given by the server.
TABLE, FEED, PARTS, CONSOLE, KEYS = 1, 2, 3, 4, -1
#: Numbers that nobody has taken.
NOBODYS, NOBODYS_KEYS = 900, -77
#: Numbers of bob's: one whose table he let go, one that could not be made.
GONE, FAILED = 500, 501


class World(NamedTuple):
    srv: tf.Server
    ann: Login
    bob: Login
    #: Let go of numbers of his own, among them all that ann has.
    past: Login


def tables(graph: tf.Graph) -> dict[str, Any]:
    times = pa.array([1, 2], pa.timestamp("ns", "UTC"))
    still = tf.table(pa.table({"sym": ["A", "B"], "n": [1, 2], "n2": [3, 4], "l": [[1], [2]], "t": times}))
    keys = tf.table({"sym": ["A", "B"], "w": [1, 2], "n": [1, 2]})
    return {
        "trades": still,
        "still": tf.table({"when": [1]}),
        "keys": keys,
        "rows": keys.select("sym", "w"),
        "names": keys.select("sym"),
        "parts": still.partition_by("sym"),
    }


def with_a_feed(login: Login, name: bytes, number: int) -> None:
    """A table that clients feed, under a number and a name."""
    kind = {"in_memory_key_backed": {"key_columns": ["sym"]}}
    login.one(
        "TableService.CreateInputTable",
        result_id=export(number),
        source_table_id={"ticket": {"ticket": b"s/rows"}},
        kind=kind,
    )
    if name:
        login.one("SessionService.PublishFromTicket", source_id=export(number), result_id={"ticket": name})


@pytest.fixture(scope="module")
def world(graph):
    with tf.serve(tables(graph), token={"ann": None, "bob": None}, graph=graph, console=True) as srv:
        ann, bob, past = (Login(srv, name) for name in ("ann", "bob", "bob"))
        srv.tables["hers"] = tf.table({"sym": [SECRET], "n": [1], "w": [1]})
        ann.makes(TABLE, "hers")
        srv.tables["hers"] = tf.table({"sym": [SECRET], "n": [1]}).partition_by("sym")
        ann.makes(PARTS, "hers")
        fetched = object_pb2.FetchObjectResponse.FromString(
            ann.one("ObjectService.FetchObject", source_id={"ticket": export(PARTS)})
        )
        assert fetched.typed_export_ids[0].ticket.ticket == number(KEYS)
        del srv.tables["hers"]
        with_a_feed(ann, b"s/feed", FEED)
        ann.one("ConsoleService.StartConsole", result_id=export(CONSOLE), session_type="python")
        for login in (bob, past):
            login.one("ConsoleService.StartConsole", result_id=export(499), session_type="python")
            login.own = {"console_id": number(499)}
            login.makes(GONE, "trades")
            login.one("SessionService.Release", id=export(GONE))
            (head,) = (row for row in ROWS if str(row) == "TableService.UnstructuredFilter.source_id.ticket")
            wrong = table_pb2.UnstructuredFilterTableRequest(
                result_id=export(FAILED), source_id={"ticket": {"ticket": b"s/trades"}}, filters=["no_such > 1"]
            )
            assert login.call(head, wrong.SerializeToString()).code == "INVALID_ARGUMENT"
        for each in (TABLE, FEED, PARTS, CONSOLE, NOBODYS):
            past.makes(each, "trades")
            past.one("SessionService.Release", id=export(each))
        past.past = True
        yield World(srv, ann, bob, past)
        for login in (ann, bob, past):
            login.close()


def in_parallel(work: Any, given: Any) -> list[Any]:
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, given))


def served() -> set[str]:
    """The calls of the table of calls, as paths."""
    text = CALLS.read_text()
    named = dict(re.findall(r'const ([A-Z]+): &str = "([^"]+)"', text))
    return {f"/{named[service]}/{method}" for service, method in re.findall(r'\(([A-Z]+), "(\w+)", ', text)}


SERVED = served()


def paths(chosen: Any) -> list[str]:
    return list({row.door: row for row in ROWS if chosen(row)})


DOORS = paths(lambda row: True)


def of_door(found: dict[Row, list[str]], door: str) -> list[str]:
    """What is wrong with a call."""
    return [wrong for row, wrongs in found.items() if row.door == door for wrong in wrongs]


def test_every_call_has_a_descriptor():
    described = {f"/{method.containing_service.full_name}/{method.name}" for method in METHODS}
    assert described >= SERVED
    assert len(SERVED) > 60
    assert len(ROWS) > 200


def test_a_request_whose_tickets_are_right_is_answered(world):
    def wrong(row):
        done = world.bob.asks(row, None)
        if row.method.name == "Release":
            return None
        wanted = REFUSED.get(row.short, ("OK", "")) if row.path in SERVED else NO_CALL
        return None if done.known == wanted else f"{row}: {done}"

    wrongs = [each for each in in_parallel(wrong, ROWS) if each]
    assert not wrongs, "\n".join(wrongs)


def hers(row: Row) -> int:
    """The number of ann's that would do in this field."""
    if row.field in {"partitioned_table", "source_id"} and ("Partitioned" in row.door or "Object" in row.door):
        return PARTS
    return {"console_id": CONSOLE, "input_table": FEED}.get(row.field, TABLE)


def alike(login: Login, row: Row, one: int, other: int) -> list[str]:
    """What tells a number of ann's from one of nobody's."""
    for timeout in (WAITS, 3 * WAITS, 10 * WAITS):
        found = [login.asks(row, number(of), timeout) for of in (one, other)]
        if None not in found and found[0].known == found[1].known:
            break
    wrong = [f"{row}: {one} is told from {other}: {found}"] if found[0].known != found[1].known else []
    for done in found:
        typed = {*TYPED, "DEADLINE_EXCEEDED"} if row.path in SERVED else {"UNIMPLEMENTED"}
        # What he let go of himself he may let go of again.
        again = login.past and row.method.name == "Release" and done.code == "OK"
        if done.code not in typed and not is_unseen(row) and not again:
            wrong.append(f"{row}: {done}")
        if SECRET.encode() in done.answers or SECRET in done.details:
            wrong.append(f"{row}: it tells what ann alone has")
    return wrong


@pytest.fixture(scope="module")
def named(world):
    """What is wrong where bob names what is ann's, by the field."""
    asked = [row for row in ROWS if not row.makes]
    # The server has given him nothing: numbers below 0 are all gone.
    new = Login(world.srv, "bob")
    ways = [
        (world.bob, lambda row: (hers(row), NOBODYS)),
        (new, lambda row: (KEYS, NOBODYS_KEYS)),
        (world.past, lambda row: (hers(row), NOBODYS)),
    ]
    given = "MessageStream.data.references.ticket"
    work = [(login, row, *of(row)) for login, of in ways for row in asked if login is not new or row.short != given]
    found: dict[Row, list[str]] = {row: [] for row in asked}
    for (_, row, *_), wrong in zip(work, in_parallel(lambda each: alike(*each), work), strict=True):
        found[row] += wrong
    return found


@pytest.mark.parametrize("door", paths(lambda row: not row.makes))
def test_what_is_anns_is_nothing_to_bob(named, door):
    assert of_door(named, door) == []


@pytest.fixture(scope="module")
def made(world):
    """What is wrong where bob gives a result a number that ann has, by the field."""

    def wrong(row):
        found = []
        for of in (hers(row), NOBODYS):
            bob = Login(world.srv, "bob")
            found.append(bob.asks(row, number(of)))
            bob.one("SessionService.CloseSession")
            bob.close()
        good = REFUSED.get(row.short, ("OK", ""))[0] if row.path in SERVED else "UNIMPLEMENTED"
        return [] if [each.code for each in found] == [good, good] else [f"{row}: {found}"]

    asked = [row for row in ROWS if row.makes]
    return dict(zip(asked, in_parallel(wrong, asked), strict=True))


@pytest.mark.parametrize("door", paths(lambda row: row.makes))
def test_bob_has_numbers_of_his_own(made, door):
    assert of_door(made, door) == []


#: What is no ticket of the wanted kind; a ticket that may be given is left out by the row.
KINDS: dict[str, bytes] = {
    "nothing": b"",
    "a letter": b"e",
    "an export of four bytes": b"e\1\0\0",
    "an export of six": b"e\1\0\0\0\0",
    "export 0": number(0),
    "the least number": number(-(2**31)),
    "a scope without a name": b"s/",
    "a name that is not there": b"s/nothing",
    "a name that is no text": b"s/\xff\xfe",
    "a field of an application": b"a/app/f/field",
    "half a field": b"a/app",
    "nobody's shared name": b"hnothing",
    "a shared name without one": b"h",
    "an unknown route": b"zz",
    "an old route": b"q\x0a\x03abc",
    "zeros": b"\0" * 5,
    "4 KiB of no route": b"z" * 4096,
    "4 KiB of no text": b"\xff" * 4096,
    "a name of 4 KiB": b"s/" + b"n" * 4094,
    "a shared name of 4 KiB": b"h" + b"x" * 4095,
    "what was let go": number(GONE),
    "what could not be made": number(FAILED),
    "a table": b"s/trades",
    "a table of tables": b"s/parts",
    "a console": number(499),
}
NAMED = {"a table", "a table of tables"}


def fits(row: Row, kind: str) -> bool:
    """Whether this field takes such a ticket."""
    if row.method.name == "PublishFromTicket" and row.field == "result_id":
        return KINDS[kind][:1] in {b"s", b"h"}
    if row.makes:
        # It stays nobody's: an upload takes names, too.
        return row.method.name == "DoPut" and KINDS[kind][:2] == b"s/"
    if row.method.name == "Release":
        return kind in {"what was let go", "what could not be made", "a console"}
    if row.field == "console_id":
        return kind == "a console"
    if row.method.name in {"BindTableToVariable", "PublishFromTicket"}:
        return kind in NAMED
    if row.method.name == "ExportFromTicket":
        return kind in {*NAMED, "a console"}
    wanted = "a table of tables" if hers(row) == PARTS and row.method.name != "PartitionBy" else "a table"
    return kind == wanted


#: Names that a header has with three letters for each of theirs.
LONG = {"letters of others": b"s/" + "ü".encode() * 2047, "lines": b"s/" + b"\n" * 4094}


def complaint(login: Login, row: Row, kind: str, ticket: bytes) -> list[str]:
    """What is wrong with how such a ticket is refused."""
    done = login.asks(row, ticket)
    if done is None or (done.code == "OK" and is_unseen(row)):
        return []
    typed = {*TYPED, "UNIMPLEMENTED"} if REFUSED.get(row.short) == NOT_YET else TYPED
    good = done.code in typed if row.path in SERVED else done.known == NO_CALL
    if len(urllib.parse.quote(done.details)) > HEADER:
        return [f"{row}, {kind}: an error of {len(done.details)} letters"]
    return [] if good else [f"{row}, {kind}: {done.code}: {done.details[:300]}"]


@pytest.fixture(scope="module")
def kinds(world):
    """What is wrong where a field is given a ticket of another kind, by the field."""
    work = [(row, kind) for row in ROWS for kind in KINDS if not fits(row, kind)]

    def wrong(each):
        row, kind = each
        return complaint(world.bob, row, kind, KINDS[kind])

    found: dict[Row, list[str]] = {row: [] for row in ROWS}
    for (row, _), told in zip(work, in_parallel(wrong, work), strict=True):
        found[row] += told
    return found


@pytest.mark.parametrize("door", DOORS)
def test_a_ticket_of_another_kind_is_refused_in_words(kinds, door):
    assert of_door(kinds, door) == []


def test_an_error_has_room_in_a_header_whatever_it_repeats(world):
    work = [(row, kind) for row in ROWS for kind in LONG if not (row.makes or row.method.name == "PublishFromTicket")]
    wrong = in_parallel(lambda each: complaint(world.bob, *each, LONG[each[1]]), work)
    assert [each for wrongs in wrong for each in wrongs] == []


def test_ann_has_all_that_she_had(world, named, made, kinds):
    ann = world.ann
    assert ann.read(number(TABLE)) == [{"sym": SECRET, "n": 1, "w": 1}]
    assert ann.read(number(KEYS))[0]["sym"] == SECRET
    assert ann.one("ObjectService.FetchObject", source_id={"ticket": export(PARTS)})
    run = console_pb2.ExecuteCommandResponse.FromString(
        ann.one("ConsoleService.ExecuteCommand", console_id=export(CONSOLE), code="assert 'trades' in globals()")
    )
    assert run.error_message == ""
    # What stands in the feed is what its calls put there, by a name that all have.
    assert {row["sym"] for row in ann.read(number(FEED))} <= {"A", "B"}


def test_what_streams_tell_bob_is_his_own(world):
    world.ann.one("ConsoleService.ExecuteCommand", console_id=export(CONSOLE), code=f"print({SECRET!r})")
    bob = Login(world.srv, "bob")
    bob.makes(42, "trades")
    doors = {
        "SessionService.ExportNotifications": number(42),
        "TableService.ExportedTableUpdates": number(42),
        "ApplicationService.ListFields": b"s/trades",
        "ConsoleService.SubscribeToLogs": None,
    }
    methods = {f"{method.containing_service.name}.{method.name}": method for method in METHODS}
    work = [(login, Row(methods[door], ())) for door in doors for login in (world.ann, bob)]
    told = in_parallel(lambda each: each[0].call(each[1], b"", 2 * WAITS), work)
    assert {each.code for each in told} == {"DEADLINE_EXCEEDED"}
    for his, of_ann, of_bob in zip(doors.values(), told[::2], told[1::2], strict=True):
        assert SECRET.encode() not in of_bob.answers
        if his is None:
            assert of_bob.answers == b""
            assert SECRET.encode() in of_ann.answers
        else:
            assert his in of_bob.answers
        for hers in (TABLE, FEED, PARTS, CONSOLE, KEYS):
            assert number(hers) not in of_bob.answers
    bob.close()


def test_who_is_not_in_the_session_has_no_number_of_it(world):
    """Another session of ann's is no better than bob's; a session's token is the session."""
    other = Login(world.srv, "ann")
    (row,) = (row for row in ROWS if str(row) == "TableService.GetExportedTableCreationResponse")
    assert other.asks(row, number(TABLE), WAITS).code == "DEADLINE_EXCEEDED"
    assert other.asks(row, number(KEYS)).code == "FAILED_PRECONDITION"
    other.metadata = world.ann.metadata
    assert other.asks(row, number(TABLE)).code == "OK"
    # A token that is almost hers is nobody's, in each of its letters.
    (_, bearer), *_ = world.ann.metadata
    token = bearer.removeprefix("Bearer ")
    for at in range(len(token)):
        wrong = token[:at] + ("1" if token[at] != "1" else "2") + token[at + 1 :]
        other.metadata = [("authorization", f"Bearer {wrong}")]
        assert other.asks(row, number(TABLE)).code == "UNAUTHENTICATED"
    other.metadata = [("authorization", f"Basic {base64.b64encode(b'ann:' + token.encode()).decode()}")]
    assert other.asks(row, number(TABLE)).code == "UNAUTHENTICATED"
    other.close()


def test_who_sends_a_token_with_each_call_has_numbers_of_its_own(world):
    """Calls that open no session are one session of their login."""
    logins = [Login(world.srv, name) for name in ("ann", "ann", "bob")]
    for login, name in zip(logins, ("ann", "ann", "bob"), strict=True):
        login.metadata = [("authorization", f"Bearer {world.srv.tokens[name]}")]
    her, too, bob = logins
    her.uploads(7, pa.table({"sym": [SECRET]}))
    assert too.read(number(7)) == [{"sym": SECRET}]
    (row,) = (row for row in ROWS if row.door == "FlightService.DoGet")
    assert bob.asks(row, number(7), WAITS) == Outcome("DEADLINE_EXCEEDED", "", b"")
    (release,) = (row for row in ROWS if row.door == "SessionService.Release")
    assert bob.asks(release, number(7)).known == ("UNAVAILABLE", "Export not yet defined")
    bob.uploads(7, pa.table({"sym": ["his"]}))
    assert (bob.read(number(7)), too.read(number(7))) == ([{"sym": "his"}], [{"sym": SECRET}])
    assert bob.asks(release, number(7)).code == "OK"
    assert too.read(number(7)) == [{"sym": SECRET}]
    for login in logins:
        login.close()


def test_bob_ends_his_session_alone(world):
    closing = Login(world.srv, "bob")
    (row,) = (Row(method, ()) for method in METHODS if method.name == "CloseSession")
    for theirs in (world.ann.metadata[0][1], world.srv.tokens["ann"], f"Bearer {world.srv.tokens['ann']}"):
        payload = session_pb2.HandshakeRequest(payload=theirs.encode()).SerializeToString()
        done = closing.call(row, payload)
        assert done.known == ("INVALID_ARGUMENT", "a session can only close itself")
    assert world.ann.read(number(TABLE))[0]["sym"] == SECRET
    assert closing.call(row, b"").code == "OK"
    assert closing.call(row, b"").code == "UNAUTHENTICATED"
    assert world.ann.read(number(TABLE))[0]["sym"] == SECRET
    closing.close()


def test_what_ann_publishes_bob_has_until_she_lets_it_go(world):
    name = b"h" + b"a name that ann tells bob"
    world.ann.uploads(50, pa.table({"sym": [SECRET]}))
    world.ann.one("SessionService.PublishFromTicket", source_id=export(50), result_id={"ticket": name})
    assert world.bob.read(name) == [{"sym": SECRET}]
    (release,) = (row for row in ROWS if row.door == "SessionService.Release")
    assert world.bob.asks(release, name).code == "FAILED_PRECONDITION"
    assert world.bob.asks(release, number(50)).known == ("UNAVAILABLE", "Export not yet defined")
    assert world.bob.read(name) == [{"sym": SECRET}]
    world.ann.one("SessionService.Release", id=export(50))
    (row,) = (row for row in ROWS if row.door == "FlightService.DoGet")
    for _ in range(200):
        # It goes with the last handle, which is dropped beside the call.
        if (done := world.bob.asks(row, name)).code != "OK":
            break
    assert done.code == "NOT_FOUND"
    assert SECRET.encode() not in done.answers
