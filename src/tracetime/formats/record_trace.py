"""A trace of records that each have a clock and a timestamp, in a format without rules of its own.

A format gives its clock graph and its records; here they become a `Trace`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import texts_of
from tracetime.errors import OVERFLOW, TraceError, UsageError
from tracetime.formats.name_columns import name_columns
from tracetime.formats.trace_file import TraceFile
from tracetime.formats.trace_folder import TraceFolder
from tracetime.graph.arguments import PolicyName
from tracetime.graph.clock_graph import ClockGraph
from tracetime.graph.tube.results import Bars
from tracetime.trace.error_bars import PlacementObserver
from tracetime.trace.events_table import CUT_OFF, EARLY, Columns, Kind, Vocabulary
from tracetime.trace.open_options import OpenOptions
from tracetime.trace.placement import placed_by_floor
from tracetime.trace.trace import Trace, TraceReading

Item = TypeVar("Item")


class FileClocks(NamedTuple):
    """The clocks of a file.

    Attributes:
        graph: with every snapshot and order of the file.
        trace_clock: the clock of trace time.
        machines: machine_id by index, as `Trace.machines` has them.
    """

    graph: ClockGraph
    trace_clock: ClockId
    machines: list[int]


@dataclass(frozen=True, eq=False, slots=True)
class Records:
    """The records of a part of a file, in file order.

    Attributes:
        columns: as `placement.placed_by_floor` takes them.
        names: as `name_columns` takes them; empty where names are not requested.
        position: the byte of the file that has been reached, for progress.
        cut_off_ns: int64, how much later than `timestamp` the clock of each may have read, because
            the file has only part of the reading; the tube's bars hold it (`events_table.CUT_OFF`).
        early_ns: int64, how much earlier, because it was rounded; only beside `cut_off_ns`.
        beyond: of each row, whether its time is beyond int64 ns, and `timestamp` the end of int64.
    """

    columns: Columns
    names: Mapping[str, pa.Array] = field(default_factory=dict)
    position: int = 0
    cut_off_ns: npt.NDArray[np.int64] | None = None
    early_ns: npt.NDArray[np.int64] | None = None
    beyond: npt.NDArray[np.bool_] | None = None


class RecordTrace(Trace):
    """A trace whose format gives `KINDS`, `_read_clocks` and `_read_records`.

    Both raise TraceError where the file is cut off or corrupt. `_read_clocks` wraps what it reads
    in `_until_damage`, which with `partial` ends there instead; that is done for the records.
    """

    KINDS: ClassVar[tuple[Kind, ...]]
    """The kinds of rows, by the code in the column `kind`."""

    UNSAID: ClassVar[str] = ""
    """What files do not say of how clocks were read, where the format assumes half-widths."""

    def __init__(self, file: TraceFile | TraceFolder, options: OpenOptions) -> None:
        super().__init__(file.path, file.size, options)
        self._given = file
        if isinstance(file, TraceFile):
            self._file = file
        self._known: FileClocks | None = None
        self._damage: TraceError | None = None

    @abstractmethod
    def _read_clocks(self) -> FileClocks:
        """Read the file for its clocks."""

    @abstractmethod
    def _read_records(self, names: bool) -> Iterator[Records]:
        """Read the file from its start, batch by batch; with names, each record's names, too."""

    @property
    def clocks(self) -> ClockGraph:
        """The clock graph with every snapshot of the file; reads the file if necessary."""
        return self._clocks.graph

    @property
    def trace_clock(self) -> ClockId:
        """The clock of trace time."""
        return self._clocks.trace_clock

    @property
    def machines(self) -> list[int]:
        """`machine_id` of each machine: ClockId.machine is the index."""
        return self._clocks.machines

    @property
    def vocabulary(self) -> Vocabulary:
        """The meanings of the codes in the columns: records carry no payload."""
        return Vocabulary(self.KINDS, np.array([-1], np.int16), texts_of([]))

    @property
    def truncated(self) -> TraceError | None:
        """With `partial`, the error after which the rest was not read."""
        return self._damage

    def columns(
        self,
        progress: Callable[[int], None] | None = None,
        *,
        names: bool = False,
        written: int = 0,
    ) -> TraceReading:
        """Read the file from its start; see `Trace.columns`."""
        self.check_open()
        reading = TraceReading(iter(()))
        reading.batches = self._placed(reading, progress, names)
        return reading

    def placed_columns(
        self,
        policy: PolicyName = "floor",
        progress: Callable[[int], None] | None = None,
        *,
        bars: Bars = "estimated",
        names: bool = False,
        observer: PlacementObserver | None = None,
    ) -> TraceReading:
        """Read the file from its start as `events` does, as columns; see `Trace.placed_columns`.

        Raises:
            UsageError: guaranteed bars on half-widths that the format assumes.
        """
        if policy == "tube" and bars == "guaranteed":
            self._check_widths()
        return super().placed_columns(policy, progress, bars=bars, names=names, observer=observer)

    def _assumed(self) -> dict[ClockId, ClockId]:
        """The clocks whose half-widths the format assumes, and the one that would give each."""
        return {}

    def _check_widths(self) -> None:
        """Raise UsageError unless the caller gave each half-width that the format assumes."""
        given = {d.id for d in self.domains if d.assumed_half_width_ns is not None}
        name = self.clocks.name
        for clock, by in self._assumed().items():
            if not given & {clock, by}:
                raise UsageError(
                    f"no bar of {name(clock)} is guaranteed: {self.UNSAID}, and half-widths are "
                    f"assumed. Take estimated bars, or give the half-width ({name(by)}=1ms with "
                    "--assume-half-width, a ClockDomain)"
                )

    def close(self) -> None:
        """Close the file."""
        self._given.close()

    def check_open(self) -> None:
        """Raise UsageError once the trace is closed."""
        self._given.check_open()

    @property
    def _clocks(self) -> FileClocks:
        if self._known is None:
            self.check_open()
            known = self._read_clocks()
            self.apply_options(known.graph)
            self._known = known
        return self._known

    def _until_damage(self, items: Iterator[Item]) -> Iterator[Item]:
        """Yield items; with `partial`, end where the file is damaged instead of raising."""
        try:
            yield from items
        except TraceError as error:
            if not self.options.partial:
                raise
            self._damage = error.with_traceback(None)

    def _placed(
        self, reading: TraceReading, progress: Callable[[int], None] | None, names: bool
    ) -> Iterator[Columns]:
        clocks = self._clocks
        for records in self._until_damage(self._read_records(names)):
            if not len(records.columns["timestamp"]):
                continue
            columns = placed_by_floor(
                records.columns, clocks.graph, clocks.trace_clock, clocks.machines
            )
            if records.beyond is not None:
                columns["status"][records.beyond] = OVERFLOW
            if records.cut_off_ns is not None:
                columns[CUT_OFF] = records.cut_off_ns
            if records.early_ns is not None:
                columns[EARLY] = records.early_ns
            if names:
                columns |= name_columns(records.names, len(columns["timestamp"]))
            yield columns
            if progress is not None:
                progress(records.position)
        reading.truncated = self._damage
