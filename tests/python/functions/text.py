"""Functions of strings and of bytes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from functions.rows import DATA, Rows, p, q, x, y

rows = Rows()
add = rows.add

S, T = x.str, p.str
add("str.len_chars", "text", S.len_chars(), polars=T.len_chars(), pyarrow=pc.utf8_length, duckdb="length(x)")
add("str.len_bytes", "text", S.len_bytes(), polars=T.len_bytes(), pyarrow=pc.binary_length, duckdb="strlen(x)")
add("str.to_lowercase", "text", S.to_lowercase(), polars=T.to_lowercase())
add("str.to_uppercase", "text", S.to_uppercase(), polars=T.to_uppercase())
add("str.to_titlecase", "text", S.to_titlecase(), polars=T.to_titlecase())
add("str.reverse", "text", S.reverse(), pyarrow=pc.utf8_reverse)
for part in ["", "a", "ab", "abc", "\u00e9", "\u0301", "\U00010348", "body", "longer than a view", "\0", "x" * 13, ","]:
    add(
        "str.contains", "text", S.contains(part, literal=True), polars=T.contains(part, literal=True),
        pyarrow=lambda a, part=part: pc.match_substring(a, part),
    )  # fmt: skip
    add(
        "str.starts_with", "text", S.starts_with(part), polars=T.starts_with(part),
        pyarrow=lambda a, part=part: pc.starts_with(a, part),
    )  # fmt: skip
    add(
        "str.ends_with", "text", S.ends_with(part), polars=T.ends_with(part),
        pyarrow=lambda a, part=part: pc.ends_with(a, part),
    )  # fmt: skip
    add("str.strip_prefix", "text", S.strip_prefix(part), polars=T.strip_prefix(part))
    add("str.strip_suffix", "text", S.strip_suffix(part), polars=T.strip_suffix(part))
    add("str.find", "text", S.find(part, literal=True), polars=T.find(part, literal=True))
    add("str.count_matches", "text", S.count_matches(part, literal=True), polars=T.count_matches(part, literal=True))
    add("str.replace", "text", S.replace(part, "<$0>", literal=True), polars=T.replace(part, "<$0>", literal=True))
    add(
        "str.replace_all",
        "text",
        S.replace_all(part, "<$0>", literal=True),
        polars=T.replace_all(part, "<$0>", literal=True),
    )
    if part:
        add(
            "str.split",
            "text",
            S.split(part),
            polars=T.split(part),
            pyarrow=lambda a, part=part: pc.split_pattern(a, part),
        )
add("str.contains", "text*text", S.contains(y, literal=True), polars=T.contains(q, literal=True))
add("str.starts_with", "text*text", S.starts_with(y), polars=T.starts_with(q), duckdb="starts_with(x, y)")
add("str.ends_with", "text*text", S.ends_with(y), polars=T.ends_with(q), duckdb="ends_with(x, y)")
add("str.index_of", "text*text", S.index_of(y), duckdb="instr(x, y) - 1")
for pattern in ["[a-c]+", "^.", "\\s", "(?i)TEXT", "b|d", "\\p{L}", "$", "X(.)"]:
    add("str.contains", "text", S.contains(pattern), polars=T.contains(pattern))
    add("str.find", "text", S.find(pattern), polars=T.find(pattern))
    add("str.count_matches", "text", S.count_matches(pattern), polars=T.count_matches(pattern))
    add("str.extract_all", "text", S.extract_all(pattern), polars=T.extract_all(pattern))
    add("str.extract", "text", S.extract(f"({pattern})"), polars=T.extract(f"({pattern})"))
    add("str.replace", "text", S.replace(pattern, "<$0>"), polars=T.replace(pattern, "<$0>"))
    add("str.replace_all", "text", S.replace_all(pattern, "<$0>"), polars=T.replace_all(pattern, "<$0>"))
add("str.slice", "text*count", S.slice(y), polars=T.slice(q))
add("str.slice", "text*count", S.slice(y, 2), polars=T.slice(q, 2))
add("str.slice", "text", S.slice(-3, 2), polars=T.slice(-3, 2))
add("str.head", "text*count", S.head(y), polars=T.head(q))
add("str.tail", "text*count", S.tail(y), polars=T.tail(q))
for ends, arrow, space in [
    ("strip_chars", pc.utf8_trim, pc.utf8_trim_whitespace),
    ("strip_chars_start", pc.utf8_ltrim, pc.utf8_ltrim_whitespace),
    ("strip_chars_end", pc.utf8_rtrim, pc.utf8_rtrim_whitespace),
]:
    add(f"str.{ends}", "text", getattr(S, ends)(), polars=getattr(T, ends)(), pyarrow=space)
    for set_ in ["a", "ab ", "\u00e9\u00c0", "\U00010348.", "x"]:
        add(
            f"str.{ends}", "text", getattr(S, ends)(set_), polars=getattr(T, ends)(set_),
            pyarrow=lambda a, arrow=arrow, set_=set_: arrow(a, set_),
        )  # fmt: skip
for width in (0, 3, 14):
    add("str.zfill", "numerals", S.zfill(width), polars=T.zfill(width))
    add("str.pad_start", "text", S.pad_start(width, "*"), polars=T.pad_start(width, "*"))
    add(
        "str.pad_end",
        "text",
        S.pad_end(width, "*"),
        polars=T.pad_end(width, "*"),
        pyarrow=lambda a, width=width: pc.utf8_rpad(a, width, "*"),
    )
add("str.to_integer", "numerals", S.to_integer(), polars=T.to_integer())
add("__add__", "text*text", x + y, polars=p + q, duckdb="x || y")

READ_DATES = [None, "2024-02-29", "1969-12-31", "0001-01-01", "9999-12-31", "2023-02-29", "", "x"]
READ_INSTANTS = [
    None,
    "2024-02-29T23:59:59",
    "1969-12-31T23:59:59.999999999",
    "2024-02-29 00:00:00",
    "2023-02-29T00:00:00",
    "",
]
DATA["read_dates"] = {"x": pa.array(READ_DATES)}
DATA["read_instants"] = {"x": pa.array(READ_INSTANTS)}
add("str.to_date", "read_dates", S.to_date(strict=False), polars=T.to_date("%Y-%m-%d", strict=False))
add("str.to_date", "read_dates", S.to_date("%Y-%m-%d", strict=False), polars=T.to_date("%Y-%m-%d", strict=False))
add(
    "str.to_datetime", "read_instants", S.to_datetime(strict=False),
    wanted=[None, 1_709_251_199_000_000_000, -1, 1_709_164_800_000_000_000, None, None],
)  # fmt: skip
add(
    "str.to_datetime", "read_instants", S.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False),
    polars=T.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="ns"),
)  # fmt: skip

B, C = x.bin, p.bin
add("bin.size", "binary", B.size(), polars=C.size(), pyarrow=pc.binary_length, duckdb="octet_length(x)")
for encoding in ("hex", "base64"):
    add("str.encode", "text", S.encode(encoding), polars=T.encode(encoding))
    add("str.decode", "text", S.decode(encoding, strict=False), polars=T.decode(encoding, strict=False))
    add("str.decode", "text", S.encode(encoding).str.decode(encoding), polars=T.encode("hex").str.decode("hex"))
    add("bin.encode", "binary", B.encode(encoding), polars=C.encode(encoding))
    add("bin.decode", "binary", B.decode(encoding, strict=False), polars=C.decode(encoding, strict=False))
    add("bin.decode", "binary", B.encode(encoding).str.decode(encoding).bin.size(), polars=C.size())
SEARCHES = {"contains": pc.match_substring, "starts_with": pc.starts_with, "ends_with": pc.ends_with}
for search, arrow in SEARCHES.items():
    for part in [b"", b"\0", b"\xff", b"ab", b"abcdefghijklm"]:
        add(
            f"bin.{search}",
            "binary",
            getattr(B, search)(part),
            polars=getattr(C, search)(part),
            pyarrow=lambda a, part=part, arrow=arrow: arrow(a, part),
        )
