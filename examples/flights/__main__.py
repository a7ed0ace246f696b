"""The flights of 2013 through Spark into live tables, followed while they tick, and proved at the end.

    python examples/flights                 # the whole year, as make demo does
    python examples/flights --days 14       # two weeks
    python examples/flights --once          # all that is there as fast as it goes, then stop
    python examples/flights --checkpoint D --persist     # may be killed and started again

Two Structured Streaming queries read flights and weather, a day to a file, and feed two live tables. From them
`pipeline.py` derives the rest; every derived table is kept up to date in the cycle that takes in a batch. At the end
`proof.py` computes the same results once more by plain Spark SQL and compares them; a difference is exit code 1.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

import chart
import pipeline
import prepare
import proof
import spark_session
import tickframe as tf
import view
from stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

OUT = Path(__file__).parent / "out"
LOOK = 0.1  # seconds between two looks at the tables


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(prog="flights", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--days", type=int, default=prepare.DAYS, help="days of the year to play (365)")
    parser.add_argument("--speed", type=float, help="days a second; as fast as Spark gives them by default")
    parser.add_argument("--files", type=int, default=2, help="files, that is days, in a micro-batch (2)")
    parser.add_argument("--once", action="store_true", help="one pass over what is there (Spark's availableNow)")
    parser.add_argument("--checkpoint", type=Path, help="keep Spark's checkpoints here, to go on after a stop")
    parser.add_argument("--persist", action="store_true", help="keep the tables' batches beside the checkpoints")
    parser.add_argument("--out", type=Path, default=OUT, help="where everything is written")
    chosen = parser.parse_args(arguments)
    if not 1 <= chosen.days <= prepare.DAYS:
        parser.error(f"--days is 1 to {prepare.DAYS}")
    if chosen.files < 1 or (chosen.speed is not None and chosen.speed <= 0):
        parser.error("--files and --speed are greater than 0")
    if chosen.persist and chosen.checkpoint is None:
        parser.error("--persist needs --checkpoint")
    if chosen.once and chosen.speed is not None:
        parser.error("--once goes as fast as it can, --speed does not")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; 0 if the live tables were right, 1 if not, 3 if it may not go on, 130 after Ctrl-C."""
    chosen = options(arguments)
    console = Console()

    def say(text: str, style: str | None = None) -> None:
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    started = time.monotonic()
    out = chosen.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    say("starting Spark")
    spark = spark_session.start(out)
    stop = Stop(spark)
    try:
        same = Demo(spark, chosen, out, view.view_for(console), say, stop).run()
    except tf.errors.CheckpointError as refused:
        say(f"refused to go on: {refused}", "red")
        return 3
    except BaseException:
        # A job that was cancelled for it fails in its own words.
        if not stop.asked:
            raise
        say("stopped; the streams are closed")
        return 130
    finally:
        spark.stop()
    say(f"{'all equal' if same else 'NOT EQUAL'}; {time.monotonic() - started:.0f} s in all", None if same else "red")
    return 0 if same else 1


