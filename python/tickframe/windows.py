"""Windows of time that rows are in and leave. Each follows its table, and the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.arguments import check_all
from tickframe.describe import short
from tickframe.durations import nanoseconds
from tickframe.handles import itself, made

if TYPE_CHECKING:
    import datetime

    from tickframe.table import Table

__all__: list[str] = []


@check_all
class Windows:
    """What `Table` has of operations that follow the clock."""

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
