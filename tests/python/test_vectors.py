"""Functions of lists in formulas: of a list in a cell, ``sum(V)``, and of a whole column, ``sum(A_)``."""

import math

import pytest

import tickframe as tf
from tickframe import col

DATA = {
    "A": [3, None, 1, 4],
    "F": [0.5, 1.5, None, 2.0],
    "V": [[3, 1, None, 3], [], None, [5]],
    "S": ["x", "y", "x", None],
}


@pytest.fixture
def t():
    return tf.table(DATA)


def one(t, formula):
    """The value of a formula in the first row."""
    return t.select(tf.formula(formula).alias("r")).to_dict()["r"][0]


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        ("sum(V)", [7, 0, None, 5]),
        ("product(V)", [9, None, None, 5]),
        ("avg(V)", [7 / 3, None, None, 5.0]),
        ("absAvg(V)", [7 / 3, None, None, 5.0]),
        ("median(V)", [3.0, None, None, 5.0]),
        ("percentile(0.0, V)", [1.0, None, None, 5.0]),
        ("min(V)", [1, None, None, 5]),
        ("max(V)", [3, None, None, 5]),
        ("first(V)", [3, None, None, 5]),
        ("last(V)", [3, None, None, 5]),
        ("nth(1, V)", [1, None, None, None]),
        ("count(V)", [3, 0, None, 1]),
        ("size(V)", [4, 0, None, 1]),
        ("V.size()", [4, 0, None, 1]),
        ("len(V)", [4, 0, None, 1]),
        ("countDistinct(V)", [2, 0, None, 1]),
        ("distinct(V)", [[3, 1], [], None, [5]]),
        ("unique(V)", [None, None, None, 5]),
        ("indexOfMin(V)", [1, None, None, 0]),
        ("indexOfMax(V)", [0, None, None, 0]),
        ("sort(V)", [[None, 1, 3, 3], [], None, [5]]),
        ("sortDescending(V)", [[None, 3, 3, 1], [], None, [5]]),
        ("reverse(V)", [[3, None, 1, 3], [], None, [5]]),
        ("contains(V, 5)", [False, False, None, True]),
        ("V.subVector(1, 3)", [[1, None], [], None, []]),
        ("sum(V.subVector(0, 2))", [4, 0, None, 5]),
        ("isEmpty(V)", [False, True, None, False]),
        ("sum(V) + A", [10, None, None, 9]),
        ("size(S.split(``))", [1, 1, 1, None]),
    ],
)
def test_of_a_list_in_a_cell(t, formula, wanted):
    assert t.update(f"r = {formula}").to_dict()["r"] == wanted


def test_spreads(t):
    made = t.select(v=col("V").list.var(0), s=col("V").list.std(), n=col("V").list.n_unique()).to_dict()
    assert made["v"] == [pytest.approx(8 / 9), None, None, 0.0]
    assert made["s"] == [pytest.approx(math.sqrt(4 / 3)), None, None, None]
    assert made["n"] == [3, 0, None, 1]
    assert t.update("s = std(V)", "v = var(V)").to_dict()["v"][0] == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        ("sum(A_)", 8),
        ("avg(F_)", 4 / 3),
        ("min(A_)", 1),
        ("max(F_)", 2.0),
        ("count(A_)", 3),
        ("first(A_)", 3),
        ("last(S_)", None),
        ("countDistinct(S_)", 2),
        ("var(A_)", 7 / 3),
        ("A_.size()", 4),
        ("sum(A_.subVector(0, 3))", 4),
        ("percentile(1.0, A_)", 4.0),
        ("nth(2, A_)", 1),
        ("A_.subVector(2, 9)", [1, 4]),
        ("distinct(S_)", ["x", "y"]),
    ],
)
def test_of_a_whole_column(t, formula, wanted):
    found = t.update(f"r = {formula}").to_dict()["r"]
    assert found == [pytest.approx(wanted) if isinstance(wanted, float) else wanted] * 4


def test_parts_that_differ_from_row_to_row(t):
    made = t.update(
        "w = A_.subVector(i - 1, i + 1)", "s = sum(F_.subVector(i - 1, i + 1))", "d = A - min(A_)"
    ).to_dict()
    assert made["w"] == [[3], [3, None], [None, 1], [1, 4]]
    assert made["s"] == [0.5, 2.0, 1.5, 2.0]
    assert made["d"] == [2, None, 0, 3]


def test_a_whole_column_reads_back():
    for text in ("sum(A_)", "A_.subVector(0, 3)", "percentile(0.5, A_)", "distinct(A_)", "std(A_)"):
        made = tf.formula(text)
        assert repr(made) == f'formula("{text}")', text
        assert eval(repr(made), vars(tf)).meta_eq(made)


def test_a_whole_column_needs_rows_that_stand_still():
    live = tf.append_table({"A": int}, graph=tf.Graph())
    with pytest.raises(tf.errors.FormulaError, match=r"the whole of a column .* static or blink.*\n.*s = sum\(A_\)"):
        live.update("s = sum(A_)")
    with pytest.raises(tf.errors.FormulaError, match="static or blink"):
        live.update("s = A_.subVector(0, 3)")
    blink = tf.blink_table({"A": int}, graph=tf.Graph())
    made = blink.update("s = sum(A_)")
    for cells in ([1, 2], [5]):
        blink.append({"A": cells})
        blink.graph.step()
        assert made.to_dict()["s"] == [sum(cells)] * len(cells)


def test_what_is_refused_says_why(t):
    def refused(formula, says):
        with pytest.raises(tf.errors.TickframeError, match=says):
            t.update(f"r = {formula}")

    refused("sum(A)", r"sum takes the list in a cell, or all cells of a column: write sum\(A_\) for the whole column")
    refused("min(A)", r"write min\(A_\)")
    refused("sum(S_)", "it takes lists of numbers")
    refused("sum(B_)", 'no column "B"')
    refused("A_", r"A_ is the whole column A; .*sum\(A_\)")
    refused("nth(i, A_)", "takes constants, not what differs from row to row")
    refused("sum(V, V)", "sum takes 1 argument")
