"""The Spark data source ``tickframe``, found by PySpark through this module's name.

PySpark imports every top-level module called ``pyspark_*`` in a short-lived worker process when a data source is first
asked for. So this module stays light: it imports neither tickframe's engine nor Spark's heavier parts.

Reading and writing tables from executors goes through tickframe's server, which this version does not have; asking
for it says so. In one process with the driver, `tickframe.spark` has `from_spark_stream`, `from_spark` and `to_spark`.
"""

from typing import Any, NoReturn

from pyspark.sql.datasource import DataSource

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    """What ``spark.read.format("tickframe")`` finds."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "tickframe"

    def schema(self) -> NoReturn:
        """Refuse a batch read or a stream read: both begin by asking for the schema."""
        raise _refusal("read from", "tf.spark.to_spark(table, spark)")

    def reader(self, schema: Any) -> NoReturn:
        """Refuse a read for which the user gave the schema."""
        del schema
        raise _refusal("read from", "tf.spark.to_spark(table, spark)")

    def streamReader(self, schema: Any) -> NoReturn:  # noqa: N802 - PySpark's name
        """Refuse a stream read for which the user gave the schema."""
        del schema
        raise _refusal("read from", "tf.spark.to_spark(table, spark)")

    def writer(self, schema: Any, overwrite: bool) -> NoReturn:
        """Refuse a write."""
        del schema, overwrite
        raise _refusal("write to", "tf.spark.from_spark(frame)")

    def streamWriter(self, schema: Any, overwrite: bool) -> NoReturn:  # noqa: N802 - PySpark's name
        """Refuse a stream write."""
        del schema, overwrite
        raise _refusal("write to", "tf.spark.from_spark_stream(frame, mode=...)")


def _refusal(verb: str, instead: str) -> NotImplementedError:
    return NotImplementedError(
        f'format("tickframe"): executors {verb} a tickframe server, and this version has none; '
        f"in the driver's process use {instead}"
    )
