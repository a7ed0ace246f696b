"""Tables for other processes: a server that speaks Arrow Flight.

>>> import tickframe as tf
>>> with tf.serve({"trades": tf.table({"sym": ["A", "B"], "px": [1.0, 2.0]})}) as srv:
...     list(srv.tables), srv.url.startswith("grpc://127.0.0.1:")
(['trades'], True)
"""

from __future__ import annotations

import atexit
import ipaddress
import os
import secrets
import socket
import urllib.parse
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tickframe import _native, errors
from tickframe.arguments import instance
from tickframe.console import Console
from tickframe.graph import graph_for_source
from tickframe.paths import path_of
from tickframe.served import is_served, native_of, value_of
from tickframe.tokens import Kept

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from tickframe.graph import Graph
    from tickframe.table import Table

__all__ = ["Server", "serve"]

#: A file in PEM form: its path, or its bytes.
PEM = str | os.PathLike[str] | bytes

_running: weakref.WeakSet[Server] = weakref.WeakSet()


class _Served(MutableMapping[str, Any]):
    """The tables of a server by name: what is set is served from then on."""

    __slots__ = ("_console", "_native")

    def __init__(self, native: _native.FlightServer, console: Console | None) -> None:
        self._native = native
        self._console = console

    def __getitem__(self, name: object) -> Any:
        found = self._native.table(name) if isinstance(name, str) else None
        if found is None:
            raise KeyError(name)
        return value_of(found)

    def __setitem__(self, name: str, table: Any) -> None:
        name, table = _name(name), _served(name, table)
        if self._native.sessions is None:
            raise errors.InvalidOperationError(f"serve: {name!r} cannot be served: the server was stopped")
        identity = self._native.put(name, native_of(table), dict(getattr(table, "_given", ())))
        if self._console is not None:
            self._console.adopt(name, identity, table)

    def __delitem__(self, name: object) -> None:
        if not (isinstance(name, str) and self._native.take(name)):
            raise KeyError(name)
        if self._console is not None:
            self._console.forget(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.names())

    def __len__(self) -> int:
        return len(self._native.names())

    def __repr__(self) -> str:
        return f"{{{', '.join(repr(name) for name in self)}}}"


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise errors.TypeMismatchError(f"serve: a table is named by a string, not {type(name).__name__}")
    if not name:
        raise errors.InvalidOperationError("serve: a table's name cannot be empty")
    return name


def _served(name: object, value: object) -> object:
    if not is_served(value):
        advice = "; tf.from_arrow makes a table of it" if hasattr(value, "__arrow_c_stream__") else ""
        raise errors.TypeMismatchError(
            f"serve: {name!r} is {type(value).__name__}, not a Table, a PartitionedTable or a DataFrame of pandas{advice}"
        )
    return value


