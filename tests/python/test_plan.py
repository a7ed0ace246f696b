"""Plans as values: compared, saved, read in another process, and run over other tables."""

from __future__ import annotations

import datetime as dt
import pickle
import subprocess
import sys
from pathlib import Path

import polars as pl
import polars.testing
import pytest

import tickframe as tf
from tickframe.errors import ColumnNotFoundError, DataError, SchemaError

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
C = tf.col


@pytest.fixture
def trades() -> tf.Table:
    return tf.table({"sym": ["A", "B", "A", None], "px": [1.5, 2.0, 2.5, 9.0], "n": [1, 2, 3, 4]})


def again(plan: tf.Plan, **functions: object) -> tf.Plan:
    return tf.Plan.from_json(plan.to_json(), functions)


# What is compared -----------------------------------------------------------------------------------------


def test_aliases_are_one_plan(trades):
    pairs = [
        (trades.where("n > 1"), trades.filter(C("n") > 1)),
        (trades.update("m = n * 2"), trades.with_columns(m=C("n") * 2)),
        (trades.agg_by(C("px").sum(), "sym"), trades.group_by("sym").agg(C("px").sum())),
        (trades.last_by("sym"), trades.unique("sym", keep="last")),
    ]
    for one, two in pairs:
        assert one.plan == two.plan
        assert hash(one.plan) == hash(two.plan)


def test_other_requests_and_other_tables_are_other_plans(trades):
    assert trades.head(1).plan != trades.head(2).plan
    assert trades.head(1).plan != tf.table(trades.to_dict()).head(1).plan
    assert trades.plan != trades.head(1).plan
    assert trades.plan == trades.plan
    assert trades.plan != "a plan"


def test_a_plan_that_was_read_is_the_plan(trades):
    other = tf.table({"sym": ["A"], "w": [1]})
    made = trades.filter(C("sym").is_in(other.select("sym"))).natural_join(other, on="sym").sort("px", descending=True)
    assert again(made.plan) == made.plan
    assert pickle.loads(pickle.dumps(made.plan)) == made.plan
    assert again(made.plan).to_json() == made.plan.to_json()
    assert list(made.plan.inputs) == ["input_0", "input_1"]


def test_one_input_is_one_wherever_it_is_used(trades):
    assert list(tf.concat([trades, trades.head(1)]).plan.inputs) == ["input_0"]
    twin = tf.table(trades.to_dict())
    assert list(tf.concat([trades, twin]).plan.inputs) == ["input_0", "input_1"]


def test_sources_have_names():
    graph = tf.Graph()
    quotes = tf.append_table({"sym": str, "bid": float}, graph=graph, name="quotes")
    trades = tf.table({"sym": ["A"], "px": [1.0]}, name="trades")
    plan = quotes.last_by("sym").natural_join(trades, on="sym").plan
    assert list(plan.inputs) == ["quotes", "trades"]
    assert again(plan) == plan
    twin = tf.keyed_table({"sym": str, "px": float}, key="sym", graph=graph, name="trades")
    assert list(twin.natural_join(trades, on="sym", suffix="_2").plan.inputs) == ["trades", "trades_2"]
    assert list(tf.time_table("1s", graph=graph, name="clock").head(1).plan.inputs) == ["clock"]
    with pytest.raises(ValueError, match="the name of a source is not empty"):
        tf.blink_table({"x": int}, graph=graph, name="")
    with pytest.raises(TypeError, match="input_table: name is a str, not an int"):
        tf.input_table({"x": int}, graph=graph, name=3)


def test_a_plan_is_printed(trades):
    text = str(trades.where("n > 1").head(2).plan)
    assert text == 'head(2)\n  where((col("n") > 1))\n    input_0: sym: String, px: Float64, n: Int64'


