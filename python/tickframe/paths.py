"""Paths, names and words that callers give of files."""

from __future__ import annotations

import os
from typing import Any

from tickframe.arguments import choice, encodable
from tickframe.describe import named, short

__all__: list[str] = []

_LONGEST_PATH = 4096


def path_of(operation: str, given: str | os.PathLike[Any]) -> str:
    """A path as text."""
    path = os.fspath(given)
    if not isinstance(path, str):
        path = os.fsdecode(path)
    encodable(path, operation)
    if not path:
        raise ValueError(f"{operation}: an empty text is no path")
    if len(path) > _LONGEST_PATH:
        raise ValueError(f"{operation}: a path of {len(path):,} characters is longer than any file has: {short(path)}")
    return path


def one_of(operation: str, parameter: str, given: object, options: tuple[str, ...]) -> None:
    """Refuse what is none of some words."""
    choice(given, operation, parameter, options)
    if given not in options:
        raise ValueError(
            f"{operation}: {parameter} is {', '.join(map(repr, options[:-1]))} or {options[-1]!r}, not {short(given)}"
        )


def texts(operation: str, parameter: str, given: object) -> list[str]:
    """One name or several."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{operation}: {parameter} is a list of texts, not {named(given)}")
    for one in given:
        if not isinstance(one, str):
            raise TypeError(f"{operation}: {parameter} is a list of texts, and {named(one)} is in it")
        encodable(one, operation)
    return list(given)