class Server:
    """A server that runs, made by :func:`serve`; a context manager that stops it."""

    def __init__(
        self,
        native: _native.FlightServer,
        tokens: Mapping[str, str] | None,
        *,
        encrypted: bool = False,
        console: Console | None = None,
        kept: Kept | None = None,
    ) -> None:
        if not isinstance(native, _native.FlightServer):
            raise errors.TypeMismatchError("a Server is made by tickframe.serve")
        self._native = native
        self._tokens = tokens
        self._console = console
        self._kept = kept
        self._scheme = "grpc+tls" if encrypted else "grpc"
        _running.add(self)

    @property
    def url(self) -> str:
        """Where it listens, as Flight clients write it."""
        host = self._native.host
        host = f"[{host}]" if ":" in host else host
        return f"{self._scheme}://{host}:{self._native.port}"

    @property
    def token(self) -> str | None:
        """What clients must send; None for a server that asks nobody. Of several logins it is the first one's."""
        return next(iter(self._tokens.values())) if self._tokens else None

    @property
    def tokens(self) -> dict[str, str]:
        """What clients must send, by login; the login of a server with one token has the empty name.

        >>> import tickframe as tf
        >>> with tf.serve({}, token={"ann": "secret", "bob": None}) as srv:
        ...     tokens = srv.tokens
        >>> sorted(tokens), tokens["ann"]
        (['ann', 'bob'], 'secret')
        """
        return dict(self._tokens or {})

    @property
    def tables(self) -> MutableMapping[str, Any]:
        """The tables by name, the partitioned ones, and frames. What is set here is served from then on, a deleted one no longer."""
        return _Served(self._native, self._console)

    @property
    def limits(self) -> Mapping[str, int]:
        """What a client may ask for, by name: counts, bytes, milliseconds.

        >>> import tickframe as tf
        >>> with tf.serve({}) as srv:
        ...     limits = srv.limits
        >>> limits["sessions"]
        4096
        """
        return self._native.limits

    @property
    def counters(self) -> dict[str, int]:
        """What the server counts: ``connections`` that are open, and of all logins ``sessions``, ``exports``, ``subscriptions`` and ``memory``.

        ``memory`` is bytes of uploads and of what clients are owed and have not read. Of the graphs whose tables are served: ``nodes``,
        ``failed_nodes``, ``cycles``, and how long the last cycle took, ``last_cycle_ns``. Empty once it was stopped. A client asks
        for those of its own login by the Flight action ``counters``.

        >>> import tickframe as tf
        >>> with tf.serve({"t": tf.table({"x": [1]})}) as srv:
        ...     counted = srv.counters
        >>> counted["connections"], counted["subscriptions"], srv.counters
        (0, 0, {})
        """
        return self._native.counters or {}

    def code(self, login: str | None = None) -> str:
        """A code that lets somebody in once: what a page in a browser is given in place of the token.

        It is sent in any form in which a token is, and opens one session, whose token the answer carries. It lets nobody
        in a second time, nor a minute after it was made. A page takes it from the part of its address behind ``#``,
        which browsers send to no server.

        Args:
            login: Whose session it opens; the first one's by default.

        Raises:
            InvalidOperationError: Nobody has this name, the server asks nobody for a token, or it was stopped.
            ResourceError: As many codes wait as may: 64.

        Examples:
            >>> import tickframe as tf
            >>> with tf.serve({}) as srv:
            ...     code = srv.code()
            >>> code.startswith("once-"), len(code)
            (True, 37)
        """
        if login is None:
            login = next(iter(self._tokens), "") if self._tokens else ""
        if not isinstance(login, str):
            raise errors.TypeMismatchError(f"code: a login is named by a string, not {type(login).__name__}")
        drawn = self._native.code(login)
        if drawn is None:
            raise errors.InvalidOperationError("code: the server was stopped")
        return drawn

    def stop(self) -> None:
        """End all calls, sessions and threads, and let the tables go. A second call does nothing.

        >>> import tickframe as tf
        >>> srv = tf.serve({"t": tf.table({"x": [1]})})
        >>> srv.stop()
        >>> srv.counters
        {}
        """
        if self._kept is not None:
            self._kept.forget()
        self._native.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        stopped = ", stopped" if self._native.sessions is None else ""
        return f"<Server {self.url}{stopped}>"


def _address(host: object) -> str:
    if not isinstance(host, str):
        raise errors.TypeMismatchError(f"serve: host must be a string, not {type(host).__name__}")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError) as unknown:
        raise errors.InvalidOperationError(f"serve: host={host!r} is no address: {unknown}") from None


def _secret(token: object) -> str:
    if token is None:
        return secrets.token_hex(16)
    if not isinstance(token, str):
        raise errors.TypeMismatchError(
            f"serve: token must be a string, a mapping of names to strings, None or False, not {type(token).__name__}"
        )
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        raise errors.InvalidOperationError("serve: a token has printable ASCII letters and no spaces")
    return token


def _secrets(token: object) -> dict[str, str] | None:
    """The token of each login, one of an empty name if there is but one; None if nothing is asked."""
    if token is False:
        return None
    if not isinstance(token, Mapping):
        return {"": _secret(token)}
    if not token:
        raise errors.InvalidOperationError("serve: token names nobody: give a login, or None for a random token")
    tokens: dict[str, str] = {}
    for login, given in token.items():
        if not isinstance(login, str):
            raise errors.TypeMismatchError(f"serve: token: a login is named by a string, not {type(login).__name__}")
        if not login or not login.isprintable():
            raise errors.InvalidOperationError(f"serve: token: {login!r} is no name of a login")
        tokens[login] = _secret(given)
    if len(set(tokens.values())) < len(tokens):
        raise errors.InvalidOperationError("serve: token: two logins have one token")
    return tokens


