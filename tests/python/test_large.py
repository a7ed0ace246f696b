"""Every operation over tables of thousands of rows, compared with polars after every step.

What small tables never reach is walked here: splits over threads, slices, probes, pages. `make large ROWS=5000000` runs it
over millions; `TICKFRAME_LARGE_ROWS`, `TICKFRAME_LARGE_STEPS` and `TICKFRAME_SEED` say the same to pytest.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tickframe as tf
from tickframe import col

if TYPE_CHECKING:
    from collections.abc import Callable

STAMP = pl.Datetime("ns", "UTC")
OURS = {
    pl.Int64: tf.Int64,
    pl.Int32: tf.Int32,
    pl.UInt16: tf.UInt16,
    pl.Float64: tf.Float64,
    pl.Float32: tf.Float32,
    pl.String: tf.String,
    pl.Binary: tf.Binary,
    pl.Boolean: tf.Boolean,
    pl.Date: tf.Date,
    STAMP: tf.Datetime("ns", "UTC"),
}
LEFT = {
    "id": pl.Int64,
    "k": pl.String,
    "g": pl.Int32,
    "u": pl.UInt16,
    "v": pl.Int64,
    "x": pl.Float64,
    "y": pl.Float32,
    "d": pl.Date,
    "t": STAMP,
    "b": pl.Boolean,
    "z": pl.Binary,
}
RIGHT = {"id": pl.Int64, "k": pl.String, "g": pl.Int32, "t": STAMP, "w": pl.Float64, "d2": pl.Date}


def seed() -> int:
    """Another run for each commit, the same for one."""
    if "TICKFRAME_SEED" in os.environ:
        return int(os.environ["TICKFRAME_SEED"])
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, check=False)
    return int(head.stdout[:12] or b"0", 16)


class Side:
    """A keyed table of ours and the same rows by hand, in the order in which they came."""

    def __init__(self, schema: dict[str, pl.DataType], graph: tf.Graph, random: np.random.Generator, keys: int) -> None:
        self.random, self.keys = random, keys
        self.frame = pl.DataFrame(schema=schema)
        self.table = tf.keyed_table({name: OURS[kind] for name, kind in schema.items()}, key="id", graph=graph)

    def rows(self, ids: np.ndarray) -> pl.DataFrame:
        """Random cells, a tenth of them null."""
        many, random = len(ids), self.random
        group = random.integers(0, self.keys, many)
        cells = {
            "id": ids,
            "k": [f"key {n}" if n % 2 else f"a longer key than fits into a view {n}" for n in group.tolist()],
            "g": random.integers(-50, 50, many),
            "u": random.integers(0, 1 << 16, many),
            "v": random.integers(-(1 << 40), 1 << 40, many),
            "x": random.integers(-(1 << 20), 1 << 20, many) / 64,
            "y": random.integers(-1000, 1000, many) / 8,
            "w": random.integers(-(1 << 20), 1 << 20, many) / 64,
            "d": random.integers(0, 20_000, many),
            "d2": random.integers(0, 20_000, many),
            # No two alike on one side: which of equal stamps is taken is said elsewhere.
            "t": (random.permutation(many) + ids.max(initial=0) * 1_000_000) * 1_000,
            "b": random.integers(0, 2, many) == 1,
            "z": [str(n).encode() * (n % 4) for n in group.tolist()],
        }
        schema = self.frame.schema
        frame = pl.DataFrame({name: cells[name] for name in schema}).with_columns(
            pl.col(name).cast(kind) for name, kind in schema.items() if kind != pl.Binary
        )
        absent = {name: pl.Series(random.random(many) < 0.1) for name in schema if name not in {"id", "t"}}
        return frame.with_columns(
            pl.when(~absent[name]).then(pl.col(name)).alias(name) for name in schema if name in absent
        )

    def step(self, rows: int) -> None:
        """Some rows come, some change, some go."""
        known = self.frame["id"].to_numpy()
        fresh = np.arange(rows) + (int(known.max()) + 1 if len(known) else 0)
        changed = self.random.choice(known, min(len(known), int(self.random.integers(0, rows))), replace=False)
        gone = self.random.choice(known, int(self.random.integers(0, len(known) // 4 + 1)), replace=False)
        changed = np.setdiff1d(changed, gone)
        self.table.delete(pl.DataFrame({"id": gone}))
        self.frame = self.frame.filter(~pl.col("id").is_in(gone.tolist()))
        if len(changed):
            cells = self.rows(changed)
            self.table.upsert(cells)
            self.frame = self.frame.update(cells, on="id", how="left", include_nulls=True, maintain_order="left")
        cells = self.rows(fresh)
        self.table.upsert(cells)
        self.frame = pl.concat([self.frame, cells])


def aggregates(of: Callable[[str], object]) -> list:
    """The same of an expression library that has columns by name."""
    return [
        of("v").sum().alias("v_sum"),
        of("u").sum().alias("u_sum").cast(tf.UInt64 if of is col else pl.UInt64),
        of("v").mean().alias("v_mean"),
        of("x").sum().alias("x_sum"),
        of("x").mean().alias("x_mean"),
        of("x").std().alias("x_std"),
        of("y").min().alias("y_min"),
        of("y").max().alias("y_max"),
        of("d").min().alias("d_min"),
        of("k").max().alias("k_max"),
        of("v").first().alias("v_first"),
        of("t").last().alias("t_last"),
        of("x").median().alias("x_median"),
        of("z").n_unique().alias("z_distinct").cast(tf.Int64 if of is col else pl.Int64),
        of("b").count().alias("b_count").cast(tf.Int64 if of is col else pl.Int64),
    ]


def alike(left: Any, c: Callable[[str], Any]) -> dict[str, Any]:
    """What both libraries spell alike."""
    return {
        "filter": left.filter((c("v") > 0) & (c("x") < 5000)),
        "filter_text": left.filter(c("k") == "key 7"),
        "neighbours": left.with_columns(a=c("v").shift(1), c=c("v") - c("v").shift(-1)),
        "shift_over": left.with_columns(a=c("v").shift(1).over("g"), c=(c("x") - c("x").shift(-2)).over("k", "b")),
        "group": left.group_by("g").agg(*aggregates(c)),
        "group_text": left.group_by("k", "b").agg(*aggregates(c)),
        "drop": left.drop("k", "x"),
        "rename": left.rename({"v": "renamed"}),
        "head": left.head(700),
        "tail": left.tail(700),
        "slice": left.slice(100, 3000),
    }


def operations(left: tf.Table, right: tf.Table) -> dict[str, tf.Table]:
    """Every operation, named as what polars makes of it."""
    once = right.last_by("k")
    return alike(left, col) | {
        "with_columns": left.with_columns(a=col("v") * 2 + col("g"), c=col("x") / 4 + col("y")),
        "update_view": left.update_view((col("v") + 1).alias("a")),
        "lazy_update": left.lazy_update((col("g") + 1).alias("a")),
        "select": left.select("k", a=col("v") + 1),
        "concat": tf.concat([left, left.filter(col("b"))]),
        "whole": left.agg_by(aggregates(col)),
        "over": left.with_columns(col("v").sum().over("g").alias("a"), col("x").max().over("k").alias("c")),
        "unique": left.select("g", "b").unique(),
        "first_by": left.first_by("k"),
        "last_by": left.last_by("g"),
        "sort": left.sort("k", "v", descending=[False, True]),
        "sort_number": left.sort("x"),
        "join": left.join(once.select("k", "w", "d2"), on="k"),
        "join_left": left.select("k", "v").join(right.select("k", "w"), on="k", how="left"),
        "join_right": left.select("k", "v").join(right.select("k", "w"), on="k", how="right"),
        "join_full": left.select("k", "v").join(right.select("k", "w"), on="k", how="full"),
        "reverse": left.reverse(),
        "explode": left.select("v", l=col("k").str.split("1")).explode("l"),
        "flatten": left.filter(col("b")).flatten(),
        "natural_join": left.natural_join(once, on="k", joins=["w", "d2"]),
        "where_in": left.where_in(right.filter(col("w") > 0), ["g", "k"]),
        "where_not_in": left.where_not_in(right.filter(col("w") > 0), ["g"]),
        "join_asof": left.join_asof(right, on="t", by="g", joins=["w"]),
        "join_asof_forward": left.join_asof(right, on="t", strategy="forward", joins=["w", "d2"]),
        "chain": left.filter(col("b"))
        .natural_join(once, on="k", joins=["w"])
        .group_by("g")
        .agg(col("w").sum().alias("w"), col("v").max().alias("v"))
        .sort("g"),
    }


def expected(left: pl.DataFrame, right: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """What polars makes of the same rows, anew."""
    c = pl.col
    once = right.group_by("k", maintain_order=True).last()
    # Nulls never match: polars agrees but where it is asked for members.
    positive = right.filter(c("w") > 0)
    stamps = right.sort("t")
    joined = left.join(once.drop_nulls("k").select("k", "w", "d2"), on="k", how="left", maintain_order="left")
    rows = left.with_row_index("row")
    asof = rows.sort("t").join_asof(
        stamps.drop_nulls("g").select("g", "t", "w"), on="t", by="g", check_sortedness=False
    )
    forward = rows.sort("t").join_asof(stamps.select("t", "w", "d2"), on="t", strategy="forward")
    return alike(left, c) | {
        "with_columns": left.with_columns(a=c("v") * 2 + c("g"), c=c("x") / 4 + c("y").cast(pl.Float64)),
        "update_view": left.with_columns(a=c("v") + 1),
        "lazy_update": left.with_columns(a=c("g") + 1),
        "select": left.select("k", a=c("v") + 1),
        "concat": pl.concat([left, left.filter(c("b"))]),
        "whole": left.select(*aggregates(c)),
        "over": left.with_columns(c("v").sum().over("g").alias("a"), c("x").max().over("k").alias("c")),
        "unique": left.select("g", "b").unique(),
        "first_by": left.unique("k", keep="first"),
        "last_by": left.unique("g", keep="last"),
        "sort": left.sort("k", "v", descending=[False, True], maintain_order=True),
        "sort_number": left.sort("x", maintain_order=True),
        "join": left.join(once.select("k", "w", "d2"), on="k", maintain_order="left_right"),
        "join_left": left.select("k", "v").join(
            right.select("k", "w"), on="k", how="left", maintain_order="left_right"
        ),
        "join_right": left.select("k", "v").join(
            right.select("k", "w"), on="k", how="right", maintain_order="right_left"
        ),
        "join_full": left.select("k", "v").join(
            right.select("k", "w"), on="k", how="full", maintain_order="left_right"
        ),
        "reverse": left.reverse(),
        "explode": left.select("v", l=c("k").str.split("1")).explode("l"),
        "flatten": left.filter(c("b")),
        "natural_join": joined,
        "where_in": left.join(positive, on=["g", "k"], how="semi", maintain_order="left"),
        "where_not_in": left.join(positive, on=["g"], how="anti", maintain_order="left"),
        "join_asof": asof.sort("row").drop("row"),
        "join_asof_forward": forward.sort("row").drop("row"),
        "chain": joined.filter(c("b")).group_by("g").agg(c("w").sum(), c("v").max()).sort("g"),
    }


#: Results whose order depends on history, and the columns that tell their rows apart.
GROUPED = {"group": ["g"], "group_text": ["k", "b"], "unique": ["g", "b"], "first_by": ["k"], "last_by": ["g"]}


def compare(name: str, found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    """Equal cell by cell; float aggregates to the last few bits."""
    if name in GROUPED:
        found, wanted = found.sort(GROUPED[name]), wanted.sort(GROUPED[name])
    wanted = wanted.select(found.columns)
    try:
        assert_frame_equal(found, wanted, check_dtypes=False, rel_tol=1e-12, abs_tol=1e-9)
    except AssertionError as wrong:
        raise AssertionError(f"{name}: {wrong}") from wrong


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("number", [seed()], ids="TICKFRAME_SEED={}".format)
def test_every_operation_over_large_tables_equals_polars(number: int, threads: int) -> None:
    """Steps of thousands of rows, by one thread and by two."""
    random = np.random.default_rng(number + threads)
    rows = int(os.environ.get("TICKFRAME_LARGE_ROWS", "0")) or int(random.integers(5_000, 50_000))
    steps = int(os.environ.get("TICKFRAME_LARGE_STEPS", "10"))
    graph = tf.Graph(threads=threads)
    left, right = Side(LEFT, graph, random, rows // 20), Side(RIGHT, graph, random, rows // 20)
    for side in (left, right):
        side.step(rows // 2)
    graph.step()
    made = operations(left.table, right.table)
    for _ in range(steps):
        for side in (left, right):
            side.step(int(random.integers(1, max(2, rows // steps))))
        graph.step()
        compare("input", left.table.to_polars(), left.frame)
        wanted = expected(left.frame, right.frame)
        for name, table in made.items():
            compare(name, table.to_polars(), wanted[name])
    # What was kept by updates is what starts anew.
    for name, table in operations(left.table, right.table).items():
        compare(name, table.to_polars(), wanted[name])
