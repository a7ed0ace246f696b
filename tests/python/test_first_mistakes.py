"""What a reader of other libraries writes in the first hour, and what is said of it: the column, the text, and the way to go."""

from __future__ import annotations

import copy
import math
import pathlib
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tickframe as tf
from tickframe.errors import ColumnNotFoundError, FormulaError, TypeMismatchError

if TYPE_CHECKING:
    from collections.abc import Callable

c = tf.col


@pytest.fixture
def t() -> tf.AppendTable:
    made = tf.append_table({"sym": str, "price": float, "size": int}, graph=tf.Graph())
    made.append({"sym": ["A", "B"], "price": [1.0, 2.0], "size": [1, 2]})
    made.graph.step()
    return made


def set_item(t: Any) -> None:
    t["z"] = 1


def set_attribute(t: Any) -> None:
    t.z = 1


def delete_item(t: Any) -> None:
    del t["price"]


#: By what is tried: the call, the error, and pieces of what it says.
MISTAKES: dict[str, tuple[Callable[[Any], object], type[Exception], list[str]]] = {
    "an attribute": (lambda t: t.price, AttributeError, ["tf.col('price')", "t['price']"]),
    "comparing a column": (lambda t: t[t["price"] > 1], TypeError, [">: t['price']", "tf.col('price') > ..."]),
    "equality of a column": (lambda t: t.filter(t["sym"] == "A"), TypeError, ["==: t['sym']", "tf.col('sym') == ..."]),
    "difference of a column": (
        lambda t: t.filter(t["sym"] != "A"),
        TypeError,
        ["!=: t['sym']", "tf.col('sym') != ..."],
    ),
    "doubling a column": (lambda t: 2 * t["price"], TypeError, ["*: t['price']", "to_numpy()"]),
    "a condition as an index": (lambda t: t[c("price") > 1], TypeError, ["t.filter(...)"]),
    "a mask as an index": (lambda t: t[[True, False]], TypeError, ["t.filter(...)"]),
    "a name misspelt": (lambda t: t["pric"], ColumnNotFoundError, ['no column "pric"', 'did you mean "price"']),
    "setting a column": (set_item, TypeError, ["t['z'] = ...", "t.with_columns(name=...)"]),
    "setting an attribute": (set_attribute, AttributeError, ["t.z = ...", "t.with_columns(z=...)"]),
    "deleting a column": (delete_item, TypeError, ["t.drop('price')"]),
    "pandas' append": (lambda t: t.head(1).append({"sym": "A"}), AttributeError, ["tf.append_table", "tf.keyed_table"]),
    "pandas' apply": (lambda t: t.apply(len), AttributeError, ["tf.udf"]),
    "pandas' values": (lambda t: t.values, AttributeError, ["to_numpy()"]),
    "pandas' sort": (
        lambda t: t.sort("price", ascending=False),
        TypeError,
        ["sort: there is no parameter 'ascending'", "descending"],
    ),
    "pandas' rename": (
        lambda t: t.rename({"p": "price"}),
        ColumnNotFoundError,
        ["{'price': 'p'}", "old names come first"],
    ),
    "groups without agg": (
        lambda t: t.group_by("sym").to_dicts(),
        AttributeError,
        ["groups have no 'to_dicts'", ".agg("],
    ),
    "groups indexed": (lambda t: t.group_by("sym")["price"], TypeError, [".agg(tf.col('price').sum())"]),
    "groups gone through": (lambda t: list(t.group_by("sym")), TypeError, [".agg(", "implode"]),
    "sum of an expression": (lambda t: sum(c("price")), TypeError, [".sum()", ".list.get(i)"]),
    "an expression indexed": (lambda t: c("price")[1.5], TypeError, ["t[name]", ".str.slice(i, n)"]),
    "an expression gone through": (lambda t: list(c("price")), TypeError, ["t[name].to_list()"]),
    "in an expression": (lambda t: "A" in c("sym"), TypeError, [".is_in([x])"]),
    "length of an expression": (lambda t: len(c("price")), TypeError, ["tf.len()", "len(t)"]),
    "truth of an expression": (
        lambda t: 1 < c("price") < 3,
        TypeError,
        ["is_between", "tf.when", "is_in", "tf.max_horizontal"],
    ),
    "math of an expression": (lambda t: math.log(c("price")), TypeError, [".log()", ".cast(tf.Float64)"]),
    "int of an expression": (lambda t: int(c("price")), TypeError, [".cast(tf.Int64)"]),
    "numpy's where": (lambda t: np.where(c("price") > 1, 1, 2), TypeError, ["numpy.where", "tf.when(condition)"]),
    "pandas' fillna": (lambda t: c("price").fillna(0), AttributeError, ["fill_null(value)"]),
    "pandas' isna": (lambda t: c("price").isna(), AttributeError, ["is_null()"]),
    "Python's startswith": (lambda t: c("sym").startswith("A"), AttributeError, ["str.starts_with(...)"]),
    "polars' map_elements": (lambda t: c("sym").map_elements(len), AttributeError, ["tf.udf"]),
    "a text in then": (
        lambda t: t.select(x=tf.when(c("price") > 1).then("big").otherwise(tf.lit("small"))),
        ColumnNotFoundError,
        ['no column "big"', 'tf.lit("big")'],
    ),
    "a space in a name": (
        lambda t: t.where("a b > 0"),
        FormulaError,
        ['if "a b" is one column', 'tf.col("a b")', 't.rename({"a b": "a_b"})'],
    ),
    "a space within brackets": (lambda t: t.where("(size + a b) > 0"), FormulaError, ['tf.col("a b")']),
    "Python's choice": (
        lambda t: t.update("x = 1 if price > 1 else 2"),
        FormulaError,
        ["condition ? value : other"],
    ),
    "pickling a table": (pickle.dumps, TypeError, ["t.snapshot()", "t.to_arrow()"]),
    "copying a table deep": (copy.deepcopy, TypeError, ["t.snapshot()"]),
    "pickling a graph": (lambda t: pickle.dumps(t.graph), TypeError, ["tf.Graph()"]),
    "a file's name": (
        lambda t: tf.table("a.csv"),
        TypeMismatchError,
        ["if 'a.csv' names a file", "tf.read_csv(path)"],
    ),
    "a path": (lambda t: tf.table(pathlib.PurePosixPath("a.csv")), TypeMismatchError, ["tf.read_parquet(path)"]),
    "reading a file": (lambda t: tf.read_ndjson("a.json"), AttributeError, ["tf.read_json(path)"]),
    "a file that is not there": (lambda t: tf.read_csv("a.csv"), FileNotFoundError, ["a.csv: no such file"]),
    "a choice of rows outside of an aggregation": (
        lambda t: t.select(c("price").filter(c("size") > 1)),
        TypeError,
        ["waits for an aggregate", "t.filter(...)"],
    ),
    "several columns under one name": (
        lambda t: t.select(x=c("price", "size")),
        TypeError,
        ["x is the name of one column", "stands for 2", '.name.prefix("x_")'],
    ),
    "a dict as an expression": (
        lambda t: t.select({"price": "p"}),
        TypeError,
        ["a dict is no expression", ".alias('p')"],
    ),
    "a dict in a list of values": (lambda t: c("price") + {"a": 1}, TypeError, ["+: a dict is no expression"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_way_to_go_is_told(mistake: str, t: tf.AppendTable) -> None:
    call, kind, pieces = MISTAKES[mistake]
    with pytest.raises(kind) as told:
        call(t)
    text = str(told.value)
    assert [piece for piece in pieces if piece not in text] == [], text


def test_what_looks_like_a_mistake_and_is_none(t: tf.AppendTable) -> None:
    assert copy.copy(t) is t
    assert repr(round(c("price"), 1)) == repr(c("price").round(1))
    assert repr(t.group_by("sym")).startswith('GroupBy(col("sym"))')
    assert t.select(np.log(c("price")))["price"].to_list()[0] == 0.0
    assert repr(pickle.loads(pickle.dumps(c("x") + 1))) == '(col("x") + 1)'


def test_the_clock_is_as_fine_as_a_datetime(t: tf.AppendTable) -> None:
    made = t.update("at = now()")
    for _ in range(20):
        t.graph.step()
        at = made.to_dicts()[0]["at"]
        assert at.tzinfo is not None
        assert at == made["at"].to_list()[1]


def longer(chain: Any, more: int) -> Any:
    """The choices, and so many more."""
    for at in range(more):
        chain = chain.when(c("x") == at).then(tf.lit(-at))
    return chain


def test_thousands_of_choices() -> None:
    t = tf.table({"x": [0, 1_999, 2_000, None]})
    chain = longer(tf, 2_000)
    assert t.select(y=chain)["y"].to_list() == [0, -1_999, None, None]
    assert t.select(y=chain.otherwise(7))["y"].to_list() == [0, -1_999, 7, 7]
    first = tf.when(c("x") == 0).then(1)
    one, other = first.when(c("x") == 1_999).then(2), first.when(c("x") == 2_000).then(3)
    assert t.select(a=first, b=one, c=other).to_dict() == {
        "a": [1, None, None, None],
        "b": [1, 2, None, None],
        "c": [1, None, 3, None],
    }
    with pytest.raises(FormulaError, match="more than 65536 parts"):
        longer(chain, 18_000)
