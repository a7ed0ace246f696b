"""Each rule of the optimiser over tables of TPC-H's shape: it fires, the rows are the same, and fewer are read."""

import datetime as dt
import re
from pathlib import Path

import pytest

import tickframe as tf
from tickframe import col
from tickframe.errors import SchemaError

RULES = Path(__file__).parents[2] / "crates" / "engine" / "src" / "plan" / "optimize"
LINES, ORDERS, CUSTOMERS = 6_000, 1_500, 150
FIRST = dt.date(1992, 1, 1)


def _day(number):
    return FIRST + dt.timedelta(days=number % 2_526)


ROWS = range(LINES)
LINEITEM = tf.table(
    {
        "l_orderkey": [row // 4 for row in ROWS],
        "l_quantity": [float(row * 7 % 50 + 1) for row in ROWS],
        "l_extendedprice": [float(row * 31 % 10_000) for row in ROWS],
        "l_discount": [row * 3 % 11 / 100 for row in ROWS],
        "l_tax": [row * 5 % 9 / 100 for row in ROWS],
        "l_returnflag": ["ANR"[row % 3] for row in ROWS],
        "l_linestatus": ["FO"[row // 7 % 2] for row in ROWS],
        "l_shipdate": [_day(row * 13) for row in ROWS],
    },
    name="lineitem",
)
TABLES = {
    "lineitem": LINEITEM,
    "orders": tf.table(
        {
            "o_orderkey": list(range(ORDERS)),
            "o_custkey": [order * 7 % CUSTOMERS for order in range(ORDERS)],
            "o_orderdate": [_day(order * 11) for order in range(ORDERS)],
        },
        name="orders",
    ),
    "customer": tf.table(
        {
            "c_custkey": list(range(CUSTOMERS)),
            "c_mktsegment": [("BUILDING", "MACHINERY", "FURNITURE")[customer % 3] for customer in range(CUSTOMERS)],
        },
        name="customer",
    ),
}
LINEITEM, ORDERS_TABLE, CUSTOMER = TABLES["lineitem"], TABLES["orders"], TABLES["customer"]
REVENUE = col("l_extendedprice") * (1 - col("l_discount"))
EARLY = col("l_shipdate") < dt.date(1993, 1, 1)


def pricing_summary():
    """Query 1, its filter written last."""
    with_prices = LINEITEM.with_columns(paid=REVENUE).with_columns(charge=col("paid") * (1 + col("l_tax")))
    kept = with_prices.filter(col("l_shipdate") <= dt.date(1993, 9, 2))
    sums = [col(name).sum().alias(f"sum_{name}") for name in ("l_quantity", "paid", "charge")]
    return (
        kept.group_by("l_returnflag", "l_linestatus")
        .agg(*sums, tf.len().alias("n"))
        .sort("l_returnflag", "l_linestatus")
    )


def shipping_priority():
    """Query 3, its filters above the joins."""
    joined = LINEITEM.join(ORDERS_TABLE, left_on="l_orderkey", right_on="o_orderkey")
    bought = joined.join(CUSTOMER, left_on="o_custkey", right_on="c_custkey")
    return bought.filter(EARLY, col("c_mktsegment") == "BUILDING").select("l_orderkey", "o_orderdate", revenue=REVENUE)


def revenue_change():
    """Query 6, in three steps, one of them always true."""
    kept = LINEITEM.filter(EARLY).filter(tf.lit(True)).filter(col("l_discount").is_between(0.05, 0.07))
    return kept.filter(col("l_quantity") < 24).select(
        (col("l_extendedprice") * col("l_discount")).sum().alias("revenue")
    )


CASES = {
    "true predicates": revenue_change,
    "filters merge": revenue_change,
    "filter below columns": pricing_summary,
    "filter below sort": lambda: LINEITEM.sort("l_shipdate", "l_orderkey").filter(EARLY),
    "filter below concat": lambda: tf.concat([LINEITEM.filter(col("l_tax") > 0.02), LINEITEM]).filter(EARLY),
    "filter below groups": lambda: (
        LINEITEM.group_by("l_returnflag").agg(col("l_quantity").sum()).filter(col("l_returnflag") == "A")
    ),
    "filter below join": shipping_priority,
    "columns into aggregates": pricing_summary,
    "limit below columns": lambda: LINEITEM.with_columns(paid=REVENUE).head(10),
    "limit into sort": lambda: LINEITEM.sort("l_extendedprice", "l_orderkey", descending=True).head(10),
    "unused columns": lambda: (
        LINEITEM.with_columns(paid=REVENUE, tax=col("l_tax") * 2).sort("paid").select("l_orderkey")
    ),
}
# The rule that is applied as a plan runs has a test of its own.
AS_IT_RUNS = "groups of the keys of a join"
# Rules that spare columns, or an operation, and no rows of what is below them.
OF_COLUMNS = {"columns into aggregates", "unused columns"}
# The operation that reads less where it is not the whole: the filter itself meets more rows than it did above.
READER = {"filter below groups": "group_by", "filter below sort": "sort", "filter below join": "join"}


def rows_read(text, reader):
    """By one operation or by all, as it was asked for and as it runs."""
    numbers = r"^= ([\d,]+) rows read" if reader is None else rf"^ *{reader}.* rows of ([\d,]+)"
    halves = re.split(r"\n\nrules\n", text)
    return tuple(sum(int(read.replace(",", "")) for read in re.findall(numbers, half, re.MULTILINE)) for half in halves)


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_fires_and_reads_less(rule):
    asked = CASES[rule]()
    plan = asked.plan
    tables = {name: TABLES[name] for name in plan.inputs}
    text = plan.explain(**tables)
    assert f"- {rule}: " in text
    before, after = rows_read(text, READER.get(rule))
    assert after < before or (rule in OF_COLUMNS and after <= before), text
    assert plan.collect(**tables).to_dicts() == asked.to_dicts()


def test_every_rule_has_its_case():
    listed = re.findall(r'Rule \{ name: "([^"]+)"', (RULES / "mod.rs").read_text(encoding="utf-8"))
    fired = [re.findall(r'Fired \{ rule: "([^"]+)"', file.read_text(encoding="utf-8")) for file in RULES.glob("*.rs")]
    named = re.findall(
        r'^const [A-Z]+: &str = "([^"]+)";', (RULES / "mod.rs").read_text(encoding="utf-8"), re.MULTILINE
    )
    others = {name for names in fired for name in names} | set(named)
    assert len(listed) >= 10
    assert {*listed, *others} == {*CASES, AS_IT_RUNS}
    page = (RULES.parent / "README.md").read_text(encoding="utf-8")
    assert [name for name in (*listed, *others) if name not in page] == []


def test_every_node_tells_its_rows_and_its_time():
    plan = revenue_change().plan
    for line in plan.explain(lineitem=LINEITEM).splitlines():
        if line.lstrip().startswith(("filter", "select")):
            assert re.search(
                r" · [\d,]+ rows of [\d,]+(, [\d,]+ bytes)?, \d+\.\d\d ms$| · in the pass of the node above$", line
            ), line
    assert " · 6,000 rows" in plan.explain("dot", lineitem=LINEITEM)
    assert " · 6,000 rows" in plan.explain("mermaid", lineitem=LINEITEM)


def test_a_plan_is_measured_over_the_tables_that_run_takes():
    with pytest.raises(SchemaError, match=r'no input "lines"; its inputs are \["lineitem"\]'):
        revenue_change().plan.explain(lines=LINEITEM)
    live = tf.append_table({name: LINEITEM[name].dtype for name in LINEITEM.columns}, graph=tf.Graph())
    live.append(LINEITEM.head(100))
    live.graph.step()
    assert "lineitem: " in (text := revenue_change().plan.explain(lineitem=live))
    assert " · 100 rows" in text


def test_a_live_table_tells_how_often_it_was_brought_up_to_date():
    live = tf.append_table({"x": int}, graph=tf.Graph())
    kept = live.filter(col("x") > 1)
    assert "update" not in kept.explain()
    for x in (1, 2):
        live.append({"x": x})
        live.graph.step()
    assert re.search(r"^filter.* · 1 row · 2 updates, [\d.,]+ µs each$", kept.explain(), re.MULTILINE)


def test_groups_are_made_of_the_keys_that_a_join_asks_for():
    rows = 20_000
    lines = tf.table(
        {"order": [row // 4 for row in range(rows)], "item": [row % 97 for row in range(rows)]}, name="lines"
    )
    orders = tf.table(
        {"order": list(range(rows // 4)), "who": [order % 50 for order in range(rows // 4)]}, name="orders"
    )
    counts = (
        lines.filter(col("item") > 3)
        .group_by("order")
        .agg(col("item").n_unique().alias("items"), tf.len().alias("lines"))
    )
    tables = {"lines": lines, "orders": orders}
    rule = AS_IT_RUNS

    few = orders.filter(col("who") == 7).join(counts.filter(col("items") > 1), on="order", how="left")
    text = few.plan.explain(**tables)
    assert f"- {rule}: join(" in text
    assert re.search(r"^ *group_by.* · 99 rows of 384,", text.split(rule)[1], re.MULTILINE), text
    assert few.plan.collect(**tables).to_dicts() == few.to_dicts()

    # Many keys, keys of rows that a right row may stand without, and live tables: every group is made.
    many = orders.join(counts, on="order")
    all_right = orders.filter(col("who") == 7).join(counts, on="order", how="full")
    for plan in (many.plan, all_right.plan):
        assert rule not in plan.explain(**tables)
    assert (many.plan.collect(**tables).height, all_right.plan.collect(**tables).height) == (
        counts.height,
        counts.height + 1,
    )
    live = tf.append_table({"order": int, "item": int}, graph=tf.Graph())
    live.append(lines.head(12_000))
    live.graph.step()
    made = few.plan.run(orders=orders, lines=live)
    live.append(lines[12_000:])
    live.graph.step()
    assert made.to_dicts() == few.to_dicts()
