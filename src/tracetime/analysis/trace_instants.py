"""The place in a trace of an instant that a person wrote; see `clocks/wall_time.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.wall_time import NS_PER_DAY, Instant, parse_instant
from tracetime.columns.arrays import known_of
from tracetime.errors import ConversionError, UsageError
from tracetime.graph.arguments import PolicyName
from tracetime.graph.clock_graph import inner
from tracetime.trace.events_table import REALTIME

if TYPE_CHECKING:
    from tracetime.graph.tube.results import Bars
    from tracetime.trace.trace import Trace

_TRACE_FILE: Final = BUILTIN_IDS["TRACE_FILE"]
"""The trace clock of a trace without snapshots: a rule sets it equal to BOOTTIME."""

_NEAR: Final = 10
_HOUR_NS: Final = 3_600_000_000_000

_INT64: Final = range(-(1 << 63), 1 << 63)

_known: Final[WeakKeyDictionary[Trace, tuple[object, tuple[int, int]]]] = WeakKeyDictionary()
"""Of each trace the version of its graph, and its start and end then: the file is read for them."""


class Span(NamedTuple):
    """Trace times from `start` to before `until`; None where there is no such limit."""

    start: int | None
    until: int | None


def reading_of(
    trace: Trace, instant: Instant, policy: PolicyName = "floor", bars: Bars = "estimated"
) -> tuple[int, ClockId]:
    """Return the reading of a clock at the instant, and the clock.

    That is the trace clock for a reading, and for a time after the start of the trace. The others
    are of REALTIME.

    Raises:
        UsageError: the trace has no start; the reading is beyond int64.
        ConversionError: a time of day, and the start of the trace does not convert to REALTIME.
    """
    if instant.kind == "wall_time":
        return _check(instant.ns), REALTIME
    if instant.kind == "reading":
        return _check(instant.ns), trace.trace_clock
    start, end = bounds_of(trace)
    if instant.kind == "elapsed":
        return _check(start + instant.ns), trace.trace_clock

    def wall(ns: int) -> int:
        return trace.clocks.convert(ns, trace.trace_clock, REALTIME, policy=policy, bars=bars)

    first = wall(start)
    at = first // NS_PER_DAY * NS_PER_DAY + instant.ns
    # A trace that goes over midnight has a time of day before its start on the next day.
    next_day = at + NS_PER_DAY
    if at < first and next_day <= wall(end):
        at = next_day
    return _check(at), REALTIME


def trace_time_of(
    trace: Trace, text: str, policy: PolicyName = "floor", bars: Bars = "estimated"
) -> int:
    """Return the trace time of an instant; a whole number is one already.

    Raises:
        UsageError: `text` says no instant; as `reading_of`.
        ConversionError: it does not convert to trace time.
    """
    instant = parse_instant(text)
    try:
        value, clock = reading_of(trace, instant, policy, bars)
        return trace.clocks.convert(value, clock, trace.trace_clock, policy=policy, bars=bars)
    except ConversionError as error:
        if instant.kind in ("reading", "elapsed"):
            raise
        raise ConversionError(
            f"{text!r} is a time of REALTIME, and {error.message}. Give a time after the start of "
            "the trace, such as 12.5s",
            error.reason,
        ) from None


def bounds_of(trace: Trace) -> tuple[int, int]:
    """Return the start of a trace and its end, in trace time.

    They are the first and the last trace time of an event, or the first and the last reading of the
    trace clock in a snapshot where that is earlier, and later. Events that lie far from all
    snapshots (`limits_near`) do not count. The file is read for them, once.

    Raises:
        UsageError: there is neither.
    """
    version = inner(trace.clocks).state.version
    known = _known.get(trace)
    if known is None or known[0] != version:
        _known[trace] = known = version, _read_bounds(trace)
    return known[1]


def _read_bounds(trace: Trace) -> tuple[int, int]:
    read: tuple[int, int] | None = None
    for info in trace.clocks.clocks():
        of_home = info.clock == trace.trace_clock and info.clock.clock != _TRACE_FILE
        if of_home and info.first_ns is not None and info.last_ns is not None:
            read = info.first_ns, info.last_ns
    first, last = _INT64[0], _INT64[-1]
    ends = [] if read is None else [*read]
    if read is not None:
        first, last = limits_near(*read)
    for batch in trace.events():
        times, there = known_of(batch["trace_time"])
        near = times[there & (times >= first) & (times <= last)]
        if len(near):
            ends += int(near.min()), int(near.max())
    if not ends:
        raise UsageError(
            "the trace has no start: no snapshot has its trace clock, and no event a trace time"
        )
    return min(ends), max(ends)


def limits_near(first_ns: int, last_ns: int) -> tuple[int, int]:
    """The limits of what is near a span: within ten times its length, or an hour.

    What is farther is on another clock, or was written without a time.
    """
    near = max(_NEAR * (last_ns - first_ns), _HOUR_NS)
    return max(first_ns - near, _INT64[0]), min(last_ns + near, _INT64[-1])


def _check(ns: int) -> int:
    if ns not in _INT64:
        raise UsageError(
            f"{ns} ns does not fit into int64: give a time of the trace (REALTIME ends in 2262)"
        )
    return ns
