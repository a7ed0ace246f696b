"""Writes docs/wire.md: the messages that the server reads and writes, as a protocol buffer text and a flatbuffer text.

They are declared with the code that reads them, in `crates/flight` and `crates/barrage`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "wire.md"
SOURCES = {
    "Flight, sessions, objects": "proto.rs",
    "Tables": "tables/messages.rs",
    "Aggregations and running values": "tables/specs.rs",
    "Structured filters": "tables/conditions.rs",
    "Files that clients keep": "storage/messages.rs",
}
#: A message, or the fields of which one is given.
DECLARED = re.compile(
    r"^((?:///[^\n]*\n)*)#\[derive\([^\n]*\b(Message|Oneof)\)\]\npub\S* (?:struct|enum) (\w+) \{(\}|.*?^\})$",
    re.MULTILINE | re.DOTALL,
)
FIELD = re.compile(
    r"((?:\s*///[^\n]*\n)*)\s*#\[prost\(([^]]*?)\)\]\n\s*(?:pub\S* )?(\w+)(?:: (?P<type>[^\n]+),|\((?P<of>[^\n]+)\),)",
    re.DOTALL,
)


def words(comment: str) -> list[str]:
    """The lines of a comment."""
    return [line.strip().removeprefix("///").strip() for line in comment.strip().splitlines()]


def type_of(rust: str) -> str:
    """The message behind a type of Rust."""
    for outer in ("Option<", "Vec<", "Box<"):
        while rust.startswith(outer):
            rust = rust[len(outer) : -1]
    return rust.rsplit("::", 1)[-1]


def snake(name: str) -> str:
    """A variant's name as that of a field."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def field(options: str, name: str, rust: str) -> str:
    """One field, as a text of protocol buffers has it."""
    number = re.search(r'tag = "(\d+)"', options)
    kind = options.split(",", maxsplit=1)[0].split("=", maxsplit=1)[0].strip()
    if kind == "map":
        key, value = re.findall(r'"(\w+), (\w+)"', options)[0]
        value = type_of(rust.split(",", 1)[1].strip(" >")) if value == "message" else value
        kind = f"map<{key}, {value}>"
    elif kind == "message":
        kind = type_of(rust)
    rule = "repeated " if "repeated" in options else "optional " if "optional" in options and kind[0].islower() else ""
    return f"{rule}{kind} {name} = {number.group(1) if number else '?'};"


def messages(file: str) -> list[str]:
    """All messages of a file, each with the fields of which one is given inside."""
    text = (ROOT / "crates/flight/src" / file).read_text(encoding="utf-8")
    text = text.split("#[cfg(test)]")[0]
    found = {name: (words(comment), kind, body) for comment, kind, name, body in DECLARED.findall(text)}
    lines: list[str] = []
    for name, (comment, kind, body) in found.items():
        if kind == "Oneof":
            continue
        lines += [f"// {line}" for line in comment]
        fields = []
        for said, options, own, rust, _ in FIELD.findall(body):
            fields += [f"  // {line}" for line in words(said)]
            if not options.strip().startswith("oneof"):
                fields.append("  " + field(options, own, rust))
                continue
            fields.append(f"  oneof {own} {{")
            for inner, more, variant, _, of in FIELD.findall(found[type_of(rust)][2]):
                fields += [f"    // {line}" for line in words(inner)]
                fields.append("    " + field(more, snake(variant), of))
            fields.append("  }")
        lines += [f"message {name} {{", *fields, "}", ""] if fields else [f"message {name} {{}}", ""]
    return lines


def services() -> list[str]:
    """Each service with its calls."""
    text = (ROOT / "crates/flight/src/calls.rs").read_text(encoding="utf-8")
    names = dict(re.findall(r'const (\w+): &str = "([\w.]+)";', text))
    lines: list[str] = []
    for constant, name in names.items():
        calls = re.findall(rf'\({constant}, "(\w+)", [^,]+(?:\(\d+\))?, (true|false)\)', text)
        open_ = [f"`{call}`" for call, before in calls if before == "true"]
        lines += [f"**`{name}`**: " + ", ".join(f"`{call}`" for call, _ in calls) + "."]
        lines += [f"Before a login: {', '.join(open_)}.", ""] if open_ else [""]
    return lines


def page() -> str:
    """The whole page."""
    lines = [
        "<!-- Written by scripts/wire_page.py; a test compares the two. -->",
        "# The wire",
        "",
        "What the [server](server.md) reads and writes, for those who write clients. Calls are gRPC over HTTP/2, or gRPC-web; bodies of rows are",
        "Arrow's. Numbers of fields and services are those of Arrow Flight and of Deephaven's Core API 42.7; names of messages and fields are this",
        "project's own, since names do not travel. Of each message as many fields stand here as are read or written; others are passed over.",
        "",
        "**Consistency is per table.** Each read, and each update of a subscription, is of one settled step of the table's graph; it says of which",
        "(`last_seq`). Two tables that are read or followed by two calls may be of two steps.",
        "",
        "## Calls",
        "",
        *services(),
        "## Messages",
        "",
    ]
    for heading, file in SOURCES.items():
        lines += [f"### {heading}", "", "```proto", 'syntax = "proto3";', "", *messages(file)]
        lines[-1:] = ["```", ""]
    lines += [
        "## Metadata of Barrage",
        "",
        "It stands in `app_metadata` of Flight's messages, beside the cells of a record batch.",
        "",
        "```text",
        (ROOT / "crates/barrage/barrage.fbs").read_text(encoding="utf-8").strip(),
        "```",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")
