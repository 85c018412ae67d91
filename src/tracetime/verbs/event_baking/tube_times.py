"""The times of a Perfetto trace's events by the tube; by floor for those that it cannot place.

Nothing is done per event in Python.
"""

from __future__ import annotations

import secrets
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels.common.columns import Sequences
from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.errors import AS_IS, PLACED, RESOLVED
from tracetime.formats.perfetto.payload_names import PAYLOAD_NAMES
from tracetime.formats.perfetto.schema import KINDS
from tracetime.graph.clock_graph import inner
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.events_table import Columns
from tracetime.trace.trace import Trace

# Events of one packet sequence in the order of the file, where error bars allow it.
#
# The estimates of two clocks may reverse two events whose bars overlap: an end would come before
# its begin. The loop over events is the kernel's (`_kernels/common/columns/order.pxi`).

_PACKET: Final = 0
"""The kind of rows that are packets, in every vocabulary of Perfetto's."""


class KeptOrder:
    """A mover of track events' estimates forward to that of the event before them.

    Events of a packet sequence that floor places in the order of the file stay in that order, where
    the bar of the later one reaches so far.

    Args:
        payload: the code of track events.
    """

    def __init__(self, payload: int) -> None:
        self._payload = payload
        self._sequences = Sequences(secrets.randbits(64))

    @property
    def kept(self) -> int:
        """The number of events that were moved."""
        return self._sequences.kept

    @property
    def reversed(self) -> int:
        """The number of events whose bars exclude that they come where floor puts them."""
        return self._sequences.reversed

    def keep(self, floor: Columns, tube: Columns) -> Columns:
        """Return the rows with the order kept.

        Args:
            floor: a batch by Perfetto's rule.
            tube: the same rows with estimates and bounds.
        """
        which = (
            (floor["kind"] == _PACKET)
            & (floor["payload"] == self._payload)
            & is_any_of(floor["status"], PLACED)
            & is_any_of(tube["status"], PLACED)
            & (tube["earliest"] <= tube["latest"])
        )
        estimate = tube["trace_time"].copy()
        self._sequences.keep(
            which.view(np.uint8),
            floor["machine"],
            floor["packet_sequence"],
            floor["trace_time"],
            tube["latest"],
            estimate,
        )
        return {**tube, "trace_time": estimate}


_THREAD: Final = next(n for n, name in PAYLOAD_NAMES.items() if name == "thread_descriptor")
_TRACK_EVENT: Final = next(n for n, name in PAYLOAD_NAMES.items() if name == "track_event")


class TubeTimes:
    """A placer of rows by the tube, and by floor where the tube has no place for them.

    Args:
        trace: which the rows are of.
        clock: to put them on.

    Attributes:
        bars: the error bars that place them.
        order: the counts of events kept in the order of the file.
        as_floor: events that only floor places, where their bar does not exclude that.
        late_descriptors: descriptors of threads that floor does not place.
    """

    def __init__(self, trace: Trace, clock: ClockId) -> None:
        self._home = trace.trace_clock
        self._clock = clock
        self._home_machine = trace.machines[self._home.machine]
        self.bars = ErrorBars(inner(trace.clocks), clock, trace.machines, "estimated", {})
        self.order = KeptOrder(_TRACK_EVENT)
        self.as_floor = 0
        self.late_descriptors = 0

    def place(self, columns: Columns) -> Columns:
        """Return the rows with their times; columns: a batch by Perfetto's rule."""
        tube = self.order.keep(columns, self.bars.place(columns))
        placed, is_raw = is_any_of(tube["status"], PLACED), tube["status"] == AS_IS
        floor = columns
        if self._clock != self._home:
            # A value without a clock is on the trace clock.
            placed &= ~is_raw
            floor = self._from_home(columns, is_any_of(columns["status"], PLACED) & ~placed)
        times, earliest, latest = floor["trace_time"], tube["earliest"], tube["latest"]
        excluded = (earliest <= latest) & ((times < earliest) | (latest < times))
        by_floor = ~placed & ~excluded
        # Rows that are no events have no kind.
        counted = by_floor & ~is_raw & (columns["kind"] < len(KINDS))
        self.as_floor += int(np.count_nonzero(counted & is_any_of(floor["status"], PLACED)))
        late = placed & ~is_any_of(columns["status"], PLACED) & (columns["payload"] == _THREAD)
        self.late_descriptors += int(np.count_nonzero(late))
        return {
            **tube,
            "trace_time": np.where(by_floor, times, tube["trace_time"]),
            "status": np.where(by_floor, floor["status"], tube["status"]),
        }

    def _from_home(self, columns: Columns, which: npt.NDArray[np.bool_]) -> Columns:
        """The batch, with some rows on the trace clock converted to the output's clock."""
        rows = np.flatnonzero(which)
        there = {name: column[rows] for name, column in columns.items()}
        for name, value in (
            ("clock", self._home.clock),
            ("sequence", 0),
            ("machine", self._home_machine),
            ("status", RESOLVED),
        ):
            there[name] = np.full_like(there[name], value)
        there["source_ns"] = there["trace_time"]
        moved = self.bars.place(there)
        found = dict(columns)
        for name in ("trace_time", "status"):
            found[name] = columns[name].copy()
            found[name][rows] = moved[name]
        return found
