"""What remembers how far a stream was read: with it a restart goes on behind the last batch, and no row is lost or doubled.

A table that forgets has `Forgetful`, ``persist=`` keeps the batches in a folder of their own (`Kept`), and ``durable=True``
keeps the table in the folder of its graph, with the number of the batch in the same commit (`Durable`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Protocol

from tickframe import errors
from tickframe.describe import short

if TYPE_CHECKING:
    import pyarrow as pa

    from tickframe import Graph, Token
    from tickframe.spark._log import BatchLog
    from tickframe.spark._modes import Mode

REPLANNED = 100  # as many batches Spark keeps the plans of, so as many it may send again
COMPACT = 256  # records of a batch log, at least, before they become one


class Memory(Protocol):
    """How far a stream is in its table, and what makes that outlive the process."""

    place: str
    """Where it is kept, as messages name it."""
    last: int
    """The last batch in the table, -1 for none."""
    query_id: str | None
    """Whose batches these are; None before the first."""
    outlives: bool
    """Whether what it remembers outlives the process."""
    waits: bool
    """Whether a batch outlives the process only when its token is reached: Spark must not hear of it before."""

    def bind(self, query_id: str) -> None:
        """Note whose batches come."""
        ...

    def restore(self, kind: Mode) -> None:
        """Bring the table to where it was."""
        ...

    def put(self, kind: Mode, number: int, rows: pa.Table, source: str) -> Token | None:
        """Queue one batch as one transaction. None if it changes nothing.

        Args:
            kind: what a batch means.
            number: Spark's batch id.
            rows: what the batch holds.
            source: where Spark read it from.
        """
        ...

    def planned_otherwise(self, number: int, source: str) -> str | None:
        """Where a batch that is here was read from, if that is known and is not `source`."""
        ...

    def close(self) -> None:
        """Let go of what is held. Closing twice does nothing."""
        ...


class Forgetful:
    """Nothing is remembered: the stream begins anew with the process."""

    place = "the table"
    last = -1
    query_id: str | None = None
    outlives = False
    waits = False

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def bind(self, query_id: str) -> None:
        self.query_id = query_id

    def restore(self, kind: Mode) -> None:
        pass

    def put(self, kind: Mode, number: int, rows: pa.Table, source: str) -> Token | None:  # noqa: ARG002 - the protocol's
        with self._graph.transaction():
            return kind.apply(rows)

    def planned_otherwise(self, number: int, source: str) -> str | None:  # noqa: ARG002 - the protocol's
        return None

    def close(self) -> None:
        pass


class Kept(Forgetful):
    """The batches are in a folder of their own, each of them before the table shows it."""

    outlives = True

    def __init__(self, graph: Graph, log: BatchLog) -> None:
        super().__init__(graph)
        self._log = log
        self.place, self.last, self.query_id = log.path, log.last, log.query_id

    def bind(self, query_id: str) -> None:
        self._log.bind(query_id)
        super().bind(query_id)

    def restore(self, kind: Mode) -> None:
        for rows in kind.restored(self._log.read()):
            super().put(kind, self.last, rows, "")

    def put(self, kind: Mode, number: int, rows: pa.Table, source: str) -> Token | None:
        self._log.write(number, rows, source, whole=kind.whole)
        if kind.compacts and self._log.wants_whole(COMPACT):
            for one in kind.restored(self._log.read()):
                self._log.write(number, one, whole=True)
        self.last = number
        return super().put(kind, number, rows, source)

    def planned_otherwise(self, number: int, source: str) -> str | None:
        logged = self._log.source_of(number)
        return None if logged == source else logged

    def close(self) -> None:
        self._log.close()


class Durable(Forgetful):
    """The table is a durable source of its graph, and a position of the graph says how far it is.

    Args:
        graph: a durable graph.
        name: of the source.
        mode: the output mode of the query; rows are taken up again only in the mode in which they came.

    Raises:
        errors.CheckpointError: the position is none of a stream, or of another mode.
    """

    outlives = True
    waits = True

    def __init__(self, graph: Graph, name: str, mode: str) -> None:
        super().__init__(graph)
        self._key = f"spark/{name}"
        self._mode = mode
        self._plans: dict[str, str] = {}
        self.place = f"{graph.durable} ({name!r})"
        self._settle(name)
        said = graph.positions.get(self._key)
        if said is not None:
            self._take_up(said)

    def _settle(self, name: str) -> None:
        """A batch that an earlier feed of this process queued is in the table, before anybody asks how far it is."""
        queued = self._graph.positions._put_last.get(self._key)
        if queued is None or queued.step is not None:
            return
        if not self._graph.is_started:
            message = f"from_spark_stream: a batch of {name!r} waits for a step; call graph.step() first"
            raise errors.InvalidOperationError(message)
        queued.wait()

    def _take_up(self, said: Any) -> None:
        try:
            mode, self.query_id, self.last = str(said["mode"]), str(said["query_id"]), int(said["batch"])
            self._plans = {str(number): str(plan) for number, plan in said["plans"].items()}
        except (TypeError, KeyError, ValueError, AttributeError) as cause:
            message = f"from_spark_stream: graph.positions[{self._key!r}] is none of a stream: {short(said)}"
            raise errors.CheckpointError(message) from cause
        if mode != self._mode:
            message = f"from_spark_stream: the rows in {self.place} came in mode {mode!r}, the stream is {self._mode!r}"
            raise errors.CheckpointError(message)

    def put(self, kind: Mode, number: int, rows: pa.Table, source: str) -> Token | None:
        plans = {**self._plans, str(number): _digest(source)}
        plans = dict(list(plans.items())[-REPLANNED:])
        position = {"mode": self._mode, "query_id": self.query_id, "batch": number, "plans": plans}
        with self._graph.transaction():
            kind.apply(rows)
            token = self._graph.positions._put(self._key, position)
        self._plans, self.last = plans, number
        return token

    def planned_otherwise(self, number: int, source: str) -> str | None:
        planned = self._plans.get(str(number))
        return None if planned in {None, _digest(source)} else f"a plan with the digest {planned}"


def _digest(source: str) -> str:
    """What tells two plans of a batch apart, short enough to be written with each."""
    return hashlib.sha256(source.encode()).hexdigest()[:24]
