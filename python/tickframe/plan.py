"""What a table was asked to be, and how it is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.display import figures

if TYPE_CHECKING:
    from tickframe import _native

__all__ = ["Plan"]

_DEEPEST_INDENT = 64


class Plan:
    """What a table was asked to be. Two are equal if they ask the same of the same sources."""

    __slots__ = ("_fingerprint", "_text")

    def __init__(self, native: _native.Table) -> None:
        self._fingerprint = native.fingerprint
        self._text = native.label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._fingerprint == other._fingerprint

    def __hash__(self) -> int:
        return hash(self._fingerprint)

    def __repr__(self) -> str:
        return f"<Plan {self._text}>"


def explained(table: _native.Table) -> str:
    """The operation of a table and those below it, one a line; see `Table.explain`."""
    lines: list[str] = []
    seen: set[int] = set()
    # A list, not recursion: a chain may be thousands of operations long.
    waiting = [(table, 0)]
    while waiting:
        native, depth = waiting.pop()
        indent = "  " * min(depth, _DEEPEST_INDENT)
        again = native.identity in seen
        seen.add(native.identity)
        failed = " · failed" if native.is_live and native.failure() is not None else ""
        shown = " (above)" if again else f" · {figures(*native.figures())}{failed}"
        lines.append(indent + native.label + shown)
        if not again:
            lines.extend(f"{indent}| {how}" for how in native.expressions())
            waiting.extend((below, depth + 1) for below in reversed(native.inputs()))
    return "\n".join(lines)
