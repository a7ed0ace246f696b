"""The command line, run as a user runs it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.flight as fl
import pyarrow.parquet
import pytest
from deephaven_core.proto import console_pb2, console_pb2_grpc

import tickframe as tf
from tickframe.cli import main

ROWS = pa.table({"sym": ["A", "B"], "px": [1.0, 2.0]})


def start(folder, *arguments, **environment):
    """The process of ``tickframe serve``, with its address and its token."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tickframe.cli", "serve", *arguments],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    told = process.stdout.readline()
    assert told.startswith("serving "), (told, process.stderr.read())
    names, url = told.removeprefix("serving ").rstrip().rsplit(" at ", 1)
    return process, names, url, process.stdout.readline().removeprefix("token: ").rstrip()


def end(process, number=signal.SIGINT):
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, ""), err


def read(url, token, name):
    options = fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {token}".encode())], timeout=20)
    with fl.connect(url) as client:
        return client.do_get(fl.Ticket(f"s/{name}".encode()), options).read_all()


def test_what_is_sent_is_encrypted_if_it_is_asked_for(tmp_path):
    pyarrow.parquet.write_table(ROWS, tmp_path / "one.parquet")
    golden = Path(__file__).parent.parent / "golden" / "tls"
    (tmp_path / "tickframe.toml").write_text(f'[serve]\ntls = ["{golden}/server.pem", "{golden}/server.key"]\n')
    for given in [["--tls", str(golden / "server.pem"), str(golden / "server.key")], []]:
        process, _, url, token = start(tmp_path, "one.parquet", *given)
        assert url.startswith("grpc+tls://")
        options = fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {token}".encode())], timeout=20)
        with fl.connect(url, tls_root_certs=(golden / "authority.pem").read_bytes()) as client:
            assert client.do_get(fl.Ticket(b"s/one"), options).read_all() == ROWS
        end(process)


def test_a_console_is_there_if_it_is_asked_for(tmp_path):
    for given, wanted in [(["--console"], True), ([], True), ([], False)]:
        (tmp_path / "tickframe.toml").write_text(f"[serve]\nconsole = {'true' if wanted and not given else 'false'}\n")
        process, _, url, token = start(tmp_path, *given)
        with grpc.insecure_channel(url.removeprefix("grpc://")) as channel:
            stub = console_pb2_grpc.ConsoleServiceStub(channel)
            types = stub.GetConsoleTypes(console_pb2.GetConsoleTypesRequest(), timeout=20).console_types
            assert list(types) == (["python"] if wanted else [])
        assert token
        end(process)


def test_files_and_modules_are_served(tmp_path):
    pyarrow.parquet.write_table(ROWS, tmp_path / "one.parquet")
    pyarrow.feather.write_feather(ROWS, tmp_path / "two.feather")
    pyarrow.csv.write_csv(ROWS, tmp_path / "three.csv")
    (tmp_path / "app.py").write_text(
        "import tickframe as tf\n"
        "four = tf.table({'x': [4]})\n"
        "def tables():\n"
        "    return {'five': tf.table({'x': [5]}), 'six': four}\n"
    )
    given = ["one.parquet", "two.feather", "three.csv", "app:four", "app:tables"]
    process, names, url, token = start(tmp_path, *given)
    assert names == "five, four, one, six, three, two"
    for name in ["one", "two", "three"]:
        assert read(url, token, name).to_pydict() == ROWS.to_pydict()
    assert read(url, token, "five").to_pydict() == {"x": [5]}
    end(process, signal.SIGTERM)


def test_what_is_not_given_stands_in_the_file(tmp_path):
    pyarrow.parquet.write_table(ROWS, tmp_path / "one.parquet")
    (tmp_path / "tickframe.toml").write_text('rows = 3\n[serve]\ntables = ["one.parquet"]\ntoken = "from-the-file"\n')
    process, names, _, token = start(tmp_path)
    assert (names, token) == ("one", "from-the-file")
    end(process)
    process, _, url, token = start(tmp_path, "--token", "given", TICKFRAME_TOKEN="of-the-environment")
    assert token == "given"
    assert read(url, token, "one").num_rows == 2
    end(process)
    process, _, _, token = start(tmp_path, TICKFRAME_TOKEN="of-the-environment")
    assert token == "of-the-environment"
    end(process)


