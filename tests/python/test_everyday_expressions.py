"""Expressions that a user of polars types first: several columns, rows of a group, names, operators by name, and what they give."""

from __future__ import annotations

import math
import pickle
from typing import Any

import polars as pl
import pytest

import tickframe as tf
from tickframe.errors import ColumnNotFoundError, DuplicateError, FormulaError, TypeMismatchError

DATA: dict[str, list[Any]] = {
    "k": ["a", "b", "a", None, "b", "a"],
    "x": [3, None, 1, 7, -2, 1],
    "y": [1.5, 2.5, None, math.nan, 0.0, -1.0],
    "s": ["p", "q", "", None, "p", "é"],
    "b": [True, None, False, True, None, True],
    "at": [2, 1, 3, 1, 0, 1],
}
T, P = tf.table(DATA), pl.DataFrame(DATA)
C = tf.col


def live() -> tuple[tf.AppendTable, tf.Graph]:
    """The same columns, without a row yet."""
    graph = tf.Graph()
    return tf.append_table(dict(T.schema), graph=graph), graph


def same(ours: tf.Table, theirs: pl.DataFrame) -> None:
    """Names, and cells: NaN is NaN."""
    assert ours.columns == theirs.columns
    assert repr(ours.to_dict()) == repr(theirs.to_dict(as_series=False))


SELECTED: dict[str, Any] = {
    "all": lambda m: [m.all()],
    "all, computed": lambda m: [m.all().is_null()],
    "all but some": lambda m: [m.all().exclude("k", "s", "b") * 2],
    "exclude": lambda m: [m.exclude("k", "s", "b").abs()],
    "nth": lambda m: [m.nth(-1), m.nth(1)],
    "first and last column": lambda m: [m.first(), m.last()],
    "two": lambda m: [m.col("x", "y") + 1],
    "a list": lambda m: [m.col(["x", "y"]).fill_null(0)],
    "two by two": lambda m: [m.col("x", "y") - m.col("at", "x")],
    "beside one": lambda m: [m.col("at", "y") + m.col("x")],
    "of each its mean": lambda m: [m.col("x", "y") - m.col("x", "y").mean()],
    "name space": lambda m: [m.col("k", "s").str.to_uppercase().fill_null("-")],
    "suffix": lambda m: [m.col("x", "y").is_null().name.suffix("_null")],
    "prefix": lambda m: [m.col("x").alias("z").name.prefix("of_")],
    "keep": lambda m: [m.col("x").alias("z").name.keep()],
    "map": lambda m: [m.col("x", "y").name.map(lambda name: name * 2)],
    "upper": lambda m: [m.col("x").name.to_uppercase(), m.col("k").name.to_lowercase()],
    "name replace": lambda m: [m.col("at").name.replace("a", "o")],
    "strip": lambda m: [m.col("at").name.strip_prefix("a"), m.col("x").name.strip_suffix("x").name.prefix("z")],
    "choices": lambda m: [m.col("x").replace({3: 30, None: 0}), m.col("k").replace("a", "c").alias("c")],
    "lists of choices": lambda m: [m.col("k").replace(["a", "b"], ["x", "y"])],
    "several become one": lambda m: [m.col("k").replace(["a", "b"], "z")],
    "duplicated": lambda m: [m.col("k").is_duplicated(), m.col("x").is_unique()],
    "structs duplicated": lambda m: [m.struct("k", "x").is_unique().alias("u")],
    "struct": lambda m: [m.struct(m.col("k", "x"), twice=m.col("x") * 2).alias("p")],
    "struct of all": lambda m: [m.struct(m.all())],
    "concat_str": lambda m: [m.concat_str("k", "x", "s", separator="-")],
    "concat_str of a list": lambda m: [m.concat_str("k", m.lit("!"), m.col("x") + 1)],
    "concat_str without nulls": lambda m: [m.concat_str(m.all(), separator="{,}", ignore_nulls=True)],
    "any_horizontal": lambda m: [m.any_horizontal("b", m.col("x") > 1)],
    "all_horizontal": lambda m: [m.all_horizontal(m.col("b"), m.col("x") > 1)],
    "sum_horizontal": lambda m: [m.sum_horizontal("x", "at"), m.sum_horizontal(m.col("x")).alias("one")],
    "mean_horizontal": lambda m: [m.mean_horizontal("x", "at")],
    "max_horizontal of all": lambda m: [m.max_horizontal(m.col("x", "at"))],
    "coalesce": lambda m: [m.coalesce(m.col("x", "at"))],
    "pipe": lambda m: [m.col("x").pipe(lambda e, by: e * by, 3)],
    "chained": lambda m: [m.col("x").add(1).mul(2).gt(m.col("at")).and_(m.col("b"), m.col("x").ne(7)).not_()],
    "aggregates": lambda m: [m.sum("x"), m.mean("y").alias("m"), m.count("k"), m.n_unique("s"), m.median("at")],
    "more aggregates": lambda m: [
        m.min("x", "at"),
        m.max("y"),
        m.std("at", ddof=0).alias("d"),
        m.var("x").alias("v"),
        m.quantile("at", 0.5).alias("q"),
    ],
    "null counts": lambda m: [m.all().null_count()],
    "any": lambda m: [m.any("b"), m.col("b").all().alias("all")],
    "any, unknown": lambda m: [
        m.col("b").any(ignore_nulls=False),
        m.col("b").all(ignore_nulls=False).alias("all"),
        (m.col("at") > 0).all(ignore_nulls=False).alias("c"),
        (m.col("x") > 100).any(ignore_nulls=False).alias("d"),
    ],
}


