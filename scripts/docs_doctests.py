"""For the API reference: examples in docstrings (`>>>`) become code blocks, wherever in the docstring they stand."""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    """A docstring with a fence around each example, from its first `>>>` to the next empty line."""
    lines: list[str] = []
    inside = False
    for line in [*text.split("\n"), ""]:
        if not inside and line.startswith(">>> "):
            inside = True
            lines.append("```pycon")
        elif inside and not line.strip():
            inside = False
            lines.append("```")
        lines.append(line)
    return "\n".join(lines).removesuffix("\n")


class Doctests(griffe.Extension):
    """Rewrites each docstring as it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each module, class, function and attribute."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
