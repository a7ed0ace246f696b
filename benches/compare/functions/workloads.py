"""Functions of rows, each workload described once. The adapters key their `ops` by these names.

functions(n rows): ts instant (ns, whole microseconds, 1950 to 2090), code string of 7 ("K012345"), note string of
  30 to 40 with accents in every fourth, digits string of an integer of 1 to 9 digits, whole i64 in ±2^62, small i64
  0..999,999, real f64 in ±1e9
Each is one new stored column x, or with `filter_` the rows for which it is true."""
WORKLOADS = {
    "contains_short":   "x = code contains '42'",
    "contains_long":    "x = note contains 'river'",
    "contains_regex":   "x = note matches 'r[aeiou]ver.*9'",
    "filter_contains":  "rows[ts, code] where note contains 'river'",
    "starts_with":      "x = code starts with 'K01'",
    "upper":            "x = note in upper case",
    "len_chars":        "x = characters of note",
    "hour":             "x = hour of ts",
    "weekday":          "x = weekday of ts",
    "month":            "x = month of ts",
    "year":             "x = year of ts",
    "truncate_hour":    "x = ts down to the hour",
    "truncate_month":   "x = ts down to the month",
    "int_to_float":     "x = whole as f64",
    "float_to_int":     "x = real as i64",
    "int_to_int32":     "x = small as i32, checked",
    "string_to_int":    "x = digits as i64",
    "int_to_string":    "x = small as string",
    "string_to_float":  "x = digits as f64",
}
