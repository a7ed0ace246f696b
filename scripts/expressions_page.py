"""Writes docs/expressions.md: every method of expressions with an example whose values are computed here.

What a method gives is the first line of its docstring. A method without an example is an error, and so is an example
of what is not there.
"""

from __future__ import annotations

import datetime as dt
import inspect
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

#: Subject, the words under it, what the methods are of, and an example of each.
SUBJECTS: tuple[tuple[str, str, str, str], ...] = (
    (
        "Values",
        'Beside an operator a string is text: `col("k") == "a"`. Bounds, weights and orders take names of columns.',
        "Expr",
        """
eq_missing | col("x").eq_missing(None)
ne_missing | col("x").ne_missing(None)
is_in | col("n").is_in([2, 9])
is_between | col("n").is_between(2, 7)
is_null | col("x").is_null()
is_not_null | col("x").is_not_null()
is_nan | col("x").is_nan()
is_not_nan | col("x").is_not_nan()
is_finite | col("x").is_finite()
is_infinite | col("x").is_infinite()
fill_null | col("x").fill_null(0.0)
fill_nan | col("x").fill_nan(0.0)
shift | col("n").shift(1)
diff | col("n").diff()
get | col("n").get(0)
alias | col("n").alias("m")
cast | col("x").cast(tf.Int64)
abs | col("x").abs()
sign | col("x").sign()
sqrt | col("n").sqrt()
cbrt | col("n").cbrt()
exp | col("x").exp()
log | col("n").log(10)
log10 | col("n").log10()
log1p | col("n").log1p()
round | col("x").round(0)
floor | col("x").floor()
ceil | col("x").ceil()
clip | col("n").clip(3, 8)
pow | col("n").pow(2)
sin | col("x").sin()
cos | col("x").cos()
tan | col("x").tan()
arcsin | (col("n") / 10).arcsin()
arccos | (col("n") / 10).arccos()
arctan | col("x").arctan()
sinh | col("x").sinh()
cosh | col("x").cosh()
tanh | col("x").tanh()
degrees | col("x").degrees()
radians | col("x").radians()
lower_bin | col("n").lower_bin(5)
upper_bin | col("n").upper_bin(5)
over | col("n").sum().over("k")
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
""",
    ),
    (
        "Text: str",
        "Positions count characters from 0; from the end if negative.",
        "str",
        """
len_chars | col("s").str.len_chars()
len_bytes | col("s").str.len_bytes()
to_lowercase | col("s").str.to_lowercase()
to_uppercase | col("s").str.to_uppercase()
to_titlecase | col("s").str.to_titlecase()
contains | col("s").str.contains("[0-9]")
starts_with | col("s").str.starts_with("Live")
ends_with | col("s").str.ends_with("s")
slice | col("s").str.slice(0, 4)
head | col("s").str.head(2)
tail | col("s").str.tail(2)
replace | col("s").str.replace("[ab]", "_")
replace_all | col("s").str.replace_all("[ab]", "_")
strip_chars | col("s").str.strip_chars("Las2")
strip_chars_start | col("s").str.strip_chars_start("La")
strip_chars_end | col("s").str.strip_chars_end("s2")
strip_prefix | col("s").str.strip_prefix("Live ")
strip_suffix | col("s").str.strip_suffix("22")
zfill | tf.lit("7").str.zfill(3)
pad_start | col("k").str.pad_start(3, "*")
pad_end | col("k").str.pad_end(3, "*")
reverse | col("s").str.reverse()
find | col("s").str.find("[0-9]")
index_of | col("s").str.index_of("b")
count_matches | col("s").str.count_matches("[0-9]")
split | col("s").str.split(" ")
extract | col("s").str.extract("([0-9]+)")
extract_all | col("s").str.extract_all("[0-9]+")
to_integer | tf.lit("42").str.to_integer()
to_date | tf.lit("2024-02-29").str.to_date()
to_datetime | tf.lit("2024-02-29 13:45").str.to_datetime("%Y-%m-%d %H:%M")
""",
    ),
    (
        "Time: dt",
        "Parts are of the clock of the column's zone. Windows and periods are text: `15m`, `1h`, `1d`, `1mo`.",
        "dt",
        """
year | col("t").dt.year()
quarter | col("t").dt.quarter()
month | col("t").dt.month()
week | col("t").dt.week()
weekday | col("t").dt.weekday()
ordinal_day | col("t").dt.ordinal_day()
day | col("t").dt.day()
hour | col("t").dt.hour()
minute | col("t").dt.minute()
second | col("t").dt.second()
millisecond | col("t").dt.millisecond()
microsecond | col("t").dt.microsecond()
nanosecond | col("t").dt.nanosecond()
date | col("t").dt.date()
time | col("t").dt.time()
truncate | col("t").dt.truncate("1h")
round | col("t").dt.round("1h")
offset_by | col("t").dt.offset_by("1mo")
bin | col("t").dt.bin("1h")
month_start | col("t").dt.month_start()
month_end | col("t").dt.month_end()
strftime | col("t").dt.strftime("%d.%m.%Y")
epoch | col("t").dt.epoch("s")
convert_time_zone | col("t").dt.convert_time_zone("America/New_York")
replace_time_zone | col("t").dt.replace_time_zone(None)
total_days | (col("t") - col("t").dt.month_start()).dt.total_days()
total_hours | (col("t") - col("t").dt.truncate("1d")).dt.total_hours()
total_minutes | (col("t") - col("t").dt.truncate("1d")).dt.total_minutes()
total_seconds | (col("t") - col("t").dt.truncate("1h")).dt.total_seconds()
total_milliseconds | (col("t") - col("t").dt.truncate("1h")).dt.total_milliseconds()
total_microseconds | (col("t") - col("t").dt.truncate("1h")).dt.total_microseconds()
total_nanoseconds | (col("t") - col("t").dt.truncate("1h")).dt.total_nanoseconds()
""",
    ),
    (
        "Lists: list",
        "A null list gives null; reductions leave null elements out.",
        "list",
        """
len | col("v").list.len()
get | col("v").list.get(1)
first | col("v").list.first()
last | col("v").list.last()
slice | col("v").list.slice(1, 2)
head | col("v").list.head(1)
tail | col("v").list.tail(1)
sum | col("v").list.sum()
mean | col("v").list.mean()
min | col("v").list.min()
max | col("v").list.max()
contains | col("v").list.contains(5)
join | col("s").str.split(" ").list.join("+")
sort | col("v").list.sort()
arg_sort | col("v").list.arg_sort()
unique | col("v").list.unique()
reverse | col("v").list.reverse()
drop_nulls | col("v").list.drop_nulls()
count | col("v").list.count()
n_unique | col("v").list.n_unique()
count_distinct | col("v").list.count_distinct()
abs_mean | col("v").list.abs_mean()
product | col("v").list.product()
median | col("v").list.median()
quantile | col("v").list.quantile(0.5)
std | col("v").list.std()
var | col("v").list.var()
arg_min | col("v").list.arg_min()
arg_max | col("v").list.arg_max()
""",
    ),
    (
        "Structs and bytes: struct, bin",
        "A null struct gives null fields.",
        "struct bin",
        """
field | col("p").struct.field("a")
rename_fields | col("p").struct.rename_fields(["one", "two"])
size | col("y").bin.size()
contains | col("y").bin.contains(b"\\x02")
starts_with | col("y").bin.starts_with(b"\\x01")
ends_with | col("y").bin.ends_with(b"\\x01")
""",
    ),
    (
        "Functions",
        "They stand in the module: `tf.coalesce`. The random ones are drawn once a row; here with a seed.",
        "module",
        """
col | tf.col("n")
lit | tf.lit(1)
len | tf.len()
when | tf.when(col("n") > 5).then(tf.lit("big")).otherwise(tf.lit("small"))
coalesce | tf.coalesce(col("x"), col("n"))
format | tf.format("{} of {}", col("n"), col("k"))
min_horizontal | tf.min_horizontal(col("x"), col("n"))
max_horizontal | tf.max_horizontal(col("x"), col("n"))
arctan2 | tf.arctan2(col("n"), col("n"))
from_epoch | tf.from_epoch(col("n"), "d")
formula | tf.formula("n * 2")
variable | col("n") + tf.variable("limit", 10)
random_float | tf.random_float(0, 10, seed=1) < 10
random_int | tf.random_int(1, 2, seed=1)
random_bool | tf.random_bool(seed=1).is_null()
random_gaussian | tf.random_gaussian(0, 1, seed=1).is_finite()
""",
    ),
)
#: What is said of an expression itself, and the doors to the name spaces.
NO_VALUES = {"meta_eq", "meta_output_name", "meta_columns", "str", "dt", "list", "struct", "bin"}


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


def gives(member: object) -> str:
    """The first line of a docstring."""
    first = (inspect.getdoc(member) or "").split("\n")[0]
    return re.sub(r"``(.*?)``", r"`\1`", first).rstrip(".").replace("|", "&#124;")


def declared(subject: str) -> list[tuple[str, str]]:
    """The aggregates that a subject shows, with the examples that they are declared with."""
    columns = {"Aggregates": {0, 1}, "Functions": {2}}.get(subject, set())
    return [(name, example) for name, arity, _, example, _ in _native.Expr.aggregates() if arity in columns]


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
        lines += ["", f"## {subject}", "", words, "", "| | Gives | Example | Values |", "|---|---|---|---|"]
        for name, example in [*declared(subject), *(row.split(" | ") for row in rows.strip().splitlines())]:
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
