"""Aggregates of whole groups against polars, live and beside their rows, and what they refuse."""

from __future__ import annotations

import inspect
import math
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest

import tickframe as tf
from tickframe import _native, col
from tickframe.errors import DataError, InvalidOperationError, TypeMismatchError

NAN = math.nan
DATA = {
    "k": ["a", "b", "a", "a", "b", None, "c", "c"],
    "x": [3, None, 1, 3, 2, 7, None, None],
    "f": [NAN, 1.5, 2.0, None, -0.0, 4.0, None, NAN],
    "s": ["b", None, "a", "é", "c", "", None, "z"],
}


def both(**named):
    """Our rows and polars' rows of the same aggregates, by key: `name=(ours, polars)`."""
    ours = tf.table(DATA).group_by("k").agg(**{name: pair[0] for name, pair in named.items()})
    theirs = (
        pl.DataFrame(DATA).group_by("k", maintain_order=True).agg(**{name: pair[1] for name, pair in named.items()})
    )
    return repr(ours.to_dicts()), repr(theirs.to_dicts())


@pytest.mark.parametrize("name", ["x", "f", "s"])
def test_aggregates_equal_those_of_polars(name):
    ours, theirs = both(
        n=(col(name).n_unique(), pl.col(name).n_unique()),
        d=(col(name).count_distinct(), pl.col(name).drop_nulls().n_unique()),
        low=(col(name).arg_min(), pl.col(name).arg_min()),
        high=(col(name).arg_max(), pl.col(name).arg_max()),
        all=(col(name).implode(), pl.col(name).implode()),
    )
    assert ours == theirs


