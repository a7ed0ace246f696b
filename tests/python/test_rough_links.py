"""Tables of another server over links that delay, stop, cut and end half of themselves: right once the link is."""

import contextlib
import random
import socket
import threading
import time

import pytest

import tickframe as tf

#: Bytes of a piece that is passed on.
PIECE = 4096


class Link:
    """A link to a port, whose connections go as ``how`` says when they begin."""

    def __init__(self, port, seed):
        self._port, self._draw = port, random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open, self._lock = set(), threading.Lock()
        self.rough, self.ended = True, False
        self.seen = dict.fromkeys(["delayed", "throttled", "cut", "half closed", "stopped", "passed"], 0)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                how = self._draw.choice(sorted(self.seen)) if self.rough else "passed"
                most = self._draw.choice([100, 3_000, 40_000, 400_000])
                self.seen[how] += 1
            there = socket.create_connection(("127.0.0.1", self._port))
            with self._lock:
                self._open |= {here, there}
            for one, other, back in [(here, there, False), (there, here, True)]:
                threading.Thread(target=self._carry, args=(one, other, how, most, back), daemon=True).start()

    def _carry(self, one, other, how, most, back):
        draw, carried = random.Random(most), 0
        with contextlib.suppress(OSError):
            while piece := one.recv(PIECE):
                carried += len(piece)
                if carried > most and self.rough:
                    if how == "cut":
                        break
                    if how == "half closed" and back:
                        other.shutdown(socket.SHUT_WR)
                        return
                    if how == "stopped":
                        # Neither end hears that nothing comes any more.
                        while self.rough and not self.ended:
                            time.sleep(0.01)
                        break
                if how == "delayed":
                    time.sleep(draw.random() * 0.02)
                if how == "throttled":
                    for at in range(0, len(piece), 512):
                        other.sendall(piece[at : at + 512])
                        time.sleep(0.0005)
                    continue
                other.sendall(piece)
        self._close(one, other)

    def _close(self, *both):
        with self._lock:
            self._open -= set(both)
        for each in both:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def cut_all(self):
        """End every connection that there is."""
        with self._lock:
            both = list(self._open)
        self._close(*both)

    def close(self):
        self.ended, self.rough = True, False
        self._listener.close()
        self.cut_all()


def until(done, seconds=60):
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("seed", range(4))
def test_a_table_is_right_once_its_link_is(seed):
    draw = random.Random(seed)
    there, here = tf.Graph(period=0.002), tf.Graph(period=0.002)
    there.start()
    here.start()
    keyed = tf.keyed_table({"k": int, "v": float, "s": str}, key="k", graph=there)
    added = tf.append_table({"n": int, "s": str}, graph=there)
    keyed.upsert({"k": [0], "v": [0.0], "s": [""]}).wait(10)
    tables = {
        "keyed": keyed,
        "added": added,
        "sorted": keyed.sort("v"),
        "sums": keyed.group_by("s").agg(tf.col("v").sum()),
    }
    with tf.serve(tables, graph=there, token="a-word") as srv:
        link = Link(int(srv.url.rsplit(":", 1)[1]), seed)
        try:
            link.rough = False
            con = tf.connect(f"grpc://127.0.0.1:{link.port}", "a-word", graph=here)
            seen = {name: con[name] for name in tables} | {"tail": con.table("added", viewport=slice(-20, None))}
            link.rough = True
            for step in range(250):
                many = draw.randrange(1, 400)
                keys = [draw.randrange(2_000) for _ in range(many)]
                texts = [draw.choice(["", "a", "b" * 40, "é"]) for _ in keys]
                keyed.upsert({"k": keys, "v": [draw.random() for _ in keys], "s": texts})
                if draw.random() < 0.3:
                    keyed.delete({"k": sorted({draw.randrange(2_000) for _ in range(50)})})
                added.append({"n": list(range(step * 400, step * 400 + many)), "s": texts})
                time.sleep(0.01)
                if draw.random() < 0.06:
                    link.cut_all()
            assert sum(link.seen[how] for how in link.seen if how != "passed") > 3
            link.rough = False
            link.cut_all()
            last = added.append({"n": [-1], "s": ["last"]})
            last.wait(10)
            wanted = {name: table.to_dicts() for name, table in tables.items()}
            wanted["tail"] = wanted["added"][-20:]

            until(lambda: all(table.to_dicts() == wanted[name] for name, table in seen.items()))
            assert all(state.connected and state.trouble is None for state in con.states().values())
            assert max(state.snapshots for state in con.states().values()) > 1
            con.close()
        finally:
            link.close()
            here.stop()
            there.stop()
