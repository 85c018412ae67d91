"""The wall clocks of several machines: each is as far from UTC as something says.

That is what a time service bounded them by when they were recorded, else their kernel, else the
caller. adjtimex(2) reports a bound only where the program that keeps the time gives one:
systemd-timesyncd says 0, whatever the error is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, clock_id
from tracetime.clocks.kernel_clock import MAXERROR_LACKS_US, STA_UNSYNC, TIME_ERROR, contradiction
from tracetime.clocks.snapshot import Snapshot
from tracetime.clocks.unset_walls import are_unset
from tracetime.errors import ConversionError, UsageError
from tracetime.formats.perfetto.extension import time_service
from tracetime.graph.adding import add_snapshot
from tracetime.graph.clock_graph import inner
from tracetime.graph.graph import Graph
from tracetime.graph.values import Values
from tracetime.merging.boots import Boots, boot_instants
from tracetime.merging.constant_offsets import instants_between, span_on
from tracetime.merging.files import MergedFile
from tracetime.merging.ties import Tie
from tracetime.text import duration, printable

_REALTIME: Final = BUILTIN_IDS["REALTIME"]
UTC_NAME: Final = "UTC"
_READ_APART_NS: Final = 10_000_000
"""A recorder that is held up may read REALTIME and BOOTTIME so far apart; beyond, one was set."""
_ROUNDED_US: Final = 2
"""The kernel has whole us, and is asked a little after the clock was read."""
_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_MONOTONIC: Final = BUILTIN_IDS["MONOTONIC"]
_COUNTED_NS: Final = 1_000_000_000
"""The clock that goes on in a suspend may count whole seconds."""
_SLOWEST: Final = 2_000
"""It drifts by up to 500 ppm."""
_STILL_NS: Final = 1_000_000
"""A recorder that is held up reads two clocks so far apart."""


class _Wall(NamedTuple):
    """Readings of REALTIME of a file, with UTC then, and its half-width."""

    file: MergedFile
    times: Values
    utc: Values
    halves: Values
    said: str


def add_wall_clocks(
    graph: Graph, files: Sequence[MergedFile], boots: Boots, assumed_ns: int | None
) -> tuple[list[Tie], dict[int, str]]:
    """Tie the REALTIMEs of files of different machines over UTC, each with its half-width.

    The half-width is what the machine's time service bounded it by at each snapshot, or what the
    kernel said (adjtimex's maxerror), growing by 500 ppm from there; or the assumption for files
    that say neither.

    Args:
        assumed_ns: how far from UTC any other REALTIME is at most; None to assume nothing.

    Returns:
        The ties, to the first file that has one, and by number of a file why it has none.
    """
    walls, reasons = [], {}
    for file in files:
        wall = _wall(file, assumed_ns)
        if isinstance(wall, _Wall):
            walls.append(wall)
        else:
            reasons[file.number] = wall
    clocks = [boots.clock(wall.file.number, ClockId(_REALTIME)) for wall in walls]
    if len(set(clocks)) < 2:
        return [], reasons | dict.fromkeys(
            (wall.file.number for wall in walls), "no file of another machine has a wall clock"
        )
    utc = ClockId(clock_id("dev.tracetime.utc"), machine=boots.free_number(), file=len(files))
    # The kernel counts on 500 ppm of the wall clock alone.
    graph.declare(ClockDomain(utc, UTC_NAME, max_drift_ppm=0, disciplined=False))
    ties = []
    for wall, clock in zip(walls, clocks, strict=True):
        first = graph.state.version[0]
        add_snapshot(
            graph,
            Snapshot(
                {utc: wall.utc, clock: wall.times},
                reference=utc,
                half_width_ns={clock: wall.halves},
            ),
        )
        snapshots = range(first, graph.state.version[0])
        start, begin = walls[0], clocks[0]
        if clock != begin:
            words = f"wall clocks: {_wall_text(start)}; {_wall_text(wall)}"
            numbers = start.file.number, wall.file.number
            ties.append(Tie(*numbers, "wall_clocks", 1, words, snapshots=snapshots))
    return ties, reasons


def _wall_text(wall: _Wall) -> str:
    worst = duration(int((np.abs(wall.utc - wall.times) + wall.halves).max()))
    return f"REALTIME of {printable(wall.file.name)} is within {worst} of UTC, {wall.said}"


def _wall(file: MergedFile, assumed_ns: int | None) -> _Wall | str:
    """The wall clock of a file, or the reason why nothing bounds it."""
    if file.trace.baked_by is not None:
        return "bake or merge wrote it, without what bounds its clocks: merge what it is made of"
    booted = boot_instants(file)
    moved_ns = int(booted[-1] - booted[0]) if len(booted) else 0
    if moved_ns > _READ_APART_NS:
        return f"its wall clock was set by {duration(moved_ns)} while it was recorded; see --sync"
    times, numbers = _readings(file)
    bounds = _wall_bounds(file)
    at, known = _match_snapshots(bounds[0], numbers)
    if known.any():
        _, _, earliest, latest, services = bounds[:, known]
        times, more_ns = times[at[known]], moved_ns + _after_suspend_ns(file, numbers[at[known]])
        contradicts = contradiction(times, earliest - more_ns, latest + more_ns)
        if contradicts is not None:
            return f"its time service contradicts itself, by {duration(contradicts[1])}"
        halves = (latest - earliest + 1) // 2 + more_ns
        names = sorted({time_service(number) for number in services.tolist()})
        return _Wall(file, times, times + (earliest + latest) // 2, halves, _services_text(names))
    snapshots, _, status, state, maxerror_us, esterror_us = _kernel_reads(file)
    if ((status & STA_UNSYNC != 0) | (state == TIME_ERROR)).any():
        return "its recorder says that nothing keeps its wall clock (adjtimex: STA_UNSYNC)"
    at, known = _match_snapshots(snapshots, numbers)
    # Without an estimate of its error the program that keeps the time gives no bound either.
    known &= (maxerror_us > 0) & (esterror_us > 0)
    if known.any():
        halves = (maxerror_us[known] + MAXERROR_LACKS_US + _ROUNDED_US) * 1_000 + moved_ns
        halves += _after_suspend_ns(file, numbers[at[known]])
        times = times[at[known]]
        return _Wall(file, times, times, halves, "as its kernel says (adjtimex: maxerror)")
    if assumed_ns is None:
        return "its recorder gives no bound of its wall clock; see --assume-wall-clock"
    if len(booted) and are_unset(booted, file.facts.identity).all():
        return "it was never set: it began with a default when the machine was booted"
    try:
        span = span_on(file, ClockId(_REALTIME))
    except (ConversionError, UsageError):
        return "it has no REALTIME to which its trace clock is tied"
    if not span:
        return "it has no event on its trace clock"
    spread = instants_between(*span)
    halves = np.full(len(spread), assumed_ns + moved_ns, dtype=np.int64)
    return _Wall(file, spread, spread, halves, "which is an assumption")


def _services_text(names: Sequence[str]) -> str:
    return f"as {' and '.join(names)} said"


def _match_snapshots(snapshots: Values, numbers: Values) -> tuple[Values, npt.NDArray[np.bool_]]:
    """The row of each snapshot among those with REALTIME, and whether it has one."""
    if not len(numbers):
        return np.zeros(len(snapshots), dtype=np.int64), np.zeros(len(snapshots), dtype=bool)
    at = np.searchsorted(numbers, snapshots)
    at[at == len(numbers)] = 0
    return at, numbers[at] == snapshots


def _wall_bounds(file: MergedFile) -> Values:
    """The rows of `Trace.wall_bounds` of the first machine."""
    bounds = file.trace.wall_bounds()
    return bounds[:, bounds[1] == file.home.machine]


def _kernel_reads(file: MergedFile) -> Values:
    """The rows of `Trace.kernel_reads` of the first machine."""
    reads = file.trace.kernel_reads()
    return reads[:, reads[1] == file.home.machine]


def _readings(file: MergedFile) -> tuple[Values, Values]:
    """The readings of REALTIME of a file, and their snapshots, ascending; int64 each."""
    found = [
        (one.values_ns, one.snapshots)
        for one in file.trace.clocks.readings()
        if one.clock == ClockId(_REALTIME, machine=file.home.machine)
    ]
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    values, numbers = map(np.concatenate, zip(*found, strict=True))
    order = np.argsort(numbers, kind="stable")
    return values[order], numbers[order]


def _after_suspend_ns(file: MergedFile, snapshots: Values) -> Values:
    """The extra half-width of REALTIME after suspends, in some snapshots, int64 ns.

    A bound that is said after a suspend may be from before it: REALTIME is as BOOTTIME then, which
    counts a suspend by a clock of whole seconds.

    Args:
        snapshots: their numbers, ascending.
    """
    clocks = (ClockId(number, machine=file.home.machine) for number in (_MONOTONIC, _BOOTTIME))
    numbers, monotonic, boottime = inner(file.trace.clocks).shared(*clocks)
    if not len(numbers):
        return np.zeros(len(snapshots), dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    suspended = (boottime - monotonic)[order]
    # One that has no MONOTONIC may be of the time after the suspend.
    at = np.minimum(np.searchsorted(numbers[order], snapshots), len(suspended) - 1)
    suspended = np.maximum.accumulate(suspended - suspended[0])
    times = np.append(0, np.cumsum(np.diff(suspended) > _STILL_NS))
    more: Values = np.where(times > 0, times * _COUNTED_NS + suspended // _SLOWEST, 0)[at]
    return more
