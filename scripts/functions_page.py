"""Writes docs/functions.md: every function of formulas, what it gives, and an example whose value is computed here.

Names, examples and what they give are declared with the functions, in `crates/formula`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tickframe as tf
from tickframe import _native

PAGE = Path(__file__).parents[1] / "docs" / "functions.md"

#: The row that the examples are over: name, what is written on the page, type, value.
ROW = (
    ("x", "-2.5", float, -2.5),
    ("n", "7", int, 7),
    ("s", "`Live tables`", str, "Live tables"),
    ("t", "2024-02-29 13:45:30.123456789 UTC", tf.Datetime("ns", "UTC"), None),
    ("d", "2024-02-29", tf.Date, None),
    ("v", "[3, 1, null, 3]", tf.List(tf.Int64), [3, 1, None, 3]),
    ("nothing", "null", float, None),
)
MOMENT, DAY = 1709214330_123456789, 19782

#: Subjects, each with its heading and the words under it.
SUBJECTS: dict[str, tuple[str, str]] = {
    "numbers": (
        "Numbers",
        "Integers stay integers where the result is whole; `sqrt`, `log` and the like give Float64. Null gives null.",
    ),
    "conditions": (
        "Conditions, null and NaN",
        "Null and NaN are different: null is no value, NaN is a float.",
    ),
    "text": (
        "Text",
        "Positions count characters from 0. `matches`, `replaceAll` and `replaceFirst` take regular expressions.",
    ),
    "time": (
        "Time",
        (
            "Instants count nanoseconds of UTC. A function of the clock takes the name of a zone as a last argument, "
            "``hourOfDay(t, `America/New_York`)``; without it the zone of the column counts. "
            "`now()` and `today()` have one value a step."
        ),
    ),
    "lists": (
        "Lists and whole columns",
        "`v` is a list in a cell. `n_` is the whole column `n`, of a static or a blink table.",
    ),
    "random": (
        "Random numbers",
        "Drawn from the key of the row and a seed: the same row has the same number until it is computed again.",
    ),
}

VOLATILE = ("now", "today", "random")


def example_row() -> tf.Table:
    """The one row that the examples are over."""
    made = tf.table(
        {name: [value] for name, _, _, value in ROW if name not in {"t", "d"}},
        schema={name: kind for name, _, kind, _ in ROW if name not in {"t", "d"}},
    )
    return made.update(f"t = epochNanosToInstant({MOMENT})", f"d = epochDaysToLocalDate({DAY})")


def shown(table: tf.Table, name: str, formula: str) -> str:
    """The value of an example as the page shows it."""
    made = table.select(tf.formula(formula).alias("value"))
    kind = str(made.dtypes[0])
    if name.startswith(VOLATILE):
        return kind
    if kind.startswith(("Datetime", "Duration", "Time")):
        # Text of the engine's own: Python's times end at microseconds.
        made = made.select(tf.col("value").cast(str))
    value = made.to_dict()["value"][0]
    if isinstance(value, float):
        return f"{value:.6g}" if value != int(value) else repr(value)
    if isinstance(value, list):
        return f"[{', '.join('null' if item is None else str(item) for item in value)}]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def code(text: str) -> str:
    """Text as code, whatever it holds."""
    fence = "``" if "`" in text else "`"
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def page() -> str:
    """The whole page."""
    table = example_row()
    lines = [
        "<!-- Written by scripts/functions_page.py; a test compares the two. -->",
        "# Functions of formulas",
        "",
        "The language is described in [The formula language](formulas.md). `x.f(y)` is `f(x, y)`. The values below were",
        "computed over this row:",
        "",
        "| " + " | ".join(f"`{name}`" for name, *_ in ROW) + " |",
        "|---" * len(ROW) + "|",
        "| " + " | ".join(code(text) if "`" in text else text for _, text, *_ in ROW) + " |",
        "",
    ]
    for subject, (heading, words) in SUBJECTS.items():
        lines += [f"## {heading}", "", words, "", "| Function | Gives | Example | Value |", "|---|---|---|---|"]
        for of, name, formula, gives in _native.formula_functions():
            if of == subject:
                lines.append(f"| `{name}` | {gives} | {code(formula)} | {code(shown(table, name, formula))} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")
