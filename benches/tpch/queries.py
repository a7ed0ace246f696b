"""The 22 queries of TPC-H, each one text for tickframe and for polars.

A query takes the tables by name, with their scale, and the module whose expressions it is made of: `tickframe` or `polars`. Its answer is a table of
that library (for polars a `LazyFrame`), with the columns and the order of rows that the specification says. Parameters are the
specification's validation values.

Money may be Float64 or Decimal: no query says a number that only one of them is.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

__all__ = ["QUERIES", "TABLES"]

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


def _volume(m: Any) -> Any:
    """What a line costs with its discount."""
    return m.col("l_extendedprice") * (1 - m.col("l_discount"))


def _within(column: Any, first: dt.date, end: dt.date) -> Any:
    """From the first day to the one before the end."""
    return (column >= first) & (column < end)


def query_1(t: SimpleNamespace, m: Any) -> Any:
    """Pricing summary report."""
    return (
        t.lineitem.filter(m.col("l_shipdate") <= dt.date(1998, 9, 2))
        .with_columns(disc_price=_volume(m))
        .with_columns(charge=m.col("disc_price") * (1 + m.col("l_tax")))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            m.col("l_quantity").sum().alias("sum_qty"),
            m.col("l_extendedprice").sum().alias("sum_base_price"),
            m.col("disc_price").sum().alias("sum_disc_price"),
            m.col("charge").sum().alias("sum_charge"),
            m.col("l_quantity").mean().alias("avg_qty"),
            m.col("l_extendedprice").mean().alias("avg_price"),
            m.col("l_discount").mean().alias("avg_disc"),
            m.len().alias("count_order"),
        )
        .sort("l_returnflag", "l_linestatus")
    )


def query_2(t: SimpleNamespace, m: Any) -> Any:
    """Minimum cost supplier."""
    offers = (
        t.part.filter(m.col("p_size") == 15, m.col("p_type").str.ends_with("BRASS"))
        .join(t.partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(t.supplier, left_on="ps_suppkey", right_on="s_suppkey")
        .join(t.nation, left_on="s_nationkey", right_on="n_nationkey")
        .join(t.region.filter(m.col("r_name") == "EUROPE"), left_on="n_regionkey", right_on="r_regionkey")
    )
    cheapest = offers.group_by("p_partkey").agg(m.col("ps_supplycost").min())
    return (
        offers.join(cheapest, on=["p_partkey", "ps_supplycost"])
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .sort("s_acctbal", "n_name", "s_name", "p_partkey", descending=[True, False, False, False])
        .head(100)
    )


def query_3(t: SimpleNamespace, m: Any) -> Any:
    """Shipping priority."""
    return (
        t.customer.filter(m.col("c_mktsegment") == "BUILDING")
        .join(t.orders.filter(m.col("o_orderdate") < dt.date(1995, 3, 15)), left_on="c_custkey", right_on="o_custkey")
        .join(
            t.lineitem.filter(m.col("l_shipdate") > dt.date(1995, 3, 15)), left_on="o_orderkey", right_on="l_orderkey"
        )
        .with_columns(revenue=_volume(m))
        .group_by("o_orderkey", "o_orderdate", "o_shippriority")
        .agg(m.col("revenue").sum())
        .select(m.col("o_orderkey").alias("l_orderkey"), "revenue", "o_orderdate", "o_shippriority")
        .sort("revenue", "o_orderdate", "l_orderkey", descending=[True, False, False])
        .head(10)
    )


def query_4(t: SimpleNamespace, m: Any) -> Any:
    """Order priority checking."""
    late = t.lineitem.filter(m.col("l_commitdate") < m.col("l_receiptdate"))
    return (
        t.orders.filter(_within(m.col("o_orderdate"), dt.date(1993, 7, 1), dt.date(1993, 10, 1)))
        .join(late, left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .group_by("o_orderpriority")
        .agg(m.len().alias("order_count"))
        .sort("o_orderpriority")
    )


def query_5(t: SimpleNamespace, m: Any) -> Any:
    """Local supplier volume."""
    return (
        t.region.filter(m.col("r_name") == "ASIA")
        .join(t.nation, left_on="r_regionkey", right_on="n_regionkey")
        .join(t.customer, left_on="n_nationkey", right_on="c_nationkey")
        .join(
            t.orders.filter(_within(m.col("o_orderdate"), dt.date(1994, 1, 1), dt.date(1995, 1, 1))),
            left_on="c_custkey",
            right_on="o_custkey",
        )
        .join(t.lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .join(t.supplier, left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
        .with_columns(revenue=_volume(m))
        .group_by("n_name")
        .agg(m.col("revenue").sum())
        .sort("revenue", descending=True)
    )


def query_6(t: SimpleNamespace, m: Any) -> Any:
    """Forecasting revenue change."""
    return (
        t.lineitem.filter(
            _within(m.col("l_shipdate"), dt.date(1994, 1, 1), dt.date(1995, 1, 1)),
            m.col("l_discount").is_between(0.05, 0.07),
            m.col("l_quantity") < 24,
        )
        .with_columns(revenue=m.col("l_extendedprice") * m.col("l_discount"))
        .select(m.col("revenue").sum())
    )


def query_7(t: SimpleNamespace, m: Any) -> Any:
    """Volume shipping."""
    two = t.nation.filter(m.col("n_name").is_in(["FRANCE", "GERMANY"])).select("n_nationkey", "n_name")
    lines = t.lineitem.filter(m.col("l_shipdate").is_between(dt.date(1995, 1, 1), dt.date(1996, 12, 31)))
    buyers = two.join(t.customer, left_on="n_nationkey", right_on="c_nationkey").rename({"n_name": "cust_nation"})
    sellers = two.join(t.supplier, left_on="n_nationkey", right_on="s_nationkey").rename({"n_name": "supp_nation"})
    return (
        buyers.select("c_custkey", "cust_nation")
        .join(t.orders, left_on="c_custkey", right_on="o_custkey")
        .join(lines, left_on="o_orderkey", right_on="l_orderkey")
        .join(sellers.select("s_suppkey", "supp_nation"), left_on="l_suppkey", right_on="s_suppkey")
        .filter(m.col("cust_nation") != m.col("supp_nation"))
        .with_columns(l_year=m.col("l_shipdate").dt.year(), volume=_volume(m))
        .group_by("supp_nation", "cust_nation", "l_year")
        .agg(m.col("volume").sum().alias("revenue"))
        .sort("supp_nation", "cust_nation", "l_year")
    )


def query_8(t: SimpleNamespace, m: Any) -> Any:
    """National market share."""
    sellers = t.supplier.join(t.nation, left_on="s_nationkey", right_on="n_nationkey").select("s_suppkey", "n_name")
    return (
        t.part.filter(m.col("p_type") == "ECONOMY ANODIZED STEEL")
        .join(t.lineitem, left_on="p_partkey", right_on="l_partkey")
        .join(
            t.orders.filter(m.col("o_orderdate").is_between(dt.date(1995, 1, 1), dt.date(1996, 12, 31))),
            left_on="l_orderkey",
            right_on="o_orderkey",
        )
        .join(t.customer.select("c_custkey", "c_nationkey"), left_on="o_custkey", right_on="c_custkey")
        .join(t.nation.select("n_nationkey", "n_regionkey"), left_on="c_nationkey", right_on="n_nationkey")
        .join(t.region.filter(m.col("r_name") == "AMERICA"), left_on="n_regionkey", right_on="r_regionkey")
        .join(sellers, left_on="l_suppkey", right_on="s_suppkey")
        .with_columns(o_year=m.col("o_orderdate").dt.year(), volume=_volume(m))
        .group_by("o_year")
        .agg(
            m.col("volume").filter(m.col("n_name") == "BRAZIL").sum().alias("brazil"),
            m.col("volume").sum(),
        )
        .select("o_year", (m.col("brazil") / m.col("volume")).alias("mkt_share"))
        .sort("o_year")
    )


def query_9(t: SimpleNamespace, m: Any) -> Any:
    """Product type profit measure."""
    return (
        t.part.filter(m.col("p_name").str.contains("green", literal=True))
        .select("p_partkey")
        .join(t.partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(t.lineitem, left_on=["p_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
        .join(t.supplier.select("s_suppkey", "s_nationkey"), left_on="ps_suppkey", right_on="s_suppkey")
        .join(t.nation.select("n_nationkey", "n_name"), left_on="s_nationkey", right_on="n_nationkey")
        .join(t.orders.select("o_orderkey", "o_orderdate"), left_on="l_orderkey", right_on="o_orderkey")
        .with_columns(
            o_year=m.col("o_orderdate").dt.year(),
            amount=_volume(m) - m.col("ps_supplycost") * m.col("l_quantity"),
        )
        .group_by(m.col("n_name").alias("nation"), "o_year")
        .agg(m.col("amount").sum().alias("sum_profit"))
        .sort("nation", "o_year", descending=[False, True])
    )


def query_10(t: SimpleNamespace, m: Any) -> Any:
    """Returned item reporting."""
    return (
        t.customer.join(
            t.orders.filter(_within(m.col("o_orderdate"), dt.date(1993, 10, 1), dt.date(1994, 1, 1))),
            left_on="c_custkey",
            right_on="o_custkey",
        )
        .join(t.lineitem.filter(m.col("l_returnflag") == "R"), left_on="o_orderkey", right_on="l_orderkey")
        .join(t.nation, left_on="c_nationkey", right_on="n_nationkey")
        .with_columns(revenue=_volume(m))
        .group_by("c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment")
        .agg(m.col("revenue").sum())
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
        .sort("revenue", "c_custkey", descending=[True, False])
        .head(20)
    )


def query_11(t: SimpleNamespace, m: Any) -> Any:
    """Important stock identification."""
    stock = (
        t.nation.filter(m.col("n_name") == "GERMANY")
        .join(t.supplier, left_on="n_nationkey", right_on="s_nationkey")
        .join(t.partsupp, left_on="s_suppkey", right_on="ps_suppkey")
        .with_columns(value=m.col("ps_supplycost") * m.col("ps_availqty"))
    )
    total = stock.select(m.col("value").sum().alias("total"))
    return (
        stock.group_by("ps_partkey")
        .agg(m.col("value").sum())
        .join(total, how="cross")
        .filter(m.col("value") > m.col("total") * (0.0001 / t.scale))
        .select("ps_partkey", "value")
        .sort("value", "ps_partkey", descending=[True, False])
    )


def query_12(t: SimpleNamespace, m: Any) -> Any:
    """Shipping modes and order priority."""
    urgent = m.col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    lines = t.lineitem.filter(
        m.col("l_shipmode").is_in(["MAIL", "SHIP"]),
        m.col("l_commitdate") < m.col("l_receiptdate"),
        m.col("l_shipdate") < m.col("l_commitdate"),
        _within(m.col("l_receiptdate"), dt.date(1994, 1, 1), dt.date(1995, 1, 1)),
    )
    return (
        lines.join(t.orders, left_on="l_orderkey", right_on="o_orderkey")
        .group_by("l_shipmode")
        .agg(urgent.sum().alias("high_line_count"), (~urgent).sum().alias("low_line_count"))
        .sort("l_shipmode")
    )


def query_13(t: SimpleNamespace, m: Any) -> Any:
    """Customer distribution."""
    asked = t.orders.filter(~m.col("o_comment").str.contains("special.*requests"))
    return (
        t.customer.join(asked, left_on="c_custkey", right_on="o_custkey", how="left")
        .group_by("c_custkey")
        .agg(m.col("o_orderkey").count().alias("c_count"))
        .group_by("c_count")
        .agg(m.len().alias("custdist"))
        .sort("custdist", "c_count", descending=[True, True])
    )


def query_14(t: SimpleNamespace, m: Any) -> Any:
    """Promotion effect."""
    promoted = m.col("p_type").str.starts_with("PROMO")
    return (
        t.lineitem.filter(_within(m.col("l_shipdate"), dt.date(1995, 9, 1), dt.date(1995, 10, 1)))
        .join(t.part, left_on="l_partkey", right_on="p_partkey")
        .with_columns(revenue=_volume(m))
        .select(m.col("revenue").filter(promoted).sum().alias("promo"), m.col("revenue").sum())
        .select((m.col("promo") * 100 / m.col("revenue")).alias("promo_revenue"))
    )


def query_15(t: SimpleNamespace, m: Any) -> Any:
    """Top supplier."""
    revenue = (
        t.lineitem.filter(_within(m.col("l_shipdate"), dt.date(1996, 1, 1), dt.date(1996, 4, 1)))
        .with_columns(volume=_volume(m))
        .group_by("l_suppkey")
        .agg(m.col("volume").sum().alias("total_revenue"))
    )
    most = revenue.select(m.col("total_revenue").max().alias("most"))
    return (
        t.supplier.join(revenue, left_on="s_suppkey", right_on="l_suppkey")
        .join(most, how="cross")
        .filter(m.col("total_revenue") == m.col("most"))
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .sort("s_suppkey")
    )


def query_16(t: SimpleNamespace, m: Any) -> Any:
    """Parts and supplier relationship."""
    complained = t.supplier.filter(m.col("s_comment").str.contains("Customer.*Complaints"))
    return (
        t.part.filter(
            m.col("p_brand") != "Brand#45",
            ~m.col("p_type").str.starts_with("MEDIUM POLISHED"),
            m.col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9]),
        )
        .join(t.partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(complained, left_on="ps_suppkey", right_on="s_suppkey", how="anti")
        .group_by("p_brand", "p_type", "p_size")
        .agg(m.col("ps_suppkey").n_unique().alias("supplier_cnt"))
        .sort("supplier_cnt", "p_brand", "p_type", "p_size", descending=[True, False, False, False])
    )


def query_17(t: SimpleNamespace, m: Any) -> Any:
    """Small-quantity-order revenue."""
    lines = t.part.filter(m.col("p_brand") == "Brand#23", m.col("p_container") == "MED BOX").join(
        t.lineitem, left_on="p_partkey", right_on="l_partkey"
    )
    usual = lines.group_by("p_partkey").agg(m.col("l_quantity").mean().alias("usual"))
    return (
        lines.join(usual, on="p_partkey")
        .filter(m.col("l_quantity") * 5 < m.col("usual"))
        .select((m.col("l_extendedprice").sum() / 7.0).alias("avg_yearly"))
    )


def query_18(t: SimpleNamespace, m: Any) -> Any:
    """Large volume customer."""
    large = (
        t.lineitem.group_by("l_orderkey").agg(m.col("l_quantity").sum().alias("sum_qty")).filter(m.col("sum_qty") > 300)
    )
    return (
        t.orders.join(large, left_on="o_orderkey", right_on="l_orderkey")
        .join(t.customer, left_on="o_custkey", right_on="c_custkey")
        .select("c_name", m.col("o_custkey").alias("c_custkey"), "o_orderkey", "o_orderdate", "o_totalprice", "sum_qty")
        .sort("o_totalprice", "o_orderdate", "o_orderkey", descending=[True, False, False])
        .head(100)
    )


def query_19(t: SimpleNamespace, m: Any) -> Any:
    """Discounted revenue."""

    def one(brand: str, kind: str, boxes: list[str], least: int, size: int) -> Any:
        return (
            (m.col("p_brand") == brand)
            & m.col("p_container").is_in([f"{kind} {box}" for box in boxes])
            & m.col("l_quantity").is_between(least, least + 10)
            & m.col("p_size").is_between(1, size)
        )

    return (
        t.lineitem.filter(m.col("l_shipmode").is_in(["AIR", "AIR REG"]), m.col("l_shipinstruct") == "DELIVER IN PERSON")
        .join(t.part, left_on="l_partkey", right_on="p_partkey")
        .filter(
            one("Brand#12", "SM", ["CASE", "BOX", "PACK", "PKG"], 1, 5)
            | one("Brand#23", "MED", ["BAG", "BOX", "PKG", "PACK"], 10, 10)
            | one("Brand#34", "LG", ["CASE", "BOX", "PACK", "PKG"], 20, 15)
        )
        .with_columns(revenue=_volume(m))
        .select(m.col("revenue").sum())
    )


def query_20(t: SimpleNamespace, m: Any) -> Any:
    """Potential part promotion."""
    sold = (
        t.lineitem.filter(_within(m.col("l_shipdate"), dt.date(1994, 1, 1), dt.date(1995, 1, 1)))
        .group_by("l_partkey", "l_suppkey")
        .agg(m.col("l_quantity").sum().alias("sold"))
    )
    plenty = (
        t.partsupp.join(
            t.part.filter(m.col("p_name").str.starts_with("forest")),
            left_on="ps_partkey",
            right_on="p_partkey",
            how="semi",
        )
        .join(sold, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
        .filter(m.col("ps_availqty") * 2 > m.col("sold"))
    )
    return (
        t.supplier.join(plenty, left_on="s_suppkey", right_on="ps_suppkey", how="semi")
        .join(t.nation.filter(m.col("n_name") == "CANADA"), left_on="s_nationkey", right_on="n_nationkey")
        .select("s_name", "s_address")
        .sort("s_name")
    )


def query_21(t: SimpleNamespace, m: Any) -> Any:
    """Suppliers who kept orders waiting."""
    late = t.lineitem.filter(m.col("l_receiptdate") > m.col("l_commitdate"))
    shared = t.lineitem.group_by("l_orderkey").agg(m.col("l_suppkey").n_unique().alias("n")).filter(m.col("n") > 1)
    alone = late.group_by("l_orderkey").agg(m.col("l_suppkey").n_unique().alias("n")).filter(m.col("n") == 1)
    return (
        t.nation.filter(m.col("n_name") == "SAUDI ARABIA")
        .join(t.supplier, left_on="n_nationkey", right_on="s_nationkey")
        .join(late, left_on="s_suppkey", right_on="l_suppkey")
        .join(t.orders.filter(m.col("o_orderstatus") == "F"), left_on="l_orderkey", right_on="o_orderkey", how="semi")
        .join(shared, on="l_orderkey", how="semi")
        .join(alone, on="l_orderkey", how="semi")
        .group_by("s_name")
        .agg(m.len().alias("numwait"))
        .sort("numwait", "s_name", descending=[True, False])
        .head(100)
    )


def query_22(t: SimpleNamespace, m: Any) -> Any:
    """Global sales opportunity."""
    called = (
        t.customer.with_columns(cntrycode=m.col("c_phone").str.slice(0, 2))
        .filter(m.col("cntrycode").is_in(["13", "31", "23", "29", "30", "18", "17"]))
        .select("c_custkey", "cntrycode", "c_acctbal")
    )
    usual = called.filter(m.col("c_acctbal") > 0).select(m.col("c_acctbal").mean().alias("usual"))
    return (
        called.join(usual, how="cross")
        .filter(m.col("c_acctbal") > m.col("usual"))
        .join(t.orders, left_on="c_custkey", right_on="o_custkey", how="anti")
        .group_by("cntrycode")
        .agg(m.len().alias("numcust"), m.col("c_acctbal").sum().alias("totacctbal"))
        .sort("cntrycode")
    )


QUERIES: dict[int, Callable[[SimpleNamespace, Any], Any]] = {
    number: globals()[f"query_{number}"] for number in range(1, 23)
}
