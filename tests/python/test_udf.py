"""User functions: once a chunk, anywhere in an expression, failures with the user's own exception."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Optional

import numpy as np
import pyarrow.compute as pc
import pytest

import tickframe as tf
from tickframe.errors import (
    ColumnNotFoundError,
    FormulaError,
    InvalidOperationError,
    TableFailedError,
    TypeMismatchError,
    UdfError,
)

ROWS = 300_000


def shout(word: str) -> str:
    return word.upper() + "!"


def or_zero(x: Optional[int]) -> int:  # noqa: UP045
    return 0 if x is None else x


def fails_on_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


def without_hints(x):
    return x


sqrt_of = np.sqrt


@pytest.fixture
def t() -> tf.Table:
    return tf.table({"x": [1, 2, None, 4], "v": [0.25, None, 4.0, float("nan")], "s": ["a", None, "", "é"]})


def test_an_arrow_function_gets_pyarrow_arrays(t: tf.Table) -> None:
    kinds = []

    @tf.udf(returns=tf.Int32)
    def lengths(words):
        kinds.append(str(words.type))
        return pc.utf8_length(words)

    assert t.select((lengths("s") * 2).alias("n")).to_dict()["n"] == [2, None, 0, 2]
    assert kinds == ["string"]
    assert lengths.__name__ == "lengths"
    assert repr(lengths("s")) == 'lengths(col("s"))'


def test_a_numpy_function_gets_arrays_and_null_stays_null(t: tf.Table) -> None:
    @tf.udf(on="numpy", returns=tf.Float64, stateful=False)
    def mix(a, b):
        assert a.dtype == np.int64
        assert b.dtype == np.float64
        return a * b + 1

    made = t.select(mix(tf.col("x"), tf.col("v")).alias("m")).to_dict()["m"]
    assert made[:3] == [1.25, None, None]
    assert np.isnan(made[3])
    root = tf.udf(np.sqrt)
    assert t.select(root("v").alias("r")).to_dict()["r"][:3] == [0.5, None, 2.0]
    assert t.select(root("x").alias("r")).dtypes == [tf.Float64]
    day = tf.table({"d": [dt.datetime(2025, 1, 2, 3)]})
    month = tf.udf(on="numpy")(lambda d: d.astype("datetime64[D]").astype("int64"))
    assert day.select(month("d").alias("n")).to_dict()["n"] == [20090]
    flag = tf.udf(on="numpy")(lambda f: ~f.astype(bool))
    assert tf.table({"f": [True, None]}).select(flag("f").alias("g")).to_dict()["g"] == [False, None]


def test_functions_stand_in_formulas_by_their_names(t: tf.Table) -> None:
    @tf.udf(returns=tf.Int64, scalar=True)
    def twice(x):
        return 2 * x

    made = t.update("A = twice(x) + 1", "B = shout(s) + `?`", "C = or_zero(x)", "D = sqrt_of(v)")
    assert made.to_dict()["A"] == [3, 5, None, 9]
    assert made.to_dict()["B"] == ["A!?", None, "!?", "É!?"]
    assert made.to_dict()["C"] == [1, 2, 0, 4]
    assert made.to_dict()["D"][:3] == [0.5, None, 2.0]
    assert t.where("twice(x) > 3").to_dict()["x"] == [2, 4]
    with pytest.raises(FormulaError, match="there is no function twise"):
        t.update("A = twise(x)")
    with pytest.raises(FormulaError, match="there is no function without_hints"):
        t.update("A = without_hints(x)")
    with pytest.raises(ColumnNotFoundError):
        t.update("A = twice(y)")


def test_calls_are_one_a_chunk_and_chunks_are_large() -> None:
    sizes: list[int] = []
    lock = threading.Lock()

    @tf.udf(on="numpy", returns=tf.Float64, stateful=False)
    def noted(x):
        with lock:
            sizes.append(len(x))
        return x * 0.5

    big = tf.table({"x": np.arange(ROWS)})
    half = noted("x")
    made = big.select((half + half).alias("y"), "x")
    assert made["y"].to_numpy().tolist() == np.arange(ROWS, dtype=float).tolist()
    assert sum(sizes) == ROWS
    assert min(sizes) >= 65536
    assert len(sizes) <= ROWS // 65536


def test_a_stateful_function_sees_its_rows_in_order_once_for_each_place() -> None:
    seen: list[int] = []

    @tf.udf(on="numpy", returns=tf.Int64)
    def numbered(x):
        start = seen[-1] + 1 if seen else 0
        seen.extend(range(start, start + len(x)))
        return np.arange(start, start + len(x))

    big = tf.table({"x": np.zeros(ROWS, dtype=np.int64)})
    assert big.select(numbered("x").alias("n"))["n"].to_numpy().tolist() == list(range(ROWS))


def test_a_failure_names_function_row_and_arguments_and_chains(t: tf.Table) -> None:
    bad = tf.udf(fails_on_three)
    with pytest.raises(UdfError, match=r"select: row 2: fails_on_three\(3\) raised ValueError: three") as caught:
        tf.table({"x": [1, 2, 3]}).select(bad("x").alias("y"))
    assert isinstance(caught.value.__cause__, ValueError)

    @tf.udf(returns=tf.Int64)
    def broken(x):
        raise KeyError("k")

    with pytest.raises(UdfError, match=r"broken\(4 rows\) raised KeyError") as caught:
        t.select(broken("x").alias("y"))
    assert isinstance(caught.value.__cause__, KeyError)

    def short(x):
        return x[:1]

    with pytest.raises(UdfError, match="short gave 1 values for 4 rows"):
        t.select(tf.udf(returns=tf.Int64, on="numpy")(short)("x").alias("y"))
    with pytest.raises((UdfError, TypeMismatchError), match="result"):
        t.select(tf.udf(returns=tf.Int64, on="numpy")(lambda x: x + 0.5)("x").alias("y"))
    with pytest.raises(FormulaError, match="returns="):
        t.select(tf.udf(lambda x: 1)("x").alias("y"))
    with pytest.raises(TypeError, match="a column at least"):
        bad()


def test_a_failing_update_fails_the_table_with_the_cause() -> None:
    g = tf.Graph(period=0)
    source = tf.append_table({"x": int}, graph=g)
    out = source.update("y = fails_on_three(x)")
    source.append({"x": [1, 2]})
    g.step()
    assert out.to_dict()["y"] == [1, 2]
    source.append({"x": [5, 3]})
    g.step()
    with pytest.raises(TableFailedError) as caught:
        out.to_dict()
    assert isinstance(caught.value.__cause__, UdfError)
    assert "fails_on_three(3) raised ValueError" in str(caught.value)


def test_a_function_inside_a_step_may_not_run_another() -> None:
    g = tf.Graph(period=0)

    def steps(x: int) -> int:
        return x if x == 0 else g.step()

    source = tf.append_table({"x": int}, graph=g)
    out = source.update("y = steps(x)")
    source.append({"x": [1]})
    g.step()
    with pytest.raises(TableFailedError) as caught:
        out.to_dict()
    cause = caught.value.__cause__
    assert cause is not None
    assert isinstance(cause.__cause__, InvalidOperationError)


def third_power(x: int) -> int:
    return x**3


@tf.udf(scalar=True, stateful=False, executor="processes")
def in_processes(x: int) -> int:
    if x == 7:
        raise ValueError("seven")
    return x * x


def test_functions_of_pyarrow_and_polars_are_recognised(t: tf.Table) -> None:
    upper = pc.utf8_upper  # noqa: F841 (the formula calls it)
    assert t.update("U = upper(s)")["U"].to_list() == ["A", None, "", "É"]
    import polars as pl  # noqa: TC002 (the annotation is read)

    def ranked(x: pl.Series) -> pl.Series:
        return x.fill_null(0) * 2

    assert t.update("R = ranked(x)")["R"].to_list() == [2, 4, 0, 8]
    # Asked with no rows what they return: a type that the arguments decide.
    negative = tf.udf(lambda x: pc.negate(x))  # noqa: PLW0108 (a plain function of arrays)
    assert t.select(negative("v").alias("n")).schema["n"] == tf.Float64


def test_functions_of_numba_are_recognised(t: tf.Table) -> None:
    import numba

    cubed = numba.njit(third_power)  # noqa: F841
    summed = numba.vectorize(lambda a, b: a + b)  # noqa: F841
    assert t.update("C = cubed(x)", "P = summed(x, x)").select("C", "P").to_dict() == {
        "C": [1, 8, None, 64],
        "P": [2, 4, None, 8],
    }


def test_a_pool_spreads_rows_and_names_the_row_that_failed(t: tf.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from pathlib import Path

    # Workers import this module by its name, as its own importer did without a path.
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    with ThreadPoolExecutor(2) as pool:
        spread = tf.udf(scalar=True, stateful=False, executor=pool)(third_power)
        big = tf.table({"x": list(range(1000))})
        assert big.select(spread("x").alias("y"))["y"].to_list() == [x**3 for x in range(1000)]
    with pytest.raises(UdfError, match=r"row 7: in_processes\(7\) raised ValueError: seven") as caught:
        big.select(in_processes("x").alias("y"))
    assert isinstance(caught.value.__cause__, ValueError)
    assert t.select(in_processes("x").alias("y"))["y"].to_list() == [1, 4, None, 16]
    with pytest.raises(ValueError, match="stateful=False"):
        tf.udf(scalar=True, executor="processes")(third_power)
    with pytest.raises(TypeError, match="importable"):
        tf.udf(scalar=True, stateful=False, executor="processes", returns=int)(lambda x: x)


def test_results_are_taken_without_a_copy_only_if_nobody_else_holds_them() -> None:
    kept: list[np.ndarray] = []

    @tf.udf(on="numpy", stateful=False)
    def held(x):
        kept.append(x * 2)
        return kept[-1]

    made = tf.table({"x": [1, 2, 3]}).select(held("x").alias("y"))
    kept[-1][:] = 0
    assert made["y"].to_list() == [2, 4, 6]

    @tf.udf(on="numpy", stateful=False)
    def same(x):
        return x

    t = tf.table({"x": [1, 2, 3]})
    assert t.select(same("x").alias("y"), "x").to_dict() == {"y": [1, 2, 3], "x": [1, 2, 3]}
