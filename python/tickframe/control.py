"""Execution order of user functions: `Filter`, `Selectable` and `Barrier` for functions with order or side effects.

Native expressions keep no state and always run in parallel. A Python function is taken to keep state unless it says
otherwise, or the settings ``stateless_select`` and ``stateless_filters`` do; then it sees its rows in order, on one
thread, and never beside another such column.

>>> import tickframe as tf
>>> seen = []
>>> def noted(x: int) -> int:
...     seen.append(x)
...     return x
>>> def count_so_far(x: int) -> int:
...     return len(seen)
>>> done = tf.Barrier()
>>> t = tf.table({"x": [3, 1, 2]})
>>> first = tf.Selectable("Y = noted(x)").with_serial().with_declared_barriers(done)
>>> then = tf.Selectable("N = count_so_far(x)").with_respected_barriers(done)
>>> t.update(first, then).to_dict()
{'x': [3, 1, 2], 'Y': [3, 1, 2], 'N': [3, 3, 3]}
"""

from __future__ import annotations

import itertools
import sys
import typing
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias

from tickframe import _native
from tickframe.config import setting
from tickframe.errors import InvalidOperationError
from tickframe.expr import Expr, into_expr
from tickframe.formulas import Formula

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

__all__ = ["Barrier", "Filter", "Selectable"]

Order: TypeAlias = tuple[bool, bool, bool, list[int], list[int]]

_numbers = itertools.count()


class Barrier:
    """What one expression declares and others respect: they start when it has finished all rows.

    Barriers are compared by identity.
    """

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = next(_numbers)

    def __repr__(self) -> str:
        return f"<Barrier {self._number}>"


class _Controlled:
    """An expression, and how it stands to the others of its operation. Each method gives a new object."""

    __slots__ = ("_declares", "_item", "_respects", "_serial")
    _FILTER: ClassVar[bool] = False

    def __init__(self, item: Expr | str) -> None:
        self._item = self._read(item, sys._getframe(1))
        self._serial = False
        self._declares: tuple[Barrier, ...] = ()
        self._respects: tuple[Barrier, ...] = ()

    def _read(self, item: object, frame: FrameType) -> Expr:
        if isinstance(item, _Controlled):
            raise InvalidOperationError(
                f"{type(self).__name__} of a {type(item).__name__}: serial and barriers are said once"
            )
        return (
            Formula(item, frame, type(self).__name__, filter=self._FILTER)
            if isinstance(item, str)
            else into_expr(item, type(self).__name__)
        )

    def _replace(self, **changed: object) -> Self:
        made = object.__new__(type(self))
        for name in _Controlled.__slots__:
            setattr(made, name, changed.get(name, getattr(self, name)))
        return made

    def with_serial(self) -> Self:
        """Rows in position order, on one thread; a filter also keeps its place among the others."""
        return self._replace(_serial=True)

    def with_declared_barriers(self, *barriers: Barrier | Sequence[Barrier]) -> Self:
        """It opens these barriers when it has finished all rows.

        Raises:
            InvalidOperationError: what is no `Barrier`, or one that it respects itself.
        """
        return self._replace(_declares=self._declares + self._checked(barriers, self._respects))

    def with_respected_barriers(self, *barriers: Barrier | Sequence[Barrier]) -> Self:
        """It starts when these barriers are open.

        Raises:
            InvalidOperationError: what is no `Barrier`, or one that it declares itself.
        """
        return self._replace(_respects=self._respects + self._checked(barriers, self._declares))

    def _checked(
        self, barriers: tuple[Barrier | Sequence[Barrier], ...], others: tuple[Barrier, ...]
    ) -> tuple[Barrier, ...]:
        flat: list[Barrier] = []
        for barrier in barriers:
            flat.extend(barrier if isinstance(barrier, (list, tuple)) else [typing.cast("Barrier", barrier)])
        for barrier in flat:
            if not isinstance(barrier, Barrier):
                raise InvalidOperationError(f"a barrier is a tf.Barrier(), not {barrier!r}")
            if barrier in others:
                raise InvalidOperationError("one expression cannot both declare and respect a barrier")
        return tuple(flat)

    def __repr__(self) -> str:
        text = f"{type(self).__name__}({self._item!r})"
        if self._serial:
            text += ".with_serial()"
        if self._declares:
            text += f".with_declared_barriers({', '.join(map(repr, self._declares))})"
        if self._respects:
            text += f".with_respected_barriers({', '.join(map(repr, self._respects))})"
        return text


class Filter(_Controlled):
    """A filter whose order or side effects matter. Stands wherever a filter does.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2]})
    >>> seen = []
    >>> def first_two(x: int) -> bool:
    ...     seen.append(x)
    ...     return len(seen) <= 2
    >>> t.where(tf.Filter("first_two(x)").with_serial()).to_dict()
    {'x': [3, 1]}

    Args:
        item: a Boolean expression, or a formula.
    """

    __slots__ = ()
    _FILTER = True


class Selectable(_Controlled):
    """A new column whose order or side effects matter. Stands wherever a new column does.

    Args:
        item: an expression, or a formula ``"New = …"``.
    """

    __slots__ = ()


def unwrapped(
    items: list[object], kind: type[_Controlled], operation: str
) -> tuple[list[object], list[_Controlled | None]]:
    """The expressions of an operation's arguments, and what is said about the order of each.

    Raises:
        InvalidOperationError: a Filter among columns, or a Selectable among filters; a barrier that is declared
            twice, or respected before it is declared.
    """
    controls: list[_Controlled | None] = []
    plain: list[object] = []
    for item in items:
        if isinstance(item, _Controlled):
            if not isinstance(item, kind):
                serial = "its serial order and barriers have no meaning here"
                raise InvalidOperationError(
                    f"{operation}: {type(item).__name__} stands where a {kind.__name__} could: {serial}"
                )
            controls.append(item)
            plain.append(item._item)
        else:
            controls.append(None)
            plain.append(item)
    if any(control is not None for control in controls):
        declares = [_numbers_of(control._declares if control else ()) for control in controls]
        respects = [_numbers_of(control._respects if control else ()) for control in controls]
        _native.check_barriers(operation, declares, respects)
    return plain, controls


def _numbers_of(barriers: tuple[Barrier, ...]) -> list[int]:
    return [barrier._number for barrier in barriers]


def execution_order(
    made: list[_native.Expr], controls: Sequence[_Controlled | None], *, filters: bool
) -> list[Order] | None:
    """How each expression stands to the others; None where none needs an order."""
    if not any(controls) and not any(expression.calls_host() for expression in made):
        return None
    select = bool(setting("stateless_select"))
    stateless = bool(setting("stateless_filters")) if filters else select
    implicit = setting("serial_implicit_barriers")
    overlaps = select if implicit is None else not implicit
    every = [*controls, *[None] * (len(made) - len(controls))]
    return [
        (
            control is not None and control._serial,
            stateless,
            overlaps,
            _numbers_of(control._declares if control else ()),
            _numbers_of(control._respects if control else ()),
        )
        for control in every
    ]
