"""Objects in the words of a message: what something is, and its `repr`, cut."""

from __future__ import annotations

import reprlib
import types
from typing import Any

__all__ = ["named", "short"]

_LIBRARIES = {"polars": "polars", "pandas": "pandas", "pyarrow": "pyarrow", "numpy": "NumPy", "pyspark": "Spark"}


def named(value: object) -> str:
    """What the object is, in words: ``a pandas Series``, ``a function``, ``a list``."""
    kind = type(value)
    if isinstance(value, type):
        return f"the type {value.__name__}"
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, types.GeneratorType):
        return "a generator"
    if isinstance(value, types.FunctionType):
        name = value.__name__
        return "a lambda" if name == "<lambda>" else f"the function {name}"
    library = _LIBRARIES.get(kind.__module__.partition(".")[0])
    if kind.__name__ == "ndarray":
        return "a NumPy array"
    if library is not None:
        return f"a {library} {'expression' if kind.__name__ == 'Expr' else kind.__name__}"
    if kind.__module__.partition(".")[0] == "tickframe":
        return f"a tickframe {kind.__name__}"
    return f"{'an' if kind.__name__[:1].lower() in 'aeiou' else 'a'} {kind.__name__}"


class _Bounded(reprlib.Repr):
    """A `repr` of a bounded part of what containers hold, however deep or long they are, without addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 5
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = self.maxarray = 20
        self.maxstring = self.maxlong = self.maxother = 1 << 10

    def repr_instance(self, x: Any, level: int) -> str:
        text = super().repr_instance(x, level)
        return named(x) if "\n" in text or " at 0x" in text or "..." in text or text.startswith("<") else text


def short(item: object, longest: int = 60) -> str:
    """The `repr` of anything, cut, for a message; what has none of one line is told by its type."""
    try:
        shown = (item[: longest + 8] if len(item) > longest + 8 else item) if isinstance(item, (str, bytes)) else item
        text = _Bounded().repr(shown)
    except Exception:  # noqa: BLE001  # a class of the user may raise anything
        return f"a {type(item).__name__}"
    if "\n" in text or " at 0x" in text:
        return named(item)
    return text if len(text) <= longest else text[:longest] + "…"
