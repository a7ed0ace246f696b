"""What `Table.update_by` takes: operators, each with the columns that it makes of columns."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, TypeAlias

from tickframe import _native
from tickframe.arguments import ON_ERROR, check_all, choice, text
from tickframe.bounds import group_bounds, warn_of_groups
from tickframe.describe import named, short
from tickframe.expr import Expr, flatten, spread
from tickframe.formulas import Formula, bind
from tickframe.functions import col
from tickframe.handles import itself, table_of
from tickframe.names import names_of, pair
from tickframe.schema import ColumnNames

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

    from tickframe.arguments import OnError
    from tickframe.bounds import WhenManyHeld
    from tickframe.dtypes import DataType
    from tickframe.expr import IntoExpr
    from tickframe.names import Names
    from tickframe.table import Table

__all__ = ["Operator"]

Operators: TypeAlias = "Operator | Expr | Iterable[Operators]"


class Operator:
    """One operator of `tf.update_by`, and the columns that it makes: a value that `Table.update_by` takes.

    >>> import tickframe as tf
    >>> tf.update_by.cum_sum("total = x")
    tf.update_by.cum_sum("total = x")
    """

    __slots__ = ("_columns", "_kind", "_name", "_of", "_suits")

    def __init__(
        self,
        name: str,
        kind: object,
        columns: Iterable[object],
        suits: Callable[[DataType], bool] | None = None,
        of: Callable[[str], Expr] = col,
    ) -> None:
        self._name, self._kind, self._suits, self._of = name, kind, suits, of
        found = []
        for item in flatten(columns):
            text(item, name, "a column")
            found.append(pair(str(item)))
        self._columns = found

    def __repr__(self) -> str:
        columns = (out if out == of else f"{out} = {of}" for out, of in self._columns)
        return f"tf.update_by.{self._name}({', '.join(json.dumps(each) for each in columns)})"

    def _made(self, table: Table, by: list[str]) -> Iterator[tuple[dict[str, object], Expr]]:
        """The columns that it makes, as plans write them, and what each is of."""
        columns = self._columns or self._all(table, by)
        for out, of in columns:
            yield {"output": out, "kind": self._kind}, self._of(of)

    def _all(self, table: Table, by: list[str]) -> list[tuple[str, str]]:
        suits = self._suits
        if suits is None:
            raise ValueError(f'{self._name}: name a column, such as {self._name}("New = Old")')
        found = [name for name, kind in table.schema.items() if name not in by and suits(kind)]
        if not found:
            raise ValueError(f"{self._name}: no column is named, and the table has none that it takes")
        return [(name, name) for name in found]


@check_all
class UpdateBy:
    """What `Table` has of columns that run over the rows of groups."""

    __slots__ = ()

    def update_by(
        self,
        ops: Operators,
        by: Names | None = None,
        *,
        reset: IntoExpr | None = None,
        state_ttl: float | str | datetime.timedelta | None = None,
        max_groups: int | None = None,
        when_full: WhenManyHeld = "evict",
        on_error: OnError = "fail",
    ) -> Table:
        """All columns, and beside them columns that are computed from the rows of each group, in row order.

        The rows stay as they are. A column of a name that is there takes its place. One call computes all its operators
        in one pass.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3]})
        >>> t.update_by([tf.update_by.cum_sum("total = x"), tf.update_by.cum_max("most = x")], by="k").to_dicts()[2]
        {'k': 'a', 'x': 3, 'total': 4, 'most': 3}
        >>> t.update_by(tf.update_by.cum_sum("total = x"), reset="x == 2").to_dict()["total"]
        [1, 2, 5]
        >>> t = tf.table({"x": ["1", "one", "3"]})
        >>> sums = t.update_by(tf.col("x").cast(tf.Int64).cum_sum().alias("s"), on_error="null")
        >>> sums["s"].to_list(), sums.errors["row_key"].to_list()
        ([1, None, 4], [1])

        Args:
            ops: operators of `tf.update_by`, expressions with a name whose neighbours and aggregates are those of the group,
                or lists of them.
            by: the columns that make groups; all rows are one without it.
            reset: a condition, as a formula or an expression: all values begin anew in each row of the group in which it is
                true. ``tf.col("day") != tf.col("day").shift()`` is true where another day begins.
            state_ttl: how long after its last row what is known of a group is held, of a blink table or a live one to whose end
                rows come: seconds, a timedelta or text, told by the `watermark` where the table has one, else by the clock of
                the graph. Then it is let go: the rows stay, and values begin anew if the key comes again. Of operators whose
                values run on, not of windows.
            max_groups: of how many groups something is known; of more, those are let go that had no row for the longest time.
            when_full: with `max_groups`, whether groups are let go (``"evict"``), or the table fails with a ResourceError.
            on_error: what becomes of a row of which an operand, the condition of `reset`, or a new value cannot be computed (a strict
                cast, a user's function that raises): ``"fail"`` the table, what fails is ``"null"``, or the row is left out
                (``"drop"``). Both are told in `errors`. What an operator refuses by its own rule (stamps that decrease, a null with
                ``on_null="throw"``) fails the table in any case.

        Raises:
            ColumnNotFoundError: an unknown column.
            DuplicateError: a name made twice.
            TypeMismatchError: a column of a type that the operator does not take.
            InvalidOperationError: a new column of the name of a key.
        """
        choice(on_error, "update_by", "on_error", ON_ERROR)
        table = itself(self)
        keys = [] if by is None else names_of([by], "update_by", ColumnNames(table._native))
        operators: list[dict[str, object]] = []
        inputs: list[_native.Expr] = []
        for item in flatten([ops]):
            if isinstance(item, Operator):
                for operator, of in item._made(table, keys):
                    operators.append(operator)
                    inputs.append(bind(of, table._native, "update_by"))
            elif isinstance(item, Expr):
                for expression, alias in spread([item], {}, ColumnNames(table._native), "update_by"):
                    native = bind(expression, table._native, "update_by")
                    name = native.output_name() if alias is None else alias
                    operators.append({"output": name, "kind": "value"})
                    inputs.append(native)
            else:
                hint = ', such as tf.update_by.cum_sum("total = x")'
                given = short(item) if isinstance(item, str) else named(item)
                raise TypeError(f"update_by: ops are operators of tf.update_by or expressions{hint}, not {given}")
        if reset is not None:
            inputs.append(_condition(reset, sys._getframe(1), table))
        written = json.dumps(operators)
        bounds = group_bounds("update_by", state_ttl, max_groups, when_full)
        if keys and bounds is None and all(operator["kind"] != "value" for operator in operators):
            warn_of_groups("update_by", table, 'state_ttl="1h" or max_groups=1_000_000')
        resets = reset is not None
        made = _native.update_by("update_by", table._native, keys, inputs, written, resets, bounds, on_error)
        return table_of(made)


def _condition(reset: object, frame: FrameType, table: Table) -> _native.Expr:
    if not isinstance(reset, (str, Expr)):
        raise TypeError(f"update_by: reset is a formula or an expression, not {named(reset)}")
    given = Formula(reset, frame, "update_by: reset", filter=True) if isinstance(reset, str) else reset
    return bind(given, table._native, "update_by")
