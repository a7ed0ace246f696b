"""Every aggregate in every place that takes aggregates, over static tables and tables that change, against plain Python."""

from __future__ import annotations

import math
import random
import statistics
from typing import TYPE_CHECKING, Any

import pytest

import tickframe as tf
from tickframe import _native, col
from tickframe.errors import InvalidOperationError

if TYPE_CHECKING:
    from collections.abc import Callable

Cells = list[tuple[Any, Any]]


def values(rows: Cells) -> list[Any]:
    return [x for x, _ in rows if x is not None]


def pairs(rows: Cells) -> Cells:
    return [pair for pair in rows if None not in pair]


def some(rows: list[Any], of: Callable[[list[Any]], Any], least: int = 1) -> Any:
    return of(rows) if len(rows) >= least else None


def centred(rows: Cells) -> float:
    first, second = (math.fsum(pair[at] for pair in rows) / len(rows) for at in (0, 1))
    return math.fsum((x - first) * (y - second) for x, y in rows)


def correlation(rows: Cells) -> float:
    own, other = [(x, x) for x, _ in rows], [(y, y) for _, y in rows]
    if len({x for x, _ in rows}) == 1 or len({y for _, y in rows}) == 1:
        return math.nan
    return centred(rows) / math.sqrt(centred(own) * centred(other))


def weighted(rows: Cells) -> float:
    """Half the mean squared difference of two values, by the product of their weights."""
    both = [(v * w, (x - y) ** 2) for at, (x, v) in enumerate(rows) for y, w in rows[:at]]
    below = 2 * math.fsum(share for share, _ in both)
    return math.fsum(share * square for share, square in both) / below if below > 0 else math.nan


def moment(found: list[Any], power: int) -> float:
    middle = statistics.fmean(found)
    square = math.fsum((x - middle) ** 2 for x in found) / len(found)
    return math.fsum((x - middle) ** power for x in found) / len(found) / square ** (power / 2) if square else math.nan


def place(rows: Cells, most: Callable[[list[Any]], Any]) -> Any:
    return some(values(rows), lambda v: [x for x, _ in rows].index(most(v)))


#: What each aggregate is of the rows of a group.
MODEL: dict[str, Callable[[Cells], Any]] = {
    "sum": lambda rows: sum(values(rows)),
    "mean": lambda rows: some(values(rows), statistics.fmean),
    "min": lambda rows: some(values(rows), min),
    "max": lambda rows: some(values(rows), max),
    "nan_min": lambda rows: some(values(rows), min),
    "nan_max": lambda rows: some(values(rows), max),
    "std": lambda rows: some(values(rows), statistics.stdev, 2),
    "var": lambda rows: some(values(rows), statistics.variance, 2),
    "cov": lambda rows: some(pairs(rows), lambda p: centred(p) / (len(p) - 1), 2),
    "corr": lambda rows: some(pairs(rows), correlation, 2),
    "weighted_var": lambda rows: some(pairs(rows), weighted, 2),
    "weighted_std": lambda rows: some(pairs(rows), lambda p: math.sqrt(weighted(p)), 2),
    "skew": lambda rows: some(values(rows), lambda v: moment(v, 3)),
    "kurtosis": lambda rows: some(values(rows), lambda v: moment(v, 4) - 3),
    "count": lambda rows: len(values(rows)),
    "len": len,
    "n_unique": lambda rows: len({x for x, _ in rows}),
    "approx_n_unique": lambda rows: len({x for x, _ in rows}),
    "count_distinct": lambda rows: len(set(values(rows))),
    "median": lambda rows: some(values(rows), statistics.median),
    "quantile": lambda rows: some(values(rows), lambda v: sorted(v)[math.floor(0.75 * (len(v) - 1) + 0.5)]),
    "approx_quantile": lambda rows: some(values(rows), lambda v: sorted(v)[math.floor(0.75 * (len(v) - 1) + 0.5)]),
    "product": lambda rows: some(values(rows), math.prod),
    "implode": lambda rows: [x for x, _ in rows],
    "arg_min": lambda rows: place(rows, min),
    "arg_max": lambda rows: place(rows, max),
    "first": lambda rows: rows[0][0] if rows else None,
    "last": lambda rows: rows[-1][0] if rows else None,
}

#: Places that refuse an aggregate, and why.
REFUSED = {
    ("freeze", "range_join", "static"): "a range has no rows of its own that come and go",
    ("freeze", "range_join", "live"): "a range has no rows of its own that come and go",
    ("approx_n_unique", "agg_by", "live"): "no value can be taken from a sketch",
    ("approx_n_unique", "over", "live"): "no value can be taken from a sketch",
    ("approx_n_unique", "select", "live"): "no value can be taken from a sketch",
    ("approx_n_unique", "pivot", "live"): "no value can be taken from a sketch",
}
DECLARED = {name: arity for name, arity, *_ in _native.Expr.aggregates()}
PLACES = ("agg_by", "over", "select", "range_join", "pivot")


def aggregate(name: str, of: Any) -> tf.Expr:
    """The aggregate of a column, or of the chosen rows of one."""
    if name in {"cov", "corr"}:
        return getattr(tf, name)(of, "y")
    given = {"quantile": [0.75], "approx_quantile": [0.75], "weighted_var": ["y"], "weighted_std": ["y"]}
    return getattr(of, name)(*given.get(name, []))


RANGES = {"from": [0, 10, 5, 100], "to": [100, 30, 5, 200]}


def built(name: str, where: str, t: tf.Table) -> tf.Table:
    made = aggregate(name, col("x")).alias("out") if where != "pivot" else None
    if where == "agg_by":
        return t.agg_by(made, by="k")
    if where == "over":
        return t.select("id", "k", made.over("k"))
    if where == "select":
        return t.select(made)
    if where == "range_join":
        return tf.table(RANGES).range_join(t, on="from <= id < to", aggs=made)
    return t.pivot("k", ["a", "b"], values="x", index="half", aggregate_function=lambda x: aggregate(name, x))


