"""Offsets that the caller gives: `a:BOOTTIME=b:BOOTTIME+250ms+-1ms`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.domain import MOST_DRIFT_PPM
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX, Reading, Snapshot
from tracetime.clocks.wall_time import NS_OF_UNIT
from tracetime.errors import ConversionError, UsageError
from tracetime.graph.adding import add_snapshot
from tracetime.graph.clock_graph import inner
from tracetime.graph.graph import Graph
from tracetime.merging.boots import Boots
from tracetime.merging.files import MergedFile, file_named
from tracetime.merging.ties import Tie

_UNITS: Final = NS_OF_UNIT | {"µs": NS_OF_UNIT["us"], "ticks": None}
_TIME: Final = r"\d{1,18}(?:\.\d{1,9})?\s*(?:ns|us|µs|ms|s|min|h)"
_TICKS: Final = r"\d{1,18}\s*ticks"
_SYNC: Final = re.compile(
    rf"(?P<a>.+):(?P<x>[^:=]+)=(?P<b>.+):(?P<y>[^:=+-]+(?:@[^:=+-]+)?)"
    rf"(?P<offset>[+-](?:{_TIME}|{_TICKS}))?\s*\+-(?P<half>{_TIME})"
)
_NUMBER: Final = re.compile(r"([+-]?[0-9.]+)\s*([a-zµ]*)")

_POINTS: Final = 1025
"""Snapshots over the time of both files, so that bars hardly grow between them."""


def half_width_ns(text: str) -> int:
    """Return a half-width as options have it: `20ms`.

    Raises:
        UsageError: it is none.
    """
    if re.fullmatch(_TIME, text.strip()) is None:
        raise UsageError(f"{text!r} is no half-width: write a time with its unit, such as 20ms")
    return ceil(GivenOffset.of(text).ns(Fraction(1)))


class GivenOffset(NamedTuple):
    """The offset by which one clock reads more than another.

    Attributes:
        number: of units.
        unit_ns: how long one lasts; None for ticks, by which the reading of the first grows.
    """

    number: Fraction
    unit_ns: int | None

    @classmethod
    def of(cls, text: str) -> GivenOffset:
        """The offset of a text as options have it: `+250ms`, `-100ticks`."""
        match = _NUMBER.fullmatch(text.strip())
        assert match is not None
        return cls(Fraction(match[1]), _UNITS[match[2]])

    def ns(self, tick_ns: Fraction) -> Fraction:
        """The duration of the offset, ns, where a tick lasts `tick_ns`."""
        return self.number * (tick_ns if self.unit_ns is None else self.unit_ns)


class _CountingUnit(NamedTuple):
    """The unit in which a clock counts.

    Attributes:
        tick_ns: how much later it is, nominally, when its reading is one more; None where nothing
            says.
        unit_ns, incremental: as of `Reading`.
    """

    tick_ns: Fraction | None
    unit_ns: int = 1
    incremental: bool = False

    @classmethod
    def of(cls, graph: Graph, clock: ClockId) -> _CountingUnit:
        """The scale of a clock of a graph."""
        rate = graph.domain(clock).ns_per_tick
        for info in graph.clocks():
            if info.clock == clock:
                tick_ns = None if rate is None else rate * info.unit_ns
                return cls(tick_ns, info.unit_ns, info.incremental)
        return cls(rate)


def add_sync(graph: Graph, files: Sequence[MergedFile], boots: Boots, text: str) -> Tie:
    """Add an offset, which holds over the time of both files.

    Args:
        text: `a:X=b:Y+OFFSET+-HALF`: when clock Y of file b reads t, clock X of file a reads
            t + OFFSET, give or take HALF. OFFSET is a time, or a number of X's ticks.

    Raises:
        UsageError: it is not of this form; no such file or clock; a clock whose rate is unknown;
            a time out of int64.
    """
    match = _SYNC.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"{text!r} is no offset: write A:CLOCK=B:CLOCK+OFFSET+-HALF, both with their unit, "
            "such as a.pftrace:BOOTTIME=b.pftrace:BOOTTIME+250ms+-1ms (when B's clock reads t, A's "
            "reads t + 250 ms, give or take 1 ms); for clocks that count ticks OFFSET may be in "
            "ticks of A's: +5000ticks"
        )
    one, other = file_named(files, match["a"]), file_named(files, match["b"])
    x, y = (file.trace.clocks.clock(match[key]) for file, key in ((one, "x"), (other, "y")))
    offset, half_ns = GivenOffset.of(match["offset"] or "0ns"), half_width_ns(match["half"])
    words = f"the given offset {text}"
    return add_offset(graph, boots, (one, x), (other, y), offset, half_ns, words)


def add_offset(
    graph: Graph,
    boots: Boots,
    ahead: tuple[MergedFile, ClockId],
    behind: tuple[MergedFile, ClockId],
    offset: GivenOffset,
    half_ns: int,
    words: str,
) -> Tie:
    """Tie two clocks over the time of both files: `ahead` reads `offset` more than `behind`.

    What either counts is taken as time by its nominal rate.

    Raises:
        UsageError: a file has no such clock; the clocks are one; a clock whose rate is unknown; a
            time out of int64.
    """
    (one, x), (other, y) = ahead, behind
    _check_clock(one, x)
    _check_clock(other, y)
    if one is other:
        raise UsageError(f"{words!r} ties {one.name} to itself: name two files")
    here, there = boots.clock(one.number, x), boots.clock(other.number, y)
    if here == there:
        raise UsageError(f"{words!r}: the files prove that these are one clock; see --different")
    ours, theirs = _CountingUnit.of(graph, here), _CountingUnit.of(graph, there)
    here_ns, there_ns = _tick_ns((one, x, ours), (other, y, theirs), offset, words)
    offset_ns = offset.ns(here_ns)
    # When both are, by their own time, ns of `there`.
    of_other = [Fraction(value, theirs.unit_ns) * there_ns for value in span_on(other, y)]
    of_one = [Fraction(value, ours.unit_ns) * here_ns - offset_ns for value in span_on(one, x)]
    # Neither file has a time: one at 0 tells how far the clocks are apart.
    ends = [*of_other, *of_one] or [Fraction()]
    apart_ns = 0
    if of_other and of_one:
        apart_ns = max(floor(max(min(of_other), min(of_one)) - min(max(of_other), max(of_one))), 0)
    at = [*_between(floor(min(ends) / there_ns), ceil(max(ends) / there_ns))]
    exact = [(value * there_ns + offset_ns) / here_ns for value in at]
    reads = [round(value) for value in exact]
    rounded = max(abs(a - b) for a, b in zip(exact, reads, strict=True)) * here_ns
    half_ns += ceil(rounded)
    for values, scale in ((at, theirs), (reads, ours)):
        if max(abs(values[0]), abs(values[-1])) * scale.unit_ns + half_ns > INT64_MAX:
            raise UsageError(f"{words!r} leaves the range of 64 bits")
    readings = {
        there: Reading(at, theirs.unit_ns, theirs.incremental),
        here: Reading(reads, ours.unit_ns, ours.incremental),
    }
    first = graph.state.version[0]
    add_snapshot(graph, Snapshot(readings, reference=there, half_width_ns={here: half_ns}))
    snapshots = range(first, graph.state.version[0])
    return Tie(one.number, other.number, "sync", 1, words, snapshots=snapshots, apart_ns=apart_ns)


def _tick_ns(
    ahead: tuple[MergedFile, ClockId, _CountingUnit],
    behind: tuple[MergedFile, ClockId, _CountingUnit],
    offset: GivenOffset,
    words: str,
) -> tuple[Fraction, Fraction]:
    """The duration of a tick of each clock; of two that count alike, that matters to a time alone.

    Raises:
        UsageError: nothing says how long one lasts, or snapshots contradict what does.
    """
    (_, _, ours), (_, _, theirs) = ahead, behind
    alike = ours.tick_ns == theirs.tick_ns
    if alike and (offset.unit_ns is None or not offset.number):
        return (ours.tick_ns or Fraction(1),) * 2
    for file, clock, scale in (ahead, behind):
        seen_ns = None if scale.tick_ns is None else _seen_tick_ns(file, clock, scale)
        if scale.tick_ns is not None and _is_about(seen_ns, scale.tick_ns):
            continue
        why = "nothing says how long one lasts"
        if seen_ns is not None:
            why = f"one lasts {seen_ns:.6g} ns by the snapshots of {file.name}"
        raise UsageError(
            f"{words!r}: {clock} of {file.name} counts ticks, and {why}: give its rate, such as "
            f"--clock-rate {clock}=2.4GHz" + (", or the offset in ticks" if alike else "")
        )
    assert ours.tick_ns is not None
    assert theirs.tick_ns is not None
    return ours.tick_ns, theirs.tick_ns


def _seen_tick_ns(file: MergedFile, clock: ClockId, scale: _CountingUnit) -> float | None:
    """The duration of a tick by what the trace clock read along with it; None without that."""
    if clock == file.home or file.trace.clocks.domain(file.home).ns_per_tick != 1:
        return None
    _, ours, home = inner(file.trace.clocks).shared(clock, file.home)
    ticks = np.diff(ours) / scale.unit_ns
    moved = ticks > 0
    # The one in the middle: either clock may have been set.
    return float(np.median(np.diff(home)[moved] / ticks[moved])) if moved.any() else None


def _is_about(seen_ns: float | None, tick_ns: Fraction) -> bool:
    """Whether a clock within the limits of drift may have ticks that are measured so long."""
    return seen_ns is None or abs(seen_ns / float(tick_ns) - 1) <= MOST_DRIFT_PPM / 1e6


def _check_clock(file: MergedFile, clock: ClockId) -> None:
    known = {info.clock for info in file.trace.clocks.clocks()} | {file.home}
    if clock not in known:
        raise UsageError(f"{file.name} has no clock {clock}: it has {', '.join(map(str, known))}")


def _between(low: int, high: int) -> Iterator[int]:
    """Whole numbers from `low` to `high`, evenly, so many that bars hardly grow between them."""
    before = None
    for step in range(_POINTS):
        at = low + step * (high - low) // (_POINTS - 1)
        if at != before:
            yield at
        before = at


def instants_between(low: int, high: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Times from `low` to `high`, evenly, so many that bars hardly grow between them."""
    return np.array([*_between(low, high)], dtype=np.int64)


def span_on(file: MergedFile, clock: ClockId) -> list[int]:
    """The first and last event of a file on one of its clocks; its snapshots where it has none.

    Those also of a machine that nothing ties to the file's first one. Empty without snapshots.

    Raises:
        UsageError: the events cannot be placed on it.
    """
    if file.span is None:
        return _read(file, clock)
    try:
        return [
            file.trace.clocks.convert(time, file.home, clock, policy="tube") for time in file.span
        ]
    except ConversionError as error:
        if clock.machine != file.home.machine:
            return _read(file, clock)
        raise UsageError(f"{file.name}: events cannot be placed on {clock}: {error}") from error


def _read(file: MergedFile, clock: ClockId) -> list[int]:
    """The first and last reading of a clock in snapshots; none without any."""
    return [
        end
        for info in file.trace.clocks.clocks()
        if info.clock == clock
        for end in (info.first_ns, info.last_ns)
        if end is not None
    ]
