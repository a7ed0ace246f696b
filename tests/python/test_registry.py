"""Every public operation and source stands in tests/registry.txt, so that a law is made for it or a reason given."""

from __future__ import annotations

import inspect
from pathlib import Path

import tickframe as tf

REGISTRY = Path(__file__).parents[1] / "registry.txt"


def listed() -> set[str]:
    """Python's names in the registry."""
    lines = [line for line in REGISTRY.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"]
    return {name for line in lines for name in line.split("|")[2].split()}


def gives_a_table(function: object) -> bool:
    """Whether its result is a table, or what tables are made of."""
    text = str(inspect.signature(function).return_annotation)  # type: ignore[arg-type]
    return text in {"Table", "GroupBy", "AppendTable", "BlinkTable", "InputTable", "KeyedTable"}


def public() -> set[str]:
    """What a user can call to get a table."""
    found = set()
    for kind in (tf.Table, tf.GroupBy):
        for name in dir(kind):
            member = inspect.getattr_static(kind, name)
            function = member.fget if isinstance(member, property) else member
            if not name.startswith("_") and inspect.isfunction(function) and gives_a_table(function):
                found.add(f"{kind.__name__}.{name}")
    for name in tf.__all__:
        function = getattr(tf, name)
        if inspect.isfunction(function) and gives_a_table(function):
            found.add(name)
    return found


def test_every_public_operation_is_registered():
    assert public() - listed() == set()


def test_what_is_registered_is_there():
    assert listed() - public() == set()
