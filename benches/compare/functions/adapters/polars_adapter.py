import os
os.environ.setdefault("POLARS_MAX_THREADS", os.environ.get("BENCH_THREADS", "2"))
import polars as pl

c = pl.col


class Adapter:
    """Expressions that polars would run on one thread are left so: it is its own choice."""
    name, version, warmup = "polars", pl.__version__, 1

    def load(self, d):
        t = pl.read_ipc(os.path.join(d, "functions.arrow")).rechunk()
        x = lambda expr: (lambda: t.with_columns(expr.alias("x")))
        part = lambda name: x(getattr(c("ts").dt, name)())
        self.ops = {
            "contains_short": x(c("code").str.contains("42", literal=True)),
            "contains_long": x(c("note").str.contains("river", literal=True)),
            "contains_regex": x(c("note").str.contains("r[aeiou]ver.*9")),
            "filter_contains": lambda: t.lazy().filter(c("note").str.contains("river", literal=True)).select("ts", "code").collect(),
            "starts_with": x(c("code").str.starts_with("K01")),
            "upper": x(c("note").str.to_uppercase()),
            "len_chars": x(c("note").str.len_chars()),
            "hour": part("hour"), "weekday": part("weekday"), "month": part("month"), "year": part("year"),
            "truncate_hour": x(c("ts").dt.truncate("1h")),
            "truncate_month": x(c("ts").dt.truncate("1mo")),
            "int_to_float": x(c("whole").cast(pl.Float64)),
            "float_to_int": x(c("real").cast(pl.Int64)),
            "int_to_int32": x(c("small").cast(pl.Int32)),
            "string_to_int": x(c("digits").cast(pl.Int64)),
            "int_to_string": x(c("small").cast(pl.String)),
            "string_to_float": x(c("digits").cast(pl.Float64)),
        }

    def check(self, w, r):
        x = r["ts" if w.startswith("filter") else "x"]
        if x.dtype == pl.String:
            return r.height, float(x.str.len_bytes().cast(pl.Float64).sum())
        if x.dtype.is_temporal():
            return r.height, float((x.dt.epoch("us") // 1_000_000).sum())
        return r.height, float(x.cast(pl.Float64).sum())

    def close(self):
        pass
