"""Tables that come in parts which belong together, told by a sequence id: rows are shown when all parts are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.arguments import checked, encodable, instance
from tickframe.describe import named
from tickframe.handles import is_table, made
from tickframe.names import names_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tickframe.names import Names
    from tickframe.table import Table

__all__ = ["sync_filter", "sync_to_leader"]


@checked
def sync_filter(tables: Iterable[Table], by: Names, id: str | Sequence[str]) -> list[Table]:
    """Of each key, in every one of several tables, the rows of one sequence id: the newest that all of them have.

    What a source sends in parts, to several tables, is seen once all parts are there. In the step in which the last table has the
    rows of a newer id, the rows of the old one go, and those of the new one come, in all results.

    >>> import tickframe as tf
    >>> g = tf.Graph()
    >>> bids = tf.append_table({"sym": str, "seq": int, "bid": float}, graph=g)
    >>> asks = tf.append_table({"sym": str, "seq": int, "ask": float}, graph=g)
    >>> b, a = tf.sync_filter([bids, asks], by="sym", id="seq")
    >>> _ = bids.append({"sym": ["A", "A"], "seq": [1, 2], "bid": [9.0, 9.5]})
    >>> _ = asks.append({"sym": "A", "seq": 1, "ask": 10.0})
    >>> _ = g.step()
    >>> b.to_dicts(), a.to_dicts()
    ([{'sym': 'A', 'seq': 1, 'bid': 9.0}], [{'sym': 'A', 'seq': 1, 'ask': 10.0}])
    >>> _ = asks.append({"sym": "A", "seq": 2, "ask": 10.5})
    >>> _ = g.step()
    >>> b.to_dicts(), a.to_dicts()
    ([{'sym': 'A', 'seq': 2, 'bid': 9.5}], [{'sym': 'A', 'seq': 2, 'ask': 10.5}])

    Args:
        tables: the tables, live or static; no blink tables.
        by: the key columns, which all of them have. Null is a key like any other.
        id: the column of ids, whole numbers or instants, of all tables or of each. A row without an id is never shown.

    Returns:
        The table of the rows that are shown, for each of the tables, in their order.

    Raises:
        ColumnNotFoundError: a table without one of the columns.
        TypeMismatchError: keys or ids that do not compare, ids of something else than whole numbers or instants.
        InvalidOperationError: a blink table, or tables of two graphs.
    """
    each = _tables(tables, "sync_filter", "tables")
    ids = _ids(id, len(each), "sync_filter", "id", "tables")
    keys = names_of([by], "sync_filter")
    options = {"keys": keys, "ids": ids}
    return [made("sync_filter", {"sync_filter": {**options, "which": at}}, *each) for at in range(len(each))]


@checked
def sync_to_leader(
    leader: Table, followers: Iterable[Table], by: Names, ids: str | Sequence[str], id: str | Sequence[str]
) -> list[Table]:
    """Of each key the last row of a leader all of whose ids the followers have, and the rows that it wants of each of them.

    As `sync_filter`, where one table lists the id that is wanted of each of the others.

    >>> import tickframe as tf
    >>> g = tf.Graph()
    >>> orders = tf.append_table({"sym": str, "quote": int, "news": int}, graph=g)
    >>> quotes = tf.append_table({"sym": str, "seq": int, "px": float}, graph=g)
    >>> news = tf.append_table({"sym": str, "seq": int, "text": str}, graph=g)
    >>> o, q, n = tf.sync_to_leader(orders, [quotes, news], by="sym", ids=["quote", "news"], id="seq")
    >>> _ = orders.append({"sym": "A", "quote": 7, "news": 2})
    >>> _ = quotes.append({"sym": ["A", "A"], "seq": [7, 8], "px": [1.5, 1.6]})
    >>> _ = g.step()
    >>> len(o), len(q), len(n)
    (0, 0, 0)
    >>> _ = news.append({"sym": "A", "seq": 2, "text": "up"})
    >>> _ = g.step()
    >>> o.to_dicts(), q.to_dicts(), n.to_dict()["text"]
    ([{'sym': 'A', 'quote': 7, 'news': 2}], [{'sym': 'A', 'seq': 7, 'px': 1.5}], ['up'])

    Args:
        leader: the table that lists ids. Its rows count in their order: the last one of a key that can be shown is.
        followers: the other tables.
        by: the key columns, which all of them have. Null is a key like any other.
        ids: the columns of the leader, one for each follower.
        id: the column of ids of all followers, or of each.

    Returns:
        The table of the leader's rows, one a key, and one for each follower.

    Raises:
        ColumnNotFoundError, TypeMismatchError, InvalidOperationError: as in `sync_filter`.
    """
    instance(leader, "sync_to_leader", "leader", "Table", "a table")
    each = _tables(followers, "sync_to_leader", "followers")
    wanted = _ids(ids, len(each), "sync_to_leader", "ids", "followers", all_of_them=False)
    own = _ids(id, len(each), "sync_to_leader", "id", "followers")
    keys = names_of([by], "sync_to_leader")
    options = {"keys": keys, "ids": list(zip(wanted, own, strict=True))}
    tables = [leader, *each]
    return [made("sync_to_leader", {"sync_leader": {**options, "which": at}}, *tables) for at in range(len(tables))]


def _tables(tables: Iterable[Table], operation: str, parameter: str) -> list[Table]:
    if is_table(tables):
        raise TypeError(f"{operation}: {parameter} is a list of tables, [a, b]")
    each: list[Table] = []
    for table in tables:
        instance(table, operation, f"each of the {parameter}", "Table", "a table")
        each.append(table)
    if not each:
        raise ValueError(f"{operation}: {parameter} is a list of at least one table")
    return each


def _ids(
    names: str | Sequence[str], many: int, operation: str, parameter: str, of: str, *, all_of_them: bool = True
) -> list[str]:
    """The column of ids of each table."""
    wanted: Iterable[str] = [names] * (many if all_of_them else 1) if isinstance(names, str) else names
    each: list[str] = []
    for name in wanted:
        if not isinstance(name, str):
            raise TypeError(
                f"{operation}: {parameter} is the name of a column, or one for each table, not {named(name)}"
            )
        encodable(name, operation)
        each.append(name)
    if len(each) != many:
        raise ValueError(f"{operation}: {parameter} names {len(each)} columns for {many} {of}")
    return each