@pytest.mark.parametrize("interpolation", ["nearest", "lower", "higher", "midpoint", "linear"])
@pytest.mark.parametrize("part", [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
def test_quantiles_equal_those_of_polars(part, interpolation):
    values = [5, 1, None, 9, 2, 2, 7]
    t, frame = tf.table({"x": values}), pl.DataFrame({"x": values})
    for rows in range(1, 8):
        found = t.head(rows).select(col("x").quantile(part, interpolation)).to_dict()["x"]
        wanted = frame.head(rows).select(pl.col("x").quantile(part, interpolation))["x"].to_list()
        assert found == [pytest.approx(value, rel=1e-15) for value in wanted]


SHAPES = [
    [],
    [1.0],
    [1.0, 1.0],
    [1.0, 2.0],
    [1.0, 2.0, 4.0],
    [None, 3.0, 1.0, 4.0, 1.0],
    [2.0, 2.0, 2.0, 2.0],
    [1e9 + 1, 1e9 + 2, 1e9 + 4, 1e9 + 9],
    [0.0, NAN, 1.0, 2.0],
    [math.inf, 1.0, 2.0, 3.0],
]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("values", SHAPES, ids=map(str, range(len(SHAPES))))
def test_skew_and_kurtosis_equal_those_of_polars(values, bias):
    def made(c):
        return {
            "skew": c("x").skew(bias=bias),
            "fisher": c("x").kurtosis(bias=bias),
            "pearson": c("x").kurtosis(fisher=False, bias=bias),
        }

    frame = pl.DataFrame({"x": values}, schema={"x": pl.Float64})
    found, wanted = tf.table(frame).select(**made(col)).to_dicts(), frame.select(**made(pl.col)).to_dicts()
    for name, value in wanted[0].items():
        assert found[0][name] == (value if value is None else pytest.approx(value, rel=1e-9, nan_ok=True)), name
    whole = [value for value in values if value is not None and math.isfinite(value)]
    kept = tf.table({"x": [*whole, 5.0]})
    graph = tf.Graph()
    live = tf.keyed_table({"x": float, "n": int}, key="n", graph=graph)
    shape = live.select(**made(col))
    for rows in [[{"x": x, "n": n} for n, x in enumerate([*whole, 7.0])], [{"x": 5.0, "n": len(whole)}]]:
        live.upsert(rows)
        graph.step()
    assert repr(shape.snapshot().to_dicts()) == repr(kept.select(**made(col)).to_dicts())


def test_medians_and_products():
    ours, theirs = both(m=(col("x").median(), pl.col("x").median()))
    assert ours == theirs
    made = tf.table(DATA).group_by("k").agg(m=col("s").median(), p=col("x").product(), q=col("f").product())
    # Of nothing a product is null, as all aggregates but sums and counts are.
    assert made.to_dict()["p"] == [9, 2, 7, None]
    assert made.to_dict()["m"] == ["b", "c", "", "z"]
    assert repr(made.to_dict()["q"]) == "[nan, 0.0, 4.0, nan]"
    assert tf.table({"x": [2**62, 4, 3]}).select(col("x").product()).to_dict() == {"x": [0]}
    assert made.schema["p"] == tf.Int64


@pytest.mark.parametrize("declared", _native.Expr.aggregates(), ids=lambda declared: declared[0])
def test_every_aggregate_has_what_it_declares(declared):
    name, columns, options, example, formula = declared
    method = hasattr(tf.Expr, name)
    made = getattr(tf, name) if not method or name == "len" else getattr(tf.Expr, name)
    known = inspect.signature(getattr(tf.Expr, name) if method else made).parameters
    for option, required, value in options:
        assert known[option].default == (inspect.Parameter.empty if required else value), option
    expression = eval(example, {"tf": tf, "col": col})
    assert eval(repr(expression), vars(tf)).meta_eq(expression)
    if formula is not None:
        given = [0.5 for _, required, _ in options if required]
        wanted = getattr(col("x"), name)(*given) if columns else made()
        assert getattr(tf.agg, formula)(*given, "out = x" if columns else "out")[0].meta_eq(wanted.alias("out"))


PAIRS = {
    "k": ["a", "b", "a", "a", "b", "c", "a", "b", "d"],
    "x": [3, None, 1, 7, 2, 7, None, 9, None],
    "y": [0.5, 1.5, -2.0, 4.25, None, 4.0, 8.0, -1.0, None],
    "z": [1e9 + 1, 5.0, 1e9 + 4, 1e9 - 3, 2.0, 1.0, 0.0, 5.0, 1.0],
}


@pytest.mark.parametrize("ddof", [0, 1, 2])
@pytest.mark.parametrize(("a", "b"), [("x", "y"), ("y", "z"), ("z", "z"), ("x", "x")])
def test_covariances_equal_those_of_polars(a, b, ddof):
    t, frame = tf.table(PAIRS), pl.DataFrame(PAIRS)
    ours = t.group_by("k").agg(c=tf.cov(a, b, ddof=ddof)).to_dict()
    theirs = frame.group_by("k", maintain_order=True).agg(c=pl.cov(a, b, ddof=ddof)).to_dict(as_series=False)
    pairs = frame.drop_nulls([a, b]).group_by("k").len().to_dict(as_series=False)
    pairs = dict(zip(pairs["k"], pairs["len"], strict=True))
    for key, found, wanted in zip(ours["k"], ours["c"], theirs["c"], strict=True):
        if pairs.get(key, 0) <= ddof:
            assert found is None, key  # polars has NaN, or infinity, where it divides by nothing
        else:
            assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), key
    whole = t.select(tf.cov(a, b, ddof=ddof)).to_dict()
    assert whole == {a: [pytest.approx(frame.select(pl.cov(a, b, ddof=ddof)).item(), rel=1e-9)]}
    beside = t.with_columns(c=tf.cov(a, b, ddof=ddof).over("k")).to_dict()["c"]
    assert beside == [dict(zip(ours["k"], ours["c"], strict=True))[key] for key in PAIRS["k"]]


def test_a_covariance_of_a_column_with_itself_is_its_variance():
    t = tf.table({"x": [0.1, 1e150, -3.0, 1e-9, 1e300]})
    for rows in range(2, 6):
        found = t.head(rows).select(c=tf.cov("x", "x"), v=col("x").var()).to_dict()
        assert found["c"] == found["v"]
    assert math.isnan(tf.table({"x": [1.5, NAN, 2.0], "y": [1, 2, 3]}).select(tf.cov("y", "x")).to_dict()["y"][0])
    assert math.isnan(tf.table({"x": [1.5, math.inf], "y": [1, 2]}).select(tf.cov("x", "y")).to_dict()["x"][0])
    assert tf.table({"x": [], "y": []}, schema={"x": float, "y": int}).select(tf.cov("x", "y")).to_dict() == {
        "x": [None]
    }


def test_a_covariance_follows_changes_without_a_trace():
    g = tf.Graph()
    t = tf.keyed_table({"id": int, "k": str, "x": float, "y": int}, key=["id"], graph=g)
    t.upsert({"id": [1, 2, 3, 4], "k": ["a", "a", "b", "a"], "x": [1.0, 5.0, 2.0, None], "y": [1, 2, 3, 4]})
    g.step()
    made = t.agg_by([tf.cov("x", "y").alias("c"), (tf.cov("x", "y", ddof=0) * 2).alias("d")], by="k")
    beside = t.with_columns(c=tf.cov("x", "y").over("k"))
    assert made.to_dicts() == [{"k": "a", "c": 2.0, "d": 2.0}, {"k": "b", "c": None, "d": 0.0}]
    t.upsert({"id": [4, 5, 6], "k": ["a", "b", "b"], "x": [1e300, math.inf, 4.0], "y": [-4, 5, 6]})
    g.step()
    assert made.to_dict()["c"][0] < -1e299
    assert math.isnan(made.to_dict()["c"][1])
    # One of the two columns changes alone; rows leave.
    t.upsert({"id": 2, "k": "a", "x": 5.0, "y": 7})
    t.delete([4, 5])
    g.step()
    assert made.to_dict()["c"] == [12.0, 3.0]
    assert beside.to_dict()["c"] == [12.0, 12.0, 3.0, 3.0]


def test_what_a_covariance_refuses():
    t = tf.table({"x": ["a", "b"], "y": [1, 2]})
    for pair in (("x", "y"), ("y", "x")):
        with pytest.raises(TypeMismatchError, match="cov does not take String: cast the column to a number first"):
            t.select(tf.cov(*pair))
    with pytest.raises(ValueError, match="cov: ddof is a whole number from 0 to 255, not -1"):
        tf.cov("x", "y", ddof=-1)
    with pytest.raises(tf.errors.ColumnNotFoundError, match='"z"'):
        t.select(tf.cov("y", "z"))


def test_values_of_every_size_have_their_spread():
    for size in (1e-140, 1.0, 1e140, 1e145, 1e149, 1e152, 1e200, 1e300):
        found = tf.table({"x": [size, 3 * size]}).select(col("x").std(ddof=0)).to_dict()["x"][0]
        assert found == pytest.approx(size, rel=1e-15), size


def test_they_follow_changes():
    g = tf.Graph()
    t = tf.keyed_table({"id": int, "k": str, "x": float}, key=["id"], graph=g)
    t.upsert({"id": [1, 2, 3, 4], "k": ["a", "a", "b", "a"], "x": [1.0, 5.0, 2.0, 1.0]})
    g.step()
    made = t.group_by("k").agg(
        n=col("x").n_unique(),
        m=col("x").median(),
        p=col("x").product(),
        all=col("x").implode(),
        top=col("x").arg_max(),
        last=col("id").last(order_by="x"),
    )
    beside = t.with_columns(n=col("x").n_unique().over("k"), m=col("x").median().over("k"))
    assert made.to_dicts() == [
        {"k": "a", "n": 2, "m": 1.0, "p": 5.0, "all": [1.0, 5.0, 1.0], "top": 1, "last": 2},
        {"k": "b", "n": 1, "m": 2.0, "p": 2.0, "all": [2.0], "top": 0, "last": 3},
    ]
    t.upsert({"id": 2, "k": "b", "x": 8.0})
    t.delete([1])
    g.step()
    assert made.to_dicts() == [
        {"k": "a", "n": 1, "m": 1.0, "p": 1.0, "all": [1.0], "top": 0, "last": 4},
        {"k": "b", "n": 2, "m": 5.0, "p": 16.0, "all": [8.0, 2.0], "top": 0, "last": 2},
    ]
    assert beside.to_dict()["n"] == [2, 2, 1]
    assert beside.to_dict()["m"] == [5.0, 5.0, 1.0]


def test_first_and_last_in_an_order():
    t = tf.table({"k": ["a", "a", "a", "b"], "x": [1, 2, 3, 4], "t": [5, None, 5, 1]})
    by = t.group_by("k")
    assert by.agg(col("x").first(order_by="t")).to_dict()["x"] == [2, 4]
    assert by.agg(col("x").first(order_by="t", nulls_last=True)).to_dict()["x"] == [1, 4]
    assert by.agg(col("x").last(order_by="t")).to_dict()["x"] == [3, 4]
    assert by.agg(col("x").first(order_by=-col("t"), descending=True, nulls_last=True)).to_dict()["x"] == [1, 4]
    with pytest.raises(TypeError, match="sort the table first"):
        col("x").first(order_by=["t", "x"])


def test_composed_aggregates():
    t = tf.table({"k": ["a", "a", "b"], "v": [10, -20, None], "w": [1, 3, 5]})
    made = t.agg_by(
        [
            tf.agg.abs_sum("abs = v"),
            tf.agg.weighted_avg("w", "avg = v"),
            tf.agg.weighted_sum("w", "sum = v"),
            tf.agg.median("mid = v"),
            tf.agg.pct(1.0, "top = v"),
            tf.agg.count_distinct("n = v"),
            tf.agg.distinct("all = v"),
            tf.agg.unique("one = v", non_unique_sentinel=0),
            tf.agg.group("rows = w"),
            tf.agg.sorted_first("w", "first = v"),
            tf.agg.sorted_last("w", "last = v"),
            tf.agg.count_where("big", "v > 0"),
        ],
        by="k",
    )
    assert made.to_dicts() == [
        {"k": "a", "abs": 30, "avg": -12.5, "sum": -50.0, "mid": -5.0, "top": 10.0, "n": 2, "all": [-20, 10], "one": 0}
        | {"rows": [1, 3], "first": 10, "last": -20, "big": 1},
        {"k": "b", "abs": 0, "avg": None, "sum": None, "mid": None, "top": None, "n": 0, "all": [], "one": None}
        | {"rows": [5], "first": None, "last": None, "big": 0},
    ]


@pytest.mark.parametrize(
    "made",
    [
        col("x").count_distinct(),
        col("x").quantile(0.25, "linear"),
        col("x").median().over("k"),
        col("x").first(order_by="t", descending=True),
        col("x").only(-1),
        col("x").weighted_mean("t"),
        tf.cov("x", col("t") + 1, ddof=0),
        col("x").sum(min_count=2) + col("x").std(ddof=0),
        tf.format("{}: {:.2f}", col("k"), col("x")),
        tf.from_epoch("x", "ms"),
        col("v") + col("w") * 2,
    ],
    ids=repr,
)
def test_they_read_back(made):
    assert eval(repr(made), vars(tf)).meta_eq(made)  # what `repr` promises


def test_what_they_refuse():
    t = tf.table({"x": ["a", "b"], "m": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64()))})
    with pytest.raises(TypeMismatchError, match="nearest, lower or higher"):
        t.select(col("x").quantile(0.5, "linear"))
    with pytest.raises(TypeMismatchError, match="no key and no order"):
        t.select(col("m").n_unique())
    with pytest.raises(TypeMismatchError, match="no order"):
        t.select(col("m").arg_min())
    with pytest.raises(TypeMismatchError, match="product does not take String"):
        t.select(col("x").product())
    with pytest.raises(ValueError, match="from 0 to 1"):
        col("x").quantile(1.5)
    with pytest.raises(ValueError, match="nearest"):
        col("x").quantile(0.5, "middle")
    blink = tf.blink_table({"x": int}, graph=tf.Graph())
    with pytest.raises(InvalidOperationError, match=r"implode\(\).* over a blink table"):
        blink.group_by("x").agg(n=col("x").implode())


