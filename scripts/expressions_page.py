"""Writes docs/expressions.md: every method of expressions with an example whose values are computed here.

What a method gives is the first line of its docstring. Functions of rows are declared in `crates/formula`, with their
examples; those of all else stand here. A method without an example is an error, and so is an example of what is not there.
"""

from __future__ import annotations

import datetime as dt
import inspect
import math
import re
import sys
from pathlib import Path
from typing import Any

from functions_page import code

import tickframe as tf
from tickframe import _native

PAGE = Path(__file__).parents[1] / "docs" / "expressions.md"

COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "x": (float, [-2.5, None, 4.0]),
    "n": (int, [7, 2, 9]),
    "k": (str, ["a", "b", "a"]),
    "s": (str, ["Live tables", "a-1 b-22", None]),
    "t": (
        tf.Datetime("ns", "UTC"),
        [dt.datetime(2024, 2, 29, 13, 45, 30, tzinfo=dt.UTC), dt.datetime(2025, 1, 1, tzinfo=dt.UTC), None],
    ),
    "v": (tf.List(tf.Int64), [[3, 1, 3], [None, 5], None]),
    "p": (tf.Struct({"a": tf.Int64, "b": tf.String}), [{"a": 1, "b": "u"}, {"a": 2, "b": None}, None]),
    "y": (bytes, [b"\x01\x02", b"", None]),
}

OPERATORS = """
col("n") + 1
col("n") - col("x")
col("n") * 2
col("n") / 2
-col("n") // 2
col("n") % 4
col("n") ** 2
col("s") + "!"
col("n") > 2
col("k") == "a"
(col("n") > 2) & (col("x") > 0)
(col("n") > 8) | (col("x") < 0)
~(col("n") > 2)
"""

