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
import types
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from tickframe import _native
from tickframe.dtypes import DataTypeLike
from tickframe.dtypes import dtype as as_dtype
from tickframe.expr import Expr, IntoExpr, into_expr
from tickframe.udf.adapters import BODIES, by_row
from tickframe.udf.infer import RESULTS, hints_of, is_series, once, takes_none, without_none
from tickframe.udf.pool import by_pool, importable

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickframe.udf.adapters import Body
    from tickframe.udf.pool import Pool

__all__ = ["Udf", "udf"]

On: TypeAlias = Literal["arrow", "numpy", "polars"]


class Udf:
    """A function of columns. Called with expressions, or names of columns, it gives an expression.

    >>> import tickframe as tf
    >>> @tf.udf
    ... def doubled(x: int) -> int:
    ...     return x * 2
    >>> isinstance(doubled, tf.Udf), tf.table({"x": [3, 1]}).select(y=doubled("x")).to_dict()
    (True, {'y': [6, 2]})
    """

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
            hints = hints_of(fn)
            returns = hints.get("return") if returns is None else returns
            if returns is None:
                raise TypeError(f"udf: {self._name} does not say what it returns: give returns= or a type hint")
            optional = takes_none(fn, hints)
            if executor is None:
                body = functools.partial(by_row, fn, self._name, optional)
            else:
                body = functools.partial(by_pool, *importable(fn, self._name), executor, optional)
        else:
            body = functools.partial(BODIES[on], fn, self._name)
        if keeps is not None:
            # What it was made for lives as long as the function is called.
            body.__dict__["keeps"] = keeps
        kind: Any
        if returns is not None:
            kind = as_dtype(without_none(returns))._spec
        else:
            kind = once(functools.partial(RESULTS[on], fn, self._name))
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
        made._name, made._native = native.name, native
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
    """A Python function as a function of columns, or a compiled one of another package.

    A compiled function is an object whose ``__tickframe_function__()`` gives a capsule with a C structure, which
    ``tickframe/include/tickframe_function.h`` describes. It is called with Arrow arrays, on several threads and without the GIL.

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
        DataError: a compiled function of another version, or a capsule that is none.
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


def _known_udf(value: object) -> Udf | None:
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

    Ufuncs and numba's ``@vectorize`` and ``@njit``, functions of `pyarrow.compute`, compiled functions, functions with hints:
    of a polars Series, or of one row.
    """
    if isinstance(value, Udf):
        return value
    kind = type(value).__name__
    made: Udf | None = None
    if kind in {"ufunc", "DUFunc", "CPUDispatcher"}:
        made = _known_udf(value)
        if made is None:
            called: Any = _vectorised(value) if kind == "CPUDispatcher" else value
            made = _remember(value, Udf(called, None, "numpy", scalar=False, stateful=False, keeps=value))
    elif hasattr(type(value), "__tickframe_function__"):
        made = _known_udf(value)
        if made is None:
            native = _native.Udf.compiled(value)
            made = _remember(value, Udf._of(value, native))
    elif isinstance(value, types.FunctionType):
        made = _known_udf(value)
        if made is None:
            made = _function(value)
            if made is not None:
                _remember(value, made)
    return made


def _function(value: types.FunctionType) -> Udf | None:
    if hasattr(value, "__arrow_compute_function__"):
        return Udf(value, None, "arrow", scalar=False, stateful=False)
    hints = hints_of(value)
    written = {**value.__annotations__, **hints}
    if any(is_series(hint) for name, hint in written.items() if name != "return"):
        return Udf(value, None, "polars", scalar=False, stateful=None)
    return None if hints.get("return") is None else Udf(value, None, "arrow", scalar=True, stateful=None)


def _vectorised(function: Any) -> Any:
    """A function that numba compiled for one row, compiled for a chunk."""
    import numba

    compiled: Any = numba.vectorize(function.py_func)
    compiled.__name__ = function.__name__
    return compiled
