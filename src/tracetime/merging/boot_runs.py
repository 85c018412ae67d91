"""Machines of one boot whose BOOTTIME is known to be one clock: nothing slept between them.

A file has another machine_id for each epoch of a peer: for each stretch without a suspend. Two of
one boot are one clock where their stretches overlap, by what BOOTTIME read, or where the machine
had slept as long by then. Else it may have slept in between, and its BOOTTIME be off by up to a
second from then on.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.merging.files import MergedFile

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_MONOTONIC: Final = BUILTIN_IDS["MONOTONIC"]

_READ_APART_NS: Final = 100_000
"""So far apart may BOOTTIME and MONOTONIC of one instant be read."""

Span = tuple[int, int]
Values = npt.NDArray[np.int64]


class Stretch(NamedTuple):
    """What is known of the BOOTTIME of a machine of a file, or of several files of one boot.

    Attributes:
        span: what it read first and last; None where nothing says.
        slept_ns: how long the machine had slept, where that is known: BOOTTIME less MONOTONIC.
    """

    span: Span | None
    slept_ns: Values


def runs(stretches: Mapping[Hashable, Stretch]) -> dict[Hashable, int]:
    """Number the stretches of one boot, by what each is of: those that hang together alike."""
    parts = {key: {key} for key in stretches}

    def tie(one: Hashable, other: Hashable) -> None:
        more, fewer = sorted((parts[one], parts[other]), key=len, reverse=True)
        if more is not fewer:
            more |= fewer
            parts.update(dict.fromkeys(fewer, more))

    before: tuple[int, Hashable] | None = None
    spans = [(one.span, key) for key, one in stretches.items() if one.span is not None]
    for (first, last), key in sorted(spans, key=itemgetter(0)):
        if before is not None and first <= before[0]:
            tie(before[1], key)
            last = max(last, before[0])
        before = last, key
    slept = [(ns, key) for key, one in stretches.items() for ns in np.unique(one.slept_ns).tolist()]
    for (one_ns, one), (other_ns, other) in pairwise(sorted(slept, key=itemgetter(0))):
        if other_ns - one_ns <= _READ_APART_NS:
            tie(one, other)
    numbers: dict[int, int] = {}
    return {key: numbers.setdefault(id(part), len(numbers)) for key, part in parts.items()}


def stretch_of(file: MergedFile, machine: int) -> Stretch:
    """The stretch of a machine of a file."""
    return home_stretch([file]) if machine == file.home.machine else peer_stretch(file, machine)


def peer_stretch(file: MergedFile, machine: int) -> Stretch:
    """The stretch of another machine of a file than the first."""
    slept = file.suspended_ns.get(machine)
    said = np.array([] if slept is None else [slept], dtype=np.int64)
    return Stretch(peer_span(file, machine), np.append(_slept_ns(file, machine), said))


def home_stretch(files: Iterable[MergedFile]) -> Stretch:
    """The stretch of files of one boot: over all of these, its own snapshots tell of suspends."""
    files = list(files)
    slept = [_slept_ns(file, file.home.machine) for file in files]
    return Stretch(home_span(files), np.concatenate(slept))


def _slept_ns(file: MergedFile, machine: int) -> Values:
    """How long a machine had slept, as its snapshots show."""
    clocks = (ClockId(number, machine=machine) for number in (_MONOTONIC, _BOOTTIME))
    _, monotonic, boottime = file.trace.clocks._parts.shared(*clocks)
    slept: Values = boottime - monotonic
    return slept


def peer_span(file: MergedFile, machine: int) -> Span | None:
    """What BOOTTIME of another machine of a file read first and last; None where nothing says."""
    clock, state = ClockId(_BOOTTIME, machine=machine), file.trace.clocks._parts.state
    read: list[Values] = []
    for one, other in state.between.pairs():
        boxes = state.between.of(one, other) if clock in (one, other) else None
        if boxes is not None:
            read += boxes[1:3] if clock == one else boxes[3:]
    for one, other in state.orders.pairs():
        orders = state.orders.of(one, other) if clock in (one, other) else None
        if orders is not None:
            read.append(orders.one_ts if clock == one else orders.other_ts)
    return _hull(_ends(read))


def home_span(files: Iterable[MergedFile]) -> Span | None:
    """The same of files of one boot: over all of these, its own snapshots tell of suspends."""
    ends = []
    for file in files:
        home = ClockId(_BOOTTIME, machine=file.home.machine)
        ends += _ends(one.values_ns for one in file.trace.clocks.readings() if one.clock == home)
        if file.home == home and file.span is not None:
            ends.append(file.span)
    return _hull(ends)


def _ends(read: Iterable[Values]) -> list[Span]:
    """The least and the most of each column of readings that is not empty."""
    return [(int(values.min()), int(values.max())) for values in read if len(values)]


def _hull(ends: list[Span]) -> Span | None:
    if not ends:
        return None
    return min(first for first, _ in ends), max(last for _, last in ends)
