"""Formula strings: ``"Y = X * 2"``, Deephaven's grammar over the kernels of expressions.

A name in a formula is a column first, then a variable of the caller, whose value is taken when the formula is
read. Methods with Deephaven's names (`where`, `update`, `view`) take strings as formulas; `formula` makes an
expression of one anywhere else.

>>> import tickframe as tf
>>> t = tf.table({"X": [1, 2, 3], "S": ["a", "b", "c"]})
>>> limit = 1
>>> t.where("X > limit").update(["Y = X * 2", "Z = S + Y"]).to_dicts()
[{'X': 2, 'S': 'b', 'Y': 4, 'Z': 'b4'}, {'X': 3, 'S': 'c', 'Y': 6, 'Z': 'c6'}]
"""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.arguments import text as _text
from tickframe.errors import ColumnNotFoundError, FormulaError
from tickframe.expr import Expr
from tickframe.udf.api import recognised

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

__all__ = ["Formula", "formula"]


class Formula(Expr):
    """An expression made of a text. Given to a method of a table it is read again for that table's columns."""

    __slots__ = ("_functions", "_no_values", "_operation", "_parsed", "_values")

    def __init__(self, text: str, frame: FrameType, operation: str, *, filter: bool = False) -> None:
        _text(text, operation, "the formula")
        self._parsed = _native.Formula(text, filter, operation)
        self._values = _scope(self._parsed.names(), frame)
        functions = ((name, recognised(value)) for name, value in self._values.items())
        self._functions = {name: function._native for name, function in functions if function is not None}
        # A module or a function stands for no value: as a name it is a column that is not there, with a hint.
        self._no_values: dict[str, object] = {
            name: value for name, value in self._values.items() if isinstance(value, ModuleType) or callable(value)
        }
        self._values = {name: value for name, value in self._values.items() if name not in self._no_values}
        self._operation = operation

    def __getattr__(self, name: str) -> Any:
        # Over a table it is lowered for that table alone; without one, when somebody asks.
        if name != "_native":
            return super().__getattr__(name)
        self._native = self._lower(self._operation, None)
        return self._native

    def _bind(self, table: _native.Table, operation: str, live: bool) -> _native.Expr:
        return self._lower(operation, table, live)

    def _lower(self, operation: str, table: _native.Table | None, live: bool = False) -> _native.Expr:
        try:
            return self._parsed.lower(operation, self._values, self._functions, table, live)
        except (ColumnNotFoundError, FormulaError) as error:
            first, line, rest = str(error).partition("\n")
            hint = next(
                (_hint(name, self._no_values.get(name)) for name in self._parsed.names() if _mentions(first, name)), ""
            )
            if hint:
                error.args = (f"{first}; {hint}{line}{rest}",)
            raise


class OverGroups(Formula):
    """A formula in which a column is the list of its values in the rows of a group."""

    __slots__ = ()

    def __init__(self, text: str, frame: FrameType) -> None:
        super().__init__(text, frame, "formula")
        if self._parsed.output_name() is None:
            raise FormulaError(f'tf.agg.formula: name the result: "Out = {text}"')

    def _lower(self, operation: str, table: _native.Table | None, live: bool = False) -> _native.Expr:
        return super()._lower(operation, table, live).over_groups()


def _mentions(message: str, name: str) -> bool:
    return f'no column "{name}"' in message or f"no function {name}" in message


def _hint(name: str, value: object) -> str:
    """What to do about a name that a formula cannot use as it is."""
    if name == "Math" or isinstance(value, ModuleType):
        return "functions stand in formulas by their own names: sqrt(x), not Math.sqrt(x)"
    if isinstance(value, FunctionType):
        return f"the function {name} says no type: write def {name}(...) -> int, or decorate it with @tf.udf"
    return ""


def formula(text: str) -> Expr:
    """The expression that a formula means: ``"X * 2"``, or with a name for its value, ``"Y = X * 2"``.

    Names are columns of the table it is used with; those that are none there are variables of the caller, with
    the values that they have now.

    >>> import tickframe as tf
    >>> tf.formula("Y = X > 2 ? `big` : `small`")
    when((col("X") > 2)).then(lit("big")).otherwise(lit("small")).alias("Y")

    Raises:
        FormulaError: a text that is no formula; it shows the place, and carries ``text`` and ``span``.
    """
    made = Formula(text, sys._getframe(1), "formula")
    made._native  # noqa: B018  # a mistake is told here, not where the expression is used
    return made


_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def _scope(names: Iterable[str], frame: FrameType) -> dict[str, object]:
    """The caller's variables among these names: local ones, those around a comprehension, then global ones."""
    spaces = [frame.f_locals]
    inner: FrameType | None = frame
    while inner is not None and inner.f_code.co_name in _COMPREHENSIONS:
        inner = inner.f_back
        if inner is not None:
            spaces.append(inner.f_locals)
    spaces.append(frame.f_globals)
    return {name: space[name] for name in names for space in reversed(spaces) if name in space}


def bind(item: Expr, table: _native.Table, operation: str, live: bool = False) -> _native.Expr:
    """An argument of a table's method: a formula is read for the table's columns. `live`: of one that changes."""
    return item._bind(table, operation, live) if isinstance(item, Formula) else item._native
