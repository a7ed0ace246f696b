"""What readers of other libraries reach for, and what does it here: the words of messages about what there is not."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from tickframe import _native

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["EXPRESSIONS", "MODULE", "TABLES", "nearest"]

TABLES = {
    "agg": "group_by(...).agg(...), or agg_by(...) for one row",
    "append": "append of what tf.append_table and tf.blink_table made, upsert of what tf.keyed_table made; computed tables follow",
    "apply": "with_columns with expressions, or tf.udf for a function of your own",
    "applymap": "with_columns with expressions, or tf.udf for a function of your own",
    "assign": "with_columns",
    "columns_names": "columns",
    "copy": "snapshot(), a table of the rows as they are now",
    "count": "len(t)",
    "describe": "select with the aggregates you want, such as tf.col(...).mean().alias(...)",
    "dropna": "filter(tf.col(...).is_not_null())",
    "fillna": "with_columns(tf.col(...).fill_null(value))",
    "groupBy": "group_by",
    "groupby": "group_by",
    "iloc": "slice(offset, length)",
    "insert": "append of an append table, upsert of a keyed one; a new column is with_columns",
    "iterrows": "to_dicts()",
    "iter_rows": "to_dicts()",
    "itertuples": "to_dicts()",
    "limit": "head",
    "loc": "filter(...)",
    "map": "with_columns with expressions, or tf.udf for a function of your own",
    "merge": "join, or natural_join where there is at most one match",
    "orderBy": "sort",
    "query": "where",
    "rows": "to_dicts()",
    "show": "print(t)",
    "sort_values": "sort",
    "toPandas": "to_pandas",
    "to_df": "to_polars() or to_pandas()",
    "to_list": 'to_dicts(), or t["x"].to_list() for one column',
    "to_numpy": 't["x"].to_numpy(), a column at a time',
    "upsert": "upsert of what tf.keyed_table made, append of what tf.append_table made; computed tables follow",
    "values": 'to_dicts(), or t["x"].to_numpy() for one column',
    "withColumn": "with_columns",
    "withColumnRenamed": "rename",
}
"""By what another library calls it, what a table has."""

EXPRESSIONS = {
    "apply": "tf.udf(function)(tf.col(...))",
    "astype": "cast(dtype)",
    "contains": "str.contains(...) of texts, list.contains(...) of lists",
    "desc": "t.sort(name, descending=True)",
    "endswith": "str.ends_with(...)",
    "fillna": "fill_null(value)",
    "isin": "is_in(values)",
    "isna": "is_null()",
    "isnull": "is_null()",
    "lower": "str.to_lowercase()",
    "map": "tf.udf(function)(tf.col(...))",
    "map_batches": "tf.udf(function)(tf.col(...))",
    "map_elements": "tf.udf(function)(tf.col(...))",
    "name": "alias(name) gives a name, t.columns tells them",
    "notna": "is_not_null()",
    "notnull": "is_not_null()",
    "nunique": "n_unique()",
    "startswith": "str.starts_with(...)",
    "strip": "str.strip_chars()",
    "to_list": "t[name].to_list(), of a table",
    "to_numpy": "t[name].to_numpy(), of a table",
    "upper": "str.to_uppercase()",
    "values": "t[name].to_numpy(), of a table",
    "where": "tf.when(condition).then(value).otherwise(value)",
}
"""By what another library calls it, what an expression has."""

MODULE = {
    **{name: f"tf.col(name).{name}()" for name, columns, *_ in _native.Expr.aggregates() if columns < 2},
    "DataFrame": "tf.table(data)",
    "LazyFrame": "tf.table(data)",
    "Series": "tf.table(data)",
    "concat_str": "tf.format",
    "count": "tf.len(), or tf.col(name).count() without nulls",
    "transaction": "graph.transaction()",
    "when_": "tf.when",
    **{
        f"{verb}_{kind}": f"tf.table(polars.read_{kind}(path))"
        for verb in ("read", "scan")
        for kind in ("csv", "parquet")
    },
    "read_json": "tf.table(polars.read_json(path))",
}
"""By what another library calls it, what this module has."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest one there is."""
    if len(name) > 64:  # a name that nobody meant; to compare it takes the square of its length
        return ""
    names = [each for each in known if not each.startswith("_")]
    near = [each for each in names if len(name) > 2 and each.startswith(name)]
    near = near or difflib.get_close_matches(name, names, 1, 0.75)
    return f"; did you mean {near[0]!r}?" if near else ""
