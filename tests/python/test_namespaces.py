"""Lists, structs and bytes in expressions and formulas."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pytest

import tickframe as tf
from tickframe.errors import ColumnNotFoundError, DataError, FormulaError, InvalidOperationError, TypeMismatchError


@pytest.fixture
def t() -> tf.Table:
    return tf.table(
        {
            "v": [[3, 1, None], [], None],
            "p": [{"x": 1, "s": "a"}, None, {"x": None, "s": "b"}],
            "w": ["b a", "", None],
            "b": [b"ab", b"", None],
        }
    )


def test_list_functions_as_polars_calls_them(t: tf.Table) -> None:
    v = tf.col("v").list
    made = t.select(
        v.len().alias("len"),
        v.get(-2).alias("get"),
        v.first().alias("first"),
        v.last().alias("last"),
        v.slice(1, 1).alias("slice"),
        v.head(1).alias("head"),
        v.tail(1).alias("tail"),
        v.sum().alias("sum"),
        v.mean().alias("mean"),
        v.min().alias("min"),
        v.max().alias("max"),
        v.contains(1).alias("contains"),
        v.sort().alias("sort"),
        v.sort(descending=True, nulls_last=True).alias("down"),
        v.unique().alias("unique"),
        v.reverse().alias("reverse"),
    )
    assert made.to_dicts()[0] == {
        "len": 3,
        "get": 1,
        "first": 3,
        "last": None,
        "slice": [1],
        "head": [3],
        "tail": [None],
        "sum": 4,
        "mean": 2.0,
        "min": 1,
        "max": 3,
        "contains": True,
        "sort": [None, 1, 3],
        "down": [3, 1, None],
        "unique": [3, 1, None],
        "reverse": [None, 1, 3],
    }
    assert made.to_dicts()[1]["sum"] == 0
    assert made.to_dicts()[1]["max"] is None
    assert made.to_dicts()[2] == dict.fromkeys(made.columns)


def test_elements_of_lists_in_a_live_table() -> None:
    graph, x = tf.Graph(), tf.element()
    live = tf.keyed_table({"id": int, "v": tf.List(int)}, key="id", graph=graph)
    v = tf.col("v").list
    made = live.with_columns(
        off=v.eval(x - x.mean()), most=v.eval(x.filter(x > 1).sum()), nested=v.eval(x).list.eval(x + 1)
    )
    big = live.filter(v.eval(x > 2).list.eval(x.any()).list.first())
    live.upsert({"id": [1, 2, 3, 4], "v": [[3, 1], None, [], [None, 2]]})
    graph.step()
    assert made.drop("id", "v").rows() == [
        ([1.0, -1.0], [3], [4, 2]),
        (None, None, None),
        ([], [0], []),
        ([None, 0.0], [2], [None, 3]),
    ]
    live.upsert({"id": [2, 4], "v": [[7], None]})
    graph.step()
    assert big["id"].to_list() == [1, 2]
    assert made.drop("id", "v").rows()[1:] == [([0.0], [7], [8]), ([], [0], []), (None, None, None)]


def test_what_elements_are_not() -> None:
    t, x = tf.table({"v": [["1"], ["2", "one"]], "n": [1, 2]}), tf.element()
    v = tf.col("v").list
    with pytest.raises(DataError, match=r'row 1: element 1: "one".*no Int64.*element\(\)\.cast\(Int64\)'):
        t.select(v.eval(x.cast(tf.Int64)))
    assert t.select(v.eval(x.cast(tf.Int64)), on_error="null").rows() == [([1],), (None,)]
    for body, why in (
        (tf.col("n") + 1, "explode the lists to compute with columns"),
        (x.cum_sum().over("n"), "explode the lists"),
        (x.sum().over("n"), "leave over"),
        (x.rolling_sum(2), "windows are over rows"),
        (tf.formula("i"), "list.eval"),
        (tf.udf(lambda s: s, returns=str, scalar=True)(x), "a function of yours"),
        (x.rank("dense"), "explode the lists"),
    ):
        with pytest.raises(InvalidOperationError, match=why):
            t.select(v.eval(body))
    with pytest.raises(InvalidOperationError, match=r"tf\.element\(\) outside list\.eval"):
        t.select(x + 1)
    with pytest.raises(TypeMismatchError, match="upper"):
        t.select(tf.concat_list("n").list.eval(x.str.to_uppercase()))
    with pytest.raises(TypeMismatchError, match="it takes lists"):
        t.select(tf.col("n").list.eval(x))
    with pytest.raises(TypeMismatchError, match="it takes a condition"):
        t.select(v.eval(x.filter(x)))


def test_an_expression_of_elements_reads_back() -> None:
    x, v = tf.element(), tf.col("v").list
    scope = {name: getattr(tf, name) for name in ("col", "lit", "element", "when")}
    for made in (v.eval(x * 2), v.eval(x.filter(x > x.mean())), v.eval((x - x.min()).cum_sum()), v.eval(x.shift(1))):
        assert repr(eval(repr(made), scope)) == repr(made)
        t = tf.table({"v": [[3, 1, None], []]})
        plan = tf.Plan.from_json(t.select(made).plan.to_json())
        assert repr(plan) == repr(t.select(made).plan)


def test_struct_and_bytes(t: tf.Table) -> None:
    p, b = tf.col("p").struct, tf.col("b").bin
    made = t.select(p.field("x").alias("x"), p.rename_fields(["u", "v"]).struct.field("v").alias("v"))
    assert made.to_dict() == {"x": [1, None, None], "v": ["a", None, "b"]}
    sizes = t.select(
        b.size().alias("n"), b.contains(b"b").alias("c"), b.starts_with(b"a").alias("s"), b.ends_with(b"a").alias("e")
    )
    assert sizes.to_dicts()[0] == {"n": 2, "c": True, "s": True, "e": False}
    with pytest.raises(ColumnNotFoundError, match="y"):
        t.select(p.field("y"))
    with pytest.raises(TypeMismatchError, match="it takes lists"):
        t.select(tf.col("w").list.len())


def test_split_and_extract_all(t: tf.Table) -> None:
    made = t.select(tf.col("w").str.split(" ").alias("s"), tf.col("w").str.extract_all("[a-z]").alias("e"))
    assert made.to_dict() == {"s": [["b", "a"], [""], None], "e": [["b", "a"], [], None]}
    assert pa.table(made).schema.field("s").type.value_type == pa.string()


def test_fields_and_elements_in_formulas(t: tf.Table) -> None:
    one = 1
    made = t.update("X = p.x + 1", "First = v[0]", "Out = v[-1]", "At = v[one]", "Sum = v[0] + v[1]")
    assert made["X"].to_list() == [2, None, None]
    assert made["First"].to_list() == [3, None, None]
    assert made["Out"].to_list() == [None, None, None]
    assert made["At"].to_list() == [one, None, None]
    assert made["Sum"].to_list() == [4, None, None]


def test_layouts_of_lists() -> None:
    for kind in (pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_(pa.int8(), 2)):
        t = tf.from_arrow(pa.table({"v": pa.array([[1, 2], None], kind)}))
        made = t.select(tf.col("v").list.sum().alias("s"), tf.col("v").list.get(1).alias("g"))
        assert made.to_dict() == {"s": [3, None], "g": [2, None]}


def test_lists_are_compared_as_wholes() -> None:
    lists = {"V": [[1, 2], [], [None], None], "W": [[1.0, 2.0], [0.5], [1.0], None]}
    t = tf.table(lists, schema={"V": tf.List(tf.Int64), "W": tf.List(tf.Float64)})
    wanted = [1, 2]  # noqa: F841  the formula reads it
    made = t.select(
        tf.col("V").eq_missing(tf.col("W")).alias("missing"), (tf.col("V") != [1, 2]).alias("other"), "V", "W"
    ).update(["E = V == W", "N = V != W", "L = V < W", "S = V == wanted"])
    assert made.select("E", "N", "L", "S", "missing", "other").to_dict() == {
        "E": [True, False, False, None],
        "N": [False, True, True, None],
        "L": [False, True, True, None],
        "S": [True, False, False, None],
        "missing": [True, False, False, True],
        "other": [False, True, True, None],
    }
    assert t.where("V == W").to_dict() == {"V": [[1, 2]], "W": [[1.0, 2.0]]}
    with pytest.raises(TypeMismatchError, match=r"a list is compared with a list; .list.contains"):
        t.where("V == 1")


def test_nested_expressions_read_back() -> None:
    for e in (
        tf.col("v").list.sort(descending=True).list.head(2),
        tf.col("v").list.contains(3),
        tf.col("p").struct.field("x"),
        tf.col("p").struct.rename_fields(["a", "b"]),
        tf.col("w").str.split(",").list.join("+"),
        tf.col("b").bin.size(),
        tf.col("x").shift(-2),
    ):
        assert eval(repr(e), dict(vars(tf))).meta_eq(e), repr(e)


def test_a_formula_of_no_struct_says_so() -> None:
    with pytest.raises(FormulaError, match="only a struct has fields"):
        tf.table({"X": [1]}).update("Y = X.y")


def test_values_of_maps_by_their_keys() -> None:
    kind = pa.map_(pa.string(), pa.int64())
    t = tf.from_arrow(pa.table({"m": pa.array([[("a", 1), ("b", 2)], [], None], kind)}))
    assert t.update("A = m[`a`]", "B = m[`b`] + m[`a`]").select("A", "B").to_dicts()[0] == {"A": 1, "B": 3}
    assert t.select(tf.col("m").struct.field("b").alias("b")).to_dict() == {"b": [2, None, None]}


#: By the name that columns and lists have in common.
AGGREGATES: dict[str, tuple[object, ...]] = {
    "sum": (),
    "mean": (),
    "min": (),
    "max": (),
    "first": (),
    "last": (),
    "count": (),
    "len": (),
    "n_unique": (),
    "count_distinct": (),
    "median": (),
    "quantile": (0.3,),
    "std": (),
    "var": (),
    "skew": (),
    "kurtosis": (),
    "product": (),
    "arg_min": (),
    "arg_max": (),
    "abs_mean": (),
}
DECIMALS: dict[tuple[int, int], list[str | None]] = {
    (5, 2): ["1.25", None, "-3.10", "0.01", "7.77"],
    (38, 10): ["0.0000000001", "12345678901234567.5", None],
    (38, 38): ["0.3", "-0.1"],
    (50, 3): ["1.001", None, "123456789012345678901234567890.123", "-0.5"],
    (9, 0): ["1", "2", "2"],
    (12, 4): [],
    (12, 3): [None],
}


@pytest.mark.parametrize("shape", DECIMALS)
@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates_of_decimals_are_the_same_of_columns_and_of_lists(name: str, shape: tuple[int, int]) -> None:
    cells = [None if cell is None else decimal.Decimal(cell) for cell in DECIMALS[shape]]
    kind = tf.Decimal(*shape)
    column = tf.table({"x": cells}, schema={"x": kind})
    lists = tf.table({"x": [cells]}, schema={"x": tf.List(kind)})
    x = tf.col("x")
    alone = {"len": tf.len, "abs_mean": abs(x).mean}
    of_column = (alone[name] if name in alone else getattr(x, name))(*AGGREGATES[name])
    left = column.select(out=of_column)
    right = lists.select(out=getattr(x.list, name)(*AGGREGATES[name]))
    assert left.schema == right.schema
    (one,), (other,) = left["out"].to_list(), right["out"].to_list()
    if name in {"std", "var", "product"} and one is not None:
        assert one == pytest.approx(other, rel=1e-12)
    else:
        assert one == other


def test_sums_of_lists_of_decimals_that_leave_their_type_say_so() -> None:
    most = decimal.Decimal("9" * 36 + ".99")
    t = tf.table({"x": [[most], [most, most]]}, schema={"x": tf.List(tf.Decimal(38, 2))})
    with pytest.raises(tf.errors.DataError, match=r"row 1.*more digits than Decimal\(38, 2\) holds.*list\.sum"):
        t.select(tf.col("x").list.sum()).to_dict()
