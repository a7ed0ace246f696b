"""User functions in expressions: ``@tf.udf``.

A vectorised function is called once a chunk, with pyarrow or NumPy arrays, a scalar one once a row in a loop under
one hold of the GIL. Both stand anywhere in an expression, and by their name in a formula.

>>> import tickframe as tf
>>> @tf.udf(returns=tf.Float64, on="numpy", stateful=False)
... def half(x):
...     return x / 2
>>> def shout(word: str) -> str:
...     return word.upper() + "!"
>>> t = tf.table({"x": [1, 2, None], "s": ["a", None, "c"]})
>>> t.select(half("x").alias("h"), tf.formula("S = shout(s)")).to_dict()
{'h': [0.5, 1.0, None], 'S': ['A!', None, 'C!']}
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from tickframe import _native
from tickframe.dtypes import DataTypeLike, from_spec
from tickframe.dtypes import dtype as as_dtype
from tickframe.errors import UdfError
from tickframe.expr import Expr, IntoExpr, into_expr

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

__all__ = ["Udf", "udf"]

Specs: TypeAlias = "list[tuple[Any, ...]]"
Pool: TypeAlias = "Literal['processes'] | Executor | None"
On: TypeAlias = Literal["arrow", "numpy", "polars"]
Body: TypeAlias = "Callable[[list[_native.Column], int], tuple[Any, Any]]"


class Udf:
    """A function of columns. Called with expressions, or names of columns, it gives an expression."""

    def __init__(
        self,
        fn: Callable[..., Any],
        returns: DataTypeLike | None,
        on: On,
        *,
        scalar: bool,
        stateful: bool | None,
        executor: Pool = None,
        keeps: object = None,
    ) -> None:
        if on not in {"arrow", "numpy", "polars"}:
            raise ValueError(f'udf: on must be "arrow", "numpy" or "polars", not {on!r}')
        if executor is not None and (not scalar or stateful is not False):
            raise ValueError("udf: an executor is for functions that are scalar=True and stateful=False")
        self._wrap(fn)
        body: Body
        if scalar:
            hints = _hints(fn)
            returns = hints.get("return") if returns is None else returns
            if returns is None:
                raise TypeError(f"udf: {self._name} does not say what it returns: give returns= or a type hint")
            takes_none = _takes_none(fn, hints)
            if executor is None:
                body = functools.partial(_scalar, fn, self._name, takes_none)
            else:
                body = functools.partial(_pooled, *_importable(fn, self._name), executor, takes_none)
        else:
            body = functools.partial(_BODIES[on], fn, self._name)
        if keeps is not None:
            # What it was made for lives as long as the function is called.
            body.__dict__["keeps"] = keeps
        kind: Any
        if returns is not None:
            kind = as_dtype(_unwrapped(returns))._spec
        else:
            kind = _once(functools.partial(_ASKED[on], fn, self._name))
        self._native = _native.Udf(self._name, body, kind, stateful, scalar)

    def _wrap(self, fn: Any) -> None:
        functools.update_wrapper(self, fn)
        name: object = getattr(fn, "__name__", None)
        self._name = name if isinstance(name, str) else type(fn).__name__

    @classmethod
    def _of(cls, fn: object, native: _native.Udf) -> Udf:
        """Around what is registered already."""
        made = cls.__new__(cls)
        made._wrap(fn)
        made._native = native
        return made

    def __call__(self, *columns: IntoExpr) -> Expr:
        """The expression of its value for these columns; a bare string is a column."""
        if not columns:
            raise TypeError(
                f"{self._name} needs a column at least: the rows it is called for are those of its arguments"
            )
        return Expr(self._native.expr([into_expr(column, "call of a function")._native for column in columns]))

    def __repr__(self) -> str:
        return f"<udf {self._name}>"


@overload
def udf(fn: Callable[..., Any], /) -> Udf: ...
@overload
def udf(
    *,
    returns: DataTypeLike | None = None,
    on: On = "arrow",
    scalar: bool = False,
    stateful: bool | None = None,
    executor: Pool = None,
) -> Callable[[Callable[..., Any]], Udf]: ...
def udf(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    returns: DataTypeLike | None = None,
    on: On = "arrow",
    scalar: bool = False,
    stateful: bool | None = None,
    executor: Pool = None,
) -> Udf | Callable[[Callable[..., Any]], Udf]:
    """A Python function as a function of columns.

    Args:
        fn: the function; without it, `udf` is a decorator with arguments.
        returns: the type of its result. A scalar function may say it by a type hint; a vectorised one that does not is
            called once with no rows, to see.
        on: what a vectorised function gets: pyarrow arrays, NumPy arrays or polars Series, one call a chunk. They are
            the engine's own memory, to be read only. NumPy arrays hold NaN (or, for other than floats, anything) where a row is
            null, and such a row is null in the result.
        scalar: called once a row; a null argument skips the call and gives null unless its hint is Optional.
        stateful: whether it keeps state or depends on the order of rows. Then its chunks come one after the
            other, in order, and it is called for each place where it stands; else in any order, on any thread. Left
            open, the settings ``stateless_select`` and ``stateless_filters`` decide; by default it is.
        executor: for a slow function of rows: ``"processes"``, or a `concurrent.futures.Executor`, over whose workers
            the rows of a chunk are spread. The function must be importable, as for `multiprocessing`.

    Raises:
        TypeError: a function whose result's type is not known.
        ValueError: an executor for a function that is not scalar, or keeps state.
    """
    if fn is not None:
        return recognised(fn) or Udf(fn, returns, on, scalar=scalar, stateful=stateful)
    return lambda given: Udf(given, returns, on, scalar=scalar, stateful=stateful, executor=executor)


# Numbers of what functions were recognised as, by their identity: one that an expression or a table still holds is the
# same function of columns when it is met again, and keeps its function, so the identity is no other's. What nothing
# holds is freed with all that it captured.
_known: dict[int, int] = {}
_SWEEP = 64
_sweep_at = _SWEEP


def _again(value: object) -> Udf | None:
    number = _known.get(id(value))
    native = None if number is None else _native.Udf.known(number)
    return None if native is None else Udf._of(value, native)


def _remember(value: object, made: Udf) -> Udf:
    global _sweep_at  # noqa: PLW0603 - of the one registry
    if len(_known) >= _sweep_at:
        for key, number in list(_known.items()):
            if _native.Udf.known(number) is None:
                _known.pop(key, None)
        _sweep_at = max(_SWEEP, 2 * len(_known))
    _known[id(value)] = made._native.number
    return made


def recognised(value: object) -> Udf | None:
    """What a variable of the caller is as a function of columns, if it is one.

    Ufuncs and numba's ``@vectorize`` and ``@njit``, functions of `pyarrow.compute`, functions with hints: of a polars
    Series, or of one row.
    """
    if isinstance(value, Udf):
        return value
    kind = type(value).__name__
    made: Udf | None = None
    if kind in {"ufunc", "DUFunc", "CPUDispatcher"}:
        made = _again(value)
        if made is None:
            called: Any = _vectorised(value) if kind == "CPUDispatcher" else value
            made = _remember(value, Udf(called, None, "numpy", scalar=False, stateful=False, keeps=value))
    elif isinstance(value, types.FunctionType):
        made = _again(value)
        if made is None:
            made = _function(value)
            if made is not None:
                _remember(value, made)
    return made


def _function(value: types.FunctionType) -> Udf | None:
    if hasattr(value, "__arrow_compute_function__"):
        return Udf(value, None, "arrow", scalar=False, stateful=False)
    hints = _hints(value)
    written = {**value.__annotations__, **hints}
    if any(_is_series(hint) for name, hint in written.items() if name != "return"):
        return Udf(value, None, "polars", scalar=False, stateful=None)
    return None if hints.get("return") is None else Udf(value, None, "arrow", scalar=True, stateful=None)


def _is_series(hint: object) -> bool:
    # A hint that is only a text names what a function's own scope imported.
    if isinstance(hint, str):
        return hint in {"pl.Series", "polars.Series"}
    return getattr(hint, "__name__", "") == "Series" and getattr(hint, "__module__", "").startswith("polars")


def _vectorised(function: Any) -> Any:
    """A function that numba compiled for one row, compiled for a chunk."""
    import numba

    compiled: Any = numba.vectorize(function.py_func)
    compiled.__name__ = function.__name__
    return compiled


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(fn)
    except (NameError, TypeError):
        return {}


def _is_optional(hint: object) -> bool:
    return type(None) in typing.get_args(hint)


def _unwrapped(hint: Any) -> Any:
    """The type of ``T | None``."""
    rest = [part for part in typing.get_args(hint) if part is not type(None)]
    return rest[0] if _is_optional(hint) and len(rest) == 1 else hint


def _takes_none(fn: Callable[..., Any], hints: dict[str, Any]) -> list[bool]:
    try:
        names = list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return []
    return [_is_optional(hints.get(name)) for name in names]


def _failed(name: str, args: str, why: Exception, row: int | None = None) -> UdfError:
    error = UdfError(f"{name}({args}) raised {type(why).__name__}: {why}", row=row)
    error.__cause__ = why
    return error


def _shown(values: tuple[object, ...]) -> str:
    longest = 60
    texts = (repr(value) for value in values)
    return ", ".join(text if len(text) <= longest else text[:longest] + "…" for text in texts)


def _scalar(
    fn: Callable[..., Any], name: str, takes_none: list[bool], columns: list[_native.Column], rows: int
) -> tuple[Any, None]:
    """A loop over the rows."""
    del rows
    lists = [column.to_list("truncate") for column in columns]
    skipping = [cells for cells, takes in zip(lists, [*takes_none, *[False] * len(lists)], strict=False) if not takes]
    made: list[Any] = []
    try:
        # What was made stays in the list when a call raises: its length is the row.
        if not any(None in cells for cells in skipping):
            made.extend(map(fn, *lists))
        else:
            rows_checked = zip(zip(*lists, strict=True), zip(*skipping, strict=True), strict=True)
            made.extend(None if None in checked else fn(*row) for row, checked in rows_checked)
    except Exception as why:
        at = len(made)
        raise _failed(name, _shown(tuple(cells[at] for cells in lists)), why, at) from why
    return made, None


def _importable(fn: Callable[..., Any], name: str) -> tuple[str, str]:
    """Where a worker finds the function."""
    module, path = getattr(fn, "__module__", None), getattr(fn, "__qualname__", "<")
    if module is None or "<" in path:
        raise TypeError(f"udf: {name} is for other processes and must be importable: define it at the top of a module")
    return module, path


_PIECES = 8
"""Pieces of a chunk for each worker: a slow piece does not keep all others waiting."""


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


def _pooled(
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
            raise _failed(path, _shown(tuple(cells[at] for cells in lists)), why, at) from why
        made.extend(values)
    return made, None


def _piece(
    module: str, path: str, takes_none: list[bool], lists: list[list[Any]]
) -> tuple[list[Any], Exception | None]:
    """In a worker: the values up to the first call that raises, and what it raised."""
    import importlib

    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    fn = getattr(found, "__wrapped__", found) if isinstance(found, Udf) else found
    takes = [*takes_none, *[False] * len(lists)][: len(lists)]
    made: list[Any] = []
    try:
        for row in zip(*lists, strict=True):
            skipped = any(cell is None and not taken for cell, taken in zip(row, takes, strict=True))
            made.append(None if skipped else fn(*row))
    except Exception as why:  # noqa: BLE001 (told where the row is known)
        return made, why
    return made, None


def _arrow(fn: Callable[..., Any], name: str, columns: list[_native.Column], rows: int) -> tuple[Any, None]:
    """pyarrow arrays in, anything that is a column out."""
    import pyarrow as pa

    from tickframe.table import Column

    arrays = [pa.array(Column(column)) for column in columns]
    try:
        return fn(*arrays), None
    except Exception as why:
        raise _failed(name, f"{rows} rows", why) from why


def _polars(fn: Callable[..., Any], name: str, columns: list[_native.Column], rows: int) -> tuple[Any, None]:
    """polars Series in, anything that is a column out."""
    import polars as pl

    from tickframe.table import Column

    series = [pl.Series(getattr(column, "name", ""), Column(column)) for column in columns]
    try:
        return fn(*series), None
    except Exception as why:
        raise _failed(name, f"{rows} rows", why) from why


def _numpy(fn: Callable[..., Any], name: str, columns: list[_native.Column], rows: int) -> tuple[Any, Any]:
    """NumPy arrays in and out; a row that is null in an argument is null in the result."""
    import numpy as np

    missing: Any = None
    arrays = []
    for column in columns:
        array, nulls = _array(column, np)
        if nulls is not None:
            missing = nulls if missing is None else missing | nulls
        arrays.append(array)
    try:
        given = fn(*arrays)
        return None if given is None else np.asarray(given), missing
    except Exception as why:
        raise _failed(name, f"{rows} rows", why) from why


def _array(column: _native.Column, np: Any) -> tuple[Any, Any]:
    """The cells as an array, and which are null."""
    code = column.code or "object"
    missing = column.missing()
    nulls = None if missing is None else np.frombuffer(missing, dtype=bool)
    if code == "bool":
        return np.frombuffer(column.flags(), dtype=bool), nulls
    filled = nulls is not None and code.startswith("float")
    raw: Any = None if code == "object" else column.raw() if filled else column.memory()
    if raw is None:
        return np.array(column.to_list("truncate"), dtype=object), nulls
    array = np.frombuffer(raw, dtype=code)
    if filled:
        array[nulls] = float("nan")
    return array, nulls


def _once(ask: Callable[[Specs], tuple[object, ...]]) -> Callable[[Specs], tuple[object, ...]]:
    """Asked once for each list of types."""
    known: dict[str, tuple[object, ...]] = {}

    def answer(specs: Specs) -> tuple[object, ...]:
        key = repr(specs)
        if key not in known:
            known[key] = ask(specs)
        return known[key]

    return answer


def _empty(spec: tuple[Any, ...]) -> _native.Column:
    """A column of this type without rows."""
    from tickframe.table import table

    return table({"a": []}, schema={"a": from_spec(spec)})._native.column("a")


def _asked(fn: Callable[..., Any], name: str, specs: Specs) -> tuple[object, ...]:
    """The type that a NumPy function gives for these types, told by a call with no rows."""
    import numpy as np

    result = np.asarray(fn(*(np.empty(0, dtype=_empty(spec).code or "object") for spec in specs)))
    kind = np.datetime_data(result.dtype)[0] if result.dtype.kind in "Mm" else None
    if result.dtype.kind == "M":
        return ("timestamp", kind, None)
    if result.dtype.kind == "m":
        return ("duration", kind)
    if result.dtype.kind not in "iufb":
        raise TypeError(f"{name} gives {result.dtype}: say what it returns with returns=")
    return ("bool",) if result.dtype.kind == "b" else (result.dtype.name,)


def _asked_arrow(fn: Callable[..., Any], name: str, specs: Specs) -> tuple[object, ...]:
    """The type that a function of pyarrow arrays gives, told by a call with no rows."""
    import pyarrow as pa

    from tickframe.table import Column

    result = fn(*(pa.array(Column(_empty(spec))) for spec in specs))
    return _spec_of(result, name)


def _asked_polars(fn: Callable[..., Any], name: str, specs: Specs) -> tuple[object, ...]:
    """The type that a function of polars Series gives, told by a call with no rows."""
    import polars as pl

    from tickframe.table import Column

    result = fn(*(pl.Series("", Column(_empty(spec))) for spec in specs))
    return _spec_of(result, name)


def _spec_of(result: Any, name: str) -> tuple[object, ...]:
    from tickframe.table import table

    if not hasattr(result, "__arrow_c_array__") and not hasattr(result, "__arrow_c_stream__"):
        raise TypeError(f"{name} gives {type(result).__name__}, no column: say what it returns with returns=")
    return table({"result": result}).schema["result"]._spec


_BODIES: dict[str, Any] = {"arrow": _arrow, "numpy": _numpy, "polars": _polars}
_ASKED: dict[str, Any] = {"arrow": _asked_arrow, "numpy": _asked, "polars": _asked_polars}
