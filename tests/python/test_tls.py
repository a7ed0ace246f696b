"""Encryption: who may listen where, what is refused, and clients that are not ours."""

import pathlib
import socket
import ssl
import threading
import time

import pyarrow.flight as fl
import pydeephaven as dh
import pytest

import tickframe as tf
from deephaven_clients import PSK, collected_between_calls, port_of

__all__ = ["collected_between_calls"]

HERE = pathlib.Path(__file__).parent.parent / "golden" / "tls"
AUTHORITY, CERTIFICATE, EXPIRED = (HERE / name for name in ["authority.pem", "server.pem", "expired.pem"])
KEY, OTHER_KEY = HERE / "server.key", HERE / "other.key"


@pytest.fixture
def srv():
    with tf.serve({"t": tf.table({"a": [1, 2, 3]})}, tls=(CERTIFICATE, KEY)) as server:
        yield server


def read(srv, roots=AUTHORITY, token=None):
    client = fl.connect(srv.url, tls_root_certs=roots.read_bytes())
    bearer = b"Bearer " + (token or srv.token).encode()
    options = fl.FlightCallOptions(headers=[(b"authorization", bearer)], timeout=10)
    return client.do_get(fl.Ticket(b"s/t"), options).read_all()["a"].to_pylist()


def test_stock_clients_come_in_by_tls(srv):
    assert srv.url.startswith("grpc+tls://127.0.0.1:")
    assert read(srv) == [1, 2, 3]
    session = dh.Session(
        host="localhost",
        port=port_of(srv),
        auth_type=PSK,
        auth_token=srv.token,
        use_tls=True,
        tls_root_certs=AUTHORITY.read_bytes(),
    )
    assert session.open_table("t").update(["b = a * 2"]).to_arrow()["b"].to_pylist() == [2, 4, 6]
    session.close()


def test_encryption_lets_nobody_in_without_a_token(srv):
    with pytest.raises(fl.FlightUnauthenticatedError):
        read(srv, token="wrong")


def test_who_does_not_believe_the_authority_does_not_speak(srv):
    with pytest.raises(fl.FlightError):
        read(srv, roots=CERTIFICATE.parent / "expired.pem")
    assert read(srv) == [1, 2, 3]


def test_a_certificate_that_is_over_is_refused_by_clients():
    with tf.serve({"t": tf.table({"a": [1]})}, tls=(EXPIRED, KEY)) as srv:
        with pytest.raises(fl.FlightError):
            read(srv)
        with pytest.raises(tf.errors.TransportError, match=r"(?i)expired"):
            tf.connect(srv.url, tls=AUTHORITY, graph=tf.Graph())


def test_words_in_the_clear_get_no_answer_and_delay_nobody(srv):
    silent = [socket.create_connection(("127.0.0.1", port_of(srv))) for _ in range(100)]
    plain = socket.create_connection(("127.0.0.1", port_of(srv)))
    plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 100)
    plain.settimeout(10)
    assert b"HTTP" not in plain.recv(1 << 16)
    begin = time.monotonic()
    assert read(srv) == [1, 2, 3]
    assert time.monotonic() - begin < 4
    for each in [*silent, plain]:
        each.close()


def test_versions_that_are_broken_are_not_spoken(srv):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", port_of(srv))) as plain, pytest.raises((ssl.SSLError, OSError)):
        context.wrap_socket(plain, server_hostname="localhost")


@pytest.mark.parametrize(
    ("tls", "words"),
    [
        ((KEY, KEY), "there is no certificate"),
        ((CERTIFICATE, CERTIFICATE), "there is no private key"),
        ((CERTIFICATE, OTHER_KEY), "certificate and key"),
        ((b"", b""), "there is no certificate"),
    ],
)
def test_what_does_not_belong_together_is_refused_at_once(tls, words):
    before = threading.active_count()
    with pytest.raises(ValueError, match=words):
        tf.serve({}, tls=tls)
    assert threading.active_count() == before


def test_other_mistakes_are_named():
    with pytest.raises(tf.errors.TypeMismatchError, match=r"a pair \(certificate, key\)"):
        tf.serve({}, tls=CERTIFICATE)
    with pytest.raises(tf.errors.TypeMismatchError, match="the key of tls is a path or bytes"):
        tf.serve({}, tls=(CERTIFICATE, 5))
    with pytest.raises(FileNotFoundError, match=r"nothing\.pem"):
        tf.serve({}, tls=(CERTIFICATE, "nothing.pem"))


def test_another_address_wants_encryption_and_a_token():
    with pytest.raises(tf.errors.InvalidOperationError, match=r"wants tls=\(certificate, key\)"):
        tf.serve({}, host="0.0.0.0")
    with pytest.raises(tf.errors.InvalidOperationError, match="token=False is for this machine's own address"):
        tf.serve({}, host="0.0.0.0", token=False, tls=(CERTIFICATE, KEY))
