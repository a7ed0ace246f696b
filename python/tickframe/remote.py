"""Live tables of other processes: what :func:`tickframe.serve` gives, and any server that speaks Barrage, taken in.

>>> import tickframe as tf
>>> served = tf.append_table({"sym": str, "px": float}, graph=tf.Graph())
>>> _ = served.append({"sym": ["A", "B"], "px": [1.0, 2.0]})
>>> _ = served.graph.step()
>>> here = tf.Graph()
>>> with tf.serve({"trades": served}) as srv, tf.connect(srv.url, graph=here) as con:
...     trades = con["trades"]
...     _ = here.step()
...     trades.to_dicts()
[{'sym': 'A', 'px': 1.0}, {'sym': 'B', 'px': 2.0}]
"""

from __future__ import annotations

import atexit
import math
import os
import urllib.parse
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from tickframe import _native, errors
from tickframe.arguments import instance
from tickframe.durations import seconds
from tickframe.graph import graph_for_source
from tickframe.handles import table_of
from tickframe.server import PEM, pem, token_of
from tickframe.tokens import kept

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from tickframe.graph import Graph
    from tickframe.table import Table

__all__ = ["Connection", "RemoteState", "connect"]

_open: weakref.WeakSet[Connection] = weakref.WeakSet()

#: How addresses begin, and whether what is sent is encrypted there.
_SCHEMES = {"grpc": False, "grpc+tcp": False, "http": False, "grpc+tls": True, "grpcs": True, "https": True}


class RemoteState(NamedTuple):
    """How it goes with a table of another server."""

    #: Whether the server tells of it now.
    connected: bool
    #: The last step of the server that was taken in; -1 of a table that never changes there, None before the first.
    step: int | None
    #: How often it was followed from the beginning: once more for each time the server was lost.
    snapshots: int
    #: Why it is not connected.
    trouble: str | None


