"""Watermarks: up to which time the rows of a table have come, and what came later than that."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tickframe.arguments import check_all
from tickframe.describe import short
from tickframe.durations import nanoseconds
from tickframe.handles import itself, made, table_of

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping

    from tickframe.table import Table

__all__: list[str] = []


@check_all
class Watermarked:
    """What `Table` has of watermarks."""

    __slots__ = ()

    def watermark(
        self,
        ts: str,
        *,
        delay: float | str | datetime.timedelta,
        idle_after: float | str | datetime.timedelta | None = None,
    ) -> Table:
        """The same rows, and up to which time they have come: the greatest time that was seen, less `delay`.

        It never goes back. It moves with the step that moves it, so what is made by it depends on the batches alone and not on the
        clock. Operations that keep the column pass it on: `filter`, `with_columns`, `select`, `drop`, `rename`, `sort`;
        `merge` the least of its inputs. By it `group_by_dynamic` and `session` close windows, free what these were made of, and
        tell rows that come too late.

        >>> import datetime as dt
        >>> import tickframe as tf
        >>> clicks = tf.append_table({"t": dt.datetime}, graph=tf.Graph())
        >>> timely = clicks.watermark("t", delay="5m")
        >>> hours = timely.group_by_dynamic("t", every="1h", emit="final").len()
        >>> for minute in [10, 50, 62, 66, 20]:
        ...     _ = clicks.append({"t": dt.datetime(2024, 5, 1) + dt.timedelta(minutes=minute)})
        ...     _ = clicks.graph.step()
        >>> hours.rows(), hours.counted["late"]
        ([(datetime.datetime(2024, 5, 1, 0, 0), 2)], 1)

        Args:
            ts: the column of instants or dates.
            delay: how late rows may come: seconds, a timedelta, or text such as ``"30s"``.
            idle_after: of tables that are merged, one that has no row for so long is not waited for.

        Raises:
            ColumnNotFoundError: no such column.
            TypeMismatchError: a column of something else.
        """
        late = nanoseconds(delay, "watermark: delay")
        idle = None if idle_after is None else nanoseconds(idle_after, "watermark: idle_after")
        for given, what, span in ((late, "delay", delay), (idle, "idle_after", idle_after)):
            if given is not None and given < 0:
                raise ValueError(f"watermark: {what} must be 0 or longer, not {short(span)}")
        return made("watermark", {"watermark": {"stamp": ts, "delay": late, "idle_after": idle}}, itself(self))

    @property
    def watermark_table(self) -> Table | None:
        """The watermark as a table of one row, ``watermark`` and ``idle``; None if it has none.

        >>> import datetime as dt
        >>> import tickframe as tf
        >>> t = tf.table({"t": [dt.datetime(2024, 5, 1, 12)]}).watermark("t", delay="1h")
        >>> t.attributes["watermark"], t.watermark_table.rows()
        ('t', [(datetime.datetime(2024, 5, 1, 11, 0), False)])
        """
        found = itself(self)._native.watermark()
        return None if found is None else table_of(found[1])

    @property
    def late(self) -> Table | None:
        """The rows that came too late for this table of windows, made with ``late="table"``; None of any other.

        It only grows. Beside the columns of the table stands ``_change``: whether the row was to be "added", or a row as it was
        to be "removed"; a late change is both.
        """
        found = itself(self)._native.late()
        return None if found is None else table_of(found)

    @property
    def counted(self) -> Mapping[str, int]:
        """What was counted of rows that came too late, and of what this table holds and has let go.

        ``late``: rows that came, or changed, too late for windows over a `watermark` or for `state_ttl`; ``late_removals``: rows
        that were removed, or changed, when that was too late for their window; ``held_rows`` and ``held_groups``: how many are
        held now, of windows that are open, by ``max_rows=``, ``max_groups=`` or ``state_ttl=``; ``evicted_rows`` and
        ``evicted_groups``: how many were let go by these. Empty for a table of anything else. A source has `counters` of
        its queue.
        """
        return MappingProxyType(dict(itself(self)._native.counted()))

    def counters(self) -> dict[str, int]:
        """What is counted for this table; of a table that is no source, what `counted` tells.

        >>> import tickframe as tf
        >>> seen = tf.blink_table({"id": int}, graph=tf.Graph())
        >>> once = seen.unique(max_groups=2)
        >>> _ = seen.append({"id": [1, 2, 3, 3]})
        >>> _ = seen.graph.step()
        >>> once.rows(), once.counters()
        ([(2,), (3,)], {'held_groups': 2, 'evicted_groups': 1})
        """
        return dict(self.counted)
