import os

import checks
import pyarrow.feather as feather
import tickframe as tf
import tickframe.update_by as ub
from workloads import COPIED, ORDERS

c = tf.col
KEYS = ("k100", "k100k", "k1m", "s100", "s100k")
ROLLED = [("sum", "sum"), ("mean", "mean"), ("min", "min"), ("max", "max"), ("std", "std")]

class Adapter:
    name, version, warmup = "tickframe", tf.__version__, 1

    def load(self, d):
        read = lambda n: tf.from_arrow(feather.read_table(os.path.join(d, n + ".arrow"), memory_map=False).combine_chunks())
        m, r, t, q, ones, twins = (read(n) for n in ("main", "right", "trades", "quotes", "ones", "twins"))
        agg = [c("v").sum().alias("sv"), c("w").mean().alias("aw"), c("v").min().alias("mv"), c("q").max().alias("mq")]
        seven = [*agg, c("v").std().alias("dv"), c("q").sum().alias("sq"), c("w").max().alias("mw")]
        gb = lambda *k: (lambda: m.group_by(*k).agg(*agg))
        four = m.select("id", "v", "q", "w", "s100")
        out4 = ["id", "v", "q", "w"]
        js, jt = m.select("k100k", "v"), m.select("s100k", "v")
        vq = m.select("k100k", "v", "q")
        half = r.filter(c("r1") < 0.5)
        total = lambda t, name: t.agg_by(c(name).sum())
        self.ops = {
            "filter_num_50": lambda: four.filter(c("v") > 0.5).select(out4),
            "filter_num_1": lambda: four.filter(c("v") > 0.99).select(out4),
            "filter_str_eq": lambda: four.filter(c("s100") == "S042").select(out4),
            "filter_num_50_sum": lambda: total(m.filter(c("v") > 0.5), "w"),
            "filter_num_1_sum": lambda: total(m.filter(c("v") > 0.99), "w"),
            "derive_arith": lambda: m.with_columns((c("v") * c("q") + c("w")).alias("x")),
            "derive_cond": lambda: m.with_columns(tf.when(c("v") > 0.5).then(c("v") * 2).otherwise(c("w")).alias("x")),
            "gb_k100": gb("k100"), "gb_k100k": gb("k100k"), "gb_k1m": gb("k1m"),
            "gb_s100": gb("s100"), "gb_s100k": gb("s100k"), "gb_k100_s100": gb("k100", "s100"),
            "join_int": lambda: js.natural_join(r.drop("s100k"), on="k100k"),
            "join_int_sum": lambda: total(js.natural_join(r.drop("s100k"), on="k100k"), "r1"),
            "join_str": lambda: jt.natural_join(r.drop("k100k"), on="s100k"),
            "join_many": lambda: js.head(len(js) // 10).join(m.select("k100k", r1="w").head(len(m) // 10), on="k100k"),
            "join_full": lambda: js.head(len(js) // 10).join(m.select("k100k", r1="w").head(len(m) // 10), on="k100k", how="full", coalesce=True),
            "inner_int": lambda: js.join(r.drop("s100k"), on="k100k"),
            "inner_str": lambda: jt.join(r.drop("k100k"), on="s100k"),
            **{f"one_{kind}{end}": (lambda key=key, how=how: ones.select(key, "a").join(twins.select(key, "b"), on=key, how=how))
               for kind, key in (("int", "id"), ("str", "sid")) for end, how in (("", "inner"), ("_left", "left"))},
            **{f"many_{kind}{end}": (lambda key=key, how=how: r.select(key, "r1").join(m.select(key, "v"), on=key, how=how))
               for kind, key in (("int", "k100k"), ("str", "s100k")) for end, how in (("", "inner"), ("_left", "left"))},
            **{f"{how}_{kind}": (lambda key=key, how=how: m.select(key, "v").join(half, on=key, how=how))
               for kind, key in (("int", "k100k"), ("str", "s100k")) for how in ("semi", "anti")},
            "top_k": lambda: m.select("v", "id").top_k(100, by="v"),
            "join_cross": lambda: m.select("v").head(2000).join(r.select("r1").head(2000), how="cross"),
            "reverse": lambda: m.select("v", "id").reverse(),
            "asof": lambda: t.join_asof(q, on="ts", by="sym"),
            "sort_i64": lambda: m.select("r64", "v").sort("r64"),
            "sort_f64": lambda: m.select("v", "id").sort("v"),
            "sort_str": lambda: m.select("s100k", "v").sort("s100k"),
            "sort_two": lambda: m.select("k100", "v").sort(["k100", "v"]),
            "distinct_k100k": lambda: m.select("k100k").unique(),
            "distinct_two": lambda: m.select("k100", "s100").unique(),
            "cumsum_k100": lambda: m.select("k100", "v").update_by(ub.cum_sum("x = v"), by="k100").select("k100", "x"),
            "cumsum_k100k": lambda: m.select("k100k", "v").update_by(ub.cum_sum("x = v"), by="k100k").select("k100k", "x"),
            "ema_k100": lambda: m.select("k100", "v").update_by(ub.ema_tick(10, "x = v"), by="k100").select("k100", "x"),
            "ema_k100k": lambda: m.select("k100k", "v").update_by(ub.ema_tick(10, "x = v"), by="k100k").select("k100k", "x"),
            **{f"roll{name}_{k}": (lambda of=of, k=k: m.select(k, getattr(c("v"), f"rolling_{of}")(100, min_samples=2 if of == "std" else 1).over(k).alias("x")))
               for k, names in (("k100", ROLLED), ("k100k", ROLLED[:1])) for name, of in names},
            **{f"roll{name}_by": (lambda of=of: m.select("k100", getattr(c("v"), f"rolling_{of}_by")("id", 10_001, min_samples=2 if of == "std" else 1).over("k100").alias("x")))
               for name, of in ROLLED},
            **{f"gb1_{k}": (lambda k=k: m.group_by(k).agg(*agg[:1])) for k in KEYS},
            **{f"gb7_{k}": (lambda k=k: m.group_by(k).agg(*seven)) for k in KEYS},
            **{f"gbf_{k}": (lambda k=k: m.filter(c("v") > 0.5).group_by(k).agg(*agg[:1])) for k in ("k100", "k100k", "s100k")},
            "head_by": lambda: vq.head_by(2, "k100k"),
            "tail_by": lambda: vq.tail_by(2, "k100k"),
            "first_by": lambda: vq.first_by("k100k"),
            "last_by": lambda: vq.last_by("k100k"),
        }
        # A filter of ours is a row set, a sort and a join are indices over shared columns: here the result is read too.
        lazy = [w for w in self.ops if w in COPIED]
        self.ops |= {f"{w}_copy": (lambda made=self.ops[w]: made().to_arrow()) for w in lazy}

    def check(self, w, r):
        return len(r), checks.of_arrow(r if hasattr(r, "column_names") else r.to_arrow(), ORDERS.get(w.removesuffix("_copy")))

    def close(self):
        pass
