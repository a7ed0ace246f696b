"""Tables of random rows that change at random, by a seed: for tests of programs over live tables."""

from __future__ import annotations

import datetime as _dt
import decimal
import math
import random
import string
from typing import TYPE_CHECKING, Any

from tickframe import dtypes
from tickframe._native import RowSet
from tickframe.arguments import checked, count
from tickframe.constructors import table
from tickframe.describe import short
from tickframe.errors import TypeMismatchError
from tickframe.schema import Schema
from tickframe.sources import InputTable, input_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickframe.dtypes import DataType
    from tickframe.graph import Graph
    from tickframe.schema import SchemaLike
    from tickframe.sources import Token
    from tickframe.table import Table

__all__ = ["RandomTable", "random_rows", "random_table"]

_EPOCH = _dt.datetime(2000, 1, 1, tzinfo=_dt.UTC)
_MOST_KEYS = 1 << 40
_MOST_ROWS = 1_000_000
_WORDS = ["", "a", "A", "aa", "b", "beta", "Straße", "naïve", "long " * 9]


class _Dice:
    """Random cells: often alike, now and then at an edge of their type."""

    def __init__(self, seed: int, nulls: float) -> None:
        self._random = random.Random(seed)  # noqa: S311 - nothing is kept secret by it
        self._nulls = nulls

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def below(self, most: int) -> int:
        return self._random.randrange(most) if most > 0 else 0

    def sample(self, keys: list[int], many: int) -> list[int]:
        return sorted(self._random.sample(keys, min(many, len(keys))))

    def cell(self, make: Callable[[random.Random], object]) -> object:
        return None if self.chance(self._nulls) else make(self._random)


def _maker(kind: DataType, name: str) -> Callable[[random.Random], object]:
    """What draws a value of a type."""
    whole = _BOUNDS.get(str(kind))
    if whole is not None:
        low, high = whole
        edges = [0, 1, low, high]
        return lambda dice: dice.choice(edges) if dice.random() < 0.05 else dice.randint(max(low, -9), min(high, 9))
    if kind.is_float:
        floats = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.5]
        return lambda dice: dice.choice(floats) if dice.random() < 0.05 else dice.randint(-40, 40) / 4
    if kind == dtypes.Boolean:
        return lambda dice: dice.random() < 0.5
    if kind == dtypes.String:
        return lambda dice: dice.choice(_WORDS) if dice.random() < 0.3 else dice.choice(string.ascii_lowercase[:6])
    if kind == dtypes.Binary:
        return lambda dice: bytes(dice.randrange(256) for _ in range(dice.randrange(5)))
    if kind == dtypes.Date:
        return lambda dice: (_EPOCH + _dt.timedelta(days=dice.randrange(40))).date()
    if kind == dtypes.Time:
        return lambda dice: _dt.time(dice.randrange(24), dice.randrange(60))
    if isinstance(kind, dtypes.Datetime):
        return lambda dice: _stamp(kind, dice.randrange(600))
    if isinstance(kind, dtypes.Duration):
        return lambda dice: _dt.timedelta(seconds=dice.randrange(-600, 600))
    if isinstance(kind, dtypes.Decimal):
        precision, scale = (int(str(part)) for part in kind._spec[1:3])
        most = 10 ** min(precision, 4) - 1
        return lambda dice: decimal.Decimal(dice.randint(-most, most)).scaleb(-scale)
    if isinstance(kind, dtypes.List):
        inner = _maker(kind.inner, name)
        return lambda dice: [inner(dice) for _ in range(dice.randrange(4))]
    raise TypeMismatchError(f"random_table: the column {name!r} holds {kind}, of which no random values are drawn")


def _stamp(kind: dtypes.Datetime, seconds: int) -> _dt.datetime:
    moment = _EPOCH + _dt.timedelta(seconds=seconds)
    return moment.replace(tzinfo=None) if kind.zone is None else moment


