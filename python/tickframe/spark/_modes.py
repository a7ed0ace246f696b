"""How one micro-batch changes its table, for each output mode of Structured Streaming.

Each mode owns a live source and puts a batch into it in one piece: the rows of a batch become visible in one step.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Protocol

from tickframe import errors
from tickframe.interchange import Unshared
from tickframe.spark._types import pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from tickframe import AppendTable, BlinkTable, Graph, Table, Token

DELETE = "__tickframe_delete"
"""The column by which a batch marks its tombstones."""


class Mode(Protocol):
    """One output mode: a source and the meaning of a batch."""

    source: Any
    """The live source that is written; it can be made to fail."""
    table: Table
    """What the user sees."""
    whole: bool
    """Each batch is the state of the table, not a change of it."""

    def apply(self, rows: pa.Table) -> Token | None:
        """Queue one batch as one transaction; None when it changes nothing."""
        ...

    compacts: bool
    """Whether one batch can have the effect of several."""

    def restored(self, batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Batches that bring an empty table to where these did, each in a step of its own; one, if it compacts."""
        ...


def mode_of(
    mode: str,
    schema: pa.Schema,
    key: Sequence[str],
    *,
    blink: bool,
    ring: int | None,
    deletes: bool,
    graph: Graph | None,
) -> Mode:
    """The mode by its Spark name, its options checked against each other."""
    for name in key:
        if name not in schema.names:
            message = f"from_spark_stream: no column {name!r} for key=; there are {', '.join(schema.names)}"
            raise errors.ColumnNotFoundError(message, column=name, columns=list(schema.names))
    if mode not in {"append", "update", "complete"}:
        message = f"from_spark_stream: mode is 'append', 'update' or 'complete', not {mode!r}"
        raise ValueError(message)
    if mode == "append" and key:
        message = "from_spark_stream: in mode 'append' every row is new; key= belongs to 'update' and 'complete'"
        raise ValueError(message)
    if mode == "update" and not key:
        message = "from_spark_stream: mode 'update' replaces rows, so it needs key= to know which"
        raise ValueError(message)
    if mode != "append" and (blink or ring is not None):
        message = f"from_spark_stream: blink= and ring= keep appended rows for a while; mode {mode!r} appends none"
        raise ValueError(message)
    if mode != "update" and deletes:
        message = f"from_spark_stream: delete_when= names tombstones of mode 'update', not of {mode!r}"
        raise ValueError(message)
    if mode == "append":
        return Append(schema, graph, blink=blink, ring=ring)
    if mode == "update":
        return Update(schema, key, graph, deletes=deletes)
    return Complete(schema, key, graph) if key else CompleteWithoutKey(schema, graph)


class Append:
    """Every row is new: an append-only table, a blink table, or a ring of the last rows."""

    whole = False
    compacts = False

    def __init__(self, schema: pa.Schema, graph: Graph | None, *, blink: bool, ring: int | None) -> None:
        import tickframe as tf

        if blink and ring is not None:
            message = "from_spark_stream: blink= and ring= exclude each other"
            raise ValueError(message)
        self.source: AppendTable | BlinkTable
        self.source = tf.blink_table(schema, graph=graph) if blink else tf.append_table(schema, graph=graph)
        self.table: Table = self.source
        if ring is not None:
            ring_table = getattr(tf, "ring_table", None)
            if ring_table is None:
                message = "from_spark_stream: ring= needs tf.ring_table, which this version does not have"
                raise errors.InvalidOperationError(message)
            self.table = ring_table(self.source, ring)

    def apply(self, rows: pa.Table) -> Token | None:
        return self.source.append(Unshared(rows)) if rows.num_rows else None

    def restored(self, batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
        return batches  # rows are kept as they came; writing them again would only cost


class Update:
    """The last row of each key: a keyed table; rows that `delete_when` names take their key out of it."""

    whole = False
    compacts = True

    def __init__(self, schema: pa.Schema, key: Sequence[str], graph: Graph | None, *, deletes: bool) -> None:
        import tickframe as tf

        self._schema = schema
        self._key = list(key)
        self._deletes = deletes
        self._graph = graph if graph is not None else tf.default_graph()
        self.source = tf.keyed_table(schema, key=self._key, graph=self._graph)
        self.table: Table = self.source

    def apply(self, rows: pa.Table) -> Token | None:
        if not rows.num_rows:
            return None
        kept, gone = self._split(last_of_each_key(rows, self._key)) if self._deletes else (rows, rows.slice(0, 0))
        token: Token | None = None
        with self._graph.transaction():
            if gone.num_rows:
                token = self.source.delete(gone.select(self._key))
            if kept.num_rows:
                token = self.source.upsert(Unshared(kept))
        return token

    def restored(self, batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """One batch without tombstones, its rows in the order of the table."""
        import tickframe as tf

        pa = pyarrow()
        graph = tf.Graph()
        again = Update(self._schema, self._key, graph, deletes=self._deletes)
        for rows in batches:
            again.apply(rows)
            graph.step()
        state = again.table.to_arrow().cast(self._schema)
        if self._deletes:
            state = state.append_column(pa.field(DELETE, pa.bool_()), pa.nulls(len(state), pa.bool_()))
        yield state

    def _split(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        import pyarrow.compute as pc

        gone = pc.fill_null(rows.column(DELETE), fill_value=False)
        plain = rows.drop_columns([DELETE])
        return plain.filter(pc.invert(gone)), plain.filter(gone)


class Complete:
    """Each batch is the whole result: the difference by key to the one before."""

    whole = True
    compacts = False

    def __init__(self, schema: pa.Schema, key: Sequence[str], graph: Graph | None) -> None:
        import tickframe as tf

        self.source = tf.keyed_table(schema, key=list(key), graph=graph)
        self.table: Table = self.source

    def apply(self, rows: pa.Table) -> Token | None:
        return self.source.replace(Unshared(rows))

    def restored(self, batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
        return batches  # the last one alone is kept


class CompleteWithoutKey:
    """Each batch is the whole result and no column tells its rows apart: all go, all come."""

    whole = True
    compacts = False

    def __init__(self, schema: pa.Schema, graph: Graph | None) -> None:
        import tickframe as tf

        warnings.warn(
            "from_spark_stream: mode 'complete' without key= removes and adds every row with every batch; "
            "with key= only what differs changes",
            stacklevel=4,
        )
        self._present: range = range(0)
        self.source = tf.input_table(schema, graph=graph)
        self.table: Table = self.source

    def apply(self, rows: pa.Table) -> Token | None:
        coming = range(self._present.stop, self._present.stop + rows.num_rows)
        gone, self._present = self._present, coming
        if not gone and not coming:
            return None
        return self.source.apply(removed=gone or None, added=(coming, rows) if coming else None)

    def restored(self, batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
        return batches


def last_of_each_key(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """The last row of each key, in the order in which the keys first came."""
    pa = pyarrow()
    numbered = rows.select(list(key)).append_column("__place", pa.array(range(rows.num_rows), pa.int64()))
    last = numbered.group_by(list(key), use_threads=False).aggregate([("__place", "max")])
    return rows.take(last.column("__place_max"))
