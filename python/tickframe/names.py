"""Names of columns as methods take them: one, several, a list of them, or ``"New = Old"``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tickframe.arguments import encodable
from tickframe.describe import named, short
from tickframe.expr import Expr, flatten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__: list[str] = []

Names: TypeAlias = "str | Expr | Sequence[str | Expr]"


def names_of(items: Iterable[object], what: str, columns: Sequence[str] | None = None) -> list[str]:
    """The arguments of a method that takes names: several, or one list of them; over these columns also selectors of some."""
    names: list[str] = []
    for item in flatten(items):
        if isinstance(item, Expr):
            for each in item._for(columns):
                bare = each._native.bare_column()
                if bare is None:
                    raise TypeError(
                        f"{what}: {short(each)} is no column but has to be computed; make it one first, "
                        f"t.with_columns(name={short(each)}), and give its name"
                    )
                names.append(bare)
        elif isinstance(item, str):
            encodable(item, what)
            names.append(item)
        else:
            raise TypeError(f"{what}: the name of a column is a str, not {named(item)}")
    return names


def input_name(name: str) -> str:
    """The name of a source as an input of plans."""
    encodable(name, "name")
    if not name:
        raise ValueError("name: the name of a source is not empty")
    return name


def pair(text: str) -> tuple[str, str]:
    """``"New = Old"`` as (new, old); a plain name is both."""
    new, equals, old = text.partition("=")
    new, old = new.strip(), old.strip()
    if not new or (equals and not old):
        raise ValueError(f'{short(text)} is no "New = Old" and no name')
    return new, old if equals else new


def pairs(on: object, what: str) -> list[tuple[str, str]]:
    """Key columns as (left, right): names, or ``"Left = Right"``."""
    return [pair(name) for name in names_of([on], what)]