def test_columns_that_read_those_before_them_are_one_operation(trades):
    made = trades.update("m = n + 1", "k = m * 2", "m = 0")
    assert str(made.plan).splitlines() == [
        'update((col("n") + 1).alias("m"), (col("m") * 2).alias("k"), lit(0).alias("m"))',
        "  input_0: sym: String, px: Float64, n: Int64",
    ]
    assert made.plan != trades.with_columns(m=C("n") + 1, k=C("n") * 2).plan
    run = again(made.plan).run(input_0=trades)
    assert run.to_dict() == made.to_dict()
    assert (made.to_dict()["k"], made.to_dict()["m"]) == ([4, 6, 8, 10], [0, 0, 0, 0])
    seen = trades.view("m = n + 1", "k = m * 2")
    assert len(str(seen.plan).splitlines()) == 2
    assert again(seen.plan).run(input_0=trades).to_dict() == {"m": [2, 3, 4, 5], "k": [4, 6, 8, 10]}


def test_what_a_later_column_cannot_read_is_told_at_its_place():
    live = tf.input_table({"X": int}, graph=tf.Graph())
    with pytest.raises(tf.errors.FormulaError, match=r"update: i, the position of a row,[^\n]*\n  Z = Y \+ i\n {6}\^"):
        live.update("Y = X * 2", "Z = Y + i")
    with pytest.raises(tf.errors.TypeMismatchError, match=r"sqrt does not take String[^\n]*\n  Z = sqrt\(Y\)\n {6}\^"):
        live.update("Y = `a`", "Z = sqrt(Y)")


# What is run ----------------------------------------------------------------------------------------------


def test_a_plan_runs_over_static_and_live_tables(trades):
    plan = again(trades.filter(C("px") > 1.6).group_by("sym").agg(C("n").sum()).plan)
    still = {"sym": ["X", "X"], "px": [2.0, 1.0], "n": [7, 8]}
    assert plan.run(input_0=still).to_dict() == {"sym": ["X"], "n": [7]}
    assert plan.run(input_0=pl.DataFrame(still)).to_dict() == {"sym": ["X"], "n": [7]}
    graph = tf.Graph()
    live = tf.append_table({"sym": str, "px": float, "n": int}, graph=graph)
    made = plan.run(input_0=live)
    live.append({"sym": ["Y", "Y"], "px": [3.0, 4.0], "n": [1, 2]})
    graph.step()
    assert made.is_live
    assert made.to_dict() == {"sym": ["Y"], "n": [3]}
    now = plan.collect(input_0=live)
    live.append({"sym": ["Y"], "px": [3.0], "n": [5]})
    graph.step()
    assert not now.is_live
    assert (now.to_dict()["n"], made.to_dict()["n"]) == ([3], [8])


def test_a_table_that_a_plan_made_has_that_plan(trades):
    made = trades.sort("n").filter(C("px") > 1.6)
    other = tf.table({"sym": ["X"], "px": [2.0], "n": [7]})
    assert made.plan.run(input_0=other).plan == other.sort("n").filter(C("px") > 1.6).plan


def test_sets_that_live_are_inputs(trades):
    watched = tf.table({"sym": ["A"]})
    plan = again(trades.with_columns(seen=C("sym").is_in(watched)).plan)
    assert list(plan.inputs) == ["input_0", "input_1"]
    made = plan.run(input_0=trades, input_1={"sym": ["B"]})
    assert made.to_dict()["seen"] == [False, True, False, None]


def test_columns_beyond_those_of_the_input_are_left_out(trades):
    plan = trades.with_columns(m=C("n") + 1).plan
    made = plan.run(input_0=tf.table({"more": [0], "n": [1], "px": [1.0], "sym": ["A"]}))
    assert made.columns == ["sym", "px", "n", "m"]


def test_inputs_that_do_not_fit_are_refused(trades):
    plan = trades.natural_join(tf.table({"sym": ["A"], "w": [1]}), on="sym").plan
    with pytest.raises(SchemaError, match=r"Plan\.run: the input \"input_1\" is missing"):
        plan.run(input_0=trades)
    with pytest.raises(SchemaError, match=r"Plan\.collect: the plan has no input \"other\""):
        plan.collect(input_0=trades, input_1=trades, other=trades)
    with pytest.raises(SchemaError, match=r"\"input_0\" does not fit: it has no column \"px\" \(Float64\)"):
        plan.run(input_0=trades.drop("px"), input_1=trades)
    with pytest.raises(SchemaError, match=r"its column \"n\" is String, and the plan was made over Int64"):
        plan.run(input_0=trades.with_columns(n=tf.lit("1")), input_1={"sym": ["A"], "w": [1]})
    with pytest.raises(TypeError, match="input_1 is a table or a frame, not an int"):
        plan.run(input_0=trades, input_1=7)


