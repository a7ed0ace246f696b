"""The console of a server: scripts of clients, run in a namespace that holds the served tables.

Only a server that was started with ``tf.serve(console=True)`` has one.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import itertools
import linecache
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any

from tickframe.served import is_served, native_of, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tickframe import _native
    from tickframe.graph import Graph

__all__: list[str] = []

#: How the names of scripts begin, as tracebacks have them.
_SCRIPT = "<console "
#: Scripts whose text is kept for tracebacks.
_KEPT = 256
#: Letters of an error that are told.
_TOLD = 1 << 16
#: Letters of a line that are told at once.
_LINE = 1 << 14


_numbers = itertools.count(1)
_voices: dict[int, Callable[[bool, str], object]] = {}
_installing = threading.Lock()


class _Voice(io.TextIOBase):
    """A stream that is a script's own in the thread of the script, and the process's everywhere else."""

    def __init__(self, behind: Any, *, is_error: bool) -> None:
        self.behind = behind
        self._is_error = is_error
        self._begun: dict[int, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """As that of the stream behind it."""
        return getattr(self.behind, "encoding", None) or "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        thread = threading.get_ident()
        say = _voices.get(thread)
        if say is None:
            written: int = self.behind.write(text)
            return written
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        *lines, rest = (self._begun.pop(thread, "") + text).split("\n")
        for line in lines:
            say(self._is_error, line)
        while len(rest) > _LINE:
            say(self._is_error, rest[:_LINE])
            rest = rest[_LINE:]
        if rest:
            self._begun[thread] = rest
        return len(text)

    def flush(self) -> None:
        if threading.get_ident() not in _voices and self.behind is not None:
            self.behind.flush()

    def end(self, thread: int) -> None:
        """Say what was begun of a line."""
        rest = self._begun.pop(thread, "")
        if rest:
            _voices[thread](self._is_error, rest)


@contextlib.contextmanager
def _speaking(say: Callable[[bool, str], object]) -> Iterator[None]:
    """What this thread prints is said there."""
    thread = threading.get_ident()
    with _installing:
        if not isinstance(sys.stdout, _Voice):
            sys.stdout = _Voice(sys.stdout, is_error=False)
        if not isinstance(sys.stderr, _Voice):
            sys.stderr = _Voice(sys.stderr, is_error=True)
        voices = [sys.stdout, sys.stderr]
        _voices[thread] = say
    try:
        yield
    finally:
        with _installing:
            for voice in voices:
                voice.end(thread)
            del _voices[thread]
            if not _voices:
                # Somebody else may have put something in their place meanwhile.
                if isinstance(sys.stdout, _Voice):
                    sys.stdout = sys.stdout.behind
                if isinstance(sys.stderr, _Voice):
                    sys.stderr = sys.stderr.behind


def _no_input(prompt: object = "") -> str:
    del prompt
    raise EOFError("a script of the console has no input")


def _own(trace: traceback.TracebackException | None) -> None:
    """Leave the lines of scripts in a traceback, and nothing of what they called."""
    if trace is None:
        return
    if trace.stack is not None:
        own = [frame for frame in trace.stack if frame.filename.startswith(_SCRIPT)]
        trace.stack = traceback.StackSummary.from_list(own) if own else None  # type: ignore[assignment]
    _own(trace.__cause__)
    _own(trace.__context__)
    for inner in getattr(trace, "exceptions", None) or ():
        _own(inner)


def _paths(raised: BaseException | None) -> Iterator[str]:
    """The files that messages of modules that are not there name."""
    seen = 0
    while raised is not None and seen < 16:
        if isinstance(raised, ImportError) and raised.path:
            yield raised.path
        raised, seen = raised.__cause__ or raised.__context__, seen + 1


def _told(raised: BaseException) -> str:
    """What went wrong, with the lines of the script."""
    trace = traceback.TracebackException.from_exception(raised)
    _own(trace)
    text = "".join(trace.format())
    for path in _paths(raised):
        text = text.replace(f" ({path})", "")
    if isinstance(raised, KeyboardInterrupt):
        text += "the script was cancelled\n"
    return text if len(text) <= _TOLD else f"{text[: _TOLD // 2]}\n…\n{text[-_TOLD // 2 :]}"


class Console:
    """A namespace, and what the scope of the server holds of it."""

    def __init__(self, graph: Callable[[], Graph]) -> None:
        self._graph = graph
        self._namespace: dict[str, Any] = {
            "__name__": "__console__",
            "__builtins__": {**vars(builtins), "input": _no_input},
            "tf": sys.modules["tickframe"],
        }
        self._known: dict[str, tuple[int, Any]] = {}
        self._adopted: dict[str, tuple[int, Any]] = {}

    def adopt(self, name: str, identity: int, table: Any) -> None:
        """Let scripts have a table as it was given to the server: with the methods of a source."""
        self._adopted[name] = (identity, table)

    def forget(self, name: str) -> None:
        """Let a table go that was given to the server and taken from it, before a script had it."""
        self._adopted.pop(name, None)

    def enter(self, scope: list[tuple[str, int, _native.Table | _native.Partitioned | _native.Frame]]) -> None:
        """Have the namespace hold what the scope does."""
        self._namespace.setdefault("graph", self._graph())
        adopted, self._adopted = self._adopted, {}
        names = {name for name, _, _ in scope}
        for name in self._known.keys() - names:
            _, gone = self._known.pop(name)
            if self._namespace.get(name) is gone:
                del self._namespace[name]
        for name, identity, native in scope:
            if name in self._known and self._known[name][0] == identity:
                continue
            given = adopted.get(name)
            table = given[1] if given is not None and given[0] == identity else value_of(native)
            self._known[name] = (identity, table)
            self._namespace[name] = table

    def run(self, code: str, say: Callable[[bool, str], object]) -> str | None:
        """Run a script; gives what is wrong with it."""
        number = next(_numbers)
        name = f"{_SCRIPT}{number}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        linecache.cache.pop(f"{_SCRIPT}{number - _KEPT}>", None)
        try:
            with _speaking(say):
                exec(compile(code, name, "exec", dont_inherit=True), self._namespace)  # noqa: S102 - it is what it is for
        except BaseException as raised:  # noqa: BLE001 - none of them is the server's
            return _told(raised)
        return None

    def leave(self) -> tuple[list[tuple[str, _native.Table | _native.Partitioned | _native.Frame]], list[str]]:
        """What a script put into the scope, and the names that it took from there."""
        put = []
        for name, value in self._namespace.items():
            known = self._known.get(name)
            if known is not None and known[1] is value:
                continue
            if is_served(value) and (known is not None or not name.startswith("_")):
                # A frame with cells that no table has stays the script's own.
                with contextlib.suppress(Exception):
                    put.append((name, native_of(value)))
        taken = [name for name in self._known if not is_served(self._namespace.get(name))]
        for name in taken:
            del self._known[name]
        return put, taken

    def settled(self, name: str, identity: int) -> None:
        """What was put into the scope is known as this from here on."""
        self._known[name] = (identity, self._namespace[name])
