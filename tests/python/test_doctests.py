"""The examples in the docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import tickframe as tf

MODULES = [
    module.name
    for module in pkgutil.walk_packages(tf.__path__, "tickframe.")
    if not module.name.startswith(("tickframe._native", "tickframe.spark"))
]


@pytest.mark.parametrize("name", ["tickframe", *MODULES])
def test_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_the_stubs_name_what_the_module_has():
    import ast
    from pathlib import Path

    from tickframe import _native

    stub = ast.parse(Path(tf.__file__).with_name("_native.pyi").read_text(encoding="utf-8"))
    hidden = {"ArrowSchema", "Scope", "Transaction", "Frozen"}
    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            assert hasattr(_native, node.name), node.name
        if isinstance(node, ast.ClassDef) and node.name not in hidden:
            held = getattr(_native, node.name)
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    assert hasattr(held, method.name), f"{node.name}.{method.name}"
