"""The model, which every law is judged by, against DuckDB, polars and pandas on static tables.

They disagree with us, and with each other, where `normalised` below says so; everywhere else all answers are equal.
The model is in Rust: it writes its cases and its answers as lines of JSON (`crates/model/examples/cases.rs`).
"""

from __future__ import annotations

import functools
import json
import math
import operator
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
CASES, SEED = 2_000, 20_261_121
TYPES = {"k": pl.String, "g": pl.Int64, "v": pl.Int64, "x": pl.Float64, "t": pl.Int64, "b": pl.Boolean, "w": pl.Float64}
SQL = {"k": "VARCHAR", "g": "BIGINT", "v": "BIGINT", "x": "DOUBLE", "t": "BIGINT", "b": "BOOLEAN", "w": "DOUBLE"}
PANDAS = {"k": "string", "g": "Int64", "v": "Int64", "x": "Float64", "t": "Int64", "b": "boolean", "w": "Float64"}
COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
Row = tuple[Any, ...]


class Skipped(Exception):
    """This engine means something else here, or has no such operation."""


def cell(value: Any) -> Any:
    """A cell of a case; a float within bounds is a pair."""
    if not isinstance(value, str):
        return value
    kind, _, text = value.partition(":")
    if kind == "s":
        return text
    if kind == "f":
        return float(text)
    near, bound = text.split(":")
    return (float(near), float(bound))


class Case:
    """One case: an operation with its arguments, two tables, and the model's answer."""

    def __init__(self, line: str) -> None:
        read = json.loads(line)
        self.operation, self.args, self.odd = read["operation"], read["args"], read["odd"]
        self.left, self.right = read["left"], read["right"]
        self.names = read["result"]["names"]
        self.rows = [tuple(map(cell, row)) for row in read["result"]["rows"]]

    def columns(self, table: dict[str, Any]) -> dict[str, list[Any]]:
        """A table's cells by column."""
        cells = [[cell(value) for value in row] for row in table["rows"]]
        return {name: [row[at] for row in cells] for at, name in enumerate(table["names"])}

    def __repr__(self) -> str:
        return f"{self.operation} {self.args} of {self.columns(self.left)} and {self.columns(self.right)}"


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    command = ["cargo", "run", "--quiet", "--profile", "ci", "-p", "tickframe-model", "--example", "cases", "--"]
    # A sanitizer that was loaded into this Python is not for the compiler.
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    lines = subprocess.run(
        [*command, str(CASES), str(SEED)], cwd=ROOT, check=True, capture_output=True, text=True, env=env
    ).stdout
    return [Case(line) for line in lines.splitlines()]


def same(wanted: Any, found: Any) -> bool:
    """Equal as decisions have it: NaN is NaN, both zeros are one; sums within the model's bound."""
    if isinstance(wanted, tuple):
        near, bound = wanted
        if found is None or math.isnan(near) or math.isinf(near):
            return found is not None and same(near, float(found))
        # The other engines promise no bound of their own: theirs is of the order of the terms.
        return abs(near - float(found)) <= max(bound, 1e-9 * max(1.0, abs(near)))
    if wanted is None or found is None:
        return wanted is found
    if isinstance(wanted, float) or isinstance(found, float):
        return (math.isnan(wanted) and math.isnan(found)) or float(wanted) == float(found)
    return bool(wanted == found)


def place(value: Any) -> Any:
    """Where a cell stands in an order of its own, so that rows can be laid beside each other."""
    if isinstance(value, tuple):
        value = value[0]
    if value is None:
        return (0, "")
    if isinstance(value, str):
        return (1, value)
    number = float(value)
    return (3, 0.0) if math.isnan(number) else (2, number + 0.0)


def check(case: Case, found: list[Row]) -> None:
    """Whether an engine's rows are the model's; those of groups in any order."""
    wanted = case.rows
    if case.operation in {"group", "unique", "first_by", "last_by"}:
        # Sums are compared, not sorted by: groups are told apart by what is exact.
        exact = [at for at in range(len(case.names)) if not any(isinstance(row[at], tuple) for row in wanted)]
        by = [at for at in exact if not case.names[at].startswith("o")] or exact
        wanted, found = (sorted(rows, key=lambda row: [place(row[at]) for at in by]) for rows in (wanted, found))
    equal = len(wanted) == len(found) and all(all(map(same, a, b)) for a, b in zip(wanted, found, strict=True))
    assert equal, f"{case!r}\nwanted {wanted}\nfound  {found}"


# polars ---------------------------------------------------------------------------------------------------------


def polars_frame(case: Case, which: str) -> pl.DataFrame:
    table = getattr(case, which)
    return pl.DataFrame(case.columns(table), schema={name: TYPES[name] for name in table["names"]})


