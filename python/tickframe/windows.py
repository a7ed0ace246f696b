"""What happens to rows at a time of its own: windows that they leave by the clock, copies when another table changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.arguments import check_all, count, instance
from tickframe.describe import short
from tickframe.durations import nanoseconds
from tickframe.handles import itself, made
from tickframe.names import names_of
from tickframe.rolled import RollingGroups, of_period
from tickframe.time_groups import WindowedInTime

if TYPE_CHECKING:
    import datetime
    from typing import Literal

    from tickframe.arguments import OnError
    from tickframe.names import Names
    from tickframe.table import Table

__all__: list[str] = []


@check_all
class Windows(WindowedInTime):
    """What `Table` has of operations that run by the clock, or as another table changes."""

    __slots__ = ()

    def time_window(self, ts: str, window: float | str | datetime.timedelta, flag: str = "in_window") -> Table:
        """The table with a column that says of each row whether its instant lies within the last `window`.

        The column turns false when a row is older than that, by the clock alone: the row is modified in the first step after. An
        instant to come is inside; a row without one has null. Of a static table it is as of now.

        >>> import tickframe as tf
        >>> clock = tf.testing.ManualClock("2024-05-01T12:00:00+00:00")
        >>> events = tf.append_table({"t": tf.Datetime("ns", "UTC"), "x": int}, graph=tf.Graph(clock=clock))
        >>> recent = events.time_window("t", "10s", "recent")
        >>> for x in range(3):
        ...     _ = events.append({"t": clock.now, "x": x})
        ...     _ = clock.advance("6s")
        ...     _ = events.graph.step()
        >>> recent.select("x", "recent").to_dict()
        {'x': [0, 1, 2], 'recent': [False, False, True]}

        Args:
            ts: the column of instants, which has a zone.
            window: how long: seconds, a timedelta, or text such as ``"5m"``.
            flag: the name of the new column.

        Raises:
            ColumnNotFoundError: no column `ts`.
            TypeMismatchError: a column of something else.
            DuplicateError: the table has a column `flag`.
        """
        span = nanoseconds(window, "time_window: window")
        if span < 0:
            raise ValueError(f"time_window: window must be 0 or longer, not {short(window)}")
        return made("time_window", {"time_window": {"stamp": ts, "span": span, "flag": flag}}, itself(self))

    def most_recent(self, ts: str, period: float | str | datetime.timedelta, by: Names | None = None) -> Table:
        """A table that only grows, from its recent rows on: those within `period` of the newest as it begins, and all that come.

        For a table whose past is long and of no use: what stands on the result reads its recent rows alone.

        >>> import datetime as dt
        >>> import tickframe as tf
        >>> noon = dt.datetime(2024, 5, 1, 12)
        >>> trades = tf.append_table({"t": dt.datetime, "px": float}, graph=tf.Graph())
        >>> _ = trades.append({"t": [noon, noon + dt.timedelta(hours=2)], "px": [1.0, 2.0]})
        >>> _ = trades.graph.step()
        >>> recent = trades.most_recent("t", "1h")
        >>> _ = trades.append({"t": noon, "px": 3.0})
        >>> _ = trades.graph.step()
        >>> recent.to_dict()["px"]
        [2.0, 3.0]

        Args:
            ts: the column of instants. A row without one is not recent as the table begins.
            period: how long before the newest: seconds, a timedelta, or text such as ``"1h"``.
            by: columns that make groups, each with a newest of its own; all rows are one group without it.

        Raises:
            ColumnNotFoundError: no such column.
            TypeMismatchError: `ts` is no column of instants, or a column of `by` has cells of which there is no key.
            InvalidOperationError: a live table whose rows may be removed or modified.
        """
        span = nanoseconds(period, "most_recent: period")
        if span < 0:
            raise ValueError(f"most_recent: period must be 0 or longer, not {short(period)}")
        recent = {"span": {"stamp": ts, "nanos": span}}
        return made("most_recent", {"most_recent": {"by": _groups(by, "most_recent"), "recent": recent}}, itself(self))

    def most_recent_rows(self, n: int, by: Names | None = None) -> Table:
        """A table that only grows, from its last `n` rows on: those that are there as it begins, and all that come.

        >>> import tickframe as tf
        >>> trades = tf.append_table({"sym": str, "px": float}, graph=tf.Graph())
        >>> _ = trades.append({"sym": ["A", "A", "B"], "px": [1.0, 2.0, 3.0]})
        >>> _ = trades.graph.step()
        >>> last = trades.most_recent_rows(1, by="sym")
        >>> _ = trades.append({"sym": "A", "px": 4.0})
        >>> _ = trades.graph.step()
        >>> last.to_dict()["px"]
        [2.0, 3.0, 4.0]

        Args:
            n: how many rows of each group, or of all, it begins with.
            by: columns that make groups; all rows are one group without it.

        Raises:
            ColumnNotFoundError: no such column.
            InvalidOperationError: a live table whose rows may be removed or modified.
        """
        rows = count(n, "most_recent_rows: n")
        options = {"by": _groups(by, "most_recent_rows"), "recent": {"rows": rows}}
        return made("most_recent_rows", {"most_recent": options}, itself(self))

    def rolling(
        self,
        index_column: str,
        *,
        period: float | str | datetime.timedelta,
        offset: float | str | datetime.timedelta | None = None,
        closed: Literal["left", "right", "both", "none"] = "right",
        group_by: Names | None = None,
        on_error: OnError = "fail",
    ) -> RollingGroups:
        """For each row the rows of a window of time before it: ``.agg(...)`` makes one row of each.

        Rows may come in any order of their stamps; rows with equal stamps see one another.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "t": [1, 2, 3], "x": [1, 2, 4]})
        >>> t.rolling("t", period=3, group_by="k").agg(s=tf.col("x").sum(), n=tf.len()).to_dicts()[2]
        {'k': 'a', 't': 3, 's': 5, 'n': 2}

        Args:
            index_column: the column of stamps: times, dates or whole numbers. A row without a stamp has no values, and is in no
                window.
            period: how long a window is: a text such as ``"5m"``, a timedelta, or seconds; of whole numbers a number.
            offset: where it begins, from the row's stamp; ``-period`` without it: the window ends at the row.
            closed: which ends belong to it.
            group_by: columns that make groups; all rows are one group without it.
            on_error: what becomes of a row whose value to be aggregated, or whose result, cannot be computed: ``"fail"`` the table,
                that value is ``"null"``, or the row is left out of the result and of all windows (``"drop"``). Both are told in
                `errors`.

        Raises:
            ColumnNotFoundError: no such column.
            TypeMismatchError: stamps of another type, or a period of another kind than they are.
            ValueError: a period that is not positive.
            InvalidOperationError: a blink table, whose rows live for one step.
        """
        window = of_period(period, offset, closed)
        return RollingGroups(itself(self), index_column, _groups(group_by, "rolling"), window, on_error)

    def snapshot_when(
        self,
        trigger: Table,
        stamp_cols: Names | None = None,
        initial: bool = False,
        incremental: bool = False,
        history: bool = False,
    ) -> Table:
        """The rows as they were when another table last changed, beside the values of that one's last row.

        What changes in between is not told. Without `initial` there are no rows until the trigger changes.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> prices, ticks = tf.keyed_table({"k": str, "px": int}, "k", graph=g), tf.append_table({"at": int}, graph=g)
        >>> taken = prices.snapshot_when(ticks)
        >>> for px in range(4):
        ...     _ = prices.upsert({"k": "A", "px": px})
        ...     _ = px == 2 and ticks.append({"at": px})
        ...     _ = g.step()
        >>> taken.to_dicts()
        [{'k': 'A', 'px': 2, 'at': 2}]

        Args:
            trigger: the table that says when: any change of it does, but that rows of a blink table go.
            stamp_cols: its columns whose values stand beside the rows, null while it has no row; all of them without it.
            initial: whether the rows are taken at once as well.
            incremental: whether only rows that changed since the last time are taken and stamped anew.
            history: whether earlier copies stay, one after the other. The trigger must be append-only.

        Raises:
            ColumnNotFoundError: the trigger has no such column.
            DuplicateError: both tables have a column of that name.
            InvalidOperationError: `history` with `incremental`, or of a trigger that does not only grow; `incremental` of a
                blink table.
        """
        instance(trigger, "snapshot_when", "trigger", "Table", "a table")
        stamps = trigger.columns if stamp_cols is None else names_of([stamp_cols], "snapshot_when")
        how = {"stamps": stamps, "initial": bool(initial), "incremental": bool(incremental), "history": bool(history)}
        return made("snapshot_when", {"snapshot_when": how}, itself(self), trigger)


def _groups(by: Names | None, operation: str) -> list[str]:
    return [] if by is None else names_of([by], operation)
