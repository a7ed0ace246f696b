"""Whole frames across the border: a Spark frame as a table, a table as a Spark frame."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

from tickframe import errors
from tickframe.spark._types import PrecisionLoss, incoming, outgoing, pyarrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tickframe import Table

logger = logging.getLogger("tickframe")

LARGE = 256 << 20  # bytes; beyond it the driver's memory is worth a line in the log


def from_spark(
    df: Any,
    *,
    via: Literal["auto", "collect", "push"] = "auto",
    order_by: str | Sequence[str] | None = None,
    key: str | Sequence[str] | None = None,
) -> Table:
    """A Spark frame as a static table.

    The frame is computed once and collected through Arrow (`toArrow`), so it passes through the driver's memory.
    Spark frames have no order and tables do: without `order_by` the rows stand as Spark's partitions gave them.

    Args:
        df: a ``pyspark.sql.DataFrame``, classic or Connect, not streaming.
        via: ``"collect"``, or ``"auto"``, which is the same until there is a server for executors to push to.
        order_by: column or columns to sort by, nulls first.
        key: column or columns that must be distinct.

    Raises:
        errors.InvalidOperationError: the frame is a stream, or `via` is ``"push"``.
        errors.MatchError: two rows share a key.
    """
    import tickframe as tf

    if getattr(df, "isStreaming", False):
        message = "from_spark: the frame is a stream; follow it with tf.spark.from_spark_stream"
        raise errors.InvalidOperationError(message)
    if via == "push":
        message = "from_spark: via='push' lets executors write to a tickframe server, which this version does not have"
        raise errors.InvalidOperationError(message)
    if via not in {"auto", "collect"}:
        message = f"from_spark: via is 'auto', 'collect' or 'push', not {via!r}"
        raise ValueError(message)
    estimate = size_estimate(df)
    if estimate is not None and estimate > LARGE:
        logger.info("from_spark: Spark estimates %d MB, all of it through the driver", estimate >> 20)
    rows = df.toArrow().cast(incoming(df.schema))
    keys = names(key)
    if keys:
        doubled = rows.group_by(keys).aggregate([([], "count_all")])
        for first in doubled.filter(pyarrow().compute.greater(doubled["count_all"], 1)).slice(0, 1).to_pylist():
            found = {name: first[name] for name in keys}
            message = f"from_spark: {first['count_all']} rows share the key {found}"
            raise errors.MatchError(message)
    # Spark has just made these rows, and nobody else holds them.
    return tf.table(sorted_by(rows, names(order_by)), copy=False)


def to_spark(
    table: Table,
    spark: Any,
    columns: Sequence[str] | None = None,
    where: Any = None,
    on_precision_loss: PrecisionLoss = "error",
) -> Any:
    """A table as a Spark frame: its rows at the last settled step.

    Args:
        table: any table, static or live.
        spark: the ``SparkSession`` that shall hold the frame.
        columns: which columns go, all by default.
        where: which rows go: an expression, as for `Table.filter`.
        on_precision_loss: Spark counts microseconds; a finer value raises, or is cut with ``"truncate"``.

    Returns:
        A ``pyspark.sql.DataFrame``; its rows are in no promised order, as in every Spark frame.

    Raises:
        errors.DataError: a value that Spark cannot hold; names the column.
    """
    pa = pyarrow()
    rows = table.snapshot()
    if where is not None:
        rows = rows.filter(where)
    if columns is not None:
        rows = rows.select(*columns)
    from pyspark.sql.pandas.types import from_arrow_schema

    sent = outgoing(pa.table(rows), on_precision_loss)
    # Without a schema of ours, Spark would read a time without a zone as an instant of its session's zone.
    return spark.createDataFrame(sent, from_arrow_schema(sent.schema, prefer_timestamp_ntz=True))


def is_connect(frame: Any) -> bool:
    """Whether a frame belongs to a Spark Connect session, whose driver is another process."""
    return type(frame).__module__.startswith("pyspark.sql.connect.")


def size_estimate(df: Any) -> int | None:
    """What Spark's optimizer believes the rows weigh in bytes; None where it cannot be asked."""
    if is_connect(df):
        return None
    statistics = df._jdf.queryExecution().optimizedPlan().stats()
    return int(str(statistics.sizeInBytes()))


def names(given: str | Sequence[str] | None) -> list[str]:
    """One name or several as a list."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def sorted_by(rows: Any, order: Sequence[str]) -> Any:
    """The rows of a ``pyarrow.Table`` in the order of some columns, nulls first, ties as they stood."""
    if not order:
        return rows
    import pyarrow.compute as pc

    for name in order:
        if name not in rows.column_names:
            message = f"order_by: no column {name!r}; there are {', '.join(rows.column_names)}"
            raise errors.ColumnNotFoundError(message, column=name, columns=rows.column_names)
    # Nulls first by a column of their own: the option for it changed its place between pyarrow's versions.
    keys = rows.select([])
    for name in order:
        keys = keys.append_column(f"{name} is valid", pc.is_valid(rows[name])).append_column(name, rows[name])
    return rows.take(pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names]))
