"""Joins by order: the nearest row of another table, or what its rows in a range come to."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal

from tickframe import _native
from tickframe.arguments import check_all
from tickframe.bounds import held, row_bounds
from tickframe.describe import short
from tickframe.durations import distance
from tickframe.given import given
from tickframe.group_by import aggregates
from tickframe.handles import itself, made, table_of
from tickframe.names import names_of, pair, pairs

if TYPE_CHECKING:
    import datetime as _dt
    from collections.abc import Iterable

    from tickframe._native import Table as NativeTable
    from tickframe.arguments import OnError
    from tickframe.bounds import WhenManyHeld
    from tickframe.expr import Expr
    from tickframe.joins import Frame
    from tickframe.names import Names
    from tickframe.table import Table

__all__: list[str] = []

# A column, or two with a comparison between them.
_COMPARED = re.compile(r"([^<>=]*)(<=|>=|[<>=]*)(.*)", re.DOTALL)
# How many ends a range has.
_ENDS = 2

# What stands between the names of a range.
_SIGNS = re.compile(r"(<-|->|<=|>=|<|>)")


@check_all
class InOrder:
    """What `Table` has of joins by order."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: NativeTable

    def join_asof(
        self,
        other: Table | Frame,
        on: str | None = None,
        *,
        left_on: str | None = None,
        right_on: str | None = None,
        by: Names | None = None,
        by_left: Names | None = None,
        by_right: Names | None = None,
        strategy: Literal["backward", "forward", "nearest"] = "backward",
        tolerance: float | str | _dt.timedelta | None = None,
        allow_exact_matches: bool = True,
        joins: Names | None = None,
        suffix: str = "_right",
        state_ttl: float | str | _dt.timedelta | None = None,
        max_rows: int | None = None,
        when_full: WhenManyHeld = "evict",
    ) -> Table:
        """All rows of this table, each with the right row nearest in order.

        Args:
            other: the right table.
            on: the ordered column of both sides; or `left_on` and `right_on`.
            left_on: the ordered column of this table.
            right_on: the ordered column of `other`.
            by: columns that must be equal; ``"K"`` or ``"Left = Right"``.
            by_left: the same, with `by_right`, as two lists.
            by_right: see `by_left`.
            strategy: ``"backward"`` takes the last right row at or before, ``"forward"`` the first at or after,
                ``"nearest"`` the nearer, at equal distance the later.
            tolerance: greatest distance, inclusive. Of times a timedelta, a text such as ``"2h"``, or a number of seconds;
                of dates it is of whole days (``"2d"``); of numbers a number.
            allow_exact_matches: whether an equal value matches.
            joins: right columns, ``"C"`` or ``"New = Old"``; all but the keys without it.
            suffix: appended to a right name that this table has too.
            state_ttl: how long rows are held, as in `join`.
            max_rows: how many rows of each live table are held, as in `join`.
            when_full: as in `join`.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: stamps or keys that do not compare; a tolerance that is no distance between such stamps.
            ValueError: a tolerance below 0, or one that is not finite.
        """
        right = given("join_asof", "the other side", other)
        bounds = row_bounds("join_asof", state_ttl, max_rows, when_full)
        left, right = held("join_asof", bounds, itself(self), right)
        options = _nearest_in_order(
            "join_asof",
            on,
            (left_on, right_on),
            (by, by_left, by_right),
            strategy,
            tolerance,
            joins,
            allow_exact_matches=allow_exact_matches,
            suffix=suffix,
        )
        return made("join_asof", {"asof_join": options}, left, right)

    def join_asof_now(
        self,
        other: Table | Frame,
        on: str | None = None,
        *,
        left_on: str | None = None,
        right_on: str | None = None,
        by: Names | None = None,
        by_left: Names | None = None,
        by_right: Names | None = None,
        strategy: Literal["backward", "forward", "nearest"] = "backward",
        tolerance: float | str | _dt.timedelta | None = None,
        allow_exact_matches: bool = True,
        joins: Names | None = None,
        suffix: str = "_right",
    ) -> Table:
        """`join_asof` that answers each row once: it keeps what it met in the step in which it came.

        What the rows of `other` do later does not reach it. It is answered again where its own value or key changes.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> trades, quotes = tf.append_table({"t": int}, graph=g), tf.append_table({"t": int, "bid": float}, graph=g)
        >>> priced = trades.join_asof_now(quotes, on="t")
        >>> for table, row in [(quotes, {"t": 1, "bid": 1.0}), (trades, {"t": 5}), (quotes, {"t": 4, "bid": 2.0}), (trades, {"t": 6})]:
        ...     _ = table.append(row)
        ...     _ = g.step()
        >>> priced["bid"].to_list()
        [1.0, 2.0]

        Args:
            other: as in `join_asof`, like all that follow.
            on: see there.
            left_on: see there.
            right_on: see there.
            by: see there.
            by_left: see there.
            by_right: see there.
            strategy: see there.
            tolerance: see there.
            allow_exact_matches: see there.
            joins: see there.
            suffix: see there.
        """
        right = given("join_asof_now", "the other side", other)
        options = _nearest_in_order(
            "join_asof_now",
            on,
            (left_on, right_on),
            (by, by_left, by_right),
            strategy,
            tolerance,
            joins,
            allow_exact_matches=allow_exact_matches,
            suffix=suffix,
        )
        return made("join_asof_now", {"join_now": {"asof": options}}, self, right)

    def aj(self, other: Table | Frame, on: Names, joins: Names | None = None) -> Table:
        """`join_asof` as Deephaven writes it: each row with the last right row at or before it.

        >>> import tickframe as tf
        >>> trades = tf.table({"sym": ["A", "A"], "at": [3, 8]})
        >>> quotes = tf.table({"sym": ["A", "A"], "time": [1, 8], "bid": [1.0, 1.5]})
        >>> trades.aj(quotes, on="sym, at >= time", joins="bid").to_dict()["bid"]
        [1.0, 1.5]
        >>> trades.aj(quotes, on=["sym", "at > time"], joins="bid").to_dict()["bid"]
        [1.0, 1.0]

        Args:
            other: the right table.
            on: key columns, ``"K"`` or ``"Left = Right"``, and last the ordered one: ``"T"``, ``"T >= U"`` or ``"T > U"``. One
                text may name them all, with commas between them.
            joins: right columns, ``"C"`` or ``"New = Old"``; all but the keys without it.
        """
        return _as_of("aj", self, other, on, joins, "backward", (">=", ">"))

    def raj(self, other: Table | Frame, on: Names, joins: Names | None = None) -> Table:
        """`join_asof` as Deephaven writes it: each row with the first right row at or after it, of equal times the last.

        >>> import tickframe as tf
        >>> trades = tf.table({"sym": ["A", "A"], "at": [3, 8]})
        >>> quotes = tf.table({"sym": ["A", "A"], "time": [3, 9], "bid": [1.0, 1.5]})
        >>> trades.raj(quotes, on="sym, at <= time", joins="bid").to_dict()["bid"]
        [1.0, 1.5]
        >>> trades.raj(quotes, on=["sym", "at < time"], joins="bid").to_dict()["bid"]
        [1.5, 1.5]

        Args:
            other: the right table.
            on: as in `aj`; the ordered column is ``"T"``, ``"T <= U"`` or ``"T < U"``.
            joins: as in `aj`.
        """
        return _as_of("raj", self, other, on, joins, "forward_last", ("<=", "<"))

    def range_join(
        self,
        other: Table | Frame,
        on: Names,
        aggs: Expr | Iterable[Expr | Iterable[Expr]],
        *,
        on_error: OnError = "fail",
        state_ttl: float | str | _dt.timedelta | None = None,
        max_rows: int | None = None,
        when_full: WhenManyHeld = "evict",
    ) -> Table:
        """All rows of this table, each with aggregates of the rows of `other` that lie in its range, as both tables change.

        >>> import tickframe as tf
        >>> shifts = tf.table({"shop": ["west", "west", "east"], "begin": [8, 12, 8], "end": [12, 20, 20]})
        >>> sales = tf.table({"shop": ["west", "west", "west", "east"], "at": [9, 11, 12, 13], "price": [1.0, 2.0, 4.0, 8.0]})
        >>> sums = [tf.col("price").sum().alias("total"), tf.agg.group("times = at")]
        >>> shifts.range_join(sales, on="shop, begin <= at < end", aggs=sums).to_dicts()[0]
        {'shop': 'west', 'begin': 8, 'end': 12, 'total': 3.0, 'times': [9, 11]}

        Rows of `other` stand in the order of their values, equal ones in that of the table: so are lists, ``first`` and
        ``last``. A null bound is no bound. A range whose begin is after its end, or NaN, has null aggregates; one without
        rows has those of no rows: a sum of 0, an empty list. Rows of `other` whose value is null or NaN are in no range, and
        a null key matches nothing.

        Args:
            other: the right table.
            on: key columns, ``"K"`` or ``"Left = Right"``, and last the range: ``"begin <= x < end"``, each end with ``<`` or
                ``<=``, or one end alone, ``"begin <= x"`` or ``"end > x"``. With an arrow before or behind, ``"<- begin <= x <= end ->"``, that
                end takes the nearest row beyond it too, where no row stands exactly on it. One text may name them all, with
                commas between them.
            aggs: aggregates of columns of `other`, of `tf.agg` or expressions, and expressions of such.
            on_error: what becomes of rows whose aggregated value cannot be computed: `"fail"`, `"null"` or `"drop"`.
            state_ttl: how long rows are held, as in `join`.
            max_rows: how many rows of each live table are held, as in `join`.
            when_full: as in `join`.

        Raises:
            ColumnNotFoundError: an unknown column.
            DuplicateError: an aggregate with the name of a column of this table.
            TypeMismatchError: keys, or bounds and values, that do not compare.
            ValueError: a range that is not written so.
        """
        right = given("range_join", "the other side", other)
        names = names_of(on.split(",") if isinstance(on, str) else [on], "range_join")
        if not names:
            raise ValueError("range_join: on names a range, at least")
        how = {"by": pairs(names[:-1], "range_join"), **_range(names[-1])}
        if aggs is None:
            raise TypeError("range_join: aggs is an aggregate or a list of them, such as tf.len(), not None")
        made_of = aggregates("range_join", right, [aggs], {})
        bounds = row_bounds("range_join", state_ttl, max_rows, when_full)
        left, right = held("range_join", bounds, itself(self), right)
        return table_of(
            _native.range_join("range_join", left._native, right._native, json.dumps(how), made_of, on_error)
        )


