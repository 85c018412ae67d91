"""Machines of one boot whose BOOTTIME is one clock: the machine did not sleep between them.

A file has another machine_id for each epoch of a peer: for each stretch without a suspend. Two of
one boot are one clock where their stretches overlap, by what BOOTTIME read, or where the machine
had slept as long by then. Else it may have slept in between, and its BOOTTIME be off by up to a
second from then on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.graph.clock_graph import inner
from tracetime.graph.values import Values
from tracetime.merging.files import MergedFile

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_MONOTONIC: Final = BUILTIN_IDS["MONOTONIC"]

_READ_APART_NS: Final = 100_000
"""So far apart may BOOTTIME and MONOTONIC of one instant be read."""

Span = tuple[int, int]


class Stretch(NamedTuple):
    """The readings of BOOTTIME of one machine of a file, or of several files of one boot.

    Attributes:
        span: what it read first and last; None where nothing says.
        suspended_ns: how long the machine had slept, if known: BOOTTIME less MONOTONIC.
    """

    span: Span | None
    suspended_ns: Values


def runs(stretches: Mapping[Hashable, Stretch]) -> dict[Hashable, int]:
    """Return the run of each stretch of one boot, by its key: a run has one BOOTTIME."""
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
    suspended = [
        (ns, key) for key, one in stretches.items() for ns in np.unique(one.suspended_ns).tolist()
    ]
    for (one_ns, one), (other_ns, other) in pairwise(sorted(suspended, key=itemgetter(0))):
        if other_ns - one_ns <= _READ_APART_NS:
            tie(one, other)
    numbers: dict[int, int] = {}
    return {key: numbers.setdefault(id(part), len(numbers)) for key, part in parts.items()}


def stretches_of(file: MergedFile) -> dict[int, Stretch]:
    """The stretches of the machines of a file whose boot it names, by machine."""
    home, boots, suspended_ns = file.home.machine, file.trace.boots, file.trace.suspended_ns
    found = {home: home_stretch([file])} if home in boots else {}
    spans = _peer_spans(file) if boots.keys() - {home} else {}
    for machine in boots.keys() - {home}:
        suspended = [suspended_ns[machine]] if machine in suspended_ns else []
        recorded = np.array(suspended, dtype=np.int64)
        found[machine] = Stretch(
            spans.get(machine), np.append(_suspended_ns(file, machine), recorded)
        )
    return found


def home_stretch(files: Iterable[MergedFile]) -> Stretch:
    """The stretch of files of one boot: over all of these, its own snapshots tell of suspends."""
    files = list(files)
    suspended = [_suspended_ns(file, file.home.machine) for file in files]
    return Stretch(_home_span(files), np.concatenate(suspended))


def _suspended_ns(file: MergedFile, machine: int) -> Values:
    """The time that a machine had slept at each of its snapshots, int64 ns."""
    clocks = (ClockId(number, machine=machine) for number in (_MONOTONIC, _BOOTTIME))
    _, monotonic, boottime = inner(file.trace.clocks).shared(*clocks)
    suspended: Values = boottime - monotonic
    return suspended


def _peer_spans(file: MergedFile) -> dict[int, Span | None]:
    """The first and last reading of BOOTTIME in the orders and snapshots of each other machine."""
    state = inner(file.trace.clocks).state
    read: dict[ClockId, list[Values]] = defaultdict(list)
    for one, other in state.between.pairs():
        boxes = state.between.of(one, other)
        if boxes is not None:
            read[one] += boxes[1:3]
            read[other] += boxes[3:]
    for one, other in state.orders.pairs():
        orders = state.orders.of(one, other)
        if orders is not None:
            read[one].append(orders.one_ts)
            read[other].append(orders.other_ts)
    return {
        clock.machine: _hull(_ends(columns))
        for clock, columns in read.items()
        if clock == ClockId(_BOOTTIME, machine=clock.machine)
    }


def _home_span(files: Iterable[MergedFile]) -> Span | None:
    """The first and last reading of BOOTTIME of the first machine in files of one boot."""
    ends = []
    for file in files:
        home = ClockId(_BOOTTIME, machine=file.home.machine)
        ends += _ends(one.values_ns for one in file.trace.clocks.readings() if one.clock == home)
        if file.home == home and file.span is not None:
            ends.append(file.span)
    return _hull(ends)


def _ends(read: Iterable[Values]) -> list[Span]:
    """The least and the greatest value of each column of readings that is not empty."""
    return [(int(values.min()), int(values.max())) for values in read if len(values)]


def _hull(ends: list[Span]) -> Span | None:
    if not ends:
        return None
    return min(first for first, _ in ends), max(last for _, last in ends)
