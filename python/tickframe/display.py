"""Tables as text and as HTML, in polars' shape: ``shape: (n, m)``, names, ``---``, types, rows."""

from __future__ import annotations

import html
import unicodedata
from typing import TYPE_CHECKING, Any

from tickframe.config import setting
from tickframe.errors import TableFailedError

if TYPE_CHECKING:
    from tickframe.column import Column
    from tickframe.dtypes import DataType
    from tickframe.table import Table

__all__ = ["as_html", "as_text", "column_text", "glimpse_text"]


def _cell(value: Any, limit: int) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = f"{value:.6g}" if value == 0 or 1e-4 <= abs(value) < 1e7 else f"{value:.6e}"
        text = repr(value) if len(repr(value)) <= len(text) + 2 else text
    elif isinstance(value, (list, dict, bytes)):
        text = repr(value)
    else:
        text = str(value)
    return _cut(text, limit)


def _cut(text: str, limit: int) -> str:
    """At most `limit` characters wide, control characters as they are written in Python."""
    if not text.isprintable():
        text = "".join(
            each if each.isprintable() or each in _JOINERS else repr(each)[1:-1] for each in text[: limit + 1]
        )
    if _width(text) <= limit:
        return text
    kept, width = [], 0
    for each in text:
        width += _width(each)
        if width >= limit:
            break
        kept.append(each)
    return "".join(kept) + "…"


_JOINERS = "\u200d"
"""What makes one sign of several emoji."""


def _width(text: str) -> int:
    """The columns of a terminal that a text takes: signs of CJK and emoji two, marks on other signs none."""
    if text.isascii():
        return len(text)
    marks = {"Mn", "Me", "Cf"}
    signs = (each for each in text if unicodedata.category(each) not in marks)
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in signs)


def _window(count: int, most: int) -> tuple[list[int], int | None]:
    """Which of `count` columns are shown, and where the gap is."""
    if count <= most:
        return list(range(count)), None
    first = (most + 1) // 2
    return [*range(first), *range(count - (most - first), count)], first


def _fitting(texts: list[list[str]], most: int) -> int:
    """How many of these columns, from both ends, a line of so many characters has room for; at least one."""
    widths = [max(_width(text) for text in column) + 3 for column in texts]
    if sum(widths) + 1 <= most:
        return len(widths)
    kept, room = 0, most - 1 - 4
    while kept < len(widths):
        chosen, _ = _window(len(widths), kept + 1)
        if sum(widths[at] for at in chosen) > room:
            break
        kept += 1
    return max(kept, 1)


def _shown(table: Table) -> tuple[int, list[tuple[str, DataType, list[str]]], int | None, int | None]:
    most_rows: int = setting("rows")
    limit: int = setting("cell")
    names, types = table.columns, table.dtypes
    columns, column_gap = _window(len(names), setting("columns"))
    first = (most_rows + 1) // 2
    size, cells = table._native.peek(columns, first, most_rows - first)
    row_gap = first if size > most_rows else None
    shown = [
        (names[at], types[at], [_cell(value, limit) for value in column])
        for at, column in zip(columns, cells, strict=True)
    ]
    return size, shown, row_gap, column_gap


def _state(table: Table) -> str | None:
    """The one line that a live table adds: what it is, its step, whether it failed."""
    if not table.is_live:
        return None
    failure = table._native.failure()
    held = table.attributes
    kinds = [name.replace("_", "-") for name in ("blink", "append_only", "add_only") if held.get(name)]
    kind = kinds[0] if kinds else "keyed" if "key" in held else "live"
    step = table.graph.settled if table.graph is not None else 0
    text = f"{kind} · {table._native.label} · step {step}"
    return f"{text} · failed in step {failure.step}" if isinstance(failure, TableFailedError) else text


