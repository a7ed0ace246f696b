"""Names of columns: ``col("x").name``.

>>> import tickframe as tf
>>> t = tf.table({"k": ["a", "a"], "x": [1, 2], "y": [3, 4]})
>>> t.group_by("k").agg(tf.col("x", "y").sum().name.suffix("_sum"), tf.col("x").max().name.to_uppercase()).to_dicts()
[{'k': 'a', 'x_sum': 3, 'y_sum': 7, 'X': 2}]
"""

from __future__ import annotations

from functools import partial
from operator import add
from typing import TYPE_CHECKING

from tickframe.arguments import check_all, text
from tickframe.describe import named
from tickframe.namespaces import Namespace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickframe.expr import Expr

__all__ = ["NameNamespace"]


@check_all
class NameNamespace(Namespace):
    """Other names for an expression, made of the one it has; `alias` says one as it is."""

    __slots__ = ()
    _PREFIX = "name"

    def keep(self) -> Expr:
        """The name of the first column it reads, whatever alias came before.

        >>> import tickframe as tf
        >>> t = tf.table({"px_bid": [1], "px_ask": [2]})
        >>> t.select((tf.col("px_bid") * 2).alias("other").name.keep()).to_dict()
        {'px_bid': [2]}
        """
        return self._expr._renamed(None)

    def prefix(self, prefix: str) -> Expr:
        """The name behind these letters."""
        return self._expr._renamed(partial(add, prefix))

    def suffix(self, suffix: str) -> Expr:
        """The name before these letters."""
        return self._expr._renamed(partial(_suffixed, suffix))

    def replace(self, old: str, new: str) -> Expr:
        """The name, in which one text stands in place of another.

        >>> import tickframe as tf
        >>> t = tf.table({"px_bid": [1], "px_ask": [2]})
        >>> t.select(tf.col("px_bid", "px_ask").name.replace("px", "price")).columns
        ['price_bid', 'price_ask']
        """
        return self._expr._renamed(partial(_replaced, old, new))

    def strip_prefix(self, prefix: str) -> Expr:
        """The name without these letters at its start.

        >>> import tickframe as tf
        >>> t = tf.table({"px_bid": [1], "px_ask": [2]})
        >>> t.select(tf.col("px_bid", "px_ask").name.strip_prefix("px_")).columns
        ['bid', 'ask']
        """
        return self._expr._renamed(partial(_without_prefix, prefix))

    def strip_suffix(self, suffix: str) -> Expr:
        """The name without these letters at its end.

        >>> import tickframe as tf
        >>> t = tf.table({"px_bid": [1], "px_ask": [2]})
        >>> t.select(tf.col("px_bid").name.strip_suffix("_bid")).columns
        ['px']
        """
        return self._expr._renamed(partial(_without_suffix, suffix))

    def to_lowercase(self) -> Expr:
        """The name in lower case.

        >>> import tickframe as tf
        >>> tf.table({"Bid": [1], "ASK": [2]}).select(tf.all().name.to_lowercase()).columns
        ['bid', 'ask']
        """
        return self._expr._renamed(str.lower)

    def to_uppercase(self) -> Expr:
        """The name in upper case."""
        return self._expr._renamed(str.upper)

    def map(self, function: Callable[[str], str]) -> Expr:
        """What a function makes of the name.

        >>> import tickframe as tf
        >>> t = tf.table({"px_bid": [1], "px_ask": [2]})
        >>> t.select(tf.all().name.map(lambda name: name.title())).columns
        ['Px_Bid', 'Px_Ask']
        """
        if not callable(function):
            raise TypeError(f"map: give a function from name to name, not {named(function)}")
        return self._expr._renamed(partial(_mapped, function))


def _suffixed(suffix: str, name: str) -> str:
    return name + suffix


def _without_prefix(prefix: str, name: str) -> str:
    return name.removeprefix(prefix)


def _without_suffix(suffix: str, name: str) -> str:
    return name.removesuffix(suffix)


def _replaced(old: str, new: str, name: str) -> str:
    return name.replace(old, new)


def _mapped(function: Callable[[str], str], name: str) -> str:
    made = function(name)
    text(made, "map", "what the function gives")
    return made