def _nearest_in_order(
    operation: str,
    on: str | None,
    both: tuple[str | None, str | None],
    keys_of: tuple[Names | None, Names | None, Names | None],
    strategy: str,
    tolerance: float | str | _dt.timedelta | None,
    joins: Names | None,
    *,
    allow_exact_matches: bool,
    suffix: str,
) -> dict[str, object]:
    """The options of an as-of join as plans write them; `both`: `left_on` and `right_on`, `keys_of`: `by` and its like."""
    (left_on, right_on), (by, by_left, by_right) = both, keys_of
    if on is not None:
        if left_on is not None or right_on is not None:
            raise TypeError(f"{operation}: give on, or left_on and right_on, not both")
        stamp = pair(*names_of([on], operation))
    elif left_on is not None and right_on is not None:
        stamp = (left_on, right_on)
    else:
        raise TypeError(f"{operation}: give on, or left_on and right_on")
    if strategy not in {"backward", "forward", "nearest"}:
        raise ValueError(f'{operation}: strategy must be "backward", "forward" or "nearest", not {short(strategy)}')
    keys = [] if by is None else pairs(by, operation)
    if by_left is not None and by_right is not None:
        keys.extend(zip(names_of([by_left], operation), names_of([by_right], operation), strict=True))
    return {
        "on": stamp,
        "by": keys,
        "strategy": strategy,
        "tolerance": None if tolerance is None else _distance(tolerance, operation),
        "allow_exact_matches": allow_exact_matches,
        "joins": None if joins is None else pairs(joins, operation),
        "suffix": suffix,
    }


