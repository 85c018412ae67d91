"""Tables for DuckDB that are read when a query scans them, from the start in each scan.

A reader of record batches can be read once, and a query may scan a table twice or not at all. Here
a table is a schema and a function that starts a scan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from tracetime.clocks.ids import ClockId
from tracetime.graph.arguments import PolicyName

if TYPE_CHECKING:
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.tube.results import Bars

# The view of traces that all statements of a session share.


@dataclass(frozen=True, slots=True)
class View:
    """The view of traces that statements have.

    Attributes:
        policy, bars: of the events and of `to_clock`, as for `Trace.events`.
        names: whether events have columns that say what they are in all statements.
        labels: names given to clocks.
        by_trace: whether rows of one trace have the column `trace`, too, as those of several.
    """

    policy: PolicyName = "floor"
    bars: Bars = "estimated"
    names: bool = False
    labels: Mapping[ClockId, str] = field(default_factory=dict)
    by_trace: bool = False

    def name(self, clock: ClockId, graph: ClockGraph) -> str:
        """Return the name of a clock: a label, the name that the trace gives it, or its id."""
        return self.labels.get(clock) or graph.name(clock)


class Faults:
    """The first error that was raised in a call from DuckDB, which keeps only its text.

    Attributes:
        stopping: whether the statement is to stop.
    """

    def __init__(self) -> None:
        self.first: BaseException | None = None
        self.stopping = False

    def check(self, _: int) -> None:
        """Stop the reading of a trace: DuckDB stops between batches alone.

        Raises:
            KeyboardInterrupt: the statement is to stop.
        """
        if self.stopping:
            raise KeyboardInterrupt

    def add(self, error: BaseException) -> None:
        """Keep `error` if it is the first."""
        if self.first is None:
            self.first = error

    def take(self) -> BaseException | None:
        """Return the first error, and forget it."""
        first, self.first = self.first, None
        return first


class Stream:
    """One table, for `DuckDBPyConnection.register`.

    Args:
        schema: of every batch.
        begin: starts a scan. It is called when rows are read: planning a query only needs the
            schema.
        faults: keeps its errors.
    """

    def __init__(
        self, schema: pa.Schema, begin: Callable[[], Iterator[pa.RecordBatch]], faults: Faults
    ) -> None:
        self.schema = schema
        self._begin = begin
        self._faults = faults

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._begin()
        except GeneratorExit:
            raise
        except BaseException as error:
            self._faults.add(error)
            raise

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Start a scan, by Arrow's PyCapsule protocol."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self._batches())
        return reader.__arrow_c_stream__()
