"""Windows of a table that move along with each row, on their way to aggregates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.arguments import check_all
from tickframe.describe import short
from tickframe.group_by import aggregates
from tickframe.handles import table_of
from tickframe.rolling import of_ends, reach

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tickframe.arguments import OnError
    from tickframe.expr import IntoExpr
    from tickframe.table import Table

__all__ = ["RollingGroups"]


@check_all
class RollingGroups:
    """Windows of a table that move along with each row, as `Table.rolling` gives them."""

    __slots__ = ("_by", "_on", "_on_error", "_table", "_window")

    def __init__(
        self, table: Table, on: str, by: list[str], window: dict[str, object], on_error: OnError = "fail"
    ) -> None:
        self._table, self._on, self._by, self._window = table, on, by, window
        self._on_error: OnError = on_error

    def __repr__(self) -> str:
        return f"RollingGroups({self._on!r}): say what to compute of each window, .agg(tf.col(name).sum())"

    def agg(self, *aggs: IntoExpr | Iterable[IntoExpr], **named: IntoExpr) -> Table:
        """One row for each row of the table, with its group, its stamp, and these aggregates of its window.

        >>> import tickframe as tf
        >>> t = tf.table({"t": [1, 2, 3], "x": [1, 2, 4]})
        >>> t.rolling("t", period=2).agg(s=tf.col("x").sum()).to_dict()
        {'t': [1, 2, 3], 's': [1, 3, 6]}
        """
        taken = {*self._by, self._on}
        columns = [name for name in self._table.columns if name not in taken]
        made = aggregates("agg", self._table, aggs, named, columns, in_windows=True)
        own = [*self._by, *([] if self._on in self._by else [self._on])]
        names = [each.output_name() for each in made]
        # Aggregates may have the names of the columns that they are of: none but those of the result are in the way.
        wide, apart = self._table, {}
        for at, name in enumerate(names):
            if name in wide.columns and name not in own:
                apart[name] = f"{name} of the window {at}"
        made = [each.alias(apart.get(name, name)) for each, name in zip(made, names, strict=True)]
        chosen = [*((name, name) for name in own), *((apart.get(name, name), name) for name in names)]
        window = {"frame": {"range": self._window}, "least": 0}
        how = {"by": self._by, "on": self._on, "window": window, "chosen": chosen}
        return table_of(_native.rolling("rolling", wide._native, json.dumps(how), made, self._on_error))


def of_period(period: object, offset: object, closed: str) -> dict[str, object]:
    """The window of `Table.rolling` as plans write it."""
    length = _number(reach(period, "rolling: period"))
    if length[1] <= 0:
        raise ValueError(f"rolling: period must be greater than 0, not {short(period)}")
    if offset is None:
        back, ahead = length, (length[0], 0)
    else:
        begins = _number(reach(offset, "rolling: offset"))
        if begins[0] != length[0]:
            raise TypeError("rolling: period and offset are both spans of time, or both numbers")
        back, ahead = (begins[0], -begins[1]), (begins[0], begins[1] + length[1])
    return {"back": dict([back]), "ahead": dict([ahead]), "closed": of_ends("rolling", closed)}


def _number(given: dict[str, Any]) -> tuple[str, Any]:
    ((kind, far),) = given.items()
    return kind, far
