"""All 22 queries of TPC-H as live tables of one graph, while orders come and go with their lines."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from tpch.queries import QUERIES, TABLES

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Live", "batches"]

MOVING = {"orders": ["o_orderkey"], "lineitem": ["l_orderkey", "l_linenumber"]}


class Batch:
    """Orders that go, by key, and orders that come, with their lines."""

    def __init__(self, gone: dict[str, pa.Table], come: dict[str, pa.Table]) -> None:
        self.gone, self.come = gone, come

    def into(self, database: Any) -> None:
        """Make the same change in DuckDB."""
        for name, keys in MOVING.items():
            database.register("gone", self.gone[name])
            database.register("come", self.come[name])
            same = " and ".join(f"{name}.{key} = gone.{key}" for key in keys)
            database.execute(f"delete from {name} using gone where {same}")
            database.execute(f"insert into {name} select * from come")
            database.unregister("gone")
            database.unregister("come")


def batches(tables: dict[str, pa.Table], share: float, seed: int) -> Iterator[Batch]:
    """Batches without end: a share of the orders goes with its lines, as many come under new keys.

    The specification leaves 24 of each 32 keys free for this. A new order is one of those there were, of another customer.
    """
    rng = np.random.default_rng(seed)
    orders, lines = tables["orders"], tables["lineitem"]
    first, keys = orders["o_orderkey"].to_numpy(), orders["o_orderkey"].to_numpy().copy()
    places = np.argsort(lines["l_orderkey"].to_numpy(), kind="stable")
    ordered = lines["l_orderkey"].to_numpy()[places]
    present = {int(key): (int(key), row) for row, key in enumerate(keys)}  # key: the order it is a copy of
    free = iter(rng.permutation(np.concatenate([first // 32 * 32 + gap for gap in range(8, 32)])))
    customers = orders["o_custkey"].to_numpy()
    many = max(1, round(share * len(first)))

    def lines_of(origin: int) -> np.ndarray:
        return places[np.searchsorted(ordered, origin) : np.searchsorted(ordered, origin, side="right")]

    def rows(chosen: list[tuple[int, int]]) -> tuple[pa.Table, pa.Table]:
        """Orders and lines under the keys of the first, copied of the orders of the second."""
        under, of = [key for key, _ in chosen], [present_row for _, present_row in chosen]
        picked = orders.take(pa.array(of)).set_column(0, "o_orderkey", pa.array(under, pa.int64()))
        parts = [lines_of(int(first[row])) for row in of]
        again = np.repeat(np.asarray(under, dtype=np.int64), [len(part) for part in parts])
        copied = lines.take(pa.array(np.concatenate(parts))).set_column(0, "l_orderkey", pa.array(again))
        return picked, copied

    while True:
        alive = np.fromiter(present, dtype=np.int64, count=len(present))
        leaving = [(int(key), present.pop(int(key))[1]) for key in rng.choice(alive, many, replace=False)]
        arriving = [(int(next(free)), int(row)) for row in rng.integers(0, len(first), many)]
        gone, come = rows(leaving), rows(arriving)
        others = pa.array(customers[rng.integers(0, len(first), many)])
        come = (come[0].set_column(come[0].column_names.index("o_custkey"), "o_custkey", others), come[1])
        present.update({key: (key, row) for key, row in arriving})
        keyed = [table.select(MOVING[name]) for name, table in zip(MOVING, gone, strict=True)]
        yield Batch(dict(zip(MOVING, keyed, strict=True)), dict(zip(MOVING, come, strict=True)))


class Live:
    """The queries over keyed tables of orders and lines, and static ones of what does not move."""

    def __init__(self, tables: dict[str, pa.Table], scale: float, numbers: list[int] | None = None) -> None:
        self.graph = tf.Graph()
        named = {name: tf.from_arrow(tables[name], name=name) for name in TABLES if name not in MOVING}
        self.sources = {
            name: tf.keyed_table(tables[name].schema, key=keys, graph=self.graph, name=name)
            for name, keys in MOVING.items()
        }
        for name, source in self.sources.items():
            source.upsert(tables[name])
        self.graph.step()
        given = SimpleNamespace(scale=scale, **named, **self.sources)
        chosen = numbers or list(QUERIES)
        self.answers = {number: QUERIES[number](given, tf) for number in chosen}

    def take(self, batch: Batch) -> None:
        """One step with all of a batch."""
        with self.graph.transaction():
            for name, source in self.sources.items():
                source.delete(batch.gone[name])
                source.upsert(batch.come[name])
        self.graph.step()
