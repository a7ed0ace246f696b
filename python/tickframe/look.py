"""Looking at a table: its size, rows as Python values, a sample, statistics. All of it reads the rows as they are now."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Literal, overload

from tickframe import _native
from tickframe.arguments import check_all, count
from tickframe.beside import in_order
from tickframe.cells import known
from tickframe.config import Config
from tickframe.describe import named, short
from tickframe.display import as_text, glimpse_text
from tickframe.handles import itself, table_of
from tickframe.indexing import column_name, indexed
from tickframe.places import place
from tickframe.statistics import described

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tickframe.arguments import PrecisionLoss
    from tickframe.column import Column
    from tickframe.names import Names
    from tickframe.table import Table

__all__: list[str] = []

_MOST_SHOWN = 1 << 16
_AT_ONCE = 1 << 12
"""Rows that become Python values at a time."""


@check_all
class Look:
    """What `Table` has of ways to look at its rows."""

    __slots__ = ()

    @property
    def height(self) -> int:
        """How many rows there are now."""
        return itself(self).shape[0]

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(itself(self).columns)

    def is_empty(self) -> bool:
        """Whether there is no row now.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [3, 1]})
        >>> t.is_empty(), t.filter(tf.col("x") > 5).is_empty()
        (False, True)
        """
        return self.height == 0

    @property
    def last_step(self) -> int:
        """The step of the graph in which it changed last; 0 of a static table, and of one that has not changed yet.

        >>> import tickframe as tf
        >>> t = tf.append_table({"x": int}, graph=tf.Graph())
        >>> _ = t.append({"x": 1})
        >>> t.graph.step(), t.graph.step(), t.last_step
        (1, 2, 1)
        """
        return itself(self)._native.last_step

    @property
    def is_failed(self) -> bool:
        """Whether it has failed: it stays as it was, and reading it raises the error.

        >>> import tickframe as tf
        >>> t = tf.append_table({"text": str}, graph=tf.Graph())
        >>> numbers = t.with_columns(n=tf.col("text").cast(int))
        >>> _ = t.append({"text": "seven"})
        >>> _ = t.graph.step()
        >>> t.is_failed, numbers.is_failed
        (False, True)
        """
        return itself(self)._native.failure() is not None

    @overload
    def __getitem__(self, at: str) -> Column: ...
    @overload
    def __getitem__(self, at: tuple[str, ...] | list[str] | slice | int) -> Table: ...
    @overload
    def __getitem__(self, at: tuple[slice, str]) -> Column: ...
    @overload
    def __getitem__(self, at: tuple[slice, list[str]]) -> Table: ...
    @overload
    def __getitem__(self, at: tuple[int, str | int]) -> Any: ...
    def __getitem__(self, at: object) -> Any:
        """A column by its name, several as a table; rows by a slice, one by its place, both as a table; a cell by both.

        Tables follow, columns and cells are what they are now.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "C"], "px": [1.5, 2.5, None]})
        >>> t["px"].to_list(), t["px", "sym"].columns, t[1:].to_dict(), t[0, "sym"]
        ([1.5, 2.5, None], ['px', 'sym'], {'sym': ['B', 'C'], 'px': [2.5, None]}, 'A')

        Raises:
            ColumnNotFoundError: an unknown column.
            IndexError: a row that a static table has not.
            InvalidOperationError: rows of a blink table, which live for one step; `head` and `tail` keep them.
        """
        return indexed(itself(self), at)

    # Rows as Python values --------------------------------------------------------------------------------

    def item(self, row: int | None = None, column: int | str | None = None) -> Any:
        """One cell, as it is now; without arguments the cell of a table that has no other.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2], "y": ["a", "b"]})
        >>> t.item(-1, "y"), t.select(tf.col("x").sum()).item()
        ('b', 3)

        Args:
            row: the place of the row, from the end if negative.
            column: its name, or its place.

        Raises:
            IndexError: there is no such row.
        """
        now = itself(self).snapshot()
        if row is None or column is None:
            if row is not None or column is not None or now.shape != (1, 1):
                raise ValueError(
                    f"item: the table has {now.shape[0]} rows and {now.shape[1]} columns: give a row and a column"
                )
            row, column = 0, 0
        name = column_name(now, column, "item: column")
        return now.slice(place(row, now.height, "item: rows"), 1)[name].to_list()[0]

    def row(self, index: int, *, named: bool = False) -> tuple[Any, ...] | dict[str, Any]:
        """One row, as it is now: a tuple of its cells.

        Args:
            index: the place of the row, from the end if negative.
            named: a dict by the names of columns instead.

        Raises:
            IndexError: there is no such row.
        """
        now = itself(self).snapshot()
        (found,) = now.slice(place(index, now.height, "row"), 1).to_dicts()
        return found if named else tuple(found.values())

    def rows(
        self, *, named: bool = False, on_precision_loss: PrecisionLoss = "error"
    ) -> list[tuple[Any, ...]] | list[dict[str, Any]]:
        """All rows, as they are now: a tuple each.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2], "y": ["a", "b"]})
        >>> t.rows(), t.row(0, named=True), t.height, t.width
        ([(1, 'a'), (2, 'b')], {'x': 1, 'y': 'a'}, 2, 2)

        Args:
            named: dicts by the names of columns, as `to_dicts` gives them.
            on_precision_loss: as for `to_dicts`.
        """
        found = itself(self).to_dicts(on_precision_loss)
        return found if named else [tuple(row.values()) for row in found]

    def iter_rows(
        self, *, named: bool = False, on_precision_loss: PrecisionLoss = "error"
    ) -> Iterator[tuple[Any, ...]] | Iterator[dict[str, Any]]:
        """One row after the other, as they are now; some at a time become Python values.

        >>> import tickframe as tf
        >>> for x, y in tf.table({"x": [1, 2], "y": ["a", "b"]}).iter_rows():
        ...     print(x, y)
        1 a
        2 b

        Args:
            named: dicts by the names of columns instead of tuples.
            on_precision_loss: as for `to_dicts`.
        """
        now = itself(self).snapshot()

        def one_after_the_other() -> Iterator[Any]:
            for first in range(0, now.height, _AT_ONCE):
                for row in now.slice(first, _AT_ONCE).to_dicts(on_precision_loss):
                    yield row if named else tuple(row.values())

        return one_after_the_other()

    def iter_slices(self, n_rows: int = 10_000) -> Iterator[Table]:
        """One static table of rows after the other, as they are now.

        >>> import tickframe as tf
        >>> [part.rows() for part in tf.table({"x": [1, 2, 3]}).iter_slices(2)]
        [[(1,), (2,)], [(3,)]]

        Args:
            n_rows: how many rows each has, but the last.
        """
        many = count(n_rows, "iter_slices: n_rows")
        if not many:
            raise ValueError("iter_slices: n_rows must be 1 or more, not 0")
        now = itself(self).snapshot()
        return (now.slice(first, many) for first in range(0, now.height, many))

    # At a glance ------------------------------------------------------------------------------------------

    def to_string(self, n: int = 10, columns: Names | None = None) -> str:
        """The text that `print` shows, of so many rows and of some columns, as they are now.

        >>> import tickframe as tf
        >>> print(tf.table({"x": [1, 2, 3], "y": ["a", "b", "c"]}).to_string(2, "x"))
        shape: (3, 1)
        ┌───────┐
        │ x     │
        │ ---   │
        │ Int64 │
        ╞═══════╡
        │ 1     │
        │ …     │
        │ 3     │
        └───────┘

        Args:
            n: how many rows, the first and the last ones.
            columns: their names; all without it.
        """
        rows = count(n, "to_string: n")
        if not 1 <= rows <= _MOST_SHOWN:
            raise ValueError(f"to_string: n is from 1 to {_MOST_SHOWN}, not {rows}")
        table = itself(self)
        shown = table if columns is None else table.snapshot().select(known(table, columns, "to_string"))
        with Config(rows=rows):
            return as_text(shown)

    def sample(
        self, n: int | None = None, *, fraction: float | None = None, shuffle: bool = False, seed: int | None = None
    ) -> Table:
        """A static table of rows drawn at random from those there are now, each at most once.

        >>> import tickframe as tf
        >>> t = tf.table({"x": list(range(100))})
        >>> len(t.sample(5, seed=1)), len(t.sample(fraction=0.2))
        (5, 20)

        Args:
            n: how many; one without it.
            fraction: how many as a part of all, from 0 to 1.
            shuffle: whether they come in the order in which they were drawn; else as they stand.
            seed: with it the same rows are drawn of the same table.

        Raises:
            ValueError: more rows than there are.
        """
        now = itself(self).snapshot()
        wanted = _drawn(now.height, n, fraction)
        places = random.Random(seed).sample(range(now.height), wanted)  # noqa: S311 - no secret
        mask = bytearray(now.height)
        for at in places:
            mask[at] = 1
        kept = table_of(_native.masked("sample", now._native, bytes(mask)))
        if not shuffle:
            return kept
        ranks = {at: rank for rank, at in enumerate(places)}
        return in_order("sample", kept, [ranks[at] for at in sorted(places)])

    def describe(
        self,
        percentiles: Sequence[float] | float | None = (0.25, 0.5, 0.75),
        *,
        interpolation: Literal["nearest", "lower", "higher", "midpoint", "linear"] = "nearest",
    ) -> Table:
        """A static table of what the columns hold now: counts, mean, deviation, least, greatest, and values between.

        Of numbers and booleans the statistics are Float64, of all else text.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 2, None], "s": ["a", "b", "b"]}).describe(percentiles=0.5)
        shape: (7, 3)
        ┌────────────┬──────────┬────────┐
        │ statistic  ┆ x        ┆ s      │
        │ ---        ┆ ---      ┆ ---    │
        │ String     ┆ Float64  ┆ String │
        ╞════════════╪══════════╪════════╡
        │ count      ┆ 2.0      ┆ 3      │
        │ null_count ┆ 1.0      ┆ 0      │
        │ mean       ┆ 1.5      ┆ null   │
        │ std        ┆ 0.707107 ┆ null   │
        │ min        ┆ 1.0      ┆ a      │
        │ 50%        ┆ 2.0      ┆ null   │
        │ max        ┆ 2.0      ┆ b      │
        └────────────┴──────────┴────────┘

        Args:
            percentiles: parts of the way from the least to the greatest.
            interpolation: as for `Expr.quantile`.
        """
        return described(itself(self).snapshot(), percentiles, interpolation)

    @overload
    def glimpse(
        self, *, max_items_per_column: int = 10, max_colname_length: int = 50, return_type: None = None
    ) -> None: ...
    @overload
    def glimpse(
        self, *, max_items_per_column: int = 10, max_colname_length: int = 50, return_type: Literal["string"]
    ) -> str: ...
    def glimpse(
        self, *, max_items_per_column: int = 10, max_colname_length: int = 50, return_type: str | None = None
    ) -> str | None:
        """Print a line a column, with its first cells as they are now.

        >>> import tickframe as tf
        >>> tf.table({"sym": ["A", "B"], "px": [1.5, None]}).glimpse()
        Rows: 2
        Columns: 2
        $ sym <String>  'A', 'B'
        $ px  <Float64> 1.5, null

        Args:
            max_items_per_column: how many cells are shown.
            max_colname_length: longer names are cut.
            return_type: ``"string"`` gives the text instead.
        """
        if return_type not in {None, "string"}:
            raise ValueError(f'glimpse: return_type must be "string" or None, not {short(return_type)}')
        text = glimpse_text(
            itself(self),
            count(max_items_per_column, "glimpse: max_items_per_column"),
            count(max_colname_length, "glimpse: max_colname_length"),
        )
        if return_type == "string":
            return text
        print(text)  # noqa: T201 - that is what it is for
        return None


def _drawn(rows: int, n: int | None, fraction: float | None) -> int:
    """How many rows a sample has."""
    if n is not None and fraction is not None:
        raise ValueError("sample: give n or fraction, not both")
    if fraction is not None:
        given: object = fraction
        if not isinstance(given, (int, float)) or isinstance(given, bool):
            raise TypeError(f"sample: fraction is a number from 0 to 1, not {named(given)}")
        if not 0 <= fraction <= 1:
            raise ValueError(f"sample: fraction is a part of the rows, from 0 to 1, not {fraction}")
        return int(rows * fraction)
    wanted = count(1 if n is None else n, "sample: n")
    if wanted > rows:
        raise ValueError(f"sample: {wanted} rows of {rows}; each is drawn once at most")
    return wanted
