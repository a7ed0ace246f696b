"""Every table of `benches/RESULTS.md` measured again, one after the other.

    python benches/measure.py [NAME ...]     # all of them, or the files of lines that are named
    python benches/measure.py --list         # what each takes, by which command, and what it is skipped for

Needs a release build of the extension and a machine on which nothing else runs. A run whose answer is wrong or whose engine crashes
keeps nothing, and neither does one whose peer is not installed: the table that there is stays. BENCH_DEEPHAVEN names the Python
of an environment with `deephaven-server` and a numpy as here; BENCH_OLD and BENCH_NEW are folders with an installed wheel each;
BENCH_TPCH is a folder for the tables of TPC-H, which are made there once. 1 if a run failed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import figures

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PYTHON = [sys.executable]
COMPARE = ["benches/compare/run.py", "--family"]
LIVE = "tickframe,tickframe_sources,tickframe_started,deephaven,polars"
STILL = (
    "filter_num_50 filter_num_1 filter_str_eq filter_num_50_sum filter_num_1_sum derive_arith derive_cond gb_k100 gb_k100k gb_k1m "
    "gb_s100 gb_s100k gb_k100_s100 join_int join_int_sum join_str asof sort_i64 sort_f64 sort_str sort_two distinct_k100k "
    "distinct_two first_by last_by "
    "filter_num_50_copy filter_num_1_copy filter_str_eq_copy join_int_copy join_str_copy asof_copy sort_i64_copy sort_f64_copy "
    "sort_str_copy sort_two_copy"
)
TPCH = os.environ.get("BENCH_TPCH") or str(Path(tempfile.gettempdir()) / "bench" / "tpch")


@dataclass(frozen=True)
class Run:
    """One program, and the files of lines that it keeps."""

    names: tuple[str, ...]
    minutes: int
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    take: str = ""  # what else prints a table, which is kept under the first name
    folder: Path = ROOT


def ours(name: str, minutes: int, *command: str, needs: tuple[str, ...] = (), record: str | None = None) -> Run:
    """A program in Python, which keeps its lines itself."""
    given = ("--record", name) if record is None else (record,)
    return Run((name,), minutes, (*PYTHON, *command, *given), needs)


def printing(name: str, minutes: int, *command: str) -> Run:
    """A program in Rust, which prints its table."""
    folder = HERE / "compare" / "rowsets" if command[1] == "run" else ROOT
    told = " ".join(command) + (" (benches/compare/rowsets)" if command[1] == "run" else "")
    return Run((name,), minutes, command, ("cargo",), told, folder)


def live(name: str, minutes: int, only: str, engines: str) -> Run:
    """Some pipelines over a live table; 8 s for each of Deephaven's, and of all others."""
    words = ("incremental", "--only", only, "--engines", engines, "--rounds", "2", "--seconds", "8")
    return ours(name, minutes, *COMPARE, *words, needs=("deephaven", "polars", "cc"))


PEERS = ("polars", "duckdb")
QUERIES = (*PEERS, "tpchgen-cli")
RUNS = [
    ours("attach", 2, "benches/attach.py"),
    ours("partitions", 2, "benches/partitions.py"),
    ours("udf", 1, "benches/udf.py"),
    ours("snapshots", 1, "benches/snapshot.py"),
    Run(("formulas", "live-formulas"), 1, (*PYTHON, "benches/formulas.py", "--record")),
    ours("plans", 2, "benches/compare/plans.py", "6000000", needs=("polars",)),
    ours("tpch", 3, "benches/tpch/run.py", TPCH, "--scale", "1", needs=QUERIES),
    ours("tpch-scan", 3, "benches/tpch/run.py", TPCH, "--scale", "1", "--scan", needs=QUERIES),
    ours("tpch-live", 4, "benches/tpch/run.py", TPCH, "--scale", "1", "--live", needs=QUERIES),
    ours("files", 2, "benches/files.py", "2000000", needs=PEERS),
    ours("durable", 2, "benches/durable.py", "10000000", record="--record"),
    ours("transport", 5, "benches/transport.py", "10000000", needs=("deephaven", "ticking")),
    ours("subscribers", 8, "benches/subscribers.py", "all", "20", needs=("deephaven", "ticking")),
    ours("functions", 15, *COMPARE, "functions", "--rounds", "2", needs=PEERS),
    ours("static", 45, *COMPARE, "static_ops", "--rounds", "2", "--only", STILL.replace(" ", ","), needs=PEERS),
    live("incremental", 75, "source,where,update,wus,sort,join,aj,last_by,dag20,wide200", LIVE),
    live(
        "live-joins",
        70,
        "inner,left,full,multi,range,join_where,aj,explode,reverse,top_k",
        "tickframe,deephaven,polars",
    ),
    live("live-windows", 45, "ema,rolling,rollmax,rolltime,cum,ematime", LIVE),
    ours(
        "growth",
        60,
        *("benches/compare/run.py", "--growth", "--rows", "10000000", "--engines", "tickframe,deephaven"),
        *("--rounds", "2", "--seconds", "8"),
        needs=("deephaven", "polars", "cc"),
    ),
    printing("graph", 3, "cargo", "bench", "-p", "tickframe-graph", "--bench", "graph_cycle"),
    printing("readers", 5, "cargo", "bench", "-p", "tickframe-benches", "--bench", "readers", "--", "snapshots"),
    printing("rowset-held", 3, "cargo", "run", "--release", "--", "edits"),
    printing("rowset-masks", 3, "cargo", "run", "--release", "--", "masks"),
    Run(
        ("rowset-algebra", "rowset-edits", "rowset-moves", "rowset-look-ups", "rowset-bars"),
        10,
        ("cargo", "run", "--release", "--", "--deephaven", "JARS"),
        ("cargo", "cc", "deephaven"),
        "rowsets",
        HERE / "compare" / "rowsets",
    ),
    ours(
        "builds",
        90,
        *("benches/compare/builds.py", "OLD", "NEW", "--family", "incremental,static_ops", "--rounds", "5"),
        needs=("wheels",),
    ),
]


