"""What browsers speak: calls with their trailers in the body, over HTTP/1.1, from pages that were named."""

import http.client
import struct

import pyarrow as pa
import pytest

import tickframe as tf

PAGE = "http://pages.example:3000"
CONSTANTS = "/io.deephaven.proto.backplane.grpc.ConfigService/GetConfigurationConstants"
GET = "/arrow.flight.protocol.FlightService/DoGet"


@pytest.fixture(scope="module")
def srv():
    with tf.serve({"t": tf.table({"a": [1, 2, 3]})}, origins=[PAGE]) as server:
        yield server


def asked(srv, path, body=b"", method="POST", **headers):
    """Status, headers, messages and trailers of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", int(srv.url.rsplit(":", 1)[1]), timeout=20)
    given = {"content-type": "application/grpc-web+proto", "x-grpc-web": "1", "authorization": f"Bearer {srv.token}"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, b"\0" + struct.pack(">I", len(body)) + body if method == "POST" else None, given)
    answer = connection.getresponse()
    rest, messages, trailers = answer.read(), [], None
    while rest:
        flag, length = struct.unpack(">BI", rest[:5])
        part, rest = rest[5 : 5 + length], rest[5 + length :]
        if flag == 0x80:
            lines = part.decode().strip().split("\r\n")
            trailers = dict(line.split(": ", 1) for line in lines)
        else:
            assert (flag, trailers) == (0, None)
            messages.append(part)
    connection.close()
    return answer.status, dict(answer.getheaders()), messages, trailers


def test_a_call_is_answered_with_its_trailers_in_the_body(srv):
    status, headers, messages, trailers = asked(srv, CONSTANTS)
    assert (status, headers["content-type"], trailers["grpc-status"]) == (200, "application/grpc-web+proto", "0")
    assert len(messages) == 1
    assert b"http.session.durationMs" in messages[0]
    status, _, messages, trailers = asked(srv, GET, b"\x0a\x03s/t")
    assert (status, trailers["grpc-status"]) == (200, "0")
    assert len(messages) == 2
    assert struct.pack("<3q", 1, 2, 3) in messages[1]


def test_errors_are_told_in_the_headers(srv):
    status, headers, messages, trailers = asked(srv, GET, b"\x0a\x09s/nothing")
    assert (status, messages, trailers, headers["grpc-status"]) == (200, [], None, "5")
    assert "nothing" in headers["grpc-message"]
    assert asked(srv, CONSTANTS, authorization="Bearer wrong")[1]["grpc-status"] == "16"
    assert asked(srv, "/nothing/at-all")[1]["grpc-status"] == "12"


def test_a_page_that_nobody_named_may_not_call(srv):
    for page in ["http://other.example", "null", PAGE + "0", PAGE.upper(), "http://pages.example", "*"]:
        assert asked(srv, CONSTANTS, origin=page)[0] == 403
        assert asked(srv, CONSTANTS, method="OPTIONS", origin=page)[0] == 403
    status, headers, messages, _ = asked(srv, CONSTANTS, origin=PAGE)
    assert (status, headers["access-control-allow-origin"], len(messages)) == (200, PAGE, 1)
    # It is named, and needs the word all the same.
    assert asked(srv, CONSTANTS, origin=PAGE, authorization="Bearer wrong")[1]["grpc-status"] == "16"


def test_a_page_comes_in_with_a_code_once_and_goes_on_with_its_session(srv):
    code = srv.code()
    status, headers, messages, _ = asked(srv, CONSTANTS, origin=PAGE, authorization=f"Bearer {code}")
    assert (status, len(messages)) == (200, 1)
    assert "authorization" in headers["access-control-expose-headers"]
    session = headers["authorization"]
    assert session.startswith("Bearer ")
    assert srv.token not in session
    assert asked(srv, GET, b"\x0a\x03s/t", origin=PAGE, authorization=session)[3]["grpc-status"] == "0"
    again = asked(srv, CONSTANTS, origin=PAGE, authorization=f"Bearer {code}")[1]
    assert again["grpc-status"] == "16"
    assert again["grpc-message"].startswith("this%20code%20lets%20nobody%20in")
    assert "authorization" not in again


def test_a_browser_that_asks_first_is_told(srv):
    status, headers, _, _ = asked(srv, CONSTANTS, method="OPTIONS", origin=PAGE, authorization="")
    assert (status, headers["access-control-allow-methods"]) == (204, "POST")
    assert "authorization" in headers["access-control-allow-headers"]
    assert asked(srv, CONSTANTS, method="OPTIONS")[0] == 405


def test_what_is_no_call_is_none(srv):
    for kind in [
        "application/grpc",
        "application/grpc+proto",
        "application/grpc-web-text",
        "text/html",
        "application/json",
    ]:
        assert asked(srv, CONSTANTS, content_type=kind)[0] == 415


def test_another_table_of_pages_is_judged_at_once():
    for wrong in ["pages.example", "http://a/b", "ftp://a", "http://", "*"]:
        with pytest.raises(tf.errors.InvalidOperationError, match="is no page"):
            tf.serve(origins=[wrong])
    for wrong in ["http://a", 5, {"http://a"}]:
        with pytest.raises(tf.errors.TypeMismatchError, match="origins is a list"):
            tf.serve(origins=wrong)
    with pytest.raises(tf.errors.TypeMismatchError, match="origins holds int"):
        tf.serve(origins=[5])


def test_nobody_of_a_browser_may_call_unless_it_was_said():
    with tf.serve({"t": tf.table(pa.table({"a": [1]}))}) as srv:
        assert asked(srv, CONSTANTS)[0] == 200
        assert asked(srv, CONSTANTS, origin=srv.url.replace("grpc", "http"))[0] == 403
