"""What tests by Deephaven's Python clients have in common."""

import contextlib
import gc

import pydeephaven as dh
import pytest
from pydeephaven.dherror import DHError

import deephaven_calls

__all__ = ["PSK", "collected_between_calls", "column", "connect", "deephaven_calls", "port_of", "refused", "rows"]

PSK = "io.deephaven.authentication.psk.PskAuthenticationHandler"


def port_of(srv):
    return int(srv.url.rsplit(":", 1)[1])


def connect(srv):
    return dh.Session(host="127.0.0.1", port=port_of(srv), auth_type=PSK, auth_token=srv.token)


@pytest.fixture(autouse=True)
def collected_between_calls():
    """That client gives a table back as it is collected: within a call of its own it would wait for itself for ever."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.collect()


@contextlib.contextmanager
def refused(words):
    """The client wraps what the server says: it is in the causes."""
    with pytest.raises(DHError) as caught:
        yield
    said, error = [], caught.value
    while error is not None:
        said.append(str(error))
        error = error.__cause__ or error.__context__
    assert words in "\n".join(said)


def rows(table):
    return table.to_arrow().to_pylist()


def column(table, name):
    return table.to_arrow()[name].to_pylist()
