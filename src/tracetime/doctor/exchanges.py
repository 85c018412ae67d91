"""Findings about clocks that are written under each other's numbers, in some snapshots or in all.

In some: the difference of two clocks changes its sign, and keeps its size. In all: the events of
each match the readings of the other; or BOOTTIME, which includes suspends, is below MONOTONIC.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, combinations, islice
from typing import Final, NamedTuple

import numpy as np

from tracetime.analysis.snapshots import Series
from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.columns.arrays import median
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import Finding, Severity, all_of
from tracetime.graph.values import Floats, Mask, Values, difference
from tracetime.text import count

EXCHANGED: Final = "clocks-exchanged"
BELOW: Final = "boottime-below-monotonic"

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_MONOTONIC: Final = BUILTIN_IDS["MONOTONIC"]

_LEAST_NS: Final = 1_000_000
"""Clocks of a snapshot are read one after the other: in healthy traces half of it apart."""
_TIMES_SPREAD: Final = 10
"""A difference this many times its usual variation is no matter of the order of reading."""
_ONE_MOMENT_NS: Final = 100_000_000
"""Snapshots within this time show too little of how much the clocks vary."""
_UNKNOWN_NS: Final = 1_000_000_000
"""How far apart snapshots of one moment may be, where nothing shows how much they vary."""
_MARGIN_NS: Final = 1_000_000_000
"""Events may be this far from the snapshots of their clock: recorders take one a second."""
_MOST_MARGIN_NS: Final = 600_000_000_000
"""No recorder pauses for longer by itself."""

_ALIKE: Final = 0.02
"""The size of an exchanged difference may change by this part, because of drift."""
_ALIKE_NS: Final = 10_000
"""The same for the order of reading within a snapshot."""
_DRIFT: Final = 1e-3
"""The same for drift: twice the 500 ppm of NTP."""
_SIGNIFICANT: Final = 3
"""A difference has to be this many times what it may change by."""
_MOST_CLOCKS: Final = 24
"""All pairs of the clocks are compared, so their number is limited."""


class _Exchanged(NamedTuple):
    """Two clocks exchanged in some snapshots: their packets, and how far apart the clocks are."""

    packets: list[int]
    apart_ns: int


def exchanged(survey: Survey) -> Iterator[Finding]:
    """Yield findings about clocks exchanged in some snapshots, or in all."""
    found: dict[tuple[ClockId, ClockId], _Exchanged] = {}
    by_size: dict[int, list[tuple[int, Series]]] = defaultdict(list)
    for number, series in enumerate(survey.written.series(least=2, turning=True)):
        if 2 <= len(series.clocks) <= _MOST_CLOCKS:
            by_size[len(series.clocks)].append((number, series))
    candidates = chain.from_iterable(map(_may_be_exchanged, by_size.values()))
    for _, series, i, j in sorted(candidates, key=lambda one: (one[0], *one[2:])):
        exchange = _in_some(series, i, j)
        if exchange is not None:
            pair = min(series.clocks[i], series.clocks[j]), max(series.clocks[i], series.clocks[j])
            known = found.get(pair, _Exchanged([], 0))
            found[pair] = _Exchanged(
                known.packets + exchange.packets, max(known.apart_ns, exchange.apart_ns)
            )
    for (one, other), exchange in found.items():
        yield _finding(one, other, exchange.apart_ns, exchange.packets, 0)
    yield from _by_events(survey, set(found))
    yield from _below(survey, set(found))


def _finding(
    one: ClockId, other: ClockId, apart_ns: int, packets: list[int], events: int
) -> Finding:
    """The finding; its events are all of both clocks, or none."""
    return finding(
        EXCHANGED,
        "error" if events else "warning",
        clocks=(one, other),
        packets=packets,
        events=events,
        selections=all_of((one, other)) if events else (),
        worst_ns=apart_ns,
        parts=("in_some",) if packets else ("in_all",),
        other=other,
        where=count(len(packets), "snapshot") if packets else "all snapshots",
    )


def _may_be_exchanged(listed: list[tuple[int, Series]]) -> Iterator[tuple[int, Series, int, int]]:
    """Yield lists, each with two of its clocks that change places in it.

    listed: lists of so many clocks each, in columns one after the other, with their numbers.
    """
    values = np.concatenate([series.values_ns for _, series in listed])
    ends = np.cumsum([len(series.packets) for _, series in listed])
    within = np.ones(len(values) - 1, dtype=bool)
    within[ends[:-1] - 1] = False
    for i, j in combinations(range(values.shape[1]), 2):
        rows = np.flatnonzero(_flips(values, i, j).is_flip & within)
        for k in dict.fromkeys(np.searchsorted(ends, rows, side="right").tolist()):
            yield *listed[k], i, j


class _Flips(NamedTuple):
    """What two clocks of a list do from each snapshot to the next.

    Attributes:
        is_flip: whether their difference changes only its sign.
        apart: the difference in each snapshot, ns, int64; one more than the others.
        size: its absolute value in the later snapshot, float64.
        gap, slack: how far both go, and by how much that may be wrong, ns, float64.
    """

    is_flip: Mask
    apart: Values
    size: Floats
    gap: Floats
    slack: Floats


def _flips(values: Values, i: int, j: int) -> _Flips:
    """Return where two columns of readings may be exchanged, by the two alone."""
    apart = values[:, i] - values[:, j]
    # The sum of the two does not depend on which is which.
    gap = (np.diff(values[:, i]) + np.diff(values[:, j])) / 2
    off = np.abs((apart[1:] + apart[:-1]).astype(np.float64))
    size = np.abs(apart[1:].astype(np.float64))
    slack = _ALIKE * size + _ALIKE_NS + _DRIFT * np.abs(gap)
    is_flip = (np.sign(apart[1:]) != np.sign(apart[:-1])) & (off <= slack) & (gap >= 0)
    is_flip &= (size > _SIGNIFICANT * slack) & (size >= _LEAST_NS)
    return _Flips(is_flip, apart, size, gap, slack)


def _in_some(series: Series, i: int, j: int) -> _Exchanged | None:
    """Return the snapshots in which two clocks of a list are exchanged; None where in none."""
    flips, apart, size, gap, slack = _flips(series.values_ns, i, j)
    # Clocks with coarse ticks overtake each other all the time.
    flips &= size > _TIMES_SPREAD * median(np.abs(np.diff(np.abs(apart))))
    others = np.delete(np.diff(series.values_ns, axis=0), (i, j), axis=1)
    if others.shape[1]:
        flips &= np.abs(np.median(others, axis=1) - gap) <= slack
    if not flips.any():
        return None
    state = np.append(0, np.cumsum(flips)) % 2
    # The state with fewer snapshots is the wrong one.
    wrong = state == (1 if 2 * state.sum() <= len(state) else 0)
    return _Exchanged(series.packets[wrong].tolist(), int(np.abs(apart[wrong]).max()))


def _by_events(survey: Survey, known: set[tuple[ClockId, ClockId]]) -> Iterator[Finding]:
    """Yield pairs whose events match the readings of the other clock, not of their own."""
    spans, used = survey.spans, survey.used
    clocks = (
        c for c in survey.infos if c.clock and c in used and c in spans and not c.is_sequence_scoped
    )
    for one, other in combinations(islice(clocks, _MOST_CLOCKS), 2):
        if one.machine == other.machine and (one, other) not in known:
            match = _matches(survey, one, other) and _matches(survey, other, one)
            # These two have a finding of their own: `_below`.
            if match and {one.clock, other.clock} != {_BOOTTIME, _MONOTONIC}:
                events = survey.used[one] + survey.used[other]
                apart = abs(spans[one].low - spans[other].low)
                yield _finding(one, other, apart, [], events)


def _matches(survey: Survey, clock: ClockId, other: ClockId, *, partly: bool = False) -> bool:
    """Return whether the events of a clock match another's readings.

    All of them do, and all (partly: some) are beyond those of their own clock.
    """
    own, there = survey.spans[clock], survey.spans[other]
    groups = [g for g in survey.groups_of(clock) if g.reason in ("resolved", "as_is")]
    if not groups:
        return False
    low, high = min(g.low_ns for g in groups), max(g.high_ns for g in groups)
    # A few snapshots cover a small part of a trace.
    margin = max(_MARGIN_NS, own.step, min(abs(own.low - there.low) // 4, _MOST_MARGIN_NS))
    if partly:
        beyond = low < own.low - margin or high > own.high + margin
    else:
        beyond = high < own.low - margin or low > own.high + margin
    return beyond and there.low - margin <= low and high <= there.high + margin


def _below(survey: Survey, known: set[tuple[ClockId, ClockId]]) -> Iterator[Finding]:
    """Yield where BOOTTIME is below MONOTONIC by more than the order of reading explains."""
    machine, b, m = survey.written.pairs(_BOOTTIME, _MONOTONIC)
    somewhere = set(machine[difference(m, b) > _LEAST_NS].tolist())
    for boottime in [clock for clock in survey.infos if clock.clock == _BOOTTIME]:
        if boottime.machine not in somewhere:
            continue
        monotonic = ClockId(_MONOTONIC, machine=boottime.machine)
        if (monotonic, boottime) in known:
            continue
        packets, apart, at = _apart(survey, boottime, monotonic)
        if not len(apart):
            continue
        middle = -int(median(apart))
        if middle <= _LEAST_NS or middle <= _least_ns(apart, at):
            continue
        sign = _sleeps_backwards(survey, boottime, monotonic)
        among = _among_the_other(survey, boottime, monotonic)
        events = sum(survey.used[clock] for clock in among)
        severity: Severity = "warning"
        parts = ["unknown"]
        if sign or events:
            severity = "error"
            by = "by_both" if sign and events else "by_sleep" if sign else "by_events"
            parts = ["exchanged", by]
        yield finding(
            BELOW,
            severity,
            clocks=tuple(sorted((boottime, monotonic))),
            packets=packets[:1],
            events=events,
            worst_ns=middle,
            selections=all_of(among),
            parts=parts,
            boottime=boottime,
            monotonic=monotonic,
        )


def _apart(survey: Survey, boottime: ClockId, monotonic: ClockId) -> tuple[Values, Values, Values]:
    """Return (packets, BOOTTIME - MONOTONIC, MONOTONIC) of the snapshots that hold both."""
    packets, b, m = survey.written.together(boottime, monotonic)
    return packets, b - m, m


def _least_ns(apart: Values, at: Values) -> float:
    """Return how far below it can be by the order of reading, from its variation."""
    if int(at.max()) - int(at.min()) < _ONE_MOMENT_NS:
        return _UNKNOWN_NS
    return _TIMES_SPREAD * median(np.abs(np.diff(apart)))


def _sleeps_backwards(survey: Survey, boottime: ClockId, monotonic: ClockId) -> bool:
    """Return whether MONOTONIC rose against BOOTTIME, the reverse of a suspend."""

    every = survey.discontinuities
    found = every.take(every.sized & ~every.kind_is("outlier", "rate_change")).by_pair()
    most = 2 * survey.tolerance_ns
    return any(
        pair in found and bool((way * (found[pair].low + found[pair].high) > most).any())
        for pair, way in (((boottime, monotonic), 1), ((monotonic, boottime), -1))
    )


def _among_the_other(survey: Survey, one: ClockId, other: ClockId) -> list[ClockId]:
    """Return which have events beyond their own readings, among those of the other."""
    return [
        clock
        for clock, there in ((one, other), (other, one))
        if clock in survey.spans
        and there in survey.spans
        and survey.used.get(clock)
        and _matches(survey, clock, there, partly=True)
    ]