def test_running_values_name_the_remedy():
    with pytest.raises(InvalidOperationError, match=r"rle_id: .*update_by.*list functions of implode"):
        col("x").rle_id()
    assert not hasattr(col("x"), "rle_id")


@pytest.mark.parametrize("name", ["rolling_map"])
def test_windows_of_other_names_tell_the_operator(name):
    with pytest.raises(AttributeError, match=rf"no '{name}'; .*update_by\.rolling_formula_ti(ck|me)"):
        getattr(col("x"), name)(2)


def test_an_unknown_method_is_told_with_the_nearest():
    with pytest.raises(AttributeError, match=r"no 'medain'; did you mean 'median'\?"):
        col("x").medain()


def test_sums_leave_their_type_with_an_error():
    most = Decimal("9" * 38)
    t = tf.table({"k": ["a", "b", "b"], "d": pa.array([Decimal(1), most, Decimal(1)], pa.decimal128(38, 0))})
    with pytest.raises(DataError, match=r'total: the sum has more than 38 digits.*col\("d"\) in the group k = b'):
        t.group_by("k").agg(total=col("d").sum())
    wide = t.group_by("k").agg(total=col("d").cast(tf.Decimal(76, 0)).sum())
    assert wide.to_dict()["total"] == [1, Decimal("1" + "0" * 38)]


