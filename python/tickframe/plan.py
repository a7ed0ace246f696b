"""What a table was asked to be, as a value: printed, compared, saved, and run over other tables.

>>> import tickframe as tf
>>> trades = tf.table({"sym": ["A", "B", "A"], "px": [1.5, 2.0, 2.5]})
>>> best = trades.filter(tf.col("px") > 1.6).group_by("sym").agg(tf.col("px").max())
>>> plan = tf.Plan.from_json(best.plan.to_json())
>>> plan == best.plan, list(plan.inputs)
(True, ['input_0'])
>>> plan.run(input_0={"sym": ["C", "C"], "px": [9.0, 3.0]}).to_dicts()
[{'sym': 'C', 'px': 9.0}]
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from tickframe import _native
from tickframe.arguments import choice
from tickframe.arguments import text as _text
from tickframe.describe import named
from tickframe.display import figures
from tickframe.given import given
from tickframe.handles import table_of
from tickframe.schema import Schema
from tickframe.udf.api import recognised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tickframe.table import Table

__all__ = ["Plan"]

_DEEPEST_INDENT = 64


class Plan:
    """What a table was asked to be: operations over inputs, without any rows.

    A plan is `Table.plan`, or comes from text by `from_json`. It holds no table: `run` and `collect` are given one for each
    of its inputs. Two plans are equal if they ask for one thing, under whatever names (`where` and `filter`, formulas and
    expressions), of the same tables; an input that came from text is known by its name and its schema.

    Inputs have the ``name=`` of their source, or ``input_0``, ``input_1``, … in order of use.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1, 2, 3]})
    >>> print(t.filter(tf.col("x") > 1).head(1).plan)
    head(1)
      filter((col("x") > 1))
        input_0: x: Int64
    """

    __slots__ = ("_native",)

    def __init__(self, native: object = None) -> None:
        if not isinstance(native, _native.Plan):
            found = "" if native is None else f", not {named(native)}"
            raise TypeError(f"a plan is t.plan of a table, or Plan.from_json(text){found}")
        self._native = native

    @staticmethod
    def from_json(text: str, functions: Mapping[str, Callable[..., Any]] | None = None) -> Plan:
        """The plan that a text of `to_json` says.

        Args:
            text: the JSON.
            functions: the functions of the user that the plan calls, by name; a plan has them by name alone.

        >>> import tickframe as tf
        >>> def double(x: int) -> int:
        ...     return 2 * x
        >>> text = tf.table({"x": [1]}).update("y = double(x)").plan.to_json()
        >>> tf.Plan.from_json(text, functions={"double": double}).run(input_0={"x": [4]}).to_dict()
        {'x': [4], 'y': [8]}

        Raises:
            DataError: a text that is no plan, one of a newer format, or a function that is not given.
        """
        _text(text, "Plan.from_json", "the plan")
        known = {}
        for name, function in (functions or {}).items():
            made = recognised(function)
            if made is None:
                raise TypeError(
                    f"Plan.from_json: functions[{name!r}] is {named(function)}, and says no type: write def f(...) -> int, or "
                    "decorate it with @tf.udf"
                )
            known[name] = made._native
        return Plan(_native.Plan.from_json(text, known))

    def to_json(self) -> str:
        """The plan as JSON, with a format number. Rows are not in it, and functions of the user are in it by name.

        >>> import tickframe as tf
        >>> print(tf.table({"x": [1]}).head(2).plan.to_json())
        {"format":1,"nodes":[{"op":{"input":{"name":"input_0","schema":[{"name":"x","type":"Int64"}]}}},{"op":{"head":{"rows":2}},"inputs":[0]}]}
        """
        return self._native.to_json()

    def explain(self, format: Literal["text", "dot", "mermaid"] = "text", **tables: Any) -> str:
        r"""How it runs: the plan as it was asked for, the rules that the optimiser applies, and the plan that comes of them.

        No rule changes values, the order of rows, the attributes that hold, or which error is raised. What moves past another
        operation is computed of one row alone and cannot fail; functions of the user stay where they are.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["A", "B"], "x": [2, 1]})
        >>> print(t.sort("x").with_columns(y=tf.col("x") * 2).filter(tf.col("x") > 1).plan.explain())
        filter((col("x") > 1))
          with_columns((col("x") * 2).alias("y"))
            sort("x")
              input_0: k: String, x: Int64
        <BLANKLINE>
        rules
        - filter below columns: filter((col("x") > 1))
        - filter below sort: filter((col("x") > 1))
        <BLANKLINE>
        with_columns((col("x") * 2).alias("y"))
          sort("x")
            filter((col("x") > 1))
              input_0: k: String, x: Int64

        Given tables, it is run over them as they are now, as it was asked for and as it runs, and each node tells the rows that it
        made of those it read, the bytes that it stored, and its time.

        >>> plan = t.sort("x").filter(tf.col("x") > 1).plan
        >>> import re
        >>> print(re.sub(r"[0-9.,]+ (bytes|ms)", r"… \1", plan.explain(input_0=t)))
        filter((col("x") > 1)) · 1 rows of 2, … ms
          sort("x") · 2 rows of 2, … bytes, … ms
            input_0: k: String, x: Int64 · 2 rows
        = 4 rows read, … ms
        <BLANKLINE>
        rules
        - filter below sort: filter((col("x") > 1))
        <BLANKLINE>
        sort("x") · 1 rows of 1, … bytes, … ms
          filter((col("x") > 1)) · 1 rows of 2, … ms
            input_0: k: String, x: Int64 · 2 rows
        = 3 rows read, … ms

        Args:
            format: ``"text"``; or a drawing of the plan as it runs, for Graphviz (``"dot"``) or ``"mermaid"``.
            **tables: one table, or frame of another library, for each input; or none.

        Raises:
            SchemaError: as for `run`, if tables are given.
        """
        choice(format, "Plan.explain", "format", ("text", "dot", "mermaid"))
        return self._native.explain(format, _given("Plan.explain", (), tables))

    @property
    def inputs(self) -> Mapping[str, Schema]:
        """The inputs by name, in order of use, with the columns that are read of them.

        >>> import tickframe as tf
        >>> tf.table({"x": [1]}).head(2).plan.inputs["input_0"]
        Schema({'x': Int64})
        """
        return MappingProxyType({name: Schema._of(schema) for name, schema in self._native.inputs()})

    def run(self, *given: Any, **tables: Any) -> Table:
        """The table that the plan makes of these: live if one of them is live.

        Equal parts of a plan are computed once. A table may have more columns than its input, in any order.

        >>> import tickframe as tf
        >>> plan = tf.table({"x": [1, 2]}).filter(tf.col("x") > 1).plan
        >>> live = tf.append_table({"x": int}, graph=tf.Graph())
        >>> kept = plan.run(input_0=live)
        >>> _ = live.append({"x": [1, 5]})
        >>> _ = live.graph.step()
        >>> kept.to_dict()
        {'x': [5]}

        Args:
            *given: nothing: a table is given by a name.
            **tables: one table, or frame of another library, for each input.

        Raises:
            SchemaError: an input that is missing, one that the plan has not, or one without the columns and types that the
                plan was made over.
        """
        return table_of(self._native.run("Plan.run", _given("Plan.run", given, tables), still=False))

    def collect(self, *given: Any, **tables: Any) -> Table:
        """As `run`, over the tables as they are now, all of one step: the result is static.

        >>> import tickframe as tf
        >>> plan = tf.table({"x": [1, 2]}).head(1).plan
        >>> plan.collect(input_0=tf.table({"x": [7, 8]})).to_dict()
        {'x': [7]}

        Args:
            *given: nothing.
            **tables: as for `run`.

        Raises:
            SchemaError: as for `run`.
        """
        return table_of(self._native.run("Plan.collect", _given("Plan.collect", given, tables), still=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._native.same(other._native)

    def __hash__(self) -> int:
        return hash(self._native.fingerprint())

    def __repr__(self) -> str:
        return self._native.text()

    def __reduce__(self) -> tuple[Callable[[str], Plan], tuple[str]]:
        return Plan.from_json, (self.to_json(),)


def _given(operation: str, unnamed: tuple[Any, ...], tables: dict[str, Any]) -> list[tuple[str, _native.Table]]:
    if unnamed:
        method = operation.removeprefix("Plan.")
        raise TypeError(f"{operation}: tables are given by the names of the plan's inputs: plan.{method}(trades=t)")
    return [(name, given(operation, name, value)._native) for name, value in tables.items()]


def explained(table: _native.Table, format: str) -> str:
    """The operation of a table and those below it; see `Table.explain`."""
    choice(format, "Table.explain", "format", ("text", "dot", "mermaid"))
    if not table.is_live:
        return _standing(table, format)
    return _lines(table) if format == "text" else _native.draw("Table.explain", _nodes(table), format)


def _figures(native: _native.Table) -> str:
    failed = " · failed" if native.is_live and native.failure() is not None else ""
    runs, nanos = native.ran() or (0, 0)
    ran = f" · {runs:,} update{'' if runs == 1 else 's'}, {nanos / runs / 1e3:,.1f} µs each" if runs else ""
    return f" · {figures(*native.figures())}{ran}{failed}"


def _standing(table: _native.Table, format: str) -> str:
    """A static table stands on nothing: what it was asked to be, and what became of it."""
    plan = _native.plan_of(table)
    if format != "text":
        return plan.explain(format, [])
    first, line, below = plan.text().partition("\n")
    how = "".join(f"\n| {how}" for how in table.expressions())
    return f"{first}{_figures(table)}{how}{line}{below}"


def _nodes(table: _native.Table) -> list[tuple[str, list[int]]]:
    """The nodes of the graph below a table: what each is, and the places of those that it stands on."""
    places = {table.identity: 0}
    found = [table]
    made: list[tuple[str, list[int]]] = []
    for native in found:
        below = native.inputs()
        for other in below:
            if other.identity not in places:
                places[other.identity] = len(found)
                found.append(other)
        made.append((native.label + _figures(native), [places[other.identity] for other in below]))
    return made


def _lines(table: _native.Table) -> str:
    lines: list[str] = []
    seen: set[int] = set()
    # A list, not recursion: a chain may be thousands of operations long.
    waiting = [(table, 0)]
    while waiting:
        native, depth = waiting.pop()
        indent = "  " * min(depth, _DEEPEST_INDENT)
        again = native.identity in seen
        seen.add(native.identity)
        lines.append(indent + native.label + (" (above)" if again else _figures(native)))
        if not again:
            lines.extend(f"{indent}| {how}" for how in native.expressions())
            waiting.extend((below, depth + 1) for below in reversed(native.inputs()))
    return "\n".join(lines)