def test_errors_name_what_the_user_called():
    made = tf.table({"sym": ["1"], "n": [2]}).with_columns(m=C("sym").cast(tf.Int64)).plan
    with pytest.raises(DataError, match=r"with_columns.*row.*\"x\""):
        made.run(input_0={"sym": ["x"], "n": [1]})


# Functions ------------------------------------------------------------------------------------------------


def double(x: int) -> int:
    return 2 * x


def test_functions_of_the_user_travel_by_name(trades):
    plan = trades.update("m = double(n)").plan
    assert again(plan, double=double).run(input_0=trades).to_dict()["m"] == [2, 4, 6, 8]
    with pytest.raises(
        DataError, match=r"calls the function \"double\", which is not known here.*functions=\{\"double\": double\}"
    ):
        again(plan)
    with pytest.raises(DataError, match="double"):
        pickle.loads(pickle.dumps(plan))
    with pytest.raises(TypeError, match=r"functions\['double'\] is an int, and says no type"):
        tf.Plan.from_json(plan.to_json(), functions={"double": 3})


# Texts that are no plans -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is no plan: EOF"),
        ("[]", "it is no plan"),
        ('{"format":1,"nodes":[]}', "it has no operation"),
        ('{"format":99,"nodes":[]}', "it has format 99, and this version reads formats up to 1"),
        ('{"format":1,"nodes":[{"op":{"head":{"rows":1}},"inputs":[0]}]}', "node 0 .head.: it stands on node 0"),
        ('{"format":1,"nodes":[{"op":{"head":{"rows":1}}}]}', "it stands on 1 nodes and not on 0"),
        ('{"format":1,"nodes":[{"op":{"tail":{"rows":-1}},"inputs":[]}]}', "invalid value"),
        ('{"format":1,"nodes":[{"op":{"fly":{}},"inputs":[]}]}', "unknown variant `fly`"),
        ("[" * 100_000, "its brackets nest deeper than"),
    ],
)
def test_a_text_that_is_no_plan_is_refused(text, told):
    with pytest.raises(DataError, match=told):
        tf.Plan.from_json(text)


def test_a_plan_is_not_made_by_hand():
    with pytest.raises(TypeError, match=r"a plan is t\.plan of a table, or Plan\.from_json"):
        tf.Plan({"op": "head"})
    with pytest.raises(TypeError, match=r"a plan is t\.plan of a table, or Plan\.from_json"):
        tf.Plan()
    with pytest.raises(TypeError, match=r"Plan\.from_json: the plan"):
        tf.Plan.from_json(7)


def test_tables_are_given_by_name(trades):
    plan = trades.head(1).plan
    for method in ("run", "collect"):
        with pytest.raises(TypeError, match=rf"Plan\.{method}: tables are given by .*plan\.{method}\(trades=t\)"):
            getattr(plan, method)(trades)


def test_deep_expressions_are_read_again():
    t = tf.table({"x": [1.0]})
    deep = C("x")
    for _ in range(100):
        deep = -deep
    made = t.with_columns(y=deep)
    assert again(made.plan) == made.plan


def test_long_chains_are_plans():
    t = tf.table({"x": [1, 2, 3]})
    for _ in range(5_000):
        t = t.head(2)
    text = t.plan.to_json()
    assert text.count('"head"') == 5_000 - 4_096, "a static table remembers so many operations and no more"
    live = tf.append_table({"x": int}, graph=tf.Graph())
    made = live
    for n in range(2_000):
        made = made.rename({"x" if n == 0 else f"x{n - 1}": f"x{n}"})
    assert again(made.plan) == made.plan
    assert len(str(made.plan).splitlines()) == 2_001


# The optimiser --------------------------------------------------------------------------------------------