def test_a_sum_that_comes_back_is_right_again():
    g = tf.Graph()
    t = tf.input_table({"d": tf.Decimal(38, 0)}, graph=g)
    most = Decimal("9" * 38)
    t.apply(added={0: {"d": most}, 1: {"d": Decimal(-5)}})
    g.step()
    total = t.select(col("d").sum())
    t.apply(added={2: {"d": Decimal(5)}})
    g.step()
    assert total.to_dict() == {"d": [most]}
    t.apply(removed=[1])
    g.step()
    with pytest.raises(tf.errors.TableFailedError, match="38 digits"):
        total.to_dict()


def test_intervals_are_not_sorted():
    months = pa.array([(1, 0, 0), (0, 30, 0)], pa.month_day_nano_interval())
    t = tf.table({"p": months, "x": [1, 2]})
    with pytest.raises(TypeMismatchError, match='sort: the column "p" holds calendar time, which has no order'):
        t.sort("p")
    assert t.group_by("p").len().to_dict()["len"] == [1, 1]


LISTS = {
    "a": [[1, 2], [3], None, [None, 5], []],
    "b": [[10, 20], [30], [1], [1, 2], []],
    "f": [[1.5, 2.5], [1.0], [2.0], [1.0, NAN], []],
    "n": [1, None, 3, 4, 5],
}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (of("a", "b", "f", "n", tf.col), of("a", "b", "f", "n", pl.col))
        for of in (
            lambda a, b, f, n, c: c(a) + c(b),
            lambda a, b, f, n, c: c(b) - c(a),
            lambda a, b, f, n, c: c(a) * 2,
            lambda a, b, f, n, c: 2 - c(a),
            lambda a, b, f, n, c: c(a) / c(b),
            lambda a, b, f, n, c: c(a) // 2,
            lambda a, b, f, n, c: c(a) % 2,
            lambda a, b, f, n, c: c(a) // 0,
            lambda a, b, f, n, c: c(a) + c(n),
            lambda a, b, f, n, c: c(n) * c(f),
            lambda a, b, f, n, c: c(a) + c(f),
            lambda a, b, f, n, c: c(f) / 0,
            lambda a, b, f, n, c: c(a) + None,
        )
    ],
    ids=lambda made: repr(made) if isinstance(made, tf.Expr) else "polars",
)
def test_arithmetic_of_lists_equals_that_of_polars(ours, theirs):
    found = tf.table(LISTS).select(r=ours).to_dict()["r"]
    assert repr(found) == repr(pl.DataFrame(LISTS).select(r=theirs)["r"].to_list())


