"""tickframe, fed as most users feed it: `append_table` where rows are only appended, `keyed_table`
(keyed by `id`, or by what identifies a row) where they change."""
import time

import tickframe as tf
from tickframe_adapter import TYPES, check, pipeline


class Adapter:
    name, version, jit = "tickframe-sources", tf.__version__, False

    def offers(self, p, change):
        return p not in ("ema", "dag20", "wide200")

    def open(self, sc):
        self.graph = tf.Graph(period=0, threads=2, init_threads=2)
        self.tables, self.keys, self.model = {}, {}, sc.tables
        for t, m in sc.tables.items():
            cols = dict(m.frame())
            schema = {c: TYPES[a.dtype.name] for c, a in cols.items()}
            if sc.append_only(t):
                self.tables[t] = tf.append_table(schema, graph=self.graph)
                self.tables[t].append(cols)
                continue
            self.keys[t] = {"main": "id", "right": "k100k", "quotes": "ts", "other": "no", "half": "id"}[t]
            self.tables[t] = tf.keyed_table(schema, key=[self.keys[t]], graph=self.graph)
            self.tables[t].upsert(cols)
        self.graph.step()

    def build(self, p):
        self.out, self.extra = pipeline(p, self.tables)

    def stage(self, sc, batch):
        staged = []
        for t, b in batch.items():
            table, cols = self.tables[t], self.model[t].cols
            if "delete" in b:
                staged.append((table.delete, tf.table({self.keys[t]: cols[self.keys[t]][b["delete"]]})))
            if "add" in b:
                staged.append((table.append if t not in self.keys else table.upsert, tf.table(b["add"])))
            if "mod" in b:
                rows = {c: a[b["mod"][0]] for c, a in cols.items()}
                staged.append((table.upsert, tf.table(rows)))
        return staged

    def cycle(self, staged):
        t0 = time.perf_counter()
        if len(staged) == 1:
            staged[0][0](staged[0][1])
        else:
            with self.graph.transaction():
                for call, data in staged:
                    call(data)
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
