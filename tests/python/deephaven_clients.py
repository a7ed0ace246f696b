"""What tests by Deephaven's Python clients have in common."""

import gc

import pydeephaven as dh
import pytest

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
