"""Functions of one kind of values, behind a property of expressions: ``col("x").str``, ``.dt``, ``.list`` ..."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.hints import SPACES, UnknownNameError, unknown

if TYPE_CHECKING:
    from tickframe.expr import Expr

__all__: list[str] = []


class Namespace:
    """An expression, whose methods call functions of one prefix."""

    __slots__ = ("_expr",)
    _PREFIX = ""

    def __init__(self, expr: Expr) -> None:
        self._expr = expr

    def _call(self, name: str, *args: object, **options: object) -> Expr:
        return self._expr._call(f"{self._PREFIX}.{name}", *args, **options)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            hint = lambda: unknown(name, self._PREFIX, SPACES[self._PREFIX], dir(type(self)))  # noqa: E731
            raise UnknownNameError(f".{self._PREFIX} has no {name!r}", name, self, hint)
