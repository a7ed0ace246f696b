"""The gate for what is no expression of ours: it takes the object as a value, or names it and the way to go.

Every argument that stands for an expression comes through here, so that polars' expressions, functions, Series, frames,
half-finished choices and the like are told by name instead of becoming a value that nobody meant.
"""

from __future__ import annotations

import datetime as _dt
import types
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tickframe.describe import named, short
from tickframe.errors import TypeMismatchError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["array_like", "mask_of", "of_rows", "operand"]

_PLAIN = frozenset({type(None), bool, int, float, str, bytes, _dt.datetime, _dt.date, _dt.time, _dt.timedelta})


def array_like(value: object) -> bool:
    """Whether it is a Series, an array, a column: values in order, of one type."""
    # An expression is asked first: it answers every name that it has not with an error.
    if getattr(type(value), "_is_expression", False) or isinstance(value, (str, bytes, Mapping, type)):
        return False
    shaped = getattr(value, "shape", None)
    if isinstance(shaped, tuple):
        return len(shaped) == 1
    return hasattr(value, "__arrow_c_array__") or (hasattr(value, "to_pylist") and hasattr(value, "type"))


def _is_frame(value: object) -> bool:
    frames = {"DataFrame", "LazyFrame", "Table", "RecordBatch", "GroupBy", "GroupedData", "DataFrameGroupBy"}
    return type(value).__name__ in frames or (hasattr(value, "__arrow_c_stream__") and not array_like(value))


def operand(value: object, where: str, *, methods: type) -> object:
    """The value as it stands in an expression.

    Args:
        value: what was given.
        where: the method or operator, for the message.
        methods: the class of expressions: a dict with the name of one of its methods meant that.

    Raises:
        TypeError: what cannot be meant as one value; the message says what it is and what to write.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind.__name__ in {"NaTType", "NAType"}:
        return None
    what = named(value)
    if (
        not isinstance(value, type)
        and kind.__name__ in {"Expr", "Column"}
        and what.endswith(("expression", "Spark Column"))
    ):
        library = what.split()[1]
        raise TypeError(
            f"{where}: {what} is {library}'s to compute; write it with tf.col, tf.lit and tf.when, which have polars' methods"
        )
    if kind.__name__ == "When" and kind.__module__ in {"tickframe.when", "polars.expr.whenthen"}:
        raise TypeError(
            f"{where}: this when(...) has no value yet: end it with .then(value) and, if you like, .otherwise(value)"
        )
    if kind.__name__ == "Chosen" and kind.__module__ == "tickframe.chosen":
        raise TypeError(
            f"{where}: {short(value)} waits for an aggregate, such as .sum(), .first() or .len(); rows of a table are chosen by "
            "t.filter(...) and put in order by t.sort(...)"
        )
    if isinstance(value, Mapping):
        raise TypeError(f"{where}: {_of_mapping(value, where, methods)}")
    if isinstance(value, type):
        raise TypeError(f"{where}: {what} is no value; .cast({value.__name__}) makes values of a type")
    if isinstance(value, types.ModuleType):
        raise TypeError(f"{where}: {what} is no value")
    if _is_frame(value):
        raise TypeError(
            f"{where}: {what} is a table, not one value: joins take tables (natural_join, join_asof, where_in), and "
            "is_in takes one of one column"
        )
    if array_like(value):
        raise TypeError(f"{where}: {of_rows(what)}")
    if isinstance(value, Iterator):
        raise TypeError(f"{where}: {what} is read only once; give a list: list(...)")
    if callable(value):
        raise TypeError(
            f"{where}: {what} is no expression; make it one by tf.udf, and call it with columns: f(tf.col(...))"
        )
    if kind.__repr__ is object.__repr__:
        raise TypeMismatchError(
            f"{where}: {what} is no value of an expression; use int, float, str, bool, bytes, datetime, date, time, "
            "timedelta, Decimal or None, or give it a type of its own in a column: tf.Object"
        )
    return value


def _of_mapping(item: Mapping[Any, Any], where: str, methods: type) -> str:
    """Why a dict is no expression, and what to write instead."""
    name: object = None
    value: object = None
    if type(item) is dict:
        name, value = next(iter(item.items()), (None, None))
    column = f"tf.col({name!r})" if isinstance(name, str) and short(name) == repr(name) else 'tf.col("x")'
    if where in {"agg", "agg_by"}:
        known = isinstance(value, str) and value.isidentifier() and hasattr(methods, value)
        instead = f"{column}.{value if known else 'sum'}()"
    elif where in {"select", "with_columns", "update", "view", "update_view", "lazy_update"}:
        given = isinstance(value, str) and short(value) == repr(value)
        instead = f"{column}.alias({value!r})" if given else f'{column}.alias("name")'
    elif where in {"filter", "where"}:
        instead = f"{column} == {short(value)}"
    else:
        instead = f"the value alone, or {column}"
    return f"a dict is no expression; write {instead}, not {short(item)}"


def of_rows(what: str) -> str:
    """Why values in order are no expression."""
    return (
        f"{what} has values in order, and an expression is computed from the columns of each row: a static table takes an "
        "array or a Series as a column, t.with_columns(name=values); whether a value is one of them is col(...).is_in(values)"
    )


def mask_of(value: object) -> bytes | None:
    """The bytes of a mask: 1 for true, 0 for false and null; None for what is no mask.

    Args:
        value: a list or tuple of bools and None, or a Boolean array, Series or column.
    """
    cells: Any = value
    if isinstance(value, (list, tuple)):
        if (
            not value
            or not all(cell is None or _is_bool(cell) for cell in value)
            or all(cell is None for cell in value)
        ):
            return None
    elif not array_like(value) or not _is_boolean(value):
        return None
    elif type(value).__module__.startswith("numpy") and str(getattr(value, "dtype", "")) == "bool":
        filled: Callable[[bool], Any] | None = getattr(value, "filled", None)
        flat: Any = value if filled is None else filled(False)
        return bytes(flat.astype("uint8").tobytes())
    else:
        cells = _listed(value)
    return bytes(1 if _is_bool(cell) and bool(cell) else 0 for cell in cells)


def _is_bool(cell: object) -> bool:
    return isinstance(cell, bool) or (type(cell).__name__ in {"bool_", "bool"} and type(cell).__module__ == "numpy")


def _listed(value: Any) -> list[object]:
    """The engine's own, polars' and pandas', pyarrow's and NumPy's word for it."""
    name = next((name for name in ("to_list", "to_pylist", "tolist") if hasattr(value, name)), None)
    return list(value) if name is None else list(getattr(value, name)())


def _is_boolean(value: Any) -> bool:
    kind = getattr(value, "dtype", getattr(value, "type", None))
    text = str(kind).lower()
    if text == "object":
        cells = _listed(value)
        return bool(cells) and all(cell is None or _is_bool(cell) or type(cell).__name__ == "NAType" for cell in cells)
    return text in {"bool", "boolean", "bool[pyarrow]"}