def test_arithmetic_of_lists_in_formulas():
    t = tf.table({"V": [[1, 2], [3]], "W": [[10, 20], [30]], "X": [2, 3]})
    made = t.update(["A = V + W * X", "B = sum(V * 2) + 1", "C = -V", "D = (V + W)[0]"])
    assert made.to_dicts()[1] == {"V": [3], "W": [30], "X": 3, "A": [93], "B": 7, "C": [-3], "D": 33}
    uneven = tf.table({"V": [[1], [1, 2]], "W": [[1], [1, 2, 3]]})
    with pytest.raises(DataError, match=r"update: row 1: the lists have 2 and 3 elements.*in .*V.* \+ .*W"):
        uneven.update("A = V + W")
    assert uneven.update("A = V + W", on_error="null").to_dict()["A"] == [[2], None]


def test_heads_and_tails_of_lists_are_those_of_polars():
    data = {"v": [[1, 2, 3], [], None]}
    for n in (-5, -1, 0, 1, 5):
        made = tf.table(data).select(h=col("v").list.head(n), t=col("v").list.tail(n), s=col("v").list.slice(1, n))
        of = pl.col("v").list
        wanted = pl.DataFrame(data).select(h=of.head(n), t=of.tail(n), s=of.slice(1, n))
        assert made.to_dict() == wanted.to_dict(as_series=False), n
    assert tf.table({"v": [[3, None, 1]]}).select(col("v").list.arg_sort()).to_dict() == {"v": [[1, 2, 0]]}


@pytest.mark.parametrize(
    "place",
    [
        "{}",
        "{:d}",
        "{:5d}",
        "{:<5d}|",
        "{:05d}",
        "{:+d}",
        "{:,d}",
        "{:.2f}",
        "{:10.3f}",
        "{:.1e}",
        "{:.1%}",
        "{:^9}",
        "{:,.1f}",
    ],
)
def test_templates_are_written_as_python_writes_them(place):
    values = [0, 7, -1234567, 10**15]
    made = tf.table({"x": values}).select(tf.format(f"<{place}>", "x")).to_dict()
    assert list(made.values()) == [[f"<{place}>".format(value) for value in values]]


