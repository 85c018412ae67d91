"""Rows of readings and messages, and the bars of single readings, exact, for worlds of `epochs`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tracetime.graph.epochs.bars import Bars, Paths, hull
from tracetime.graph.epochs.breaks import Findings
from tracetime.graph.epochs.rows import OPEN, WIDEST, Clock, Rows

Values = npt.NDArray[np.int64]


def between(
    clocks: Sequence[Clock],
    pair: tuple[int, int],
    readings: tuple[Values, Values],
    least_ns: Values | int = 0,
    most_ns: Values | int = OPEN,
) -> Rows:
    """Rows of two clocks that were read some time after each other, anywhere in their ticks.

    Args:
        clocks: all of them.
        pair: the numbers of the two.
        readings: of each, int64 ns.
        least_ns, most_ns: how long after the first one's reading the other's was; a bound beyond
            `WIDEST` says nothing.
    """
    n = len(readings[0])
    one, other = (clocks[number] for number in pair)
    least, most = (np.broadcast_to(np.asarray(d, dtype=np.int64), n) for d in (least_ns, most_ns))
    first, second = (np.full(n, number, dtype=np.int64) for number in pair)
    first_ns, second_ns = (np.asarray(ns, dtype=np.int64) for ns in readings)
    return Rows(
        first,
        second,
        first_ns,
        second_ns,
        np.where(least < -WIDEST, -OPEN, least - other.lasts_ns(other.tick_ns)),
        np.where(most > WIDEST, OPEN, most + one.lasts_ns(one.tick_ns)),
    )


def together(
    clocks: Sequence[Clock], pair: tuple[int, int], readings: tuple[Values, Values], half_ns: int
) -> Rows:
    """Rows of two clocks that were read together, up to so many ns apart."""
    return between(clocks, pair, readings, -half_ns, half_ns)


def guaranteed_bars(findings: Findings, source: int, readings: Values, target: int) -> Bars:
    """What `target` may have read when `source` read each of some readings, each by itself.

    Args:
        findings: what is known.
        source, target: clocks, by number.
        readings: int64 ns.

    Returns:
        the bars; both sides are open where the findings do not explain the rows, or no rows lead
        from one clock to the other.
    """
    if not findings.solved:
        nothing = np.full(len(readings), OPEN, dtype=np.int64)
        return Bars(-nothing, nothing)
    clocks, base = findings.nodes.clocks, int(findings.nodes.base[source])
    bars = []
    for system in findings.systems():
        paths = Paths(system, source, target)
        ends = [
            (_at(paths, begin)[0], _at(paths, begin + clocks[source].tick_ns)[1])
            for begin in (readings - base).tolist()
        ]
        earliest, latest = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        late = clocks[target].tick_ns
        bars.append(Bars(np.where(earliest <= -OPEN, earliest, earliest - late), latest))
    return hull(bars)


def _at(paths: Paths, reading: int) -> tuple[int, int]:
    """What the target may have read at the instant of a reading, ns since the source's first.

    A reading that no epoch reaches is of any.
    """
    spots = [
        own
        for own, (low, high) in zip(paths.epochs, paths.reaches, strict=True)
        if low <= reading <= high
    ]
    found = [one for spot in spots or paths.epochs for one in paths.within(spot, reading)]
    earliest = min((one.earliest for one in found), default=-OPEN)
    return earliest, max((one.latest for one in found), default=OPEN)
