"""Arithmetic, comparison, logic and functions of numbers: what `Expr` has of operators and of `math`'s functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tickframe.arguments import check_all

if TYPE_CHECKING:
    from tickframe.expr import Expr

__all__: list[str] = []

Text: TypeAlias = str
"""Inside `Expr` the name ``str`` is the namespace of string functions."""


@check_all
class Arithmetic:
    """Operators and functions of numbers; each makes a new expression of this one."""

    __slots__ = ()
    __hash__ = object.__hash__

    if TYPE_CHECKING:

        def _call(self, name: Text, *args: object, **options: object) -> Expr: ...

        def _flipped(self, name: Text, other: object) -> Expr: ...

    # Arithmetic -------------------------------------------------------------------------------------------

    def __add__(self, other: object) -> Expr:
        return self._call("+", other)

    def __radd__(self, other: object) -> Expr:
        return self._flipped("+", other)

    def __sub__(self, other: object) -> Expr:
        return self._call("-", other)

    def __rsub__(self, other: object) -> Expr:
        return self._flipped("-", other)

    def __mul__(self, other: object) -> Expr:
        return self._call("*", other)

    def __rmul__(self, other: object) -> Expr:
        return self._flipped("*", other)

    def __truediv__(self, other: object) -> Expr:
        return self._call("/", other)

    def __rtruediv__(self, other: object) -> Expr:
        return self._flipped("/", other)

    def __floordiv__(self, other: object) -> Expr:
        return self._call("//", other)

    def __rfloordiv__(self, other: object) -> Expr:
        return self._flipped("//", other)

    def __mod__(self, other: object) -> Expr:
        return self._call("%", other)

    def __rmod__(self, other: object) -> Expr:
        return self._flipped("%", other)

    def __pow__(self, other: object) -> Expr:
        return self._call("**", other)

    def __rpow__(self, other: object) -> Expr:
        return self._flipped("**", other)

    def __neg__(self) -> Expr:
        return self._call("neg")

    def __abs__(self) -> Expr:
        return self.abs()

    # Comparison and logic ---------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return self._call("==", other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return self._call("!=", other)

    def __lt__(self, other: object) -> Expr:
        return self._call("<", other)

    def __le__(self, other: object) -> Expr:
        return self._call("<=", other)

    def __gt__(self, other: object) -> Expr:
        return self._call(">", other)

    def __ge__(self, other: object) -> Expr:
        return self._call(">=", other)

    def __and__(self, other: object) -> Expr:
        return self._call("&", other)

    def __rand__(self, other: object) -> Expr:
        return self._flipped("&", other)

    def __or__(self, other: object) -> Expr:
        return self._call("|", other)

    def __ror__(self, other: object) -> Expr:
        return self._flipped("|", other)

    def __xor__(self, other: object) -> Expr:
        return self._call("^", other)

    def __rxor__(self, other: object) -> Expr:
        return self._flipped("^", other)

    def __invert__(self) -> Expr:
        return self._call("~")

    def __lshift__(self, other: object) -> Expr:
        return self._call("<<", other)

    def __rshift__(self, other: object) -> Expr:
        return self._call(">>", other)

    def eq_missing(self, other: object) -> Expr:
        """Equal, where null equals null and the answer is never null."""
        return self._call("eq_missing", other)

    def ne_missing(self, other: object) -> Expr:
        """Not equal, where null equals null and the answer is never null."""
        return self._call("ne_missing", other)

    # Operators by name ------------------------------------------------------------------------------------

    def add(self, other: object) -> Expr:
        """This plus another; texts one after the other.

        >>> import tickframe as tf
        >>> tf.col("x").add(1).mul(2).gt(tf.col("y"))
        (((col("x") + 1) * 2) > col("y"))
        """
        return self._call("+", other)

    def sub(self, other: object) -> Expr:
        """This less another."""
        return self._call("-", other)

    def mul(self, other: object) -> Expr:
        """This times another."""
        return self._call("*", other)

    def truediv(self, other: object) -> Expr:
        """This divided by another, a Float64 of integers."""
        return self._call("/", other)

    def floordiv(self, other: object) -> Expr:
        """This divided by another, the whole number below; null by 0 of integers."""
        return self._call("//", other)

    def mod(self, other: object) -> Expr:
        """What a whole division leaves, with the sign of the divisor; null by 0 of integers."""
        return self._call("%", other)

    def eq(self, other: object) -> Expr:
        """Whether it equals another; null if one is null."""
        return self._call("==", other)

    def ne(self, other: object) -> Expr:
        """Whether it differs from another; null if one is null."""
        return self._call("!=", other)

    def lt(self, other: object) -> Expr:
        """Whether it is less than another."""
        return self._call("<", other)

    def le(self, other: object) -> Expr:
        """Whether it is at most another."""
        return self._call("<=", other)

    def gt(self, other: object) -> Expr:
        """Whether it is greater than another."""
        return self._call(">", other)

    def ge(self, other: object) -> Expr:
        """Whether it is at least another."""
        return self._call(">=", other)

    def neg(self) -> Expr:
        """With the other sign."""
        return self._call("neg")

    def and_(self, *others: object) -> Expr:
        """Whether this and all others are true; bit by bit of integers."""
        return self._chained("&", others)

    def or_(self, *others: object) -> Expr:
        """Whether this or one of the others is true; bit by bit of integers."""
        return self._chained("|", others)

    def xor(self, other: object) -> Expr:
        """Whether one of the two is true, and not the other; bit by bit of integers."""
        return self._call("^", other)

    def not_(self) -> Expr:
        """Whether it is false; bit by bit of integers."""
        return self._call("~")

    def _chained(self, sign: Text, others: tuple[object, ...]) -> Expr:
        if not others:
            raise TypeError(f"{sign}: give another condition")
        first, *rest = others
        made = self._call(sign, first)
        for other in rest:
            made = made._call(sign, other)
        return made

    # Numbers ----------------------------------------------------------------------------------------------

    def abs(self) -> Expr:
        """Without its sign."""
        return self._call("abs")

    def sign(self) -> Expr:
        """-1, 0 or 1."""
        return self._call("sign")

    def sqrt(self) -> Expr:
        """The square root; NaN below zero."""
        return self._call("sqrt")

    def cbrt(self) -> Expr:
        """The cube root."""
        return self._call("cbrt")

    def exp(self) -> Expr:
        """e to this power."""
        return self._call("exp")

    def log(self, base: float | None = None) -> Expr:
        """The logarithm, natural without a base; NaN below zero."""
        return self._call("log") if base is None else self._call("log", base)

    def log10(self) -> Expr:
        """The decimal logarithm."""
        return self._call("log10")

    def log1p(self) -> Expr:
        """The natural logarithm of 1 + x, exact near zero."""
        return self._call("log1p")

    def round(self, decimals: int = 0) -> Expr:
        """To so many decimals; halves go to the even neighbour."""
        return self._call("round", decimals)

    def floor(self) -> Expr:
        """The next whole number below."""
        return self._call("floor")

    def ceil(self) -> Expr:
        """The next whole number above."""
        return self._call("ceil")

    def pow(self, exponent: object) -> Expr:
        """To this power."""
        return self._call("**", exponent)

    def sin(self) -> Expr:
        """The sine."""
        return self._call("sin")

    def cos(self) -> Expr:
        """The cosine."""
        return self._call("cos")

    def tan(self) -> Expr:
        """The tangent."""
        return self._call("tan")

    def arcsin(self) -> Expr:
        """The angle of this sine."""
        return self._call("arcsin")

    def arccos(self) -> Expr:
        """The angle of this cosine."""
        return self._call("arccos")

    def arctan(self) -> Expr:
        """The angle of this tangent."""
        return self._call("arctan")

    def sinh(self) -> Expr:
        """The hyperbolic sine."""
        return self._call("sinh")

    def cosh(self) -> Expr:
        """The hyperbolic cosine."""
        return self._call("cosh")

    def tanh(self) -> Expr:
        """The hyperbolic tangent."""
        return self._call("tanh")

    def arcsinh(self) -> Expr:
        """The number of this hyperbolic sine."""
        return self._call("arcsinh")

    def arccosh(self) -> Expr:
        """The number, not below zero, of this hyperbolic cosine; NaN below one."""
        return self._call("arccosh")

    def arctanh(self) -> Expr:
        """The number of this hyperbolic tangent; NaN outside of -1 and 1, at which it is infinite."""
        return self._call("arctanh")

    def degrees(self) -> Expr:
        """Radians as degrees."""
        return self._call("degrees")

    def radians(self) -> Expr:
        """Degrees as radians."""
        return self._call("radians")

    def lower_bin(self, width: object, offset: object = None) -> Expr:
        """The start of the bin of this width in which the value lies; bins are counted from `offset`."""
        return self._call("lower_bin", width) if offset is None else self._call("lower_bin", width, offset)

    def upper_bin(self, width: object, offset: object = None) -> Expr:
        """The end of the bin in which the value lies: the least bound that is not below it."""
        return self._call("upper_bin", width) if offset is None else self._call("upper_bin", width, offset)
