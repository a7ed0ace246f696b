"""Static tables: of data that Python, Arrow or another library has, of several tables, of the functions there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.arguments import checked, count
from tickframe.arguments import rows as check_rows
from tickframe.dtypes import DataTypeLike, Int64, List, String
from tickframe.names import input_name
from tickframe.optional import is_of_spark, spark
from tickframe.schema import Schema, SchemaLike
from tickframe.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas  # type: ignore[import-untyped]
    import polars

    from tickframe._native import Table as NativeTable

__all__ = [
    "empty_table",
    "from_arrow",
    "from_dicts",
    "from_pandas",
    "from_polars",
    "functions",
    "table",
]

#: The columns of the table of functions.
FUNCTIONS: dict[str, DataTypeLike] = {
    "name": String,
    "arguments": String,
    "least": Int64,
    "most": Int64,
    "options": List(String),
    "formulas": List(String),
    "example": String,
}


@checked
def table(
    data: object, schema: SchemaLike | None = None, *, copy: bool | None = None, name: str | None = None
) -> Table:
    """A static table.

    Args:
        data: a dict of lists or arrays, a list of rows (dicts, dataclasses, named tuples), an iterator of either, or
            anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, pandas, duckdb, another
            Table). The index of a pandas frame is left out: ``frame.reset_index()`` makes columns of it.
        schema: the types wanted; only widening that loses nothing is done.
        copy: whether memory is copied. None lets its maker decide: what polars, DuckDB and this package hold is never
            written to and stays where it is; NumPy, pandas, pyarrow and unknown makers let others write, so that is
            copied. True copies all. False copies no Arrow memory and no contiguous NumPy array of numbers: you promise
            that nobody writes to it as long as the table, or anything made of it, is in use; who does changes the table,
            makes results wrong, or ends the process.
        name: its name as an input of plans; see `Plan`.

    Raises:
        SchemaError: columns of unequal length, missing or extra ones.
        TypeMismatchError: a value that is not of its column's type.
        DataError: more than 100,000 columns, types nested more than 64 deep, names of more than 64 KB, Arrow data that
            is not what its type says.
    """
    if isinstance(data, Table) and schema is None and copy is not True:
        made = data.snapshot()._native
    elif is_of_spark(data):
        held: Table = spark().from_spark(data)
        made = (held if schema is None else table(held, schema))._native
    else:
        made = _native.table("table", data, None if schema is None else Schema(schema)._native, copy)
    return _named(made, name)


def _named(made: NativeTable, name: str | None) -> Table:
    """The table, with its name as an input of plans."""
    return Table(made if name is None else made.named(input_name(name)))


@checked
def from_dicts(rows: Iterable[object], schema: SchemaLike | None = None, *, name: str | None = None) -> Table:
    """A static table of rows: dicts, dataclasses or named tuples; a missing key is null.

    >>> import tickframe as tf
    >>> tf.from_dicts([{"sym": "A", "px": 1.5}, {"sym": "B"}]).rows()
    [('A', 1.5), ('B', None)]

    Args:
        rows: what has the values of a row by name.
        schema: the types wanted; only widening that loses nothing is done.
        name: as in `table`.
    """
    check_rows(rows, "from_dicts")
    wanted = None if schema is None else Schema(schema)._native
    return _named(_native.table("from_dicts", list(rows), wanted), name)


@checked
def from_arrow(data: object, *, copy: bool | None = None, name: str | None = None) -> Table:
    """A static table of anything that speaks the Arrow capsule protocol.

    >>> import tickframe as tf
    >>> import pyarrow as pa
    >>> tf.from_arrow(pa.table({"sym": ["A", "B"], "px": [1.5, 2.5]})).rows()
    [('A', 1.5), ('B', 2.5)]

    Args:
        data: has ``__arrow_c_stream__`` or ``__arrow_c_array__``.
        copy: as for `table`: None copies what others may write to, so also what pyarrow holds.
        name: as for `table`.
    """
    if is_of_spark(data):
        held: Table = spark().from_spark(data)
        return _named(held._native, name)
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise TypeError(f"from_arrow: {type(data).__name__} has neither __arrow_c_stream__ nor __arrow_c_array__")
    return _named(_native.table("from_arrow", data, None, copy), name)


@checked
def from_polars(frame: polars.DataFrame | polars.Series, *, name: str | None = None) -> Table:
    """A static table of a polars frame, or of a series that has a name; a lazy frame has to be collected first.

    Its memory is not copied.

    >>> import tickframe as tf
    >>> import polars as pl
    >>> tf.from_polars(pl.DataFrame({"sym": ["A", "B"], "px": [1.5, 2.5]})).rows()
    [('A', 1.5), ('B', 2.5)]

    Args:
        frame: the frame or series.
        name: as for `table`.
    """
    if not hasattr(frame, "__arrow_c_stream__"):
        raise TypeError(f"from_polars: {type(frame).__name__} is no DataFrame; a LazyFrame has to be collected first")
    return _named(_native.table("from_polars", frame, None), name)


@checked
def from_pandas(
    frame: pandas.DataFrame | pandas.Series[Any], *, copy: bool | None = None, name: str | None = None
) -> Table:
    """A static table of a pandas frame, or of a series that has a name. Needs pyarrow.

    NaN in a column of NumPy floats is null, as pandas means it. The index is left out: ``frame.reset_index()`` makes
    columns of it.

    Args:
        frame: the frame or series.
        copy: as for `table`; only False leaves its memory where it is.
        name: as for `table`.
    """
    if type(frame).__name__ not in {"DataFrame", "Series"}:
        raise TypeError(f"from_pandas: {type(frame).__name__} is no pandas DataFrame or Series")
    return _named(_native.table("from_pandas", frame, None, copy), name)


@checked
def empty_table(n: int) -> Table:
    """A static table of `n` rows and no columns."""
    return Table(_native.empty_table(count(n, "empty_table: n")))


def functions() -> Table:
    """All functions that expressions and formulas have, one a row.

    >>> import tickframe as tf
    >>> tf.functions().where("name = `list.std`").drop("arguments").to_dicts()
    [{'name': 'list.std', 'least': 1, 'most': 1, 'options': ['ddof=1'], 'formulas': ['std'], 'example': 'col("v").list.std()'}]

    Returns:
        A table of the `name` in Python (``list.std`` is ``col("v").list.std()``; null where only formulas have the
        function), what its `arguments` are, the `least` and the `most` of them, the subject included (null without a
        limit, and where only formulas have it), its `options` with their defaults, its names in `formulas`, and an
        `example`.
    """
    rows: list[dict[str, Any]] = []
    told: set[str] = set()
    for each in _native.functions():
        if each["kind"] != "formula":
            told.update(each["formulas"])
            options = [f"{option}={value}" for option, value in each["options"]]
            rows.append({name: options if name == "options" else each[name] for name in FUNCTIONS})
    for _, name, example, _ in _native.formula_functions():
        if name not in told:
            rows.append(dict.fromkeys(FUNCTIONS) | {"options": [], "formulas": [name], "example": example})
    return table(rows, schema=FUNCTIONS)
