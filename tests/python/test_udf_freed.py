"""User functions, and what they capture, go with the last expression and table that call them."""

import gc
import pickle
import weakref

import numpy as np
import pytest

import tickframe as tf


class Big:
    """What a closure captures; it can be watched."""

    def __init__(self):
        self.bytes = bytearray(200_000)


def by_call(t, captured):
    def shifted(x: int) -> int:
        return x + len(captured.bytes) * 0

    return t.select(tf.udf(shifted)("x").alias("y")), shifted


def by_decorator(t, captured):
    @tf.udf(returns=tf.Int64, on="numpy", stateful=False)
    def shifted(x):
        return x + len(captured.bytes) * 0

    return t.with_columns(y=shifted("x")), shifted


def by_formula(t, captured):
    def shifted(x: int) -> int:
        return x + len(captured.bytes) * 0

    return t.update("y = shifted(x)"), shifted


def by_filter(t, captured):
    def some(x: int) -> bool:
        return x > len(captured.bytes) * 0

    return t.filter(tf.udf(some)("x")).group_by("x").agg(n=tf.len()), some


def by_view(t, captured):
    def shifted(x: int) -> int:
        return x + len(captured.bytes) * 0

    return t.view("y = shifted(x)"), shifted


WAYS = [by_call, by_decorator, by_formula, by_filter, by_view]


@pytest.fixture(params=["static", "live"])
def t(request):
    if request.param == "static":
        return tf.table({"x": list(range(10))})
    graph = tf.Graph()
    live = tf.append_table({"x": int}, graph=graph)
    live.append({"x": list(range(10))})
    graph.step()
    return live


@pytest.mark.parametrize("way", WAYS)
def test_a_thousand_closures_are_gone_with_their_queries(t, way):
    watched = []

    def query():
        captured = Big()
        watched.append(weakref.ref(captured))
        result, fn = way(t, captured)
        watched.append(weakref.ref(fn))
        assert len(result) in (9, 10)

    for _ in range(1_000 if way is by_call else 100):
        query()
    gc.collect()
    assert sum(ref() is not None for ref in watched) == 0


def test_what_is_held_is_kept(t):
    captured = Big()
    watched = weakref.ref(captured)
    made, _ = by_formula(t, captured)
    del captured, _
    gc.collect()
    assert watched() is not None
    del made
    gc.collect()
    assert watched() is None


def test_one_function_is_one_function_of_columns_while_something_holds_it():
    graph = tf.Graph()
    t = tf.append_table({"x": int}, graph=graph)

    def shifted(x: int) -> int:
        return x + 1

    one, two = t.update("y = shifted(x)"), t.update("y = shifted(x)")
    assert one.plan == two.plan


def test_a_ufunc_of_a_closure_is_freed_too(t):
    def query():
        captured = Big()
        made = np.frompyfunc(lambda x, kept=captured: x, 1, 1)
        assert "col" in repr(tf.udf(made)("x"))
        with pytest.raises(tf.errors.FormulaError, match="gives object: say what it returns"):
            t.update("y = made(x)")
        return weakref.ref(captured)

    watched = query()
    gc.collect()
    assert watched() is None


def test_a_finalizer_may_use_the_engine(t):
    done = []

    class Last:
        def __del__(self):
            done.append(len(t.update("z = x + 1")))

    def query():
        last = Last()

        def shifted(x: int) -> int:
            return x + (last is None)

        return t.update("y = shifted(x)")

    assert len(query()) == 10
    gc.collect()
    assert done == [10]


def test_a_pickled_expression_whose_function_is_gone_says_so(t):
    def shifted(x: int) -> int:
        return x + 1

    expr = tf.udf(shifted)("x")
    written = pickle.dumps(expr)
    assert t.select(pickle.loads(written).alias("y")).to_dict()["y"] == list(range(1, 11))
    del expr, shifted
    gc.collect()
    with pytest.raises(tf.errors.TickframeError, match="shifted, a function of another process or one that is gone"):
        t.select(pickle.loads(written).alias("y"))


def by_itself(captured):
    @tf.udf(returns=tf.Int64, on="numpy", stateful=False)
    def countdown(x):
        return x + len(captured.bytes) * 0 if countdown is not None else x

    return countdown


def by_two(captured):
    @tf.udf
    def even(x: int) -> bool:
        return odd is not None and len(captured.bytes) > x

    @tf.udf
    def odd(x: int) -> bool:
        return even is not None and len(captured.bytes) > x

    return even


def by_asking(captured):
    @tf.udf(on="numpy", stateful=False)
    def kept(x):
        return x + len(captured.bytes) * 0 if kept is not None else x

    return kept


@pytest.mark.parametrize("made", [by_itself, by_two, by_asking])
def test_a_function_that_refers_to_itself_is_gone_when_nothing_calls_it(t, made):
    captured = Big()
    watched = weakref.ref(captured)
    fn = made(captured)
    table = t.with_columns(y=fn("x"))
    del captured, fn
    gc.collect()
    assert watched() is not None, "the table calls it"
    assert len(table.select("y").to_dict()["y"]) == 10
    del table
    # Objects of what is let go without the GIL wait for the next call.
    len(t)
    gc.collect()
    assert watched() is None


def test_a_function_that_is_collected_while_others_hold_its_ring_works():
    captured = Big()
    watched = weakref.ref(captured)
    fn = by_itself(captured)
    expr = fn("x")
    number = fn._native.number
    del captured, fn
    gc.collect()
    assert tf.table({"x": [1, 2]}).select(expr.alias("y")).to_dict() == {"y": [1, 2]}
    again = tf._native.Udf.known(number)
    del expr
    gc.collect()
    assert again is not None
    assert again.number == number
    del again
    gc.collect()
    assert watched() is None
    assert tf._native.Udf.known(number) is None