def pem(given: object, method: str, what: str) -> bytes:
    """The text of a file in PEM form, given as its path or as it is."""
    if isinstance(given, bytes):
        return given
    if not isinstance(given, (str, os.PathLike)):
        raise errors.TypeMismatchError(f"{method}: {what} is a path or bytes, not {type(given).__name__}")
    with open(given, "rb") as file:  # noqa: PTH123 - a path of any kind
        return file.read()


def _pages(origins: object) -> list[str]:
    if isinstance(origins, str) or not isinstance(origins, Sequence):
        raise errors.TypeMismatchError(f"serve: origins is a list of strings, not {type(origins).__name__}")
    for origin in origins:
        if not isinstance(origin, str):
            raise errors.TypeMismatchError(f"serve: origins holds {type(origin).__name__}, not a string")
        parts = urllib.parse.urlsplit(origin)
        if parts.scheme not in {"http", "https"} or not parts.netloc or origin != f"{parts.scheme}://{parts.netloc}":
            raise errors.InvalidOperationError(f"serve: origins: {origin!r} is no page: scheme://host:port")
    return list(origins)


def _pair(tls: object) -> tuple[bytes, bytes] | None:
    if tls is None:
        return None
    if not isinstance(tls, tuple) or len(tls) != 2:
        raise errors.TypeMismatchError(f"serve: tls is a pair (certificate, key), not {type(tls).__name__}")
    return pem(tls[0], "serve", "the certificate of tls"), pem(tls[1], "serve", "the key of tls")


