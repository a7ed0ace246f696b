"""What tests of random calls share: rows that change at random, and a call beside polars, over static tables and live ones."""

from __future__ import annotations

import math
import os
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: How many times as many cases are drawn by hand: ``TICKFRAME_RANDOM=20``.
MORE = int(os.environ.get("TICKFRAME_RANDOM", "1"))
SEED = int(os.environ.get("TICKFRAME_SEED", "0"))


@dataclass
class Changing:
    """An input table that is changed at random, and the rows that it must have."""

    schema: dict[str, Any]
    makers: Mapping[str, Callable[[random.Random], Any]]
    draw: random.Random
    graph: tf.Graph
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The table, with some rows."""
        self.table = tf.input_table(tf.table(pl.DataFrame(schema=self.schema)).schema, graph=self.graph)
        self.add(self.draw.choice([0, 1, 2, 7, 20]))

    def cells(self) -> dict[str, Any]:
        return {name: make(self.draw) for name, make in self.makers.items() if name in self.schema}

    def frame(self, of: list[dict[str, Any]] | None = None) -> pl.DataFrame:
        rows = [row for _, row in sorted(self.rows.items())] if of is None else of
        return pl.DataFrame({name: [row[name] for row in rows] for name in self.schema}, schema=self.schema)

    def add(self, many: int) -> None:
        added = {key: self.cells() for key in sorted(self.draw.sample(range(60), many)) if key not in self.rows}
        if added:
            self.table.apply(added=(list(added), self.frame(list(added.values()))))
            self.rows.update(added)

    def change(self) -> None:
        """Some rows go, some get other cells, some come, at any place."""
        gone = [key for key in sorted(self.rows) if self.draw.random() < 0.15]
        if gone:
            self.table.apply(removed=gone)
        for key in gone:
            del self.rows[key]
        changed = [key for key in sorted(self.rows) if self.draw.random() < 0.2]
        if changed:
            for key in changed:
                cells = self.cells()
                self.rows[key] = {
                    name: cells[name] if self.draw.random() < 0.5 else cell for name, cell in self.rows[key].items()
                }
            self.table.apply(modified=(changed, self.frame([self.rows[key] for key in changed])))
        self.add(self.draw.choice([0, 0, 1, 3]))


def same(one: Any, other: Any, near: float = 1e-9) -> bool:
    """Whether two cells are the same, floats but for the order in which they are added up."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b, near) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name], near) for name in one)
    if (isinstance(one, float) and isinstance(other, (int, float))) or (
        isinstance(other, float) and isinstance(one, int)
    ):
        return math.isclose(one, other, rel_tol=near, abs_tol=near) or (math.isnan(one) and math.isnan(other))
    return bool(one == other) and (one is None) == (other is None)


def differ(ours: tf.Table, theirs: tf.Table | pl.DataFrame, near: float = 1e-9, *, ordered: bool = True) -> str:
    """What differs between two tables; nothing if they are the same."""
    names = list(theirs.columns)
    if ours.columns != names:
        return f"columns {ours.columns}, and not {names}"
    one, other = ours.rows(), theirs.rows()
    if not ordered:
        one, other = (sorted(rows, key=repr) for rows in (one, other))
    if len(one) != len(other):
        return f"{len(one)} rows, and not {len(other)}: {one}, and not {other}"
    for at, (mine, its) in enumerate(zip(one, other, strict=True)):
        if not same(list(mine), list(its), near):
            return f"row {at}: {dict(zip(names, mine, strict=True))}, and not {dict(zip(names, its, strict=True))}"
    return ""


def beside(
    sources: list[Changing],
    ours: Callable[..., tf.Table],
    theirs: Callable[..., pl.DataFrame],
    about: str,
    *,
    ordered: bool = True,
    steps: int = 3,
) -> None:
    """The call gives what polars gives; and over live tables what it gives over their rows, each time these have changed."""
    graph, draw = sources[0].graph, sources[0].draw
    graph.step()
    live = ours(*(source.table for source in sources))
    for step in range(steps):
        frames = [source.frame() for source in sources]
        static = ours(*map(tf.table, frames))
        why = f"{about}, step {step}, of {[frame.to_dicts() for frame in frames]}"
        found = differ(live, static, ordered=ordered)
        assert not found, f"live, where a static table has the other: {found}: {why}"
        found = differ(static, theirs(*frames), ordered=ordered)
        assert not found, f"{found}: {why}"
        for source in sources:
            if draw.random() < 0.8:
                source.change()
        graph.step()


def numbers(part: int, cases: int) -> list[int]:
    """Seeds of cases, each for itself."""
    draw = random.Random(SEED + part)
    return [draw.randrange(1 << 40) for _ in range(cases * MORE)]