def missing(need: str) -> str:
    """Why a run is skipped; nothing if it need not be."""
    deephaven = os.environ.get("BENCH_DEEPHAVEN", "")
    if need == "deephaven":
        if not deephaven or not shutil.which(deephaven):
            return "BENCH_DEEPHAVEN names no Python with deephaven-server"
        return "" if shutil.which("javac") else "no javac: a JDK of 17 or newer"
    if need == "wheels":
        folders = [os.environ.get(name, "") for name in ("BENCH_OLD", "BENCH_NEW")]
        return "" if all(map(os.path.isdir, folders)) else "BENCH_OLD and BENCH_NEW name no folders with a wheel"
    if need in {"polars", "duckdb", "ticking"}:
        module = {"ticking": "pydeephaven_ticking"}.get(need, need)
        return "" if importlib.util.find_spec(module) else f"no package {module.replace('_', '-')}"
    return "" if shutil.which(need) else f"no {need}"


def jars() -> str:
    """Where Deephaven's package keeps its jars."""
    words = [
        os.environ["BENCH_DEEPHAVEN"],
        "-c",
        "import importlib.util as u; print(u.find_spec('deephaven_server').origin)",
    ]
    found = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603 - our own words
    return str(Path(found).parent / "jars")


def measured(run: Run) -> bool:
    """Whether a program ended well; what it prints is kept if it keeps nothing itself."""
    given = {"JARS": jars, "OLD": lambda: os.environ["BENCH_OLD"], "NEW": lambda: os.environ["BENCH_NEW"]}
    command = [given[word]() if word in given else word for word in run.command]
    # Row sets: the allocator keeps memory, or all peers measure page faults.
    kept = {"MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_MMAP_THRESHOLD_": "4000000000"}
    environment = {**os.environ, **(kept if run.folder != ROOT else {})}
    if not run.take:
        return not subprocess.run(command, cwd=run.folder, env=environment, check=False).returncode  # noqa: S603 - ours
    done = subprocess.run(command, cwd=run.folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - as above
    if done.returncode:
        return False
    taking = [*PYTHON, str(HERE / "figures.py"), "--take", run.names[0], "--made-by", run.take]
    if run.take == "rowsets":
        taking = [*PYTHON, str(HERE / "compare" / "rowsets.py"), "--record"]
    return not subprocess.run(taking, input=done.stdout, text=True, check=False).returncode  # noqa: S603 - as above


def main() -> int:
    """Run what is asked for, and make the tables."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("names", nargs="*", help="files of lines")
    parse.add_argument("--list", action="store_true")
    asked = parse.parse_args()
    unknown = set(asked.names) - {name for run in RUNS for name in run.names}
    if unknown:
        parse.error(f"no run keeps {', '.join(sorted(unknown))}")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    chosen = [run for run in RUNS if not asked.names or set(run.names) & set(asked.names)]
    failed = []
    for run in chosen:
        name = ", ".join(run.names)
        why = "; ".join(filter(None, map(missing, run.needs)))
        print(f"== {name}: about {run.minutes} min{f'. SKIPPED: {why}' if why else ''}", flush=True)
        if asked.list:
            print("  ", " ".join(run.command), flush=True)
        elif not why:
            start = time.perf_counter()
            if not measured(run):
                failed.append(name)
            print(f"== {name}: {(time.perf_counter() - start) / 60:.1f} min", flush=True)
    print(f"about {sum(run.minutes for run in chosen) / 60:.1f} hours in all" if asked.list else "", flush=True)
    for name in failed:
        print(f"FAILED, and kept as it was: {name}", file=sys.stderr)
    if asked.list:
        return 0
    figures.PAGE.write_text(figures.page(figures.PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
