"""A function of rows spread over the workers of a pool: pieces of a chunk, each in a loop of one worker."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tickframe import _native
from tickframe.udf.adapters import failed, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

Pool: TypeAlias = "Literal['processes'] | Executor | None"

_PIECES = 8
"""Pieces of a chunk for each worker: a slow piece does not keep all others waiting."""


def importable(fn: Callable[..., Any], name: str) -> tuple[str, str]:
    """Where a worker finds the function."""
    module, path = getattr(fn, "__module__", None), getattr(fn, "__qualname__", "<")
    if module is None or "<" in path:
        raise TypeError(f"udf: {name} is for other processes and must be importable: define it at the top of a module")
    return module, path


@functools.cache
def _processes() -> tuple[Executor, int]:
    import atexit
    import multiprocessing
    import os
    from concurrent.futures import ProcessPoolExecutor

    workers = os.cpu_count() or 1
    # A fork of a process with threads may hang, and an engine does not outlive it.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    atexit.register(pool.shutdown, cancel_futures=True)
    return pool, workers


def by_pool(
    module: str,
    path: str,
    executor: Literal["processes"] | Executor,
    takes_none: list[bool],
    columns: list[_native.Column],
    rows: int,
) -> tuple[Any, None]:
    """Pieces of the rows, each in a loop of a worker."""
    pool, workers = _processes() if executor == "processes" else (executor, getattr(executor, "_max_workers", 2))
    lists = [column.to_list("truncate") for column in columns]
    piece = max(1, -(-rows // (workers * _PIECES)))
    starts = range(0, rows, piece)
    waiting = [
        pool.submit(_piece, module, path, takes_none, [cells[start : start + piece] for cells in lists])
        for start in starts
    ]
    made: list[Any] = []
    for start, task in zip(starts, waiting, strict=True):
        values, why = task.result()
        if why is not None:
            at = start + len(values)
            raise failed(path, shown(tuple(cells[at] for cells in lists)), why, at) from why
        made.extend(values)
    return made, None


def _piece(
    module: str, path: str, takes_none: list[bool], lists: list[list[Any]]
) -> tuple[list[Any], Exception | None]:
    """In a worker: the values up to the first call that raises, and what it raised."""
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    is_udf = isinstance(getattr(found, "_native", None), _native.Udf)
    fn = getattr(found, "__wrapped__", found) if is_udf else found
    takes = [*takes_none, *[False] * len(lists)][: len(lists)]
    made: list[Any] = []
    try:
        for row in zip(*lists, strict=True):
            skipped = any(cell is None and not taken for cell, taken in zip(row, takes, strict=True))
            made.append(None if skipped else fn(*row))
    except Exception as why:  # noqa: BLE001 (told where the row is known)
        return made, why
    return made, None
