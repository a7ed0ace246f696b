"""tickframe, fed by row key through its Python API (`input_table`): the like of Deephaven's adapter,
which is fed inside its own JVM. Latency: from handing over the batch until `step` has returned."""
import time

import checks
import tickframe as tf
import tickframe.update_by as ub
import workloads as W

TYPES = {"int64": "int64", "int32": "int32", "float64": "float64"}


class Adapter:
    name, version, jit = "tickframe", tf.__version__, False

    def offers(self, p, change):
        return True

    def open(self, sc):
        self.graph = tf.Graph(period=0, threads=2, init_threads=2)
        self.tables, self.next = {}, {}
        for t, m in sc.tables.items():
            cols = m.frame()
            self.tables[t] = tf.input_table({c: TYPES[a.dtype.name] for c, a in cols.items()}, graph=self.graph)
            self.tables[t].apply(added=(tf.RowSet([(0, m.n - 1)]), cols))
            self.next[t] = m.n
        self.graph.step()

    def build(self, p):
        self.out, self.extra = pipeline(p, self.tables)

    def stage(self, sc, batch):
        """The batch in the engine's own form: row sets and Arrow tables."""
        staged = []
        for t, b in batch.items():
            call = {}
            if "add" in b:
                n = len(next(iter(b["add"].values())))
                call["added"] = (tf.RowSet([(self.next[t], self.next[t] + n - 1)]), tf.table(b["add"]))
                self.next[t] += n
            if "mod" in b:
                at, cols = b["mod"]
                call["modified"] = (tf.RowSet(at), tf.table(cols))
            if "delete" in b:
                call["removed"] = tf.RowSet(b["delete"])
            staged.append((self.tables[t], call))
        return staged

    def cycle(self, staged):
        t0 = time.perf_counter()
        if len(staged) == 1:
            table, call = staged[0]
            table.apply(**call)
        else:
            with self.graph.transaction():
                for table, call in staged:
                    table.apply(**call)
        t1 = time.perf_counter()
        self.graph.step()
        t2 = time.perf_counter()
        return t2 - t0, t2 - t1

    def check(self, p):
        return check(self.out, self.extra, p)

    def drop(self):
        self.out = self.extra = None
        self.tables = {}
        self.graph = None

    def close(self):
        pass


def pipeline(p, tables):
    m, c = tables["main"], tf.col
    if p == "source":
        return m, []
    if p == "where":
        return m.filter(c("v") > 0.5), []
    if p == "update":
        return m.with_columns((c("v") * c("q") + c("w")).alias("x")), []
    if p == "wus":
        a = m.filter(c("v") > 0.5)
        b = a.with_columns((c("v") * c("q")).alias("x"))
        return b.group_by("g").agg(c("x").sum()), [a, b]
    if p == "sort":
        return m.select("v", "id").sort("v"), []
    if p == "join":
        return m.natural_join(tables["right"], on="k100k", joins="r1"), []
    if p == "aj":
        return m.join_asof(tables["quotes"].select("g", "ts", "bid"), on="ts", by="g"), []
    if p == "last_by":
        return m.select("k100k", "v", "q").last_by("k100k"), []
    if p == "ema":
        return m.update_by(ub.ema_tick(10, "x = v"), by="g"), []
    if p == "rolling":
        return m.update_by(ub.rolling_sum_tick("x = v", rev_ticks=100), by="g"), []
    if p == "rollmax":
        return m.update_by(ub.rolling_max_tick("x = v", rev_ticks=100), by="g"), []
    if p == "cum":
        return m.update_by(ub.cum_sum("x = v"), by="g"), []
    if p in ("rolltime", "ematime"):
        timed = m.update_view(c("ts").cast(tf.Datetime("ns")).alias("t"))
        of = ub.rolling_avg_time("t", "x = v", rev_time="1s") if p == "rolltime" else ub.ema_time("t", "1s", "x = v")
        return timed.update_by(of, by="g").drop("t"), [timed]
    if p == "dag20":
        ws = [m.filter(c("v") > i / 10) for i in range(9)]
        us = [w.with_columns((c("v") * float(i) + c("q")).alias("x")) for i, w in enumerate(ws)]
        stacked = tf.concat([u.select("g", "x") for u in us])
        return stacked.group_by("g").agg(c("x").sum()), [*ws, *us, stacked]
    if p == "wide200":
        return None, [m.filter((c("k100k") >= i * 500) & (c("k100k") < (i + 1) * 500)) for i in range(200)]
    if p in ("inner", "left", "full"):
        return m.join(tables["other"], left_on="id", right_on="oid", how=p), []
    if p == "multi":
        return tf.multi_join([m.select("id", "v"), tables["half"]], on="id"), []
    if p == "range":
        ranges = m.with_columns((c("ts") - W.RANGE).alias("lo"))
        of = [c("bid").sum().alias("s"), tf.len().alias("n")]
        return ranges.range_join(tables["quotes"], "g, lo <= ts <= ts", of), [ranges]
    if p == "join_where":
        near = m.with_columns((c("ts") - W.NEAR).alias("lo"))
        pairs = [c("g") == c("g_right"), c("ts_right") <= c("ts"), c("ts_right") > c("lo")]
        return near.join_where(tables["quotes"], *pairs), [near]
    if p == "explode":
        lists = m.select("k100k", "v").group_by("k100k").agg(c("v").implode())
        return lists.explode("v"), [lists]
    if p == "reverse":
        return m.select("v", "id").reverse(), []
    if p == "top_k":
        return m.select("v", "id").top_k(100, by="v"), []
    raise KeyError(p)


def check(out, extra, p):
    if p == "wide200":
        return sum(len(t) for t in extra), {}
    return len(out), checks.of_arrow(out.to_arrow(), W.ORDERS.get(p))
