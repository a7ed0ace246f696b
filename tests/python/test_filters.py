"""Filters by Deephaven's names: they are the expressions that they stand for, and go anywhere."""

import pytest

import tickframe as tf
from tickframe import col, filters
from tickframe.errors import FormulaError

TABLE = tf.table({"k": ["a", "b", "ab", None], "x": [1, 2, None, 4], "y": [1, 1, 3, 4]})


@pytest.mark.parametrize(
    ("filter", "expression", "rows"),
    [
        (filters.eq("k", "a"), col("k") == "a", [0]),
        (filters.eq("x", col("y")), col("x") == col("y"), [0, 3]),
        (filters.eq("x", None), col("x").is_null(), [2]),
        (filters.ne("x", 2), col("x") != 2, [0, 3]),
        (filters.ne(col("x"), None), col("x").is_not_null(), [0, 1, 3]),
        (filters.lt("x", 2), col("x") < 2, [0]),
        (filters.le("x", 2), col("x") <= 2, [0, 1]),
        (filters.gt(col("x") + 1, 2), col("x") + 1 > 2, [1, 3]),
        (filters.ge("x", 2), col("x") >= 2, [1, 3]),
        (filters.in_("x", [1, 4, None]), col("x").is_in([1, 4, None]), [0, 3]),
        (filters.is_null("k"), col("k").is_null(), [3]),
        (filters.is_not_null("k"), col("k").is_not_null(), [0, 1, 2]),
        (filters.pattern("k", "a|b"), col("k").str.contains("^(?:a|b)$"), [0, 1]),
        (filters.pattern("k", "b", "find"), col("k").str.contains("b"), [1, 2]),
        (filters.pattern("k", "b", "find", invert=True), ~col("k").str.contains("b"), [0]),
        (filters.not_(filters.eq("x", 1)), ~(col("x") == 1), [1, 3]),
        (
            filters.and_(filters.gt("y", 1), filters.lt("y", 4)),
            (col("y") > 1) & (col("y") < 4),
            [2],
        ),
        (
            filters.or_([filters.eq("k", "b"), filters.is_null("k"), filters.eq("y", 3)]),
            (col("k") == "b") | col("k").is_null() | (col("y") == 3),
            [1, 2, 3],
        ),
    ],
)
def test_a_filter_is_the_expression_that_it_stands_for(filter, expression, rows):
    assert filter.meta_eq(expression)
    wanted = [TABLE.rows()[row] for row in rows]
    assert TABLE.filter(filter).rows() == TABLE.where(filter).rows() == wanted
    assert TABLE.filter(filter).plan == TABLE.filter(expression).plan


def test_they_go_anywhere_a_predicate_goes():
    graph = tf.Graph()
    live = tf.keyed_table({"k": str, "x": int}, key="k", graph=graph)
    of_one = live.where_one_of(filters.eq("k", "a"), filters.gt("x", 5))
    serial = live.filter(tf.Filter(filters.pattern("k", "[ab]")).with_serial())
    counted = live.select(filters.in_("k", ["a", "c"]).sum().alias("n"), tf.col("x").count_where(filters.lt("x", 3)))
    chosen = live.with_columns(big=tf.when(filters.ge("x", 5)).then(1).otherwise(0))
    live.upsert({"k": ["a", "b", "c"], "x": [1, 2, 9]})
    graph.step()
    assert of_one.rows() == [("a", 1), ("c", 9)]
    assert serial.rows() == [("a", 1), ("b", 2)]
    assert counted.rows() == [(2, 2)]
    assert chosen["big"].to_list() == [0, 0, 1]
    watched = live.filter(filters.gt("x", 5)).select("k")
    assert TABLE.filter(filters.in_("k", tf.table({"k": ["b"]}))).rows() == [("b", 2, 1)]
    assert live.filter(filters.in_("k", watched)).rows() == [("c", 9)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: filters.pattern("k", "("), FormulaError, r"pattern: '\(' is no regular expression: .*unclosed group"),
        (lambda: filters.pattern("k", "(?=a)"), FormulaError, r"pattern: .* is no regular expression: .*look-around"),
        (lambda: filters.pattern("k", 1), TypeError, "pattern: regex is a str, not an int"),
        (lambda: filters.pattern("k", "a", "search"), ValueError, "pattern: mode must be"),
        (lambda: filters.pattern("k", "a", invert=1), TypeError, "pattern: invert is True or False"),
        (lambda: filters.eq(1, 1), TypeError, "eq: the column is a str, not an int"),
        (lambda: filters.in_("k", 1), TypeError, "int"),
        (filters.and_, ValueError, "and_: give at least one filter"),
        (lambda: filters.or_([]), ValueError, "or_: give at least one filter"),
        (lambda: filters.or_("x > 1"), TypeError, "or_: a filter is an expression"),
        (lambda: filters.not_("x"), TypeError, "not_: a filter is an expression"),
    ],
)
def test_mistakes_are_told_at_the_call(call, error, message):
    import re

    with pytest.raises(error) as caught:
        call()
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)


@pytest.mark.parametrize("rows", [20, 30_000])
def test_the_order_of_predicates_is_of_no_matter(rows):
    table = tf.table({"s": [f"row {row}" for row in range(rows)], "x": [row % 10 for row in range(rows)]})
    terms = [col("s").str.contains("[13579]$"), col("x") > 6, col("s").str.len_chars() > 4]
    wanted = table.filter(*terms).rows()
    assert len(wanted) == sum(x in (7, 9) and len(f"row {row}") > 4 for row, x in enumerate(table["x"].to_list()))
    for first in terms:
        rest = [term for term in terms if term is not first]
        for order in ([first, *rest], [*rest, first]):
            assert table.filter(*order).rows() == table.filter(filters.and_(order)).rows() == wanted


@pytest.mark.parametrize("rows", [20, 30_000])
def test_a_predicate_that_may_fail_keeps_its_place(rows):
    table = tf.table(
        {"s": [str(row) if row % 2 else "none" for row in range(rows)], "x": [row % 2 for row in range(rows)]}
    )
    number, odd, any_text = col("s").cast(tf.Int64) > 4, col("x") == 1, col("s").str.contains("[0-9e]")
    guarded = table.filter(any_text, odd, number)
    assert guarded.height == sum(row % 2 == 1 and row > 4 for row in range(rows))
    for order in ([number, odd, any_text], [any_text, number, odd]):
        with pytest.raises(tf.errors.DataError, match='value "none"'):
            table.filter(*order)
        assert table.filter(*order, on_error="null").rows() == guarded.rows()
