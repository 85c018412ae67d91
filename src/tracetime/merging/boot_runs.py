"""Machines of one boot whose BOOTTIME is known to be one clock: nothing slept between them.

A file has another machine_id for each epoch of a peer: for each stretch without a suspend. Two of
one boot are one clock where their stretches overlap, by what BOOTTIME read. Else the machine may
have slept in between, and its BOOTTIME be off by up to a second from then on.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.merging.files import MergedFile

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]

Span = tuple[int, int]
Values = npt.NDArray[np.int64]


def runs(spans: Mapping[Hashable, Span | None]) -> dict[Hashable, int]:
    """Number the stretches of one boot: those that hang together alike.

    Args:
        spans: by what it is of, what BOOTTIME read first and last; None where that is not known,
            which hangs together with nothing.
    """
    found: dict[Hashable, int] = {}
    known = sorted((span, k) for k, span in enumerate(spans.values()) if span is not None)
    keys, number, until = list(spans), -1, None
    for (first, last), k in known:
        if until is None or first > until:
            number, until = number + 1, last
        until = max(until, last)
        found[keys[k]] = number
    for key in keys:
        if key not in found:
            number += 1
            found[key] = number
    return found


def span_of(file: MergedFile, machine: int) -> Span | None:
    """What BOOTTIME of a machine of a file read first and last; None where nothing says."""
    return home_span([file]) if machine == file.home.machine else peer_span(file, machine)


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