def _as_of(
    operation: str,
    left: InOrder,
    other: object,
    on: Names,
    joins: Names | None,
    strategy: str,
    comparisons: tuple[str, str],
) -> Table:
    """An as-of join whose last key is a comparison; the first one of `comparisons` takes equal times."""
    right = given(operation, "the other side", other)
    names = names_of(on.split(",") if isinstance(on, str) else [on], operation)
    if not names:
        raise ValueError(f"{operation}: on names an ordered column, at least")
    own, comparison, theirs = (part or "" for part in _COMPARED.fullmatch(names[-1]).groups())  # type: ignore[union-attr]
    if comparison not in {"", *comparisons} or not own.strip() or (comparison and not theirs.strip()):
        raise ValueError(
            f'{operation}: the last of on is the ordered column, "T", "T {comparisons[0]} U" or "T {comparisons[1]} U", '
            f"not {short(names[-1])}"
        )
    stamp = own.strip(), theirs.strip() or own.strip()
    options = {
        "on": stamp,
        "by": pairs(names[:-1], operation),
        "strategy": strategy,
        "tolerance": None,
        "allow_exact_matches": comparison != comparisons[1],
        "joins": None if joins is None else pairs(joins, operation),
        "suffix": None,
    }
    return made(operation, {"asof_join": options}, left, right)


def _range(text: str) -> dict[str, object]:
    """A range as plans write it."""
    parts = [part.strip() for part in _SIGNS.split(text)]
    before, behind = parts[:2] == ["", "<-"], parts[-2:] == ["->", ""]
    parts = parts[2 if before else 0 : -2 if behind else None]
    names, signs = parts[::2], parts[1::2]
    whole = len(names) == _ENDS + 1 and set(signs) <= {"<", "<="}
    half = len(names) == _ENDS and not (behind if signs[0][0] == "<" else before) and signs[0] not in {"<-", "->"}
    if not (whole or half) or any(not name or "=" in name for name in names):
        raise ValueError(
            'range_join: the last of on is a range, "begin < x < end" with < or <= at each end, "<- begin <= x <= end ->", or '
            f'one end of it, "begin <= x" or "end >= x", not {short(text)}'
        )
    lower = whole or signs[0][0] == "<"
    upper = whole or not lower
    how: dict[str, object] = {"on": names[1], "from": None, "to": None}
    ends = (
        ("from", lower, names[0], signs[0], before),
        ("to", upper, names[-1] if whole else names[0], signs[-1], behind),
    )
    for end, there, name, sign, arrow in ends:
        if not there:
            continue
        if arrow and len(sign) == 1:
            raise ValueError(f"range_join: an end with an arrow is written with {sign}=, not {sign}: {short(text)}")
        how[end] = {"column": name, "bound": "reaching" if arrow else "open" if len(sign) == 1 else "closed"}
    return how


def _distance(tolerance: float | str | _dt.timedelta, operation: str) -> dict[str, float]:
    """A tolerance as plans write it."""
    far, is_span = distance(tolerance, operation)
    kind = "span" if is_span else "whole" if isinstance(far, int) else "number"
    return {kind: far}
