"""Rows with error bars: columns from Perfetto's rule to the tube's estimate and bounds.

How one clock converts is the graph's (`graph/tube/policy.py`); here rows are grouped by clock.
Nothing is done per event in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import (
    AMBIGUOUS_SOURCE,
    BARRED,
    NO_PATH,
    NON_MONOTONIC_SOURCE,
    ONE_SIDED,
    PLACED,
    REASONS,
    RESOLVED,
    UNKNOWN_SOURCE_CLOCK,
    UNKNOWN_TARGET_CLOCK,
    ConversionError,
)
from tracetime.graph.graph import Graph
from tracetime.graph.ticks import saturated_ns
from tracetime.graph.tube.results import Bars, Reached
from tracetime.graph.tube.wraps import open_wraps
from tracetime.graph.values import Values
from tracetime.trace.event_clocks import Rows, by_clock, machine_indexes
from tracetime.trace.events_table import CUT_OFF, EARLY, SOURCE_STATUS, SOURCE_TIME, Columns

if TYPE_CHECKING:
    from tracetime.graph.tube.policy import TubePolicy

TubeFaults = dict[tuple[ClockId, int], str]
"""By clock and status (of `errors.REASONS`), why the tube could not place its events."""

_READ: Final = ("source_ns", "snapshots", CUT_OFF, EARLY)
_UNREAD: Final = (UNKNOWN_SOURCE_CLOCK, UNKNOWN_TARGET_CLOCK)
_UNTIED: Final = (NO_PATH, *_UNREAD)
"""The statuses that floor gives where no snapshot that was read before leads to trace time."""


class PlacementObserver(Protocol):
    """An observer of the places that floor and the tube give the same events."""

    def compare(self, clock: ClockId, floor: Values, estimate: Values) -> None:
        """Take both places of events of one clock."""

    def bound(self, clock: ClockId, read: Values, earliest: Values, latest: Values) -> None:
        """Take readings of events of one clock that have bars, and these."""

    def untie(self, clock: ClockId) -> None:
        """Take a clock that floor placed; the tube has no path for it, or an open bar."""

    def order(self, floor: Values, earliest: Values, latest: Values) -> None:
        """Take the times of all events that both placed, in file order."""


class ErrorBars:
    """A converter of columns into those with the tube's estimate and bounds.

    Args:
        graph: with every snapshot of the trace.
        trace_clock: what to convert to.
        machines: machine_id by index, as `Trace.machines` has them.
        bars: "estimated" or "guaranteed".
        faults: takes by clock and status why the tube could not place events of that clock, and
            what to do, where it can say.
        observer: receives where floor and the tube place each event.

    Attributes:
        home: the trace clock of the file itself.
    """

    def __init__(
        self,
        graph: Graph,
        trace_clock: ClockId,
        machines: list[int],
        bars: Bars,
        faults: TubeFaults,
        observer: PlacementObserver | None = None,
    ) -> None:
        self._graph = graph
        self._trace_clock = self.home = trace_clock
        self._machines = machine_indexes(machines)
        self._bars = bars
        self._observer = observer
        infos = graph.clocks()
        self._incremental = {info.clock for info in infos if info.incremental}
        self._units = {info.clock: info.unit_ns for info in infos if info.unit_ns != 1}
        self._faults = faults

    def place(self, columns: Columns) -> Columns:
        """Return the rows with the columns of `BOUNDED_SCHEMA`.

        Rows that floor resolved, or refused because their clock ran backwards, are placed by the
        tube, or null with its reason; so are those for which floor has no path (it leads over a
        clock that ran backwards, has many hops, starts at a clock with orders and no snapshot, or
        the snapshots come later in the file) and the tube has one. All others stay as they are.
        Without a bar, earliest is after latest; a side that nothing bounds is the end of int64, and
        the status then one_sided. Those of a baked trace have none. Where the file has only part of
        a reading (`CUT_OFF`), the bar holds every reading that it can be of. Rows of a baked trace
        that know their source's (`SOURCE_TIME`) have its statuses and bars, and stay where they
        are.
        """
        if SOURCE_TIME in columns:
            return self._place_baked(columns)
        return self._place(columns, self._observer)

    def _place_baked(self, columns: Columns) -> Columns:
        own = {"trace_time": columns["trace_time"], "status": columns["status"]}
        there = {"trace_time": columns[SOURCE_TIME], "status": columns[SOURCE_STATUS]}
        # The cost of floor in the source is none of the baked trace's.
        placed = self._place(columns | there, None)
        is_placed = is_any_of(own["status"], PLACED)
        agree = is_placed == is_any_of(placed["status"], PLACED)
        placed["status"] = np.where(agree, placed["status"], own["status"])
        placed["trace_time"] = own["trace_time"]
        # What only the file has a place for is where the bar of its reading allows.
        allowed = placed["earliest"] <= own["trace_time"]
        allowed &= is_placed & (own["trace_time"] <= placed["latest"])
        lost = ~agree & ~allowed
        placed["earliest"][lost], placed["latest"][lost] = 1, 0
        return placed

    def _place(self, columns: Columns, observer: PlacementObserver | None) -> Columns:
        floor, before = columns["trace_time"], columns["status"]
        if self._graph.state.baked:
            # The bars are those of its source, which has the clocks.
            nothing = np.zeros_like(floor)
            return {**columns, "earliest": nothing + 1, "latest": nothing}
        columns = self._in_ns(columns)
        source = columns["source_ns"]
        estimate, status = floor.copy(), before.copy()
        earliest, latest = np.ones_like(floor), np.zeros_like(floor)
        rows = np.flatnonzero(self._placeable(columns))
        groups = list(self._by_clock(columns, rows))
        self._expect(clock for clock, _ in groups if clock != self._trace_clock)
        for clock, group in groups:
            if clock in self._incremental:
                # Perfetto no longer sums the deltas of a clock that ran backwards.
                group = group[before[group] == RESOLVED]
            unread = is_any_of(before[group], _UNREAD)
            if not self._has_way(clock):
                group = group[~is_any_of(before[group], _UNTIED)]
            if unread.any() and not len(group):
                continue
            reached = self._convert(clock, source[group], columns["snapshots"][group])
            if CUT_OFF in columns:
                names = [name for name in _READ if name in columns]
                reached = self._widen(
                    clock, reached, {name: columns[name][group] for name in names}
                )
            estimate[group], status[group] = reached.estimate, reached.status
            earliest[group], latest[group] = reached.earliest, reached.latest
            if observer is not None:
                with_bar = group[is_any_of(status[group], BARRED)]
                observer.bound(clock, source[with_bar], earliest[with_bar], latest[with_bar])
            if observer is not None and clock != self._trace_clock:
                both = group[(before[group] == RESOLVED) & (status[group] == RESOLVED)]
                observer.compare(clock, floor[both], estimate[both])
                unsure = is_any_of(status[group], (NO_PATH, ONE_SIDED))
                if np.any((before[group] == RESOLVED) & unsure):
                    observer.untie(clock)
        barred = is_any_of(status, BARRED)
        earliest[~barred], latest[~barred] = 1, 0
        if observer is not None:
            both = rows[(before[rows] == RESOLVED) & (status[rows] == RESOLVED)]
            observer.order(floor[both], earliest[both], latest[both])
        return {
            **columns,
            "trace_time": estimate,
            "status": status,
            "earliest": earliest,
            "latest": latest,
        }

    def _placeable(self, columns: Columns) -> npt.NDArray[np.bool_]:
        """A mask of the rows that the tube may place."""
        status = columns["status"]
        refused = is_any_of(status, (NON_MONOTONIC_SOURCE, *_UNTIED))
        # Without a clock of its own an item was refused with its packet.
        found: npt.NDArray[np.bool_] = (status == RESOLVED) | (refused & (columns["clock"] != 0))
        return found

    def _in_ns(self, columns: Columns) -> Columns:
        """The columns, with `source_ns` in ns also where a clock's unit was not known before."""
        if not self._units or "timestamp" not in columns:
            return columns
        as_read = is_any_of(columns["status"], _UNTIED)
        as_read &= columns["source_ns"] == columns["timestamp"]
        source = columns["source_ns"].copy()
        for clock, group in self._by_clock(columns, np.flatnonzero(as_read)):
            source[group], _ = saturated_ns(source[group], Fraction(self._units.get(clock, 1)))
        return {**columns, "source_ns": source}

    def _by_clock(self, columns: Columns, rows: Rows) -> Iterator[tuple[ClockId, Rows]]:
        for clock, group in by_clock(columns, rows, self._machines):
            yield self._id(clock), group

    def _id(self, clock: ClockId) -> ClockId:
        """The id in the graph of a clock that rows name."""
        return clock

    def _expect(self, clocks: Iterable[ClockId]) -> None:
        """Count clocks that will be converted; raise TraceError where they are too many."""
        self._graph.tubes.expect(clocks, self._trace_clock)

    def _has_way(self, clock: ClockId) -> bool:
        if clock == self._trace_clock:
            return True
        tubes = self._graph.tubes
        if not tubes.are_linked(clock, self._trace_clock):
            return False
        try:
            tubes.path(clock, self._trace_clock)
        except ConversionError as error:
            return REASONS.index(error.reason) not in _UNTIED
        return True

    def _convert(self, clock: ClockId, source_ns: Values, seen: npt.NDArray[np.uint32]) -> Reached:
        """Place readings of one clock; seen: how many snapshots had been read before each."""
        if clock == self._trace_clock:
            known = np.zeros(len(source_ns), dtype=np.uint8)
            return Reached(source_ns, source_ns, source_ns, known)
        try:
            # Not `graph.convert`: these are ns already, and which value fails why matters.
            tubes = self._graph.tubes
            reached = tubes.convert(
                source_ns,
                clock,
                self._trace_clock,
                self._bars,
                lambda counter: counter.around(seen),
            )[0]
        except ConversionError as error:
            reason = REASONS.index(error.reason)
            self._faults[clock, reason] = error.message
            nothing = np.zeros_like(source_ns)
            why = np.full(len(source_ns), reason, dtype=np.uint8)
            return Reached(nothing, nothing + 1, nothing, why)
        if np.any(reached.status == AMBIGUOUS_SOURCE):
            self._note_wraps(clock, tubes)
        return reached

    def _widen(self, clock: ClockId, reached: Reached, readings: Columns) -> Reached:
        """Widen bars to hold the part of readings that was cut off; readings: columns `_READ`."""
        source, cut_off = readings["source_ns"], readings[CUT_OFF]
        last = np.minimum(source, INT64_MAX - cut_off) + cut_off
        early = readings.get(EARLY, np.zeros_like(source))
        first = np.maximum(source, INT64_MIN + early) - early
        barred = is_any_of(reached.status, BARRED)
        if clock == self._trace_clock:
            return reached._replace(
                earliest=np.where(barred, first, reached.earliest),
                latest=np.where(barred, last, reached.latest),
            )
        earliest, latest = reached.earliest.copy(), reached.latest.copy()
        status = reached.status.copy()
        for other in (first, last):
            # Some bars over a hop hold the tick already; those of assumed half-widths need not.
            rows = np.flatnonzero(barred & (other != source))
            if not len(rows):
                continue
            there = self._convert(clock, other[rows], readings["snapshots"][rows])
            known = is_any_of(there.status, BARRED)
            earliest[rows] = np.minimum(earliest[rows], np.where(known, there.earliest, INT64_MIN))
            latest[rows] = np.maximum(latest[rows], np.where(known, there.latest, INT64_MAX))
        is_open = ((earliest == INT64_MIN) | (latest == INT64_MAX)) & (first < last)
        status[is_open & (status == RESOLVED)] = ONE_SIDED
        return Reached(reached.estimate, earliest, latest, status)

    def _note_wraps(self, clock: ClockId, tubes: TubePolicy) -> None:
        counter = tubes.pairs.counter(clock)
        if counter is not None:
            fault = open_wraps(clock, counter, self._graph.domain(clock).ns_per_tick)
            if fault is not None:
                self._faults[clock, AMBIGUOUS_SOURCE] = fault
