"""Operations whose strings are formulas: filters, and new columns of which each sees those to its left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe import _native, control
from tickframe.arguments import ON_ERROR, choice
from tickframe.errors import FormulaError
from tickframe.expr import Expr, flatten, into_expr
from tickframe.formulas import Formula, bind
from tickframe.schema import ColumnNames

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

__all__: list[str] = []

_MOST_STEPS = 1 << 12


def where(
    table: _native.Table,
    filters: Iterable[object],
    frame: FrameType,
    operation: str = "where",
    on_error: str = "fail",
    *,
    one_of: bool = False,
) -> _native.Table:
    """`Table.where`, whose strings are formulas; with `one_of` one true filter is enough."""
    choice(on_error, operation, "on_error", ON_ERROR)
    plain, controls = control.unwrapped(_spread(filters, table), control.Filter, operation)
    made = []
    for item in plain:
        predicate = (
            Formula(item, frame, operation, filter=True) if isinstance(item, str) else into_expr(item, operation)
        )
        made.append(bind(predicate, table, operation))
    if not made:
        return table
    if one_of:
        if any(control is not None for control in controls):
            raise TypeError(f"{operation}: a filter that runs in an order of its own stands alone, in where")
        made = [_native.Expr.call("|", made)] if made[1:] else made
        controls = [None]
    return _native.filter(operation, table, made, control.execution_order(made, controls, filters=True), on_error)


def update(
    table: _native.Table,
    formulas: Iterable[object],
    frame: FrameType,
    operation: str,
    materialization: str = "stored",
    on_error: str = "fail",
    *,
    after: bool = True,
) -> _native.Table:
    """`Table.update`: each formula sees the columns of the table and those to its left. `after`: the table's own stay."""
    choice(on_error, operation, "on_error", ON_ERROR)
    plain, controls = control.unwrapped(_spread(formulas, table), control.Selectable, operation)
    made: list[_native.Expr] = []
    # What a formula reads: the table, or a table without rows once it may read a column before it.
    seen, steps = table, 0
    unseen: dict[str, _native.Expr] = {}
    for item in plain:
        expression: Expr = Formula(item, frame, operation) if isinstance(item, str) else into_expr(item, operation)
        name, reads = _names(expression, item, operation)
        if name in unseen or not unseen.keys().isdisjoint(reads):
            steps += 1
            if steps > _MOST_STEPS:
                raise ValueError(
                    f"{operation}: more than {_MOST_STEPS} formulas that each read or replace what one before them made; "
                    "give them in several calls"
                )
            over = _native.without_rows(table) if seen is table else seen
            seen = _native.columns(operation, over, list(unseen.values()), None, materialization, True, on_error)
            unseen = {}
        unseen[name] = bind(expression, seen, operation, table.is_live)
        made.append(unseen[name])
    if after and not made:
        return table
    order = control.execution_order(made, controls, filters=False)
    return _native.columns(operation, table, made, order, materialization, after, on_error, sequential=True)


def _names(expression: Expr, item: object, operation: str) -> tuple[str, list[str]]:
    """The name of a new column, and the names that it may read."""
    if not isinstance(expression, Formula):
        return expression._native.output_name(), expression._native.columns()
    given = expression._parsed.output_name()
    if given is None:
        expression._native  # noqa: B018  # a mistake in the formula itself is told first
        error = FormulaError(f"{operation}: a new column needs a name: New = {item}\n  {item}\n  ^")
        error.text, error.span = str(item), (0, 1)
        raise error
    return given, expression._parsed.names()


def _spread(items: Iterable[object], table: _native.Table) -> list[object]:
    """The arguments, each expression that stands for several columns of the table as those."""
    columns = ColumnNames(table)
    return [each for item in flatten(items) for each in (item._for(columns) if isinstance(item, Expr) else (item,))]
