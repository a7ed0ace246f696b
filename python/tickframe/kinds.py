"""Tables of one kind made of those of another: rows that live for one step, that stay, that are the last to have come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.arguments import count, instance, whole
from tickframe.describe import short
from tickframe.handles import made

if TYPE_CHECKING:
    from tickframe.table import Table

__all__ = ["add_only_to_blink", "blink_to_append_only", "remove_blink", "ring_table"]


def ring_table(t: Table, n: int) -> Table:
    """The last `n` rows that ever were added to a table, in the order in which they came.

    A row stays until newer ones push it out, whether its table removes it or not. A step that adds more than `n` rows shows
    the last of them only.

    >>> import tickframe as tf
    >>> events = tf.blink_table({"x": int}, graph=tf.Graph())
    >>> latest = tf.ring_table(events, 3)
    >>> for x in range(5):
    ...     _ = events.append({"x": x})
    ...     _ = events.graph.step()
    >>> latest.to_dict()
    {'x': [2, 3, 4]}

    Args:
        t: the table. Its rows come and go; one that modifies a row fails the ring in that step.
        n: how many rows are kept, 1 or more.
    """
    instance(t, "ring_table", "t", "Table", "a table")
    whole(n, "ring_table", "n")
    if n < 1:
        raise ValueError(f"ring_table: n must be 1 or more, not {short(n)}")
    rows = count(n, "ring_table: n")
    return made("ring_table", {"ring": {"rows": rows}}, t)


def blink_to_append_only(t: Table) -> Table:
    """Every row of a blink table, kept: an append-only table.

    It takes memory for all rows that come; `ring_table` keeps the last ones, and an aggregation of the blink table its groups.
    A static or append-only table is given as it is.

    >>> import tickframe as tf
    >>> events = tf.blink_table({"x": int}, graph=tf.Graph())
    >>> history = tf.blink_to_append_only(events)
    >>> for x in range(3):
    ...     _ = events.append({"x": x})
    ...     _ = events.graph.step()
    >>> history.to_dict(), len(events)
    ({'x': [0, 1, 2]}, 1)

    Raises:
        InvalidOperationError: a table of another kind, whose rows may be removed or modified.
    """
    instance(t, "blink_to_append_only", "t", "Table", "a table")
    return made("blink_to_append_only", "blink_to_append_only", t)


def add_only_to_blink(t: Table) -> Table:
    """The rows that each step adds to a table, for that step: a blink table.

    The rows that are there when it is made are those of a first step. Aggregations over it accumulate, without the rows. A
    static or blink table is given as it is.

    >>> import tickframe as tf
    >>> trades = tf.append_table({"x": int}, graph=tf.Graph())
    >>> fresh = tf.add_only_to_blink(trades)
    >>> for x in range(3):
    ...     _ = trades.append({"x": x})
    ...     _ = trades.graph.step()
    >>> fresh.to_dict(), len(trades)
    ({'x': [2]}, 3)

    Raises:
        InvalidOperationError: a table whose rows may be removed or modified.
    """
    instance(t, "add_only_to_blink", "t", "Table", "a table")
    return made("add_only_to_blink", "add_only_to_blink", t)


def remove_blink(t: Table) -> Table:
    """The rows of a blink table as those of any table, added in one step and removed in the next.

    Aggregations, `head` and `tail` over it are of the rows that are there, as of a table that is no blink table; such a table is
    given as it is.

    >>> import tickframe as tf
    >>> events = tf.blink_table({"x": int}, graph=tf.Graph())
    >>> total = tf.agg.sum_("x")
    >>> ever, now = events.agg_by(total), tf.remove_blink(events).agg_by(total)
    >>> for x in range(4):
    ...     _ = events.append({"x": x})
    ...     _ = events.graph.step()
    >>> ever.to_dict(), now.to_dict()
    ({'x': [6]}, {'x': [3]})
    """
    instance(t, "remove_blink", "t", "Table", "a table")
    return made("remove_blink", "remove_blink", t)
