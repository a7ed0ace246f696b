"""The command line: ``tickframe serve`` and ``tickframe doctor``.

``tickframe serve trades.parquet app:tables`` serves files, and what a module makes: a table, a mapping of names to tables, or a
function that gives one of these. It runs until it is interrupted. Exit codes: 0, 1 if something failed, 2 for a wrong
call.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tickframe as tf
from tickframe.config import file_settings, sources
from tickframe.versions import versions

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


class _GivenError(Exception):
    """Something that the user can mend, told in one line."""


def _file(path: Path) -> tf.Table:
    readers = {
        ".parquet": tf.read_parquet,
        ".arrow": tf.read_ipc,
        ".feather": tf.read_ipc,
        ".ipc": tf.read_ipc,
        ".csv": tf.read_csv,
        ".json": tf.read_json,
        ".ndjson": tf.read_json,
        ".jsonl": tf.read_json,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise _GivenError(
            f"{path}: files are .parquet, .arrow, .feather, .csv or .json; what a module makes is module:name"
        )
    try:
        return reader(path)
    except (OSError, ValueError, tf.errors.TickframeError) as why:
        raise _GivenError(str(why)) from None


def _module(text: str) -> dict[str, tf.Table]:
    name, _, attribute = text.partition(":")
    if not attribute:
        raise _GivenError(f"{text}: say what of the module is served: {name}:tables")
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as why:
        raise _GivenError(f"{text}: {why}") from None
    finally:
        sys.path.pop(0)
    if not hasattr(module, attribute):
        raise _GivenError(f"{text}: the module {name} has no {attribute}")
    made: Any = getattr(module, attribute)
    made = made if isinstance(made, (Mapping, tf.Table)) else made() if callable(made) else made
    if isinstance(made, tf.Table):
        return {attribute: made}
    if not isinstance(made, Mapping):
        raise _GivenError(f"{text}: it is {type(made).__name__}, neither a table nor a mapping of names to tables")
    return dict(made)


def _tables(what: Sequence[str]) -> dict[str, tf.Table]:
    tables: dict[str, tf.Table] = {}
    for text in what:
        path = Path(text)
        is_file = path.exists() or (path.suffix and ":" not in text)
        if is_file and not path.exists():
            raise _GivenError(f"{text}: there is no such file")
        made = {path.stem: _file(path)} if is_file else _module(text)
        twice = tables.keys() & made.keys()
        if twice:
            raise _GivenError(f"{text}: there is a table {min(twice)!r} already")
        tables |= made
    return tables


def _serve(given: argparse.Namespace) -> int:
    own = file_settings().get("serve", {})
    what = given.what or own.get("tables", [])
    if isinstance(what, str):
        what = [what]
    host = given.host if given.host is not None else own.get("host", "127.0.0.1")
    port = given.port if given.port is not None else own.get("port", 0)
    token: Any = given.token or os.environ.get("TICKFRAME_TOKEN") or own.get("token")
    insecure = given.insecure or own.get("insecure", False)
    tls = given.tls or own.get("tls")
    tables = _tables(what)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    if isinstance(tls, list):
        tls = tuple(tls)
    if given.no_token:
        token = False
    console = given.console or own.get("console", False)
    storage = given.storage or own.get("storage")
    with tf.serve(
        tables, host=host, port=port, token=token, tls=tls, insecure=insecure, console=console, storage=storage
    ) as server:
        print(f"serving {', '.join(server.tables) or 'no tables yet'} at {server.url}", flush=True)
        for login, secret in server.tokens.items():
            print(f"token of {login}: {secret}" if login else f"token: {secret}", flush=True)
        ended.wait()
    return 0


def _doctor(given: argparse.Namespace) -> int:
    del given
    print("versions")
    for name, version in versions().items():
        print(f"  {name:<22} {version}")
    print("settings")
    for name, (value, source) in sources().items():
        print(f"  {name:<22} {value!s:<10} {source}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tickframe", description="Live tables for Python.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve tables to other processes, until it is interrupted")
    serve.add_argument("what", nargs="*", metavar="FILE | module:name", help="files, and what modules make")
    serve.add_argument("--host", help="where to listen; this machine's own address without it")
    serve.add_argument("--port", type=int, help="the port; any free one without it")
    serve.add_argument("--token", help="what clients must send; TICKFRAME_TOKEN, or a random one without it")
    serve.add_argument(
        "--no-token", action="store_true", help="let anybody call who reaches this machine's own address"
    )
    serve.add_argument("--tls", nargs=2, metavar=("CERTIFICATE", "KEY"), help="encrypt: two files in PEM form")
    serve.add_argument("--insecure", action="store_true", help="listen on another address, without encryption")
    serve.add_argument("--console", action="store_true", help="let clients run Python in this process")
    serve.add_argument("--storage", metavar="FOLDER", help="let clients keep files in this folder")
    serve.set_defaults(run=_serve)
    doctor = commands.add_parser("doctor", help="print versions, and each setting with where it comes from")
    doctor.set_defaults(run=_doctor)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words behind the program's name; those of the process without them.

    Returns:
        The exit code.

    Examples:
        >>> from tickframe.cli import main
        >>> main(["serve", "nothing.parquet"])
        1
    """
    given = _parser().parse_args(arguments)
    try:
        code: int = given.run(given)
    except (_GivenError, tf.errors.TickframeError, OSError, TypeError, ValueError) as why:
        print(f"tickframe: {why}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main())