@pytest.mark.parametrize("name", SELECTED)
def test_selections_are_those_of_polars(name: str) -> None:
    same(T.select(SELECTED[name](tf)), P.select(SELECTED[name](pl)))


GROUPED: dict[str, Any] = {
    "all": lambda m: [m.all().first()],
    "all, twice": lambda m: [m.all().count(), m.exclude("k").null_count().name.suffix("_null")],
    "filtered": lambda m: [m.col("x").filter(m.col("b")).sum(), m.col("y").filter(m.col("at") > 1).max()],
    "filtered, by two": lambda m: [m.col("x").filter(m.col("at") > 0, m.col("x") > 1).mean()],
    "filtered count": lambda m: [m.col("x").filter(m.col("at") > 1).len(), m.col("s").filter(m.col("b")).count()],
    "filtered ends": lambda m: [m.col("x").filter(m.col("at") > 0).first(), m.col("s").filter(m.col("b")).last()],
    "filtered list": lambda m: [m.col("x").filter(m.col("at") > 0).implode()],
    "filtered n_unique": lambda m: [
        m.col("x").filter(m.col("at") < 3).n_unique(),
        m.col("s").filter(m.col("at") > 9).n_unique(),
    ],
    "filtered null_count": lambda m: [m.col("x").filter(m.col("at") > 0).null_count()],
    "filtered median": lambda m: [
        m.col("at").filter(m.col("x") > 0).median(),
        m.col("x").filter(m.col("at") > 0).min(),
    ],
    "filtered any": lambda m: [
        m.col("b").filter(m.col("at") > 1).any(),
        m.col("b").filter(m.col("at") > 1).all().alias("all"),
    ],
    "computed after": lambda m: [(m.col("x").filter(m.col("at") > 0) * 2 + 1).sum()],
    "two filtered alike": lambda m: [(m.col("x").filter(m.col("b")) * m.col("at").filter(m.col("b"))).sum()],
    "filtered, of several": lambda m: [m.col("x", "at").filter(m.col("b")).max()],
    "without nulls": lambda m: [m.col("x").drop_nulls().last(), m.col("y").drop_nans().len()],
    "sorted": lambda m: [m.col("x").sort_by("at").first(), m.col("s").sort_by("at", descending=True).last()],
    "sorted list": lambda m: [m.col("x").sort_by(m.col("at") * -1).implode()],
    "sorted, nulls": lambda m: [m.col("at").sort_by("x", nulls_last=True).implode()],
    "sorted sum": lambda m: [m.col("x").sort_by("at").sum()],
    "struct": lambda m: [m.struct(m.col("x").sum(), m.col("at").max().alias("m")).alias("p")],
    "sums": lambda m: [m.sum("x", "at"), m.col("x", "at").max().name.prefix("max_")],
}


def their(exprs: list[pl.Expr]) -> pl.DataFrame:
    return P.group_by("k", maintain_order=True).agg(exprs)


@pytest.mark.parametrize("name", GROUPED)
def test_aggregates_of_groups_are_those_of_polars(name: str) -> None:
    made = GROUPED[name]
    ours = T.group_by("k").agg(made(tf))
    same(ours, their(made(pl)))
    source, graph = live()
    follows = source.group_by("k").agg(made(tf))
    for row in T.to_dicts():
        source.append(row)
        graph.step()
    assert repr(follows.to_dict()) == repr(ours.to_dict())


def test_rows_are_chosen_and_then_put_in_order() -> None:
    kept = C("at").filter(C("x").is_not_null()).sort_by("x")
    made = T.group_by("k").agg(all=kept.implode(), first=kept.first(), last=kept.last(), n=kept.len(), sum=kept.sum())
    assert made.to_dict() == {
        "k": ["a", "b", None],
        "all": [[3, 1, 2], [0], [1]],
        "first": [3, 0, 1],
        "last": [2, 0, 1],
        "n": [3, 1, 1],
        "sum": [6, 0, 1],
    }


