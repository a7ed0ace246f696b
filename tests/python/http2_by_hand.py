"""HTTP/2 frame by frame, for tests of what no library sends."""

from __future__ import annotations

import contextlib
import resource
import socket
import struct
import time
from typing import TYPE_CHECKING, NamedTuple, Self

from deephaven_clients import port_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import tickframe as tf

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 7, 8, 11
SETTINGS_SENT = b"\0\0\0\4\0\0\0\0\0"

CONSTANTS = "/io.deephaven.proto.backplane.grpc.ConfigService/GetConfigurationConstants"
#: A call that stays open until its session ends.
STAYS = "/io.deephaven.proto.backplane.grpc.SessionService/TerminationNotification"


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes

    def code(self) -> int:
        """Why a stream or a connection was ended."""
        at = 4 if self.kind == GOAWAY else 0
        return int(struct.unpack(">I", self.payload[at : at + 4])[0])


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def length(of: int) -> bytes:
    """A length of HPACK's, of seven bits at first."""
    if of < 127:
        return bytes([of])
    made, of = bytearray([127]), of - 127
    while of >= 128:
        made.append(of & 127 | 128)
        of >>= 7
    return bytes([*made, of])


def fields(pairs: list[tuple[str, str]]) -> bytes:
    """Headers, each as it is: nothing is remembered of them."""
    return b"".join(b"\0" + b"".join(length(len(text)) + text.encode() for text in pair) for pair in pairs)


def asked(path: str, token: str | None, *more: tuple[str, str]) -> list[tuple[str, str]]:
    """The headers of a call."""
    pairs = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost")]
    pairs += [("content-type", "application/grpc"), ("te", "trailers")]
    return [*pairs, *([("authorization", f"Bearer {token}")] if token else []), *more]


def message(payload: bytes = b"") -> bytes:
    """A message of gRPC's, with its frame."""
    return b"\0" + struct.pack(">I", len(payload)) + payload


def call(stream: int, path: str, token: str | None, body: bytes | None = b"", *, ends: bool = True) -> bytes:
    """The frames of a call with one message, or with none."""
    sent = frame(HEADERS, END_HEADERS, stream, fields(asked(path, token)))
    return sent + frame(DATA, END_STREAM if ends else 0, stream, b"" if body is None else message(body))


class Wire:
    """A connection. It answers nothing by itself."""

    def __init__(self, srv: tf.Server, begin: bytes = PREFACE + SETTINGS_SENT) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(30)
        self.socket.connect(("127.0.0.1", port_of(srv)))
        self.held = b""
        self.gone = False
        self.send(begin)

    def agree(self) -> None:
        """Takes what the server says that it may do: until then little may be sent."""
        assert self.until(lambda each: each.kind == SETTINGS and not each.flags) is not None
        assert self.until(lambda each: each.kind == WINDOW_UPDATE and each.stream == 0) is not None
        self.send(frame(SETTINGS, ACK, 0))

    def send(self, frames: bytes) -> bool:
        """Whether it went out."""
        try:
            self.socket.sendall(frames)
        except OSError:
            return False
        return True

    def more(self, within: float) -> bool:
        """Reads what comes; False if nothing does."""
        self.socket.settimeout(max(within, 0.001))
        try:
            got = self.socket.recv(1 << 18)
        except TimeoutError:
            return False
        except OSError:
            got = b""
        finally:
            with contextlib.suppress(OSError):
                self.socket.settimeout(30)
        self.gone = self.gone or not got
        self.held += got
        return bool(got)

    def frame(self, within: float = 20) -> Frame | None:
        """The next frame; None if there is none in time, or the server hung up."""
        until = time.monotonic() + within
        while True:
            if len(self.held) >= 9:
                size = int.from_bytes(self.held[:3], "big")
                if len(self.held) >= 9 + size:
                    kind, flags, stream = struct.unpack(">BBI", self.held[3:9])
                    found = Frame(kind, flags, stream, self.held[9 : 9 + size])
                    self.held = self.held[9 + size :]
                    return found
            if self.gone or not self.more(until - time.monotonic()):
                return None

    def until(self, wanted: Callable[[Frame], bool], within: float = 20) -> Frame | None:
        """The first frame that is wanted; None if there is none in time."""
        end = time.monotonic() + within
        while (found := self.frame(end - time.monotonic())) is not None:
            if wanted(found):
                return found
        return None

    def ended(self, stream: int, within: float = 20) -> Frame | None:
        """How a stream ended."""
        return self.until(
            lambda each: (
                each.stream == stream and (each.kind == RST_STREAM or (each.flags & END_STREAM and each.kind < 2))
            ),
            within,
        )

    def lives(self, within: float = 20) -> bool:
        """Whether it answers a question."""
        asks = struct.pack(">Q", time.monotonic_ns())
        self.send(frame(PING, 0, 0, asks))
        return self.until(lambda each: each.kind == PING and each.payload == asks, within) is not None

    def is_served(self, stream: int, token: str | None, within: float = 20) -> bool:
        """Whether a call is answered to its end."""
        self.send(call(stream, CONSTANTS, token))
        end = self.ended(stream, within)
        return end is not None and end.kind == HEADERS

    def hung_up(self, within: float) -> bool:
        """Whether the server ends the connection in time."""
        end = time.monotonic() + within
        while not self.gone and time.monotonic() < end:
            self.more(end - time.monotonic())
        return self.gone

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def files(wanted: int) -> int:
    """Takes room for so many files, as far as it is allowed; how many there may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def subscribed(ticket: bytes, *, snapshot: bool = False) -> bytes:
    """The message of an exchange that asks for all rows of a table, and goes on or not."""
    return data(metadata=asking("snapshot" if snapshot else "subscription", ticket))


def varint(of: int) -> bytes:
    made = bytearray()
    while of >= 128:
        made.append(of & 127 | 128)
        of >>= 7
    return bytes([*made, of])


def data(path: tuple[str, ...] = (), header: bytes = b"", metadata: bytes = b"", body: bytes = b"") -> bytes:
    """A message that carries rows."""
    descriptor = b"\x08\x01" + b"".join(b"\x1a" + varint(len(step)) + step.encode() for step in path)
    parts = [(b"\x0a", descriptor if path else b""), (b"\x12", header), (b"\x1a", metadata), (b"\xc2\x3e", body)]
    return b"".join(tag + varint(len(part)) + part for tag, part in parts if part)


def asking(kind: str, ticket: bytes) -> bytes:
    """A request of Barrage for all rows of a table: two flatbuffers, one in the other."""
    asked_for = flatbuffer(b"", ticket)
    number = {"subscription": 5, "snapshot": 7}[kind]
    return flatbuffer(struct.pack("<IB", 0x6E687064, number), asked_for)


def flatbuffer(magic: bytes, vector: bytes) -> bytes:
    """A flatbuffer of one table: a number and a kind, if they are given, then a vector of bytes."""
    # In the table: where its slots are told, the vector's place, the number, the kind.
    slots = [8, 12, 4] if magic else [4]
    inline = b"\0\0\0\0" + magic
    told = struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), 4 + len(inline), *slots)
    told = b"\0" * (-len(told) % 4) + told
    begin = 4 + len(told)
    used = 4 + 2 * len(slots)
    inline += b"\0" * (-len(inline) % 4)
    # The vector lies behind the table, so many bytes behind where its place is told.
    table = struct.pack("<iI", used, len(inline)) + inline[4:]
    return struct.pack("<I", begin) + told + table + struct.pack("<I", len(vector)) + vector