#: Subject, the words under it, what the methods are of, and examples of those that are no declared functions of rows.
SUBJECTS: tuple[tuple[str, str, str, str], ...] = (
    (
        "Values",
        'Beside an operator a string is text: `col("k") == "a"`. Bounds, weights and orders take names of columns.',
        "Expr",
        """
diff | col("n").diff()
alias | col("n").alias("m")
cast | col("x").cast(tf.Int64)
pow | col("n").pow(2)
replace | col("k").replace({"a": "A", "b": "B"})
is_duplicated | col("k").is_duplicated()
is_first_distinct | col("k").is_first_distinct()
is_last_distinct | col("k").is_last_distinct()
peak_max | col("n").peak_max()
peak_min | col("n").peak_min()
cut | col("n").cut([5, 8])
qcut | col("n").qcut(2, labels=["low", "high"])
is_unique | col("k").is_unique()
pipe | col("n").pipe(lambda n: n + 1)
over | col("n").sum().over("k")
rolling_sum | col("n").rolling_sum(2)
rolling_mean | col("n").rolling_mean(2)
rolling_min | col("n").rolling_min(2)
rolling_max | col("n").rolling_max(2)
rolling_std | col("n").rolling_std(2)
rolling_var | col("n").rolling_var(2)
rolling_skew | col("n").rolling_skew(3)
rolling_kurtosis | col("n").rolling_kurtosis(3)
rolling_median | col("n").rolling_median(2)
rolling_rank | col("n").rolling_rank(2, min_samples=1)
rolling_rank_by | col("x").rolling_rank_by("n", 3)
rolling_quantile | col("n").rolling_quantile(0.5, window_size=2)
rolling_sum_by | col("x").rolling_sum_by("n", 3)
rolling_mean_by | col("x").rolling_mean_by("n", 3)
rolling_min_by | col("x").rolling_min_by("n", 3)
rolling_max_by | col("x").rolling_max_by("n", 3)
rolling_std_by | col("x").rolling_std_by("n", 3)
rolling_var_by | col("x").rolling_var_by("n", 3)
rolling_median_by | col("x").rolling_median_by("n", 3)
rolling_quantile_by | col("x").rolling_quantile_by("n", 3, quantile=0.5)
cum_sum | col("n").cum_sum()
cum_prod | col("n").cum_prod()
cum_min | col("n").cum_min()
cum_max | col("n").cum_max()
cum_mean | col("n").cum_mean()
cum_count | col("x").cum_count()
forward_fill | col("x").forward_fill()
backward_fill | col("x").backward_fill()
interpolate | col("x").interpolate()
pct_change | col("n").pct_change()
rank | col("n").rank()
ewm_mean | col("n").ewm_mean(alpha=0.5)
ewm_var | col("n").ewm_var(alpha=0.5)
ewm_std | col("n").ewm_std(alpha=0.5)
ewm_sum | col("n").ewm_sum(alpha=0.5)
ewm_mean_by | col("n").ewm_mean_by("n", half_life=2)
ewm_sum_by | col("n").ewm_sum_by("n", half_life=2)
""",
    ),
    (
        "Aggregates",
        "One value a group in `group_by(...).agg(...)`, of the whole table alone, one value a row with `over`.",
        "Expr",
        """
abs_sum | col("x").abs_sum()
weighted_sum | col("x").weighted_sum("n")
weighted_mean | col("x").weighted_mean("n")
count_where | col("n").count_where(col("x") > 0)
only | col("k").only("several")
null_count | col("x").null_count()
any | (col("n") > 8).any()
all | (col("n") > 8).all()
filter | col("n").filter(col("k") == "a").sum()
drop_nulls | col("x").drop_nulls().last()
drop_nans | col("x").drop_nans().len()
sort_by | col("k").sort_by("n").implode()
""",
    ),
    (
        "Operators by name",
        "Methods that do what the operators do, for chains of calls.",
        "Expr",
        """
add | col("n").add(1)
sub | col("n").sub(1)
mul | col("n").mul(2)
truediv | col("n").truediv(2)
floordiv | col("n").floordiv(2)
mod | col("n").mod(4)
neg | col("n").neg()
eq | col("k").eq("a")
ne | col("k").ne("a")
lt | col("n").lt(7)
le | col("n").le(7)
gt | col("n").gt(7)
ge | col("n").ge(7)
and_ | col("n").gt(2).and_(col("x").gt(0))
or_ | col("n").gt(8).or_(col("x").lt(0))
xor | col("n").gt(8).xor(col("k").eq("b"))
not_ | col("n").gt(2).not_()
""",
    ),
    (
        "Text: str",
        "Positions count characters from 0; from the end if negative.",
        "str",
        """
to_integer | tf.lit("42").str.to_integer()
""",
    ),
    (
        "Time: dt",
        "Parts are of the clock of the column's zone. Windows and periods are text: `15m`, `1h`, `1d`, `1mo`.",
        "dt",
        """
bin | col("t").dt.bin("1h")
""",
    ),
    (
        "Lists: list",
        "A null list gives null; reductions leave null elements out.",
        "list",
        """
eval | col("v").list.eval(tf.element() * 2)
""",
    ),
    (
        "Structs and bytes: struct, bin",
        "A null struct gives null fields.",
        "struct bin",
        "",
    ),
    (
        "Functions",
        "They stand in the module: `tf.coalesce`. The random ones are drawn once a row; here with a seed.",
        "module",
        """
col | tf.col("n")
lit | tf.lit(1)
len | tf.len()
concat_str | tf.concat_str("k", "n", separator="-")
sum_horizontal | tf.sum_horizontal("n", "x")
mean_horizontal | tf.mean_horizontal("n", "x")
any_horizontal | tf.any_horizontal(col("n") > 8, col("x") > 0)
all_horizontal | tf.all_horizontal(col("n") > 2, col("x") > 0)
sum | tf.sum("n").over("k")
when | tf.when(col("n") > 5).then(tf.lit("big")).otherwise(tf.lit("small"))
from_epoch | tf.from_epoch(col("n"), "d")
formula | tf.formula("n * 2")
""",
    ),
)
#: What is said of an expression itself, and the doors to the name spaces.
NO_VALUES = {"meta_eq", "meta_output_name", "meta_columns", "str", "dt", "list", "struct", "bin", "name"}


def example_table() -> tf.Table:
    """The rows that the examples are over."""
    data = {name: values for name, (_, values) in COLUMNS.items()}
    return tf.table(data, schema={name: kind for name, (kind, _) in COLUMNS.items()})


