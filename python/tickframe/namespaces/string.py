"""Functions of strings: ``col("x").str``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.arguments import check_all
from tickframe.namespaces import Namespace

if TYPE_CHECKING:
    from tickframe.expr import Expr

__all__ = ["StringNamespace"]


@check_all
class StringNamespace(Namespace):
    """Functions of strings: ``col("x").str``. Null stays null; characters are Unicode code points."""

    __slots__ = ()
    _PREFIX = "str"

    def len_chars(self) -> Expr:
        """How many characters."""
        return self._call("len_chars")

    def len_bytes(self) -> Expr:
        """How many bytes of UTF-8."""
        return self._call("len_bytes")

    def to_lowercase(self) -> Expr:
        """In small letters."""
        return self._call("to_lowercase")

    def to_uppercase(self) -> Expr:
        """In capital letters."""
        return self._call("to_uppercase")

    def contains(self, pattern: object, *, literal: bool = False) -> Expr:
        """Whether a regular expression matches somewhere, or `pattern` itself stands there if `literal`."""
        return self._call("contains", pattern, literal=literal)

    def starts_with(self, prefix: object) -> Expr:
        """Whether it begins so."""
        return self._call("starts_with", prefix)

    def ends_with(self, suffix: object) -> Expr:
        """Whether it ends so."""
        return self._call("ends_with", suffix)

    def slice(self, offset: object, length: object = None) -> Expr:
        """`length` characters from `offset`, which counts from the end if negative; all of the rest without a length."""
        return self._call("slice", offset) if length is None else self._call("slice", offset, length)

    def head(self, n: object) -> Expr:
        """The first `n` characters."""
        return self._call("head", n)

    def tail(self, n: object) -> Expr:
        """The last `n` characters."""
        return self._call("tail", n)

    def replace(self, pattern: object, value: object, *, literal: bool = False) -> Expr:
        """The first match replaced."""
        return self._call("replace", pattern, value, literal=literal)

    def replace_all(self, pattern: object, value: object, *, literal: bool = False) -> Expr:
        """Every match replaced."""
        return self._call("replace_all", pattern, value, literal=literal)

    def strip_chars(self, characters: object = None) -> Expr:
        """Without these characters at both ends; without white space if none are given."""
        return self._strip("strip_chars", characters)

    def strip_chars_start(self, characters: object = None) -> Expr:
        """Without these characters at the start."""
        return self._strip("strip_chars_start", characters)

    def strip_chars_end(self, characters: object = None) -> Expr:
        """Without these characters at the end."""
        return self._strip("strip_chars_end", characters)

    def _strip(self, name: str, characters: object) -> Expr:
        return self._call(name) if characters is None else self._call(name, characters)

    def strip_prefix(self, prefix: object) -> Expr:
        """Without this beginning, if it has it."""
        return self._call("strip_prefix", prefix)

    def strip_suffix(self, suffix: object) -> Expr:
        """Without this end, if it has it."""
        return self._call("strip_suffix", suffix)

    def zfill(self, length: object) -> Expr:
        """Filled with zeros on the left, behind a sign."""
        return self._call("zfill", length)

    def pad_start(self, length: object, fill_char: str = " ") -> Expr:
        """Filled at the start up to `length` characters."""
        return self._call("pad_start", length, fill_char)

    def pad_end(self, length: object, fill_char: str = " ") -> Expr:
        """Filled at the end up to `length` characters."""
        return self._call("pad_end", length, fill_char)

    def reverse(self) -> Expr:
        """The characters in the opposite order."""
        return self._call("reverse")

    def to_titlecase(self) -> Expr:
        """Each word with a capital letter at its start; words are runs of letters and digits."""
        return self._call("to_titlecase")

    def find(self, pattern: object, *, literal: bool = False) -> Expr:
        """Bytes before the first match of a regular expression, or of `pattern` itself if `literal`; null without one."""
        return self._call("find", pattern, literal=literal)

    def index_of(self, part: object) -> Expr:
        """Characters before the first occurrence, -1 without one."""
        return self._call("index_of", part)

    def count_matches(self, pattern: object, *, literal: bool = False) -> Expr:
        """How often a regular expression matches, or `pattern` itself stands there if `literal`."""
        return self._call("count_matches", pattern, literal=literal)

    def split(self, by: object) -> Expr:
        """The parts between occurrences of `by`, as a list; an empty one splits into characters."""
        return self._call("split", by)

    def extract_all(self, pattern: object) -> Expr:
        """All matches of a regular expression, as a list."""
        return self._call("extract_all", pattern)

    def extract(self, pattern: object, group_index: int = 1) -> Expr:
        """What a group of the first match holds, 0 for all of it; null without a match."""
        return self._call("extract", pattern, group_index=group_index)

    def to_integer(self, *, strict: bool = True) -> Expr:
        """The Int64 it reads as; text that is none is an error, or null unless `strict`."""
        return self._expr.cast("int64", strict=strict)

    def to_date(self, format: str | None = None, *, strict: bool = True) -> Expr:
        """The date it names, by a strptime format or ISO 8601."""
        return self._parsed("to_date", format, strict)

    def to_datetime(self, format: str | None = None, *, strict: bool = True) -> Expr:
        """The instant it names, by a strptime format or ISO 8601.

        Without a format it is wall-clock time, and a text with an offset or a Z is refused: `cast` it to
        `tf.Datetime("ns", "UTC")`.
        """
        return self._parsed("to_datetime", format, strict)

    def encode(self, encoding: str) -> Expr:
        """Its bytes in UTF-8, as text.

        >>> import tickframe as tf
        >>> tf.table({"s": ["text"]}).select(tf.col("s").str.encode("base64")).item()
        'dGV4dA=='

        Args:
            encoding: ``"hex"``, two small digits a byte; or ``"base64"``, padded.
        """
        return self._call("encode", encoding)

    def decode(self, encoding: str, *, strict: bool = True) -> Expr:
        r"""The bytes that it writes.

        >>> import tickframe as tf
        >>> tf.table({"s": ["0aFF"]}).select(tf.col("s").str.decode("hex")).item()
        b'\n\xff'

        Args:
            encoding: ``"hex"``, digits of either case; or ``"base64"``, padded.
            strict: whether a text that is none of the encoding is an error; null without it.
        """
        return self._call("decode", encoding, strict=strict)

    def _parsed(self, name: str, format: str | None, strict: bool) -> Expr:
        args = () if format is None else (format,)
        return self._call(name, *args, strict=strict)
