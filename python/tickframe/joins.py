"""Joins: the columns of another table, or the rows that have a match in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Protocol

from tickframe import _native
from tickframe.arguments import check_all, checked
from tickframe.bounds import held, row_bounds
from tickframe.describe import named, short
from tickframe.foreign import array_like
from tickframe.given import given
from tickframe.handles import is_table, itself, made, table_of
from tickframe.names import names_of, pairs

if TYPE_CHECKING:
    import datetime

    from tickframe._native import Table as NativeTable
    from tickframe.arguments import OnError
    from tickframe.bounds import WhenManyHeld
    from tickframe.expr import IntoExpr
    from tickframe.names import Names
    from tickframe.table import Table

__all__ = ["multi_join"]

_HOWS = ("inner", "left", "right", "full", "cross", "semi", "anti")

# What `validate` says, as plans write it.
_COUNTS = {
    None: "many_to_many",
    "m:m": "many_to_many",
    "m:1": "many_to_one",
    "1:m": "one_to_many",
    "1:1": "one_to_one",
}


class Frame(Protocol):
    """A frame of another library: polars, pandas, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


@check_all
class Joins:
    """What `Table` has of joins."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: NativeTable

    def join(
        self,
        other: Table | Frame,
        on: Names | None = None,
        how: Literal["inner", "left", "right", "full", "cross", "semi", "anti"] = "inner",
        *,
        left_on: Names | None = None,
        right_on: Names | None = None,
        suffix: str = "_right",
        nulls_equal: bool = False,
        validate: Literal["m:m", "m:1", "1:m", "1:1"] | None = None,
        coalesce: bool | None = None,
        state_ttl: float | str | datetime.timedelta | None = None,
        max_rows: int | None = None,
        when_full: WhenManyHeld = "evict",
    ) -> Table:
        """Every pair of a row of this table and a row of `other` that has its key, as both tables change.

        The pairs of a row stand together, in the order of the rows of `other`; in a right join those of a row of `other`,
        in the order of the rows of this table.

        >>> import tickframe as tf
        >>> orders = tf.table({"shop": ["west", "east", "west"], "id": [1, 2, 3]})
        >>> staff = tf.table({"shop": ["west", "west", "north"], "name": ["Ann", "Bob", "Cid"]})
        >>> orders.join(staff, on="shop").to_dict()
        {'shop': ['west', 'west', 'west', 'west'], 'id': [1, 1, 3, 3], 'name': ['Ann', 'Bob', 'Ann', 'Bob']}
        >>> orders.join(staff, on="shop", how="left").to_dict()["name"]
        ['Ann', 'Bob', None, 'Ann', 'Bob']
        >>> orders.join(staff, on="shop", how="right").to_dict()["id"]
        [1, 3, 1, 3, None]
        >>> orders.join(staff, on="shop", how="full", coalesce=True).to_dict()["shop"]
        ['west', 'west', 'east', 'west', 'west', 'north']
        >>> len(orders.join(staff, how="cross"))
        9

        Streams are joined within bounds:

        >>> g = tf.Graph()
        >>> asked, given = tf.blink_table({"id": int}, graph=g), tf.blink_table({"id": int, "answer": str}, graph=g)
        >>> met = asked.join(given, on="id", max_rows=2)
        >>> for id in [1, 2, 3]:
        ...     _ = asked.append({"id": id})
        ...     _ = g.step()
        >>> _ = given.append({"id": [1, 3], "answer": ["late", "in time"]})
        >>> _ = g.step()
        >>> met.rows(), met.counted["evicted_rows"]
        ([(3, 'in time')], 1)

        Args:
            other: the right table.
            on: key columns of both tables; or `left_on` and `right_on`. A cross join has none.
            how: ``"inner"`` has the pairs; ``"left"`` also the rows of this table that have no match, with nulls,
                ``"right"`` those of `other`, in the order of `other`, and ``"full"`` both, those of `other` last.
                ``"cross"`` pairs every row with every row. ``"semi"`` has this table's rows that have a match,
                ``"anti"`` those that have none: `where_in`, `where_not_in`.
            left_on: the key columns of this table.
            right_on: the key columns of `other`, as many.
            suffix: appended to a right name that this table has too.
            nulls_equal: whether a null key matches a null key.
            validate: how many rows a key may have on the left and on the right, where both sides have it: ``"m:m"``
                any, ``"m:1"``, ``"1:m"`` and ``"1:1"`` one on a side. A left join with ``"m:1"`` keeps the rows and the
                row keys of this table, as `natural_join` does.
            coalesce: whether a key has one column: the key columns of `other` are left out, in a right join those of this
                table, and in a full join a key is that of the side that is there. It has, unless this is False; in a
                full join only if this is True.
            state_ttl: how long rows of live tables are held: seconds, a timedelta or text such as ``"1h"``; until the `watermark` of their
                table is so much later than their time, where it has one, else for so long after they came, by the clock of the
                graph. Then they are let go: what they met leaves the result, and what is known of them is freed. A row of a blink
                table is held as any other, so that the result is no blink table.
            max_rows: how many rows of each live table are held; of more, the oldest are let go.
            when_full: with `max_rows`, whether rows are let go (``"evict"``), or the table fails with a ResourceError.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: keys that do not compare.
            MatchError: a key has more rows than `validate` says. Of a live table it is the cause of its failure.
            ResourceError: more pairs than there is memory for.
        """
        bounds = row_bounds("join", state_ttl, max_rows, when_full)
        left, right = held("join", bounds, itself(self), given("join", "the other side", other))
        if how not in _HOWS:
            one_of = ", ".join(f'"{word}"' for word in _HOWS[:-1])
            raise ValueError(
                f'join: how must be {one_of} or "{_HOWS[-1]}", not {short(how)}; rows in the order of time are joined by '
                "join_asof"
            )
        keys = _no_keys(on, left_on, right_on) if how == "cross" else _keys(on, left_on, right_on)
        if validate not in _COUNTS:
            raise ValueError(f'join: validate must be "m:m", "m:1", "1:m" or "1:1", not {short(validate)}')
        if how in {"semi", "anti"}:
            return _member("join", left, right, keys, inside=how == "semi", nulls_equal=nulls_equal)
        options = {
            "on": keys,
            "how": how,
            "suffix": suffix,
            "nulls_equal": nulls_equal,
            "validate": _COUNTS[validate],
            "coalesce": coalesce if coalesce is not None else how != "full",
        }
        return made("join", {"join": options}, left, right)

    def natural_join(
        self,
        other: Table | Frame,
        on: Names,
        joins: Names | None = None,
        *,
        suffix: str | None = None,
        multiple: Literal["error", "first", "last"] = "error",
        nulls_equal: bool = False,
        on_error: OnError = "fail",
        state_ttl: float | str | datetime.timedelta | None = None,
        max_rows: int | None = None,
        when_full: WhenManyHeld = "evict",
    ) -> Table:
        """All rows of this table, each with the columns of the one row of `other` that has its key, or nulls.

        Args:
            other: the right table.
            on: key columns, ``"K"`` or ``"Left = Right"``.
            joins: right columns, ``"C"`` or ``"New = Old"``; all but the keys without it.
            suffix: appended to a right name that this table has too; without it such a name is an error.
            multiple: what to do where a row meets several right rows: the table fails and names the key, or the
                first or last of them is taken.
            nulls_equal: whether a null key matches a null key.
            on_error: with ``multiple="error"``, what becomes of a row that meets several right rows: ``"fail"`` the
                table, the right columns are ``"null"``, or the row is left out (``"drop"``) as long as there are several.
                Both are told in `errors`.
            state_ttl: how long rows are held, as in `join`.
            max_rows: how many rows of each live table are held, as in `join`.
            when_full: as in `join`.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: keys that do not compare.
            MatchError: a row meets several right rows. Of a live table it is the cause of its failure.
        """
        right = given("natural_join", "the other side", other)
        left, right = held(
            "natural_join", row_bounds("natural_join", state_ttl, max_rows, when_full), itself(self), right
        )
        if multiple not in {"error", "first", "last"}:
            raise ValueError(f'natural_join: multiple must be "error", "first" or "last", not {short(multiple)}')
        if on_error not in {"fail", "null", "drop"}:
            raise ValueError(f'natural_join: on_error must be "fail", "null" or "drop", not {short(on_error)}')
        options = {
            "on": pairs(on, "natural_join"),
            "joins": None if joins is None else pairs(joins, "natural_join"),
            "suffix": suffix,
            "matches": multiple,
            "nulls_equal": nulls_equal,
            "on_error": on_error,
        }
        return made("natural_join", {"natural_join": options}, left, right)

    def exact_join(
        self,
        other: Table | Frame,
        on: Names,
        joins: Names | None = None,
        *,
        suffix: str | None = None,
        nulls_equal: bool = False,
        state_ttl: float | str | datetime.timedelta | None = None,
        max_rows: int | None = None,
        when_full: WhenManyHeld = "evict",
    ) -> Table:
        """All rows of this table, each with the columns of the one row of `other` that has its key.

        A `natural_join` in which every row has exactly one match, at the end of every step. Rows of `other` that no row
        meets do not matter.

        >>> import tickframe as tf
        >>> orders = tf.table({"shop": ["west", "east"], "id": [1, 2]})
        >>> shops = tf.table({"shop": ["east", "west", "north"], "manager": ["Ann", "Bob", "Cid"]})
        >>> orders.exact_join(shops, on="shop").to_dict()["manager"]
        ['Bob', 'Ann']

        Args:
            other: the right table.
            on: key columns, ``"K"`` or ``"Left = Right"``.
            joins: right columns, ``"C"`` or ``"New = Old"``; all but the keys without it.
            suffix: appended to a right name that this table has too; without it such a name is an error.
            nulls_equal: whether a null key matches a null key.
            state_ttl: how long rows are held, as in `join`. A row whose match was let go before it has none, which is an error.
            max_rows: how many rows of each live table are held, as in `join`.
            when_full: as in `join`.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: keys that do not compare.
            MatchError: a row meets no right row, or several. Of a live table it is the cause of its failure.
        """
        right = given("exact_join", "the other side", other)
        options = {
            "on": pairs(on, "exact_join"),
            "joins": None if joins is None else pairs(joins, "exact_join"),
            "suffix": suffix,
            "matches": "one",
            "nulls_equal": nulls_equal,
        }
        left, right = held("exact_join", row_bounds("exact_join", state_ttl, max_rows, when_full), itself(self), right)
        return made("exact_join", {"natural_join": options}, left, right)

    def where_in(self, set_table: Table | Frame, cols: Names, *, nulls_equal: bool = False) -> Table:
        """The rows whose key is among the keys of `set_table`, as both change.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", None], "x": [1, 2, 3]})
        >>> watched = tf.table({"name": ["b", "c"]})
        >>> t.where_in(watched, "k = name").to_dicts()
        [{'k': 'b', 'x': 2}]
        >>> t.where_not_in(watched, "k = name").to_dict()["x"]
        [1, 3]

        Args:
            set_table: the table of keys; how often it has one does not matter.
            cols: the key columns, ``"K"`` or ``"Left = Right"``.
            nulls_equal: whether a null key is among keys that have null; without it null is in no set.

        Raises:
            ColumnNotFoundError: an unknown column, of this table or of `set_table`.
            TypeMismatchError: keys of types that do not compare.
        """
        keys, others = _set("where_in", set_table, cols)
        return _member("where_in", self, others, keys, inside=True, nulls_equal=nulls_equal)

    def where_not_in(self, set_table: Table | Frame, cols: Names, *, nulls_equal: bool = False) -> Table:
        """The rows that `where_in` leaves out. A null key has no match, so its row stays; ``~is_in`` drops it.

        Args:
            set_table: as in `where_in`.
            cols: as in `where_in`.
            nulls_equal: as in `where_in`.
        """
        keys, others = _set("where_not_in", set_table, cols)
        return _member("where_not_in", self, others, keys, inside=False, nulls_equal=nulls_equal)

    def join_now(
        self,
        other: Table | Frame,
        on: Names,
        joins: Names | None = None,
        *,
        suffix: str | None = None,
        multiple: Literal["error", "first", "last"] = "error",
        nulls_equal: bool = False,
    ) -> Table:
        """`natural_join` that answers each row once: it keeps the columns of `other` as they were when it came.

        What the rows of `other` do later does not reach it. It is answered again where its own key changes.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> orders = tf.append_table({"sym": str}, graph=g)
        >>> prices = tf.keyed_table({"sym": str, "price": float}, key="sym", graph=g)
        >>> bought = orders.join_now(prices, on="sym")
        >>> for price in [1.0, 2.0]:
        ...     _ = prices.upsert({"sym": "A", "price": price})
        ...     _ = orders.append({"sym": "A"})
        ...     _ = g.step()
        >>> bought["price"].to_list()
        [1.0, 2.0]

        Args:
            other: the right table.
            on: key columns, ``"K"`` or ``"Left = Right"``.
            joins: right columns, ``"C"`` or ``"New = Old"``; all but the keys without it.
            suffix: appended to a right name that this table has too; without it such a name is an error.
            multiple: what to do where a row meets several right rows: the table fails and names the key, or the first
                or last of them is taken.
            nulls_equal: whether a null key matches a null key.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: keys that do not compare.
            MatchError: a row meets several right rows as it comes. Of a live table it is the cause of its failure.
        """
        right = given("join_now", "the other side", other)
        if multiple not in {"error", "first", "last"}:
            raise ValueError(f'join_now: multiple must be "error", "first" or "last", not {short(multiple)}')
        options = {
            "on": pairs(on, "join_now"),
            "joins": None if joins is None else pairs(joins, "join_now"),
            "suffix": suffix,
            "matches": multiple,
            "nulls_equal": nulls_equal,
        }
        return made("join_now", {"join_now": {"natural": options}}, self, right)

    def join_where(
        self,
        other: Table | Frame,
        *predicates: IntoExpr | Iterable[IntoExpr],
        suffix: str = "_right",
        on_error: OnError = "fail",
        state_ttl: float | str | datetime.timedelta | None = None,
        max_rows: int | None = None,
        when_full: WhenManyHeld = "evict",
    ) -> Table:
        """Every pair of a row of this table and a row of `other` for which every predicate is true, as both tables change.

        >>> import tickframe as tf
        >>> orders = tf.table({"sym": ["A", "B"], "limit": [10.0, 20.0]})
        >>> quotes = tf.table({"sym": ["A", "A", "B"], "ask": [9.0, 11.0, 19.0]})
        >>> fits = [tf.col("sym") == tf.col("sym_right"), tf.col("ask") <= tf.col("limit")]
        >>> orders.join_where(quotes, *fits).to_dict()
        {'sym': ['A', 'B'], 'limit': [10.0, 20.0], 'sym_right': ['A', 'B'], 'ask': [9.0, 19.0]}

        Columns of both tables that must be equal are the keys of a `join`. A column of one table that is compared with columns of
        the other (``begin <= at``, ``at < end``) is looked up in an order, and only the pairs within these bounds are made. The rest of
        the predicates filters the pairs. Without such columns all pairs of both tables are looked at and kept: where they are
        more than there is memory for, that is refused. To aggregate what lies within bounds, `range_join` makes no pairs.

        Args:
            other: the right table.
            *predicates: Boolean expressions over the columns of both tables; a bare string is a Boolean column.
            suffix: appended to a right name that this table has too, in the predicates as in the result.
            on_error: what becomes of pairs whose predicate cannot be computed: `"fail"`, or left out with `"null"` or `"drop"`.
            state_ttl: how long rows are held, as in `join`.
            max_rows: how many rows of each live table are held, as in `join`.
            when_full: as in `join`.

        Raises:
            ColumnNotFoundError: an unknown column.
            DuplicateError: a right name that this table has with the suffix, too.
            TypeMismatchError: a predicate that is not Boolean.
            InvalidOperationError: a predicate that reads other rows than the two of a pair.
            ResourceError: more pairs than there is memory for.
        """
        right = given("join_where", "the other side", other)
        own, others = (table_of(_native.without_rows(table._native)) for table in (self, right))
        options = {
            "on": [],
            "how": "cross",
            "suffix": suffix,
            "nulls_equal": False,
            "validate": "many_to_many",
            "coalesce": False,
        }
        pairs_of = made("join_where", {"join": options}, own, others)
        tests = pairs_of._expressions("join_where", predicates, {})
        bounds = row_bounds("join_where", state_ttl, max_rows, when_full)
        left, right = held("join_where", bounds, itself(self), right)
        return table_of(_native.join_where("join_where", left._native, right._native, tests, suffix, on_error))


@checked
def multi_join(
    inputs: Iterable[Table | Frame],
    on: Names,
    *,
    suffix: str | None = None,
    nulls_equal: bool = False,
    state_ttl: float | str | datetime.timedelta | None = None,
    max_rows: int | None = None,
    when_full: WhenManyHeld = "evict",
) -> Table:
    """One row for each key that any of several tables has, with the columns of the row that each table has for it.

    >>> import tickframe as tf
    >>> bids = tf.table({"sym": ["A", "B"], "bid": [1.0, 2.0]})
    >>> asks = tf.table({"sym": ["B", "C"], "ask": [2.5, 3.5]})
    >>> tf.multi_join([bids, asks], on="sym").to_dicts()
    [{'sym': 'A', 'bid': 1.0, 'ask': None}, {'sym': 'B', 'bid': 2.0, 'ask': 2.5}, {'sym': 'C', 'bid': None, 'ask': 3.5}]

    Keys stand in the order in which they came first, those of the first table before those of the second where they came
    together. A key goes when no table has it any more; one that returns is a new row at the end. Numbers of different types
    meet in the type that holds both.

    Args:
        inputs: the tables.
        on: key columns, which all of them have.
        suffix: appended to a column that an earlier table has too and that is no key; without it such a name is an error.
        nulls_equal: whether a null key matches a null key. Without it a null key is a row that no table has columns for.
        state_ttl: how long rows are held, as in `Table.join`.
        max_rows: how many rows of each live table are held, as in `Table.join`.
        when_full: as in `Table.join`.

    Raises:
        ColumnNotFoundError: a table without one of the keys.
        DuplicateError: a column that two tables have and that is no key, without a suffix or with it.
        TypeMismatchError: keys that do not compare.
        MatchError: a table has several rows of a key. Of a live table it is the cause of its failure.
        InvalidOperationError: blink tables and nothing else.
    """
    several: object = inputs
    if is_table(several):
        raise TypeError("multi_join: give a list of tables, multi_join([a, b], on=...)")
    if not isinstance(several, Iterable) or isinstance(several, (str, bytes, dict)):
        raise TypeError(f"multi_join: inputs is a list of tables, not {named(several)}")
    each = [given("multi_join", "each of the inputs", one) for one in several]
    if not each:
        raise ValueError("multi_join: give at least one table")
    options = {"on": names_of([on], "multi_join"), "nulls_equal": nulls_equal, "suffix": suffix}
    bounds = row_bounds("multi_join", state_ttl, max_rows, when_full)
    return made("multi_join", {"multi_join": options}, *held("multi_join", bounds, *each))


def _set(operation: str, set_table: object, cols: Names) -> tuple[list[tuple[str, str]], Table]:
    """The keys and the table of a set."""
    if isinstance(set_table, (str, list, tuple, set, frozenset, range)) or array_like(set_table):
        raise TypeError(f"{operation}: the set is a table, not {named(set_table)}; a list goes to is_in")
    others = given(operation, "the other side", set_table)
    return pairs(cols, operation), others


def _member(
    operation: str, rows: Joins, others: Table, keys: list[tuple[str, str]], *, inside: bool, nulls_equal: bool
) -> Table:
    """The rows whose key is in the set, or those whose key is not."""
    options = {"on": keys, "member": "in" if inside else "not_in", "nulls_equal": nulls_equal}
    return made(operation, {"where_in": options}, rows, others)


def _no_keys(on: Names | None, left_on: Names | None, right_on: Names | None) -> list[tuple[str, str]]:
    """The key columns of a cross join."""
    if on is not None or left_on is not None or right_on is not None:
        raise TypeError("join: a cross join has every pair of rows; it takes no on, left_on or right_on")
    return []


def _keys(on: Names | None, left_on: Names | None, right_on: Names | None) -> list[tuple[str, str]]:
    """The key columns of `join`: names of both sides."""
    if on is not None:
        if left_on is not None or right_on is not None:
            raise TypeError("join: give on, or left_on and right_on, not both")
        names = names_of([on], "join")
        return list(zip(names, names, strict=True))
    if left_on is None or right_on is None:
        raise TypeError('join: give on, or left_on and right_on; how="cross" joins without keys')
    left, right = names_of([left_on], "join"), names_of([right_on], "join")
    if len(left) != len(right):
        raise ValueError(f"join: left_on has {len(left)} columns, right_on {len(right)}; give as many on both sides")
    return list(zip(left, right, strict=True))
