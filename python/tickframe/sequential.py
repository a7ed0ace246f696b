"""Operations whose strings are formulas: filters, and new columns of which each sees those to its left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tickframe import _native, control
from tickframe.arguments import ON_ERROR, choice
from tickframe.errors import FormulaError
from tickframe.expr import Expr, flatten, into_expr
from tickframe.formulas import Formula, bind

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
) -> _native.Table:
    """`Table.where`, whose strings are formulas."""
    choice(on_error, operation, "on_error", ON_ERROR)
    plain, controls = control.unwrapped(flatten(filters), control.Filter, operation)
    made = []
    for item in plain:
        predicate = (
            Formula(item, frame, operation, filter=True) if isinstance(item, str) else into_expr(item, operation)
        )
        made.append(bind(predicate, table, operation))
    if not made:
        return table
    return _native.filter(operation, table, made, control.execution_order(made, controls, filters=True), on_error)


def update(
    table: _native.Table,
    formulas: Iterable[object],
    frame: FrameType,
    operation: str,
    materialization: str = "stored",
    on_error: str = "fail",
) -> tuple[_native.Table, list[str]]:
    """`Table.update`: each formula sees the columns of the table and those to its left. Gives the new names too."""
    batch: dict[str, tuple[_native.Expr, Any]] = {}
    names: list[str] = []
    first, steps = table, 0
    choice(on_error, operation, "on_error", ON_ERROR)
    plain, controls = control.unwrapped(flatten(formulas), control.Selectable, operation)

    def computed() -> _native.Table:
        made = [expression for expression, _ in batch.values()]
        order = control.execution_order(made, [ordered for _, ordered in batch.values()], filters=False)
        # What the steps on the way pass over is told by the result.
        return _native.columns(operation, table, made, order, materialization, True, on_error, table is not first)

    for item, ordered in zip(plain, controls, strict=True):
        if isinstance(item, str):
            made: Expr = Formula(item, frame, operation)
        else:
            made = into_expr(item, operation)
        if isinstance(made, Formula):
            given = made._parsed.output_name()
            if given is None:
                made._native  # noqa: B018  # a mistake in the formula itself is told first
                error = FormulaError(f"{operation}: a new column needs a name: New = {item}\n  {item}\n  ^")
                error.text, error.span = str(item), (0, 1)
                raise error
            name, reads = given, made._parsed.names()
        else:
            name, reads = made._native.output_name(), made._native.columns()
        if name in batch or not batch.keys().isdisjoint(reads):
            steps += 1
            if steps > _MOST_STEPS:
                raise ValueError(
                    f"{operation}: more than {_MOST_STEPS} formulas that each read or replace what one before them made; "
                    "give them in several calls"
                )
            table, batch = computed(), {}
        batch[name] = (bind(made, table, operation), ordered)
        names.append(name)
    return (computed() if batch else table), names
