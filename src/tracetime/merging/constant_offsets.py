"""Offsets that the caller gives: `a:BOOTTIME=b:BOOTTIME+250ms+-1ms`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX, Snapshot
from tracetime.errors import ConversionError, UsageError
from tracetime.graph.graph import ClockGraph
from tracetime.merging.boots import Boots
from tracetime.merging.files import MergedFile, file_named
from tracetime.merging.ties import Tie

_TIME: Final = r"\d{1,18}(?:\.\d{1,9})?\s*(?:ns|us|µs|ms|s|min|h)?"
_SYNC: Final = re.compile(
    rf"(?P<a>.+):(?P<x>[^:=]+)=(?P<b>.+):(?P<y>[^:=+-]+(?:@[^:=+-]+)?)"
    rf"(?P<offset>[+-]{_TIME})?\s*\+-(?P<half>{_TIME})",
)
_UNITS: Final = {
    "": 1,
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
_NUMBER: Final = re.compile(r"([+-]?)([0-9.]+)\s*([a-zµ]*)")

_POINTS: Final = 1025
"""Snapshots over the time of both files, so that bars hardly grow between them."""


def half_width_ns(text: str) -> int:
    """Return a half-width as options have it: `20ms`.

    Raises:
        UsageError: it is none.
    """
    if re.fullmatch(_TIME, text.strip()) is None:
        raise UsageError(f"{text!r} is no half-width: write a time with its unit, such as 20ms")
    return _ns(text)


def add_sync(graph: ClockGraph, files: Sequence[MergedFile], boots: Boots, text: str) -> Tie:
    """Add an offset, which holds over the time of both files.

    Args:
        text: `a:X=b:Y+OFFSET+-HALF`: when clock Y of file b reads t, clock X of file a reads
            t + OFFSET, give or take HALF.

    Raises:
        UsageError: it is not of this form; no such file or clock; a time out of int64.
    """
    match = _SYNC.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"{text!r} is no offset: write A:CLOCK=B:CLOCK+OFFSET+-HALF, such as "
            "a.pftrace:BOOTTIME=b.pftrace:BOOTTIME+250ms+-1ms (when B's clock reads t, A's reads "
            "t + 250 ms, give or take 1 ms)"
        )
    one, other = file_named(files, match["a"]), file_named(files, match["b"])
    offset, half = _ns(match["offset"] or "0"), _ns(match["half"])
    x, y = (file.trace.clocks.clock(match[key]) for file, key in ((one, "x"), (other, "y")))
    return add_offset(graph, boots, (one, x), (other, y), offset, half, f"the given offset {text}")


def add_offset(
    graph: ClockGraph,
    boots: Boots,
    ahead: tuple[MergedFile, ClockId],
    behind: tuple[MergedFile, ClockId],
    offset: int,
    half: int,
    said: str,
) -> Tie:
    """Tie two clocks over the time of both files: `ahead` reads `offset` ns more than `behind`.

    Raises:
        UsageError: a file has no such clock; the clocks are one; a time out of int64.
    """
    (one, x), (other, y) = ahead, behind
    _check_clock(one, x)
    _check_clock(other, y)
    if one is other:
        raise UsageError(f"{said!r} ties {one.name} to itself: name two files")
    at = _instants(one, other, x, y, offset)
    if max(abs(int(at[0])), abs(int(at[-1]))) + abs(offset) + half > INT64_MAX:
        raise UsageError(f"{said!r} leaves the range of 64 bits")
    here, there = boots.clock(one.number, x), boots.clock(other.number, y)
    if here == there:
        raise UsageError(f"{said!r}: the files prove that these are one clock; see --different")
    first = graph._parts.state.version[0]
    graph.add_snapshot(
        Snapshot({there: at, here: at + offset}, reference=there, half_width_ns={here: half})
    )
    snapshots = range(first, graph._parts.state.version[0])
    return Tie(one.number, other.number, "sync", 1, said, snapshots=snapshots)


def _ns(text: str) -> int:
    match = _NUMBER.fullmatch(text.strip())
    assert match is not None
    sign = -1 if match[1] == "-" else 1
    return sign * int(Decimal(match[2]) * _UNITS[match[3]])


def _check_clock(file: MergedFile, clock: ClockId) -> None:
    known = {info.clock for info in file.trace.clocks.clocks()} | {file.home}
    if clock not in known:
        raise UsageError(f"{file.name} has no clock {clock}: it has {', '.join(map(str, known))}")


def _instants(
    one: MergedFile, other: MergedFile, x: ClockId, y: ClockId, offset: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Times of y over the time of both files."""
    spans = [*span_on(other, y), *(time - offset for time in span_on(one, x))]
    low, high = min(spans), max(spans)
    if not -INT64_MAX <= low <= high <= INT64_MAX:
        raise UsageError(f"an offset of {offset} ns leaves the range of 64 bits")
    return instants_between(low, high)


def instants_between(low: int, high: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Times from the one to the other, evenly, so many that bars hardly grow between them."""
    steps = np.arange(_POINTS, dtype=object) * (high - low) // (_POINTS - 1)
    return np.array(sorted({low + int(step) for step in steps}), dtype=np.int64)


def span_on(file: MergedFile, clock: ClockId) -> list[int]:
    """The first and last event of a file on one of its clocks; its snapshots where it has none.

    Those also of a machine that nothing ties to the file's first one.

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
    """The first and last reading of a clock in snapshots; 0 without any."""
    ends = [
        end
        for info in file.trace.clocks.clocks()
        if info.clock == clock
        for end in (info.first_ns, info.last_ns)
        if end is not None
    ]
    return ends or [0]
