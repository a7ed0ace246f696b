"""The console of a server: Python that clients have it run, by `pydeephaven` and by the calls themselves."""

import contextlib
import re
import subprocess
import sys
import time

import grpc
import pandas as pd
import pydeephaven as dh
import pytest
from deephaven_core.proto import console_pb2, console_pb2_grpc, session_pb2, session_pb2_grpc, ticket_pb2

import tickframe as tf
from deephaven_clients import collected_between_calls, connect, port_of

__all__ = ["collected_between_calls"]

CONSOLES = console_pb2_grpc.ConsoleServiceStub
SESSIONS = session_pb2_grpc.SessionServiceStub


@pytest.fixture(scope="module")
def srv(graph):
    trades = tf.append_table({"sym": str, "px": float}, graph=graph)
    trades.append({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]}).wait(10)
    with tf.serve({"trades": trades}, graph=graph, console=True) as server:
        yield server


@pytest.fixture
def session(srv):
    session = connect(srv)
    yield session
    session.close()


class Shell:
    """A console of one login, by the calls themselves."""

    def __init__(self, srv, session):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port_of(srv)}")
        self.stub, self.metadata, self.session = CONSOLES(self.channel), session.grpc_metadata, session
        self.console = self.stub.StartConsole(
            console_pb2.StartConsoleRequest(result_id=session.make_export_ticket().pb_ticket, session_type="python"),
            metadata=self.metadata,
            timeout=20,
        ).result_id

    def begin(self, code, timeout=60):
        request = console_pb2.ExecuteCommandRequest(console_id=self.console, code=code)
        return self.stub.ExecuteCommand.future(request, metadata=self.metadata, timeout=timeout)

    def run(self, code):
        return self.begin(code).result()

    def cancel(self):
        request = console_pb2.CancelCommandRequest(console_id=self.console)
        self.stub.CancelCommand(request, metadata=self.metadata, timeout=20)

    def logs(self, since=0, levels=()):
        request = console_pb2.LogSubscriptionRequest(last_seen_log_timestamp=since, levels=levels)
        return self.stub.SubscribeToLogs(request, metadata=self.metadata, timeout=20)

    def close(self):
        self.channel.close()


@pytest.fixture
def shell(srv, session):
    shell = Shell(srv, session)
    yield shell
    shell.close()


def names(fields):
    return [field.field_name for field in fields]


def gone(srv, name):
    """Waits until the scope has no such name; a machine that hangs ends it."""
    until = time.monotonic() + 20
    while name in srv.tables and time.monotonic() < until:
        time.sleep(0.01)
    return name not in srv.tables


def test_a_script_works_on_the_served_tables_and_serves_its_own(srv, session):
    session.run_script(
        "best = trades.agg_by(tf.agg.max_('px'), by='sym')\n"
        "mine = tf.append_table({'x': int}, graph=graph)\n"
        "mine.append({'x': [1, 2]}).wait(10)\n"
        "_hidden = trades.head(1)\n"
    )
    assert session.open_table("best").to_arrow().to_pylist() == [{"sym": "A", "px": 3.0}, {"sym": "B", "px": 2.0}]
    assert session.open_table("mine").to_arrow()["x"].to_pylist() == [1, 2]
    assert {"best", "mine"} == srv.tables.keys() - {"trades"}
    # It goes on in the same namespace, with sources as they are.
    session.run_script("mine.append({'x': [3]}).wait(10)\ntrades.append({'sym': 'B', 'px': 9.0}).wait(10)")
    assert session.open_table("mine").to_arrow()["x"].to_pylist() == [1, 2, 3]
    assert session.open_table("best").to_arrow()["px"].to_pylist() == [3.0, 9.0]
    session.run_script("del best, mine")
    assert set(srv.tables) == {"trades"}


def test_a_data_frame_of_a_script_is_an_object(srv, session):
    session.run_script(
        "import pandas as pd\nframe = pd.DataFrame({'a': [1, 2]})\nodd = pd.DataFrame({'a': [object(), 2]})\n_own = frame.copy()"
    )
    assert session.exportable_objects["frame"].type == "pandas.DataFrame"
    assert {"odd", "_own"} & session.exportable_objects.keys() == set()
    client = session.plugin_client(session.exportable_objects["frame"])
    assert next(client.resp_stream)[1][0].fetch().to_arrow().to_pydict() == {"a": [1, 2]}
    client.close()
    session.run_script("assert frame is not None and list(frame['a']) == [1, 2]\ndel frame")
    assert "frame" not in session.exportable_objects
    srv.tables["other"] = pd.DataFrame({"b": [3]})
    session.run_script("other['c'] = other['b'] + 1\nmade = tf.from_pandas(other)")
    assert session.open_table("made").to_arrow().to_pydict() == {"b": [3], "c": [4]}
    session.run_script("del other, made")
    assert "other" not in srv.tables


