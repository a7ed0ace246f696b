"""You will see a program that is killed while it writes, started again, and goes on where it was: no row lost, none twice.

A directory of Parquet files is read into a durable table, file by file; how far it was read is kept with the rows.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import tickframe as tf

SCHEMA = {"n": int, "px": float}


def follow(folder: Path) -> None:
    """Reads the files that were not read, one transaction each."""
    with tf.Graph(durable=folder / "state") as graph:
        ticks = tf.append_table(SCHEMA, graph=graph, name="ticks", durable=True)
        for file in sorted((folder / "in").glob("*.parquet")):
            if file.name <= graph.positions.get("in", ""):
                continue
            with graph.transaction():
                token = ticks.append(tf.read_parquet(file))
                graph.positions["in"] = file.name
            graph.step()
            token.wait()
            if int(file.stem) % 8 == 7:
                os.kill(os.getpid(), signal.SIGKILL)  # no chance to say goodbye


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    for number in range(20):
        rows = range(number * 1000, number * 1000 + 1000)
        tf.table({"n": rows, "px": [n / 2 for n in rows]}).write_parquet(folder / "in" / f"{number:03}.parquet")

    starts = 1
    while subprocess.run([sys.executable, __file__, str(folder)], check=False).returncode != 0:  # noqa: S603
        starts += 1

    print("starts:", starts)
    with tf.restore(folder / "state") as graph:
        ticks = graph.tables["ticks"]
        print("rows:", len(ticks), "read up to", graph.positions["in"])
        print("none lost, none twice:", ticks.to_dict()["n"] == list(range(20_000)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        follow(Path(sys.argv[1]))
    else:
        main()