def as_text(table: Table) -> str:
    """The box that ``repr`` and ``print`` show."""
    state = _state(table)
    failure = table._native.failure() if table.is_live else None
    if failure is not None:
        return f"{state}\n{failure}"
    size, columns, row_gap, column_gap = _shown(table)
    lines = [f"shape: ({size}, {len(table.columns)})"]
    if state is not None:
        lines.append(state)
    if not columns:
        return "\n".join(lines)
    limit: int = setting("cell")
    stacks = [[_cut(name, limit), "---", _cut(repr(kind), limit), *cells] for name, kind, cells in columns]
    kept = _fitting(stacks, setting("width"))
    if kept < len(stacks):
        chosen, column_gap = _window(len(stacks), kept)
        stacks = [stacks[at] for at in chosen]
    if row_gap is not None:
        for stack in stacks:
            stack.insert(3 + row_gap, "…")
    if column_gap is not None:
        stacks.insert(column_gap, ["…"] * len(stacks[0]))
    widths = [max(_width(text) for text in stack) for stack in stacks]

    def rule(left: str, fill: str, cross: str, right: str) -> str:
        return left + cross.join(fill * (width + 2) for width in widths) + right

    def line(at: int) -> str:
        cells = (stack[at] + " " * (width - _width(stack[at])) for stack, width in zip(stacks, widths, strict=True))
        return "│" + "┆".join(f" {cell} " for cell in cells) + "│"

    lines.append(rule("┌", "─", "┬", "┐"))
    lines.extend(line(at) for at in range(3))
    lines.append(rule("╞", "═", "╪", "╡"))
    lines.extend(line(at) for at in range(3, len(stacks[0])))
    lines.append(rule("└", "─", "┴", "┘"))
    return "\n".join(lines)


def column_text(column: Column) -> str:
    """What ``repr`` of a column shows, in polars' shape."""
    most, size, limit = setting("rows"), len(column), setting("cell")
    first = (most + 1) // 2
    native = column._native
    cells = (
        native.shown()
        if size <= most
        else [*native.slice(0, first).shown(), *native.slice(size - most + first, most).shown()]
    )
    lines = [f"    {_cell(cell, limit)}" for cell in cells]
    if size > most:
        lines.insert(first, "    …")
    body = "\n".join(["[", *lines, "]"])
    return f"shape: ({size},)\nColumn: {column.name!r} [{column.dtype!r}]\n{body}"


def glimpse_text(table: Table, cells: int, longest: int) -> str:
    """The rows and columns, and a line a column with its first cells."""
    names, types = table.columns, table.dtypes
    size, columns = table._native.peek(list(range(len(names))), cells, 0)
    heads = [_cut(name, longest) for name in names]
    kinds = [f"<{kind!r}>" for kind in types]
    wide = max(map(_width, heads), default=0)
    broad = max(map(_width, kinds), default=0)
    lines = [f"Rows: {size}", f"Columns: {len(names)}"]
    for head, kind, column in zip(heads, kinds, columns, strict=True):
        shown = ", ".join(repr(cell) if isinstance(cell, str) else _cell(cell, setting("cell")) for cell in column)
        lines.append(f"$ {head}{' ' * (wide - _width(head))} {kind}{' ' * (broad - _width(kind))} {shown}".rstrip())
    return "\n".join(lines)


def as_html(table: Table) -> str:
    """What Jupyter shows."""
    state = _state(table)
    failure = table._native.failure() if table.is_live else None
    if failure is not None:
        return f"<small>{html.escape(str(state))}</small><pre>{html.escape(str(failure))}</pre>"
    size, columns, row_gap, column_gap = _shown(table)
    heads = [f"<th>{html.escape(name)}<br><small>{html.escape(repr(kind))}</small></th>" for name, kind, _ in columns]
    rows = [
        [f"<td>{html.escape(cells[at])}</td>" for _, _, cells in columns]
        for at in range(len(columns[0][2]) if columns else 0)
    ]
    if column_gap is not None:
        heads.insert(column_gap, "<th>…</th>")
        for row in rows:
            row.insert(column_gap, "<td>…</td>")
    if row_gap is not None:
        rows.insert(row_gap, ["<td>…</td>"] * len(heads))
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    extra = "" if state is None else f"<br><small>{html.escape(state)}</small>"
    return (
        f"<small>shape: ({size}, {len(table.columns)})</small>{extra}"
        f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>{body}</tbody></table>"
    )


def figures(rows: int, size: int, entries: int) -> str:
    """What a node of the graph holds: its rows, the bytes of its own, the entries of its state."""
    parts = [f"{rows:,} row" if rows == 1 else f"{rows:,} rows"]
    if size:
        parts.append(f"{size:,} bytes")
    if entries:
        parts.append(f"{entries:,} entries")
    return ", ".join(parts)
