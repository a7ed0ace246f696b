"""Functions of several columns in each row: the first that is there, the least, the sum, one text, one struct."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tickframe import _native
from tickframe.arguments import checked
from tickframe.expr import Expr, IntoExpr, into_expr, literal
from tickframe.several import together

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "all_horizontal",
    "any_horizontal",
    "coalesce",
    "concat_str",
    "format",
    "max_horizontal",
    "mean_horizontal",
    "min_horizontal",
    "struct",
    "sum_horizontal",
]


def coalesce(*items: IntoExpr) -> Expr:
    """The first value that is not null; a bare string is a column."""
    return together("coalesce", items, partial(_called, "coalesce"))


def min_horizontal(*items: IntoExpr) -> Expr:
    """The least of several columns in each row; nulls are left out."""
    return together("min_horizontal", items, partial(_called, "min_horizontal"))


def max_horizontal(*items: IntoExpr) -> Expr:
    """The greatest of several columns in each row; nulls are left out."""
    return together("max_horizontal", items, partial(_called, "max_horizontal"))


def any_horizontal(*items: IntoExpr) -> Expr:
    """Whether any of several columns is true in the row; null where none is and one is not known.

    >>> import tickframe as tf
    >>> t = tf.table({"a": [True, False, None], "b": [False, False, False]})
    >>> t.select(any=tf.any_horizontal("a", "b"), all=tf.all_horizontal(tf.all())).to_dict()
    {'any': [True, False, None], 'all': [False, False, False]}
    """
    return together("any_horizontal", items, partial(_called, "|"))


def all_horizontal(*items: IntoExpr) -> Expr:
    """Whether all of several columns are true in the row; null where none is false and one is not known."""
    return together("all_horizontal", items, partial(_called, "&"))


def _called(name: str, items: list[Expr]) -> Expr:
    """A function of so many columns."""
    if name in {"|", "&"} and not items[1:]:
        return items[0]
    return Expr(_native.Expr.call(name, [item._native for item in items]))


def sum_horizontal(*items: IntoExpr) -> Expr:
    """The sum of several columns in each row; a null counts as 0.

    >>> import tickframe as tf
    >>> t = tf.table({"a": [1, 2], "b": [10, None]})
    >>> t.select(sum=tf.sum_horizontal(tf.all()), mean=tf.mean_horizontal("a", "b")).to_dict()
    {'sum': [11, 2], 'mean': [5.5, 2.0]}
    """
    return together("sum_horizontal", items, _summed)


def mean_horizontal(*items: IntoExpr) -> Expr:
    """The mean of several columns in each row; nulls are left out."""
    return together("mean_horizontal", items, _averaged)


_MOST_SUMMED = 1 << 12


def _summed(items: list[Expr]) -> Expr:
    if len(items) > _MOST_SUMMED:
        raise ValueError(f"sum_horizontal: {len(items)} columns, more than {_MOST_SUMMED}; give columns, not values")
    return _called("+", [item.fill_null(0) for item in items]) if items[1:] else items[0].fill_null(0)


def _averaged(items: list[Expr]) -> Expr:
    present = _summed([item.is_not_null().cast("int64") for item in items])
    return Expr(_native.Expr.when(None, (present > 0)._native, (_summed(items) / present)._native))


@checked
def concat_str(
    exprs: IntoExpr | Iterable[IntoExpr], *more_exprs: IntoExpr, separator: str = "", ignore_nulls: bool = False
) -> Expr:
    """The texts of several columns, one after the other; what is no text is written as one.

    >>> import tickframe as tf
    >>> t = tf.table({"first": ["Ann", "Bob"], "last": ["Lee", None], "n": [1, 2]})
    >>> t.select(tf.concat_str("first", "last", "n", separator=" ").alias("a")).to_dict()
    {'a': ['Ann Lee 1', None]}
    >>> t.select(a=tf.concat_str("first", "last", separator=" ", ignore_nulls=True)).to_dict()
    {'a': ['Ann Lee', 'Bob']}

    Args:
        exprs: columns or expressions; a bare string is a column, a text is ``tf.lit("text")``.
        *more_exprs: further ones.
        separator: what stands between them.
        ignore_nulls: whether a null is left out; else the whole is null.
    """
    return together("concat_str", [exprs, more_exprs], partial(_joined, separator, ignore_nulls))


def _joined(separator: str, ignore_nulls: bool, items: list[Expr]) -> Expr:
    escaped = separator.replace("{", "{{").replace("}", "}}")
    if not ignore_nulls:
        return _formatted(escaped.join(["{}"] * len(items)), items).alias(items[0]._native.output_name())
    texts = [_formatted(escaped + "{}", [item]).fill_null("") for item in items]
    joined = _formatted("{}" * len(texts), texts).str.slice(len(separator))
    return joined.alias(items[0]._native.output_name())


def _formatted(template: str, items: list[Expr]) -> Expr:
    return _called("format", [Expr(literal(template)), *items])


def struct(*exprs: IntoExpr | Iterable[IntoExpr], **named: IntoExpr) -> Expr:
    """One struct of several columns, each a field of its name.

    >>> import tickframe as tf
    >>> t = tf.table({"a": [1, 2], "b": ["x", None]})
    >>> t.select(both=tf.struct("a", "b", twice=tf.col("a") * 2)).to_dict()
    {'both': [{'a': 1, 'b': 'x', 'twice': 2}, {'a': 2, 'b': None, 'twice': 4}]}

    Args:
        *exprs: columns or expressions; ``tf.all()`` takes every column.
        **named: ``name=expression`` for further fields.

    Raises:
        FormulaError: two fields of one name.
    """
    fields = [exprs, [into_expr(item, f"struct: {name}").alias(name) for name, item in named.items()]]
    return together("struct", fields, _structure)


def _structure(fields: list[Expr]) -> Expr:
    names = [field._native.output_name() for field in fields]
    return _called("struct", [Expr(_native.Expr.values(names, "struct")), *fields])


@checked
def format(template: str, *values: IntoExpr) -> Expr:
    """A text with a value at each place of a template; null where one of them is.

    Places are written as Python writes them: ``{}``, ``{:.2f}``, ``{:>8}``, ``{:05d}``, ``{:,}``, ``{:.1%}``; a bracket
    itself is ``{{``.

    >>> import tickframe as tf
    >>> t = tf.table({"s": ["tea", None], "p": [1234.5, 2.0]})
    >>> t.select(a=tf.format("{} costs {:,.2f}", "s", "p"), b=tf.format("{:>6}|", "s")).to_dict()
    {'a': ['tea costs 1,234.50', None], 'b': ['   tea|', None]}

    Args:
        template: the text, with as many places as there are values.
        *values: columns or expressions; a bare string is a column.

    Raises:
        FormulaError: a template that cannot be read, or places without values; told where the expression is used.
        TypeMismatchError: a value that is no number at a place for numbers.
    """
    return together("format", values, partial(_formatted, template))
