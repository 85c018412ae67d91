"""The finding about messages that contradict what snapshots, or a RemoteClockSync, say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from tracetime.analysis.contradictions import Contradiction
from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import median
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import EventSelection, Finding
from tracetime.graph.tube.pair import Pair
from tracetime.graph.values import ascending, difference
from tracetime.text import count, duration

# Findings about effects before their causes: threads that run before their wakings.

_PROBABLE: Final = 3
"""So many late wakings that are only probable are no coincidence."""


def late_wakings(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each machine whose CPUs put an effect before its cause."""
    every = survey.late_wakings
    for machine in ascending(every[0]).tolist():
        table = every[:, every[0] == machine]
        certain = table[10] == 1
        if not certain.any() and table.shape[1] < _PROBABLE:
            continue
        _, _, _, tid, packet, cpu, ns, waking_packet, waking_cpu, waking_ns, _ = table
        # A probable one may be of an earlier sleep.
        by = np.where(certain | ~certain.any(), difference(waking_ns, ns), 0)
        k = int(np.argmax(by))
        worst = int(by[k])
        clock = ClockId(int(table[1, 0]), int(table[2, 0]), machine)
        packets = np.append(packet, waking_packet)
        yield finding(
            "effect-before-cause",
            "error" if worst > survey.tolerance_ns else "warning",
            clocks=(clock,),
            packets=(packet[k], waking_packet[k]),
            events=len(packets),
            worst_ns=worst,
            selections=(EventSelection(clock, readings=np.append(ns, waking_ns), packets=packets),),
            parts=("woken", "woken_why", "woken_fix"),
            times="once" if len(ns) == 1 else count(len(ns), "time"),
            tid=tid[k],
            cpu=cpu[k],
            ns=ns[k],
            packet=packet[k],
            waking_cpu=waking_cpu[k],
            waking_ns=waking_ns[k],
            waking_packet=waking_packet[k],
        )


def against_snapshots(
    survey: Survey, pair: Pair, found: Contradiction, selections: Iterable[EventSelection]
) -> Finding:
    """selections: the events at the ends of these messages."""
    assert pair.orders is not None
    worst = int(np.ceil(found.by_ns.max()))
    synced = survey.graph.state.between.of(pair.a, pair.b) is not None
    used = any(survey.used.get(clock) for clock in (pair.a, pair.b))
    return finding(
        "messages-against-snapshots",
        "error" if used and worst > survey.tolerance_ns else "warning",
        clocks=(pair.a, pair.b),
        events=2 * len(found.orders),
        worst_ns=worst,
        selections=tuple(selections),
        parts=("synced",) if synced else ("read",),
        wrong=len(found.orders),
        messages=count(len(pair.orders.a_ns), "message"),
        half=duration(median(found.by_ns)),
    )