def test_what_a_client_binds_a_script_sees(srv, session):
    session.bind_table("bound", session.empty_table(3).update(["x = ii"]))
    session.run_script("doubled = bound.select(y=tf.col('x') * 2)")
    assert session.open_table("doubled").to_arrow()["y"].to_pylist() == [0, 2, 4]
    del srv.tables["bound"]
    with pytest.raises(dh.DHError, match="NameError: name 'bound' is not defined"):
        session.run_script("bound")
    session.run_script("del doubled")


def test_changes_are_told(srv, shell):
    made = shell.run("one = tf.table({'x': [1]})\nparts = trades.partition_by('sym')\nnumber = 5")
    assert (made.error_message, sorted(names(made.changes.created))) == ("", ["one", "parts"])
    assert {field.typed_ticket.type for field in made.changes.created} == {"Table", "PartitionedTable"}
    assert made.changes.created[0].typed_ticket.ticket.ticket.startswith(b"s/")
    assert 0 < made.start_timestamp <= made.end_timestamp
    again = shell.run("one = tf.table({'x': [2]})")
    assert (names(again.changes.created), names(again.changes.updated)) == ([], ["one"])
    same = shell.run("one = one")
    assert same.changes == console_pb2.ExecuteCommandResponse().changes
    ended = shell.run("one = 1\ndel parts")
    assert sorted(names(ended.changes.removed)) == ["one", "parts"]
    assert set(srv.tables) == {"trades"}


def test_what_goes_wrong_comes_back_with_the_lines_of_the_script(srv, shell):
    done = shell.run("left = tf.table({'x': [1]})\ndef fail():\n    return trades.filter('nothing > 1')\n\nfail()\n")
    error = done.error_message
    assert re.search(r'File "<console \d+>", line 5, in <module>\n    fail\(\)\n', error)
    assert re.search(r'File "<console \d+>", line 3, in fail\n    return trades.filter', error)
    assert "nothing" in error
    assert tf.__path__[0] not in error
    # What it did before stands.
    assert names(done.changes.created) == ["left"]
    assert names(shell.run("del left").changes.removed) == ["left"]
    wrong = {
        "x = = 1": "SyntaxError: invalid syntax",
        "raise SystemExit(3)": "SystemExit: 3",
        "import sys; sys.exit()": "SystemExit",
        "input('name')": "EOFError: a script of the console has no input",
        "from tickframe import nothing_there": "ImportError: cannot import name 'nothing_there' from 'tickframe'\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError as why:\n    raise ValueError('x') from why": "direct cause",
        "a = '\\0'; exec('\\0')": "null bytes",
        "def f(): f()\nf()": "RecursionError",
        "raise ExceptionGroup('many', [ValueError('one'), KeyError('two')])": "ValueError: one",
        "raise ValueError('y' * 10_000_000)": "yyyy",
    }
    for code, words in wrong.items():
        error = shell.run(code).error_message
        assert words in error, code
        assert len(error) < 70_000
        assert tf.__path__[0] not in error
    assert shell.run("1").error_message == ""


def test_what_it_prints_is_told_to_its_own_login(srv, shell, capsys):
    with login(srv) as other:
        elsewhere = Shell(srv, other)
        code = "import sys\nprint('one', 2)\nsys.stderr.write('bad\\nend')\nprint('no end', end='')"
        assert shell.run(code).error_message == ""
        elsewhere.run("print('theirs')")
        logs = shell.logs()
        told = [next(logs) for _ in range(4)]
        assert sorted((line.log_level, line.message) for line in told) == [
            ("STDERR", "bad"), ("STDERR", "end"), ("STDOUT", "no end"), ("STDOUT", "one 2"),
        ]  # fmt: skip
        # A second reader goes on behind what it has seen, and hears what comes.
        later = shell.logs(since=told[-1].micros, levels=["STDOUT"])
        shell.run("import sys\nprint('hidden', file=sys.stderr)\nprint('three')")
        assert next(later).message == "three"
        assert next(elsewhere.logs()).message == "theirs"
        logs.cancel()
        later.cancel()
        elsewhere.close()
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "")
    sys.stdout.write("the process has its own stream again\n")
    assert capsys.readouterr().out == "the process has its own stream again\n"


