"""Several columns in the place of one expression: ``tf.all()``, ``tf.col("a", "b")``.

They take every method and operator of expressions, and stand for as many expressions when they meet a table.

>>> import tickframe as tf
>>> t = tf.table({"k": ["a", "a"], "x": [1, 2], "y": [3, 5]})
>>> t.select(tf.col("x", "y").sum()).to_dicts()
[{'x': 3, 'y': 8}]
>>> t.group_by("k").agg(tf.all().max().name.prefix("max_")).to_dicts()
[{'k': 'a', 'max_x': 2, 'max_y': 5}]
"""

from __future__ import annotations

import functools
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.describe import short
from tickframe.errors import ColumnNotFoundError
from tickframe.expr import Expr, flatten, into_expr
from tickframe.names import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__: list[str] = []

_STAND_IN = "\N{ASTERISK}"
"""The column in the place of each, for the text and for errors that a method tells at once."""


def column(name: str) -> Expr:
    """One column."""
    return Expr(_native.Expr.column(name))


def _quoted(names: Iterable[str]) -> str:
    """Names as expressions write them."""
    return ", ".join(repr(column(name)).removeprefix("col(").removesuffix(")") for name in names)


@dataclass(frozen=True, repr=False)
class Named:
    """Columns by their names."""

    names: tuple[str, ...]

    def __call__(self, columns: Sequence[str] | None) -> list[Expr]:
        """The columns, whatever there are."""
        del columns
        return [column(name) for name in self.names]

    def __repr__(self) -> str:
        return f"col({_quoted(self.names)})"


@dataclass(frozen=True, repr=False)
class Every:
    """All columns of a table but some."""

    but: tuple[str, ...] = ()

    def __call__(self, columns: Sequence[str] | None) -> list[Expr]:
        """Those of these columns."""
        return [column(name) for name in _known(columns, self) if name not in self.but]

    def __repr__(self) -> str:
        return f"exclude({_quoted(self.but)})" if self.but else "all()"


@dataclass(frozen=True, repr=False)
class Without:
    """Columns but those that a selector chooses."""

    of: Any
    but: Any

    def __call__(self, columns: Sequence[str] | None) -> list[Expr]:
        """Those of these columns."""
        gone = {each._native.bare_column() for each in self.but(columns)}
        return [each for each in self.of(columns) if each._native.bare_column() not in gone]

    def __repr__(self) -> str:
        return f"{self.of!r}.exclude({self.but!r})"


@dataclass(frozen=True, repr=False)
class At:
    """The column at a place, from the end if negative."""

    place: int

    def __call__(self, columns: Sequence[str] | None) -> list[Expr]:
        """The one of these columns."""
        known = _known(columns, self)
        if not -len(known) <= self.place < len(known):
            raise ColumnNotFoundError(f"{self}: there are {len(known)} columns, {list(known)}")
        return [column(known[self.place])]

    def __repr__(self) -> str:
        return f"nth({self.place})"


@dataclass(frozen=True, repr=False)
class Together:
    """One value of all columns that some expressions stand for, such as ``tf.max_horizontal(tf.all())``."""

    items: tuple[Expr, ...]
    make: Callable[[list[Expr]], Expr]

    def __call__(self, columns: Sequence[str] | None) -> list[Expr]:
        """The one value of these columns."""
        return [self.make([each for item in self.items for each in item._for(columns)])]

    def __repr__(self) -> str:
        return repr(self.make([column(_STAND_IN)])).replace(_COLUMN, ", ".join(map(repr, self.items)))


_COLUMN = repr(column(_STAND_IN))