def cell(value: object) -> str:
    """One value as the page shows it."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return f"{value:.5g}" if value != round(value) else repr(value)
        case list():
            return f"[{', '.join(cell(each) for each in value)}]"
        case dict():
            return f"{{{', '.join(f'{name}: {cell(each)}' for name, each in value.items())}}}"
        case dt.datetime():
            return value.isoformat(" ")
        case _:
            return str(value)


def values(table: tf.Table, example: str, *, aggregate: bool) -> str:
    """What an example gives: one value of an aggregate, or one a row."""
    made = eval(example, {"tf": tf, "col": tf.col})  # noqa: S307 - the examples above
    column = table.agg_by(made.alias("out")) if aggregate else table.select(made.alias("out"))
    found = column.to_dict()["out"]
    return cell(found[0]) if aggregate else ", ".join(map(cell, found))


def members(of: str) -> dict[str, object]:
    """The methods that a subject is about."""
    if of == "module":
        names = [name for name in tf.__all__ if inspect.isfunction(getattr(tf, name))]
        return {name: getattr(tf, name) for name in names}
    kinds = [tf.Expr if name == "Expr" else type(getattr(tf.col("x"), name)) for name in of.split()]
    return {name: getattr(kind, name) for kind in kinds for name in dir(kind) if not name.startswith("_")}


def declared(of: str) -> dict[str, str]:
    """The examples of declared functions that a subject is about, by their names there."""
    kind = "function" if of == "module" else "method"
    found = [each for each in _native.functions() if each["kind"] == kind]
    if of in {"Expr", "module"}:
        return {each["name"]: each["example"] for each in found if "." not in each["name"]}
    inside = [(each["name"].partition("."), each["example"]) for each in found]
    return {name: example for (space, _, name), example in inside if space in of.split()}


def gives(member: object) -> str:
    """The first line of a docstring."""
    first = (inspect.getdoc(member) or "").split("\n")[0]
    return re.sub(r"``(.*?)``", r"`\1`", first).rstrip(".").replace("|", "&#124;")


def aggregates_of(subject: str) -> list[tuple[str, str]]:
    """The aggregates that a subject shows, with the examples that they are declared with."""
    if subject not in {"Aggregates", "Functions"}:
        return []
    is_method = subject == "Aggregates"
    return [
        (name, example) for name, _, _, example, _ in _native.Expr.aggregates() if hasattr(tf.Expr, name) == is_method
    ]


def page() -> str:
    """The whole page.

    Raises:
        ValueError: a method without an example, or an example of what is not there.
    """
    table = example_table()
    lines = [
        "<!-- Written by scripts/expressions_page.py; a test compares the two. -->",
        "# Expressions",
        "",
        'An expression is a value a row that is not yet computed: `tf.col("x") * 2`. `select`, `with_columns`, `filter` and',
        "`group_by(...).agg(...)` compute it, and keep it up to date. The same can be written as a [formula](formulas.md).",
        "All signatures are in the [API reference](reference/expressions.md). The values below were computed over three rows;",
        "`col` is `tf.col`.",
        "",
        "| Column | Type | Values |",
        "|---|---|---|",
    ]
    for name, kind in zip(table.columns, table.dtypes, strict=True):
        lines.append(f"| `{name}` | {kind} | {code(', '.join(map(cell, table.to_dict()[name])))} |")
    lines += ["", "## Operators", "", "| Example | Values |", "|---|---|"]
    for example in OPERATORS.strip().splitlines():
        shown = f"<code>{example.replace('|', '&#124;')}</code>" if "|" in example else code(example)
        lines.append(f"| {shown} | {code(values(table, example, aggregate=False))} |")
    told: dict[str, set[str]] = {}
    for subject, words, of, rows in SUBJECTS:
        known, aggregate = members(of), subject == "Aggregates"
        examples = {} if aggregate else declared(of)
        examples |= {
            name.strip(): example.strip() for name, example in (row.split(" | ") for row in rows.strip().splitlines())
        }
        lines += ["", f"## {subject}", "", words, "", "| | Gives | Example | Values |", "|---|---|---|---|"]
        for name, example in [*aggregates_of(subject), *examples.items()]:
            told.setdefault(of, set()).add(name)
            shown = code(values(table, example, aggregate=aggregate))
            lines.append(f"| `{name}` | {gives(known[name])} | {code(example)} | {shown} |")
    for of, names in told.items():
        missing = set(members(of)) - names - NO_VALUES
        if of != "module" and missing:
            raise ValueError(f"{of}: no example of {', '.join(sorted(missing))}")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")
