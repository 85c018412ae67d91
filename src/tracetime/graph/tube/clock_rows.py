"""The evidence of pairs of clocks as rows between readings, for `graph/epochs/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import NEVER_SET, STEADY, WALL
from tracetime.clocks.ids import ClockId
from tracetime.graph.epochs.nodes import Nodes, System
from tracetime.graph.epochs.rows import Clock, Rows
from tracetime.graph.tube.evidence import FARTHEST, HIGH_KNOWN, LOW_KNOWN
from tracetime.graph.tube.pair import Pair


def rows_of(
    pairs: Sequence[Pair], domain: Callable[[ClockId], ClockDomain], *, live: bool = False
) -> tuple[list[ClockId], list[Clock], Rows]:
    """The clocks of some pairs, what is known of each, and the rows of all.

    With `live`, of a pair that does not contradict itself those that its bars rest on: as long as
    no clock jumped, they imply the others.

    Half-widths are those of the pairs; ticks are in them. A pair that learnt a clock's rate is left
    out: each such pair has another rate, so that the clock's ns are not one.
    """
    pairs = [pair for pair in pairs if not pair.learnt]
    ids = sorted({clock for pair in pairs for clock in (pair.a, pair.b)}, key=ClockId.order)
    number = {clock: k for k, clock in enumerate(ids)}
    clocks = [_clock(clock, domain(clock)) for clock in ids]
    rows = []
    for pair in pairs:
        evidence = pair.tube.kept if live and not pair.tube.n_faults else pair.tube.evidence
        sides = evidence.sides & LOW_KNOWN != 0, evidence.sides & HIGH_KNOWN != 0
        ends = number[pair.a], number[pair.b]
        rows.append(Rows.offsets(clocks, ends, evidence.a, (evidence.low, evidence.high), sides))
    return ids, clocks, Rows.all(*rows)


def contradict(pairs: Sequence[Pair], domain: Callable[[ClockId], ClockDomain]) -> bool:
    """Whether the bars of some pairs that are near cannot all be true while no clock jumps."""
    _, clocks, rows = rows_of(pairs, domain, live=True)
    # Each reading is then one instant.
    still = [replace(clock, back=False) for clock in clocks]
    when = np.zeros(len(rows.one), dtype=np.int64)
    return len(System(Nodes(still, rows, when)).contradictions()) > 0


def are_near(pairs: Sequence[Pair]) -> bool:
    """Whether all that the clocks of some pairs read, and how far they are apart, fits in int64."""
    ends = list[float]()
    for pair in pairs:
        evidence = pair.tube.evidence
        for offset in (np.zeros(1), *evidence.said()):
            read = evidence.a.astype(np.float64) + offset
            ends += read.min(), read.max()
    return max(ends, default=0) - min(ends, default=0) < FARTHEST


def _clock(clock: ClockId, domain: ClockDomain) -> Clock:
    """What is known of how a clock runs."""
    drift = domain.drift_ppm * 1e-6
    if clock.clock in WALL:
        return Clock(drift, 0)
    if clock.clock in STEADY:
        return Clock(drift, 0, jumps=False, back=False)
    return Clock(drift, 0, back=clock.clock not in NEVER_SET, machine=clock.machine)
