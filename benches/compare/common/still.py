"""One engine over data that stands still: every workload of a family, one JSON line each.

A family's `run.py` calls `main` with its own folder, whose `adapters/ENGINE_adapter.py` is the engine.
"""
import argparse
import os
import time

import harness as H


def main(here, family, workloads):
    ap = argparse.ArgumentParser()
    ap.add_argument("engine")
    ap.add_argument("--rows", type=int, default=10_000_000)
    ap.add_argument("--only", default="")
    ap.add_argument("--reps", type=int, default=5)
    ap.add_argument("--out", default="")
    a = ap.parse_args()
    unknown = set(filter(None, a.only.split(","))) - set(workloads)
    if unknown:
        ap.error(f"no workload {', '.join(sorted(unknown))}")
    d = os.path.join(H.DATA, f"static_{a.rows}")
    ad = H.load_adapter(here, a.engine)
    t0 = time.perf_counter()
    ad.load(d)
    said = dict(family=family, engine=ad.name, version=ad.version, size=a.rows)
    H.emit(a.out, workload="_load", **said, seconds=round(time.perf_counter() - t0, 2), rss_mb=H.peak_rss_mb(True))
    for w in (a.only.split(",") if a.only else workloads):
        fn = ad.ops.get(w)
        if fn is None:
            H.emit(a.out, workload=w, **said, skipped="not offered")
            continue
        try:
            H.peak_rss_mb(True)
            for attempt in range(3):  # another process was busy: once more
                H.wait_quiet()
                noise = H.Noise()
                secs, r = H.measure(fn, reps=a.reps, warmup=ad.warmup, release=getattr(ad, "release", None))
                noise = noise.value()
                if noise < 0.15:
                    break
            rss = H.peak_rss_mb()
            rows, check = ad.check(w, r)
            r = None
            H.emit(a.out, workload=w, **said, threads=H.THREADS, **H.stats(secs), noise=noise, rss_mb=rss, rows=rows,
                   check=check)
        except Exception as e:
            H.emit(a.out, workload=w, **said, error=f"{type(e).__name__}: {str(e)[:200]}")
    ad.close()
