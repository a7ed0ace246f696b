"""What several test files share: a graph of a test's own, and one Spark, for starting it takes longer than most tests."""

from __future__ import annotations

import faulthandler
import itertools
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

LOGGING = Path(__file__).parents[2] / "examples" / "flights" / "log4j2.properties"

#: Seconds after which a test hangs, by its marker; others have the last.
LIMITS = {"example": 600, "spark": 300, "": 120}
#: Where the stacks of a test that hangs are told: standard error as it was before anything captured it.
STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep standard error, and hear Ctrl-C, which a shell has its background jobs ignore."""
    config.stash[STDERR] = os.dup(2)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the run where a test hangs, with the stacks of all threads: no Python code is needed for that."""
    limit = next(limit for marker, limit in LIMITS.items() if not marker or item.get_closest_marker(marker))
    limit = int(os.environ.get("TICKFRAME_TEST_LIMIT", limit))
    faulthandler.dump_traceback_later(limit, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True, scope="session")
def _own_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tokens of servers are kept apart from those of the user."""
    os.environ["XDG_RUNTIME_DIR"] = str(tmp_path_factory.mktemp("runtime"))


@pytest.fixture
def g() -> tf.Graph:
    """A graph that is stepped by hand."""
    return tf.Graph()


@pytest.fixture
def running() -> Iterator[tf.Graph]:
    """A graph that runs by itself and at once."""
    graph = tf.Graph(period=0)
    graph.start()
    yield graph
    graph.stop()


@pytest.fixture(scope="module")
def graph() -> Iterator[tf.Graph]:
    """A graph of a whole file that runs by itself, a hundred times a second: what a server stands on."""
    graph = tf.Graph(period=0.01)
    graph.start()
    yield graph
    graph.stop()


@pytest.fixture
def t(g: tf.Graph) -> tf.AppendTable:
    """A live table of one column."""
    return tf.append_table({"x": int}, graph=g)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark for the whole run, with retries of tasks, in UTC, silent but for errors."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Spark's workers must be this environment's, also when it is not the one on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2,4]").appName("tickframe tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


class Inbox:
    """A folder of Parquet files that a streaming query reads, one file a batch."""

    def __init__(self, spark: SparkSession, folder: Path, schema: str) -> None:
        self._spark = spark
        self._schema = schema
        self.folder = folder
        self._numbers = itertools.count()
        folder.mkdir()

    def put(self, rows: pa.Table) -> None:
        """Add one file; whole at once, for a query may be looking."""
        import pyarrow.parquet as pq

        number = next(self._numbers)
        hidden = self.folder / f".{number}.parquet"
        pq.write_table(rows, hidden)
        # The order of modification times is the order of reading.
        os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))
        hidden.rename(self.folder / f"{number:06d}.parquet")

    def stream(self) -> DataFrame:
        """The folder as a streaming frame."""
        reader = self._spark.readStream.schema(self._schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder))


@pytest.fixture
def inbox(spark: SparkSession, tmp_path: Path) -> Any:
    """Makes an `Inbox` for a schema."""
    numbers = itertools.count()

    def make(schema: str) -> Inbox:
        return Inbox(spark, tmp_path / f"inbox-{next(numbers)}", schema)

    return make
