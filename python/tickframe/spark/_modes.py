"""How one micro-batch changes its table, for each output mode of Structured Streaming.

Each mode owns a live source and puts a batch into it in one piece: the rows of a batch become visible in one step.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tickframe import errors
from tickframe.interchange import Unshared
from tickframe.spark._types import pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from tickframe import AppendTable, BlinkTable, Graph, InputTable, KeyedTable, Table, Token

Fed = TypeVar("Fed", bound="Table")

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
        """Queue one batch in the transaction that is open; None when it changes nothing."""
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
    graph: Graph,
    durable: str | None,
) -> Mode:
    """The mode by its Spark name, its options checked against each other.

    A name in `durable` is that of a durable source of the graph, which is made or goes on.
    """
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
    if blink and durable is not None:
        message = "from_spark_stream: blink= rows live for one step, so durable=True has nothing to keep"
        raise ValueError(message)
    made = Maker(schema, graph, durable)
    if mode == "append":
        return Append(made, blink=blink, ring=ring)
    if mode == "update":
        return Update(made, key, deletes=deletes)
    return Complete(made, key) if key else CompleteWithoutKey(made)


class Maker:
    """Makes the source of a stream, or takes up the durable one that its graph has already."""

    def __init__(self, schema: pa.Schema, graph: Graph, durable: str | None = None) -> None:
        self.schema = schema
        self.graph = graph
        self._name = durable

    def append_table(self) -> AppendTable:
        import tickframe as tf

        found = self._standing(tf.AppendTable, None)
        return tf.append_table(self.schema, graph=self.graph, **self._kept()) if found is None else found

    def keyed_table(self, key: Sequence[str]) -> KeyedTable:
        import tickframe as tf

        found = self._standing(tf.KeyedTable, list(key))
        made = tf.keyed_table
        return made(self.schema, key=list(key), graph=self.graph, **self._kept()) if found is None else found

    def input_table(self) -> InputTable:
        import tickframe as tf

        found = self._standing(tf.InputTable, None)
        return tf.input_table(self.schema, graph=self.graph, **self._kept()) if found is None else found

    def _kept(self) -> dict[str, Any]:
        return {} if self._name is None else {"name": self._name, "durable": True}

    def _standing(self, kind: type[Fed], key: list[str] | None) -> Fed | None:
        """The durable source of that name, of a graph that was restored or whose feed was stopped."""
        import tickframe as tf

        found = None if self._name is None else self.graph._lasting.get(self._name)
        if found is None:
            return None
        wanted = tf.Schema(self.schema)
        if not isinstance(found, kind) or found.schema != wanted or getattr(found, "_key", None) != key:
            keyed = "" if key is None else f" with the key {key}"
            message = (
                f"from_spark_stream: the graph has a durable table {self._name!r} that is no {kind.__name__}{keyed} of "
                f"{wanted}; give another name="
            )
            raise errors.InvalidOperationError(message)
        return found


class Append:
    """Every row is new: an append-only table, a blink table, or a ring of the last rows."""

    whole = False
    compacts = False

    def __init__(self, made: Maker, *, blink: bool, ring: int | None) -> None:
        import tickframe as tf

        if blink and ring is not None:
            message = "from_spark_stream: blink= and ring= exclude each other"
            raise ValueError(message)
        self.source: AppendTable | BlinkTable
        self.source = tf.blink_table(made.schema, graph=made.graph) if blink else made.append_table()
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

    def __init__(self, made: Maker, key: Sequence[str], *, deletes: bool) -> None:
        self._schema = made.schema
        self._key = list(key)
        self._deletes = deletes
        self.source = made.keyed_table(self._key)
        self.table: Table = self.source

    def apply(self, rows: pa.Table) -> Token | None:
        if not rows.num_rows:
            return None
        kept, gone = self._split(last_of_each_key(rows, self._key)) if self._deletes else (rows, rows.slice(0, 0))
        token: Token | None = None
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
        again = Update(Maker(self._schema, graph), self._key, deletes=self._deletes)
        for rows in batches:
            with graph.transaction():
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

    def __init__(self, made: Maker, key: Sequence[str]) -> None:
        self.source = made.keyed_table(key)
        self.table: Table = self.source

    def apply(self, rows: pa.Table) -> Token | None:
        return self.source.replace(Unshared(rows))

    def restored(self, batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
        return batches  # the last one alone is kept


class CompleteWithoutKey:
    """Each batch is the whole result and no column tells its rows apart: all go, all come."""

    whole = True
    compacts = False

    def __init__(self, made: Maker) -> None:
        warnings.warn(
            "from_spark_stream: mode 'complete' without key= removes and adds every row with every batch; "
            "with key= only what differs changes",
            stacklevel=4,
        )
        self.source = made.input_table()
        stored = self.source.row_set
        self._present = range(stored.key_at(0), stored.key_at(stored.size - 1) + 1) if stored.size else range(0)
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
