"""Every exception tickframe raises, each also a built-in class a caller may already catch.

Errors of *construction* (an unknown column, a filter that is not Boolean) are raised at the call.
Errors of *updates* fail the table they happen in, and are raised as `TableFailedError` by whatever uses
that table later. A wrong plain argument (``n=-1``) is Python's own ``ValueError`` or ``TypeError``.

All of them pickle, because Spark workers raise them in another process.
"""

from __future__ import annotations

import builtins
import concurrent.futures

__all__ = [
    "AuthError",
    "CancelledError",
    "CheckpointError",
    "ColumnNotFoundError",
    "DataError",
    "DuplicateError",
    "FormulaError",
    "GapError",
    "InternalError",
    "InvalidOperationError",
    "MatchError",
    "MissingFileError",
    "NotFoundError",
    "PermissionDeniedError",
    "ResourceError",
    "SchemaError",
    "StorageError",
    "TableFailedError",
    "TickframeError",
    "TimeoutError",
    "TransportError",
    "TypeMismatchError",
    "UdfError",
]


_LONGEST = 3800
"""Characters of a message: it is read by a person, and may hold what the user gave."""


def _cut(message: str) -> str:
    """A message that fits a screen or two: what stands in the middle of a longer one is left out."""
    left_out = len(message) - _LONGEST
    if left_out <= 0:
        return message
    end = _LONGEST // 4
    return f"{message[: _LONGEST - end]} … ({left_out} characters left out) … {message[-end:]}"


class TickframeError(Exception):
    """The base of every error of this package.

    >>> import tickframe as tf
    >>> try:
    ...     tf.table({"x": [1]}).sort("y")
    ... except tf.errors.TickframeError as error:
    ...     caught = type(error).__name__
    >>> caught
    'ColumnNotFoundError'

    Args:
        message: the whole text; it names the operation and the column.
        **facts: what the class carries beside its text, kept as attributes of the same name.
    """

    def __init__(self, message: str = "", **facts: object) -> None:
        super().__init__(_cut(message) if type(message) is str else message)
        self.__dict__.update(facts)

    def __str__(self) -> str:
        """The message itself: a ``KeyError`` would put it in quotes."""
        return str(self.args[0]) if self.args else ""


class ColumnNotFoundError(TickframeError, KeyError):
    """A name that is no column. The message lists the valid names, the nearest first."""

    column: str
    """The name that was asked for."""
    columns: list[str]
    """The names that exist."""


class SchemaError(TickframeError):
    """Schemas that do not fit: a column is missing, extra, of another length, or changed its type.

    >>> import tickframe as tf
    >>> tf.concat([tf.table({"x": [1]}), tf.table({"y": [1]})])
    Traceback (most recent call last):
        ...
    tickframe.errors.SchemaError: concat: table 1 has a column "y" that table 0 has not
    """


class DuplicateError(SchemaError):
    """A column name would be produced twice.

    >>> import tickframe as tf
    >>> tf.table({"x": [1], "y": [2]}).select(tf.col("x"), tf.col("y").alias("x"))
    Traceback (most recent call last):
        ...
    tickframe.errors.DuplicateError: select: column "x" would appear twice; rename one of them (alias, suffix, "New = Old")
    """


class TypeMismatchError(TickframeError, TypeError):
    """Types that do not fit: ``str + int``, a filter that is not Boolean, an unsafe widening.

    >>> import tickframe as tf
    >>> tf.table({"name": ["A"]}).with_columns(n=tf.col("name") + 1)
    Traceback (most recent call last):
        ...
    tickframe.errors.TypeMismatchError: with_columns: + does not take String and Int64: cast one side, e.g. .cast(String) or .cast(Int64)
    """


class FormulaError(TickframeError, ValueError):
    """An expression or formula that cannot be understood, bound or kept up to date."""

    text: str
    """The whole formula, as the user wrote it."""
    span: tuple[int, int]
    """First character and end of the place that is wrong."""


class InvalidOperationError(TickframeError, RuntimeError):
    """A legal call at the wrong place: waiting under ``frozen()``, inputs of two graphs."""


class DataError(TickframeError, ValueError):
    """Data that cannot be taken: a strict cast, lost precision, a row key that is not there."""


