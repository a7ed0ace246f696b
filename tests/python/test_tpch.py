"""The 22 queries of TPC-H: equal to DuckDB, static and live, with money as Float64 and as Decimal."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import tickframe as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))
from tpch.answers import difference
from tpch.data import generated, in_duckdb, in_files, in_polars, in_tickframe
from tpch.live import Live, batches
from tpch.queries import QUERIES
from tpch.sql import sql

if TYPE_CHECKING:
    from pathlib import Path as Folder

SCALE, SMALL = 0.1, 0.01


@pytest.fixture(scope="module", params=["float", "decimal"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The tables in each engine."""
    money = request.param
    folder: Folder = tmp_path_factory.getbasetemp() / "tpch"
    tables = generated(folder, SCALE, money=money)
    return SimpleNamespace(
        money=money, ours=in_tickframe(tables, SCALE), theirs=in_polars(tables, SCALE), database=in_duckdb(tables)
    )


@pytest.mark.parametrize("number", QUERIES)
def test_static_equals_sql(world: Any, number: int) -> None:
    """Each query, call by call and as a plan; polars runs the same text over floats."""
    wanted = world.database.sql(sql(number, SCALE)).fetchall()
    made = QUERIES[number](world.ours, tf)
    assert difference(made.rows(), wanted) is None
    plan = made.plan
    planned = plan.collect(**{name: getattr(world.ours, name) for name in plan.inputs})
    assert difference(planned.rows(), wanted) is None
    if world.money == "float":
        frame = QUERIES[number](world.theirs, pl).collect()
        assert difference(frame.rows(), wanted) is None
        assert made.columns == frame.columns


@pytest.mark.parametrize("money", ["float", "decimal"])
def test_scanned_equals_sql(tmp_path: Folder, money: str) -> None:
    """Each query over files that stay where they are, call by call and as a plan."""
    tables = generated(tmp_path, SMALL, money=money)
    files, database = in_files(tables, tmp_path / "plain"), in_duckdb(tables)
    scanned = SimpleNamespace(scale=SMALL, **{name: tf.scan_parquet(file) for name, file in files.items()})
    for number, query in QUERIES.items():
        wanted = database.sql(sql(number, SMALL)).fetchall()
        assert difference(query(scanned, tf).rows(), wanted) is None, number
        plan = query(in_tickframe(tables, SMALL), tf).plan
        planned = plan.collect(**{name: getattr(scanned, name) for name in plan.inputs})
        assert difference(planned.rows(), wanted) is None, number


def test_live_equals_sql_after_every_batch(tmp_path: Folder) -> None:
    """All queries on one graph, while a thousandth of the orders comes and goes with its lines."""
    tables = generated(tmp_path, SMALL)
    live, database = Live(tables, SMALL), in_duckdb(tables)
    for step, batch in enumerate(islice(batches(tables, 0.001, seed=1), 12)):
        live.take(batch)
        batch.into(database)
        for number, answer in live.answers.items():
            wanted = database.sql(sql(number, SMALL)).fetchall()
            assert difference(answer.rows(), wanted) is None, f"query {number} after batch {step}"
