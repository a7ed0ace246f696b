"""Names of polars, pandas, Spark and Deephaven that are not names here, and what does it: the words of messages.

A name stands in the table of what it is a method of there: of tables, of groups, of expressions or of one of their name
spaces, of the module. Those that nothing does yet stand in lists of their own. A test walks the classes of the other
libraries: a name of polars that is neither here nor in these tables fails it, and so does a row that has gone stale.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "EXPRESSIONS",
    "GROUPS",
    "MODULE",
    "NOT_YET",
    "RUNNING",
    "SPACES",
    "TABLES",
    "UnknownNameError",
    "nearest",
    "unknown",
]


def _words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


_BY_FRAME = "t.to_polars() has it, of the rows as they are now"
_ROWS = "to_dicts(), rows() or iter_rows()"
_OWN_FUNCTION = "with_columns with expressions, or tf.udf for a function of your own"
_FEED = (
    "append of what tf.append_table and tf.blink_table made, upsert of what tf.keyed_table made; computed tables follow"
)
_FILE = (
    "t.write_parquet(path), t.write_csv(path), t.write_ipc(path), t.write_ndjson(path); t.to_polars() has more writers"
)
_ONE_ROW = "select(tf.all().{}()), one row; of groups group_by(...).agg(...)"
_MEMORY = "nothing: columns are kept in memory as they are"
_BYTES = "explain(), which tells the bytes that operations own"
_AN_ARRAY = 't["x"].to_numpy(), a column at a time'
_FROM_ARROW = "tf.table(arrow_table)"

TABLES: dict[str, str] = {
    # Of Arrow and DuckDB.
    "add_column": "with_columns",
    "append_column": "with_columns",
    "column": "t[name]",
    "column_names": "columns",
    "combine_chunks": _MEMORY,
    "cross": 'join(other, how="cross")',
    "df": "to_pandas()",
    "except_": 'join(other, on, how="anti")',
    "fetch_arrow_table": "to_arrow()",
    "fetchall": "rows()",
    "fetchdf": "to_pandas()",
    "fetchnumpy": _AN_ARRAY,
    "field": "schema, a mapping of names to types",
    "from_arrays": _FROM_ARROW,
    "from_batches": _FROM_ARROW,
    "from_pydict": "tf.table({name: values})",
    "from_pylist": "tf.table(rows)",
    "from_struct_array": _FROM_ARROW,
    "get_total_buffer_size": _BYTES,
    "itercolumns": "t[name] for each of t.columns",
    "nbytes": _BYTES,
    "num_columns": "width",
    "num_rows": "len(t)",
    "order": "sort",
    "pl": "to_polars()",
    "project": "select",
    "remove_column": "drop",
    "set_column": "with_columns",
    "sort_by": "sort",
    "to_arrow_table": "to_arrow()",
    "to_batches": "to_arrow(), whose batches they are",
    "to_pydict": "to_dict()",
    "to_pylist": "to_dicts()",
    "to_reader": "to_arrow(), whose batches they are",
    "union_by_name": "tf.concat(tables)",
    "unify_dictionaries": _MEMORY,
    # Of rows.
    "agg": "group_by(...).agg(...), or agg_by(...) for one row",
    "aggregate": "group_by(...).agg(...), or agg_by(...) for one row",
    "at": "t[row, name]",
    "count": "len(t)",
    "clear": "head(0)",
    "distinct": "unique",
    "dropDuplicates": "unique",
    "drop_duplicates": "unique",
    "dropna": "drop_nulls()",
    "duplicated": "filter(tf.struct(tf.all()).is_duplicated())",
    "empty": "is_empty()",
    "fillna": "fill_null(value)",
    "first": "head(1)",
    "gather": "slice, or filter by a condition",
    "gather_every": "where('i % n = 0')",
    "iat": "t[row, column]",
    "iloc": "slice(offset, length), or t[1:3]",
    "is_duplicated": "with_columns(tf.struct(tf.all()).is_duplicated().alias(...))",
    "is_unique": "with_columns(tf.struct(tf.all()).is_unique().alias(...))",
    "isEmpty": "is_empty()",
    "last": "tail(1)",
    "loc": "filter(...)",
    "nlargest": "top_k(n, by=...)",
    "nsmallest": "bottom_k(n, by=...)",
    "offset": "slice(offset)",
    "orderBy": "sort",
    "query": "where",
    "remove": "filter(~condition)",
    "remove_blink": "tf.remove_blink(t)",
    "shift": "with_columns(tf.all().shift(n))",
    "diff": "with_columns(tf.all().diff())",
    "sort_index": "sort(...) by columns; a table has no index",
    "sort_values": "sort",
    "take": "head(n)",
    # Of columns.
    "abs": "with_columns(tf.all().abs())",
    "add_prefix": "select(tf.all().name.prefix(...))",
    "add_suffix": "select(tf.all().name.suffix(...))",
    "assign": "with_columns",
    "astype": "cast",
    "clip": "with_columns(tf.all().clip(lower, upper))",
    "columns_names": "columns",
    "convert_dtypes": "cast",
    "drop_columns": "drop",
    "drop_in_place": "drop, which makes another table",
    "eval": "update",
    "get": "t[name]",
    "get_column": "t[name]",
    "get_column_index": "columns.index(name)",
    "get_columns": "[t[name] for name in t.columns]",
    "hstack": "with_columns(name=values) for a static table, else join",
    "insert_column": "select, which says the order",
    "isetitem": "with_columns",
    "isin": "with_columns(tf.all().is_in(values))",
    "isna": "with_columns(tf.all().is_null())",
    "isnull": "with_columns(tf.all().is_null())",
    "items": "columns, and t[name] of each",
    "iter_columns": "columns, and t[name] of each",
    "keys": "columns",
    "melt": "unpivot",
    "withWatermark": "watermark(column, delay=)",
    "pivot_table": "pivot",
    "map_columns": "with_columns(tf.all()...), or tf.udf for a function of your own",
    "mask": "with_columns(tf.when(condition).then(value).otherwise(tf.col(name)))",
    "max_horizontal": "select(tf.max_horizontal(tf.all()))",
    "mean_horizontal": "select(tf.mean_horizontal(tf.all()))",
    "min_horizontal": "select(tf.min_horizontal(tf.all()))",
    "notna": "with_columns(tf.all().is_not_null())",
    "notnull": "with_columns(tf.all().is_not_null())",
    "pop": "t[name], and drop(name) for a table without it",
    "rename_columns": "rename",
    "replace_column": "with_columns",
    "round": "with_columns(tf.all().round(n))",
    "selectExpr": "update or view, which take formulas",
    "select_dtypes": "select([name for name, kind in t.schema.items() if kind.is_numeric])",
    "select_seq": "select",
    "sum_horizontal": "select(tf.sum_horizontal(tf.all()))",
    "to_series": "t[name]",
    "to_struct": "select(tf.struct(tf.all()))",
    "withColumn": "with_columns",
    "withColumnRenamed": "rename",
    "withColumns": "with_columns",
    "withColumnsRenamed": "rename",
    "with_columns_seq": "with_columns",
    "zipWithIndex": "with_row_index",
    # Functions of one's own.
    "apply": _OWN_FUNCTION,
    "applymap": _OWN_FUNCTION,
    "foreach": "iter_rows() for the rows as they are now, subscribe(...) for what changes",
    "map": _OWN_FUNCTION,
    "map_batches": "pipe(function), or tf.udf for a function of columns",
    "map_rows": _OWN_FUNCTION,
    "mapInArrow": _OWN_FUNCTION,
    "mapInPandas": _OWN_FUNCTION,
    "pipe_with_schema": "pipe",
    "transform": "pipe, or with_columns with expressions",
    # Groups.
    "first_last_by": "first_by or last_by",
    "groupBy": "group_by",
    "groupby": "group_by",
    "nunique": _ONE_ROW.format("n_unique"),
    "n_unique": _ONE_ROW.format("n_unique"),
    "value_counts": 'group_by(name).len("count")',
    **{
        name: _ONE_ROW.format(ours)
        for name, ours in {
            **{name: name for name in ("all", "any", "max", "mean", "median", "min", "product", "quantile", "std", "sum", "var")},
            "prod": "product",
        }.items()
    },
    "cov": "select(tf.cov(a, b))",
    # Several tables.
    "crossJoin": "join(other, how='cross')",
    "exceptAll": "join(..., how='anti')",
    "extend": "tf.concat([t, other])",
    "intersect": "join(..., how='semi').unique()",
    "merge": "join, or natural_join where there is at most one match",
    "subtract": "join(..., how='anti')",
    "union": "tf.concat([t, other])",
    "unionAll": "tf.concat([t, other])",
    "unionByName": "tf.concat([t, other], how='diagonal')",
    "vstack": "tf.concat([t, other])",
    # Changing it where it is.
    "append": _FEED,
    "insert": "append of an append table, upsert of a keyed one; a new column is with_columns",
    "upsert": "upsert of what tf.keyed_table made, append of what tf.append_table made; computed tables follow",
    # Looking at it, and taking it out.
    "T": _BY_FRAME,
    "asTable": "the table itself",
    "cache": "the table itself: what is computed is kept",
    "clone": "the table itself, which nobody changes; snapshot() for its rows as they are now",
    "collect_async": "snapshot(), which does not wait",
    "collect_batches": "iter_rows(), or to_arrow().to_batches()",
    "collect_schema": "schema",
    "copy": "snapshot(), a table of the rows as they are now",
    "equals": "t.to_polars().equals(...)",
    "estimated_size": _BYTES,
    "execute": "nothing: a table is up to date after every step",
    "flags": "attributes",
    "info": "schema, describe() or glimpse()",
    "inspect": "print(t)",
    "isLocal": "nothing: a table lives in this process",
    "isStreaming": "is_live",
    "iterrows": "iter_rows(named=True)",
    "itertuples": "iter_rows()",
    "lazy": "the table itself: it follows its sources, and its plan is t.plan",
    "match_to_schema": "cast({name: type}) and select(names)",
    "memory_usage": _BYTES,
    "n_chunks": _MEMORY,
    "ndim": "shape",
    "persist": "the table itself: what is computed is kept",
    "plot": "t.to_polars().plot, of the rows as they are now",
    "printSchema": "schema",
    "rechunk": _MEMORY,
    "rows_by_key": "rows(named=True), in a dict of your own",
    "set_sorted": "with_order_for_column(name), assert_sorted(name)",
    "show": "print(t)",
    "show_graph": 'explain("mermaid")',
    "shrink_to_fit": _MEMORY,
    "size": "height * width",
    "style": "tf.Config for the text of a table, t.to_polars().style",
    "summary": "describe()",
    "to": "cast",
    "toArrow": "to_arrow()",
    "toDF": "rename, or to_pandas() and to_polars()",
    "toLocalIterator": "iter_rows()",
    "toPandas": "to_pandas()",
    "to_df": "to_polars() or to_pandas()",
    "to_init_repr": "to_dict()",
    "to_list": 'to_dicts(), or t["x"].to_list() for one column',
    "to_numpy": _AN_ARRAY,
    "to_records": _ROWS,
    "tolist": _ROWS,
    "unpersist": "nothing: a table is freed when nobody holds it",
    "values": 'rows(), or t["x"].to_numpy() for one column',
    **dict.fromkeys(
        _words(
            """
            corr fold hash_rows interpolate is_sorted sample_by sql to_dummies to_html to_jax to_json to_latex
            to_markdown to_torch transpose unstack upsample
            """
        ),
        _BY_FRAME,
    ),
    **dict.fromkeys(
        _words(
            """
            deserialize serialize sink_batches sink_csv sink_delta sink_iceberg sink_ipc sink_ndjson sink_parquet to_csv
            to_excel to_feather to_hdf to_orc to_parquet to_pickle to_sql write write_avro write_clipboard
            write_database write_delta write_excel write_iceberg write_ipc_stream
            """
        ),
        _FILE,
    ),
}  # fmt: skip
"""By what another library calls it, what a table has."""

GROUPS: dict[str, str] = {
    "aggregate": "agg",
    "any": "agg(tf.all().any())",
    "apply": "agg(...) with expressions",
    "avg": "mean()",
    "cov": "agg(tf.cov(a, b))",
    "having": "agg(...).filter(...)",
    "map_groups": "agg(...) with expressions, or functions of tf.col(...).implode()",
    "nunique": "n_unique()",
    "pivot": "t.pivot(on, on_columns, index=keys, values=names, aggregate_function=name)",
    "size": "len()",
    "transform": "with_columns(tf.col(...).sum().over(key))",
}
"""By what another library calls it, what groups have."""

_TABLE_SORT = "t.sort(name, descending=True)"
_BITS = "& | ^ ~ << >> of integers"

_IN_WINDOWS = 't.update_by(tf.update_by.rolling_formula_tick("out", {}, rev_ticks=n))'

EXPRESSIONS: dict[str, str] = {
    "append": "tf.concat of tables",
    "apply": "tf.udf(function)(tf.col(...))",
    "argmax": "arg_max()",
    "argmin": "arg_min()",
    "arr": "list",
    "asc": "t.sort(name)",
    "astype": "cast(dtype)",
    "between": "is_between(lower, upper)",
    "bitwiseAND": _BITS,
    "bitwiseOR": _BITS,
    "bitwiseXOR": _BITS,
    "contains": "str.contains(...) of texts, list.contains(...) of lists",
    "cot": "tan() of it, under one: 1 / tf.col(...).tan()",
    "desc": _TABLE_SORT,
    "desc_nulls_last": "t.sort(name, descending=True, nulls_last=True)",
    "dot": "weighted_sum(other)",
    "endswith": "str.ends_with(...)",
    "eqNullSafe": "eq_missing(other)",
    "exclude": "tf.all().exclude(...), tf.exclude(...)",
    "fillna": "fill_null(value)",
    "getField": "struct.field(name)",
    "getItem": "list.get(i), struct.field(name)",
    "has_nulls": "null_count() > 0",
    "hasnans": "is_nan().any()",
    "head": "implode().list.head(n); rows of a table t.head(n)",
    "ilike": 'str.contains("(?i)...")',
    "inspect": "t.select(...), and print it",
    "is_close": "(a - b).abs() < tolerance",
    "is_empty": "len() == 0",
    "isNaN": "is_nan()",
    "isNotNull": "is_not_null()",
    "isNull": "is_null()",
    "isin": "is_in(values)",
    "isna": "is_null()",
    "isnull": "is_null()",
    "item": "only(), or first()",
    "like": "str.contains(...), str.starts_with(...)",
    "limit": "implode().list.head(n); rows of a table t.head(n)",
    "lower": "str.to_lowercase()",
    "map": "replace({old: new}), or tf.udf(function)(tf.col(...))",
    "map_batches": "tf.udf(function)(tf.col(...))",
    "map_elements": "tf.udf(function)(tf.col(...))",
    "max_by": "last(order_by=...)",
    "meta": "meta_eq, meta_output_name(), meta_columns()",
    "min_by": "first(order_by=...)",
    "multiply": "mul(other)",
    "notna": "is_not_null()",
    "notnull": "is_not_null()",
    "nunique": "n_unique()",
    "otherwise": "tf.when(condition).then(value).otherwise(value)",
    "prod": "product()",
    "replace_strict": "replace({old: new}), which leaves other values as they are",
    "reverse": "implode().list.reverse(); text: str.reverse()",
    "rlike": "str.contains(pattern)",
    "rolling_map": _IN_WINDOWS.format("tf.udf(function)(tf.col(...).implode())"),
    "slice": "implode().list.slice(offset, n); rows of a table t.slice(offset, n)",
    "sort": "implode().list.sort(); rows of a table t.sort(name)",
    "startswith": "str.starts_with(...)",
    "strip": "str.strip_chars()",
    "substr": "str.slice(offset, n)",
    "subtract": "sub(other)",
    "tail": "implode().list.tail(n); rows of a table t.tail(n)",
    "to_list": "t[name].to_list(), of a table",
    "to_numpy": "t[name].to_numpy(), of a table",
    "to_physical": "cast(tf.Int64), or dt.epoch(unit)",
    "top_k": "implode().list.sort(descending=True).list.head(k); rows of a table t.top_k(k, by=name)",
    "bottom_k": "implode().list.sort().list.head(k); rows of a table t.bottom_k(k, by=name)",
    "truncate": "dt.truncate(...) of instants, floor() of numbers",
    "truncdiv": "(a / b).cast(tf.Int64)",
    "try_cast": "cast(dtype, strict=False)",
    "unique": "implode().list.unique(); rows of a table t.unique(name)",
    "upper": "str.to_uppercase()",
    "value_counts": 't.group_by(name).len("count")',
    "unique_counts": 't.group_by(name).len("count")',
    "values": "t[name].to_numpy(), of a table",
    "when": "tf.when(condition).then(value).otherwise(value)",
    "where": "filter(condition) before an aggregate, tf.when(condition).then(value).otherwise(value)",
}
"""By what another library calls it, what an expression has."""

SPACES: dict[str, dict[str, str]] = {
    "str": {
        "count_match": "count_matches(pattern)",
        "lower": "to_lowercase()",
        "n_chars": "len_chars()",
        "strip": "strip_chars()",
        "lstrip": "strip_chars_start()",
        "rstrip": "strip_chars_end()",
        "startswith": "starts_with(text)",
        "endswith": "ends_with(text)",
        "upper": "to_uppercase()",
        "title": "to_titlecase()",
        "len": "len_chars()",
        "strptime": "to_datetime(format), to_date(format)",
        "contains_any": 'contains("one|other")',
        "concat": "tf.concat_str(...), or implode().list.join(separator) of a group",
        "join": "implode().list.join(separator)",
        "to_decimal": "str's own cast: tf.col(...).cast(tf.Decimal(38, 9))",
        "to_time": "to_datetime(format).dt.time()",
        "cat": "tf.concat_str(...)",
    },
    "dt": {
        "days": "total_days()",
        "dayofweek": "weekday()",
        "dayofyear": "ordinal_day()",
        "floor": "truncate(every)",
        "replace": "offset_by(...), truncate(...)",
        "timestamp": "epoch(unit)",
        "to_string": "strftime(format)",
        "total_seconds_": "total_seconds()",
        "tz_convert": "convert_time_zone(zone)",
        "tz_localize": "replace_time_zone(zone)",
        "cast_time_unit": 'the cast of the column: tf.col(...).cast(tf.Datetime("ms"))',
    },
    "list": {
        "lengths": "len()",
        "size": "len()",
        "take": "gather(indices)",
        "item": "get(0)",
    },
    "struct": {
        "get": "field(name)",
        "with_fields": "tf.struct(...) of fields and new ones",
        "drop": "tf.struct(...) of the fields that stay",
        "unnest": "field(name), one after the other",
    },
    "bin": {"len": "size()"},
    "name": {},
}
"""For each name space of expressions, by what another library calls it, what it has."""

MODULE: dict[str, str] = {
    "Categorical": "tf.Dictionary",
    "DataFrame": "tf.table(data)",
    "Enum": "tf.Dictionary",
    "LazyFrame": "tf.table(data)",
    "Series": "tf.table(data)",
    "Utf8": "tf.String",
    "arange": "tf.empty_table(n).update('i = i')",
    "build_info": "tf.__version__",
    "col_": "tf.col",
    "collect_all": "graph.snapshot([a, b])",
    "date": "tf.lit(datetime.date(...))",
    "datetime": "tf.lit(datetime.datetime(...))",
    "duration": "tf.lit(datetime.timedelta(...))",
    "exceptions": "tf.errors",
    "explain_all": "t.explain()",
    "expr": "tf.formula",
    "from_dict": "tf.table(data)",
    "from_numpy": "tf.table({name: array})",
    "from_records": "tf.from_dicts",
    "int_range": "tf.formula('i')",
    "list": "tf.implode(name)",
    "map_batches": "tf.udf",
    "new_table": "tf.table(data)",
    "ones": "tf.lit(1)",
    "read_ndjson": "tf.read_json(path)",
    "scan_iceberg": "tf.read_iceberg(table)",
    "repeat": "tf.lit(value)",
    "row_index": "t.with_row_index()",
    "row_number": "t.with_row_index()",
    "select": "tf.empty_table(1).select(...)",
    "set_random_seed": "seed= of sample and of the random functions",
    "sql_expr": "tf.formula",
    "time": "tf.lit(datetime.time(...))",
    "transaction": "graph.transaction()",
    "union": "tf.concat",
    "when_": "tf.when",
    "zeros": "tf.lit(0)",
    **{
        f"{verb}_{kind}": f"tf.table(polars.read_{kind}(path))"
        for verb in ("read", "scan")
        for kind in ("avro", "excel", "ods", "lines")
    },
}
"""By what another library calls it, what this module has."""

NOT_YET: dict[str, frozenset[str]] = {
    "table": frozenset(
        _words(
            """
            cube resample
            rollup tree window
            """
        )
    ),
    "groups": frozenset(
        _words(
            """
            rolling
            """
        )
    ),
    "expression": frozenset(
        _words(
            """
            arg_sort arg_true arg_unique bin_intervals bin_quantiles bin_ranks
            bitwise_and bitwise_count_ones bitwise_count_zeros bitwise_leading_ones bitwise_leading_zeros bitwise_or
            bitwise_trailing_ones bitwise_trailing_zeros bitwise_xor bottom_k_by cat cumulative_eval entropy erf erfc
            ext extend_constant explode gather gather_every hash hist index_of interpolate_by
            is_sorted lower_bound mode pipe_with_dtype reinterpret
            reshape rle rolling round_sig_figs sample search_sorted set_sorted shuffle top_k_by upper_bound
            """
        )
    ),
    "str": frozenset(
        _words(
            """
            escape_regex extract_groups extract_many find_many json_decode json_path_match normalize
            replace_many split_exact splitn
            """
        )
    ),
    "dt": frozenset(
        _words(
            """
            add_business_days base_utc_offset dst_offset is_business_day
            """
        )
    ),
    "list": frozenset(
        _words(
            """
            agg all any concat count_matches explode filter gather_every sample set_difference set_intersection
            set_symmetric_difference set_union shift to_array to_map to_struct
            """
        )
    ),
    "struct": frozenset(["eval", "json_encode"]),
    "bin": frozenset(
        _words(
            """
            get head reinterpret slice tail
            """
        )
    ),
    "name": frozenset(["map_fields", "prefix_fields", "suffix_fields"]),
    "module": frozenset(
        _words(
            """
            Field Int128 SQLContext UInt128 align_frames arg_sort_by arg_where business_day_count concat_arr cum_count
            cum_fold cum_reduce cum_sum cum_sum_horizontal date_range date_ranges datetime_range datetime_ranges
            field fold head linear_space linear_spaces map_groups reduce rolling_corr
            rolling_cov sql tail time_range time_ranges
            """
        )
    ),
}
"""Names of what there is not yet, by what has them elsewhere."""


RUNNING = frozenset(
    {
        "rle_id",
    }
)
"""Names of polars whose values run on from row to row, and are not there."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest one there is."""
    if len(name) > 64:  # a name that nobody meant; to compare it takes the square of its length
        return ""
    names = [each for each in known if not each.startswith("_")]
    near = [each for each in names if len(name) > 2 and each.startswith(name)]
    near = near or difflib.get_close_matches(name, names, 1, 0.75)
    return f"; did you mean {near[0]!r}?" if near else ""


class UnknownNameError(AttributeError):
    """A name that there is not. What is said of it is found out when it is read: whoever asks `hasattr` reads nothing."""

    def __init__(self, told: str, name: str, obj: object, hint: Callable[[], str]) -> None:
        super().__init__(told, name=name, obj=obj)
        self._hint = hint

    def __str__(self) -> str:
        return f"{self.args[0]}{self._hint()}"

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        return AttributeError, (str(self),)


def unknown(name: str, kind: str, others: Mapping[str, str], known: Iterable[str]) -> str:
    """What is said of a name that there is not: what does it here, that it is not there yet, or the nearest one.

    Args:
        name: the name.
        kind: of what, as `NOT_YET` has it.
        others: what does it here, by the names of other libraries.
        known: the names that there are.
    """
    if name in others:
        return f"; here it is {others[name]}"
    if name in NOT_YET[kind]:
        return ": it is not there yet"
    return nearest(name, known)
