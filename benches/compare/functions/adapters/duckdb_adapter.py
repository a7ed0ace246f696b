import os
import duckdb
import pyarrow.feather as feather


class Adapter:
    """A native in-memory table, whose instants are DuckDB's own (microseconds); each result is a TEMP TABLE r."""
    name, version, warmup = "duckdb", duckdb.__version__, 1

    def load(self, d):
        self.db = db = duckdb.connect()
        db.execute(f"SET threads={os.environ.get('BENCH_THREADS', '2')}")
        db.execute("SET memory_limit='14GB'")
        arrow = feather.read_table(os.path.join(d, "functions.arrow"))
        db.execute("CREATE TABLE t AS SELECT * REPLACE (ts::TIMESTAMP AS ts) FROM arrow")
        x = lambda sql: (lambda: db.execute(f"CREATE OR REPLACE TEMP TABLE r AS SELECT {sql} x FROM t"))
        self.ops = {
            "contains_short": x("contains(code, '42')"),
            "contains_long": x("contains(note, 'river')"),
            "contains_regex": x("regexp_matches(note, 'r[aeiou]ver.*9')"),
            "filter_contains": lambda: db.execute("CREATE OR REPLACE TEMP TABLE r AS SELECT ts, code FROM t WHERE contains(note, 'river')"),
            "starts_with": x("starts_with(code, 'K01')"),
            "upper": x("upper(note)"),
            "len_chars": x("length(note)"),
            "hour": x("hour(ts)"), "weekday": x("isodow(ts)"), "month": x("month(ts)"), "year": x("year(ts)"),
            "truncate_hour": x("date_trunc('hour', ts)"),
            "truncate_month": x("date_trunc('month', ts)::TIMESTAMP"),
            "int_to_float": x("whole::DOUBLE"),
            "float_to_int": x("trunc(real)::BIGINT"),
            "int_to_int32": x("small::INTEGER"),
            "string_to_int": x("digits::BIGINT"),
            "int_to_string": x("small::VARCHAR"),
            "string_to_float": x("digits::DOUBLE"),
        }

    def check(self, w, r):
        name = "ts" if w.startswith("filter") else "x"
        kind = dict(self.db.execute("SELECT column_name, column_type FROM (DESCRIBE r)").fetchall())[name]
        read = {"VARCHAR": f"strlen({name})", "TIMESTAMP": f"epoch_us({name}) // 1000000"}.get(kind, name)
        n, s = self.db.execute(f"SELECT count(*), sum({read}::DOUBLE) FROM r").fetchone()
        self.db.execute("DROP TABLE r")
        return n, float(s)

    def close(self):
        self.db.close()