@contextlib.contextmanager
def login(srv):
    """A login of its own, for a block that may end it."""
    session = connect(srv)
    yield session
    with contextlib.suppress(dh.DHError):
        session.close()
    # A client that does not know that its session is over would ask for it minutes later, in a thread of its own.
    session._keep_alive_timer.cancel()


BUSY = "going = tf.table({'x': [1]})\nprint('begun')\nwhile True:\n    pass"


def begun(shell, code, srv):
    """A script that runs: it has said so."""
    logs = shell.logs(since=int(time.time() * 1e6))
    running = shell.begin(code)
    assert next(logs).message == "begun"
    logs.cancel()
    return running


def test_a_script_that_never_ends_is_cancelled(srv, shell):
    running = begun(shell, BUSY, srv)
    waiting = shell.begin("print('never')")
    with login(srv) as other:
        # A login cancels nothing of another's.
        elsewhere = Shell(srv, other)
        elsewhere.cancel()
        with pytest.raises(grpc.RpcError):
            elsewhere.stub.CancelCommand(
                console_pb2.CancelCommandRequest(console_id=ticket_pb2.Ticket(ticket=b"e\xff\xff\xff\x7f")),
                metadata=elsewhere.metadata,
                timeout=0.3,
            )
        elsewhere.close()
    assert not running.done()
    shell.cancel()
    error = running.result(timeout=20).error_message
    assert re.search(r"line \d.*\nKeyboardInterrupt\nthe script was cancelled\n$", error, re.DOTALL)
    assert waiting.result(timeout=20).error_message == "the script was cancelled before it began"
    assert names(shell.run("del going").changes.removed) == ["going"]


def test_one_that_holds_on_is_told_again(srv, shell):
    stubborn = (
        "held = tf.table({'x': [1]})\nprint('begun')\nleft = 2\n"
        "while left:\n    try:\n        while True:\n            pass\n    except KeyboardInterrupt:\n        left -= 1"
    )
    running = begun(shell, stubborn, srv)
    shell.cancel()
    assert running.result(timeout=20).error_message == ""
    shell.run("del held")


@pytest.mark.parametrize("how", ["call", "session", "deadline"])
def test_who_is_gone_leaves_no_script_behind(srv, how):
    with login(srv) as session:
        shell = Shell(srv, session)
        code = f"{BUSY}\n"
        if how == "deadline":
            logs = shell.logs(since=int(time.time() * 1e6))
            running = shell.begin(code, timeout=1.5)
            assert next(logs).message == "begun"
        else:
            running = begun(shell, code, srv)
        if how == "call":
            running.cancel()
        elif how == "session":
            close = session_pb2.HandshakeRequest(auth_protocol=0, payload=session.grpc_metadata[0][1])
            SESSIONS(shell.channel).CloseSession(close, metadata=shell.metadata, timeout=20)
        with pytest.raises((grpc.RpcError, grpc.FutureCancelledError)):
            running.result(timeout=20)
        with login(srv) as other:
            # Its turn comes once the other has ended.
            after = Shell(srv, other)
            assert names(after.run("del going").changes.removed) == ["going"]
            after.close()
        shell.close()
    assert gone(srv, "going")


def test_a_console_is_its_sessions_own(srv, shell):
    with login(srv) as other:
        mine = Shell(srv, other)
        request = console_pb2.ExecuteCommandRequest(console_id=mine.console, code="print(1)")
        release = session_pb2.ReleaseRequest(id=mine.console)
        SESSIONS(mine.channel).Release(release, metadata=mine.metadata, timeout=20)
        with pytest.raises(grpc.RpcError, match="DEPENDENCY_RELEASED"):
            mine.stub.ExecuteCommand(request, metadata=mine.metadata, timeout=20)
        mine.close()
    with pytest.raises(grpc.RpcError, match="No consoleId supplied"):
        shell.stub.ExecuteCommand(console_pb2.ExecuteCommandRequest(code="1"), metadata=shell.metadata, timeout=20)
    with pytest.raises(grpc.RpcError, match="is a Table, not a Console"):
        shell.stub.ExecuteCommand(
            console_pb2.ExecuteCommandRequest(console_id=ticket_pb2.Ticket(ticket=b"s/trades"), code="1"),
            metadata=shell.metadata,
            timeout=20,
        )
    for target in [b"s/console", b"hconsole"]:
        publish = session_pb2.PublishRequest(source_id=shell.console, result_id=ticket_pb2.Ticket(ticket=target))
        with pytest.raises(grpc.RpcError, match="a Console"):
            SESSIONS(shell.channel).PublishFromTicket(publish, metadata=shell.metadata, timeout=20)
    bind = console_pb2.BindTableToVariableRequest(variable_name="console", table_id=shell.console)
    with pytest.raises(grpc.RpcError, match="a Console"):
        shell.stub.BindTableToVariable(bind, metadata=shell.metadata, timeout=20)


