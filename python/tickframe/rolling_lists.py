"""What is made of the list of values in a window that moves along with its row: ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tickframe import _native
from tickframe.arguments import check_all
from tickframe.describe import short

if TYPE_CHECKING:
    from tickframe._native import Expr as NativeExpr
    from tickframe.arithmetic import Text
    from tickframe.expr import Expr, IntoExpr
    from tickframe.rolling import Span

__all__: list[str] = []

RankOfWindow = Literal["average", "min", "max", "dense"]
_RANKS = ("average", "min", "max", "dense")


@check_all
class RollsLists:
    """What `Expr` has of windows that are taken as lists."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: NativeExpr

        @staticmethod
        def _of(native: NativeExpr) -> Expr: ...

        def implode(self) -> Expr: ...
        def count(self) -> Expr: ...
        def is_not_null(self) -> Expr: ...
        def _rolled(
            self,
            name: Text,
            aggregate: Expr,
            size: int | None,
            weights: object,
            least: int | None,
            center: bool,
            before: int | None,
            after: int | None,
        ) -> Expr: ...
        def _within(
            self,
            name: Text,
            aggregate: Expr,
            by: object,
            size: object,
            least: int,
            closed: str,
            before: object,
            after: object,
        ) -> Expr: ...

    def rolling_rank(
        self,
        window_size: int | None = None,
        method: RankOfWindow = "average",
        *,
        min_samples: int | None = None,
        before: int | None = None,
    ) -> Expr:
        """The place of the value in order among those of a window that ends at the row, from 1; null of null.

        Cost: the rows of the window, for each row that feels a change.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 4, 4, 1, 9]})
        >>> t.select(tf.col("x").rolling_rank(3), low=tf.col("x").rolling_rank(3, "min", min_samples=1)).to_dict()
        {'x': [None, None, 2.5, 1.0, 3.0], 'low': [1, 2, 2, 1, 3]}

        Args:
            window_size: as in `rolling_sum`.
            method: what equal values have: the mean of their places, the ``"min"``, the ``"max"``, or the ``"dense"`` one, which
                counts them as one.
            min_samples: as in `rolling_sum`.
            before: as in `rolling_sum`.
        """
        name = "rolling_rank"
        lists = self._rolled(name, self.implode(), window_size, None, 0, False, before, None)
        enough = self._rolled(name, self.count(), window_size, None, min_samples, False, before, None)
        return self._ranked(name, lists, enough, method)

    def rolling_rank_by(
        self,
        by: IntoExpr,
        window_size: Span | None = None,
        method: RankOfWindow = "average",
        *,
        min_samples: int = 1,
        before: Span | None = None,
    ) -> Expr:
        """The place of the value in order among those of a window of time that ends at the row's stamp, from 1; null of null.

        Of rows with one stamp the last one's value is ranked, for each of them.

        Args:
            by: as in `rolling_sum_by`.
            window_size: as in `rolling_sum_by`.
            method: as in `rolling_rank`.
            min_samples: as in `rolling_sum_by`.
            before: as in `rolling_sum_by`.
        """
        name = "rolling_rank_by"
        lists = self._within(name, self.implode(), by, window_size, 0, "right", before, None)
        enough = self._within(name, self.count(), by, window_size, min_samples, "right", before, None)
        return self._ranked(name, lists, enough, method)

    def _ranked(self, name: Text, lists: Any, enough: Any, method: Text) -> Expr:
        if method not in _RANKS:
            raise ValueError(f"{name}: method must be {', '.join(map(repr, _RANKS))}, not {short(method)}")
        element: Any = self._of(_native.Expr.call("element", []))
        value = element.last()
        ranks = {
            "average": element.rank().last(),
            "min": (element < value).sum() + 1,
            "max": (element <= value).sum(),
            "dense": element.filter(element < value).n_unique() + 1,
        }
        rank = lists.list.eval(ranks[method]).list.first()
        whole = _native.Expr.when(None, (enough.is_not_null() & lists.list.last().is_not_null())._native, rank._native)
        return self._of(whole.alias(self._native.output_name()))