def serve(
    tables: Mapping[str, Any] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | Mapping[str, str | None] | Literal[False] | None = None,
    tls: tuple[PEM, PEM] | None = None,
    resolvers: Mapping[str, Callable[[str], Table | None]] | None = None,
    graph: Graph | None = None,
    origins: Sequence[str] = (),
    insecure: bool = False,
    console: bool = False,
    storage: str | os.PathLike[str] | None = None,
) -> Server:
    """Serve tables to other processes by Arrow Flight, from threads of its own.

    A client reads the rows of the last settled step; no cycle waits for a client. What a client uploads becomes a
    static table of ``Server.tables``.

    Args:
        tables: The tables by name, also partitioned ones, and data frames of pandas, each with the rows that it has now.
            ``Server.tables`` takes more later.
        host: Where to listen. Other addresses than this machine's own want ``tls`` and a token.
        port: The port; 0 is any free one.
        token: What clients must send, as ``authorization: Bearer TOKEN`` or as the password of any name; by default
            a random one, which ``tf.connect`` of this user's programs on this machine finds by itself: it is kept in a
            file that nobody else may read, until the server stops. A mapping of names to tokens (None is a random one) tells several logins from each other: what one of
            them may hold is its own. False lets anybody call who reaches this machine's own address.
        tls: Certificate (with those that vouch for it behind it) and private key, each a path of a PEM file or its
            bytes: what is sent is encrypted then.
        resolvers: Functions that give tables by name, by the text with which their tickets begin: the function of
            ``"db/"`` is called with ``"x"`` for the ticket ``"db/x"``, and gives a table or None.
        graph: Where clients make live tables, such as time and input tables; the default graph without it.
        origins: The pages of which browsers may call, such as ``"http://localhost:3000"``; of no others. Programs that are
            no browsers name no page.
        insecure: Listen on another address without ``tls``: nothing that is sent is encrypted, which a warning says. It
            still wants a token.
        console: Let clients run Python in this process, as whoever started it: in one namespace for all of them, which holds
            the tables by name, ``tf`` and ``graph``. A table that a script names is served from then on. On another
            address than this machine's own it wants ``tls`` and a token.
        storage: A folder that is there, in which clients keep files by Deephaven's storage service: they list, read, save,
            move and remove what is in it, and reach nothing outside. Without it they keep none.

    Raises:
        TypeMismatchError: Something is not a table, a name or a function.
        InvalidOperationError: The address is not this machine's own and there is no ``tls`` or no token; the token cannot
            be sent.
        ValueError: Certificate or key cannot be read, or they do not belong together.
        OSError: The port is taken, or a file is not there.
        StorageError: ``storage`` is no folder, or cannot be used.

    Examples:
        >>> import tickframe as tf
        >>> srv = tf.serve({"trades": tf.table({"px": [1.0, 2.0]})})
        >>> srv.tables["trades"].to_dicts()
        [{'px': 1.0}, {'px': 2.0}]
        >>> srv.stop()
    """
    if tables is not None and not isinstance(tables, Mapping):
        raise errors.TypeMismatchError(
            f"serve: tables must be a mapping of names to tables, not {type(tables).__name__}"
        )
    if resolvers is not None and not isinstance(resolvers, Mapping):
        raise errors.TypeMismatchError(
            f"serve: resolvers must be a mapping of prefixes to functions, not {type(resolvers).__name__}"
        )
    if isinstance(port, bool) or not isinstance(port, int):
        raise errors.TypeMismatchError(f"serve: port must be an integer, not {type(port).__name__}")
    if not 0 <= port <= 65535:
        raise errors.InvalidOperationError(f"serve: port must be in 0 … 65535, not {port}")
    given = {_name(name): _served(name, table) for name, table in (tables or {}).items()}
    own = list((resolvers or {}).items())
    pairs: list[tuple[object, object]] = [*own]
    for prefix, function in pairs:
        if not isinstance(prefix, str) or not callable(function):
            raise errors.TypeMismatchError("serve: resolvers must map strings to functions")
    secret = _secrets(token)
    address = _address(host)
    pair = _pair(tls)
    pages = _pages(origins)
    if not isinstance(console, bool):
        raise errors.TypeMismatchError(f"serve: console is True or False, not {type(console).__name__}")
    if storage is not None and not isinstance(storage, (str, os.PathLike)):
        raise errors.TypeMismatchError(f"serve: storage is a path of a folder, not {type(storage).__name__}")
    folder = None if storage is None else path_of("serve: storage", storage)
    if not ipaddress.ip_address(address).is_loopback:
        if console and (secret is None or pair is None):
            raise errors.InvalidOperationError(
                f"serve: console=True at host={host!r} wants tls=(certificate, key) and a token: who reaches it runs Python here"
            )
        if secret is None:
            raise errors.InvalidOperationError(f"serve: token=False is for this machine's own address, not {host!r}")
        if pair is None:
            if not insecure:
                raise errors.InvalidOperationError(
                    f"serve: host={host!r} can be reached from other machines, which wants tls=(certificate, key); "
                    "insecure=True serves without encryption all the same"
                )
            warnings.warn(f"serve: {host} is served without encryption", stacklevel=2)
    if secret is None:
        may = "run Python in this process" if console else "read and write"
        warnings.warn(f"serve: token=False: every program on this machine can {may}", stacklevel=2)
    if graph is not None:
        instance(graph, "serve", "graph", "Graph", "a graph")
    scripts = Console(lambda: graph_for_source(graph)) if console else None
    tokens = None if secret is None else list(secret.items())
    native = _native.FlightServer(
        address, port, tokens, pair, pages, own, lambda: graph_for_source(graph)._native, scripts, folder
    )
    is_here = ipaddress.ip_address(address).is_loopback
    kept = Kept(native.port, secret[""]) if token is None and secret is not None and is_here else None
    server = Server(native, secret, encrypted=pair is not None, console=scripts, kept=kept)
    for name, table in given.items():
        server.tables[name] = table
    return server


def token_of(url: str) -> str | None:
    """The token of the server of this process that is reached there."""
    found = (server for server in list(_running) if server.url == url and server._native.sessions is not None)
    return next((server.token for server in found), None)


def _end() -> None:
    for server in list(_running):
        server.stop()


atexit.register(_end)
