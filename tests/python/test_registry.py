"""Every public operation and source is registered, so that a law is made for it or a reason given."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import tickframe as tf

TESTS = Path(__file__).parents[1]


def listed() -> set[str]:
    """Python's names in the registry; a spec that has no line goes by one name everywhere."""
    lines = (TESTS / "registry.txt").read_text(encoding="utf-8").splitlines()
    columns = [line.split("|") for line in lines if line.strip() and line[0] != "#"]
    specs = re.findall(r'OpSpec \{\s*name: "(\w+)"', (TESTS / "registry" / "mod.rs").read_text(encoding="utf-8"))
    of_one_name = set(specs) - {column[0].strip() for column in columns}
    return {name for column in columns for name in column[2].split()} | {f"Table.{name}" for name in of_one_name}


def gives_a_table(function: object) -> bool:
    """Whether its result is a table, or what tables are made of."""
    text = str(inspect.signature(function).return_annotation)  # type: ignore[arg-type]
    return text in {
        "Table",
        "GroupBy",
        "RollingGroups",
        "TimeGroups",
        "AppendTable",
        "BlinkTable",
        "InputTable",
        "KeyedTable",
    }


def public() -> set[str]:
    """What a user can call to get a table."""
    found = set()
    for kind in (tf.Table, tf.GroupBy, tf.RollingGroups, tf.TimeGroups):
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
