"""Groups of rows by windows of time: tumbling and sliding ones, on the clock of the column's zone, and sessions."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Literal

from tickframe import _native, formulas
from tickframe.arguments import check_all, count, encodable
from tickframe.bounds import warn_of_windows
from tickframe.describe import named, short
from tickframe.durations import nanoseconds
from tickframe.expr import flatten, spread
from tickframe.functions import len as len_
from tickframe.group_by import aggregates
from tickframe.handles import itself, table_of
from tickframe.hints import GROUPS, unknown
from tickframe.schema import ColumnNames
from tickframe.watermarks import Watermarked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tickframe.arguments import OnError
    from tickframe.expr import Expr, IntoExpr
    from tickframe.table import Table

__all__ = ["TimeGroups"]

_MOST_KEYS = 1 << 12


@check_all
class TimeGroups:
    """Groups of rows by windows of time, as `Table.group_by_dynamic` and `Table.session` give them."""

    __slots__ = ("_how", "_keys", "_on_error", "_operation", "_table")

    def __init__(
        self, operation: str, table: Table, how: dict[str, object], keys: list[Expr], on_error: OnError
    ) -> None:
        self._operation = operation
        self._table = table
        self._how = how
        self._keys = keys
        self._on_error: OnError = on_error

    def __repr__(self) -> str:
        return (
            f"TimeGroups({self._how['stamp']!r}): say what to compute of each window, .agg(tf.col(name).sum()), .len()"
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise AttributeError(
                f"windows of time have no {name!r}{unknown(name, 'groups', GROUPS, dir(type(self)))}; say what to compute of "
                "each window, .agg(tf.col(name).sum()), .len(): that is a table",
                name=name,
                obj=self,
            )

    def agg(self, *aggs: IntoExpr | Iterable[IntoExpr], **named: IntoExpr) -> Table:
        """One row for each group and window: ``col("x").sum().alias("total")`` or ``total=col("x").sum()``.

        >>> import tickframe as tf
        >>> import datetime as dt
        >>> t = tf.table({"at": [dt.datetime(2024, 1, 1, h, 30) for h in (9, 9, 11)], "x": [1, 2, 4]})
        >>> made = t.group_by_dynamic("at", every="1h").agg(total=tf.col("x").sum())
        >>> [(at.hour, total) for at, total in made.rows()]
        [(9, 3), (11, 4)]
        """
        native = self._table._native
        keys = [formulas.bind(key, native, self._operation) for key in self._keys]
        taken = {key.bare_column() for key in keys} | {self._how["stamp"]}
        columns = [name for name in self._table.columns if name not in taken]
        made = aggregates("agg", self._table, aggs, named, columns, in_windows=True)
        if self._table.attributes.get("watermark") != self._how["stamp"]:
            warn_of_windows(self._operation, self._table, str(self._how["stamp"]))
        make = _native.time_sessions if self._operation == "session" else _native.time_windows
        return table_of(make(self._operation, native, json.dumps(self._how), keys, made, self._on_error))

    def len(self, name: str = "len") -> Table:
        """How many rows each window has.

        >>> import tickframe as tf
        >>> import datetime as dt
        >>> t = tf.table({"at": [dt.datetime(2024, 1, 1, h, 30) for h in (9, 9, 11)], "x": [1, 2, 4]})
        >>> made = t.group_by_dynamic("at", every="1h").len()
        >>> [(at.hour, n) for at, n in made.rows()]
        [(9, 2), (11, 1)]
        """
        return self.agg(len_().alias(name))


@check_all
class WindowedInTime(Watermarked):
    """What `Table` has of groups by windows of time."""

    __slots__ = ()

    def group_by_dynamic(
        self,
        index_column: str,
        *,
        every: str | datetime.timedelta,
        period: str | datetime.timedelta | None = None,
        offset: str | datetime.timedelta | None = None,
        include_boundaries: bool = False,
        closed: Literal["left", "right", "both", "none"] = "left",
        label: Literal["left", "right"] = "left",
        group_by: IntoExpr | Iterable[IntoExpr] | None = None,
        emit: Literal["update", "final"] = "update",
        late: Literal["drop", "keep", "table"] = "drop",
        allowed_lateness: float | str | datetime.timedelta | None = None,
        keep_results: bool = True,
        max_rows: int | None = None,
        on_error: OnError = "fail",
    ) -> TimeGroups:
        """Windows of time: every row is in each window that holds its time, also in one that begins before the first row.

        Windows begin where `dt.truncate` cuts time off by `every`, on the clock of the column's zone, and `offset` later. The
        result has the keys, the start of the window under the name of the column, and the aggregates; its rows stand in the
        order in which windows were first met, as those of `group_by`. Rows may come in any order, and change.

        >>> import datetime as dt
        >>> import tickframe as tf
        >>> trades = tf.append_table({"t": dt.datetime, "x": int}, graph=tf.Graph())
        >>> hours = trades.group_by_dynamic("t", every="1h").agg(tf.col("x").sum())
        >>> for minute, x in [(5, 1), (50, 2), (65, 3)]:
        ...     _ = trades.append({"t": dt.datetime(2024, 5, 1) + dt.timedelta(minutes=minute), "x": x})
        ...     _ = trades.graph.step()
        >>> [(row["t"].hour, row["x"]) for row in hours.to_dicts()]
        [(0, 3), (1, 3)]

        Args:
            index_column: the column of instants or dates.
            every: how far apart windows begin: ``"15m"``, ``"1h"``, ``"1d"``, ``"1w"``, ``"1mo"`` or a timedelta. Days and what
                is longer are those of the calendar.
            period: how long a window lasts; without it, until the next begins. A longer one makes windows overlap.
            offset: how much later than a round time windows begin; negative, earlier.
            include_boundaries: whether ``_lower_boundary`` and ``_upper_boundary`` stand in the result.
            closed: which ends belong to a window.
            label: which end of the window stands in the result.
            group_by: columns or expressions by which the rows of a window are told apart.
            emit: over a `watermark`, whether every change of a window is sent or each window once, when it has closed: its end
                is not later than the watermark. Then the result only grows.
            late: over a `watermark`, what becomes of rows, changes and removals whose time lies before it: they are counted
                (`counted`) and dropped, applied as long as `allowed_lateness` says, or put into the result's `late` table.
            allowed_lateness: how much later than the watermark rows still count, and windows stay open: seconds, a timedelta, or
                text. ``late="keep"`` wants it.
            keep_results: whether windows that have closed stay in the result. What they were made of is freed in any case.
            max_rows: over a `watermark`, how many rows windows that are open may hold, each once; with more the table fails with a
                ResourceError. `counted` tells how many are held.
            on_error: what becomes of a row that cannot be computed, as in `group_by`. A row without a time belongs to no window:
                it fails the table, or is told in `errors`.

        Raises:
            ColumnNotFoundError: no such column.
            TypeMismatchError: a column of something else.
            DuplicateError: a key that is called as the column.
            FormulaError: a length of time that is none, or not positive.
        """
        table = itself(self)
        how: dict[str, object] = {
            "stamp": index_column,
            "every": _length(every, "group_by_dynamic: every"),
            "period": None if period is None else _length(period, "group_by_dynamic: period"),
            "offset": "0s" if offset is None else _length(offset, "group_by_dynamic: offset"),
            "closed": closed,
            "label": label,
            "boundaries": bool(include_boundaries),
            **_closing("group_by_dynamic", emit, late, allowed_lateness, keep_results, max_rows),
        }
        return TimeGroups("group_by_dynamic", table, how, _keys(table, group_by, "group_by_dynamic"), on_error)

    def session(
        self,
        ts: str,
        *,
        gap: float | str | datetime.timedelta,
        group_by: IntoExpr | Iterable[IntoExpr] | None = None,
        emit: Literal["update", "final"] = "update",
        late: Literal["drop", "keep", "table"] = "drop",
        allowed_lateness: float | str | datetime.timedelta | None = None,
        keep_results: bool = True,
        max_rows: int | None = None,
        on_error: OnError = "fail",
    ) -> TimeGroups:
        """Sessions: runs of rows no two neighbours of which, in order of time, lie further apart than `gap`.

        The result has the keys, ``session_start`` and ``session_end`` (the times of the first and the last row), and the
        aggregates. A row between two sessions makes them one; one that goes may make two of one. Rows may come in any order, and
        change; those that stay in the larger part of what merges or splits cost nothing.

        >>> import datetime as dt
        >>> import tickframe as tf
        >>> clicks = tf.append_table({"t": dt.datetime, "user": str}, graph=tf.Graph())
        >>> visits = clicks.session("t", gap="30m", group_by="user").len("clicks")
        >>> for minute in [0, 20, 80, 55]:
        ...     _ = clicks.append({"t": dt.datetime(2024, 5, 1) + dt.timedelta(minutes=minute), "user": "ann"})
        ...     _ = clicks.graph.step()
        ...     print(visits["clicks"].to_list())
        [1]
        [2]
        [2, 1]
        [2, 2]

        Args:
            ts: the column of instants.
            gap: the greatest distance of neighbours in a session: seconds, a timedelta, or text such as ``"30m"``.
            group_by: columns or expressions, each group of which has sessions of its own.
            emit: over a `watermark`, whether every change of a session is sent or each session once, when it has closed: the
                watermark is more than `gap` later than its last row.
            late: over a `watermark`, what becomes of rows that come too late, as in `group_by_dynamic`.
            allowed_lateness: how much later than the watermark rows still count.
            keep_results: whether sessions that have closed stay in the result.
            max_rows: over a `watermark`, how many rows sessions that are open may hold, as in `group_by_dynamic`.
            on_error: what becomes of a row that cannot be computed, as in `group_by`. A row without a time belongs to no session:
                it fails the table, or is told in `errors`.

        Raises:
            ColumnNotFoundError: no such column.
            TypeMismatchError: a column of something else.
            DuplicateError: a key called ``session_start`` or ``session_end``.
            InvalidOperationError: a blink table without a watermark: its rows live for one step.
        """
        table = itself(self)
        far = nanoseconds(gap, "session: gap")
        if far < 0:
            raise ValueError(f"session: gap must be 0 or longer, not {short(gap)}")
        closing = _closing("session", emit, late, allowed_lateness, keep_results, max_rows)
        how: dict[str, object] = {"stamp": ts, "gap": far, **closing}
        return TimeGroups("session", table, how, _keys(table, group_by, "session"), on_error)


def _keys(table: Table, group_by: IntoExpr | Iterable[IntoExpr] | None, operation: str) -> list[Expr]:
    if group_by is None:
        return []
    flat = flatten([group_by])
    if len(flat) > _MOST_KEYS:
        raise ValueError(f"{operation}: {len(flat)} keys, more than {_MOST_KEYS}; give columns, not values")
    made = spread(flat, {}, ColumnNames(table._native), operation)
    return [key if name is None else key.alias(name) for key, name in made]


def _closing(
    operation: str,
    emit: str,
    late: str,
    allowed_lateness: float | str | datetime.timedelta | None,
    keep_results: bool,
    max_rows: int | None,
) -> dict[str, object]:
    """What becomes of windows as the watermark moves on, as plans write it; nothing where nothing was said."""
    for given, what, options in ((emit, "emit", ("update", "final")), (late, "late", ("drop", "keep", "table"))):
        if given not in options:
            known = ", ".join(f'"{option}"' for option in options[:-1])
            raise ValueError(f'{operation}: {what} must be {known} or "{options[-1]}", not {short(given)}')
    allowed = 0
    if allowed_lateness is not None:
        if late == "drop":
            raise ValueError(
                f'{operation}: allowed_lateness is of late="keep", which applies rows within it, or of late="table"; "drop" '
                "drops all that are late"
            )
        allowed = nanoseconds(allowed_lateness, f"{operation}: allowed_lateness")
        if allowed < 0:
            raise ValueError(f"{operation}: allowed_lateness must be 0 or longer, not {short(allowed_lateness)}")
    elif late == "keep":
        raise ValueError(
            f'{operation}: late="keep" keeps windows open for late rows; say for how long: allowed_lateness="1h"'
        )
    said = (emit, late, allowed, bool(keep_results), max_rows)
    if said == ("update", "drop", 0, True, None):
        return {}
    closing = {"emit": emit, "late": late, "allowed_lateness": allowed, "forget_results": not keep_results}
    if max_rows is not None:
        closing["max_rows"] = count(max_rows, f"{operation}: max_rows")
    return {"closing": closing}


def _length(length: object, what: str) -> str:
    """A length of time as text: the calendar's, or nanoseconds."""
    if isinstance(length, str):
        encodable(length, what)
        return length.strip()
    if isinstance(length, datetime.timedelta):
        return f"{nanoseconds(length, what)}ns"
    given = length
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        raise TypeError(
            f'{what} is a text such as "1h" or a timedelta, not the number {short(given)}; write "{short(given)}s"'
        )
    raise TypeError(f'{what} is a text such as "1h" or a timedelta, not {named(given)}')