def test_rules_are_told_and_drawn(trades):
    plan = trades.sort("px").with_columns(m=C("n") * 2).filter(C("n") > 1).select("sym", "n").plan
    told = plan.explain()
    for rule in ("filter below columns", "filter below sort"):
        assert f"- {rule}: " in told
    assert plan.explain("dot").startswith("digraph plan {")
    assert plan.explain("mermaid").startswith("flowchart BT\n")
    with pytest.raises(ValueError, match=r'Plan\.explain: format must be "text", "dot" or "mermaid", not "png"'):
        plan.explain("png")
    run = plan.run(input_0=trades)
    assert run.to_dict() == trades.sort("px").filter(C("n") > 1).select("sym", "n").to_dict()


def test_a_row_that_fails_is_told_as_it_was():
    """A cast that some rows do not survive is not skipped because a filter could go below it."""
    ok = tf.table({"s": ["1", "2"], "n": [1, 2]}).with_columns(m=C("s").cast(tf.Int64)).filter(C("n") > 9)
    with pytest.raises(DataError):
        ok.plan.run(input_0={"s": ["1", "x"], "n": [1, 2]})


def test_an_unknown_column_is_told_where_it_is_read():
    plan = tf.table({"a": [1], "b": [2]}).select("a").plan
    with pytest.raises(SchemaError, match='no column "b"'):
        plan.run(input_0={"a": [1]})
    with pytest.raises(ColumnNotFoundError):
        tf.table({"a": [1]}).select("b")


def test_tables_are_drawn(trades):
    assert (
        trades.head(2).sort("n").explain()
        == 'sort("n") · 2 rows\n  head(2)\n    input_0: sym: String, px: Float64, n: Int64'
    )
    live = tf.append_table({"x": int}, graph=tf.Graph())
    both = tf.concat([live.filter(C("x") > 1), live])
    assert both.explain("mermaid").splitlines() == [
        "flowchart BT",
        '  n0["concat · 0 rows, 48 bytes"]',
        "  n1 --> n0",
        "  n2 --> n0",
        '  n1["filter((col(#34;x#34;) #62; 1)) · 0 rows"]',
        "  n2 --> n1",
        '  n2["append_table · 0 rows"]',
    ]
    assert both.explain("dot").count("->") == 3
    with pytest.raises(ValueError, match=r"Table\.explain: format must be"):
        both.explain("svg")


# The pipeline of the example ------------------------------------------------------------------------------


READER = """
import sys, pathlib, pickle
import tickframe as tf
plans, tables = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())
tables = {name: tf.from_arrow(table) for name, table in tables.items()}
made = {name: tf.Plan.from_json(text).run(**{given: tables[of] for given, of in names.items()}) for name, (text, names) in plans.items()}
pathlib.Path(sys.argv[2]).write_bytes(pickle.dumps({name: table.to_dict() for name, table in made.items()}))
"""


