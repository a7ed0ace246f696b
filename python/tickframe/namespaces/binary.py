"""Functions of bytes: ``col("x").bin``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.arguments import check_all
from tickframe.namespaces import Namespace

if TYPE_CHECKING:
    from tickframe.expr import Expr

__all__ = ["BinaryNamespace"]


@check_all
class BinaryNamespace(Namespace):
    """Functions of bytes: ``col("x").bin``."""

    __slots__ = ()
    _PREFIX = "bin"

    def size(self) -> Expr:
        """How many bytes."""
        return self._call("size")

    def contains(self, literal: object) -> Expr:
        """Whether these bytes stand somewhere in it."""
        return self._call("contains", literal)

    def starts_with(self, prefix: object) -> Expr:
        """Whether it begins so."""
        return self._call("starts_with", prefix)

    def ends_with(self, suffix: object) -> Expr:
        """Whether it ends so."""
        return self._call("ends_with", suffix)

    def encode(self, encoding: str) -> Expr:
        r"""The bytes as text.

        >>> import tickframe as tf
        >>> tf.table({"x": [b"\n\xff"]}).select(tf.col("x").bin.encode("hex")).item()
        '0aff'

        Args:
            encoding: ``"hex"``, two small digits a byte; or ``"base64"``, padded.
        """
        return self._call("encode", encoding)

    def decode(self, encoding: str, *, strict: bool = True) -> Expr:
        """The bytes that these, which are text, write.

        Args:
            encoding: ``"hex"``, digits of either case; or ``"base64"``, padded.
            strict: whether bytes that are none of the encoding are an error; null without it.
        """
        return self._call("decode", encoding, strict=strict)