class MatchError(DataError):
    """A join that promises one match per row met another number of them. Names the key.

    >>> import tickframe as tf
    >>> left, right = tf.table({"k": [1]}), tf.table({"k": [1, 1], "y": [2, 3]})
    >>> left.natural_join(right, on="k")
    Traceback (most recent call last):
        ...
    tickframe.errors.MatchError: natural_join: the key (1) has several rows in the right table; a natural join takes at most one (use multiple="first" or "last", or on_error)
    """


class UdfError(TickframeError, RuntimeError):
    """A user's function raised. Its own exception is ``__cause__``.

    >>> import tickframe as tf
    >>> def inverse(x: int) -> float:
    ...     return 1 / x
    >>> try:
    ...     tf.table({"x": [0]}).select(y=tf.udf(inverse)("x"))
    ... except tf.errors.UdfError as error:
    ...     cause = error.__cause__
    >>> cause
    ZeroDivisionError('division by zero')
    """


class TableFailedError(TickframeError, RuntimeError):
    """A table failed in an earlier step, or depends on one that did. ``__cause__`` is the root error."""

    step: int
    """The step in which it failed."""
    culprit: str
    """The operation that failed first, as the user called it."""
    formula: str | None
    """The expression of that operation, if it has one."""
    created: str
    """The user's own lines that made that operation, outermost call first, as a traceback shows them."""


class ResourceError(TickframeError, MemoryError):
    """A budget or a key space would be exceeded. Names the limit and the need."""


class NotFoundError(TickframeError, KeyError):
    """A table or ticket that is unknown or released.

    >>> import tickframe as tf
    >>> with tf.serve({"t": tf.table({"x": [1]})}) as srv, tf.connect(srv.url, token=srv.token) as far:
    ...     try:
    ...         far.table("prices")
    ...     except tf.errors.NotFoundError:
    ...         found = far.tables()
    >>> found
    ['t']
    """


class TransportError(TickframeError, ConnectionError):
    """The peer is lost, or does not speak the protocol.

    >>> import tickframe as tf
    >>> with tf.serve({}, token="secret") as srv:
    ...     url = srv.url
    >>> try:
    ...     tf.connect(url, token="secret")
    ... except tf.errors.TransportError as error:
    ...     lost = isinstance(error, ConnectionError)
    >>> lost
    True
    """


class AuthError(TickframeError, PermissionError):
    """No token, or a wrong one.

    >>> import tickframe as tf
    >>> with tf.serve({}) as srv:
    ...     try:
    ...         tf.connect(srv.url, token="wrong")
    ...     except tf.errors.AuthError as error:
    ...         refused = isinstance(error, PermissionError)
    >>> refused
    True
    """


class PermissionDeniedError(TickframeError, PermissionError):
    """The token is right, the call is not allowed to it.

    >>> import tickframe as tf
    >>> issubclass(tf.errors.PermissionDeniedError, PermissionError)
    True
    """


class TimeoutError(TickframeError, builtins.TimeoutError):
    """A ``wait(timeout)`` ran out of time."""


class CancelledError(TickframeError, concurrent.futures.CancelledError):
    """What was waited for will never come: its transaction was rolled back, its source closed."""


class CheckpointError(TickframeError, RuntimeError):
    """A checkpoint that cannot be read, or is of a newer format.

    >>> import tickframe as tf
    >>> issubclass(tf.errors.GapError, tf.errors.CheckpointError)
    True
    """


class GapError(CheckpointError):
    """Batches are missing between what a stream sends and what the table has seen."""


class StorageError(TickframeError, OSError):
    """The disk is full, or fails. Nothing that was acknowledged is lost; `filename` says where.

    >>> import tickframe as tf
    >>> try:
    ...     tf.read_csv("nowhere.csv")
    ... except tf.errors.StorageError as error:
    ...     is_one_of_the_system = isinstance(error, OSError)
    >>> is_one_of_the_system
    True
    """


class MissingFileError(StorageError, FileNotFoundError):
    """A file or directory that is not there; `filename` says which.

    >>> import tickframe as tf
    >>> try:
    ...     tf.read_csv("nowhere.csv")
    ... except tf.errors.MissingFileError as error:
    ...     name = error.filename
    >>> name
    'nowhere.csv'
    """


class InternalError(TickframeError):
    """A mistake of tickframe itself, caught at the border. Please report it with the text.

    >>> import tickframe as tf
    >>> issubclass(tf.errors.InternalError, tf.errors.TickframeError)
    True
    """