_BOUNDS = {
    **{f"Int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}


def _makers(schema: SchemaLike) -> tuple[Schema, dict[str, Callable[[random.Random], object]]]:
    columns = Schema(schema)
    return columns, {name: _maker(kind, name) for name, kind in columns.items()}


def _rows(value: int, what: str) -> int:
    rows = count(value, what)
    if rows > _MOST_ROWS:
        raise ValueError(f"{what} must be at most {_MOST_ROWS}, for they are drawn one by one, not {short(rows)}")
    return rows


def _share(value: float, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} is a number between 0 and 1, not {short(value)}")
    if not 0 <= value <= 1:
        raise ValueError(f"{what} must be between 0 and 1, not {short(value)}")
    return float(value)


@checked
def random_rows(schema: SchemaLike, n: int, *, seed: int = 0, nulls: float = 0.1) -> Table:
    """A static table of `n` random rows: the same for the same arguments.

    >>> import tickframe as tf
    >>> one, other = (tf.testing.random_rows({"x": int, "s": str}, 100, seed=7) for _ in range(2))
    >>> len(one), one.to_dicts() == other.to_dicts()
    (100, True)

    Args:
        schema: a mapping from name to type, or anything with ``__arrow_c_schema__``.
        n: how many rows.
        seed: what decides them.
        nulls: the share of cells that are null, between 0 and 1.

    Raises:
        TypeMismatchError: a column of a type of which no values are drawn, such as a struct.
    """
    rows = _rows(n, "random_rows: n")
    columns, makers = _makers(schema)
    dice = _Dice(seed, _share(nulls, "random_rows: nulls"))
    return table(_cells(dice, makers, rows), schema=columns)


def _cells(dice: _Dice, makers: dict[str, Callable[[random.Random], object]], rows: int) -> dict[str, list[object]]:
    return {name: [dice.cell(make) for _ in range(rows)] for name, make in makers.items()}


class RandomTable(InputTable):
    """A live table that `change` adds rows to, removes, modifies and shifts at random. `random_table` makes one."""

    __slots__ = ("_changes", "_dice", "_keys", "_makers")

    _dice: _Dice
    _makers: dict[str, Callable[[random.Random], object]]
    _keys: list[int]
    _changes: int

    def change(self) -> Token:
        """Queue a random change: `Graph.step` shows it. The changes of a seed are the same each time.

        Each is one call of `InputTable.apply`, which fits what the calls before it leave: some rows go, some move to other keys, some
        get other cells, some come, at the end or in between. Now and then nothing changes, or everything goes.
        """
        dice, keys, many = self._dice, self._keys, self._changes
        removed = list(keys) if dice.chance(0.02) else dice.sample(keys, dice.below(many + 1))
        gone = set(removed)
        left = [key for key in keys if key not in gone]
        shifted = self._shift(left) if left and dice.chance(0.4) else []
        moved = [_moved(key, shifted) for key in left]
        modified = dice.sample(moved, dice.below(many + 1))
        there = set(moved)
        drawn = {self._key(moved) for _ in range(dice.below(many + 1))}
        added = sorted(drawn - there)
        changes: dict[str, Any] = {"removed": RowSet(removed), "shifted": shifted}
        if added:
            changes["added"] = (added, _cells(dice, self._makers, len(added)))
        if modified:
            some = {name: make for name, make in self._makers.items() if dice.chance(0.5)} or self._makers
            changes["modified"] = (modified, _cells(dice, some, len(modified)))
        token = self.apply(**changes)
        self._keys = sorted([*moved, *added])
        return token

    def _key(self, keys: list[int]) -> int:
        """A key behind all, or anywhere between."""
        end = keys[-1] + 1 if keys else 0
        return end + self._dice.below(4) if self._dice.chance(0.6) else self._dice.below(end + 2)

    def _shift(self, keys: list[int]) -> list[tuple[int, int, int]]:
        """A range of rows moves as far as there is room, up or down."""
        first = self._dice.below(len(keys))
        last = first + self._dice.below(len(keys) - first)
        if self._dice.chance(0.5):
            room = (keys[last + 1] if last + 1 < len(keys) else min(keys[last] + 9, _MOST_KEYS)) - keys[last] - 1
            delta = self._dice.below(max(room, 0) + 1)
        else:
            room = keys[first] - (keys[first - 1] + 1 if first else 0)
            delta = -self._dice.below(room + 1)
        return [(keys[first], keys[last], delta)] if delta else []


def _moved(key: int, shifted: list[tuple[int, int, int]]) -> int:
    return next((key + delta for first, last, delta in shifted if first <= key <= last), key)


@checked
def random_table(
    schema: SchemaLike,
    *,
    seed: int = 0,
    rows: int = 20,
    changes: int = 4,
    nulls: float = 0.1,
    graph: Graph | None = None,
    name: str | None = None,
) -> RandomTable:
    """A live table of random rows, and of random changes: adds, removals, modifications and shifts, all by its seed.

    What a program makes of a table must be the same whether it is kept up step by step or made of the rows as they are in the
    end. Such a table finds out:

    >>> import tickframe as tf
    >>> t = tf.testing.random_table({"k": str, "x": int}, seed=7, graph=tf.Graph())
    >>> _ = t.graph.step()
    >>> live = t.filter(tf.col("x") > 0).agg_by(tf.agg.sum_("x"), by="k")
    >>> for _ in range(50):
    ...     _ = t.change()
    ...     _ = t.graph.step()
    >>> once = t.snapshot().filter(tf.col("x") > 0).agg_by(tf.agg.sum_("x"), by="k")
    >>> live.sort("k").to_dicts() == once.sort("k").to_dicts()
    True

    Args:
        schema: a mapping from name to type, or anything with ``__arrow_c_schema__``.
        seed: what decides rows and changes.
        rows: how many rows it begins with. They are queued: `Graph.step` shows them.
        changes: how many rows a change adds, removes and modifies at most, each.
        nulls: the share of cells that are null, between 0 and 1.
        graph: where it lives; the default graph without it.
        name: its name as an input of plans; see `Plan`.

    Raises:
        TypeMismatchError: a column of a type of which no values are drawn, such as a struct.
    """
    many, most = _rows(rows, "random_table: rows"), _rows(changes, "random_table: changes")
    share = _share(nulls, "random_table: nulls")
    columns, makers = _makers(schema)
    made = input_table(columns, graph, name=name)
    kept = RandomTable(made._source, name)
    kept._dice, kept._makers, kept._changes = _Dice(seed, share), makers, most
    kept._keys = list(range(many))
    if many:
        kept.apply(added=(kept._keys, _cells(kept._dice, makers, many)))
    return kept
