"""Choices by condition: ``when(c).then(v).otherwise(w)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe import _native
from tickframe.expr import Expr, into_expr
from tickframe.functions import col

if TYPE_CHECKING:
    from tickframe.expr import IntoExpr

__all__ = ["Then", "When", "when"]


class When:
    """A condition that waits for its value: ``when(c).then(v)``."""

    __slots__ = ("_before", "_condition")

    def __init__(self, before: _native.Expr | None, condition: _native.Expr) -> None:
        self._before = before
        self._condition = condition

    def then(self, value: object) -> Then:
        """The value where the condition is true; a bare string is a column."""
        return Then(_native.Expr.when(self._before, self._condition, into_expr(value, "then")._native))


class Then(Expr):
    """A conditional; without `otherwise` it is null where no condition holds."""

    __slots__ = ()

    def when(self, condition: IntoExpr) -> When:
        """Another condition, looked at where no earlier one held."""
        return When(self._native, into_expr(condition, "when")._native)

    def otherwise(self, value: object) -> Expr:
        """The value where no condition holds; a null condition does not hold."""
        return Expr(self._native.otherwise(into_expr(value, "otherwise")._native))


def when(condition: IntoExpr, **equals: object) -> When:
    """A choice by condition: ``when(c).then(v).otherwise(w)``.

    >>> import tickframe as tf
    >>> t = tf.table({"delay": [3.0, 70.0, None]})
    >>> late = tf.when(tf.col("delay") > 60).then(tf.lit("late")).otherwise(tf.lit("fine"))
    >>> t.select(late.alias("class")).to_dict()
    {'class': ['fine', 'late', 'fine']}
    """
    conditions = [into_expr(condition, "when"), *(col(name) == value for name, value in equals.items())]
    whole = conditions[0]
    for other in conditions[1:]:
        whole = whole & other
    return When(None, whole._native)