def inputs() -> dict[str, tf.Table]:
    """A few rows of each input of the example."""
    at = dt.datetime(2013, 1, 1, 5, tzinfo=dt.UTC)
    hours = [at + dt.timedelta(hours=n // 3) for n in range(30)]
    flights = {
        "seq": list(range(30)),
        "time_hour": hours,
        "minute": [n % 60 for n in range(30)],
        "month": [1 + n % 2 for n in range(30)],
        "dep_delay": [None if n % 7 == 0 else float((n * 13) % 90 - 10) for n in range(30)],
        "distance": [100.0 + n for n in range(30)],
        "air_time": [60.0 + n for n in range(30)],
        "carrier": [["AA", "B6", "DL"][n % 3] for n in range(30)],
        "flight": list(range(100, 130)),
        "tailnum": [None if n % 5 == 0 else f"N{n % 4}" for n in range(30)],
        "origin": [["JFK", "LGA"][n % 2] for n in range(30)],
        "dest": ["SFO"] * 30,
    }
    weather = {
        "seq": list(range(10)),
        "origin": [["JFK", "LGA"][n % 2] for n in range(10)],
        "time_hour": [at + dt.timedelta(hours=n) for n in range(10)],
        **{name: [float(n) for n in range(10)] for name in ("temp", "wind_gust", "visib", "precip")},
        "wind_speed": [None if n == 3 else 4.0 * n for n in range(10)],
    }
    airlines = {"carrier": ["AA", "B6"], "name": ["American", "JetBlue"]}
    planes = {
        "tailnum": ["N1", "N2"],
        "manufacturer": ["A", "B"],
        "model": ["x", "y"],
        "seats": [1, 2],
        "year": [2000, 2001],
    }
    given = {"flights": flights, "weather": weather, "airlines": airlines, "planes": planes}
    return {name: tf.table(rows) for name, rows in given.items()}


def test_the_pipeline_of_the_example_runs_in_a_fresh_process(tmp_path):
    sys.path.insert(0, str(FLIGHTS))
    import pipeline

    tables = inputs()
    derived = pipeline.derive(*(tables[name] for name in ("flights", "weather", "airlines", "planes")))
    plans = {}
    for name, made in derived.items():
        plan = made.table.plan
        of = {
            given: next(of for of, table in tables.items() if table.schema == schema)
            for given, schema in plan.inputs.items()
        }
        plans[name] = (plan.to_json(), of)
    arrow = {name: table.to_arrow() for name, table in tables.items()}
    saved, answers = tmp_path / "plans", tmp_path / "answers"
    saved.write_bytes(pickle.dumps((plans, arrow)))
    subprocess.run([sys.executable, "-W", "ignore", "-c", READER, saved, answers], check=True, timeout=120)
    read = pickle.loads(answers.read_bytes())
    assert list(read) == list(derived)
    for name, made in derived.items():
        assert read[name] == made.table.to_dict(), name


def test_a_chain_over_a_static_table_is_one_pass_and_the_same_table():
    rows = 60_000
    texts = ["A", None, "N", "a text too long for its view"]
    frame = pl.DataFrame(
        {
            "flag": [texts[at * 7 % 4] for at in range(rows)],
            "day": [dt.date(2024, 1, 1) + dt.timedelta(days=at % 400) for at in range(rows)],
            "price": [float("nan") if at == 5_003 else at / 7 for at in range(rows)],
            "part": [None if at % 13 == 0 else at % 9 / 10 for at in range(rows)],
        }
    )
    lines = tf.table(frame, name="lines")
    last = dt.date(2024, 12, 1)

    def asked(table, of, length):
        paid = of("price") * (1 - of("part"))
        kept = table.filter((of("day") <= last) & (of("part") > 0.05)).with_columns(paid=paid)
        sums = [of("paid").sum().alias("sum"), of("paid").mean().alias("mean"), of("paid").std().alias("std")]
        return kept.group_by("flag").agg(*sums, of("day").max().alias("last"), length.alias("n"))

    made = asked(lines, C, tf.len())
    assert made.plan.explain().endswith("one pass over a static table\n- filter, group_by")
    found = made.plan.collect(lines=lines)
    pl.testing.assert_frame_equal(found.to_polars(), made.to_polars(), check_exact=True)
    wanted = asked(frame.lazy(), pl.col, pl.len()).collect()
    pl.testing.assert_frame_equal(found.to_polars().sort("flag"), wanted.sort("flag"), check_dtypes=False)


def test_a_row_that_fails_in_a_chain_is_told_as_it_was_written():
    lines = tf.table({"n": [str(at) for at in range(20_000)] + ["odd"], "v": range(20_001)}, name="lines")
    sound = tf.table({"n": ["0"], "v": [0]}, name="lines")
    plan = sound.with_columns(m=C("n").cast(int)).filter(C("v") < 10).plan
    with pytest.raises(DataError, match="row 20000") as told:
        plan.collect(lines=lines)
    with pytest.raises(DataError) as written:
        lines.with_columns(m=C("n").cast(int))
    assert str(told.value) == str(written.value)


def test_values_without_one_keep_their_type():
    import pyarrow as pa

    rows = tf.table({"k": ["a", None, "b"], "n": [1, None, 2]})
    for made in [
        rows.pivot("k", on_columns=[None], values="n", aggregate_function="len"),
        rows.filter(tf.col("n").is_in(pa.array([None, None], pa.int64()))),
        rows.filter(tf.col("k").is_in(pa.array([], pa.string()))),
    ]:
        again = tf.Plan.from_json(made.plan.to_json())
        assert again == made.plan
        assert again.run(**dict.fromkeys(again.inputs, rows)).to_dict() == made.to_dict()
