"""What is told to the logger ``tickframe``, and where it is seen while nobody has configured logging.

Failures of tables, listeners and feeds have no caller who could be told. They go to the logger; unless it or the
root logger has a handler, they are written to standard error, as Python does with warnings.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback

__all__: list[str] = []

logger = logging.getLogger("tickframe")
_LONGEST = 200


class _Unconfigured(logging.Handler):
    """Writes warnings and errors to standard error as long as no other handler would get them."""

    def emit(self, record: logging.LogRecord) -> None:
        if self._has_others(record.name):
            return
        stream = sys.stderr
        # A program without a console has none.
        if stream is None:
            return
        try:
            stream.write(f"tickframe: {self.format(record)}\n")
            stream.flush()
        except Exception:  # noqa: BLE001 - a stream may be anything
            self.handleError(record)

    def _has_others(self, name: str) -> bool:
        at: logging.Logger | None = logging.getLogger(name)
        while at is not None:
            if any(handler is not self for handler in at.handlers):
                return True
            at = at.parent if at.propagate else None
        return False


def set_up() -> None:
    """Once, at import: the logger is heard even if nobody configures logging."""
    if not any(isinstance(handler, _Unconfigured) for handler in logger.handlers):
        logger.addHandler(_Unconfigured(logging.WARNING))


def report(level: int, text: str, raised: BaseException | None = None) -> None:
    """Log something with nobody to raise it to. Nothing that it meets on its way comes back."""
    try:
        if raised is not None and not _has_traceback(raised):
            text, raised = f"{text} (its traceback cannot be shown)", None
        logger.log(level, "%s", text, exc_info=raised)
    except BaseException:  # noqa: BLE001 - a handler of the user's, or memory: there is nobody else to tell
        with contextlib.suppress(BaseException):
            sys.stderr.write(f"tickframe: {text}\n")


def _has_traceback(raised: BaseException) -> bool:
    try:
        traceback.format_exception(raised)
    except BaseException:  # noqa: BLE001 - an exception may have any method
        return False
    return True


def described(raised: BaseException) -> str:
    """``ValueError: what it says``, also of one that cannot say it."""
    try:
        text = str(raised)
    except BaseException:  # noqa: BLE001 - an exception may have any method
        text = "(it cannot be shown)"
    name = type(raised).__name__
    return f"{name}: {_shortened(text)}" if text else name


def named(fn: object) -> str:
    """A function by its name, anything else as it shows itself, if it can."""
    try:
        name = getattr(fn, "__qualname__", None)
        return _shortened(name if isinstance(name, str) else repr(fn))
    except BaseException:  # noqa: BLE001 - an object may have any method
        return f"a {type(fn).__name__}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