def test_templates_of_texts_and_nulls():
    t = tf.table({"s": ["é", None], "x": [1.5, 2.0]})
    assert t.select(a=tf.format("{:*^5}{{}}", "s"), b=tf.format("{:>4}", "x")).to_dict() == {
        "a": ["**é**{}", None],
        "b": [" 1.5", " 2.0"],
    }
    with pytest.raises(tf.errors.FormulaError, match=r"places in .*: 2, values given: 1"):
        t.select(a=tf.format("{} {}", "s"))


@pytest.mark.parametrize(("a", "b"), [("x", "y"), ("y", "z"), ("z", "z")])
def test_correlations_equal_those_of_polars(a, b):
    t, frame = tf.table(PAIRS), pl.DataFrame(PAIRS)
    ours = t.group_by("k").agg(c=tf.corr(a, b)).to_dict()["c"]
    theirs = frame.group_by("k", maintain_order=True).agg(c=pl.corr(a, b))["c"].to_list()
    for found, wanted in zip(ours, theirs, strict=True):
        # polars has NaN where there are fewer than two pairs.
        assert math.isnan(wanted) if found is None else found == pytest.approx(wanted, rel=1e-9, nan_ok=True)
    assert t.select(tf.corr(a, b)).to_dict()[a] == [pytest.approx(frame.select(pl.corr(a, b)).item(), rel=1e-9)]
    assert repr(t.agg_by(tf.agg.corr(b, f"c = {a}"), by="k").to_dict()["c"]) == repr(ours)


def test_weights():
    rows = {"x": [1.0, 2.0, 4.0, None, 3.0], "w": [2, 1, 1, 9, None], "one": [3, 3, 3, 3, 3]}
    t = tf.table(rows)
    made = t.select(
        v=col("x").weighted_var("w"), s=col("x").weighted_std("w"), e=col("x").weighted_var("one"), n=col("x").var()
    )
    found = made.to_dicts()[0]
    assert found["v"] == pytest.approx(2.4)
    assert found["s"] == pytest.approx(math.sqrt(2.4))
    assert found["e"] == pytest.approx(found["n"])
    both = t.agg_by([tf.agg.weighted_var("w", "v = x"), tf.agg.weighted_std("w", "s = x")])
    assert both.to_dicts() == [{"v": found["v"], "s": found["s"]}]
    odd = tf.table(
        {"x": [1.0, 2.0], "nan": [NAN, 1.0], "none": [0.0, 0.0], "against": [2.0, -1.0], "large": [1e70, 1.0]}
    )
    for weight in ("nan", "none", "against", "large"):
        assert math.isnan(odd.select(col("x").weighted_var(weight)).to_dict()["x"][0]), weight
    assert tf.table({"x": [1.0], "w": [1]}).select(col("x").weighted_std("w")).to_dict() == {"x": [None]}


def test_sketches_are_within_their_errors():
    t = tf.empty_table(100_000).update(
        "k = i % 3", "x = (i * 7919) % 50021", "s = `v` + (i % 20011)", "f = sqrt(i) * 10.0 - 900.0"
    )
    made = t.group_by("k").agg(
        a=col("x").approx_n_unique(),
        b=col("x").n_unique(),
        c=col("s").approx_n_unique(),
        d=col("s").n_unique(),
        e=col("f").approx_quantile(0.3),
        f=col("f").quantile(0.3),
    )
    for row in made.to_dicts():
        assert row["a"] == pytest.approx(row["b"], rel=0.05)
        assert row["c"] == pytest.approx(row["d"], rel=0.05)
        assert row["e"] == pytest.approx(row["f"], rel=1 / 512)
    theirs = pl.DataFrame({"x": [1, None, 1, 2]}).select(pl.col("x").approx_n_unique()).item()
    assert tf.table({"x": [1, None, 1, 2]}).select(tf.approx_n_unique("x")).to_dict() == {"x": [theirs]}
    odd = tf.table({"f": [0.0, -0.0, NAN, NAN, None], "v": [[1], [1], [2], None, []]})
    assert odd.select(col("f").approx_n_unique(), col("v").approx_n_unique()).to_dict() == {"f": [3], "v": [4]}
    blink = tf.blink_table({"x": int}, graph=tf.Graph(period=None))
    seen = blink.agg_by(tf.agg.approx_n_unique("x"))
    for x in (1, 2, 2):
        blink.append({"x": [x]})
        blink.graph.step()
    assert seen.rows() == [(2,)]


