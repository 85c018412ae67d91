"""Where a file that is several recordings, one after the other, has the beginning of each.

A recorder describes itself once; clocks fall together where another recording begins, or an earlier
part of the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from tracetime.analysis.snapshots import Values, Written
from tracetime.clocks.families import NEVER_SET, ONE_OSCILLATOR

# Fields of TracePacket that a recorder writes once, when it begins; and those next to them.
_ONCE: Final = (33, 45, 89)  # trace_config, system_info, trace_uuid
_SNAPSHOT, _STATS, _MARKER = 6, 35, 36
_FIRST: Final = 87  # of tracetime's recorder: nothing but the first packet of its first sequence

# NumPy's `isin` takes no set.
_KERNEL: Final = tuple(ONE_OSCILLATOR)
_STEADY: Final = tuple(NEVER_SET)
_APART: Final = 4
_KERNEL_APART: Final = 3
_APART_NS: Final = 60_000_000_000
"""Clocks that rise by this many different times, this far apart, are those of two recordings. After
a suspend and a correction of the wall clock there are fewer."""
_ALIKE: Final = 0.01
"""Jumps within 1 % of each other are one jump: clocks drift meanwhile."""
READ_WITHIN_NS: Final = 1_000_000
"""Clocks of a snapshot are read within this time, so smaller falls mean nothing."""


class Start(NamedTuple):
    """Where a recording begins.

    Attributes:
        packet, offset: its first packet, and the byte of the uncompressed file where that begins.
        is_sure: whether just these packets are another recording: all are of tracetime's recorder,
            or all begin with the same packets as the first in the file.
    """

    packet: int
    offset: int
    is_sure: bool


class Break(NamedTuple):
    """Where clocks fall together, or apart: the packet, and by how much at most they fall."""

    packet: int
    fall_ns: int


def starts(signs: Values) -> list[Start]:
    """Return where the second and later recordings begin, by what recorders write."""
    packets, offsets, fields, machines = signs
    # Other machines of a trace describe themselves, too.
    kinds = [packets[(fields == field) & (machines == 0)] for field in _ONCE]
    most = max(map(len, kinds))
    firsts = np.min([kind for kind in kinds if len(kind) == most], axis=0).tolist()
    own = packets[fields == _FIRST].tolist()
    marks = {
        packet: field
        for packet, field in zip(packets.tolist(), fields.tolist(), strict=True)
        if field in (_SNAPSHOT, _STATS, _MARKER)
    }
    at = dict(zip(packets.tolist(), offsets.tolist(), strict=True))
    begins = [_begin(first, marks) for first in firsts]
    usual = _marks_from(begins[0], firsts[0], marks) if begins else []
    found = {
        begin: Start(begin, at[begin], not own and _marks_from(begin, first, marks) == usual)
        for begin, first in zip(begins, firsts, strict=True)
    }
    found |= {packet: Start(packet, at[packet], own[0] == 0) for packet in own}
    # Whatever begins the file does not begin another.
    return [found[packet] for packet in sorted(found)[1:]]


def _begin(first: int, marks: Mapping[int, int]) -> int:
    """Return the packet that a recording begins with, from the first that describes it."""
    while marks.get(first - 1) in (_SNAPSHOT, _MARKER) or (
        # Statistics after the last events belong to the recording before.
        marks.get(first - 1) == _STATS and marks.get(first - 2) in (_SNAPSHOT, _MARKER)
    ):
        first -= 1
    return first


def _marks_from(begin: int, first: int, marks: Mapping[int, int]) -> list[int]:
    return [marks[packet] for packet in range(begin, first)]


def breaks(written: Written) -> list[Break]:
    """Return the snapshots in which clocks fall together, or each jump by a different time."""
    steps = written.steps()
    order = np.argsort(steps.packets, kind="stable")
    packets = steps.packets[order]
    by_ns = (steps.to_ns - steps.from_ns)[order]
    if not len(packets):
        return []
    packets, starts, clocks = np.unique(packets, return_index=True, return_counts=True)
    number = np.array([clock.clock for clock in written.clocks])[steps.clock[order]]
    steady, falls = np.isin(number, _STEADY), by_ns < -READ_WITHIN_NS
    fell = np.add.reduceat(falls, starts, dtype=np.int64)
    back = np.add.reduceat(steady & falls, starts, dtype=np.int64) > 0
    back |= np.add.reduceat(steady, starts, dtype=np.int64) == 0
    least = np.minimum.reduceat(by_ns, starts)
    spread = np.maximum.reduceat(by_ns, starts) - least
    # Where all are back at their first reading, the same recording starts again.
    first = steps.first_ns[order] == steps.to_ns[order]
    again = np.logical_and.reduceat(first, starts) & (clocks >= 2) & (least < 0)
    together = again | (back & (fell >= 2) & (2 * fell >= clocks))
    # Clocks that rise alike need no further check.
    wide = (clocks >= _APART) & (spread > _APART_NS)
    found = []
    for i in np.flatnonzero(together | wide).tolist():
        here = slice(starts[i], starts[i] + clocks[i])
        kernel = by_ns[here][np.isin(number[here], _KERNEL)]
        apart = _groups(by_ns[here]) >= _APART and _groups(kernel) >= _KERNEL_APART
        if together[i] or apart:
            found.append(Break(int(packets[i]), max(int(-least[i]), 0)))
    return found


def _groups(by_ns: Values) -> int:
    """Return by how many different times clocks advanced."""
    sorted_ns = np.sort(by_ns).astype(np.float64)
    return 1 + int(
        np.count_nonzero(np.diff(sorted_ns) > _APART_NS + np.abs(sorted_ns[1:]) * _ALIKE)
    )