def wanted(name: str, where: str, rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    def of(chosen: list[dict[str, Any]]) -> Any:
        return MODEL[name]([(row["x"], row["y"]) for row in chosen])

    groups = {key: [row for row in rows if row["k"] == key] for key in dict.fromkeys(row["k"] for row in rows)}
    if where == "agg_by":
        return [(key, of(chosen)) for key, chosen in groups.items()]
    if where == "over":
        return [(row["id"], row["k"], of(groups[row["k"]])) for row in rows]
    if where == "select":
        return [(of(rows),)]
    if where == "range_join":
        ends = list(zip(RANGES["from"], RANGES["to"], strict=True))
        inside = [
            sorted((row for row in rows if low <= row["id"] < high), key=lambda row: row["id"]) for low, high in ends
        ]
        return [(low, high, of(chosen)) for (low, high), chosen in zip(ends, inside, strict=True)]
    halves = dict.fromkeys(row["half"] for row in rows)
    cells = {
        half: [[row for row in rows if row["half"] == half and row["k"] == key] for key in "ab"] for half in halves
    }
    return [(half, *(of(chosen) for chosen in each)) for half, each in cells.items()]


def same(found: Any, expected: Any, near: float) -> bool:
    if isinstance(found, tuple):
        return all(same(one, other, near) for one, other in zip(found, expected, strict=True))
    if isinstance(found, float) and isinstance(expected, (int, float)):
        both_nan = math.isnan(found) and math.isnan(expected)
        return both_nan or math.isclose(found, expected, rel_tol=near, abs_tol=1e-9)
    return found == expected and type(found) is type(expected)


def check(name: str, where: str, made: tf.Table, source: tf.Table) -> None:
    found, expected = made.rows(), wanted(name, where, source.to_dicts())
    if where in {"agg_by", "pivot"}:  # a group that comes back stands at the end
        found, expected = sorted(found, key=repr), sorted(expected, key=repr)
        found.sort(key=lambda row: str(row[0]))
        expected.sort(key=lambda row: str(row[0]))
    near = 1 / 512 if name.startswith("approx_q") else 1e-9
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert same(one, other, near), (name, where, one, other)


SCHEMA = {"id": int, "k": str, "half": bool, "x": int, "y": float}


def drawn(dice: random.Random, ids: list[int]) -> dict[str, list[Any]]:
    return {
        "id": ids,
        "k": [dice.choice(["a", "b", "c", None]) for _ in ids],
        "half": [dice.random() < 0.5 for _ in ids],
        "x": [dice.choice([None, 0, 1, 2, 3, 5, 8, -4]) for _ in ids],
        "y": [dice.choice([None, 0.5, 1.0, 2.0, 4.25]) for _ in ids],
    }


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", DECLARED)
def test_of_a_static_table(name, where):
    if (name, where, "static") in REFUSED:
        with pytest.raises((InvalidOperationError, AttributeError)):
            built(name, where, tf.table(drawn(random.Random(1), [1, 2]), schema=SCHEMA))
        return
    for seed in range(3):
        t = tf.table(drawn(random.Random(seed), list(range(30 * seed))), schema=SCHEMA)
        if name == "freeze":
            assert built("freeze", where, t).rows() == built("first", where, t).rows()
        else:
            check(name, where, built(name, where, t), t)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", [name for name in DECLARED if name != "freeze"])
def test_of_a_table_that_changes(name, where):
    t = tf.keyed_table(SCHEMA, key="id", graph=tf.Graph(period=None))
    if (name, where, "live") in REFUSED:
        with pytest.raises((InvalidOperationError, AttributeError)):
            built(name, where, t)
        return
    dice, made = random.Random(7), built(name, where, t)
    for _ in range(25):
        t.upsert(drawn(dice, dice.sample(range(40), 6)))
        t.delete(dice.sample(range(40), 5))
        t.graph.step()
        check(name, where, made, t)


@pytest.mark.parametrize("where", PLACES)
def test_a_sketch_of_a_table_that_grows(where):
    t = tf.append_table(SCHEMA, graph=tf.Graph(period=None))
    dice, made = random.Random(3), built("approx_n_unique", where, t)
    for step in range(10):
        t.append(drawn(dice, list(range(5 * step, 5 * step + 5))))
        t.graph.step()
        check("approx_n_unique", where, made, t)


@pytest.mark.parametrize("where", ["agg_by", "over", "select"])
def test_what_is_frozen_stays_while_its_group_does(where):
    t = tf.keyed_table(SCHEMA, key="id", graph=tf.Graph(period=None))
    dice, made, frozen = random.Random(11), built("freeze", where, t), {}
    for _ in range(40):
        t.upsert(drawn(dice, dice.sample(range(12), 2)))
        t.delete(dice.sample(range(12), 4))
        t.graph.step()
        rows = t.to_dicts()
        first = {}
        for row in rows:
            first.setdefault(None if where == "select" else row["k"], row["x"])
        frozen = {key: frozen.get(key, value) for key, value in first.items()}
        if where == "select":
            assert made.rows() == [(frozen.get(None),)]
        elif where == "over":
            assert made.rows() == [(row["id"], row["k"], frozen[row["k"]]) for row in rows]
        else:
            assert dict(made.rows()) == frozen


def test_the_matrix_is_whole():
    assert set(MODEL) | {"freeze"} == set(DECLARED)
    assert all(name in DECLARED and where in PLACES and reason for (name, where, _), reason in REFUSED.items())
    assert len(REFUSED) * 10 <= len(DECLARED) * len(PLACES) * 2
