"""Findings about files that are several recordings, or one recording out of order.

A recorder describes itself once; clocks fall together where another recording begins, or an earlier
part of the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from tracetime.analysis.snapshots import READ_WITHIN_NS, Series, Written, breaks, starts
from tracetime.analysis.survey import Survey
from tracetime.columns.arrays import median
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import Finding
from tracetime.graph.values import Values
from tracetime.text import count
from tracetime.trace.trace import Trace

JOINED: Final = "recordings-joined"
DISORDERED: Final = "file-out-of-order"
MIXED: Final = "machines-mixed"

_ALIKE_NS: Final = READ_WITHIN_NS
_LIMIT_PPM: Final = 1_000
"""Clocks of one machine drift apart by less, with twice 500 ppm of NTP."""
_AGREE: Final = 0.9
"""Part of the joints at which clocks have to agree; some snapshots may be wrong."""
_TWICE: Final = 0.5
"""With more snapshots there twice than this, the file repeats a recording."""
_PAUSE: Final = 3
"""A longer pause, in usual gaps between snapshots, means another recording."""
_MOST_LISTED: Final = 4
"""So many places fit in a title."""


def recordings(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about several recordings in one file, or one out of order."""
    written = survey.written
    # Each machine describes itself once: two that are taken for one look like two recordings.
    mixed = _mixed(written, survey.trace)
    if mixed is not None:
        yield mixed
        return
    begins = starts(written.signs)
    if begins:
        yield _joined(written, [one.packet for one in begins], 0)
        return
    fallen = breaks(written)
    if not fallen:
        return
    packets = [one.packet for one in fallen]
    fall_ns = max(one.fall_ns for one in fallen)
    if _one_recording(written.series(), packets, survey.trace):
        yield finding(
            DISORDERED,
            packets=packets,
            worst_ns=fall_ns,
            parts=("up_to",) if len(packets) > 1 else (),
            often=_times(len(packets)),
        )
    else:
        yield _joined(written, packets, fall_ns)


def _mixed(written: Written, trace: Trace) -> Finding | None:
    """Return a finding if two machines are taken for one, because the first packet names one."""
    adopted = trace.machines[0]
    at_home = np.array([clock.machine == 0 for clock in written.clocks], dtype=bool)[written.clock]
    ours = written.only(at_home)
    turns = np.flatnonzero(ours.named[1:] != ours.named[:-1])
    # With one turn, one recording may follow another.
    if not adopted or len(turns) < 2:
        return None
    falls = _falls(ours)
    apart = [_falls(ours.only(ours.named == named)) for named in (True, False)]
    if not len(falls) > sum(map(len, apart)):
        return None
    packet = ours.packets[turns[0] + 1]
    return finding(MIXED, packets=[packet], worst_ns=int(falls.max()), machine=adopted)


def _falls(written: Written) -> Values:
    """Return by how much clocks fall, where they do."""
    steps = written.steps()
    by_ns = steps.from_ns - steps.to_ns
    return by_ns[by_ns > _ALIKE_NS]


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"


def _joined(written: Written, packets: list[int], fall_ns: int) -> Finding:
    text = ", ".join(f"{packet:,}" for packet in packets[:_MOST_LISTED])
    if len(packets) > _MOST_LISTED:
        text += f" and {len(packets) - _MOST_LISTED} more"
    offsets = dict(zip(written.signs[0].tolist(), written.signs[1].tolist(), strict=True))
    at = [f"{offsets[packet]:,}" for packet in packets if packet in offsets][:_MOST_LISTED]
    return finding(
        JOINED,
        packets=packets,
        worst_ns=fall_ns or None,
        parts=("at_byte",) if at else (),
        recordings=count(len(packets) + 1, "recording"),
        places=f"packet{'s' if len(packets) > 1 else ''} {text}",
        offsets=", ".join(at),
    )


def _one_recording(every: list[Series], breaks: list[int], trace: Trace) -> bool:
    """Return whether snapshots, sorted by their readings, are those of one recording.

    They are if clocks advance alike from each to the next, none is there twice, and there is no
    pause between those that are together in the file.
    """
    # The most frequent series is the first.
    series = next((one for one in every if len(one.clocks) > 1), None)
    if series is None or len(series.packets) < 2:
        return False
    names = [clock.clock for clock in series.clocks]
    column = names.index(trace.trace_clock.clock) if trace.trace_clock.clock in names else 0
    run = np.searchsorted(breaks, series.packets, side="right")
    order = np.argsort(series.values_ns[:, column], kind="stable")
    values, run = series.values_ns[order], run[order]
    gaps = np.diff(values[:, column])
    others = np.delete(np.diff(values, axis=0), column, axis=1)
    across = run[1:] != run[:-1]
    if not across.any():
        return False
    off = np.abs((others - gaps[:, None]).astype(np.float64))
    alike = off <= _ALIKE_NS + gaps[:, None].astype(np.float64) * _LIMIT_PPM * 1e-6
    agree = (2 * np.count_nonzero(alike, axis=1) >= alike.shape[1]) & (gaps >= 0)
    if np.mean(agree[across]) < _AGREE or np.mean(gaps[across] == 0) > _TWICE:
        return False
    usual = median(gaps if across.all() else gaps[~across])
    return median(gaps[across]) <= _PAUSE * max(usual, _ALIKE_NS)
