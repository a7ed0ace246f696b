"""tickframe as `tickframe_adapter` feeds it, with the graph on a thread of its own (`Graph.start`).

Latency: from handing over the batch until `wait` of its token returns, which is two hand-overs between threads more.
"""
import time

import tickframe_adapter


class Adapter(tickframe_adapter.Adapter):
    name = "tickframe-started"

    def build(self, p):
        super().build(p)
        self.graph.start()

    def cycle(self, staged):
        t0 = time.perf_counter()
        if len(staged) == 1:
            table, call = staged[0]
            token = table.apply(**call)
        else:
            with self.graph.transaction():
                for table, call in staged:
                    token = table.apply(**call)
        t1 = time.perf_counter()
        token.wait(60)
        t2 = time.perf_counter()
        return t2 - t0, t2 - t1

    def drop(self):
        self.graph.stop()
        super().drop()