def test_scripts_of_several_take_turns(srv, shell):
    with login(srv) as other:
        theirs = Shell(srv, other)
        shell.run("total = 0")
        both = [
            each.begin("before = total\nfor _ in range(1000):\n    pass\ntotal = before + 1")
            for each in [shell, theirs] * 20
        ]
        assert [running.result(timeout=20).error_message for running in both] == [""] * 40
        assert shell.run("assert total == 40, total").error_message == ""
        theirs.close()


def test_it_says_that_it_completes_nothing(shell):
    requests = [console_pb2.AutoCompleteRequest(console_id=shell.console, request_id=number) for number in [3, 4]]
    answers = list(shell.stub.AutoCompleteStream(iter(requests), metadata=shell.metadata, timeout=20))
    assert [(answer.request_id, answer.success) for answer in answers] == [(3, False), (4, False)]
    cancel = console_pb2.CancelAutoCompleteRequest(console_id=shell.console, request_id=3)
    shell.stub.CancelAutoComplete(cancel, metadata=shell.metadata, timeout=20)


def test_the_languages_are_told_to_everybody(srv, shell):
    types = shell.stub.GetConsoleTypes(console_pb2.GetConsoleTypesRequest(), timeout=20)
    assert list(types.console_types) == ["python"]
    other = console_pb2.StartConsoleRequest(
        result_id=shell.session.make_export_ticket().pb_ticket, session_type="groovy"
    )
    with pytest.raises(grpc.RpcError, match="session type 'groovy' is not supported: python"):
        shell.stub.StartConsole(other, metadata=shell.metadata, timeout=20)


def test_without_it_nothing_runs(graph):
    with tf.serve(graph=graph) as srv, login(srv) as session:
        with pytest.raises(dh.DHError) as refused:
            session.run_script("x = 1")
        assert "executes no scripts" in str(refused.value.__cause__)
        channel = grpc.insecure_channel(f"127.0.0.1:{port_of(srv)}")
        stub = CONSOLES(channel)
        assert not stub.GetConsoleTypes(console_pb2.GetConsoleTypesRequest(), timeout=20).console_types
        for method, request in [
            ("ExecuteCommand", console_pb2.ExecuteCommandRequest(code="1")),
            ("CancelCommand", console_pb2.CancelCommandRequest()),
        ]:
            with pytest.raises(grpc.RpcError, match="executes no scripts"):
                getattr(stub, method)(request, metadata=session.grpc_metadata, timeout=20)
        channel.close()


def test_a_server_that_stops_ends_its_scripts(graph):
    srv = tf.serve(graph=graph, console=True)
    with login(srv) as session:
        shell = Shell(srv, session)
        running = begun(shell, "print('begun')\nwhile True:\n    pass", srv)
        srv.stop()
        with pytest.raises(grpc.RpcError):
            running.result(timeout=20)
        shell.close()
    # A server that is made anew runs others, and the interpreter has let go of that one.
    with tf.serve(graph=graph, console=True) as again, login(again) as session:
        shell = Shell(again, session)
        assert shell.run("x = 1").error_message == ""
        shell.close()


def test_another_address_wants_both():
    for given in [{}, {"insecure": True}, {"token": False, "insecure": True}]:
        with pytest.raises(tf.errors.InvalidOperationError, match=r"console=True at host='0\.0\.0\.0' wants tls"):
            tf.serve(host="0.0.0.0", console=True, **given)
    with pytest.raises(tf.errors.TypeMismatchError, match="console is True or False, not str"):
        tf.serve(console="yes")
    with pytest.warns(UserWarning, match="every program on this machine can run Python in this process"):
        tf.serve(token=False, console=True).stop()


def test_a_program_that_ends_does_not_wait_for_a_script():
    program = """
import sys, threading
import tickframe as tf
sys.path.insert(0, "tests/python")
from test_console import Shell, begun
from deephaven_clients import connect
srv = tf.serve(console=True)
shell = Shell(srv, connect(srv))
begun(shell, "print('begun')\\nwhile True:\\n    pass", srv)
shell.session.close()
shell.close()
print("over")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "over\n"), done.stderr