class Connection:
    """A connection to a server, made by :func:`connect`; a context manager that closes it."""

    def __init__(self, native: _native.Remote, url: str) -> None:
        if not isinstance(native, _native.Remote):
            raise errors.TypeMismatchError("a Connection is made by tickframe.connect")
        self._native = native
        self._url = url
        _open.add(self)

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._url

    def __getitem__(self, name: str) -> Table:
        """The live table of this name, as :meth:`table` gives it."""
        return self.table(name)

    def table(
        self,
        name: str,
        *,
        columns: Sequence[str] | None = None,
        viewport: slice | None = None,
        timeout: float = 30.0,
    ) -> Table:
        """A live table here that has the rows of one there, under the same row keys.

        The first rows are waited for; in a graph that runs by itself they are in the table then, in another one they
        come with its next step. Asked for again, it is the same table, as long as somebody has it. If the server is
        lost, the table stays as it is and is followed again as soon as the server is back: its fresh rows are compared
        with those that are held, and what depends on the table sees the differences alone.

        Args:
            name: What the server calls it.
            columns: These columns alone, in this order; all of them without it.
            viewport: These rows alone, by their places in the table there: ``slice(0, 100)`` are the first hundred,
                ``slice(-100, None)`` the last. Rows come and go as the table there changes; no others are sent, and
                row keys here are places in the viewport.
            timeout: Seconds to wait for the first rows.

        Raises:
            NotFoundError: The server has no table of this name.
            ColumnNotFoundError: The table has no such column.
            ValueError: No row can be in the viewport, or it has no end.
            DataError: It has a column that cannot be sent, or is a blink table, of which there are no viewports.
            TransportError: The server is not there, or the connection was closed.
            TimeoutError: No rows came in time.

        Examples:
            >>> import tickframe as tf
            >>> here = tf.Graph()
            >>> srv = tf.serve({"t": tf.table({"a": [1, 2], "b": ["x", "y"]})})
            >>> con = tf.connect(srv.url, graph=here)
            >>> table = con.table("t", columns=["b"])
            >>> _ = here.step()
            >>> table.to_dicts()
            [{'b': 'x'}, {'b': 'y'}]
            >>> newest = con.table("t", viewport=slice(-1, None))
            >>> _ = here.step()
            >>> newest.to_dicts()
            [{'a': 2, 'b': 'y'}]
            >>> con.close()
            >>> srv.stop()
        """
        return table_of(self._native.table(*_part(name, columns), _places(viewport), _wait(timeout)))

    def snapshot(
        self,
        name: str,
        *,
        columns: Sequence[str] | None = None,
        viewport: slice | None = None,
        timeout: float = 30.0,
    ) -> Table:
        """The rows of a table there as they are now: a static table, which is read once and followed no further.

        Cells stay in the messages in which they came, so that this is the fastest way to have many rows here.

        Args:
            name: What the server calls it.
            columns: These columns alone, in this order; all of them without it.
            viewport: These rows alone, by their places, as for :meth:`table`.
            timeout: Seconds to wait for all rows.

        Raises:
            NotFoundError: The server has no table of this name.
            ColumnNotFoundError: The table has no such column.
            ValueError: No row can be in the viewport, or it has no end.
            DataError: It has a column that cannot be sent, or is a blink table, of which there are no viewports.
            TransportError: The server is not there, or the connection was closed.
            TimeoutError: The rows did not come in time.

        Examples:
            >>> import tickframe as tf
            >>> srv = tf.serve({"t": tf.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})})
            >>> with tf.connect(srv.url) as con:
            ...     rows = con.snapshot("t", columns=["b"], viewport=slice(0, 2))
            >>> rows.to_dicts()
            [{'b': 'x'}, {'b': 'y'}]
            >>> srv.stop()
        """
        return table_of(self._native.snapshot(*_part(name, columns), _places(viewport), _wait(timeout)))

    def tables(self) -> list[str]:
        """The names of the tables that the server has now.

        >>> import tickframe as tf
        >>> with tf.serve({"prices": tf.table({"x": [1]})}) as srv, tf.connect(srv.url, token=srv.token) as far:
        ...     names = far.tables()
        >>> names
        ['prices']

        Raises:
            TransportError: The server is not there, or the connection was closed.
        """
        return self._native.names()

    def states(self) -> dict[str, RemoteState]:
        """How it goes with each table that is here, by its name; of a part as ``"name[a, b]"``, ``"name[0:100]"``."""
        return {name: RemoteState(*state) for name, state in self._native.states().items()}

    def close(self) -> None:
        """End all. Tables that came from here stay as they are and change no more. A second call does nothing.

        >>> import tickframe as tf
        >>> with tf.serve({"prices": tf.table({"x": [1]})}) as srv:
        ...     far = tf.connect(srv.url, token=srv.token)
        ...     prices = far.table("prices")
        ...     far.close()
        >>> prices.to_dict()
        {'x': [1]}
        """
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = ", closed" if self._native.is_closed else ""
        return f"<Connection {self._url}{closed}>"


def _part(name: object, columns: object) -> tuple[str, list[str] | None]:
    """The name of a table and of its columns, if they are names."""
    if not isinstance(name, str):
        raise errors.TypeMismatchError(f"connect: a table is named by a string, not {type(name).__name__}")
    if columns is None:
        return name, None
    if isinstance(columns, str):
        return name, [columns]
    if not isinstance(columns, Iterable):
        raise errors.TypeMismatchError("connect: columns are named by strings")
    named: list[str] = []
    for column in columns:
        if not isinstance(column, str):
            raise errors.TypeMismatchError("connect: columns are named by strings")
        if column in named:
            raise errors.DuplicateError(f"connect: column {column!r} would appear twice")
        named.append(column)
    return name, named


def _parts(url: object) -> tuple[str, str, int]:
    if not isinstance(url, str):
        raise errors.TypeMismatchError(f"connect: url must be a string, not {type(url).__name__}")
    wrong = errors.InvalidOperationError(f"connect: {url!r} is no address: grpc://HOST:PORT, or grpc+tls://HOST:PORT")
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in _SCHEMES or not host or port is None or parts.path not in ("", "/") or parts.query:
        raise wrong
    if parts.username is not None or parts.password is not None:
        raise errors.InvalidOperationError("connect: a token is no part of the address; give it as token=")
    return parts.scheme, host, port