def test_operators_by_name_are_the_operators() -> None:
    x, y = C("x"), C("y")
    by_name = [x.add(y), x.sub(y), x.mul(y), x.truediv(y), x.floordiv(y), x.mod(y), x.neg(), x.eq(y), x.ne(y), x.lt(y)]
    by_name += [x.le(y), x.gt(y), x.ge(y), x.and_(y), x.or_(y), x.xor(y), x.not_(), x.and_(y, x), x.or_(y, x)]
    by_sign = [x + y, x - y, x * y, x / y, x // y, x % y, -x, x == y, x != y, x < y]
    by_sign += [x <= y, x > y, x >= y, x & y, x | y, x ^ y, ~x, x & y & x, x | y | x]
    assert [repr(made) for made in by_name] == [repr(made) for made in by_sign]


def test_brackets_of_lists_and_structs() -> None:
    t = tf.table({"v": [[3, 1, 2], [], None], "p": [{"a": 1}, None, {"a": None}]})
    made = t.select(a=C("v")[0], b=C("v")[-1], c=C("v")[1:], d=C("v")[-2:-1], e=C("v")[:2], f=C("p")["a"])
    assert made.to_dict() == {
        "a": [3, None, None],
        "b": [2, None, None],
        "c": [[1, 2], [], None],
        "d": [[1], [], None],
        "e": [[3, 1], [], None],
        "f": [1, None, None],
    }
    for wrong in (slice(None, None, 2), slice(1, -1), 1.5, True):
        with pytest.raises(TypeError):
            C("v")[wrong]


def test_several_columns_are_values() -> None:
    made = C("x", "at").filter(C("b")).max().name.suffix("_max")
    again = pickle.loads(pickle.dumps(made))
    assert T.group_by("k").agg(again).to_dict() == T.group_by("k").agg(made).to_dict()
    assert T.group_by("k").agg(made).columns == ["k", "x_max", "at_max"]
    assert repr(tf.all().sum() * 2) == "(all().sum() * 2)"
    assert repr(C("a", "b").str.to_uppercase()) == 'col("a", "b").str.to_uppercase()'
    assert repr(tf.exclude("k").max()) == 'exclude("k").max()'
    assert repr(C("x").filter(C("b")).sort_by("at")) == 'col("x").filter(col("b")).sort_by(col("at"))'


def test_several_columns_stand_where_arguments_are_taken() -> None:
    assert T.group_by(C("k", "b")).len().columns == ["k", "b", "len"]
    positive = T.filter(C("x") > 0, C("at") > 0).to_dicts()
    assert repr(T.filter(C("x", "at") > 0).to_dicts()) == repr(positive)
    assert repr(T.where(C("x", "at") > 0).to_dicts()) == repr(positive)
    assert repr(T.sort(C("at", "x")).to_dicts()) == repr(T.sort("at", "x").to_dicts())
    assert T.drop(C("at", "x")).columns == ["k", "y", "s", "b"]
    assert repr(T.update(C("x", "at") * 2).to_dicts()) == repr(T.with_columns(C("x", "at") * 2).to_dicts())
    assert T.select(C("x").sum().over(C("k", "b"))).to_dict() == T.select(C("x").sum().over("k", "b")).to_dict()


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "one expression": (lambda: C("x").fill_null(tf.all()), TypeError, "stands for several columns"),
    "as many": (lambda: T.select(C("x", "y") + C("x", "y", "at")), TypeError, "stands for 3 columns beside 2"),
    "no such place": (lambda: T.select(tf.nth(9)), ColumnNotFoundError, "there are 6 columns"),
    "names": (lambda: T.sort(tf.Expr), TypeError, "the name of a column"),
    "all names": (lambda: T.join(T, on=tf.all()), TypeError, "stands for columns of a table"),
    "two of a name": (lambda: T.select(C("x", "y").alias("z")), DuplicateError, "z"),
    "fields of one name": (lambda: T.select(tf.struct("x", "x")), FormulaError, "two fields"),
    "sort before filter": (lambda: C("x").sort_by("at").filter(C("b")), TypeError, "before they are put in order"),
    "two orders": (lambda: C("x").sort_by("at", "y"), TypeError, "sort the table first"),
    "no condition": (lambda: C("x").filter(), TypeError, "give a condition"),
    "other rows": (lambda: C("x").filter(C("b")) + C("at").filter(C("y") > 1), TypeError, "of different rows"),
    "places": (lambda: C("x").filter(C("b")).arg_max(), AttributeError, "waits for an aggregate"),
    "no new value": (lambda: C("x").replace(1), TypeError, "the new value"),
    "unequal": (lambda: C("x").replace([1, 2], [3]), ValueError, "2 old values, 1 new ones"),
    "any of numbers": (lambda: T.select(C("x").any()), TypeMismatchError, "Boolean"),
    "gather": (lambda: T.select(C("x").list.gather([0])), TypeMismatchError, "it takes lists"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str) -> None:
    call, kind, words = WRONG[name]
    with pytest.raises(kind, match=words):
        call()