def polars_aggregate(kind: str, column: str) -> pl.Expr:
    of = pl.col(column)
    if kind == "len":
        return pl.len()
    made: pl.Expr = getattr(of, kind)()
    return made


def polars_rows(case: Case) -> list[Row]:
    left, args = polars_frame(case, "left"), case.args
    match case.operation:
        case "filter":
            found = left.filter(COMPARE[args[1]](pl.col(args[0]), pl.lit(cell(args[2]), dtype=TYPES[args[0]])))
        case "sort":
            by, descending, last = (list(part) for part in zip(*args, strict=True))
            found = left.sort(by, descending=descending, nulls_last=last, maintain_order=True)
        case "group":
            by, outputs = args
            made = [polars_aggregate(kind, column).alias(name) for name, kind, column in outputs]
            if not by and not left.height:
                raise Skipped("of no rows polars makes one, we none")
            found = left.group_by(by).agg(made) if by else left.select(made)
        case "unique":
            found = left.unique(maintain_order=True, keep="first")
        case "first_by" | "last_by":
            found = left.unique(subset=[args], maintain_order=True, keep=case.operation.removesuffix("_by"))
        case "natural_join":
            right = polars_frame(case, "right").drop_nulls("k").unique(subset=["k"], keep=args, maintain_order=True)
            found = left.join(right.select("k", "w"), on="k", how="left", maintain_order="left")
        case "join_asof":
            strategy, by, exact = args
            right = polars_frame(case, "right").drop_nulls(["t", *by]).sort("t", maintain_order=True)
            numbered = left.with_row_index("at")
            meeting = numbered.drop_nulls(["t", *by]).sort("t", maintain_order=True)
            met = meeting.join_asof(
                right.select("t", "w", *by),
                on="t",
                by=by or None,
                strategy=strategy,
                allow_exact_matches=exact,
                check_sortedness=False,
            )
            found = numbered.join(met.select("at", "w"), on="at", how="left", maintain_order="left").drop("at")
        case "slice":
            found = left.slice(*args)
        case "compute":
            a, sign, b = args
            if sign in {"//", "%"} and "x" in (a, b):
                raise Skipped("floor and remainder of floats by zero and infinity")
            found = left.select(ARITHMETIC[sign](pl.col(a), pl.col(b)).alias("o"))
        case other:
            raise AssertionError(other)
    return found.select(case.names).rows()


# DuckDB ---------------------------------------------------------------------------------------------------------


def duck_aggregate(kind: str, column: str) -> str:
    if kind == "len":
        return "count(*)"
    if kind == "sum":
        # Of no value DuckDB's is null.
        return f"coalesce(sum({column}), 0)"
    if kind in {"min", "max"} and column == "x":
        # There NaN is the greatest of all, also for max.
        return f"coalesce({kind}(x) FILTER (NOT isnan(x)), {kind}(x))"
    if kind in {"first", "last"}:
        return f"{kind}({column} ORDER BY nth)"
    return {"mean": "avg", "var": "var_samp", "std": "stddev_samp"}.get(kind, kind) + f"({column})"


def literal(value: Any, column: str) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"'{value}'::{SQL[column]}"


@functools.cache
def duck() -> duckdb.DuckDBPyConnection:
    """One database for all cases: making one takes longer than asking it."""
    return duckdb.connect(config={"threads": 1})