def test_any_formula_over_groups():
    t = tf.keyed_table({"id": int, "k": str, "p": float, "n": int}, key="id", graph=tf.Graph(period=None))
    scale = 10  # noqa: F841
    made = t.agg_by(
        [
            tf.agg.formula("vwap = sum(p * n) / sum(n)", ["spread = (max(p) - min(p)) * scale"]),
            tf.agg.formula("all = sort(p)"),
            tf.agg.sum_("n"),
        ],
        by="k",
    )
    t.upsert({"id": [1, 2, 3], "k": ["a", "a", "b"], "p": [10.0, 20.0, 5.0], "n": [3, 1, 2]})
    t.graph.step()
    assert made.rows() == [("a", 12.5, 100.0, [10.0, 20.0], 4), ("b", 5.0, 0.0, [5.0], 2)]
    t.upsert({"id": 3, "k": "a", "p": 40.0, "n": 1})
    t.graph.step()
    assert made.rows() == [("a", 18.0, 300.0, [10.0, 20.0, 40.0], 5)]
    beside = t.select("id", tf.agg.formula("vwap = sum(p * n) / sum(n)")[0].over("k"))
    assert beside.rows() == [(1, 18.0), (2, 18.0), (3, 18.0)]
    inside = tf.table({"from": [0], "to": [3]}).range_join(
        t, on="from <= id < to", aggs=tf.agg.formula("s = sum(p * n)")
    )
    assert inside.rows() == [(0, 3, 50.0)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.agg_by(tf.agg.formula("sum(x)")), tf.errors.FormulaError, 'name the result: "Out = sum'),
        (lambda t: t.agg_by(tf.agg.formula(1)), TypeError, "tf.agg.formula: a formula is a str"),
        (
            lambda t: t.agg_by(tf.agg.formula("y = summ(x)")),
            tf.errors.FormulaError,
            "no function summ, did you mean sum?",
        ),
        (lambda t: t.agg_by(tf.agg.formula("y = sum(q)")), tf.errors.ColumnNotFoundError, 'no column "q"'),
        (lambda t: t.agg_by(tf.agg.formula("y = sum(s)")), TypeMismatchError, "sum"),
        (
            lambda t: t.agg_by(tf.agg.corr("s", "c = x")),
            TypeMismatchError,
            "corr does not take String: cast the column to a number",
        ),
        (lambda t: t.select(tf.corr("x", 1.5, 3)), TypeError, "corr"),
        (lambda t: t.select(col("x").weighted_var("s")), TypeMismatchError, "weighted_var does not take String"),
        (lambda t: t.select(col("s").weighted_std("x")), TypeMismatchError, "weighted_std does not take String"),
        (lambda t: t.select(col("s").approx_quantile(0.5)), TypeMismatchError, "approx_quantile does not take String"),
        (lambda t: t.select(col("x").approx_quantile(1.5)), ValueError, "quantile is from 0 to 1, not"),
        (lambda t: t.select(col("x").approx_quantile(NAN)), ValueError, "quantile is from 0 to 1, not"),
        (
            lambda t: t.agg_all_by(tf.agg.sum_("x"), by="s"),
            TypeError,
            "agg_all_by: agg is an aggregate without columns",
        ),
        (lambda t: t.agg_all_by("sum", by="s"), TypeError, "agg_all_by: agg is an aggregate without columns"),
        (
            lambda t: t.pivot("s", ["a"], index="x", aggregate_function="frieze"),
            ValueError,
            "there is no aggregate 'frieze'",
        ),
    ],
)
def test_mistakes_of_new_aggregates_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(tf.table({"x": [1, 2], "s": ["a", "b"]}))


def test_a_sketch_is_refused_where_rows_leave():
    t = tf.keyed_table({"id": int, "x": int}, key="id", graph=tf.Graph(period=None))
    message = r"approx_n_unique\(\) over a table whose rows may leave or change: .* n_unique\(\) takes such a table"
    with pytest.raises(InvalidOperationError, match=message):
        t.agg_by(tf.agg.approx_n_unique("x"))
    with pytest.raises(InvalidOperationError, match="rows in a range are others at every change"):
        t.range_join(t, on="id <= id", aggs=col("x").freeze().alias("f"))


