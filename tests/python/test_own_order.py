"""Categories with an order of their own (Enum, ordered Categorical, ordered dictionary): kept, and never compared by their letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tickframe as tf
from tickframe.errors import DataError, TypeMismatchError

if TYPE_CHECKING:
    from collections.abc import Callable

#: No order of letters, in either direction.
SIZES = ["small", "medium", "large"]
CELLS = ["large", None, "small", "medium", "small"]

polars_series = pl.Series("e", CELLS, dtype=pl.Enum(SIZES))
pandas_cells = pd.Categorical(CELLS, categories=SIZES, ordered=True)
arrow_cells = pa.DictionaryArray.from_arrays(pa.array([2, None, 0, 1, 0], pa.int8()), SIZES, ordered=True)

DOORS = {
    "polars frame": lambda: pl.DataFrame({"e": polars_series}),
    "polars series in a dict": lambda: {"e": polars_series},
    "pandas frame": lambda: pd.DataFrame({"e": pandas_cells}),
    "pandas series in a dict": lambda: {"e": pd.Series(pandas_cells)},
    "pandas Categorical in a dict": lambda: {"e": pandas_cells},
    "pyarrow table": lambda: pa.table({"e": arrow_cells}),
    "pyarrow array in a dict": lambda: {"e": arrow_cells},
    "pyarrow chunks in a dict": lambda: {"e": pa.chunked_array([arrow_cells[:2], arrow_cells[2:]])},
    "pyarrow stream": lambda: pa.RecordBatchReader.from_batches(
        pa.schema([("e", arrow_cells.type)]), pa.table({"e": arrow_cells}).to_batches(max_chunksize=2)
    ),
    "another table": lambda: tf.table(pl.DataFrame({"e": polars_series})),
}


def live_of(data: object) -> tf.Table:
    """The same rows in a live table, which came in two calls."""
    fixed = tf.table(data)
    source = tf.append_table(fixed, graph=tf.Graph())
    source.append(fixed.tail(2))
    source.append(fixed.head(3))
    source.graph.step()
    return source


KINDS: dict[str, Callable[[object], tf.Table]] = {"static": tf.table, "live": live_of}

e = tf.col("e")

#: What compares cells, by what it is called in the message.
COMPARING: dict[str, Callable[[tf.Table], object]] = {
    "it": lambda t: t.sort("e"),
    "<": lambda t: t.filter(e < "medium"),
    "<=": lambda t: t.where("e <= `medium`"),
    ">": lambda t: t.select(x=tf.lit("medium") > e),
    ">=": lambda t: t.select(x=e.fill_null("small") >= e),
    "is_between": lambda t: t.filter(e.is_between(tf.lit("medium"), tf.lit("small"))),
    "min_horizontal": lambda t: t.select(x=tf.min_horizontal(e, tf.lit("medium"))),
    "max_horizontal": lambda t: t.select(x=tf.max_horizontal(tf.lit("medium"), e)),
    "clip": lambda t: t.select(x=e.clip(tf.lit("medium"), tf.lit("small"))),
    "min": lambda t: t.select(e.min()),
    "max": lambda t: t.with_columns(n=tf.lit(1)).group_by("n").agg(e.max()),
    "median": lambda t: t.agg_by([e.median()]),
    "quantile": lambda t: t.select(e.quantile(0.5)),
    "arg_min": lambda t: t.select(e.arg_min()),
    "arg_max": lambda t: t.select(tf.when(e.is_null()).then(e).otherwise(tf.lit("small")).arg_max()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DOORS)
def test_nothing_compares_them_by_their_letters(door: str, kind: str) -> None:
    t = KINDS[kind](DOORS[door]())
    for name, compares in COMPARING.items():
        with pytest.raises(TypeMismatchError) as told:
            compares(t)
        text = str(told.value)
        assert f"{name} compares" in text, text
        assert 'col("e")' in text, text
        assert ".to_physical()" in text
        assert ".cat.codes" in text
        assert ".cast(String)" in text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DOORS)
def test_the_rest_goes_by_equality(door: str, kind: str) -> None:
    t = KINDS[kind](DOORS[door]())
    cells = t["e"].to_list()
    assert sorted(map(str, cells)) == sorted(map(str, CELLS))
    assert t.filter(e == "small")["e"].to_list() == ["small", "small"]
    assert t.filter(e.is_in(["large", "medium"])).select(tf.len()).to_dict() == {"len": [2]}
    assert t.select(e.n_unique()).to_dict() == {"e": [4]}
    counts = t.group_by("e").agg(n=tf.len())
    assert {row["e"]: row["n"] for row in counts.to_dicts()} == {"large": 1, None: 1, "small": 2, "medium": 1}
    names = tf.table({"e": SIZES, "place": [0, 1, 2]})
    placed = t.with_columns(name=e.cast(tf.String)).natural_join(names.rename({"e": "name"}), on="name").sort("place")
    assert placed["e"].to_list() == [None, "small", "small", "medium", "large"]
    assert t.select(e.cast(tf.String)).sort("e")["e"].to_list() == [None, "large", "medium", "small", "small"]


#: Tables in which the column is still that column.
KEEPING: dict[str, Callable[[tf.Table], tf.Table]] = {
    "itself": lambda t: t,
    "filter": lambda t: t.filter(e.is_not_null()),
    "select": lambda t: t.select(e),
    "rename": lambda t: t.rename({"e": "x"}).select(e=tf.col("x")),
    "group_by": lambda t: t.group_by("e").agg(tf.len()).select("e"),
    "first": lambda t: t.with_columns(n=tf.lit(1)).group_by("n").agg(e.first()).select("e"),
    "unique": lambda t: t.unique(),
    "tail": lambda t: t.tail(2),
    "sort": lambda t: t.with_columns(n=tf.lit(1)).sort("n").select("e"),
    "concat": lambda t: tf.concat([t, t]),
    "natural_join": lambda t: (
        t.with_columns(n=tf.lit(1)).select("n").natural_join(t.tail(1).with_columns(n=tf.lit(1)), on="n").select("e")
    ),
    "snapshot": lambda t: t.snapshot(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DOORS)
def test_they_come_out_as_what_they_were(door: str, kind: str) -> None:
    t = KINDS[kind](DOORS[door]())
    for name, kept in KEEPING.items():
        made = kept(t)
        arrow = pa.table(made)
        field = arrow.schema.field("e")
        assert pa.types.is_dictionary(field.type), name
        assert field.type.ordered, name
        assert {tuple(chunk.dictionary.to_pylist()) for chunk in arrow["e"].chunks} <= {tuple(SIZES)}, name
        frame = made.to_pandas()
        assert frame["e"].dtype == pd.CategoricalDtype(SIZES, ordered=True), name
        if "polars" in door or door == "another table":
            assert made.to_polars()["e"].dtype == pl.Enum(SIZES), name
            assert pl.DataFrame(made)["e"].dtype == pl.Enum(SIZES), name
            assert made.to_polars()["e"].to_list() == made["e"].to_list(), name
        with pytest.raises(TypeMismatchError, match="compares"):
            made.sort("e")


def test_categories_in_the_order_of_letters_are_no_exception() -> None:
    t = tf.table(pl.DataFrame({"e": pl.Series(["b", "a"], dtype=pl.Enum(["a", "b"]))}))
    with pytest.raises(TypeMismatchError, match="compares"):
        t.sort("e")


def test_a_categorical_without_an_order_goes_by_its_texts() -> None:
    for data in (
        pl.DataFrame({"e": pl.Series(CELLS, dtype=pl.Categorical)}),
        {"e": pd.Categorical(CELLS)},
        {"e": pa.array(CELLS).dictionary_encode()},
    ):
        t = tf.table(data)
        assert t.sort("e")["e"].to_list() == [None, "large", "medium", "small", "small"]
        assert not pa.table(t).schema.field("e").type.ordered


@pytest.mark.parametrize("door", DOORS)
def test_a_value_that_is_no_category_is_refused(door: str) -> None:
    source = tf.append_table(tf.table(DOORS[door]()), graph=tf.Graph())
    for data in (
        {"e": ["small", "huge"]},
        [{"e": "small"}, {"e": "huge"}],
        pl.DataFrame({"e": pl.Series(["small", "huge"], dtype=pl.Categorical)}),
        pa.table({"e": ["small", "huge"]}),
    ):
        with pytest.raises(DataError) as told:
            source.append(data)
        assert 'append: row 1: "huge" is none of the categories of column "e": "small", "medium", "large"' in str(
            told.value
        )
    source.graph.step()
    assert len(source) == 0
    source.append({"e": ["small", None]})
    source.graph.step()
    assert source["e"].to_list() == ["small", None]


def test_the_order_lies_within_lists_and_structs_too() -> None:
    ordered = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 5], pa.int32()), arrow_cells)
    structs = pa.StructArray.from_arrays(
        [arrow_cells, pa.array(range(5))], fields=[pa.field("f", ordered), pa.field("n", pa.int64())]
    )
    t = tf.table({"l": lists})
    for compares in (
        lambda: t.sort("l"),
        lambda: t.select(tf.col("l").list.sort()),
        lambda: t.select(tf.col("l").list.max()),
        lambda: t.filter(tf.col("l").list.first() < "medium"),
    ):
        with pytest.raises(TypeMismatchError, match="compares"):
            compares()
    s = tf.table({"s": structs})
    for compares in (lambda: s.sort("s"), lambda: s.filter(tf.col("s").struct.field("f") < "medium")):
        with pytest.raises(TypeMismatchError, match="compares"):
            compares()
    assert len(s.filter(tf.col("s").struct.field("n") < 2)) == 2