def duck_rows(case: Case) -> list[Row]:
    args = case.args
    query: str
    match case.operation:
        case "filter":
            query = f"SELECT * FROM l WHERE {args[0]} {args[1]} {literal(cell(args[2]), args[0])} ORDER BY nth"
        case "sort":
            order = [
                f"{name} {'DESC' if down else 'ASC'} NULLS {'LAST' if last else 'FIRST'}" for name, down, last in args
            ]
            query = f"SELECT * FROM l ORDER BY {', '.join([*order, 'nth'])}"
        case "group":
            by, outputs = args
            if case.odd and any(kind in {"var", "std"} and column == "x" for _, kind, column in outputs):
                raise Skipped("a spread of what is not finite is an error there")
            if not by and not case.left["rows"]:
                raise Skipped("of no rows DuckDB makes one, we none")
            made = [f"{duck_aggregate(kind, column)} AS {name}" for name, kind, column in outputs]
            grouped = f" GROUP BY {', '.join(by)}" if by else ""
            query = f"SELECT {', '.join([*by, *made])} FROM l{grouped}"
        case "unique":
            query = f"SELECT DISTINCT {', '.join(case.left['names'])} FROM l"
        case "first_by" | "last_by":
            way = "ASC" if case.operation == "first_by" else "DESC"
            query = f"SELECT * FROM l QUALIFY row_number() OVER (PARTITION BY {args} ORDER BY nth {way}) = 1"
        case "natural_join":
            way = "ASC" if args == "first" else "DESC"
            right = f"SELECT k, w FROM r QUALIFY row_number() OVER (PARTITION BY k ORDER BY nth {way}) = 1"
            query = f"SELECT l.*, r.w FROM l LEFT JOIN ({right}) r USING (k) ORDER BY l.nth"
        case "join_asof":
            strategy, by, exact = args
            near = {"backward": ("<", "DESC"), "forward": (">", "ASC")}[strategy]
            meets = f"r.t {near[0]}{'=' if exact else ''} l.t" + (" AND r.k = l.k" if by else "")
            best = f"SELECT w FROM r WHERE {meets} ORDER BY r.t {near[1]}, r.nth {near[1]} LIMIT 1"
            query = f"SELECT l.*, ({best}) AS w FROM l ORDER BY l.nth"
        case "slice":
            query = f"SELECT * FROM l ORDER BY nth OFFSET {args[0]} LIMIT {args[1]}"
        case "compute":
            if args[1] not in {"+", "-", "*"}:
                raise Skipped("division by zero is null there, and a remainder has the sign of the dividend")
            query = f"SELECT {args[0]} {args[1]} {args[2]} AS o FROM l ORDER BY nth"
        case other:
            raise AssertionError(other)
    connection = duck()
    for name, which in (("l", "left"), ("r", "right")):
        connection.register(name, polars_frame(case, which).with_row_index("nth").to_arrow())
    found = connection.execute(query)
    names = [column[0] for column in found.description or ()]
    rows = found.fetchall()
    places = [names.index(name) for name in case.names]
    return [tuple(row[at] for at in places) for row in rows]


# pandas ---------------------------------------------------------------------------------------------------------


def pandas_frame(case: Case, which: str) -> pd.DataFrame:
    table = getattr(case, which)
    columns = case.columns(table)
    return pd.DataFrame({name: pd.array(columns[name], dtype=PANDAS[name]) for name in table["names"]})


def pandas_rows(case: Case) -> list[Row]:
    if case.odd:
        raise Skipped("NaN is null there")
    left, args = pandas_frame(case, "left"), case.args
    match case.operation:
        case "filter":
            found = left[COMPARE[args[1]](left[args[0]], cell(args[2])).fillna(False)]
        case "sort":
            if len(args) > 1:
                raise Skipped("one place of nulls for all columns")
            [(name, descending, last)] = args
            order = left.sort_values(
                name, ascending=not descending, na_position="last" if last else "first", kind="stable"
            )
            found = order
        case "group":
            by, outputs = args
            if not by or any(kind in {"first", "last"} for _, kind, _ in outputs):
                raise Skipped("no group without a key; first and last pass over nulls")
            kinds = {"len": "size", "count": "count", "sum": "sum", "mean": "mean", "min": "min", "max": "max"}
            groups = left.groupby(by, dropna=False, sort=False)
            made = {
                name: groups.size() if kind == "len" else getattr(groups[column], kinds.get(kind, kind))()
                for name, kind, column in outputs
            }
            found = pd.DataFrame(made).reset_index()
        case "unique":
            found = left.drop_duplicates()
        case "first_by" | "last_by":
            found = left.drop_duplicates(args, keep=case.operation.removesuffix("_by"))
        case "natural_join":
            right = pandas_frame(case, "right").dropna(subset=["k"]).drop_duplicates("k", keep=args)
            found = left.merge(right[["k", "w"]], on="k", how="left")
        case "slice":
            found = left.iloc[args[0] : args[0] + args[1]]
        case "compute" if args[1] in {"+", "-", "*"}:
            found = pd.DataFrame({"o": ARITHMETIC[args[1]](left[args[0]], left[args[2]])})
        case _:
            raise Skipped("as-of joins refuse nulls, and a division by zero is no null")
    found = found[case.names].astype(object)
    return [tuple(None if value is pd.NA else value for value in row) for row in found.itertuples(index=False)]


@pytest.mark.parametrize(
    ("engine", "every", "least"),
    # DuckDB takes some milliseconds a question, however small.
    [(polars_rows, 1, 0.9), (duck_rows, 4, 0.85), (pandas_rows, 1, 0.4)],
)
def test_the_model_agrees_with(engine: Any, every: int, least: float, cases: list[Case]) -> None:
    compared: Counter[str] = Counter()
    for case in cases[::every]:
        try:
            found = engine(case)
        except Skipped:
            continue
        check(case, found)
        compared[case.operation] += 1
    # What is left out is little, or nothing would be checked.
    assert compared.total() >= least * len(cases[::every]), compared