def test_the_doctor_says_where_settings_come_from(tmp_path):
    (tmp_path / "tickframe.toml").write_text("rows = 3\nwidth = 70\n")
    done = subprocess.run(
        [sys.executable, "-m", "tickframe.cli", "doctor"],
        cwd=tmp_path,
        env=os.environ | {"TICKFRAME_ROWS": "4"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    words = [line.split() for line in done.stdout.splitlines()]
    assert ["rows", "4", "TICKFRAME_ROWS"] in words
    assert ["width", "70", "tickframe.toml"] in words
    assert ["cell", "32", "default"] in words
    assert ["pyarrow", pa.__version__] in words


def test_settings_of_the_file_hold_without_the_command_line(tmp_path):
    code = "import tickframe as tf; print(len(str(tf.table({'x': list(range(100))})).splitlines()))"
    (tmp_path / "tickframe.toml").write_text("rows = 3\n")
    run = lambda: subprocess.run(  # noqa: E731
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    few = int(run().stdout)
    (tmp_path / "tickframe.toml").write_text("rows = 13\n")
    assert int(run().stdout) == few + 10
    for wrong, words in {
        "rows = ": "tickframe.toml: Invalid value",
        "row = 3": "'row' is no setting; there are rows, columns",
        'rows = "three"': "rows is a number, not 'three'",
        "[serve]\nports = 5": "serve has no 'ports'; it has console, host",
    }.items():
        (tmp_path / "tickframe.toml").write_text(wrong)
        assert words in run().stderr.splitlines()[-1]


def test_files_are_kept_where_it_is_said(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.py").write_text("x = 1")
    (tmp_path / "tickframe.toml").write_text('[serve]\nstorage = "files"\n')
    listed = "/io.deephaven.proto.backplane.grpc.StorageService/ListItems"
    for given in [["--storage", str(tmp_path / "files")], []]:
        process, _, url, token = start(tmp_path, *given)
        with grpc.insecure_channel(url.removeprefix("grpc://")) as channel:
            answer = channel.unary_unary(listed)(b"", metadata=[("authorization", f"Bearer {token}")], timeout=20)
        assert b"a.py" in answer
        end(process)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["nothing.parquet"], "nothing.parquet: there is no such file"),
        (["odd.txt"], "odd.txt: files are .parquet, .arrow, .feather, .csv or .json"),
        (["broken.feather"], "read_ipc: broken.feather: "),
        (["app"], "app: say what of the module is served: app:tables"),
        (["nowhere:tables"], "nowhere:tables: No module named 'nowhere'"),
        (["json:nothing"], "json:nothing: the module json has no nothing"),
        (["json:__name__"], "json:__name__: it is str, neither a table nor a mapping"),
        (["--host", "0.0.0.0"], "wants tls="),
        (["--port", "70000"], "port must be in 0"),
        (["--storage", "nowhere"], 'cannot keep files in "nowhere"'),
    ],
)
def test_a_mistake_is_one_line(given, words, tmp_path, monkeypatch, capsys):
    (tmp_path / "odd.txt").write_text("x")
    (tmp_path / "broken.feather").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *given]) == 1
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1


def test_a_wrong_call_is_told_with_the_usage(capsys):
    for wrong in [[], ["nothing"], ["serve", "--port", "x"]]:
        with pytest.raises(SystemExit) as ended:
            main(wrong)
        assert ended.value.code == 2
        assert "usage: tickframe" in capsys.readouterr().err


def test_versions_are_shown(capsys):
    tf.show_versions()
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown["pyarrow"] == pa.__version__
    assert {"tickframe", "python", "system", "java"} <= shown.keys()