def test_each_aggregate_of_all_columns():
    t = tf.table({"k": ["a", "a", "b"], "x": [1, 3, 5], "y": [2.0, None, 4.0]})
    assert t.agg_all_by(tf.agg.sum_(), "k").rows() == t.sum_by("k").rows()
    assert t.agg_all_by(tf.agg.pct(1.0), "k").rows() == [("a", 3.0, 2.0), ("b", 5.0, 4.0)]
    groups = t.group_by("k")
    assert groups.std().rows() == t.std_by("k").rows()
    assert groups.var().rows() == t.var_by("k").rows()
    assert groups.product().rows() == [("a", 3, 2.0), ("b", 5, 4.0)]
    assert groups.all().rows() == [("a", [1, 3], [2.0, None]), ("b", [5], [4.0])]


@pytest.mark.parametrize(
    "name",
    ["abs_sum", "approx_n_unique", "arg_max", "arg_min", "count", "freeze", "count_distinct", "implode", "kurtosis", "n_unique", "nan_max", "nan_min", "null_count",
     "only", "product", "skew", "std", "var", "sum", "mean", "median", "min", "max", "first", "last", "len"],
)  # fmt: skip
def test_pivots_take_aggregates_by_name(name):
    t = tf.table({"day": [1, 1, 1, 2], "side": ["b", "s", "b", "s"], "x": [1, 2, 3, None]})
    found = t.pivot("side", ["b", "s"], index="day", values="x", aggregate_function=name).to_dict()
    for at, day in enumerate([1, 2]):
        for side in ("b", "s"):
            rows = t.filter(day=day, side=side)
            (wanted,) = rows.select(out=getattr(col("x"), name)()).to_dict()["out"]
            assert repr(found[side][at]) == repr(wanted), (day, side)


ROW_KEYS = [*tf.agg.first_row_key("first"), *tf.agg.last_row_key("last")]


def test_row_keys_are_those_of_the_rows_as_they_stand():
    g = tf.Graph()
    t = tf.input_table({"k": str, "t": int}, graph=g)
    t.apply(added={2: {"k": "a", "t": 1}, 5: {"k": "b", "t": 2}, 9: {"k": "a", "t": 3}})
    g.step()
    made = t.agg_by(ROW_KEYS, by="k")
    beside = t.select("k", *(each.over("k") for each in ROW_KEYS))
    windows = t.rolling("t", period=2).agg(*ROW_KEYS)
    ranges = tf.table({"from": [0, 2], "to": [3, 9]}).range_join(t, on="from <= t < to", aggs=ROW_KEYS)
    assert made.rows() == [("a", 2, 9), ("b", 5, 5)]
    assert beside.rows() == [("a", 2, 9), ("b", 5, 5), ("a", 2, 9)]
    assert windows.rows() == [(1, 2, 2), (2, 2, 5), (3, 5, 9)]
    assert ranges.rows() == [(0, 3, 2, 5), (2, 9, 5, 9)]
    t.apply(removed=[2], added={7: {"k": "b", "t": 3}})
    g.step()
    assert made.rows() == [("a", 9, 9), ("b", 5, 7)]
    assert beside.rows() == [("b", 5, 7), ("b", 5, 7), ("a", 9, 9)]
    assert windows.rows() == [(2, 5, 5), (3, 5, 9), (3, 5, 9)]
    assert ranges.rows() == [(0, 3, 5, 5), (2, 9, 5, 9)]


def test_row_keys_follow_rows_that_shift():
    g = tf.Graph()
    top, low = (tf.keyed_table({"id": int, "k": str}, key="id", graph=g) for _ in range(2))
    both = tf.concat([top, low])
    made, most = both.agg_by(ROW_KEYS, by="k"), both.select(tf.agg.last_row_key("last"))
    low.upsert({"id": [1, 2], "k": ["a", "b"]})
    g.step()
    for many in (3, 300, 30_000):
        top.upsert({"id": list(range(many)), "k": ["b"] * many})
        g.step()
        anew = both.agg_by(ROW_KEYS, by="k").rows()
        assert sorted(made.rows()) == sorted(anew)
        assert most.rows() == [(max(last for *_, last in anew),)]


def test_row_keys_over_a_blink_table_are_those_of_their_step():
    g = tf.Graph()
    t = tf.blink_table({"k": str}, graph=g)
    made = t.agg_by(ROW_KEYS, by="k")
    for k in (["a", "b"], ["b", "b"]):
        t.append({"k": k})
        g.step()
    assert [k for k, *_ in made.rows()] == ["a", "b"]
    with pytest.raises(TypeError, match="first_row_key"):
        tf.agg.first_row_key(5)