def _wait(timeout: object) -> float:
    wait = seconds(timeout, "connect")
    return math.inf if wait is None else wait


def _places(viewport: object) -> tuple[int, int, bool] | None:
    """The first place of a viewport, its last, and whether they count from the end."""
    if viewport is None:
        return None
    if not isinstance(viewport, slice):
        raise errors.TypeMismatchError(
            "connect: viewport must be a slice, slice(0, 100) for the first hundred rows, slice(-100, None) for the last, "
            f"not {type(viewport).__name__}"
        )
    start = 0 if viewport.start is None else viewport.start
    stop, step = viewport.stop, viewport.step
    for bound in (start, stop, step):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
            raise errors.TypeMismatchError(f"connect: bounds of a viewport are whole numbers, not {bound!r}")
    written = f"viewport {'' if viewport.start is None else start}:{'' if stop is None else stop}"
    if step not in (None, 1):
        raise ValueError(f"connect: a viewport has a step of 1, not {step}")
    if start < 0:
        first, last = 0 if stop is None else -stop, -start - 1
        mixed = stop is not None and stop >= 0
    elif stop is None:
        raise ValueError(f"connect: {written} has no end; a table has as many rows as it gets")
    else:
        first, last = start, stop - 1
        mixed = stop < 0
    if mixed:
        raise ValueError(f"connect: {written} begins at one end of the table and ends at the other")
    if first > last:
        raise ValueError(f"connect: {written} holds no row")
    if last >= 1 << 63:
        raise ValueError(f"connect: {written} reaches beyond all tables")
    return first, last, start < 0


def _secret(url: str, token: object) -> str | None:
    if token is False:
        return None
    if token is None:
        return token_of(url) or os.environ.get("TICKFRAME_TOKEN") or kept(url)
    if not isinstance(token, str):
        raise errors.TypeMismatchError(f"connect: token must be a string, None or False, not {type(token).__name__}")
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        raise errors.InvalidOperationError("connect: a token has printable ASCII letters and no spaces")
    return token


def connect(
    url: str,
    token: str | Literal[False] | None = None,
    *,
    tls: PEM | None = None,
    graph: Graph | None = None,
) -> Connection:
    """Connect to a server, whose tables are live tables here.

    Threads of its own read what the server sends; no step of a graph waits for it. A server that is lost is looked for
    until it is back, or the connection is closed.

    Args:
        url: Where the server is: ``grpc://HOST:PORT``, or ``grpc+tls://HOST:PORT`` for one that encrypts.
        token: What the server wants. Without it: that of a server of this process, else that in ``TICKFRAME_TOKEN``, else
            that which a server of this user's on this machine drew. False sends none.
        tls: Whose certificates are believed, a path of a PEM file or its bytes; those of this system without it.
        graph: Where the tables live; the default graph without it.

    Raises:
        TypeMismatchError: An argument is of another type.
        InvalidOperationError: The url is no address, or the token cannot be sent.
        ValueError: ``tls`` holds no certificate.
        TransportError: The server is not there, or speaks something else.
        AuthError: The token is not the server's.

    Examples:
        >>> import tickframe as tf
        >>> srv = tf.serve({"t": tf.table({"a": [1, 2]})}, token="a-token-of-mine")
        >>> con = tf.connect(srv.url, "a-token-of-mine", graph=tf.Graph())
        >>> con.tables()
        ['t']
        >>> con.close()
        >>> srv.stop()
    """
    scheme, host, port = _parts(url)
    encrypted = _SCHEMES[scheme]
    if tls is not None and not encrypted:
        raise errors.InvalidOperationError(f"connect: tls= is for grpc+tls://, and {url!r} is not encrypted")
    secret = _secret(url, token)
    if graph is not None:
        instance(graph, "connect", "graph", "Graph", "a graph")
    trust = None if tls is None else pem(tls, "connect", "tls")
    own = graph_for_source(graph)._native
    return Connection(_native.Remote(host, port, secret, encrypted, trust, own), url)


def _end() -> None:
    for connection in list(_open):
        connection.close()


atexit.register(_end)
