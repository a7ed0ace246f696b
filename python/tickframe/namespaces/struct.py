"""Functions of structs: ``col("x").struct``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe import _native
from tickframe.arguments import check_all, text
from tickframe.namespaces import Namespace

if TYPE_CHECKING:
    from tickframe.expr import Expr

__all__ = ["StructNamespace"]


@check_all
class StructNamespace(Namespace):
    """Functions of structs: ``col("x").struct``."""

    __slots__ = ()
    _PREFIX = "struct"

    def field(self, name: str) -> Expr:
        """One field, under its own name; null where the struct is null."""
        return self._call("field", name)

    def rename_fields(self, names: list[str]) -> Expr:
        """The same with other names, one for each field."""
        for name in names:
            text(name, "rename_fields", "a field's name")
        return self._call("rename_fields", self._expr._of(_native.Expr.values(names, "rename_fields")))