class Columns(Expr):
    """Several columns of the table it is given to, and what is done with each."""

    __slots__ = ("_of_one", "_root", "_steps")

    def __init__(self, root: Any, steps: tuple[Any, ...] = (), of_one: Any = None) -> None:
        self._root = root
        self._steps = steps
        self._of_one = column(_STAND_IN) if of_one is None else of_one

    def __repr__(self) -> str:
        return repr(self._of_one).replace(_COLUMN, repr(self._root))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Columns, (self._root, self._steps, self._of_one))

    def __getattr__(self, name: str) -> Any:
        if name == "_native":
            raise TypeError(
                f"{short(self)} stands for several columns, where one expression is taken; as an argument of its own it is given "
                "to select, with_columns, filter, group_by and agg"
            )
        return super().__getattr__(name)

    def _for(self, columns: Sequence[str] | None) -> Sequence[Expr]:
        each: list[Any] = self._root(columns)
        for method, args, named in self._steps:
            given = [_spread(arg, columns, len(each)) for arg in args]
            options = {name: _spread(value, columns, len(each)) for name, value in named.items()}
            each = [
                getattr(one, method)(*(arg[at] for arg in given), **{name: of[at] for name, of in options.items()})
                for at, one in enumerate(each)
            ]
        return each

    def _then(self, method: str, args: tuple[Any, ...], named: dict[str, Any]) -> Columns:
        def of_one(value: Any) -> Any:
            return value._of_one if isinstance(value, Columns) else value

        if method == "_renamed":  # a function of names is asked for names that there are
            return Columns(self._root, (*self._steps, (method, args, named)), self._of_one)
        made = getattr(self._of_one, method)(*map(of_one, args), **{name: of_one(arg) for name, arg in named.items()})
        return Columns(self._root, (*self._steps, (method, args, named)), made)

    def exclude(self, *given: Any) -> Columns:
        """All of these columns but some: names, types, or what selectors choose.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a"], "x": [1], "y": [2.5]})
        >>> t.select(tf.all().exclude(tf.String) * 10).to_dict()
        {'x': [10], 'y': [25.0]}
        """
        if self._steps or not isinstance(self._root, (Named, Every, Without)):
            raise TypeError("exclude stands first: tf.all().exclude(...).sum()")
        if isinstance(self._root, Without) or not all(isinstance(each, str) for each in flatten(given)):
            from tickframe.selectors import left_out  # stands on this module

            return Columns(Without(self._root, left_out("exclude", given)._root))
        but = _names(given, "exclude")
        if isinstance(self._root, Every):
            return Columns(Every((*self._root.but, *but)))
        return Columns(Named(tuple(name for name in self._root.names if name not in but)))


class _Same:
    """An argument that is the same for each column."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __getitem__(self, at: int) -> object:
        return self._value


def _spread(argument: object, columns: Sequence[str] | None, count: int) -> Any:
    """What each of so many columns gets of an argument."""
    if not isinstance(argument, Columns):
        return _Same(argument)
    each = argument._for(columns)
    if len(each) not in {1, count}:
        raise TypeError(f"{short(argument)} stands for {len(each)} columns beside {count}; give as many on both sides")
    return each if len(each) == count else _Same(each[0])


def _names(given: Iterable[object], operation: str) -> tuple[str, ...]:
    return tuple(names_of(given, operation))


def _known(columns: Sequence[str] | None, root: object) -> Sequence[str]:
    if columns is None:
        raise TypeError(f"{short(root)} stands for columns of a table; names of columns are taken here")
    return columns


def several(names: Sequence[str]) -> Expr:
    """The columns of these names."""
    return Columns(Named(tuple(names)))


def every(but: Iterable[object] = ()) -> Columns:
    """All columns but some."""
    return Columns(Every(_names(but, "exclude")))


def at(place: int) -> Expr:
    """The column at a place."""
    return Columns(At(place))


def together(operation: str, items: Iterable[object], make: Callable[[list[Expr]], Expr]) -> Expr:
    """One expression of several, each of which may stand for several columns."""
    flat = tuple(into_expr(item, operation) for item in flatten(items))
    if any(isinstance(item, Columns) for item in flat):
        return Columns(Together(flat, make))
    return make(list(flat))


def _recording(method: str, of: Any) -> Any:
    @functools.wraps(of)
    def recorded(self: Columns, *args: Any, **named: Any) -> Columns:
        return self._then(method, args, named)

    return recorded


_OWN = {"pipe", "meta_eq", "meta_columns", "meta_output_name", "_from", "_of", "_value", "_for"}
_NOT_OF_VALUES = {
    "__init__",
    "__repr__",
    "__bool__",
    "__getattr__",
    "__reduce__",
    "__len__",
    "__iter__",
    "__contains__",
}
_NOT_OF_VALUES |= {"__array__", "__array_function__", "__float__", "__int__"}

_KEPT = _OWN | _NOT_OF_VALUES | set(vars(Columns))

for _base in reversed(Expr.__mro__):
    for _method, _member in vars(_base).items():
        if isinstance(_member, types.FunctionType) and _method not in _KEPT:
            setattr(Columns, _method, _recording(_method, _member))
