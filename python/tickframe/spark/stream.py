"""A Structured Streaming query as a live table: one micro-batch is one transaction, visible whole in one step.

The query runs in this process (`foreachBatch` and `toArrow`), so a batch is handed over without a file or a socket of
ours. A batch that Spark sends again is applied once; a batch that is missing is refused; whatever goes wrong on
Spark's side is seen on the table.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Literal, Self

from tickframe import errors
from tickframe.spark._checkpoint import SparkCheckpoint, source_of
from tickframe.spark._log import BatchLog
from tickframe.spark._memory import Durable, Forgetful, Kept, Memory
from tickframe.spark._modes import DELETE, Mode, mode_of
from tickframe.spark._types import incoming, pyarrow
from tickframe.spark.frame import is_connect, names, sorted_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tickframe import Graph, Table, Token

__all__ = ["SparkFeed", "from_spark_stream"]

logger = logging.getLogger("tickframe")

POLL = 0.25  # seconds between two looks at a query that may have died while somebody waits for it

REMEDIES = (
    "Either give the table a memory from the first start on, durable=True in a tf.Graph(durable=<folder>) or persist=<folder> "
    "(rows and batch number are then written in one commit), or start over with a fresh checkpoint"
)


def from_spark_stream(
    sdf: Any,
    *,
    mode: Literal["append", "update", "complete"],
    key: str | Sequence[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    persist: str | os.PathLike[str] | None = None,
    durable: bool = False,
    via: Literal["auto", "foreach_batch", "sink"] = "auto",
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    order_by: str | Sequence[str] | None = None,
    blink: bool = False,
    ring: int | None = None,
    delete_when: Any = None,
    on_gap: Literal["error", "ignore"] = "error",
    one_step_per_batch: bool = False,
    graph: Graph | None = None,
) -> SparkFeed:
    """Start a query over a streaming frame and follow it with a live table.

    Args:
        sdf: a streaming ``pyspark.sql.DataFrame`` of a classic session.
        mode: Spark's output mode. ``"append"``: every row is new. ``"update"``: the last row of each key.
            ``"complete"``: each batch is the whole result; the table changes by the difference.
        key: the columns that tell rows apart; needed by ``"update"``, advisable for ``"complete"``.
        checkpoint: Spark's checkpoint folder. None uses a temporary one, and the stream starts from its source's
            beginning each time.
        persist: a folder of its own in which the batches are kept, so that the same checkpoint can be taken up again
            after a restart. Needs `checkpoint`.
        durable: whether the table is a durable source of its graph, ``Graph(durable=...)``, under `name`, which it needs: rows and
            batch number are in the folder of the graph in one commit, before Spark hears that the batch is done, and the same
            call goes on behind them after a restart. Needs `checkpoint`.
        via: ``"foreach_batch"``, or ``"auto"``, which is the same in a classic session.
        trigger: the keyword arguments of PySpark's ``trigger``, as a dict; as fast as it goes by default.
        name: the name of the query; with `durable`, of the table in `Graph.tables` too.
        order_by: columns by which each batch is sorted before it is applied: Spark keeps no order.
        blink: rows of a batch live for one step.
        ring: only the last so many rows are kept.
        delete_when: in mode ``"update"``, a Spark condition (text or Column); where the last row of a key fulfils it,
            the key is deleted.
        on_gap: ``"error"`` refuses to go on when batches are missing, ``"ignore"`` goes on without them.
        one_step_per_batch: no two batches share a step, even if they wait together.
        graph: the graph of the table; the default graph if None.

    Returns:
        The feed: its table, its query, and what became of them.

    Raises:
        errors.GapError: the checkpoint is ahead of the table, whose rows would be lost without a word.
        errors.CheckpointError: what is kept belongs to another query or mode, or is damaged.
        errors.InvalidOperationError: the frame is no stream, or belongs to Spark Connect; `durable` of a graph that keeps nothing.
    """
    import tickframe as tf

    if not sdf.isStreaming:
        message = "from_spark_stream: the frame is no stream; take it with tf.spark.from_spark"
        raise errors.InvalidOperationError(message)
    if via not in {"auto", "foreach_batch", "sink"}:
        message = f"from_spark_stream: via is 'auto', 'foreach_batch' or 'sink', not {via!r}"
        raise ValueError(message)
    if via == "sink" or is_connect(sdf):
        message = (
            "from_spark_stream: a Spark Connect session and via='sink' reach tickframe through its server, which this "
            "version does not have; use a classic session (SparkSession.builder.master(...))"
        )
        raise errors.InvalidOperationError(message)
    if on_gap not in {"error", "ignore"}:
        message = f"from_spark_stream: on_gap is 'error' or 'ignore', not {on_gap!r}"
        raise ValueError(message)
    if persist is not None and checkpoint is None:
        message = "from_spark_stream: persist= belongs to a checkpoint; give checkpoint= as well"
        raise ValueError(message)
    graph = tf.default_graph() if graph is None else graph
    if durable:
        _can_keep(graph, name, checkpoint, persist)

    schema = incoming(sdf.schema)
    order = names(order_by)
    sorted_by(schema.empty_table(), order)  # an unknown column is told now, not by the first batch
    deletes = delete_when is not None
    kept = name if durable else None
    kind = mode_of(mode, schema, names(key), blink=blink, ring=ring, deletes=deletes, graph=graph, durable=kept)
    memory: Memory
    if kept is not None:
        memory = Durable(graph, kept, mode)
    elif persist is not None:
        memory = Kept(graph, BatchLog(persist, mode, _logged(schema, delete_when)))
    else:
        memory = Forgetful(graph)
    feed = SparkFeed(
        kind,
        schema,
        order=order,
        delete_when=delete_when,
        on_gap=on_gap,
        one_step_per_batch=one_step_per_batch,
        graph=graph,
        memory=memory,
    )
    try:
        feed._start(sdf, mode, checkpoint, trigger, name)
    except BaseException:
        memory.close()
        raise
    return feed


def _can_keep(graph: Graph, name: object, checkpoint: object, persist: object) -> None:
    """Refuse a durable table that nothing could take up again."""
    if graph.durable is None:
        message = "from_spark_stream: durable=True wants a graph that keeps something; make it with tf.Graph(durable=<folder>)"
        raise errors.InvalidOperationError(message)
    if name is None:
        message = "from_spark_stream: durable=True wants a name=, by which a restart finds the table"
        raise ValueError(message)
    if checkpoint is None:
        message = "from_spark_stream: durable=True belongs to a checkpoint; give checkpoint= as well"
        raise ValueError(message)
    if persist is not None:
        message = "from_spark_stream: durable=True keeps the rows in the folder of the graph; leave persist= out"
        raise ValueError(message)


class SparkFeed:
    """A running query and the table it feeds. Made by `from_spark_stream`."""

    table: Table
    """The live table."""
    query: Any
    """PySpark's ``StreamingQuery``."""

    def __init__(
        self,
        kind: Mode,
        schema: Any,
        *,
        order: Sequence[str],
        delete_when: Any,
        on_gap: str,
        one_step_per_batch: bool,
        graph: Graph,
        memory: Memory,
    ) -> None:
        self.table = kind.table
        self.query = None
        self._kind = kind
        self._schema = schema
        self._order = order
        self._delete_when = delete_when
        self._on_gap = on_gap
        self._one_step = one_step_per_batch
        self._graph = graph
        self._memory = memory
        self._checkpoint = ""
        self._spark_types: list[tuple[str, Any]] = []
        self._last = -1
        self._error: BaseException | None = None
        self._stopping = False
        self._running = threading.Event()
        self._changed = threading.Condition()

    @property
    def last_batch(self) -> int | None:
        """The number of the last batch in the table, None before the first."""
        return None if self._last < 0 else self._last

    @property
    def error(self) -> BaseException | None:
        """What ended the feed, None while it is well."""
        return self._error

    def await_batch(self, n: int, timeout: float | None = None) -> int:
        """Wait until batch `n` is in the table: visible on a running graph, queued on one stepped by hand.

        Args:
            n: Spark's batch number, from 0.
            timeout: seconds.

        Returns:
            The number of the last batch in the table, `n` or more.

        Raises:
            errors.TimeoutError: it did not come in time.
            errors.TableFailedError: the feed failed; `error` says why.
            errors.CancelledError: the query ended before that batch.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._last < n:
                if self._error is not None:
                    message = f"from_spark_stream: the feed failed before batch {n}: {self._error}"
                    raise errors.TableFailedError(message, culprit="from_spark_stream") from self._error
                if not self._running.is_set() and self.query is not None:
                    message = f"from_spark_stream: the query ended before batch {n}; the last one was {self.last_batch}"
                    raise errors.CancelledError(message)
                left = POLL if deadline is None else min(POLL, deadline - time.monotonic())
                if left <= 0:
                    message = f"from_spark_stream: batch {n} did not come within {timeout} s; the last one was {self.last_batch}"
                    raise errors.TimeoutError(message)
                self._changed.wait(left)
        return self._last

    def stop(self) -> None:
        """Stop the query; the table stays as it is. Stopping twice does nothing."""
        self._stopping = True
        if self.query is not None:
            self.query.stop()
            self._watcher.join(timeout=10)
        self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "failed" if self._error else "running" if self._running.is_set() else "ended"
        return f"SparkFeed({state}, last_batch={self.last_batch})"

    # Starting

    def _start(
        self,
        sdf: Any,
        mode: str,
        checkpoint: str | os.PathLike[str] | None,
        trigger: Mapping[str, Any] | None,
        name: str | None,
    ) -> None:
        self._spark_types = [(field.name, field.dataType) for field in sdf.schema]
        if checkpoint is None:
            scratch = tempfile.mkdtemp(prefix="tickframe-checkpoint-")
            weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
            location = scratch
        else:
            location = os.fspath(checkpoint)
            self._checkpoint = location
            self._resume(SparkCheckpoint.read(sdf.sparkSession, location))
        writer = sdf.writeStream.outputMode(mode).option("checkpointLocation", location)
        if trigger is not None:
            writer = writer.trigger(**trigger)
        if name is not None:
            writer = writer.queryName(name)
        self.query = writer.foreachBatch(self._foreach_batch).start()
        self._memory.bind(self.query.id)
        self._running.set()
        # Nobody else would notice a query that dies between two batches, and the table would only stop ticking.
        self._watcher = threading.Thread(target=self._watch, name=f"tickframe-spark-{name or 'feed'}", daemon=True)
        self._watcher.start()

    def _resume(self, spark: SparkCheckpoint) -> None:
        """Take up what an earlier run left, or refuse if Spark and the table would disagree."""
        memory = self._memory
        if memory.last >= 0 and memory.query_id != spark.query_id:
            message = (
                f"from_spark_stream: {memory.place} holds batches of the query {memory.query_id}, the checkpoint {spark.path} "
                f"belongs to {spark.query_id or 'none yet'}: every row would come twice. "
                "Give the checkpoint and the folder that were written together, or two fresh ones"
            )
            raise errors.CheckpointError(message)
        if memory.last < spark.committed:
            held = f"holds them up to {memory.last}" if memory.last >= 0 else "holds none"
            self._refuse_gap(
                f"the checkpoint {spark.path} is done with batches up to {spark.committed}, {memory.place} {held}"
            )
        elif spark.query_id is None and not memory.outlives:
            warnings.warn(
                "from_spark_stream: this checkpoint cannot be taken up again after a restart, because the table "
                f"forgets its rows. {REMEDIES}",
                stacklevel=4,
            )
        memory.restore(self._kind)
        self._last = max(memory.last, spark.committed)

    # One batch. Runs on a thread of Spark's callback server.

    def _foreach_batch(self, df: Any, batch_id: int) -> None:
        try:
            # `start()` returns while the first batch is under way, and the log must know the query first.
            self._running.wait()
            self._apply(df, batch_id)
        except BaseException as error:
            self._fail(error)
            raise

    def _apply(self, df: Any, batch_id: int) -> None:
        if self._error is not None:
            raise self._error
        if batch_id <= self._last:
            # Sent again after a crash between our commit and Spark's. Its state stores must still see every row.
            self._refuse_another_plan(df, batch_id)
            logger.info("from_spark_stream: batch %d came again and is left out", batch_id)
            df.write.format("noop").mode("overwrite").save()
            return
        if batch_id > self._last + 1:
            self._refuse_gap(f"batch {batch_id} came, the last one in the table is {self.last_batch}")
        rows = self._collect(df)
        source = source_of(df.sparkSession, self._checkpoint, batch_id) if self._memory.outlives else ""
        token = self._memory.put(self._kind, batch_id, rows, source)
        if not self._graph.is_started:
            self._reach(batch_id)  # queued, which is all that a graph stepped by hand promises
        if token is not None:
            self._settle(token, batch_id)
        self._reach(batch_id)

    def _reach(self, batch_id: int) -> None:
        with self._changed:
            self._last = batch_id
            self._changed.notify_all()

    def _collect(self, df: Any) -> Any:
        found = [(field.name, field.dataType) for field in df.schema]
        if found != self._spark_types:
            message = (
                "from_spark_stream: the schema of a batch changed. "
                f"The table has {_spelled(self._spark_types)}; the batch has {_spelled(found)}"
            )
            raise errors.SchemaError(message)
        schema = self._schema
        if self._delete_when is not None:
            from pyspark.sql import functions

            condition = self._delete_when
            df = df.withColumn(DELETE, functions.expr(condition) if isinstance(condition, str) else condition)
            schema = _logged(schema, condition)
        return sorted_by(df.toArrow().cast(schema), self._order)

    def _refuse_another_plan(self, df: Any, batch_id: int) -> None:
        """A loss of power may take files of Spark's that are not on disk yet; then it plans a batch anew."""
        if not self._memory.outlives:
            return
        now = source_of(df.sparkSession, self._checkpoint, batch_id)
        planned = self._memory.planned_otherwise(batch_id, now)
        if planned is not None:
            message = (
                f"from_spark_stream: {self._memory.place} holds batch {batch_id} as it was read from {planned!r}, and Spark sends "
                f"it again read from {now!r}: rows would be lost. Start over with a fresh checkpoint and a fresh folder"
            )
            raise errors.CheckpointError(message)

    def _settle(self, token: Token, batch_id: int) -> None:
        """Let Spark wait until the batch is visible; on a graph stepped by hand that may be never.

        Where a batch outlives the process only when its token is reached, Spark waits for that, however long it takes: of a
        batch that it holds for done, nobody would send the rows again.
        """
        while self._memory.waits or self._one_step or self._graph.is_started:
            if self._stopping:
                if not self._memory.waits:
                    return
                message = f"from_spark_stream: the feed was stopped before batch {batch_id} was on disk; it comes again"
                raise errors.CancelledError(message)
            try:
                token.wait(timeout=POLL)
            except errors.TimeoutError:
                continue
            return

    def _refuse_gap(self, found: str) -> bool:
        """Raise over missing batches, or warn and return True if the caller of the feed wants to go on."""
        message = f"from_spark_stream: {found}; Spark will not send the missing ones again. {REMEDIES}"
        if self._on_gap == "error":
            raise errors.GapError(message)
        warnings.warn(message, stacklevel=2)
        return True

    # The end

    def _watch(self) -> None:
        try:
            self.query.awaitTermination()
        except Exception as error:  # noqa: BLE001 - whatever ended the query must reach the table
            if not self._stopping:
                self._fail(error)
        finally:
            self._memory.close()
            with self._changed:
                self._running.clear()
                self._changed.notify_all()

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            if self._error is not None or self._stopping:
                return
            self._error = error
            self._changed.notify_all()
        self._kind.source.fail(error)


def _logged(schema: Any, delete_when: Any) -> Any:
    """The columns of a batch as it is applied and written: with its tombstones, if it has any."""
    if delete_when is None:
        return schema
    pa = pyarrow()
    return schema.append(pa.field(DELETE, pa.bool_()))


def _spelled(fields: list[tuple[str, Any]]) -> str:
    return "(" + ", ".join(f"{name} {kind.simpleString()}" for name, kind in fields) + ")"
