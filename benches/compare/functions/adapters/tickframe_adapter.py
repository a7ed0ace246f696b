import os

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import tickframe as tf

c = tf.col


def total(column):
    """What the answers of all engines are compared by: a sum of numbers, of instants, of lengths and numbers of texts."""
    if pa.types.is_timestamp(column.type):
        return float(pc.sum(pc.divide(column.cast(pa.int64()), 10**9)).as_py())
    if pa.types.is_string(column.type):
        return float(pc.sum(pc.binary_length(column)).as_py())
    return float(pc.sum(column.cast(pa.float64())).as_py())


class Adapter:
    name, version, warmup = "tickframe", tf.__version__, 1

    def load(self, d):
        t = tf.from_arrow(feather.read_table(os.path.join(d, "functions.arrow"), memory_map=False).combine_chunks())
        x = lambda expr: (lambda: t.with_columns(expr.alias("x")))
        part = lambda name: x(getattr(c("ts").dt, name)())
        rows = t.select("ts", "code", "note")
        self.ops = {
            "contains_short": x(c("code").str.contains("42", literal=True)),
            "contains_long": x(c("note").str.contains("river", literal=True)),
            "contains_regex": x(c("note").str.contains("r[aeiou]ver.*9")),
            "filter_contains": lambda: rows.filter(c("note").str.contains("river", literal=True)).select("ts", "code"),
            "starts_with": x(c("code").str.starts_with("K01")),
            "upper": x(c("note").str.to_uppercase()),
            "len_chars": x(c("note").str.len_chars()),
            "hour": part("hour"), "weekday": part("weekday"), "month": part("month"), "year": part("year"),
            "truncate_hour": x(c("ts").dt.truncate("1h")),
            "truncate_month": x(c("ts").dt.truncate("1mo")),
            "int_to_float": x(c("whole").cast(tf.Float64)),
            "float_to_int": x(c("real").cast(tf.Int64)),
            "int_to_int32": x(c("small").cast(tf.Int32)),
            "string_to_int": x(c("digits").cast(tf.Int64)),
            "int_to_string": x(c("small").cast(tf.String)),
            "string_to_float": x(c("digits").cast(tf.Float64)),
        }

    def check(self, w, r):
        return len(r), total(r.to_arrow().column("ts" if w.startswith("filter") else "x"))

    def close(self):
        pass