class Demo:
    """One run, from the files to the verdict."""

    def __init__(
        self,
        spark: SparkSession,
        chosen: argparse.Namespace,
        out: Path,
        shown: view.View,
        say: Callable[..., None],
        stop: Stop,
    ) -> None:
        self._spark = spark
        self._stop = stop
        self._chosen = chosen
        self._out = out
        self._shown = shown
        self._say = say
        self._state = view.State()
        self._feeds: list[tf.spark.SparkFeed] = []

    def run(self) -> bool:
        """Play the days, write what came of them, compare; whether all was equal."""
        self._say("preparing the data: one Parquet file a day")
        with self._stop.cancelling():
            self._data = prepare.prepare(self._spark, self._out, self._chosen.days)
        self._state.expected = self._data.flights
        graph = tf.Graph(period=0.005)
        graph.start()
        try:
            derived = self._follow(graph)
            self._play(graph, derived)
            rows = self._settled(graph, derived)
        finally:
            for feed in self._feeds:
                feed.stop()
            graph.stop()
        self._write(rows)
        return self._prove(derived, rows)

    def _follow(self, graph: tf.Graph) -> Mapping[str, pipeline.Derived]:
        """Start both streams and hang the derived tables below them."""
        weather = self._stream("weather", graph)
        flights = self._stream("flights", graph)
        airlines = tf.spark.from_spark(self._spark.read.parquet(self._data.path("airlines")), order_by="carrier")
        planes = tf.spark.from_spark(self._spark.read.parquet(self._data.path("planes")), order_by="tailnum")
        self._latest = flights.tail(1)
        return pipeline.derive(flights, weather, airlines, planes)

    def _stream(self, name: str, graph: tf.Graph) -> tf.Table:
        chosen = self._chosen
        path = self._data.path(name)
        schema = self._spark.read.parquet(path).schema
        reader = self._spark.readStream.schema(schema).option("maxFilesPerTrigger", chosen.files)
        trigger: dict[str, Any] | None = None
        if chosen.once:
            trigger = {"availableNow": True}
        elif chosen.speed is not None:
            trigger = {"processingTime": f"{max(1, round(1000 * chosen.files / chosen.speed))} milliseconds"}
        place = None if chosen.checkpoint is None else chosen.checkpoint.resolve() / name
        with warnings.catch_warnings():
            # The demo's own help says what the warning says.
            warnings.simplefilter("ignore", UserWarning)
            feed = tf.spark.from_spark_stream(
                reader.parquet(path),
                mode="append",
                order_by="seq",
                name=name,
                trigger=trigger,
                checkpoint=None if place is None else place / "spark",
                persist=place / "batches" if place is not None and chosen.persist else None,
                graph=graph,
            )
        self._feeds.append(feed)
        return feed.table

    def _play(self, graph: tf.Graph, derived: Mapping[str, pipeline.Derived]) -> None:
        """Watch until every row is in, or a stream fails."""
        with self._shown, self._listen(graph, derived):
            while not self._look(graph, derived):
                self._shown.show(self._state)
                for feed in self._feeds:
                    if feed.error is not None:
                        raise feed.error
                if not any(feed.query.isActive for feed in self._feeds) and not self._look(graph, derived):
                    message = f"the streams ended before all rows were in: {self._state.line()}"
                    raise RuntimeError(message)
                self._stop.pause(LOOK)
        self._say(self._state.line())

    def _listen(self, graph: tf.Graph, derived: Mapping[str, pipeline.Derived]) -> ExitStack:
        """Tell of every change of the leaderboard, and note how long each cycle took."""

        def heard(update: tf.Update) -> None:
            new = pa.table(update.added_rows(["dep_delay", "airline", "flight"])).to_pylist()
            if new:
                greatest = max(new, key=lambda row: row["dep_delay"])
                self._shown.note(
                    f"step {update.step}: {len(new)} new among the worst, {len(update.removed)} gone; "
                    f"{greatest['airline']} {greatest['flight']} left {greatest['dep_delay']} minutes late"
                )

        def timed(_: tf.Update) -> None:
            self._state.cycle_times.append(graph.counters()["last_cycle_ns"] / 1e9)

        listening = ExitStack()
        listening.enter_context(derived["worst"].table.subscribe(heard))
        listening.enter_context(derived["flown"].table.subscribe(timed, columns=[]))
        return listening

    def _look(self, graph: tf.Graph, derived: Mapping[str, pipeline.Derived]) -> bool:
        """Take in what there is to see; whether all rows are in."""
        weather, flights = self._feeds
        state, counters = self._state, graph.counters()
        state.rows, state.reports = len(flights.table), len(weather.table)
        state.batches = sum(0 if feed.last_batch is None else feed.last_batch + 1 for feed in self._feeds)
        state.cycles = counters["cycles"]
        state.leaders = derived["worst"].table.to_dicts()
        for last in self._latest.to_dicts():
            state.day = f"{last['year']}-{last['month']:02}-{last['day']:02}"
        return state.rows >= self._data.flights and state.reports >= self._data.weather

    def _settled(self, graph: tf.Graph, derived: Mapping[str, pipeline.Derived]) -> dict[str, pa.Table]:
        """The rows of all derived tables, of one and the same step."""
        tables = graph.snapshot(*(each.table for each in derived.values()))
        return {name: pa.table(table) for name, table in zip(derived, tables, strict=True)}

    def _write(self, rows: Mapping[str, pa.Table]) -> None:
        folder = self._out / "derived"
        folder.mkdir(exist_ok=True)
        for name, table in rows.items():
            path = folder / f"{name}.parquet"
            pq.write_table(table, path)
            self._say(f"wrote {path} ({table.num_rows:,} rows)")
        picture = self._out / "mean_delay_by_carrier.png"
        chart.draw(rows["by_carrier"], rows["by_carrier_and_month"], picture)
        self._say(f"drew {picture}")

    def _prove(self, derived: Mapping[str, pipeline.Derived], rows: Mapping[str, pa.Table]) -> bool:
        self._say("the proof: the same by plain Spark SQL over the Parquet files")
        with self._stop.cancelling():
            verdicts = proof.prove(self._spark, self._data, derived, rows)
        for line in proof.told(verdicts):
            self._say(line, "red" if "DIFFERENT" in line else None)
        state = self._state
        self._say(
            f"{state.rows:,} flights and {state.reports:,} weather reports in {state.batches} batches and "
            f"{state.cycles} cycles"
        )
        return all(verdict.equal for verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main())
