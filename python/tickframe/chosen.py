"""Some rows of a group, in an order: what stands between ``col("x").filter(p)`` and the aggregate that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.describe import short
from tickframe.hints import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickframe.expr import Expr, IntoExpr

__all__: list[str] = []


def where(condition: Expr, value: Expr) -> Expr:
    """The value where the condition holds, else null."""
    return value._of(_native.Expr.when(None, condition._native, value._native))


@dataclass(frozen=True)
class Order:
    """The order in which rows of a group are taken."""

    by: Expr
    descending: bool
    nulls_last: bool

    def places(self) -> Expr:
        """The places of the rows of the group, from 0, in this order."""
        return self.by.implode().list.arg_sort(descending=self.descending, nulls_last=self.nulls_last)


#: Aggregates that leave nulls out and are the same in every order: a row that is not chosen counts as null.
_WITHOUT_NULLS = frozenset(
    [
        "abs_sum",
        "all",
        "any",
        "approx_quantile",
        "count",
        "count_distinct",
        "kurtosis",
        "max",
        "mean",
        "median",
        "min",
        "nan_max",
        "nan_min",
        "only",
        "product",
        "quantile",
        "skew",
        "std",
        "sum",
        "var",
        "weighted_mean",
        "weighted_std",
        "weighted_sum",
        "weighted_var",
    ]
)
#: Aggregates of which the place of a row among all is the result, or when it came.
_BY_PLACE = frozenset({"arg_min", "arg_max", "freeze"})


class Chosen:
    """The values of an expression in some rows of the group, for the aggregate that follows."""

    __slots__ = ("_order", "_value", "_where")

    def __init__(self, value: Expr, condition: Expr | None = None, order: Order | None = None) -> None:
        self._value = value
        self._where = condition
        self._order = order

    def __repr__(self) -> str:
        text = repr(self._value)
        if self._where is not None:
            text += f".filter({self._where!r})"
        return text if self._order is None else f"{text}.sort_by({self._order.by!r})"

    def filter(self, *predicates: IntoExpr) -> Chosen:
        """Only the rows for which every predicate is true."""
        if self._order is not None:
            raise TypeError("filter: choose rows before they are put in order: col(...).filter(...).sort_by(...)")
        if not predicates:
            raise TypeError("filter: give a condition: col(...).filter(tf.col(...) > 0).sum()")
        condition = self._where
        for predicate in predicates:
            one = self._value._from(predicate, "filter")
            condition = one if condition is None else condition & one
        return Chosen(self._value, condition, self._order)

    def sort_by(self, by: IntoExpr, *more_by: IntoExpr, descending: bool = False, nulls_last: bool = False) -> Chosen:
        """The rows in the order of an expression."""
        if more_by or isinstance(by, (list, tuple, set)):
            raise TypeError(
                "sort_by of an expression is by one column or expression; for several sort the table first: "
                "t.sort([...]).group_by(...).agg(col(...).first())"
            )
        return Chosen(self._value, self._where, Order(self._value._from(by, "sort_by"), descending, nulls_last))

    # Aggregates that tell rows apart ----------------------------------------------------------------------

    def len(self) -> Expr:
        """How many rows there are, nulls included."""
        if self._where is None:
            return self._value.len()
        return self._value.count_where(self._where)

    def null_count(self) -> Expr:
        """How many values are null."""
        if self._where is None:
            return self._value.null_count()
        return self._value.count_where(self._where & self._value.is_null())

    def n_unique(self) -> Expr:
        """How many distinct values there are; null counts as one."""
        if self._where is None:
            return self._value.n_unique()
        return self.seen().count_distinct() + (self.null_count() > 0).cast("int64")

    def approx_n_unique(self) -> Expr:
        """About how many distinct values there are; null counts as one."""
        if self._where is None:
            return self._value.approx_n_unique()
        seen = self.seen()
        left_out = (seen.null_count() > 0).cast("int64") - (self.null_count() > 0).cast("int64")
        return seen.approx_n_unique() - left_out

    def count_where(self, predicate: IntoExpr) -> Expr:
        """In how many rows `predicate` is true as well."""
        condition = self._value._from(predicate, "count_where")
        return self._value.count_where(condition if self._where is None else self._where & condition)

    def implode(self) -> Expr:
        """All values in order, null or not, as a list. A changed group is read again."""
        places = self._places()
        return self._value.implode() if places is None else self._value.implode().list.gather(places)

    def first(self) -> Expr:
        """The value of the first row, null or not."""
        places = self._places()
        return self._value.first() if places is None else self._value.implode().list.get(places.list.first())

    def last(self) -> Expr:
        """The value of the last row, null or not."""
        places = self._places()
        return self._value.last() if places is None else self._value.implode().list.get(places.list.last())

    def _places(self) -> Expr | None:
        """The places of the chosen rows among those of the group, in order; None if they are all, as they stand."""
        order = None if self._order is None else self._order.places()
        if self._where is None:
            return order
        kept = self._where.fill_null(value=False).implode()
        if order is not None:
            kept = kept.list.gather(order)
        # The order of equal ones is kept: the true ones come first, as they stand.
        chosen = kept.list.arg_sort(descending=True).list.head(kept.list.sum())
        return chosen if order is None else order.list.gather(chosen)

    def seen(self) -> Expr:
        """The value, null in rows that are not chosen."""
        return self._value if self._where is None else where(self._where, self._value)

    # All else ---------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name in _WITHOUT_NULLS:
            return getattr(self.seen(), name)
        if name.startswith("_"):
            raise AttributeError(f"'Chosen' object has no attribute {name!r}", name=name, obj=self)
        known = getattr(type(self._value), name, None)
        if name in _BY_PLACE or name == "over" or not callable(known):
            raise AttributeError(
                f"{short(self)} has no {name!r}{nearest(name, dir(self))}; it waits for an aggregate, such as .sum(), "
                ".first() or .len(), behind which over and arithmetic stand",
                name=name,
                obj=self,
            )
        return self._each(name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *_WITHOUT_NULLS})

    def _each(self, name: str) -> Callable[..., Chosen]:
        """A method of single values: the rows chosen stay."""

        def applied(*args: object, **options: object) -> Chosen:
            given = [self._beside(arg) if isinstance(arg, Chosen) else arg for arg in args]
            return Chosen(getattr(self._value, name)(*given, **options), self._where, self._order)

        return applied

    def _beside(self, other: Chosen) -> Expr:
        """The value of another one of the same rows."""
        if (repr(self._where), repr(self._order)) != (repr(other._where), repr(other._order)):
            raise TypeError(
                f"{short(self)} and {short(other)} are of different rows: aggregate each, and combine the results"
            )
        return other._value


def _operator(name: str) -> Callable[..., Chosen]:
    def applied(self: Chosen, *args: object) -> Chosen:
        return self._each(name)(*args)

    return applied


for _name in [
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "neg",
    "abs",
    "and",
    "rand",
    "or",
    "ror",
    "xor",
    "rxor",
    "invert",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
]:
    setattr(Chosen, f"__{_name}__", _operator(f"__{_name}__"))
