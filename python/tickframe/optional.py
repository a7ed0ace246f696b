"""Packages that only some methods need, imported when one of them is called."""

from __future__ import annotations

import importlib
from typing import Any

__all__: list[str] = []


def optional(package: str, what: str, extra: str) -> Any:
    """A package that is wanted by one method only."""
    try:
        return importlib.import_module(package)
    except ImportError as why:
        raise ImportError(f"{what} needs {package}: pip install 'tickframe[{extra}]'") from why


def spark() -> Any:
    """The Spark half, which stands above tables and is found by its name, as any other package that one method needs."""
    return importlib.import_module("tickframe.spark")


def is_of_spark(data: object) -> bool:
    """Whether it is PySpark's."""
    return type(data).__module__.startswith("pyspark.")
